"""How the contract's cases are written and run."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from typing import Any

from execgym.sandbox.base import Sandbox
from execgym.sandbox.spec import Limits

OpenSandbox = Callable[[Limits], Awaitable[Sandbox]]
"""Opens one new sandbox of the backend under test with these limits."""

CASE_SECONDS = 120.0
_SHOWN = 300


class ConformanceError(AssertionError):
    """The backend does something else than the contract says."""


def expect(holds: bool, otherwise: str) -> None:
    """Fail the case unless something holds. A plain `assert` would be gone under `python -O`.

    Raises:
        ConformanceError: It does not hold.
    """
    if not holds:
        raise ConformanceError(otherwise)


def expect_equal(got: object, wanted: object, what: str) -> None:
    """Fail the case unless two values are equal.

    Raises:
        ConformanceError: They differ.
    """
    if got != wanted:
        raise ConformanceError(f"{what} is {_shown(got)}, and must be {_shown(wanted)}")


@contextlib.contextmanager
def expect_raises(
    kind: type[BaseException] | tuple[type[BaseException], ...], what: str, match: str = ""
) -> Iterator[None]:
    """Fail the case unless the block raises an exception of a kind.

    Args:
        kind: The exception's type, or several.
        what: What the block does, for the message.
        match: A regular expression that must be found in the exception's text.

    Raises:
        ConformanceError: It raised nothing, or its text does not match.
    """
    try:
        yield
    except kind as error:
        if not re.search(match, str(error)):
            raise ConformanceError(
                f"{what} is refused with the text {_shown(str(error))}, which lacks {match!r}"
            ) from error
    else:
        kinds = kind if isinstance(kind, tuple) else (kind,)
        names = " or ".join(each.__name__ for each in kinds)
        raise ConformanceError(f"{what} must raise {names}, and raised nothing")


async def run_ok(sandbox: Sandbox, code: str) -> bytes:
    """Run a program that prepares or looks into a case, and return its standard output.

    Raises:
        ConformanceError: It failed.
    """
    result = await sandbox.run_python(code)
    expect(result.ok, f"a program of the case failed: {result.stderr!r}")
    return result.stdout


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}... ({len(text)} characters)"


class Sandboxes:
    """Gives a case its sandboxes, and closes them whatever happens.

    Opening a container may take a second, so cases that need nothing of their own share one
    sandbox. A case that fails costs the shared one its place.
    """

    def __init__(self, open_sandbox: OpenSandbox) -> None:
        self._open = open_sandbox
        self._shared: Sandbox | None = None

    @contextlib.asynccontextmanager
    async def fresh(self, **limits: Any) -> AsyncIterator[Sandbox]:
        """Open a sandbox that nobody has used, with the usual limits but for those given."""
        async with await self._open(Limits(**limits)) as sandbox:
            yield sandbox

    @contextlib.asynccontextmanager
    async def shared(self) -> AsyncIterator[Sandbox]:
        """Give a sandbox with the usual limits, which other cases may have left files in."""
        sandbox, self._shared = self._shared or await self._open(Limits()), None
        try:
            yield sandbox
        except BaseException:
            await sandbox.close()
            raise
        self._shared = sandbox

    async def close(self) -> None:
        """Close the shared sandbox."""
        sandbox, self._shared = self._shared, None
        if sandbox is not None:
            await sandbox.close()


RunCase = Callable[[Sandboxes], Awaitable[None]]


@dataclasses.dataclass(frozen=True, slots=True)
class Case:
    """One rule of the contract and the check of it.

    Attributes:
        group: What it is about: `"python"`, `"commands"`, `"channel"`, `"files"`,
            `"snapshots"`, `"limits"`, `"life"`.
        name: The rule's name, a Python identifier.
        rule: The rule in a sentence.
        run: Checks it; raises where the backend breaks the rule.
    """

    group: str
    name: str
    rule: str
    run: RunCase


class Group:
    """The cases about one thing, in order."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.cases: list[Case] = []

    def case(self, run: RunCase) -> RunCase:
        """Add a function as a case; its name and docstring are the rule."""
        name: str = getattr(run, "__name__", "")
        self.cases.append(Case(self.name, name, (run.__doc__ or "").strip(), run))
        return run


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """What a case found.

    Attributes:
        case: The case.
        passed: Whether the backend keeps the rule.
        reason: Why not, or `""`.
    """

    case: Case
    passed: bool
    reason: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Report:
    """What `check` returns.

    Attributes:
        outcomes: One for each case, in their order.
    """

    outcomes: tuple[Outcome, ...]

    @property
    def passed(self) -> bool:
        """Whether the backend keeps every rule that was checked, and any was."""
        return bool(self.outcomes) and not self.failures

    @property
    def failures(self) -> tuple[Outcome, ...]:
        """The rules that it breaks."""
        return tuple(outcome for outcome in self.outcomes if not outcome.passed)

    def __str__(self) -> str:
        lines = [f"{len(self.outcomes) - len(self.failures)} of {len(self.outcomes)} rules kept"]
        lines += [
            f"{outcome.case.group}.{outcome.case.name}: {outcome.case.rule} {outcome.reason}"
            for outcome in self.failures
        ]
        return "\n".join(lines)


async def run_case(case: Case, sandboxes: Sandboxes) -> None:
    """Run one case within its time.

    Raises:
        ConformanceError: The backend breaks the rule, or takes for ever.
        Exception: The backend failed in a way that the case does not expect.
    """
    try:
        async with asyncio.timeout(CASE_SECONDS) as deadline:
            await case.run(sandboxes)
    except TimeoutError:
        if not deadline.expired():
            raise
        raise ConformanceError(f"no end within {CASE_SECONDS:.0f} s") from None


async def check_cases(open_sandbox: OpenSandbox, cases: Sequence[Case]) -> Report:
    """Run cases one after the other and report on each. Only cancelling ends it early."""
    sandboxes = Sandboxes(open_sandbox)
    outcomes = []
    try:
        for case in cases:
            try:
                await run_case(case, sandboxes)
            except Exception as error:
                outcomes.append(Outcome(case, False, f"{type(error).__name__}: {error}"))
            else:
                outcomes.append(Outcome(case, True))
    finally:
        await sandboxes.close()
    return Report(tuple(outcomes))
