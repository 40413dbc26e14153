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
from execgym.envs.data_analysis.plans import UndeterminedError, with_values_at_bounds
from execgym.envs.data_analysis.recipes import ROWS, draw_answer_plans, draw_plan, draw_style
from execgym.envs.data_analysis.work import AnswerWork, CleaningWork, ProgramWork, TaskKind, Work
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
_TABLE, _ANSWER, _CLEANING = TaskKind.PROGRAM, TaskKind.ANSWER, TaskKind.CLEANING
_KINDS = {
    1: (_TABLE, _TABLE, _TABLE, _ANSWER),
    2: (_TABLE, _TABLE, _TABLE, _ANSWER),
    3: (_TABLE, _TABLE, _ANSWER),
    4: (_TABLE, _TABLE, _ANSWER, _CLEANING),
    5: (_TABLE, _TABLE, _ANSWER, _CLEANING),
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
    work: Work

    @property
    def schema(self) -> TableSchema:
        """What the result looks like; an answer is a table of one row."""
        return self.work.schema(self.family)

    @property
    def reference(self) -> str:
        """A program that writes the right table, or prints the right answer as JSON."""
        return self.work.reference(self.family, self.style)


@dataclasses.dataclass(frozen=True, slots=True)
class Case:
    """A filling of a task's tables with the right result.

    Attributes:
        files: The files of the filling.
        rows: The right table; of an answer, its one row.
    """

    files: Mapping[str, bytes]
    rows: tuple[Row, ...]


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
        work = _draw_work(level, family, generator)
        style = draw_style(level, generator)
        if not work.joined and style.facts is not Format.SQLITE:
            style = dataclasses.replace(style, entities=None)
        task = GeneratedTask(task_id, match[1], level, family, style, work)
        try:
            if _is_worth_asking(task):
                return task
        except UndeterminedError:
            continue
    raise AssertionError(f"level {level} makes no task for {task_id}")


def case_of(task: GeneratedTask, name: str) -> Case:
    """Return a filling of a task's tables by its name.

    Raises:
        UndeterminedError: Hardly any filling determines the result.
    """
    data, rows, generator = _filling(task, name)
    files = write_files(task.family, task.style, data, generator)
    return Case({**files, OUTPUT_FOLDER_FILE: b""}, rows)


def _filling(task: GeneratedTask, name: str) -> tuple[DataSet, tuple[Row, ...], random.Random]:
    family, work = task.family, task.work
    for attempt in range(_DATA_ATTEMPTS):
        generator = random.Random(f"{task.id} {name} {attempt}")  # noqa: S311
        data = draw_data_set(family, generator, rows=ROWS[task.level], orphans=work.joined)
        data = with_values_at_bounds(family, work.conditions, data, generator)
        try:
            return data, work.rows(family, data), generator
        except UndeterminedError:
            continue
    raise UndeterminedError(f"no filling {name} of {task.id} determines the result")


def _is_worth_asking(task: GeneratedTask) -> bool:
    """Return whether a task is neither trivial nor lets somebody pass who errs in one thing.

    Raises:
        UndeterminedError: A filling leaves the result open.
    """
    fillings = [_filling(task, name)[:2] for name in (SHOWN, *HIDDEN)]
    shown = fillings[0][1]
    if not task.work.is_worth_asking(task.family, shown) or shown == fillings[1][1]:
        return False
    # An answer is about the shown filling alone.
    looked_at = fillings[:1] if isinstance(task.work, AnswerWork) else fillings
    return all(
        any(_differs(near, task.family, data, rows) for data, rows in looked_at)
        for near in task.work.near_misses
    )


def _differs(work: Work, family: Family, data: DataSet, rows: tuple[Row, ...]) -> bool:
    try:
        return work.rows(family, data) != rows
    except UndeterminedError:
        return True


def _draw_work(level: int, family: Family, generator: random.Random) -> Work:
    match generator.choice(_KINDS[level]):
        case TaskKind.PROGRAM:
            return ProgramWork(plan=draw_plan(level, family, generator))
        case TaskKind.ANSWER:
            overall, best = draw_answer_plans(level, family, generator)
            return AnswerWork(overall=overall, best=best)
        case TaskKind.CLEANING:
            return CleaningWork()


@functools.lru_cache(maxsize=512)
def _open_half(task_id: str) -> Task:
    task = generate(task_id)
    files = case_of(task, SHOWN).files
    return Task(
        id=task_id,
        domain="data_analysis",
        prompt=task.work.prompt(task.family, task.style, files),
        level=task.level,
        split=task.split,
        files=files,
        metadata={"kind": str(task.work.kind), "family": task.family.name},
    )
