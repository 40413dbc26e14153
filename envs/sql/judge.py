"""The judges of SQL: a submitted query is executed, and its rows are held against the reference's.

The query runs in one fresh sandbox, on the shown database and on hidden ones of the same schema.
The reference's rows come from the host and never enter a sandbox.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Mapping, Sequence

from execgym.envs.sql.comparison import rows_match
from execgym.envs.sql.engines import SQLITE, Engine
from execgym.envs.sql.exams import Exam, exam
from execgym.envs.sql.execution import QueryAnswer, run_in_sandbox
from execgym.envs.sql.reference import ExpectedRows
from execgym.envs.sql.repairs import question_of
from execgym.envs.sql.tasks import definitions_of
from execgym.envs.task import Task
from execgym.judging.verdict import Check, Status, Verdict
from execgym.sandbox import SandboxSpec, open_sandbox

ANSWER_FILE = "answer.sql"
"""Name of the artifact that holds the query."""

RUNS_CHECK = "runs"
"""Name of the check that the query runs on the shown database and reads a table of it."""

MAX_QUERY_BYTES = 100_000
"""What a submitted query or script may have."""


class SQLJudge:
    """Passes a query whose rows are right on the shown database and on every hidden one.

    Args:
        backend: Sandbox backend.
        runtime: What a Docker backend runs containers with.
        engine: What runs the query.
        image: What its sandboxes are made from; see `Template`.
    """

    version = "sql-1"

    def __init__(
        self,
        backend: str = "auto",
        runtime: str = "",
        engine: Engine = SQLITE,
        *,
        image: str = "host",
    ) -> None:
        self._engine = engine
        template = dataclasses.replace(engine.template, image=image)
        self._spec = SandboxSpec(template=template, backend=backend, runtime=runtime)

    async def grade(self, task: Task, artifacts: Mapping[str, bytes]) -> Verdict:
        """Grade the query in `answer.sql`.

        Raises:
            SandboxError: The sandbox failed.
            UnknownTaskError: The task is none of this domain.
            UndeterminedError: The task cannot be judged.
        """
        data = artifacts.get(ANSWER_FILE, b"")
        if len(data) > MAX_QUERY_BYTES:
            return self._fail(f"The query has more than {MAX_QUERY_BYTES} bytes.")
        try:
            query = data.decode()
        except UnicodeDecodeError:
            return self._fail("The query is not UTF-8.")
        if not query.strip():
            return self._fail("The query is empty.")
        # Making an exam takes some 20 ms, in which the event loop has other envs to serve.
        paper = await asyncio.to_thread(self._exam, task)
        async with await open_sandbox(self._spec) as sandbox:
            answers, _ = await run_in_sandbox(
                sandbox,
                query,
                paper.databases,
                engine=self._engine,
                definitions=() if self._engine is SQLITE else definitions_of(task.id),
            )
        return self._verdict(paper, answers)

    def _exam(self, task: Task) -> Exam:
        return exam(question_of(task.id))

    def _matches(self, expected: ExpectedRows, answer: QueryAnswer) -> bool:
        return not answer.cut and rows_match(expected, answer.columns, answer.rows)

    def _verdict(self, paper: Exam, answers: Sequence[QueryAnswer]) -> Verdict:
        shown = answers[0]
        runs = Check(name=RUNS_CHECK, passed=not shown.error and shown.reads)
        if shown.error:
            return self._fail(f"The query does not run: {_sentence(shown.error)}", runs)
        if shown.cut:
            return self._fail("The query gives too many rows.", runs)
        right = [
            alternative
            for alternative in paper.alternatives
            if self._matches(alternative[0], shown)
        ]
        shown_check = Check(name="shown rows", passed=bool(right))
        if not right:
            return self._fail(
                "The rows are not the right ones on the shown database.", runs, shown_check
            )
        held = len(answers) == len(paper.databases) and any(
            all(
                not answer.error and self._matches(expected, answer)
                for expected, answer in zip(alternative, answers, strict=True)
            )
            for alternative in right
        )
        hidden_check = Check(name="hidden rows", passed=held)
        checks = (runs, shown_check, hidden_check)
        if not held:
            return self._fail(
                "The rows are right on the shown database, but not on others of the same schema.",
                *checks,
            )
        return Verdict(
            status=Status.PASS,
            score=1.0,
            checks=checks,
            reason="The rows are the right ones.",
            judge_version=self.version,
        )

    def _fail(self, reason: str, *checks: Check) -> Verdict:
        return Verdict(
            status=Status.FAIL,
            score=0.0,
            checks=checks,
            reason=reason,
            judge_version=self.version,
        )


class ShownDatabaseJudge(SQLJudge):
    """An unsound judge, kept to measure what it lets a policy learn: never use it for training.

    It compares rows as bags on the shown database only, as common evaluations do. Under it
    `SELECT COUNT(*)` without a table is right wherever 1 is, a constant that was read off the data
    passes, and ordered questions need no order.
    """

    version = "sql-shown-database-only"

    def _exam(self, task: Task) -> Exam:
        paper = exam(task.id)
        return Exam(
            paper.databases[:1], tuple(alternative[:1] for alternative in paper.alternatives)
        )

    def _matches(self, expected: ExpectedRows, answer: QueryAnswer) -> bool:
        return not answer.cut and rows_match(expected, answer.columns, answer.rows, ordered=False)


def _sentence(text: str) -> str:
    text = text.strip()
    return text if text.endswith(".") else f"{text}."
