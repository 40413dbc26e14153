"""The state of a database, and whether a script has brought about the right one.

The rules: the same tables with the same columns in whatever order, each with the same affinity,
the same standing as key and NOT NULL and the same default; the same foreign keys; the same
indexes, told by their columns and not by their names; no view and no trigger more or less; every
constraint kept; and in every table the same rows, as a bag. Texts, BLOBs, NULL and whole numbers
are equal when they are the same, other numbers when they are within 1e-9 of each other. Collations
and CHECKs cannot be compared; a task that asks for a CHECK has probes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from execgym.envs.sql.driver import Row
from execgym.judging.compare import RowOptions, row_bag
from execgym.judging.matching import Tolerance

_OPTIONS = RowOptions(tolerance=Tolerance(relative=1e-9, absolute=1e-9))
_PLAIN = (type(None), int, float, str, bytes)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TableState:
    """A table.

    Attributes:
        columns: Names of its columns, in lower case.
        facts: Of each column its affinity, whether it is filled in every row, its place in the
            primary key, how it is hidden, and the value of its default.
        references: Foreign keys: column, target, its key, and what follows an update or a delete.
        indexes: Of each index whether it is unique, whether it is partial, and its columns.
        rows: Its rows.
    """

    columns: tuple[str, ...]
    facts: Mapping[str, tuple[Any, ...]]
    references: tuple[tuple[str, ...], ...]
    indexes: frozenset[tuple[Any, ...]]
    rows: tuple[Row, ...]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseState:
    """What a database holds.

    Attributes:
        tables: Its tables, by name in lower case.
        others: Kinds and names of its views and triggers.
        sound: Whether every constraint is kept.
        cut: Whether there is more than could be told.
    """

    tables: Mapping[str, TableState]
    others: tuple[tuple[str, str], ...]
    sound: bool
    cut: bool


def read_state(data: Any) -> DatabaseState:
    """Read what a driver told, believing nothing.

    Raises:
        ValueError: It is malformed.
        TypeError: Likewise.
        KeyError: Likewise.
    """
    tables = {str(name).lower(): _read_table(table) for name, table in data["tables"].items()}
    others = tuple((str(kind), str(name).lower()) for kind, name in data["others"])
    return DatabaseState(
        tables=tables, others=others, sound=data["sound"] is True, cut=data["cut"] is not False
    )


def _read_table(data: Any) -> TableState:
    facts = {}
    for name, declared, filled, key, hidden, default in data["columns"]:
        if type(default) not in _PLAIN:
            raise ValueError("a default is what no database has")
        kind = affinity(str(declared))
        facts[str(name).lower()] = (kind, bool(filled), int(key), int(hidden), default)
    rows = []
    for row in data["rows"]:
        if type(row) is not tuple or len(row) != len(data["columns"]):
            raise ValueError("a row has another width than its table")
        if any(type(value) not in _PLAIN for value in row):
            raise ValueError("a row holds what no database does")
        rows.append(row)
    if len(facts) != len(data["columns"]):
        raise ValueError("a column comes twice")
    return TableState(
        columns=tuple(facts),
        facts=facts,
        references=tuple(
            sorted(tuple(str(part).lower() for part in each) for each in data["references"])
        ),
        indexes=frozenset(
            (bool(unique), bool(partial), tuple(str(column).lower() for column in columns))
            for unique, partial, columns in data["indexes"]
        ),
        rows=tuple(rows),
    )


def affinity(declared: str) -> str:
    """Return the affinity of a declared type; see https://www.sqlite.org/datatype3.html, 3.1."""
    declared = declared.upper()
    if "INT" in declared:
        return "INTEGER"
    if any(word in declared for word in ("CHAR", "CLOB", "TEXT")):
        return "TEXT"
    if not declared or "BLOB" in declared:
        return "BLOB"
    if any(word in declared for word in ("REAL", "FLOA", "DOUB")):
        return "REAL"
    return "NUMERIC"


def difference(expected: DatabaseState, actual: DatabaseState) -> str:
    """Return what is wrong with a state in one sentence that tells no value, or `""`."""
    if actual.cut:
        return "The database holds far too much."
    if not actual.sound:
        return "A constraint of the database is broken."
    for name in (*expected.tables, *actual.tables):
        if name not in actual.tables:
            return f"There is no table {name}."
        if name not in expected.tables:
            return "There is a table that nobody asked for."
    if expected.others != actual.others:
        return "There are other views or triggers than there should be."
    for name, table in expected.tables.items():
        text = _table_difference(name, table, actual.tables[name])
        if text:
            return text
    return ""


def _table_difference(name: str, expected: TableState, actual: TableState) -> str:
    if set(expected.columns) != set(actual.columns):
        return f"Table {name} has other columns than it should have."
    for column, facts in expected.facts.items():
        if actual.facts[column] != facts:
            return f"Column {name}.{column} is declared otherwise than it should be."
    if expected.references != actual.references:
        return f"Table {name} has other foreign keys than it should have."
    if expected.indexes != actual.indexes:
        return f"Table {name} has other indexes or unique columns than it should have."
    # Most tables are untouched, and comparing bags takes a hundred times as long.
    same = expected.columns == actual.columns and expected.rows == actual.rows
    if not same and len(expected.rows) == len(actual.rows):
        same = row_bag(expected.columns, expected.rows, actual.columns, actual.rows, _OPTIONS).equal
    return "" if same else f"The rows of table {name} are not the right ones."
