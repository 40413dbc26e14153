"""The seeded generator of data analysis tasks: endless, levels 1 to 5, train and test apart.

A task is a pure function of its id, `generated/<split>/<level>/<seed>`; so is each filling of its
tables, by the name of the filling. Everything in here but `Task` is the hidden half.
"""

from __future__ import annotations

import dataclasses
import functools
import random
import re
from collections.abc import Mapping

import numpy as np

from execgym.envs.data_analysis.catalogue import FAMILIES
from execgym.envs.data_analysis.families import DataSet, Family, draw_data_set
from execgym.envs.data_analysis.files import Format, Style, write_files
from execgym.envs.data_analysis.models import ModelWork, draw_model_work
from execgym.envs.data_analysis.plans import UndeterminedError, with_values_at_bounds
from execgym.envs.data_analysis.recipes import ROWS, draw_answer_plans, draw_plan, draw_style
from execgym.envs.data_analysis.work import (
    AnswerWork,
    Case,
    CleaningWork,
    ProgramWork,
    TaskKind,
    Work,
)
from execgym.envs.errors import UnknownTaskError
from execgym.envs.task import Task
from execgym.judging.tables import Row, TableSchema

LEVELS = (1, 2, 3, 4, 5)
SHOWN = "shown"
"""Name of the filling that an episode shows."""

HIDDEN = ("hidden 1", "hidden 2")
"""Names of the fillings that every program is judged by."""

OUTPUT_FOLDER_FILE = "output/.keep"
"""A file without content, by which the folder for results is there."""

_ID = re.compile(r"generated/(train|test)/([1-5])/(0|[1-9][0-9]{0,9})\Z")
_SEEDS = 2**31
_TASK_ATTEMPTS = 100
_DATA_ATTEMPTS = 25
_TABLE, _ANSWER = TaskKind.PROGRAM, TaskKind.ANSWER
_CLEANING, _MODEL = TaskKind.CLEANING, TaskKind.MODEL
_KINDS = {
    1: (_TABLE, _TABLE, _TABLE, _ANSWER),
    2: (_TABLE, _TABLE, _TABLE, _ANSWER),
    3: (_TABLE, _TABLE, _TABLE, _ANSWER, _MODEL),
    4: (_TABLE, _TABLE, _ANSWER, _CLEANING, _MODEL),
    5: (_TABLE, _TABLE, _ANSWER, _CLEANING, _MODEL),
}


@dataclasses.dataclass(frozen=True, slots=True)
class GeneratedTask:
    """A generated task with its hidden half.

    Attributes:
        id: Its id.
        split: `"train"` or `"test"`.
        level: 1 to 5.
        family: What its tables are about.
        style: How its files are written.
        work: What is asked.
    """

    id: str
    split: str
    level: int
    family: Family
    style: Style
    work: Work | ModelWork

    @property
    def schema(self) -> TableSchema:
        """What the result looks like; an answer is a table of one row."""
        return self.work.schema(self.family)

    @property
    def reference(self) -> str:
        """A program that writes the right table, or prints the right answer as JSON."""
        if isinstance(self.work, ModelWork):
            return self.work.reference(self.family)
        return self.work.reference(self.family, self.style)

    def prompt(self, files: Mapping[str, bytes]) -> str:
        """Return what the model is asked about the files that are shown."""
        if isinstance(self.work, ModelWork):
            return self.work.prompt(self.family, files)
        return self.work.prompt(self.family, self.style, files)


class GeneratedSource:
    """The generator as a task source."""

    splits = ("train", "test")

    def levels(self, split: str) -> tuple[int, ...]:
        """Return 1 to 5."""
        return LEVELS

    def ids(self, split: str, level: int | None = None) -> None:
        """Return None: the tasks are endless."""
        return None

    def sample(self, generator: np.random.Generator, split: str, level: int | None = None) -> str:
        """Draw the id of a task."""
        if level is None:
            level = int(generator.integers(1, len(LEVELS) + 1))
        return f"generated/{split}/{level}/{int(generator.integers(_SEEDS))}"

    def task(self, task_id: str) -> Task:
        """Return the task of an id.

        Raises:
            UnknownTaskError: It is no id of a generated task.
        """
        return _open_half(task_id)


