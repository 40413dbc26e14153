"""What a submission is judged by: the databases of a task, and the right rows on each.

Only trusted code imports this module. Nothing of it may reach a task, an observation, an info, a
pickle of an env, or a sandbox, except that the databases and the query go to the sandbox in which
the query is judged.
"""

from __future__ import annotations

import dataclasses
import functools
import pathlib
import random
import re
import threading
from collections.abc import Iterable, Sequence

from execgym.envs.sql.comparison import rows_match
from execgym.envs.sql.data import database_of
from execgym.envs.sql.driver import QueryError, ReadOnlyDatabase
from execgym.envs.sql.hidden_worlds import determined_rows, hidden_databases
from execgym.envs.sql.mutants import mutants
from execgym.envs.sql.ordering import reference_from_sql
from execgym.envs.sql.planting import bounds_of, plant
from execgym.envs.sql.public import PUBLIC_SETS, public_answer, shown_database
from execgym.envs.sql.reference import (
    MAX_BYTES,
    MAX_ROWS,
    MAX_STEPS,
    ExpectedRows,
    ReferenceQuery,
    UndeterminedError,
    quote,
)
from execgym.envs.sql.reseeding import quoted, reseed
from execgym.envs.sql.tasks import generate

HIDDEN_DATABASES = 3
"""Hidden variants on which a submission is judged."""

_CANDIDATES = 12
_VARIANTS = 20
_MOST_PICKED = 20
_LOCK = threading.Lock()


@dataclasses.dataclass(frozen=True, slots=True)
class Exam:
    """What a submission is judged by.

    Attributes:
        databases: Bytes of SQLite files: the shown one, then the hidden ones.
        alternatives: Each is a right answer: its rows on each of the databases.
    """

    databases: tuple[bytes, ...]
    alternatives: tuple[tuple[ExpectedRows, ...], ...]


def exam(task_id: str) -> Exam:
    """Return the exam of a task.

    Raises:
        UnknownTaskError: No task has this id.
        UndeterminedError: No hidden database was found on which the reference has an answer.
    """
    # Many submissions for one task tend to come at once: only the first of them makes the exam.
    with _LOCK:
        if _is_public(task_id):
            return _public_exam(task_id)
        return _generated_exam(task_id)


def reference_of(task_id: str) -> ReferenceQuery:
    """Return the reference of a task, the first one where it has several.

    Raises:
        UnknownTaskError: No task has this id.
    """
    if _is_public(task_id):
        return _public_references(task_id)[0]
    return generate(task_id).question.reference


@functools.lru_cache(maxsize=1024)
def _generated_exam(task_id: str) -> Exam:
    task = generate(task_id)
    shown = database_of(task.split, task.schema_index, task.world_number)
    reference = task.question.reference
    hidden = hidden_databases(task_id, task.split, task.schema_index, reference)
    columns = [column.name for table in task.question.tables for column in table.columns]
    return choose_databases((reference,), shown, hidden, columns)


@functools.lru_cache(maxsize=256)
def _public_exam(task_id: str) -> Exam:
    path = public_answer(task_id).database
    shown = shown_database(path)
    references = _public_references(task_id)
    bounds = bounds_of(references[0].sql)
    generator = random.Random(f"exam/{task_id}")  # noqa: S311
    hidden = (
        plant(_variant(path, number), bounds, generator)
        for number in generator.sample(range(_VARIANTS), _VARIANTS)
    )
    columns = list(dict.fromkeys(re.findall(r"\w+", references[0].sql)))
    # A row of a variant keeps its key, so a row that was looked up can be named by it.
    picks = [
        pick
        for reference in references
        for pick in rows_by_number(determined_rows(reference, shown), shown)
    ]
    return choose_databases(references, shown, hidden, columns, picks)


def _public_references(task_id: str) -> tuple[ReferenceQuery, ...]:
    """Return the references of a public task that have an answer on the shown database."""
    answer = public_answer(task_id)
    shown = shown_database(answer.database)
    found = []
    trouble: UndeterminedError | None = None
    for gold in answer.golds:
        try:
            reference = reference_from_sql(gold, ordered=answer.ordered)
            determined_rows(reference, shown)
            found.append(reference)
        except UndeterminedError as error:
            trouble = trouble or error
    if not found:
        raise trouble or UndeterminedError("there is no reference")
    return tuple(found)


@functools.lru_cache(maxsize=640)
def _variant(path: pathlib.Path, number: int) -> bytes:
    return reseed(shown_database(path), random.Random(f"variant/{path.stem}/{number}"))  # noqa: S311


def _is_public(task_id: str) -> bool:
    return isinstance(task_id, str) and task_id.partition("/")[0] in PUBLIC_SETS


