"""Grading of data analysis: programs run again on files that nobody has seen, answers are compared.

A program runs once for each filling of the task's tables, in a fresh sandbox that holds this
filling's files, the program, and nothing else of the candidate's. Right results are computed on the
host, without the candidate's libraries, and never enter a sandbox.
"""

from __future__ import annotations

import asyncio
import dataclasses
import math
import secrets
from collections.abc import Mapping

from execgym.envs.data_analysis.execution import (
    LIMITS,
    PROGRAM_FILE,
    CandidateError,
    run_program,
)
from execgym.envs.data_analysis.models import PASSING_GAIN, ModelWork, gain
from execgym.envs.data_analysis.reference import RESULT_FILE
from execgym.envs.data_analysis.tasks import HIDDEN, SHOWN, GeneratedTask, case_of, generate
from execgym.envs.data_analysis.template import TEMPLATE
from execgym.envs.data_analysis.work import AnswerWork
from execgym.envs.task import Task
from execgym.judging.tables import Comparison, OutputError, compare_table, compare_values
from execgym.judging.verdict import Check, Status, Verdict
from execgym.sandbox import SandboxSpec

JUDGE_VERSION = "data-analysis-1"

ANSWER_FILE = "answer.json"
"""The artifact of a task that asks for an answer."""

SHOWN_CHECK = "shown files"
HIDDEN_CHECK = "hidden files"
SCORE_CHECK = "score of the predictions"

_LARGEST_ARTIFACT = 200_000


_LEAST_SECRET_GAIN = PASSING_GAIN / 2


class DataAnalysisJudge:
    """Judges tables that programs write and answers that models give.

    Args:
        backend: Sandbox backend.
        runtime: What a Docker backend runs containers with.
        image: What its sandboxes are made from; see `Template`.
    """

    version = JUDGE_VERSION

    def __init__(self, backend: str = "auto", runtime: str = "", image: str = "host") -> None:
        template = dataclasses.replace(TEMPLATE, image=image)
        self._spec = SandboxSpec(template=template, limits=LIMITS, backend=backend, runtime=runtime)

    async def grade(self, task: Task, artifacts: Mapping[str, bytes]) -> Verdict:
        """Grade `analysis.py` or `answer.json`.

        Raises:
            SandboxError: A sandbox failed.
            UnknownTaskError: The task is none of this domain.
            UndeterminedError: The task cannot be judged.
        """
        hidden = await asyncio.to_thread(generate, task.id)
        checks: list[Check] = []
        score = 1.0
        try:
            if isinstance(hidden.work, AnswerWork):
                await self._grade_answer(hidden, hidden.work, artifacts, checks)
            elif isinstance(hidden.work, ModelWork):
                score = await self._grade_model(hidden, artifacts, checks)
            else:
                await self._grade_program(hidden, artifacts, checks)
        except CandidateError as error:
            return Verdict(
                status=Status.FAIL,
                score=0.0,
                checks=tuple(checks),
                reason=str(error),
                judge_version=self.version,
            )
        return Verdict(
            status=Status.PASS,
            score=score,
            checks=tuple(checks),
            reason="Everything is right." if score == 1.0 else f"The score is {score:.2f}.",
            judge_version=self.version,
        )

    async def _grade_answer(
        self,
        task: GeneratedTask,
        work: AnswerWork,
        artifacts: Mapping[str, bytes],
        checks: list[Check],
    ) -> None:
        data = _artifact(artifacts, ANSWER_FILE)
        case = await asyncio.to_thread(case_of, task, SHOWN)
        names = [column.name for column in work.columns]
        expected = dict(zip(names, case.rows[0], strict=True))
        try:
            comparison = compare_values(work.columns, expected, data)
        except OutputError as error:
            raise CandidateError(f"The answer cannot be used: {error}.") from None
        _take(comparison, "named values", "of the answer", checks)

    async def _grade_program(
        self, task: GeneratedTask, artifacts: Mapping[str, bytes], checks: list[Check]
    ) -> None:
        program = _artifact(artifacts, PROGRAM_FILE)
        comparisons: list[Comparison] = []
        names = _case_names()
        for name in names:
            where = _where(name)
            case = await asyncio.to_thread(case_of, task, name)
            written = await run_program(self._spec, case, program, where)
            try:
                found = await asyncio.to_thread(compare_table, task.schema, case.rows, written)
            except OutputError as error:
                raise CandidateError(f"{RESULT_FILE} cannot be used {where}: {error}.") from None
            comparisons.append(found)
            if name == SHOWN:
                _take(found, SHOWN_CHECK, where, checks)
            elif found.reason or name == names[-1]:
                worst = min(comparisons[1:], key=lambda one: one.share)
                _take(worst, HIDDEN_CHECK, where, checks)

    async def _grade_model(
        self, task: GeneratedTask, artifacts: Mapping[str, bytes], checks: list[Check]
    ) -> float:
        """Return the mean score of the predictions over the fillings that have names."""
        program = _artifact(artifacts, PROGRAM_FILE)
        gains = []
        for name in _case_names():
            where = _where(name)
            case = await asyncio.to_thread(case_of, task, name)
            written = await run_program(self._spec, case, program, where)
            try:
                gains.append(await asyncio.to_thread(gain, case, written, task.schema))
            except OutputError as error:
                raise CandidateError(f"{RESULT_FILE} cannot be used {where}: {error}.") from None
        # The secret filling is another one each time, and equal work gets equal rewards: it says
        # whether the predictions are made from the files, and nothing of how good they are.
        *known, secret = gains
        score = math.fsum(known) / len(known) if secret >= _LEAST_SECRET_GAIN else 0.0
        passed = score >= PASSING_GAIN
        checks.append(Check(name=SCORE_CHECK, passed=passed, value=score, threshold=PASSING_GAIN))
        if not passed:
            raise CandidateError(f"The score is {score:.2f}; {PASSING_GAIN} passes.")
        return score


def _case_names() -> list[str]:
    # One filling is made for this grading alone: nobody can have prepared for it.
    return [SHOWN, *HIDDEN, f"secret {secrets.token_hex(16)}"]


def _artifact(artifacts: Mapping[str, bytes], name: str) -> bytes:
    data = artifacts.get(name, b"")
    if not data.strip():
        raise CandidateError(f"The file {name} is missing or empty.")
    if len(data) > _LARGEST_ARTIFACT:
        raise CandidateError(f"The file {name} has more than {_LARGEST_ARTIFACT} bytes.")
    return data


def _take(comparison: Comparison, name: str, where: str, checks: list[Check]) -> None:
    """Report a comparison as a check.

    Raises:
        CandidateError: Something is wrong.
    """
    checks.append(
        Check(
            name=name,
            passed=not comparison.reason,
            value=comparison.share,
            threshold=1.0,
            detail=comparison.reason,
        )
    )
    if comparison.reason:
        raise CandidateError(f"Wrong {where}: {comparison.reason}.")


def _where(name: str) -> str:
    return "on the shown files" if name == SHOWN else "on other files of the same form"
