"""The databases that a generated task can be judged on, and whether they can judge it."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator

from execgym.envs.sql.comparison import rows_match
from execgym.envs.sql.data import HIDDEN_WORLDS, database_of
from execgym.envs.sql.planting import bounds_of, plant
from execgym.envs.sql.reference import (
    ExpectedRows,
    ReferenceQuery,
    UndeterminedError,
    expected_rows,
)


def hidden_databases(
    task_id: str, split: str, schema_index: int, reference: ReferenceQuery
) -> Iterator[bytes]:
    """Yield the databases that a generated task can be judged on, in the order of preference."""
    generator = random.Random(f"exam/{task_id}")  # noqa: S311
    bounds = bounds_of(reference.sql)
    for number in generator.sample(HIDDEN_WORLDS, len(HIDDEN_WORLDS)):
        yield plant(database_of(split, schema_index, number), bounds, generator)


def determined_rows(reference: ReferenceQuery, database: bytes) -> ExpectedRows:
    """Return a reference's rows.

    Raises:
        UndeterminedError: It has none, or others when free orders are reversed.
    """
    expected = expected_rows(reference, database)
    other = expected_rows(reference, database, reverse=True)
    if not rows_match(expected, other.columns, other.rows):
        raise UndeterminedError("the reference answers by the order in which rows are stored")
    return expected


def differs_somewhere(
    reference: ReferenceQuery, answer: ExpectedRows, hidden: Iterable[bytes]
) -> bool:
    """Return whether a reference has another answer on some hidden database.

    Where it has not, whoever types in the shown answer is right, and nothing can be judged.
    """
    for database in hidden:
        try:
            other = determined_rows(reference, database)
        except UndeterminedError:
            continue
        if not rows_match(other, answer.columns, answer.rows):
            return True
    return False
