"""The judge of changes: a script is run, and the state of the database is held against the right.

The script runs in one fresh sandbox, on copies of the shown database, of hidden ones of the same
schema, and of those with rare cases. What the reference makes of them comes from the host.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Mapping

from execgym.envs.sql.changes.exams import exam
from execgym.envs.sql.changes.execution import TEMPLATE, ScriptFailure, run_script
from execgym.envs.sql.changes.hidden import hidden_change
from execgym.envs.sql.changes.trial import wrong_in
from execgym.envs.sql.judge import ANSWER_FILE, MAX_QUERY_BYTES, RUNS_CHECK
from execgym.envs.task import Task
from execgym.judging.verdict import Check, Status, Verdict
from execgym.sandbox import SandboxSpec, open_sandbox

_SHOWN_CHECK = "shown database"
_HIDDEN_CHECK = "hidden databases"
_VERSION = "sql-changes-1"


class ChangeJudge:
    """Passes a script that leaves the right state in the shown database and in every hidden one.

    Args:
        backend: Sandbox backend.
        runtime: What a Docker backend runs containers with.
        image: What its sandboxes are made from; see `Template`.
    """

    def __init__(self, backend: str = "auto", runtime: str = "", *, image: str = "host") -> None:
        template = dataclasses.replace(TEMPLATE, image=image)
        self._spec = SandboxSpec(template=template, backend=backend, runtime=runtime)

    async def grade(self, task: Task, artifacts: Mapping[str, bytes]) -> Verdict:
        """Grade the script in `answer.sql`.

        Raises:
            SandboxError: The sandbox failed.
            UnknownTaskError: The task is no change.
            UndeterminedError: The task cannot be judged.
        """
        data = artifacts.get(ANSWER_FILE, b"")
        if len(data) > MAX_QUERY_BYTES:
            return _fail(f"The script has more than {MAX_QUERY_BYTES} bytes.")
        try:
            script = data.decode()
        except UnicodeDecodeError:
            return _fail("The script is not UTF-8.")
        if not script.strip():
            return _fail("The script is empty.")
        # Making an exam takes some hundred ms, in which the event loop has other envs to serve.
        paper = await asyncio.to_thread(exam, task.id)
        change = hidden_change(task.id).change
        async with await open_sandbox(self._spec) as sandbox:
            try:
                results = await run_script(sandbox, script, paper.databases, change)
            except ScriptFailure as failure:
                return _fail(f"The script fails: {failure}.")
        runs = Check(name=RUNS_CHECK, passed=not results[0].error)
        wrong = wrong_in(paper.expected[0], results[0])
        shown = Check(name=_SHOWN_CHECK, passed=not wrong)
        if wrong:
            return _fail(wrong, runs, shown)
        held = not any(
            wrong_in(expected, result)
            for expected, result in zip(paper.expected[1:], results[1:], strict=True)
        )
        checks = (runs, shown, Check(name=_HIDDEN_CHECK, passed=held))
        if not held:
            return _fail(
                "The change is right in the shown database, but not in others of the same schema.",
                *checks,
            )
        return Verdict(
            status=Status.PASS,
            score=1.0,
            checks=checks,
            reason="The change is the right one.",
            judge_version=_VERSION,
        )


def _fail(reason: str, *checks: Check) -> Verdict:
    return Verdict(
        status=Status.FAIL, score=0.0, checks=checks, reason=reason, judge_version=_VERSION
    )
