"""`execgym/SQL-v0`: questions about an SQLite database, answered by a query that is executed."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any, ClassVar

from execgym.envs.core import ExecEnv, ToolResult
from execgym.envs.errors import InvalidOptionError
from execgym.envs.sql.changes.execution import TEMPLATE as CHANGE_TEMPLATE
from execgym.envs.sql.changes.execution import Sight, look
from execgym.envs.sql.changes.hidden import CHANGE_SOURCES
from execgym.envs.sql.changes.judge import ChangeJudge
from execgym.envs.sql.engines import SQLITE, engine_named
from execgym.envs.sql.execution import QueryAnswer, run_in_sandbox
from execgym.envs.sql.judge import ANSWER_FILE, RUNS_CHECK, SQLJudge
from execgym.envs.sql.reference import quote
from execgym.envs.sql.sources import load_source
from execgym.envs.sql.tasks import DATABASE_FILE, definitions_of
from execgym.envs.task import Judge, TaskSource
from execgym.envs.tools import Tool, tool
from execgym.judging.verdict import Status, Verdict
from execgym.sandbox import CommandResult, Template

SHOWN_ROWS = 50
"""Rows that `run_sql` shows."""

_CELL_LENGTH = 200


_CHANGE_TOOLS = {
    "run_sql": (
        "Run an SQL script on a copy of the database and see the last rows that it gives.",
        "Statements of SQLite. What they change is gone afterwards.",
    ),
    "submit_sql": (
        "Hand in the script that makes the change, which ends the episode.",
        "The whole script.",
    ),
}


class SQLEnv(ExecEnv):
    """Answer a question about a database by one SELECT, or change it by a script.

    `run_sql` runs a query on the shown database and answers its rows. `submit_sql` ends the
    episode: the query is executed in a fresh sandbox on the shown database and on hidden databases
    of the same schema, and passes if its rows are right on all of them (see
    `execgym.envs.sql.comparison` for the rules).

    With `tasks="repair"` a question comes with a query that is meant to answer it and does not.

    With `tasks="changes"` or `"dbbench"` the work is a script that changes rows or tables.
    `run_sql` runs one on a copy. What `submit_sql` hands in is judged by the state in which it
    leaves the shown database and hidden ones (see `execgym.envs.sql.changes.state`).

    Args:
        engine: What the database is in: `"sqlite"` or `"duckdb"` (whose package the image of the
            sandboxes must have). All but `"generated"` are for SQLite only.
        shaping: Reward for a submission that fails but runs on the shown database and reads a
            table of it, from 0 to 1. It is reported apart, in `info["shaping"]`; the verdict is
            the same with and without it.
        **options: See `ExecEnv`.

    Raises:
        InvalidOptionError: An argument is not allowed.
        EngineUnavailableError: The engine is not installed here.
    """

    domain: ClassVar[str] = "sql"
    default_tool: ClassVar[str] = "submit_sql"
    template: ClassVar[Template] = SQLITE.template
    tools_are_read_only: ClassVar[bool] = True

    def __init__(self, *, engine: str = "sqlite", shaping: float = 0.0, **options: Any) -> None:
        if (
            isinstance(shaping, bool)
            or not isinstance(shaping, int | float)
            or not 0 <= shaping <= 1
        ):
            raise InvalidOptionError(f"shaping is a number from 0 to 1, not {shaping!r}")
        self._shaping_reward = float(shaping)
        self._engine = engine_named(engine)
        super().__init__(**options)
        if self._spec.backend in ("auto", "namespace") and self._spec.template.image == "host":
            self._engine.check()
        if self._engine is not SQLITE:
            self.tools = {name: self._in_its_words(tool) for name, tool in self.tools.items()}
        if self._tasks in CHANGE_SOURCES:
            self.tools = {name: _for_changes(tool) for name, tool in self.tools.items()}

    @tool
    async def run_sql(self, query: str) -> ToolResult:
        """Run one SELECT on the database and see its first rows.

        Args:
            query: The SQL text. The database is SQLite and can only be read.
        """
        if self._tasks in CHANGE_SOURCES:
            sandbox, shown = await self._workspace(), self.task.files[DATABASE_FILE]
            sight, result = await look(sandbox, query, shown, rows=SHOWN_ROWS)
            return ToolResult(observation=_as_seen(sight), command=result)
        answers, result = await run_in_sandbox(
            await self._workspace(),
            query,
            [self.task.files[DATABASE_FILE]],
            rows=SHOWN_ROWS,
            engine=self._engine,
            definitions=() if self._engine is SQLITE else definitions_of(self.task.id),
        )
        return ToolResult(observation=_as_table(answers[0]), command=result)

    @tool
    async def submit_sql(self, query: str) -> ToolResult:
        """Hand in the query that answers the question, which ends the episode.

        Args:
            query: One SELECT with the columns in the order of the question; their names are free.
        """
        return ToolResult(observation="", artifacts={ANSWER_FILE: query.encode()})

    def _load_source(self, tasks: str) -> TaskSource:
        return load_source(tasks, self._engine)

    def _make_judge(self, backend: str, runtime: str, image: str) -> Judge:
        if self._tasks in CHANGE_SOURCES:
            return ChangeJudge(backend, runtime, image=image)
        return SQLJudge(backend, runtime, self._engine, image=image)

    def _template_of(self, backend: str) -> Template:
        return CHANGE_TEMPLATE if self._tasks in CHANGE_SOURCES else self._engine.template

    def _in_its_words(self, tool: Tool) -> Tool:
        text = json.dumps(tool.parameters).replace(SQLITE.title, self._engine.title)
        return dataclasses.replace(tool, parameters=json.loads(text))

    def _shaping(self, artifacts: Mapping[str, bytes], verdict: Verdict) -> float:
        ran = any(check.name == RUNS_CHECK and check.passed for check in verdict.checks)
        return self._shaping_reward if ran else 0.0

    def _info(
        self,
        *,
        tool: str = "",
        command: CommandResult | None = None,
        verdict: Verdict | None = None,
    ) -> dict[str, Any]:
        info = super()._info(tool=tool, command=command, verdict=verdict)
        failed = verdict is not None and verdict.status is Status.FAIL
        info["shaping"] = self._shaping({}, verdict) if verdict is not None and failed else 0.0
        return info

    def _arguments(self) -> dict[str, Any]:
        return {
            **super()._arguments(),
            "engine": self._engine.name,
            "shaping": self._shaping_reward,
        }


def _for_changes(tool: Tool) -> Tool:
    description, query = _CHANGE_TOOLS[tool.name]
    parameters = json.loads(json.dumps(tool.parameters))
    parameters["properties"]["query"]["description"] = query
    return dataclasses.replace(tool, description=description, parameters=parameters)


def _as_seen(sight: Sight) -> str:
    parts = [f"Error: {sight.error}"] if sight.error else []
    if sight.columns:
        answer = QueryAnswer(columns=sight.columns, rows=sight.rows, cut=sight.cut)
        parts.append(_as_table(answer))
    if sight.changes:
        parts.append(f"{sight.changes} rows inserted, changed or deleted in the copy.")
    return "\n".join(parts) or "Done; no rows."


def _as_table(answer: QueryAnswer) -> str:
    if answer.error:
        return f"Error: {answer.error}"
    lines = [" | ".join(_printable(name) for name in answer.columns)]
    lines += [" | ".join(_cell(value) for value in row) for row in answer.rows]
    count = f"{len(answer.rows)} row{'s' if len(answer.rows) != 1 else ''}"
    lines.append(f"(the first {count}; there are more)" if answer.cut else f"({count})")
    return "\n".join(lines)


def _cell(value: int | float | str | bytes | None) -> str:
    text = value if isinstance(value, str) else quote(value)
    return _printable(text)


def _printable(text: str) -> str:
    text = "".join(
        char if char.isprintable() else repr(char)[1:-1] for char in text[: _CELL_LENGTH + 1]
    )
    return text if len(text) <= _CELL_LENGTH else text[:_CELL_LENGTH] + "…"
