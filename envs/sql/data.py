"""Seeded rows for a schema: a *world* is one filling of a schema's tables.

Names come from one list for each column, of which every world takes a part, so that a question
about a certain name has an answer in most other worlds too, with other facts.
"""

from __future__ import annotations

import dataclasses
import datetime
import functools
import math
import random
from collections.abc import Sequence

from execgym.envs.sql.driver import Value, build_database
from execgym.envs.sql.held_out_schemas import TEST_SCHEMAS
from execgym.envs.sql.schemas import Column, Schema, Table
from execgym.envs.sql.training_schemas import TRAIN_SCHEMAS

SCHEMAS: dict[str, tuple[Schema, ...]] = {"train": TRAIN_SCHEMAS, "test": TEST_SCHEMAS}
"""Schemas by split."""

SHOWN_WORLDS = range(64)
"""Worlds that tasks show."""

HIDDEN_WORLDS = range(1000, 1024)
"""Worlds on which submissions are judged besides the shown one."""

_WITH_CHILDREN = 0.8
_NAMES_TAKEN = 1.6


@dataclasses.dataclass(frozen=True, slots=True)
class World:
    """A filling of a schema.

    Attributes:
        database: The SQLite file.
        rows: Rows by table, each a dict by column.
    """

    database: bytes
    rows: dict[str, list[dict[str, Value]]]


@functools.lru_cache(maxsize=128)
def world(split: str, schema_index: int, number: int) -> World:
    """Return a world. It is a pure function of its arguments, in every process."""
    schema = SCHEMAS[split][schema_index]
    generator = random.Random(f"world/{schema.name}/{number}")  # noqa: S311
    rows: dict[str, list[dict[str, Value]]] = {}
    for table in schema.tables:
        rows[table.name] = _rows(schema, table, rows, generator)
    return World(_database(schema, rows), rows)


@functools.lru_cache(maxsize=1024)
def database_of(split: str, schema_index: int, number: int) -> bytes:
    """Return the SQLite file of a world, which takes a tenth of the memory of its rows."""
    return world(split, schema_index, number).database


def table_definition(table: Table) -> str:
    """Return the CREATE TABLE statement."""
    parts = []
    for column in table.columns:
        text = f"{column.name} {column.sql_type}"
        if column.kind == "key":
            text += " PRIMARY KEY"
        elif not column.missing:
            text += " NOT NULL"
        if column.target:
            text += f" REFERENCES {column.target}(id)"
        parts.append(text)
    return f"CREATE TABLE {table.name} ({', '.join(parts)})"


def _rows(
    schema: Schema,
    table: Table,
    done: dict[str, list[dict[str, Value]]],
    generator: random.Random,
) -> list[dict[str, Value]]:
    count = generator.randint(*table.rows)
    columns = [_values(schema, table, column, count, done, generator) for column in table.columns]
    names = [column.name for column in table.columns]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _values(
    schema: Schema,
    table: Table,
    column: Column,
    count: int,
    done: dict[str, list[dict[str, Value]]],
    generator: random.Random,
) -> Sequence[Value]:
    values: list[Value]
    if column.kind == "key":
        # Gaps keep MAX(id) from being the number of rows.
        values = [*sorted(generator.sample(range(1, 2 * count + 1), count))]
    elif column.kind == "reference":
        keys = [row["id"] for row in done[column.target]]
        # Some parents stay without children, and the rest have unequal numbers of them.
        parents = generator.sample(keys, max(2, math.ceil(_WITH_CHILDREN * len(keys))))
        weights = [generator.uniform(0.4, 2.0) for _ in parents]
        values = generator.choices(parents, weights, k=count)
    elif column.kind == "name":
        values = [*generator.sample(_names(schema.name, table, column), count)]
    elif column.kind == "category":
        # Not every world has every category, so that listing them all is no answer.
        known = column.values[0]
        present = generator.sample(known, generator.randint(max(2, len(known) - 2), len(known)))
        weights = [generator.uniform(0.6, 2.0) for _ in present]
        values = [*generator.choices(present, weights, k=count)]
    elif column.kind == "whole":
        values = [generator.randint(int(column.low), int(column.high)) for _ in range(count)]
    elif column.kind == "money":
        values = [
            round(generator.uniform(float(column.low), float(column.high)), 2) for _ in range(count)
        ]
    elif column.kind == "day":
        low = datetime.date.fromisoformat(str(column.low)).toordinal()
        high = datetime.date.fromisoformat(str(column.high)).toordinal()
        values = [
            datetime.date.fromordinal(generator.randint(low, high)).isoformat()
            for _ in range(count)
        ]
    else:
        values = [int(generator.random() < 0.45) for _ in range(count)]
    if column.missing:
        values = [None if generator.random() < column.missing else value for value in values]
    return values


@functools.lru_cache(maxsize=256)
def _names(schema: str, table: Table, column: Column) -> tuple[str, ...]:
    generator = random.Random(f"names/{schema}/{table.name}/{column.name}")  # noqa: S311
    pairs = [f"{first} {second}" for first in column.values[0] for second in column.values[1]]
    return tuple(generator.sample(pairs, min(len(pairs), int(_NAMES_TAKEN * table.rows[1]))))


def _database(schema: Schema, rows: dict[str, list[dict[str, Value]]]) -> bytes:
    definitions = [table_definition(table) for table in schema.tables]
    contents = {name: [tuple(row.values()) for row in part] for name, part in rows.items()}
    return build_database(definitions, contents)
