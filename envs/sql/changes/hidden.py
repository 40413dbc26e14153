"""The hidden half of any change by its id, and databases to judge it on."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from execgym.envs.sql.changes.change import HiddenChange
from execgym.envs.sql.changes.public import NAME as DBBENCH
from execgym.envs.sql.changes.public import dbbench_change, is_dbbench
from execgym.envs.sql.changes.tasks import NAME as GENERATED
from execgym.envs.sql.changes.tasks import generate
from execgym.envs.sql.changes.trial import Result, attempt, is_determined
from execgym.envs.sql.data import database_of
from execgym.envs.sql.planting import bounds_of, plant
from execgym.envs.sql.reseeding import reseed

CHANGE_SOURCES = (GENERATED, DBBENCH)
"""Names of the task sources whose tasks are changes."""


def is_change(task_id: str) -> bool:
    """Return whether an id looks like that of a change."""
    return isinstance(task_id, str) and task_id.partition("/")[0] in CHANGE_SOURCES


def hidden_change(task_id: str) -> HiddenChange:
    """Return the hidden half of a change.

    Raises:
        UnknownTaskError: No change has this id.
    """
    return dbbench_change(task_id) if is_dbbench(task_id) else generate(task_id).hidden


def variants(
    task_id: str, generator: random.Random, numbers: Sequence[int]
) -> Iterator[tuple[bytes, Result]]:
    """Yield databases of a change's schema on which the reference has one result, and that."""
    hidden = hidden_change(task_id)
    change = hidden.change
    bounds = [bound for one in change.conditions for bound in bounds_of(f"SELECT 1 WHERE {one}")]
    for number in generator.sample(numbers, len(numbers)):
        if is_dbbench(task_id):
            seeded = random.Random(f"variant/{task_id}/{number}")  # noqa: S311
            database = reseed(hidden.shown, seeded)
        else:
            task = generate(task_id)
            database = plant(database_of(task.split, task.schema_index, number), bounds, generator)
        result = attempt(change, change.script, database)
        if not result.error and is_determined(change, database, result):
            yield database, result
