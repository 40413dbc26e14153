"""The hidden half of coding tasks: what a solution is judged by."""

from __future__ import annotations

import dataclasses
import random
from typing import Any, Protocol

from execgym.envs.task import TaskSource
from execgym.judging.functions import CheckingCode, FunctionCase
from execgym.judging.programs import ProgramCase


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FunctionTests:
    """Calls with expected values."""

    cases: tuple[FunctionCase, ...]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ProgramTests:
    """Standard inputs with expected outputs."""

    cases: tuple[ProgramCase, ...]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FurtherInputs:
    """Inputs of a public set whose expected values its references give, in a judge's sandbox.

    Attributes:
        function: The function, in the candidate's code and in the references.
        references: Sources of solutions. An input counts where all of them agree.
        contract: Source of a module with a function of that name that raises on an input that the
            task does not allow, or `""`.
        inputs: Positional arguments, one tuple for each call.
        tolerance: Absolute tolerance of floats.
        any_order: Whether the order of the items of a returned sequence does not count.
    """

    function: str
    references: tuple[str, ...]
    contract: str
    inputs: tuple[tuple[Any, ...], ...]
    tolerance: float
    any_order: bool = False


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CheckedTests:
    """Checking code of a public set, and possibly further inputs.

    Attributes:
        code: The checking code.
        further: Further inputs, if there are some.
        cpu_seconds: CPU time that the candidate has for all of it, or 0 for the judge's own bound.
    """

    code: CheckingCode
    further: FurtherInputs | None = None
    cpu_seconds: float = 0.0


HiddenTests = FunctionTests | ProgramTests | CheckedTests


class CodingSource(TaskSource, Protocol):
    """A task source together with the hidden half of its tasks. Only judges hold one as such."""

    def hidden(self, task_id: str, chance: random.Random) -> HiddenTests:
        """Return the hidden tests of a task, of which some may be drawn by chance.

        Raises:
            UnknownTaskError: No task has this id.
        """
        ...

    def reference(self, task_id: str) -> str:
        """Return a solution that passes.

        Raises:
            UnknownTaskError: No task has this id.
        """
        ...
