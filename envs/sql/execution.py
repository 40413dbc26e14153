"""Runs a candidate's query in a sandbox, by the driver of an engine."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from execgym.envs.sql.driver import Row
from execgym.envs.sql.engines import SQLITE, Engine
from execgym.envs.sql.reference import MAX_BYTES, MAX_ROWS, MAX_STEPS
from execgym.judging import codec
from execgym.sandbox import CommandResult, Sandbox

Definitions = Sequence[tuple[str, str]]
"""Names of tables, each with a CREATE TABLE of an engine that has types."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class QueryAnswer:
    """What a query gave on one database.

    Attributes:
        columns: Column names.
        rows: Rows.
        cut: Whether there are more rows than the bounds allow.
        reads: Whether the query reads a table of the database.
        error: Why it did not run, or `""`.
    """

    columns: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()
    cut: bool = False
    reads: bool = False
    error: str = ""


async def run_in_sandbox(
    sandbox: Sandbox,
    query: str,
    databases: Sequence[bytes],
    *,
    rows: int = MAX_ROWS,
    engine: Engine = SQLITE,
    definitions: Definitions = (),
) -> tuple[tuple[QueryAnswer, ...], CommandResult]:
    """Run a query on each database in one run; stop after the first on which it fails.

    Args:
        sandbox: A sandbox of the engine's template.
        query: The query.
        databases: Bytes of SQLite files.
        rows: Rows after which the rest is left out.
        engine: What runs the query.
        definitions: The tables, for an engine other than SQLite.

    Returns:
        The answers, and how the driver ended.

    Raises:
        SandboxError: The sandbox failed.
        RuntimeError: The driver failed, which no query can bring about.
    """
    request = {
        "databases": list(databases),
        "query": query,
        "rows": rows,
        "size": MAX_BYTES,
        "steps": MAX_STEPS,
        "definitions": [tuple(definition) for definition in definitions],
        **await engine.prepare(sandbox.spec),
    }
    process = await sandbox.start_python(engine.program)
    await process.send(codec.encode(request))
    message = await process.receive()
    result = await process.wait()
    if message is not None:
        return _read(message, len(databases)), result
    if result.limit:
        return (QueryAnswer(error=f"the query hit its {result.limit} limit"),), result
    if result.signal:
        return (
            QueryAnswer(error=f"the query ended {engine.title} by signal {result.signal}"),
        ), result
    raise RuntimeError(
        f"the driver of {engine.title} gave no answer and ended with status {result.exit_code}: "
        f"{result.stderr[-500:].decode('utf-8', 'backslashreplace')}"
    )


def _read(message: bytes, count: int) -> tuple[QueryAnswer, ...]:
    """Check and return what the driver said; what is malformed counts as a failed query."""
    try:
        answers = codec.decode(message)
        if type(answers) is not list or not 1 <= len(answers) <= count:
            raise ValueError
        return tuple(_answer(answer) for answer in answers)
    except (ValueError, KeyError, TypeError):
        return (QueryAnswer(error="the answer of the query is malformed"),)


def _answer(data: Any) -> QueryAnswer:
    if type(data) is not dict:
        raise TypeError
    if "error" in data:
        return QueryAnswer(error=str(data["error"]))
    columns, rows = data["columns"], data["rows"]
    if not all(type(name) is str for name in columns):
        raise TypeError
    for row in rows:
        if type(row) is not tuple or len(row) != len(columns):
            raise TypeError
    return QueryAnswer(
        columns=tuple(columns),
        rows=tuple(rows),
        cut=data["cut"] is True,
        reads=data["reads"] is True,
    )
