"""Right and wrong queries for a task, told apart by databases that the judge never uses.

Only trusted code imports this module.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

import sqlglot
from sqlglot import expressions as exp

from execgym.envs.answers import TaskAnswers
from execgym.envs.sql.changes import answers as change_answers
from execgym.envs.sql.changes.hidden import is_change
from execgym.envs.sql.comparison import rows_match
from execgym.envs.sql.data import database_of
from execgym.envs.sql.driver import QueryError, ReadOnlyDatabase
from execgym.envs.sql.exams import exam, reference_of
from execgym.envs.sql.hidden_worlds import determined_rows
from execgym.envs.sql.mutants import mutants
from execgym.envs.sql.planting import bounds_of, plant
from execgym.envs.sql.public import PUBLIC_SETS
from execgym.envs.sql.reference import (
    MAX_BYTES,
    MAX_ROWS,
    MAX_STEPS,
    ExpectedRows,
    ReferenceQuery,
    UndeterminedError,
)
from execgym.envs.sql.repairs import is_repair, question_of, repair_of
from execgym.envs.sql.tasks import generate

_WORLDS = range(2000, 2012)
_SHORTEST_SECRET = 32


def answers(task_id: str) -> TaskAnswers:
    """Return queries that are right and queries that are wrong.

    Right ones are the reference in other words. Wrong ones differ from it in one thing and give
    other rows on some of a dozen databases that are in no exam; of a public task, whose databases
    the exam uses up, they are the plain cheats only.

    Raises:
        UnknownTaskError: No task has this id.
    """
    if is_change(task_id):
        return change_answers.answers(task_id)
    faulty = repair_of(task_id).faulty if is_repair(task_id) else ""
    task_id = question_of(task_id)
    reference = reference_of(task_id)
    paper = exam(task_id)
    secrets = [reference.sql, reference.keyed]
    for rows in paper.alternatives[0][1:]:
        text = json.dumps([list(row) for row in rows.rows], default=str)
        if len(text) >= _SHORTEST_SECRET:
            secrets += [text, repr(list(rows.rows))]
    wrong = dict(_cheats(reference))
    if faulty:
        wrong["the faulty query"] = faulty
    if task_id.partition("/")[0] not in PUBLIC_SETS:
        wrong |= _wrong_mutants(task_id, reference)
    return TaskAnswers(right=dict(_right(reference)), wrong=wrong, secrets=tuple(secrets))


def _right(reference: ReferenceQuery) -> Iterator[tuple[str, str]]:
    sql = reference.sql
    yield "reference", sql
    yield "semicolon and comment", f"-- what was asked for\n{sql} ;\n"
    yield "block comment", f"/* ; SELECT 1 */ {sql}"
    yield "Windows lines", sql.replace(" FROM ", "\r\nFROM ").replace(" WHERE ", "\r\nWHERE ")
    yield "fenced block", f"I would answer:\n```sql\n{sql}\n```\n"
    tree = sqlglot.parse_one(sql, read="sqlite")
    yield "pretty", tree.sql("sqlite", pretty=True)
    yield "quoted names", tree.sql("sqlite", identify=True)
    yield "lower case", _lower_case(sql)
    if isinstance(tree, exp.Select):
        yield "other column names", _renamed(tree).sql("sqlite")
    if not reference.ordered:
        yield "common table expression", f"WITH answer AS ({sql}) SELECT * FROM answer"  # noqa: S608
        yield "subquery", f"SELECT * FROM ({sql})"  # noqa: S608


def _lower_case(sql: str) -> str:
    parts = sql.split("'")
    return "'".join(part if number % 2 else part.lower() for number, part in enumerate(parts))


def _renamed(tree: exp.Select) -> exp.Select:
    copy = tree.copy()
    used = {column.name for column in copy.find_all(exp.Column) if not column.table}
    renamed = []
    for number, column in enumerate(copy.expressions):
        # A name that the query sorts or groups by must stay.
        if column.alias in used or isinstance(column, exp.Star):
            renamed.append(column)
        else:
            renamed.append(exp.alias_(column.unalias(), f"answer_{number}"))
    copy.set("expressions", renamed)
    return copy


def _cheats(reference: ReferenceQuery) -> Iterator[tuple[str, str]]:
    yield "counts without a table", "SELECT COUNT(*)"
    yield "reads the schema", "SELECT sql FROM sqlite_master"
    yield "reference in a comment", f"SELECT 1 -- {reference.sql}"
    yield "reference in a text", f"SELECT '{reference.sql.replace(chr(39), chr(39) * 2)}'"
    yield "reference as a second statement", f"SELECT 1; {reference.sql}"
    yield "no rows of the reference", f"SELECT * FROM ({reference.sql}) LIMIT 0"  # noqa: S608
    twice = "SELECT * FROM a UNION ALL SELECT * FROM a"
    yield "rows twice", f"WITH a AS ({reference.sql}) {twice}"


def _wrong_mutants(task_id: str, reference: ReferenceQuery) -> dict[str, str]:
    task = generate(task_id)
    columns = [column.name for table in task.question.tables for column in table.columns]
    left = mutants(reference.sql, columns)
    wrong: dict[str, str] = {}
    generator = random.Random(f"answers/{task_id}")  # noqa: S311
    bounds = bounds_of(reference.sql)
    for number in _WORLDS:
        database = plant(database_of(task.split, task.schema_index, number), bounds, generator)
        try:
            expected = determined_rows(reference, database)
        except UndeterminedError:
            continue
        found = [mutant for mutant in left if not _is_right(mutant, database, expected)]
        wrong |= {f"mutant: {mutant}": mutant for mutant in found}
        left = [mutant for mutant in left if mutant not in wrong.values()]
    return wrong


def _is_right(query: str, data: bytes, expected: ExpectedRows) -> bool:
    for reverse in (False, True):
        with ReadOnlyDatabase(data, reverse=reverse) as database:
            try:
                names, rows, cut = database.run(
                    query, rows=MAX_ROWS, size=MAX_BYTES, steps=MAX_STEPS // 100
                )
            except QueryError:
                return False
        if cut or not rows_match(expected, names, rows):
            return False
    return True
