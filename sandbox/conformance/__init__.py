"""The contract of `execgym.sandbox.Sandbox` as a suite that any backend can be put to.

Without a test runner::

    report = await check(lambda limits: my_backend.open_sandbox(limits))
    print(report)

With pytest, one test for each rule::

    class TestMyBackend(SandboxConformance):
        async def open_sandbox(self, limits):
            return await my_backend.open_sandbox(limits)

After `EnvironmentTestMixin` of dm_env and `self_check` of Inspect.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from execgym.sandbox.base import Sandbox
from execgym.sandbox.conformance import (
    channel,
    commands,
    files,
    life,
    limits,
    python,
    snapshots,
)
from execgym.sandbox.conformance.suite import (
    Case,
    ConformanceError,
    OpenSandbox,
    Outcome,
    Report,
    Sandboxes,
    check_cases,
    run_case,
)
from execgym.sandbox.event_loop import run_sync
from execgym.sandbox.spec import Limits

CASES: tuple[Case, ...] = tuple(
    case
    for group in (
        python.GROUP,
        commands.GROUP,
        channel.GROUP,
        files.GROUP,
        snapshots.GROUP,
        limits.GROUP,
        life.GROUP,
    )
    for case in group.cases
)
"""Every rule of the contract."""

__all__ = [
    "CASES",
    "Case",
    "ConformanceError",
    "OpenSandbox",
    "Outcome",
    "Report",
    "SandboxConformance",
    "check",
]


async def check(open_sandbox: OpenSandbox, *, cases: Sequence[Case] = CASES) -> Report:
    """Put a backend to the contract.

    Args:
        open_sandbox: Opens one new sandbox with the limits that it is given.
        cases: The rules to check, by default all of them.

    Returns:
        One outcome for each case. A case that fails does not stop the others.
    """
    return await check_cases(open_sandbox, cases)


class SandboxConformance:
    """A test class for pytest: inherit from it, and give `open_sandbox`.

    Each rule of the contract is a method `test_<group>_<name>`.
    """

    _sandboxes: ClassVar[Sandboxes | None] = None

    async def open_sandbox(self, limits: Limits) -> Sandbox:
        """Open one new sandbox of the backend under test. To be overridden."""
        raise NotImplementedError

    @classmethod
    def teardown_class(cls) -> None:
        """Close what the cases shared."""
        sandboxes, cls._sandboxes = cls._sandboxes, None
        if sandboxes is not None:
            run_sync(sandboxes.close())


def _method(case: Case) -> Callable[[SandboxConformance], None]:
    def test(self: SandboxConformance) -> None:
        cls = type(self)
        if cls._sandboxes is None:
            cls._sandboxes = Sandboxes(self.open_sandbox)
        run_sync(run_case(case, cls._sandboxes))

    test.__doc__ = case.rule
    return test


for _case in CASES:
    setattr(SandboxConformance, f"test_{_case.group}_{_case.name}", _method(_case))
