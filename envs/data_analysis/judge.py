"""Grading of data analysis: programs run again on files that nobody has seen, answers are compared.

A program runs once for each filling of the task's tables, in a fresh sandbox that holds this
filling's files, the program, and nothing else of the candidate's. Right results are computed on the
host, without the candidate's libraries, and never enter a sandbox.
"""

from __future__ import annotations

import asyncio
import math
import secrets
from collections.abc import Mapping

from execgym.envs.data_analysis.models import PASSING_GAIN, ModelWork, gain
from execgym.envs.data_analysis.reference import RESULT_FILE
from execgym.envs.data_analysis.tasks import HIDDEN, SHOWN, GeneratedTask, case_of, generate
from execgym.envs.data_analysis.template import TEMPLATE
from execgym.envs.data_analysis.work import AnswerWork, Case
from execgym.envs.task import Task
from execgym.judging.tables import (
    LARGEST_FILE,
    Comparison,
    OutputError,
    compare_table,
    compare_values,
)
from execgym.judging.verdict import Check, Status, Verdict
from execgym.sandbox import (
    Limits,
    ProtocolViolationError,
    SandboxFileError,
    SandboxSpec,
    open_sandbox,
)

JUDGE_VERSION = "data-analysis-1"

PROGRAM_FILE = "analysis.py"
"""The artifact of a task that asks for a program."""

ANSWER_FILE = "answer.json"
"""The artifact of a task that asks for an answer."""

SHOWN_CHECK = "shown files"
HIDDEN_CHECK = "hidden files"
SCORE_CHECK = "score of the predictions"

_LARGEST_ARTIFACT = 200_000
_LIMITS = Limits(cpu_seconds=20.0, wall_seconds=90.0, output_bytes=16 * 1024)
# As a script beside its files: `__file__` and `__name__` are what a program may expect.
_RUN = f"import runpy\nrunpy.run_path({PROGRAM_FILE!r}, run_name='__main__')\n"


class CandidateError(Exception):
    """The candidate's work is wrong. The text says how, for a person, without hidden data."""


class DataAnalysisJudge:
    """Judges tables that programs write and answers that models give.

    Args:
        backend: Sandbox backend.
        runtime: What a Docker backend runs containers with.
    """

    version = JUDGE_VERSION

    def __init__(self, backend: str = "auto", runtime: str = "") -> None:
        self._spec = SandboxSpec(
            template=TEMPLATE, limits=_LIMITS, backend=backend, runtime=runtime
        )

    async def grade(self, task: Task, artifacts: Mapping[str, bytes]) -> Verdict:
        """Grade `analysis.py` or `answer.json`.

        Raises:
            SandboxError: A sandbox failed.
            UnknownTaskError: The task is none of this domain.
            UndeterminedError: The task cannot be judged.
        """
        hidden = await asyncio.to_thread(generate, task.id)
        checks: list[Check] = []
        score = 1.0
        try:
            if isinstance(hidden.work, AnswerWork):
                await self._grade_answer(hidden, hidden.work, artifacts, checks)
            elif isinstance(hidden.work, ModelWork):
                score = await self._grade_model(hidden, artifacts, checks)
            else:
                await self._grade_program(hidden, artifacts, checks)
        except CandidateError as error:
            return Verdict(
                status=Status.FAIL,
                score=0.0,
                checks=tuple(checks),
                reason=str(error),
                judge_version=self.version,
            )
        return Verdict(
            status=Status.PASS,
            score=score,
            checks=tuple(checks),
            reason="Everything is right." if score == 1.0 else f"The score is {score:.2f}.",
            judge_version=self.version,
        )

    async def _grade_answer(
        self,
        task: GeneratedTask,
        work: AnswerWork,
        artifacts: Mapping[str, bytes],
        checks: list[Check],
    ) -> None:
        data = _artifact(artifacts, ANSWER_FILE)
        case = await asyncio.to_thread(case_of, task, SHOWN)
        names = [column.name for column in work.columns]
        expected = dict(zip(names, case.rows[0], strict=True))
        try:
            comparison = compare_values(work.columns, expected, data)
        except OutputError as error:
            raise CandidateError(f"The answer cannot be used: {error}.") from None
        _take(comparison, "named values", "of the answer", checks)

    async def _grade_program(
        self, task: GeneratedTask, artifacts: Mapping[str, bytes], checks: list[Check]
    ) -> None:
        program = _artifact(artifacts, PROGRAM_FILE)
        comparisons: list[Comparison] = []
        names = _case_names()
        for name in names:
            where = _where(name)
            case = await asyncio.to_thread(case_of, task, name)
            written = await self._run(case, program, where)
            try:
                found = await asyncio.to_thread(compare_table, task.schema, case.rows, written)
            except OutputError as error:
                raise CandidateError(f"{RESULT_FILE} cannot be used {where}: {error}.") from None
            comparisons.append(found)
            if name == SHOWN:
                _take(found, SHOWN_CHECK, where, checks)
            elif found.reason or name == names[-1]:
                worst = min(comparisons[1:], key=lambda one: one.share)
                _take(worst, HIDDEN_CHECK, where, checks)

    async def _grade_model(
        self, task: GeneratedTask, artifacts: Mapping[str, bytes], checks: list[Check]
    ) -> float:
        """Return the mean score of the predictions over all fillings."""
        program = _artifact(artifacts, PROGRAM_FILE)
        gains = []
        for name in _case_names():
            where = _where(name)
            case = await asyncio.to_thread(case_of, task, name)
            written = await self._run(case, program, where)
            try:
                gains.append(await asyncio.to_thread(gain, case, written, task.schema))
            except OutputError as error:
                raise CandidateError(f"{RESULT_FILE} cannot be used {where}: {error}.") from None
        score = math.fsum(gains) / len(gains)
        passed = score >= PASSING_GAIN
        checks.append(Check(name=SCORE_CHECK, passed=passed, value=score, threshold=PASSING_GAIN))
        if not passed:
            raise CandidateError(f"The score is {score:.2f}; {PASSING_GAIN} passes.")
        return score

    async def _run(self, case: Case, program: bytes, where: str) -> bytes:
        """Run a program on a filling, in a fresh sandbox, and return what it wrote."""
        async with await open_sandbox(self._spec) as sandbox:
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


def _case_names() -> list[str]:
    # One filling is made for this grading alone: nobody can have prepared for it.
    return [SHOWN, *HIDDEN, f"secret {secrets.token_hex(16)}"]


def _artifact(artifacts: Mapping[str, bytes], name: str) -> bytes:
    data = artifacts.get(name, b"")
    if not data.strip():
        raise CandidateError(f"The file {name} is missing or empty.")
    if len(data) > _LARGEST_ARTIFACT:
        raise CandidateError(f"The file {name} has more than {_LARGEST_ARTIFACT} bytes.")
    return data


def _take(comparison: Comparison, name: str, where: str, checks: list[Check]) -> None:
    """Report a comparison as a check.

    Raises:
        CandidateError: Something is wrong.
    """
    checks.append(
        Check(
            name=name,
            passed=not comparison.reason,
            value=comparison.share,
            threshold=1.0,
            detail=comparison.reason,
        )
    )
    if comparison.reason:
        raise CandidateError(f"Wrong {where}: {comparison.reason}.")


def _where(name: str) -> str:
    return "on the shown files" if name == SHOWN else "on other files of the same form"
