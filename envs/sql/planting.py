"""Plants the values that a query compares with, so that `<` and `<=` are told apart."""

from __future__ import annotations

import random
import sqlite3
from typing import Any

import sqlglot
from sqlglot import expressions as exp

from execgym.envs.sql.reseeding import quoted, table_names

_INEQUALITIES = (exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between)
_PLANTED_SHARE = 0.25

Bound = tuple[str, float | str]
"""A column's name and the value that a query compares it with."""


def bounds_of(sql: str) -> list[Bound]:
    """Return what columns are compared with by `<`, `<=`, `>`, `>=` and BETWEEN in a query."""
    try:
        tree = sqlglot.parse_one(sql, read="sqlite")
    except sqlglot.errors.SqlglotError:
        return []
    found: list[Bound] = []
    for node in tree.find_all(*_INEQUALITIES):
        sides = [side for side in node.args.values() if isinstance(side, exp.Column | exp.Literal)]
        columns = [side for side in sides if isinstance(side, exp.Column)]
        for side in sides:
            if isinstance(side, exp.Literal) and len(columns) == 1:
                found.append((columns[0].name, _value(side)))
    return found


def plant(database: bytes, bounds: list[Bound], generator: random.Random) -> bytes:
    """Return a database in which some rows hold a bound, or a value next to it.

    Keys and columns with a unique value in each row are left alone.
    """
    if not bounds:
        return database
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        connection.deserialize(database)
        tables = table_names(connection)
        for column, bound in bounds:
            for table in tables:
                if column.lower() in _plantable(connection, table):
                    _plant(connection, table, column, bound, generator)
        return connection.serialize()
    finally:
        connection.close()


def _value(literal: exp.Literal) -> float | str:
    if literal.is_string:
        return str(literal.name)
    return int(literal.name) if literal.is_int else float(literal.name)


def _plantable(connection: sqlite3.Connection, table: str) -> set[str]:
    name = quoted(table)
    columns = {
        row[1].lower() for row in connection.execute(f"PRAGMA table_info({name})") if not row[5]
    }
    columns -= {row[3].lower() for row in connection.execute(f"PRAGMA foreign_key_list({name})")}
    for index in connection.execute(f"PRAGMA index_list({name})").fetchall():
        if index[2]:
            rows = connection.execute(f"PRAGMA index_info({quoted(index[1])})")
            columns -= {str(row[2]).lower() for row in rows}
    return columns


def _plant(
    connection: sqlite3.Connection,
    table: str,
    column: str,
    bound: float | str,
    generator: random.Random,
) -> None:
    rows = [row[0] for row in connection.execute(f"SELECT rowid FROM {quoted(table)}")]  # noqa: S608
    near: list[Any] = [bound, bound]
    if isinstance(bound, int):
        near += [bound - 1, bound + 1]
    elif isinstance(bound, float):
        near += [round(bound - 0.01, 6), round(bound + 0.01, 6)]
    changed = [
        (generator.choice(near), row)
        for row in generator.sample(rows, int(len(rows) * _PLANTED_SHARE))
    ]
    connection.executemany(
        f"UPDATE {quoted(table)} SET {quoted(column)} = ? WHERE rowid = ?",  # noqa: S608
        changed,
    )
