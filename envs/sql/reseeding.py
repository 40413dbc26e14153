"""Re-seeded variants of a database of which only one filling is known.

A row keeps what names it, its key and its unique texts; its other values come, all together, from
another row of its table. So values that belong together in a row stay together, every reference
still finds its row, and what the rows say is different. Tables to which nothing refers lose some
rows, others gain rows to which nothing refers, so that their counts differ too.
"""

from __future__ import annotations

import dataclasses
import functools
import random
import sqlite3

from execgym.envs.sql.driver import Value

_TAKEN_TWICE = 0.15
_DROPPED = 0.2
_ADDED = 0.15
_FEWEST_ROWS = 4

_Rows = list[list[Value]]


@dataclasses.dataclass(frozen=True, slots=True)
class _Table:
    name: str
    columns: tuple[str, ...]
    rows: _Rows
    key: tuple[int, ...]
    references: tuple[int, ...]
    referred_to: bool


def reseed(database: bytes, generator: random.Random) -> bytes:
    """Return a variant of a database: the same schema, other rows.

    Args:
        database: Bytes of an SQLite file.
        generator: Makes every choice.
    """
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        connection.deserialize(database)
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute("BEGIN")
        for table in _tables(database):
            rows = _reseeded(table, generator)
            name = quoted(table.name)
            marks = ", ".join("?" * len(table.columns))
            connection.execute(f"DELETE FROM {name}")  # noqa: S608
            connection.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)  # noqa: S608
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
def _tables(database: bytes) -> tuple[_Table, ...]:
    connection = sqlite3.connect(":memory:")
    try:
        connection.deserialize(database)
        return _read_tables(connection)
    finally:
        connection.close()


def _read_tables(connection: sqlite3.Connection) -> tuple[_Table, ...]:
    names = table_names(connection)
    columns: dict[str, tuple[str, ...]] = {}
    keys: dict[str, tuple[int, ...]] = {}
    rows: dict[str, _Rows] = {}
    for name in names:
        described = connection.execute(f"PRAGMA table_info({quoted(name)})").fetchall()
        columns[name] = tuple(row[1] for row in described)
        keys[name] = tuple(row[0] for row in described if row[5])
        found = connection.execute(f"SELECT * FROM {quoted(name)}")  # noqa: S608
        rows[name] = [list(row) for row in found]
    identifying = {name: _identifying(keys[name], rows[name]) for name in names}
    references: dict[str, set[int]] = {name: set() for name in names}
    referred: set[str] = set()
    for parent in names:
        for place in identifying[parent]:
            values = {row[place] for row in rows[parent]}
            for child in names:
                for column in range(len(columns[child])):
                    given = {row[column] for row in rows[child]} - {None}
                    same = child == parent and column == place
                    if not same and given and given <= values and column not in keys[child][:1]:
                        references[child].add(column)
                        referred.add(parent)
    return tuple(
        _Table(
            name,
            columns[name],
            rows[name],
            keys[name],
            tuple(sorted(references[name])),
            name in referred,
        )
        for name in names
    )


def _identifying(key: tuple[int, ...], rows: _Rows) -> tuple[int, ...]:
    """Return the columns that may be referred to: a key of one column, and unique texts."""
    if not rows:
        return ()
    unique = [
        place
        for place in range(len(rows[0]))
        if len({row[place] for row in rows}) == len(rows)
        and all(isinstance(row[place], str) for row in rows)
    ]
    return tuple(sorted({*(key if len(key) == 1 else ()), *unique}))


def _reseeded(table: _Table, generator: random.Random) -> _Rows:
    rows = table.rows
    if len(rows) < 2:
        return rows
    fixed = {*table.key, *_identifying(table.key, rows)} or set(table.references)
    moved = [place for place in range(len(table.columns)) if place not in fixed]
    donors = generator.sample(range(len(rows)), len(rows))
    for place in range(len(donors)):
        if generator.random() < _TAKEN_TWICE:
            donors[place] = generator.randrange(len(rows))
    result = [list(row) for row in rows]
    for row, donor in zip(result, donors, strict=True):
        for place in moved:
            row[place] = rows[donor][place]
    if len(rows) < _FEWEST_ROWS:
        return result
    if not table.referred_to:
        kept = generator.sample(range(len(result)), round(len(result) * (1 - _DROPPED)))
        return [result[place] for place in sorted(kept)]
    if len(table.key) == 1:
        result += _added(table, result, generator)
    return result


def _added(table: _Table, rows: _Rows, generator: random.Random) -> _Rows:
    """Return further rows with new keys and unique texts."""
    fixed = {*table.key, *_identifying(table.key, rows)}
    highest = {place: _highest(rows, place) for place in fixed}
    added = []
    for number in range(1, max(1, round(len(rows) * _ADDED)) + 1):
        row = list(generator.choice(rows))
        for place in fixed:
            value = row[place]
            if isinstance(value, int | float):
                row[place] = highest[place] + number
            elif isinstance(value, str):
                row[place] = f"{value} {number + 1}"
        added.append(row)
    return added


def _highest(rows: _Rows, place: int) -> float:
    return max((row[place] for row in rows if isinstance(row[place], int | float)), default=0)  # type: ignore[type-var, return-value]
