"""The seeded generator of SQL tasks: endless, levels 1 to 5, train and test on other schemas.

A task is a pure function of its id, `generated/<split>/<level>/<seed>`.
"""

from __future__ import annotations

import dataclasses
import functools
import random
import re

import numpy as np

from execgym.envs.errors import UnknownTaskError
from execgym.envs.sql.data import SCHEMAS, SHOWN_WORLDS, database_of, world
from execgym.envs.sql.dialects import engine_definition, engine_type
from execgym.envs.sql.engines import SQLITE, Engine, engine_named
from execgym.envs.sql.hidden_worlds import determined_rows, differs_somewhere, hidden_databases
from execgym.envs.sql.questions import NoQuestionError, Question, Scene, Template
from execgym.envs.sql.questions_joined import LEVEL_3, LEVEL_4
from execgym.envs.sql.questions_nested import LEVEL_5
from execgym.envs.sql.questions_single import LEVEL_1, LEVEL_2
from execgym.envs.sql.reference import ExpectedRows, UndeterminedError
from execgym.envs.sql.schemas import Table
from execgym.envs.task import Task

DATABASE_FILE = "database.sqlite"
"""Name of the shown database in a task's files."""

LEVELS: dict[int, tuple[Template, ...]] = {
    1: LEVEL_1,
    2: LEVEL_2,
    3: LEVEL_3,
    4: LEVEL_4,
    5: LEVEL_5,
}

_ID = re.compile(r"generated/(train|test)/([1-5])/(0|[1-9][0-9]{0,9})\Z")
_SEEDS = 2**31
_ATTEMPTS = 200
_MOST_ROWS = 120


@dataclasses.dataclass(frozen=True, slots=True)
class GeneratedTask:
    """A generated task with its hidden half.

    Attributes:
        split: `"train"` or `"test"`.
        level: 1 to 5.
        schema_index: Which of the split's schemas.
        world_number: Which filling of it is shown.
        question: The question and its reference.
    """

    split: str
    level: int
    schema_index: int
    world_number: int
    question: Question


class GeneratedSource:
    """The generator as a task source.

    Args:
        engine: The engine that questions are asked in.
    """

    splits = ("train", "test")

    def __init__(self, engine: Engine = SQLITE) -> None:
        self._engine = engine

    def levels(self, split: str) -> tuple[int, ...]:
        """Return 1 to 5."""
        return tuple(LEVELS)

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
        return _open_half(task_id, self._engine.name)


@functools.lru_cache(maxsize=4096)
def generate(task_id: str) -> GeneratedTask:
    """Return a task with its hidden half. Only trusted code may see it.

    Raises:
        UnknownTaskError: It is no id of a generated task.
    """
    match = _ID.match(task_id) if isinstance(task_id, str) else None
    if match is None or int(match[3]) >= _SEEDS:
        raise UnknownTaskError(
            f"there is no generated SQL task {task_id!r}: an id is generated/<split>/<level>/<seed>"
            f" with split train or test, level 1 to 5 and seed 0 to {_SEEDS - 1}, for example "
            "generated/train/1/42"
        )
    split, level = match[1], int(match[2])
    generator = random.Random(task_id)  # noqa: S311
    for _ in range(_ATTEMPTS):
        schema_index = generator.randrange(len(SCHEMAS[split]))
        number = generator.choice(SHOWN_WORLDS)
        shown = world(split, schema_index, number)
        template = generator.choice(LEVELS[level])
        try:
            question = template(Scene(SCHEMAS[split][schema_index], shown.rows, generator))
            answer = determined_rows(question.reference, shown.database)
        except (NoQuestionError, UndeterminedError):
            continue
        hidden = hidden_databases(task_id, split, schema_index, question.reference)
        if _is_worth_asking(answer) and differs_somewhere(question.reference, answer, hidden):
            return GeneratedTask(split, level, schema_index, number, question)
    raise AssertionError(f"the templates of level {level} make no task for {task_id}")


def _is_worth_asking(answer: ExpectedRows) -> bool:
    """Return whether an answer is neither long nor like that of a query that finds nothing."""
    return len(answer.rows) <= _MOST_ROWS and answer.rows != ((0,),)


def definitions_of(task_id: str) -> tuple[tuple[str, str], ...]:
    """Return the tables of a generated task for an engine that has types: names and definitions.

    Raises:
        UnknownTaskError: It is no id of a generated task.
    """
    task = generate(task_id)
    tables = SCHEMAS[task.split][task.schema_index].tables
    return tuple((table.name, engine_definition(table)) for table in tables)


@functools.lru_cache(maxsize=4096)
def _open_half(task_id: str, engine: str) -> Task:
    hidden = generate(task_id)
    shown = database_of(hidden.split, hidden.schema_index, hidden.world_number)
    return Task(
        id=task_id,
        domain="sql",
        prompt=_prompt(hidden.question, engine_named(engine)),
        level=hidden.level,
        split=hidden.split,
        files={DATABASE_FILE: shown},
        metadata={"kind": hidden.question.kind},
    )


def _prompt(question: Question, engine: Engine) -> str:
    typed = engine is not SQLITE
    lines = [f"Database: {engine.title}"] if typed else []
    lines += [_describe(table, typed=typed) for table in question.tables]
    names = {table.name for table in question.tables}
    lines += [
        f"{table.name}.{column.name} refers to {column.target}.id"
        for table in question.tables
        for column in table.columns
        if column.target in names and len(names) > 1
    ]
    return "\n".join([*lines, f"Question: {question.text}"])


def _describe(table: Table, *, typed: bool) -> str:
    columns = [
        f"{column.name} {engine_type(column)}" if typed else column.name for column in table.columns
    ]
    return f"Table {table.name}({', '.join(columns)})"
