"""The seeded generator of changes: endless, levels 1 to 5, train and test on other schemas.

A task is a pure function of its id, `changes/<split>/<level>/<seed>`.
"""

from __future__ import annotations

import dataclasses
import functools
import random
import re

import numpy as np

from execgym.envs.errors import UnknownTaskError
from execgym.envs.sql.changes.change import Change, ChangeTemplate, HiddenChange
from execgym.envs.sql.changes.joined import LEVEL_3
from execgym.envs.sql.changes.migrations import LEVEL_5
from execgym.envs.sql.changes.single import LEVEL_1, LEVEL_2
from execgym.envs.sql.changes.steps import LEVEL_4
from execgym.envs.sql.changes.trial import is_worth_asking
from execgym.envs.sql.data import SCHEMAS, SHOWN_WORLDS, database_of, table_definition, world
from execgym.envs.sql.questions import NoQuestionError, Scene
from execgym.envs.sql.tasks import DATABASE_FILE
from execgym.envs.task import Task

NAME = "changes"
"""What `make(..., tasks=...)` calls the source."""

LEVELS: dict[int, tuple[ChangeTemplate, ...]] = {
    1: LEVEL_1,
    2: LEVEL_2,
    3: LEVEL_3,
    4: LEVEL_4,
    5: LEVEL_5,
}

_ID = re.compile(r"changes/(train|test)/([1-5])/(0|[1-9][0-9]{0,9})\Z")
_SEEDS = 2**31
_ATTEMPTS = 200
_SHORT_LEVELS = 3
RULES = (
    "Write an SQL script that makes this change and no other. Its statements run one after the "
    "other; the first that fails ends it, and a transaction that is open at the end is rolled "
    "back. Foreign keys are enforced."
)
"""What every prompt ends with."""


@dataclasses.dataclass(frozen=True, slots=True)
class ChangeTask:
    """A generated change with its hidden half.

    Attributes:
        split: `"train"` or `"test"`.
        level: 1 to 5.
        schema_index: Which of the split's schemas.
        world_number: Which filling of it is shown.
        change: What is asked for, and right scripts.
    """

    split: str
    level: int
    schema_index: int
    world_number: int
    change: Change

    @property
    def shown(self) -> bytes:
        """The shown database."""
        return database_of(self.split, self.schema_index, self.world_number)

    @property
    def hidden(self) -> HiddenChange:
        """The change with its database."""
        tables = SCHEMAS[self.split][self.schema_index].tables
        names = tuple(column.name for table in tables for column in table.columns)
        return HiddenChange(change=self.change, shown=self.shown, columns=names)


class ChangeSource:
    """The generator as a task source."""

    splits = ("train", "test")

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
        return f"{NAME}/{split}/{level}/{int(generator.integers(_SEEDS))}"

    def task(self, task_id: str) -> Task:
        """Return the task of an id.

        Raises:
            UnknownTaskError: It is no id of a change.
        """
        return _open_half(task_id)


@functools.lru_cache(maxsize=4096)
def generate(task_id: str) -> ChangeTask:
    """Return a task with its hidden half. Only trusted code may see it.

    Raises:
        UnknownTaskError: It is no id of a change.
    """
    match = _ID.match(task_id) if isinstance(task_id, str) else None
    if match is None or int(match[3]) >= _SEEDS:
        raise UnknownTaskError(
            f"there is no SQL change {task_id!r}: an id is changes/<split>/<level>/<seed> with "
            f"split train or test, level 1 to 5 and seed 0 to {_SEEDS - 1}, for example "
            "changes/train/1/42"
        )
    split, level = match[1], int(match[2])
    generator = random.Random(task_id)  # noqa: S311
    for _ in range(_ATTEMPTS):
        schema_index = generator.randrange(len(SCHEMAS[split]))
        number = generator.choice(SHOWN_WORLDS)
        template = generator.choice(LEVELS[level])
        rows = world(split, schema_index, number).rows
        try:
            change = template(Scene(SCHEMAS[split][schema_index], rows, generator))
        except NoQuestionError:
            continue
        task = ChangeTask(split, level, schema_index, number, change)
        if is_worth_asking(change, task.shown):
            return task
    raise AssertionError(f"the templates of level {level} make no task for {task_id}")


@functools.lru_cache(maxsize=4096)
def _open_half(task_id: str) -> Task:
    hidden = generate(task_id)
    schema = SCHEMAS[hidden.split][hidden.schema_index]
    # Short prompts where one or two tables are all that there is to it.
    definitions = [
        f"{table_definition(table)};"
        for table in schema.tables
        if hidden.level > _SHORT_LEVELS or re.search(rf"\b{table.name}\b", hidden.change.script)
    ]
    return Task(
        id=task_id,
        domain="sql",
        prompt="\n".join(["Database: SQLite", *definitions, f"Task: {hidden.change.text}", RULES]),
        level=hidden.level,
        split=hidden.split,
        files={DATABASE_FILE: hidden.shown},
        metadata={"kind": hidden.change.kind},
    )
