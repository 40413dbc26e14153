"""Judging programs: hidden standard input goes in, standard output is compared on the host."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Sequence

from execgym.judging.candidate import CandidateFailure
from execgym.judging.compare import same_text
from execgym.sandbox import SandboxSpec, open_sandbox

_REPEATED_RUNS = 1


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ProgramCase:
    """A hidden input and what must be printed for it.

    Attributes:
        stdin: Standard input.
        expected: Standard output, up to white space at the ends of lines and of the text. It must
            not be empty: a program that prints nothing must not pass.
    """

    stdin: str
    expected: str

    def __post_init__(self) -> None:
        if not self.expected.strip():
            raise ValueError("a case of a program must expect some output")


async def judge_program(
    source: str, cases: Sequence[ProgramCase], spec: SandboxSpec, chance: random.Random
) -> None:
    """Run a program as a script once for each case, in an order of chance, in a fresh sandbox.

    Each run is a process of its own; what an earlier one has left behind is dead by then.

    Args:
        source: The program.
        cases: At least one.
        spec: What the sandbox is.
        chance: Says the order, and which cases come twice. See `submission_chance`.

    Raises:
        CandidateFailure: It printed something else, or did not end well.
        SandboxError: The sandbox failed.
        ValueError: There is no case.
    """
    if not cases:
        raise ValueError("a program cannot be judged without a case")
    order = [*cases, *chance.sample(list(cases), min(len(cases), _REPEATED_RUNS))]
    chance.shuffle(order)
    sandbox = await open_sandbox(spec)
    try:
        for case in order:
            result = await sandbox.run_python(source, stdin=case.stdin.encode())
            if result.limit:
                raise CandidateFailure(
                    f"on a hidden input, the program hit its {result.limit} limit"
                )
            if not result.ok:
                raise CandidateFailure(
                    f"on a hidden input, the program ended with status {result.exit_code}"
                )
            if result.stdout_dropped:
                raise CandidateFailure("on a hidden input, the program printed far too much")
            printed = result.stdout.decode("utf-8", "backslashreplace")
            if not same_text(case.expected, printed):
                raise CandidateFailure("a hidden input gave a wrong output")
            await sandbox.freeze()
    finally:
        await sandbox.close()
