"""What a change is judged by: databases, and what the reference makes of each.

Only trusted code imports this module. Nothing of it may reach a task, an observation, an info, a
pickle of an env, or a sandbox, except that the databases and the probes go to the sandbox in which
the script is judged.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import random
import threading

from execgym.envs.sql.changes.driver import WritableDatabase
from execgym.envs.sql.changes.hidden import hidden_change, variants
from execgym.envs.sql.changes.mutants import script_mutants, typed_in
from execgym.envs.sql.changes.trial import Result, attempt, wrong_in
from execgym.envs.sql.data import HIDDEN_WORLDS
from execgym.envs.sql.reference import MAX_STEPS, UndeterminedError

HIDDEN_DATABASES = 3
"""Hidden variants on which a script is judged, besides those of rare cases."""

_CANDIDATES = 6
_LOCK = threading.Lock()


@dataclasses.dataclass(frozen=True, slots=True)
class ChangeExam:
    """What a script is judged by.

    Attributes:
        databases: Bytes of SQLite files: the shown one, then the hidden ones.
        expected: What the reference comes to on each.
    """

    databases: tuple[bytes, ...]
    expected: tuple[Result, ...]


def exam(task_id: str) -> ChangeExam:
    """Return the exam of a change.

    Raises:
        UnknownTaskError: No task has this id.
        UndeterminedError: No hidden databases tell the reference from typed-in rows.
    """
    with _LOCK:
        return _exam(task_id)


@functools.lru_cache(maxsize=1024)
def _exam(task_id: str) -> ChangeExam:
    hidden = hidden_change(task_id)
    change, shown = hidden.change, hidden.shown
    result = attempt(change, change.script, shown)
    wrong = [
        *typed_in(attempt(change, "", shown).state, result.state),
        *script_mutants(change.script, hidden.columns),
        *change.wrongs,
    ]
    left = [one for one in wrong if not wrong_in(result, attempt(change, one, shown))]
    generator = random.Random(f"exam/{task_id}")  # noqa: S311
    candidates = list(itertools.islice(variants(task_id, generator, HIDDEN_WORLDS), _CANDIDATES))
    if not candidates:
        raise UndeterminedError("the reference runs on no hidden database")
    survivors = [
        {one for one in left if not wrong_in(expected, attempt(change, one, database))}
        for database, expected in candidates
    ]
    chosen: list[tuple[bytes, Result]] = [(shown, result)]
    alive = set(left)
    while candidates and len(chosen) <= HIDDEN_DATABASES:
        best = min(range(len(candidates)), key=lambda index: (len(alive & survivors[index]), index))
        chosen.append(candidates.pop(best))
        alive &= survivors.pop(best)
    for script in change.plants:
        planted = [_planted(script, database) for database, _ in chosen[: HIDDEN_DATABASES + 1]]
        results = [attempt(change, change.script, database) for database in planted]
        survivors = [
            {one for one in change.wrongs if not wrong_in(expected, attempt(change, one, database))}
            for database, expected in zip(planted, results, strict=True)
        ]
        best = min(range(len(planted)), key=lambda index: (len(survivors[index]), index))
        chosen.append((planted[best], results[best]))
    return ChangeExam(
        tuple(database for database, _ in chosen), tuple(expected for _, expected in chosen)
    )


def _planted(script: str, data: bytes) -> bytes:
    with WritableDatabase(data) as database:
        outcome = database.run(script, steps=MAX_STEPS)
        if outcome.error:
            raise UndeterminedError(f"a rare case cannot be planted: {outcome.error}")
        return database.bytes()


def surviving_mutants(task_id: str) -> list[str]:
    """Return the mutants of a change's reference that its exam would pass."""
    paper, hidden = exam(task_id), hidden_change(task_id)
    change = hidden.change
    left = [*script_mutants(change.script, hidden.columns), *change.wrongs]
    for database, expected in zip(paper.databases, paper.expected, strict=True):
        left = [one for one in left if not wrong_in(expected, attempt(change, one, database))]
    return left