def choose_databases(
    references: Sequence[ReferenceQuery],
    shown: bytes,
    candidates: Iterable[bytes],
    columns: Sequence[str],
    cheats: Sequence[str] = (),
) -> Exam:
    """Choose hidden databases that tell the references from their mutants.

    Args:
        references: Right queries. The first one is mutated.
        shown: The shown database.
        candidates: Databases of the same schema, in order of preference.
        columns: Column names for the mutants.
        cheats: Further wrong queries.

    Raises:
        UndeterminedError: A reference has no answer on the shown database, or none on any
            candidate, or the same on all of them, so that a constant would be right.
    """
    answers = [[determined_rows(reference, shown) for reference in references]]
    databases = [shown]
    differs = False
    for candidate in candidates:
        if candidate in databases:
            continue
        try:
            found = [determined_rows(reference, candidate) for reference in references]
        except UndeterminedError:
            continue
        answers.append(found)
        databases.append(candidate)
        differs = differs or not rows_match(found[0], answers[0][0].columns, answers[0][0].rows)
        if len(databases) > _CANDIDATES and differs:
            break
    if len(databases) == 1:
        raise UndeterminedError("the reference has an answer on no hidden database")
    if not differs:
        raise UndeterminedError("the reference has the same answer on every database")
    wrong = [*mutants(references[0].sql, columns), *_constants(answers[0][0]), *cheats]
    survivors = _not_killed(wrong, shown, answers[0], reverse=False)
    kills = [
        set(survivors) - set(_not_killed(survivors, database, found, reverse=True))
        for database, found in zip(databases[1:], answers[1:], strict=True)
    ]
    chosen = [0, *(1 + index for index in _cover(kills))]
    return Exam(
        tuple(databases[index] for index in chosen),
        tuple(tuple(answers[index][which] for index in chosen) for which in range(len(references))),
    )


def surviving_mutants(task_id: str) -> list[str]:
    """Return the mutants of a task's reference that its exam would pass."""
    paper = exam(task_id)
    left = mutants(reference_of(task_id).sql)
    for index, database in enumerate(paper.databases):
        expected = [rows[index] for rows in paper.alternatives]
        left = _not_killed(left, database, expected, reverse=index > 0)
    return left


def fails_exam(task_id: str, query: str) -> bool:
    """Return whether a query is wrong on some database of a task's exam."""
    paper = exam(task_id)
    return not all(
        _not_killed(
            [query], database, [rows[index] for rows in paper.alternatives], reverse=index > 0
        )
        for index, database in enumerate(paper.databases)
    )


def rows_by_number(expected: ExpectedRows, database: bytes) -> list[str]:
    """Return queries that name the rows of an answer by their numbers, one for each fitting table.

    Whoever has looked at the database can write them without having understood the question.
    """
    if len(expected.rows) > _MOST_PICKED:
        return []
    # In brackets a name that is no column's is an error; in double quotes it would be a text.
    names = [f"[{name}]" for name in expected.columns]
    found = []
    with ReadOnlyDatabase(database) as opened:
        for table in map(quoted, sorted(opened.tables)):
            numbers = []
            for row in expected.rows:
                same = " AND ".join(
                    f"{name} IS {quote(value)}" for name, value in zip(names, row, strict=True)
                )
                query = f"SELECT rowid FROM {table} WHERE {same} LIMIT 1"  # noqa: S608
                try:
                    _, numbered, _ = opened.run(query, rows=1, size=MAX_BYTES, steps=MAX_STEPS)
                except QueryError:
                    break
                numbers += [str(number) for (number,) in numbered]
            if len(numbers) == len(expected.rows):
                found.append(
                    f"SELECT {', '.join(names)} FROM {table} "  # noqa: S608
                    f"WHERE rowid IN ({', '.join(numbers)})"
                )
    return found


def _constants(expected: ExpectedRows) -> list[str]:
    """Return queries that spell out the shown answer, or that count without a table."""
    rows = ", ".join(f"({', '.join(quote(value) for value in row)})" for row in expected.rows)
    return [f"VALUES {rows}", "SELECT COUNT(*)"]


def _not_killed(
    queries: Sequence[str], data: bytes, expected: Sequence[ExpectedRows], *, reverse: bool
) -> list[str]:
    """Return the queries whose rows are right on a database."""
    left = []
    with ReadOnlyDatabase(data, reverse=reverse) as database:
        for query in queries:
            try:
                names, rows, cut = database.run(
                    query, rows=MAX_ROWS, size=MAX_BYTES, steps=MAX_STEPS // 100
                )
            except QueryError:
                continue
            if not cut and any(rows_match(one, names, rows) for one in expected):
                left.append(query)
    return left


def _cover(kills: Sequence[set[str]]) -> list[int]:
    """Return the indices of a few sets that together hold much, the first ones where equal."""
    chosen: list[int] = []
    covered: set[str] = set()
    while len(chosen) < min(HIDDEN_DATABASES, len(kills)):
        rest = [index for index in range(len(kills)) if index not in chosen]
        best = max(rest, key=lambda index: (len(kills[index] - covered), -index))
        chosen.append(best)
        covered |= kills[best]
    return chosen
