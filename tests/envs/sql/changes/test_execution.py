"""Scripts that bring their driver down, and drivers that lie."""

import asyncio

import pytest

from execgym.envs.sql.changes.change import Change
from execgym.envs.sql.changes.execution import TEMPLATE, ScriptFailure, look, run_script
from execgym.envs.sql.driver import build_database
from execgym.judging import codec
from execgym.sandbox import CommandResult, Limits, SandboxSpec, open_sandbox

DATABASE = build_database(["CREATE TABLE t (a)"], {"t": [(1,)]})
CHANGE = Change(kind="", text="", script="")
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT COUNT(*) FROM n"


class Lying:
    """Stands where a sandbox would, and answers with whatever it is given."""

    def __init__(self, message, exit_code=0):
        self._messages = [b"ready", message]
        self._exit_code = exit_code

    async def start_python(self, code):
        return self

    async def send(self, message):
        pass

    async def receive(self):
        return self._messages.pop(0)

    async def wait(self):
        return CommandResult(exit_code=self._exit_code)


def in_sandbox(call, **limits):
    async def run():
        spec = SandboxSpec(template=TEMPLATE, limits=Limits(**limits))
        async with await open_sandbox(spec) as sandbox:
            return await call(sandbox)

    return asyncio.run(run())


def test_a_script_that_hits_its_limit_is_told_so():
    script = ";".join([ENDLESS.replace("+ 1", "+ 0.5")] * 40)
    sight, result = in_sandbox(
        lambda sandbox: look(sandbox, script, DATABASE, rows=5), cpu_seconds=0.1
    )
    assert sight.error in ("it hit its cpu limit", "the script took too many steps and was stopped")
    assert result.limit == "cpu" or result.ok


LIES = {
    "no encoding": b"\xff",
    "another type": codec.encode(3),
    "nothing": codec.encode(None),
    "too few": codec.encode([]),
    "what a look lacks": codec.encode({"error": "", "columns": [], "rows": [1], "cut": False}),
    "a result that is none": codec.encode([{"error": "", "state": 3, "probes": []}]),
    "a state without tables": codec.encode([{"error": "", "state": {}, "probes": []}]),
    "tables that are none": codec.encode(
        [{"error": "", "state": {"tables": [], "others": [], "sound": 1, "cut": 0}, "probes": []}]
    ),
    "probes that are none": codec.encode([{"error": "", "state": {}, "probes": 7}]),
}


@pytest.mark.parametrize("name", LIES)
def test_a_driver_that_lies_is_a_failed_script(name):
    async def tell():
        with pytest.raises(ScriptFailure):
            await run_script(Lying(LIES[name]), "", [DATABASE], CHANGE)
        sight, result = await look(Lying(LIES[name]), "", DATABASE, rows=5)
        assert sight.error
        assert result.ok

    asyncio.run(tell())


def test_a_driver_that_dies_of_a_script_is_a_failed_script_and_one_that_never_began_is_an_error():
    async def tell():
        with pytest.raises(ScriptFailure, match="status 1"):
            await run_script(Lying(None, exit_code=1), "", [DATABASE], CHANGE)
        silent = Lying(None, exit_code=1)
        silent._messages = [None, None]
        with pytest.raises(RuntimeError, match="driver of changes"):
            await run_script(silent, "", [DATABASE], CHANGE)

    asyncio.run(tell())
