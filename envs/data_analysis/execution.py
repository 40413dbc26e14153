"""Runs a candidate's program on a filling of a task's tables, in a fresh sandbox."""

from __future__ import annotations

from execgym.envs.data_analysis.reference import RESULT_FILE
from execgym.envs.data_analysis.work import Case
from execgym.judging.tables import LARGEST_FILE
from execgym.sandbox import (
    Limits,
    ProtocolViolationError,
    SandboxFileError,
    SandboxSpec,
    open_sandbox,
)

PROGRAM_FILE = "analysis.py"
"""The artifact of a task that asks for a program."""

LIMITS = Limits(cpu_seconds=20.0, wall_seconds=90.0, output_bytes=16 * 1024)
"""Bounds on a program while it is graded."""

# As a script beside its files: `__file__` and `__name__` are what a program may expect.
_RUN = f"import runpy\nrunpy.run_path({PROGRAM_FILE!r}, run_name='__main__')\n"


class CandidateError(Exception):
    """The candidate's work is wrong. The text says how, for a person, without hidden data."""


async def run_program(spec: SandboxSpec, case: Case, program: bytes, where: str) -> bytes:
    """Run a program on a filling and return what it wrote into its result file.

    Args:
        spec: The sandbox to open for it.
        case: The filling. Only its files get into the sandbox.
        program: The candidate's program.
        where: What to call the filling in an error.

    Raises:
        CandidateError: The program failed, hit a limit, or left no result that can be read.
        SandboxError: The sandbox failed.
    """
    async with await open_sandbox(spec) as sandbox:
        for path, data in case.files.items():
            await sandbox.write_file(path, data)
        await sandbox.write_file(PROGRAM_FILE, program)
        try:
            result = await sandbox.run_python(_RUN)
        except ProtocolViolationError:
            # No code of ours does that; the candidate's writes where it should not.
            raise CandidateError("What the sandbox sent cannot be read.") from None
        if result.limit:
            raise CandidateError(f"The program hit its {result.limit} limit {where}.")
        if not result.ok:
            raise CandidateError(f"The program ended with status {result.exit_code} {where}.")
        # What the program has left running must not write while its files are read.
        await sandbox.freeze()
        try:
            return await sandbox.read_file(RESULT_FILE, max_bytes=LARGEST_FILE)
        except SandboxFileError as error:
            raise CandidateError(
                f"{RESULT_FILE} cannot be read after the program's run {where}: {error}."
            ) from None
