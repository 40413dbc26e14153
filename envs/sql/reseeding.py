"""Re-seeded variants of a database of which only one filling is known.

In a variant a row keeps its key; its other values come from other rows of its table. Columns of
which one tells the other, such as a city and its country, get theirs from the same row, so that
what belongs together stays together. Unique columns stay unique. Some rows are lost, with the rows
that refer to them, and tables that are referred to gain rows to which nothing refers. So every
reference still finds its row, and counts, extremes and facts are different. Where a table's rows
have numbers of SQLite's (`rowid`) beside a key, they get other ones, with gaps: they mean nothing.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import random
import sqlite3

from execgym.envs.sql.driver import Value

_TAKEN_TWICE = 0.2
_DROPPED_LEAVES = 0.2
_DROPPED_PARENTS = 0.1
_ADDED = 0.15
_BUNDLES = 3
_NEARLY_UNIQUE = 0.8

_Rows = list[list[Value]]


@dataclasses.dataclass(frozen=True, slots=True)
class _Table:
    """What is known of a table.

    Attributes:
        name: Its name.
        rows: Its rows.
        key: Places of its primary key's columns.
        unique: Places of further columns whose values are unique.
        groups: Places of the other columns; those of a group belong together.
        columns: Names of all columns where the rows have numbers that are no column, else none.
    """

    name: str
    rows: _Rows
    key: tuple[int, ...]
    unique: tuple[int, ...]
    groups: tuple[tuple[int, ...], ...]
    columns: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class _Reference:
    """A column of a child whose values all are in a unique column of a parent."""

    child: str
    column: int
    parent: str
    target: int


def reseed(database: bytes, generator: random.Random) -> bytes:
    """Return a variant of a database: the same schema, other rows.

    Args:
        database: Bytes of an SQLite file.
        generator: Makes every choice.
    """
    tables, references = _analysis(database)
    rows = {table.name: _mixed(table, generator) for table in tables}
    rows = _without_some(tables, references, rows, generator)
    referred = {reference.parent for reference in references}
    for table in tables:
        if table.name in referred and len(table.key) == 1 and rows[table.name]:
            rows[table.name] += _added(table, rows[table.name], generator)
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        connection.deserialize(database)
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute("BEGIN")
        for table in tables:
            part = rows[table.name]
            name = quoted(table.name)
            connection.execute(f"DELETE FROM {name}")  # noqa: S608
            if part:
                if table.columns:
                    names = ", ".join(map(quoted, ("rowid", *table.columns)))
                    name = f"{name} ({names})"
                    part = _numbered(part, generator)
                marks = ", ".join("?" * len(part[0]))
                # A constraint over several columns may refuse a mixed row: then there is one less.
                connection.executemany(
                    f"INSERT OR IGNORE INTO {name} VALUES ({marks})",  # noqa: S608
                    part,
                )
        connection.execute("COMMIT")
        return connection.serialize()
    finally:
        connection.close()


def quoted(name: str) -> str:
    """Return a name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def table_names(connection: sqlite3.Connection) -> list[str]:
    """Return the names of a database's tables."""
    return [
        row[0]
        for row in connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' "
            "ESCAPE '!' ORDER BY rowid"
        )
    ]


@functools.lru_cache(maxsize=64)
def _analysis(database: bytes) -> tuple[tuple[_Table, ...], tuple[_Reference, ...]]:
    connection = sqlite3.connect(":memory:")
    try:
        connection.deserialize(database)
        tables = tuple(_read_table(connection, name) for name in table_names(connection))
    finally:
        connection.close()
    return tables, tuple(_references(tables))


def _read_table(connection: sqlite3.Connection, name: str) -> _Table:
    described = connection.execute(f"PRAGMA table_info({quoted(name)})").fetchall()
    key = tuple(row[0] for row in described if row[5])
    rows = [list(row) for row in connection.execute(f"SELECT * FROM {quoted(name)}")]  # noqa: S608
    others = [place for place in range(len(described)) if place not in key]
    counts = {place: len({row[place] for row in rows}) for place in others}
    unique = tuple(place for place in others if rows and counts[place] == len(rows))
    mixed = [place for place in others if place not in unique]
    columns = tuple(row[1] for row in described) if _has_numbers(connection, name) else ()
    return _Table(name, rows, key, unique, _groups(rows, mixed, counts), columns)


