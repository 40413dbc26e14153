"""AgentBench's INSERT and UPDATE tasks (dbbench) as a source of changes.

The set is read from the data directory (`execgym data`); this package carries nothing of it. Each
task is one table with its rows, a sentence, and one statement that is the set's answer. Its MySQL
is SQLite, too, but for two tasks. The sentences often leave open how a value is to be written: the
set's way is the right one, as it is for its own judge.
"""

from __future__ import annotations

import functools
import json
import pathlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from execgym.envs.datasets import dataset_directory
from execgym.envs.errors import UnknownTaskError
from execgym.envs.sql.changes.change import Change, HiddenChange
from execgym.envs.sql.changes.defective_tasks import DEFECTIVE_TASKS
from execgym.envs.sql.changes.driver import statements
from execgym.envs.sql.changes.tasks import RULES
from execgym.envs.sql.driver import build_database
from execgym.envs.sql.tasks import DATABASE_FILE
from execgym.envs.task import Task

NAME = "dbbench"
"""What `make(..., tasks=...)` calls the source."""

DATASET = "agentbench_dbbench"
_FILE = "standard.jsonl"
_LEVELS = {"INSERT": 1, "UPDATE": 2}


class DBBenchSource:
    """The set as a task source. It has the split `"test"` only.

    Raises:
        TaskSetUnavailableError: The set has not been brought to this machine.
    """

    splits = ("test",)

    def __init__(self) -> None:
        self._folder = dataset_directory(DATASET)
        self._by_level: dict[int, list[str]] = {level: [] for level in _LEVELS.values()}
        for task_id, record in _records(self._folder).items():
            if task_id not in DEFECTIVE_TASKS:
                self._by_level[_LEVELS[record["type"][0]]].append(task_id)

    def levels(self, split: str) -> tuple[int, ...]:
        """Return 1, which is INSERT, and 2, which is UPDATE."""
        return tuple(self._by_level)

    def ids(self, split: str, level: int | None = None) -> Sequence[str]:
        """Return the ids of all sound tasks."""
        chosen = self._by_level if level is None else (level,)
        return tuple(task_id for each in chosen for task_id in self._by_level[each])

    def sample(self, generator: np.random.Generator, split: str, level: int | None = None) -> str:
        """Draw the id of a task."""
        ids = self.ids(split, level)
        return ids[int(generator.integers(len(ids)))]

    def task(self, task_id: str) -> Task:
        """Return the task of an id.

        Raises:
            UnknownTaskError: The set has no sound task of this id.
        """
        hidden = dbbench_change(task_id)
        if task_id in DEFECTIVE_TASKS:
            raise UnknownTaskError(
                f"the task {task_id!r} of 'dbbench' is defective: {DEFECTIVE_TASKS[task_id]}"
            )
        record = _records(self._folder)[task_id]
        return Task(
            id=task_id,
            domain="sql",
            prompt=f"Database: SQLite\n{_definition(record)};\nTask: {hidden.change.text}\n{RULES}",
            level=_LEVELS[record["type"][0]],
            split="test",
            files={DATABASE_FILE: hidden.shown},
            metadata={"kind": hidden.change.kind},
        )


def is_dbbench(task_id: str) -> bool:
    """Return whether an id looks like one of the set."""
    return isinstance(task_id, str) and task_id.partition("/")[0] == NAME


def all_ids() -> list[str]:
    """Return the ids of all tasks of the set, the defective ones too."""
    return list(_records(dataset_directory(DATASET)))


@functools.lru_cache(maxsize=512)
def dbbench_change(task_id: str) -> HiddenChange:
    """Return a task with its hidden half. Only trusted code may see it.

    Raises:
        UnknownTaskError: The set has no task of this id.
        TaskSetUnavailableError: The set has not been brought to this machine.
    """
    record = _records(dataset_directory(DATASET)).get(task_id)
    if record is None:
        raise UnknownTaskError(
            f"there is no task {task_id!r} in 'dbbench'; an id is like 'dbbench/100'"
        )
    columns = [column["name"] for column in record["table"]["table_info"]["columns"]]
    rows = [tuple(row) for row in record["table"]["table_info"]["rows"]]
    change = Change(
        kind=record["type"][0].lower(),
        text=record["description"].strip(),
        script="\n".join(f"{part.strip().rstrip(';')};" for part in statements(record["label"][0])),
    )
    table = record["table"]["table_name"]
    database = build_database([_definition(record)], {table: rows})
    return HiddenChange(change=change, shown=database, columns=tuple(columns))


def _definition(record: dict[str, Any]) -> str:
    table = record["table"]
    parts = [
        f"{_quoted(column['name'])} {column['type']}" for column in table["table_info"]["columns"]
    ]
    return f"CREATE TABLE {_quoted(table['table_name'])} ({', '.join(parts)})"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@functools.lru_cache(maxsize=2)
def _records(folder: pathlib.Path) -> dict[str, dict[str, Any]]:
    return dict(_read(folder))


def _read(folder: pathlib.Path) -> Iterator[tuple[str, dict[str, Any]]]:
    lines = (folder / _FILE).read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines):
        record = json.loads(line)
        if record["type"] in (["INSERT"], ["UPDATE"]):
            yield f"{NAME}/{number}", record
