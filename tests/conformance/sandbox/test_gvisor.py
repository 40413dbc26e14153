"""The same backend on gVisor, where the daemon has it.

All rules take two minutes there, so these are some that gVisor could break. `docs/security.md`
tells those that it does.
"""

import asyncio

import pytest

from execgym.sandbox import SandboxSpec, SandboxUnavailableError, open_sandbox, run_sync
from execgym.sandbox.conformance import CASES, check
from execgym.sandbox.docker_engine import engines

KEPT = (
    "python.output_and_status",
    "python.child_processes",
    "channel.messages_in_order",
    "files.links",
    "limits.cpu",
    "limits.memory_of_all",
    "life.freezing",
)


@pytest.mark.usefixtures("base_image")
def test_gvisor_keeps_the_rules_that_a_program_meets_first():
    async def open_on_gvisor(limits):
        return await open_sandbox(
            SandboxSpec(backend="docker-per-episode", runtime="runsc", limits=limits)
        )

    if "runsc" not in engines.get().facts().runtimes:
        with pytest.raises(SandboxUnavailableError, match="no runtime 'runsc'"):
            run_sync(open_on_gvisor(SandboxSpec().limits))
        return
    chosen = [case for case in CASES if f"{case.group}.{case.name}" in KEPT]
    assert len(chosen) == len(KEPT)
    report = asyncio.run(check(open_on_gvisor, cases=chosen))
    assert report.passed, str(report)