def _has_numbers(connection: sqlite3.Connection, name: str) -> bool:
    """Return whether the rows of a table have numbers that are none of its columns."""
    described = connection.execute(f"PRAGMA table_info({quoted(name)})").fetchall()
    if any(column.lower() == "rowid" for _, column, *_ in described):
        return False
    keys = [kind for _, _, kind, _, _, key in described if key]
    if len(keys) == 1 and keys[0].upper() == "INTEGER":
        return False
    try:
        connection.execute(f"SELECT rowid FROM {quoted(name)}")  # noqa: S608
    except sqlite3.OperationalError:
        # It is a table WITHOUT ROWID.
        return False
    return True


def _numbered(rows: _Rows, generator: random.Random) -> _Rows:
    """Return the rows with increasing numbers before them."""
    number = len(rows)
    numbered = []
    for row in rows:
        number += generator.randint(1, 3)
        numbered.append([number, *row])
    return numbered


def _groups(rows: _Rows, places: list[int], counts: dict[int, int]) -> tuple[tuple[int, ...], ...]:
    """Return the columns in groups: one that tells another is in the same group."""
    group = {place: {place} for place in places}
    for first, second in itertools.permutations(places, 2):
        telling = 1 < counts[first] <= _NEARLY_UNIQUE * len(rows) and counts[second] > 1
        if telling and len({(row[first], row[second]) for row in rows}) == counts[first]:
            merged = group[first] | group[second]
            for place in merged:
                group[place] = merged
    return tuple(sorted({tuple(sorted(part)) for part in group.values()}))


def _references(tables: tuple[_Table, ...]) -> list[_Reference]:
    found = []
    for parent in tables:
        for target in _targets(parent):
            values = {row[target] for row in parent.rows}
            for child in tables:
                if child is parent or not child.rows:
                    continue
                for column in range(len(child.rows[0])):
                    given = {row[column] for row in child.rows} - {None}
                    if given and given <= values:
                        found.append(_Reference(child.name, column, parent.name, target))
    return found


def _targets(table: _Table) -> list[int]:
    """Return the columns that may be referred to: a key of one column, and unique texts."""
    texts = [
        place for place in table.unique if all(isinstance(row[place], str) for row in table.rows)
    ]
    return [*(table.key if len(table.key) == 1 else ()), *texts]


def _mixed(table: _Table, generator: random.Random) -> _Rows:
    rows = [list(row) for row in table.rows]
    bundles: list[list[int]] = [[] for _ in range(_BUNDLES)]
    for group in table.groups:
        generator.choice(bundles).extend(group)
    for bundle in bundles:
        donors = _shuffled(len(rows), generator)
        for place, donor in enumerate(donors):
            if generator.random() < _TAKEN_TWICE:
                donor = generator.randrange(len(rows))
            for column in bundle:
                rows[place][column] = table.rows[donor][column]
    for column in table.unique:
        if generator.random() < 0.5:
            for row, donor in zip(rows, _shuffled(len(rows), generator), strict=True):
                row[column] = table.rows[donor][column]
    return rows


def _shuffled(count: int, generator: random.Random) -> list[int]:
    return generator.sample(range(count), count)


def _without_some(
    tables: tuple[_Table, ...],
    references: tuple[_Reference, ...],
    rows: dict[str, _Rows],
    generator: random.Random,
) -> dict[str, _Rows]:
    """Return the rows without some, and without those that refer to them."""
    parents = {reference.parent for reference in references}
    left = {}
    for table in tables:
        part = rows[table.name]
        share = _DROPPED_PARENTS if table.name in parents else _DROPPED_LEAVES
        # At least one or none by chance, so that a small table changes too.
        count = max(round(share * len(part)), generator.randrange(2)) if len(part) > 1 else 0
        dropped = set(generator.sample(range(len(part)), count))
        left[table.name] = [row for place, row in enumerate(part) if place not in dropped]
    before = -1
    while (count := sum(map(len, left.values()))) != before:
        before = count
        for reference in references:
            values = {row[reference.target] for row in left[reference.parent]} | {None}
            left[reference.child] = [
                row for row in left[reference.child] if row[reference.column] in values
            ]
    emptied = any(rows[name] and not part for name, part in left.items())
    return rows if emptied else left


def _added(table: _Table, rows: _Rows, generator: random.Random) -> _Rows:
    """Return further rows with new keys and unique values."""
    fixed = (*table.key, *table.unique)
    highest = {
        place: max((row[place] for row in rows if isinstance(row[place], int | float)), default=0)  # type: ignore[type-var]
        for place in fixed
    }
    added = []
    for number in range(1, generator.randint(0, max(1, round(len(rows) * _ADDED))) + 1):
        row = list(generator.choice(rows))
        for place in fixed:
            value = row[place]
            if isinstance(value, int | float):
                row[place] = highest[place] + number  # type: ignore[operator]
            elif isinstance(value, str):
                row[place] = f"{value} {number + 1}"
        added.append(row)
    return added
