"""Grading a piece of work, and finding a task of a kind."""

import asyncio

import pytest

from execgym.envs.data_analysis.execution import PROGRAM_FILE
from execgym.envs.data_analysis.judge import ANSWER_FILE, DataAnalysisJudge
from execgym.envs.data_analysis.tasks import GeneratedSource, generate


@pytest.fixture(scope="session")
def grade():
    """Grade a program or an answer, whichever a task asks for."""

    def grade_work(task_id, content):
        name = ANSWER_FILE if generate(task_id).work.kind == "answer" else PROGRAM_FILE
        data = content if isinstance(content, bytes) else content.encode()
        judge = DataAnalysisJudge()
        return asyncio.run(judge.grade(GeneratedSource().task(task_id), {name: data}))

    return grade_work


@pytest.fixture(scope="session")
def find_task():
    """Find the id of a task of a kind and level."""

    def find(kind, level=1, condition=lambda task: True):
        ids = (f"generated/test/{level}/{seed}" for seed in range(1000))
        return next(
            one for one in ids if generate(one).work.kind == kind and condition(generate(one))
        )

    return find
