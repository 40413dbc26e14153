"""Repairs: a question with a query that is meant to answer it and does not.

A task is a pure function of its id, `repair/<split>/<level>/<seed>`. It is a generated question
(`execgym.envs.sql.tasks`) with a mutant of the reference that the question's exam fails; a right
query is judged as for the question alone.
"""

from __future__ import annotations

import dataclasses
import functools
import random
import re
from collections.abc import Iterator

import numpy as np
import sqlglot
from sqlglot import expressions as exp

from execgym.envs.errors import UnknownTaskError
from execgym.envs.sql.driver import QueryError, ReadOnlyDatabase
from execgym.envs.sql.exams import exam, fails_exam, reference_of
from execgym.envs.sql.mutants import mutants
from execgym.envs.sql.reference import MAX_BYTES, MAX_ROWS, MAX_STEPS
from execgym.envs.sql.tasks import DATABASE_FILE, LEVELS, GeneratedSource, generate
from execgym.envs.task import Task

NAME = "repair"
"""What `make(..., tasks=...)` calls the source."""

_ID = re.compile(r"repair/(train|test)/([1-5])/(0|[1-9][0-9]{0,9})\Z")
_SEEDS = 2**31
_ATTEMPTS = 50
_SHARE_THAT_RUNS = 0.75


@dataclasses.dataclass(frozen=True, slots=True)
class Repair:
    """A repair.

    Attributes:
        question_id: The generated question.
        faulty: The query with the fault.
    """

    question_id: str
    faulty: str


class RepairSource:
    """The generator as a task source."""

    splits = ("train", "test")

    def levels(self, split: str) -> tuple[int, ...]:
        """Return 1 to 5, the levels of the questions."""
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
            UnknownTaskError: It is no id of a repair.
        """
        repair = repair_of(task_id)
        question = GeneratedSource().task(repair.question_id)
        prompt = (
            f"{question.prompt}\nThis query was written to answer it, but it is wrong:\n"
            f"{repair.faulty}\nGive the right query."
        )
        return dataclasses.replace(
            question,
            id=task_id,
            prompt=prompt,
            files={DATABASE_FILE: question.files[DATABASE_FILE]},
        )


def question_of(task_id: str) -> str:
    """Return the id under which a query is judged: that of the question, for a repair.

    Raises:
        UnknownTaskError: It looks like a repair and is none.
    """
    return repair_of(task_id).question_id if is_repair(task_id) else task_id


def is_repair(task_id: str) -> bool:
    """Return whether an id looks like that of a repair."""
    return isinstance(task_id, str) and task_id.partition("/")[0] == NAME


@functools.lru_cache(maxsize=4096)
def repair_of(task_id: str) -> Repair:
    """Return a repair.

    Raises:
        UnknownTaskError: It is no id of a repair.
    """
    match = _ID.match(task_id) if isinstance(task_id, str) else None
    if match is None or int(match[3]) >= _SEEDS:
        raise UnknownTaskError(
            f"there is no SQL repair {task_id!r}: an id is repair/<split>/<level>/<seed> with "
            f"split train or test, level 1 to 5 and seed 0 to {_SEEDS - 1}, for example "
            "repair/train/1/42"
        )
    generator = random.Random(task_id)  # noqa: S311
    for _ in range(_ATTEMPTS):
        question_id = f"generated/{match[1]}/{match[2]}/{generator.randrange(_SEEDS)}"
        faults = list(_faults(question_id))
        generator.shuffle(faults)
        # Where there are both, most run: to read an error message is the lesser skill.
        faults.sort(key=lambda fault: fault[1] != (generator.random() < _SHARE_THAT_RUNS))
        for faulty, _ in faults:
            if fails_exam(question_id, faulty):
                return Repair(question_id, faulty)
    raise AssertionError(f"no question with a fault was found for {task_id}")


def _faults(question_id: str) -> Iterator[tuple[str, bool]]:
    """Yield queries that may be wrong, and whether each runs on the shown database."""
    task = generate(question_id)
    sql = reference_of(question_id).sql
    columns = [column.name for table in task.question.tables for column in table.columns]
    with ReadOnlyDatabase(exam(question_id).databases[0]) as database:
        for faulty in (*mutants(sql, columns), *_misspelt(sql)):
            if sql in faulty:
                continue  # It would show the right one.
            try:
                database.run(faulty, rows=MAX_ROWS, size=MAX_BYTES, steps=MAX_STEPS // 100)
            except QueryError:
                yield faulty, False
            else:
                yield faulty, True


def _misspelt(sql: str) -> Iterator[str]:
    """Yield the query with one name misspelt."""
    tree = sqlglot.parse_one(sql, read="sqlite")
    for node in (*tree.find_all(exp.Column), *tree.find_all(exp.Table)):
        name = node.name
        if len(name) > 2:
            before = node.args["this"]
            node.set("this", exp.to_identifier(name + "s" if name[-1] != "s" else name[:-1]))
            yield tree.sql("sqlite")
            node.set("this", before)