@functools.lru_cache(maxsize=1024)
def generate(task_id: str) -> GeneratedTask:
    """Return a task with its hidden half. Only trusted code may see it.

    Raises:
        UnknownTaskError: It is no id of a generated task.
    """
    match = _ID.match(task_id) if isinstance(task_id, str) else None
    if match is None or int(match[3]) >= _SEEDS:
        raise UnknownTaskError(
            f"there is no generated data analysis task {task_id!r}: an id is "
            "generated/<split>/<level>/<seed> with split train or test, level 1 to 5 and seed 0 "
            f"to {_SEEDS - 1}, for example generated/train/1/42"
        )
    generator = random.Random(task_id)  # noqa: S311
    level = int(match[2])
    for _ in range(_TASK_ATTEMPTS):
        family = generator.choice(FAMILIES)
        kind = generator.choice(_KINDS[level])
        if kind is TaskKind.MODEL:
            model = draw_model_work(level, family, generator)
            return GeneratedTask(task_id, match[1], level, family, Style(), model)
        work = _draw_work(kind, level, family, generator)
        style = draw_style(level, generator)
        if not work.joined and style.facts is not Format.SQLITE:
            style = dataclasses.replace(style, entities=None)
        try:
            if _is_worth_asking(task_id, level, family, work):
                return GeneratedTask(task_id, match[1], level, family, style, work)
        except UndeterminedError:
            continue
    raise AssertionError(f"level {level} makes no task for {task_id}")


def case_of(task: GeneratedTask, name: str) -> Case:
    """Return a filling of a task's tables by its name.

    Raises:
        UndeterminedError: Hardly any filling determines the result.
    """
    if isinstance(task.work, ModelWork):
        generator = random.Random(f"{task.id} {name}")  # noqa: S311
        case = task.work.draw_case(task.family, generator)
    else:
        data, rows, generator = _filling(task.id, task.level, task.family, task.work, name)
        case = Case(files=write_files(task.family, task.style, data, generator), rows=rows)
    return dataclasses.replace(case, files={**case.files, OUTPUT_FOLDER_FILE: b""})


def _filling(
    task_id: str, level: int, family: Family, work: Work, name: str
) -> tuple[DataSet, tuple[Row, ...], random.Random]:
    for attempt in range(_DATA_ATTEMPTS):
        generator = random.Random(f"{task_id} {name} {attempt}")  # noqa: S311
        data = draw_data_set(family, generator, rows=ROWS[level], orphans=work.joined)
        data = with_values_at_bounds(family, work.conditions, data, generator)
        try:
            return data, work.rows(family, data), generator
        except UndeterminedError:
            continue
    raise UndeterminedError(f"no filling {name} of {task_id} determines the result")


def _is_worth_asking(task_id: str, level: int, family: Family, work: Work) -> bool:
    """Return whether a task is neither trivial nor lets somebody pass who errs in one thing.

    Raises:
        UndeterminedError: A filling leaves the result open.
    """
    fillings = [_filling(task_id, level, family, work, name)[:2] for name in (SHOWN, *HIDDEN)]
    shown = fillings[0][1]
    if not work.is_worth_asking(family, shown) or shown == fillings[1][1]:
        return False
    # An answer is about the shown filling alone.
    looked_at = fillings[:1] if isinstance(work, AnswerWork) else fillings
    return all(
        any(_differs(near, family, data, rows) for data, rows in looked_at)
        for near in work.near_misses
    )


def _differs(work: Work, family: Family, data: DataSet, rows: tuple[Row, ...]) -> bool:
    try:
        return work.rows(family, data) != rows
    except UndeterminedError:
        return True


def _draw_work(kind: TaskKind, level: int, family: Family, generator: random.Random) -> Work:
    if kind is TaskKind.CLEANING:
        return CleaningWork()
    if kind is TaskKind.ANSWER:
        overall, best = draw_answer_plans(level, family, generator)
        return AnswerWork(overall=overall, best=best)
    return ProgramWork(plan=draw_plan(level, family, generator))


@functools.lru_cache(maxsize=512)
def _open_half(task_id: str) -> Task:
    task = generate(task_id)
    files = case_of(task, SHOWN).files
    return Task(
        id=task_id,
        domain="data_analysis",
        prompt=task.prompt(files),
        level=task.level,
        split=task.split,
        files=files,
        metadata={"kind": str(task.work.kind), "family": task.family.name},
    )
