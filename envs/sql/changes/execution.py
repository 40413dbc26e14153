"""Runs a candidate's script in a sandbox."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Sequence
from typing import Any

from execgym.envs.sql.changes import driver
from execgym.envs.sql.changes.change import Change
from execgym.envs.sql.changes.trial import MAX_STATE_BYTES, Result, read_result
from execgym.envs.sql.driver import Row
from execgym.envs.sql.reference import MAX_ROWS, MAX_STEPS
from execgym.judging import codec
from execgym.sandbox import CommandResult, Sandbox, Template

TEMPLATE = Template(
    modules=("sqlite3", "execgym_codec", "execgym_sql_change_driver"),
    sources=(
        ("execgym_codec", inspect.getsource(codec)),
        ("execgym_sql_change_driver", inspect.getsource(driver)),
    ),
)
"""Template of the sandboxes that scripts run in."""

_PROGRAM = "import execgym_sql_change_driver\nexecgym_sql_change_driver.main()\n"


class ScriptFailure(Exception):
    """A script brought its driver down. The text says how.

    Attributes:
        command: How the driver ended.
    """

    def __init__(self, reason: str, command: CommandResult) -> None:
        super().__init__(reason)
        self.command = command


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What there is to see of a script that ran on a copy.

    Attributes:
        error: Why it ended before its end, or `""`.
        columns: Columns of the last rows that a statement gave.
        rows: Those rows.
        cut: Whether there were more.
        changes: Rows that it inserted, changed or deleted.
    """

    error: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    cut: bool
    changes: int


async def look(
    sandbox: Sandbox, script: str, database: bytes, *, rows: int
) -> tuple[Sight, CommandResult]:
    """Run a script on a copy of a database and return what there is to see.

    Raises:
        SandboxError: The sandbox failed.
    """
    request = {
        "look": True,
        "databases": [database],
        "script": script,
        "rows": rows,
        "steps": MAX_STEPS,
    }
    try:
        answer, result = await _ask(sandbox, request)
        return _read_sight(answer, result), result
    except ScriptFailure as failure:
        sight = Sight(error=str(failure), columns=(), rows=(), cut=False, changes=0)
        return sight, failure.command


async def run_script(
    sandbox: Sandbox, script: str, databases: Sequence[bytes], change: Change
) -> tuple[Result, ...]:
    """Run a script on each database, as a change's task has it.

    Raises:
        ScriptFailure: It brought its driver down.
        SandboxError: The sandbox failed.
    """
    request = {
        "look": False,
        "databases": list(databases),
        "script": script,
        "times": change.times,
        "probes": list(change.probes),
        "rows": MAX_ROWS,
        "size": MAX_STATE_BYTES,
        "steps": MAX_STEPS,
    }
    answer, result = await _ask(sandbox, request)
    try:
        if type(answer) is not list or len(answer) != len(databases):
            raise ValueError
        return tuple(read_result(one) for one in answer)
    except (ValueError, TypeError, KeyError, AttributeError):
        raise ScriptFailure("what it left cannot be read", result) from None


async def _ask(sandbox: Sandbox, request: dict[str, Any]) -> tuple[Any, CommandResult]:
    process = await sandbox.start_python(_PROGRAM)
    await process.send(codec.encode(request))
    ready = await process.receive()
    message = await process.receive()
    result = await process.wait()
    if message is not None:
        try:
            return codec.decode(message), result
        except codec.CodecError:
            raise ScriptFailure("what it left cannot be read", result) from None
    if result.limit:
        raise ScriptFailure(f"it hit its {result.limit} limit", result)
    if result.signal:
        raise ScriptFailure(f"it ended SQLite by signal {result.signal}", result)
    if ready == driver.READY:
        raise ScriptFailure(f"it ended SQLite with status {result.exit_code}", result)
    raise RuntimeError(
        f"the driver of changes gave no answer and ended with status {result.exit_code}: "
        f"{result.stderr[-500:].decode('utf-8', 'backslashreplace')}"
    )


def _read_sight(answer: Any, result: CommandResult) -> Sight:
    try:
        return Sight(
            error=str(answer["error"]),
            columns=tuple(str(name) for name in answer["columns"]),
            rows=tuple(tuple(row) for row in answer["rows"]),
            cut=bool(answer["cut"]),
            changes=int(answer["changes"]),
        )
    except (ValueError, TypeError, KeyError):
        raise ScriptFailure("what it gave cannot be read", result) from None
