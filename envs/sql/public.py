"""Public sets as task sources: Spider's development split and Defog's SQL-Eval.

The sets are read from the data directory (`execgym data`); this package carries none of them.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import json
import pathlib
import re
import sqlite3
from collections.abc import Iterator, Sequence

import numpy as np

from execgym.envs.datasets import dataset_directory
from execgym.envs.errors import UnknownTaskError
from execgym.envs.sql.defective_tasks import DEFECTIVE_TASKS
from execgym.envs.sql.reseeding import quoted, table_names
from execgym.envs.sql.tasks import DATABASE_FILE
from execgym.envs.task import Task

PUBLIC_SETS = {"spider": "spider_dev", "defog": "defog"}
"""Names of the data sets by name of the source."""

_SPIDER_LEVELS = {"easy": 1, "medium": 2, "hard": 3, "extra": 4}
_DEFOG_LEVELS = {
    "instruct_basic_sqlite": 2,
    "questions_gen_sqlite": 3,
    "instruct_advanced_sqlite": 4,
}
_ASKS_FOR_ORDER = re.compile(r"\b(order|ordered|sort|sorted|arrange|arranged|rank|ranked)\b", re.I)


@dataclasses.dataclass(frozen=True, slots=True)
class PublicQuestion:
    """The open half of a task of a public set.

    Attributes:
        id: The task's id.
        level: 1 to 5.
        database: The shown database's file.
        text: The question, with what else is to be known.
    """

    id: str
    level: int
    database: pathlib.Path
    text: str


@dataclasses.dataclass(frozen=True, slots=True)
class PublicAnswer:
    """The hidden half.

    Attributes:
        database: The shown database's file.
        golds: Right queries.
        ordered: Whether the question asks for an order.
    """

    database: pathlib.Path
    golds: tuple[str, ...]
    ordered: bool


class PublicSource:
    """A public set as a task source. It has the split `"test"` only.

    Args:
        name: `"spider"` or `"defog"`.

    Raises:
        TaskSetUnavailableError: The set has not been brought to this machine.
    """

    splits = ("test",)

    def __init__(self, name: str) -> None:
        self._name = name
        self._questions = questions(name, dataset_directory(PUBLIC_SETS[name]))
        self._by_level: dict[int, list[str]] = collections.defaultdict(list)
        for task_id, question in self._questions.items():
            self._by_level[question.level].append(task_id)

    def levels(self, split: str) -> tuple[int, ...]:
        """Return the levels that it has."""
        return tuple(sorted(self._by_level))

    def ids(self, split: str, level: int | None = None) -> Sequence[str]:
        """Return the ids of all sound tasks."""
        return tuple(self._questions) if level is None else tuple(self._by_level[level])

    def sample(self, generator: np.random.Generator, split: str, level: int | None = None) -> str:
        """Draw the id of a task."""
        if level is None:
            levels = self.levels(split)
            level = levels[int(generator.integers(len(levels)))]
        ids = self._by_level[level]
        return ids[int(generator.integers(len(ids)))]

    def task(self, task_id: str) -> Task:
        """Return the task of an id.

        Raises:
            UnknownTaskError: The set has no sound task of this id.
        """
        question = self._questions.get(task_id) if isinstance(task_id, str) else None
        if question is None:
            reason = DEFECTIVE_TASKS.get(str(task_id))
            why = f" (it is defective: {reason})" if reason else ""
            example = next(iter(self._questions))
            raise UnknownTaskError(
                f"there is no task {task_id!r} in {self._name!r}{why}; an id is like {example!r}"
            )
        database = shown_database(question.database)
        return Task(
            id=question.id,
            domain="sql",
            prompt=f"{_schema(question.database)}\nQuestion: {question.text}",
            level=question.level,
            split="test",
            files={DATABASE_FILE: database},
            metadata={"kind": self._name, "database": question.database.stem},
        )


@functools.lru_cache(maxsize=4)
def questions(name: str, folder: pathlib.Path) -> dict[str, PublicQuestion]:
    """Return the open halves of a set's sound tasks, by id."""
    return {
        question.id: question
        for question, _ in _records(name, folder)
        if question.id not in DEFECTIVE_TASKS
    }


def public_answer(task_id: str) -> PublicAnswer:
    """Return the hidden half of a task, a defective one too. Only trusted code may see it.

    Raises:
        UnknownTaskError: There is no such task.
        TaskSetUnavailableError: The set has not been brought to this machine.
    """
    name = task_id.partition("/")[0]
    found = _answers(name, dataset_directory(PUBLIC_SETS[name])).get(task_id)
    if found is None:
        raise UnknownTaskError(f"there is no task {task_id!r} in {name!r}")
    return found


def all_ids(name: str) -> list[str]:
    """Return the ids of all tasks of a set, the defective ones too."""
    return list(_answers(name, dataset_directory(PUBLIC_SETS[name])))


@functools.lru_cache(maxsize=64)
def shown_database(path: pathlib.Path) -> bytes:
    """Return the bytes of a shown database."""
    return path.read_bytes()


@functools.lru_cache(maxsize=4)
def _answers(name: str, folder: pathlib.Path) -> dict[str, PublicAnswer]:
    return {question.id: answer for question, answer in _records(name, folder)}


def _records(name: str, folder: pathlib.Path) -> Iterator[tuple[PublicQuestion, PublicAnswer]]:
    if name == "spider":
        return _spider(folder)
    return _defog(folder)


def _spider(folder: pathlib.Path) -> Iterator[tuple[PublicQuestion, PublicAnswer]]:
    records = json.loads((folder / "ic_spider_dev.json").read_text(encoding="utf-8"))
    for number, record in enumerate(records):
        path = folder / "database" / f"{record['db']}.sqlite"
        level = _SPIDER_LEVELS[record["hardness"]]
        yield (
            PublicQuestion(f"spider/{number}", level, path, record["query"].strip()),
            PublicAnswer(path, (record["gold"],), True),
        )


def _defog(folder: pathlib.Path) -> Iterator[tuple[PublicQuestion, PublicAnswer]]:
    for record in json.loads((folder / "tasks.json").read_text(encoding="utf-8")):
        path = folder / f"{record['db']}.sqlite"
        text = record["question"].strip()
        if record["instructions"]:
            text += f"\nNote: {record['instructions'].strip()}"
        if any(record["now"] in gold for gold in record["gold"]):
            text += f"\nWrite '{record['now']}' for the time now."
        ordered = "order" in record["category"] or bool(_ASKS_FOR_ORDER.search(record["question"]))
        yield (
            PublicQuestion(
                f"defog/{record['id']}", _DEFOG_LEVELS[record["id"].partition("/")[0]], path, text
            ),
            PublicAnswer(path, tuple(record["gold"]), ordered),
        )


@functools.lru_cache(maxsize=64)
def _schema(path: pathlib.Path) -> str:
    connection = sqlite3.connect(":memory:")
    try:
        connection.deserialize(shown_database(path))
        tables, keys = [], []
        for table in table_names(connection):
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info({quoted(table)})")]
            tables.append(f"Table {table}({', '.join(columns)})")
            for key in connection.execute(f"PRAGMA foreign_key_list({quoted(table)})"):
                keys.append(f"{table}.{key[3]} refers to {key[2]}.{key[4] or 'its key'}")
    finally:
        connection.close()
    return "\n".join([*tables, *keys])
