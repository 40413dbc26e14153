"""What a schema of the generator is: tables and columns, and how English speaks of them."""

from __future__ import annotations

import dataclasses
from typing import Literal

Kind = Literal["key", "reference", "name", "category", "whole", "money", "day", "flag"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column, its words and its plausible values.

    Attributes:
        name: Its SQL name.
        kind: What it holds. A `key` is 1, 2, 3, ... with gaps; a `reference` is the key of
            another table; a `name` is unique in its table; a `category` is one of `values`;
            `money` has two decimals; a `day` is text such as `'2024-03-31'`; a `flag` is 0 or 1.
        label: How a question calls it. For a flag, the words after "that" or "that are".
        values: The categories, or the two word lists whose pairs are names.
        low: Least value: a number, or a day.
        high: Largest value.
        missing: Share of rows in which it is NULL.
        target: The table that a reference refers to.
        additive: Whether totals and averages of it make sense.
    """

    name: str
    kind: Kind
    label: str
    values: tuple[tuple[str, ...], ...] = ()
    low: float | str = 0
    high: float | str = 0
    missing: float = 0.0
    target: str = ""
    additive: bool = True

    @property
    def spread(self) -> float:
        """How far apart its numbers may be; 0 for what is no number."""
        if self.kind not in ("whole", "money"):
            return 0.0
        return float(self.high) - float(self.low)

    @property
    def sql_type(self) -> str:
        """Its declared type."""
        if self.kind in ("key", "reference", "whole", "flag"):
            return "INTEGER"
        return "REAL" if self.kind == "money" else "TEXT"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table: its columns, the noun for its rows, and how many rows it has."""

    name: str
    singular: str
    plural: str
    columns: tuple[Column, ...]
    rows: tuple[int, int]

    def of_kind(self, *kinds: Kind, missing: bool = False) -> list[Column]:
        """Return its columns of these kinds: those without NULL, or those with."""
        return [c for c in self.columns if c.kind in kinds and (c.missing > 0) == missing]

    @property
    def title(self) -> Column:
        """The column by which a person tells its rows apart: a name, else the key."""
        return next((c for c in self.columns if c.kind == "name"), self.columns[0])

    @property
    def key(self) -> Column:
        """Its primary key."""
        return self.columns[0]

    def reference_to(self, target: str) -> Column:
        """Return its column that refers to another table."""
        return next(c for c in self.columns if c.target == target)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """Three tables in a chain: `event` refers to `item`, and `item` refers to `owner`."""

    name: str
    owner: Table
    item: Table
    event: Table

    @property
    def tables(self) -> tuple[Table, Table, Table]:
        """All tables, each after those that it refers to."""
        return self.owner, self.item, self.event

    def table(self, name: str) -> Table:
        """Return a table by name."""
        return next(table for table in self.tables if table.name == name)


def key(name: str = "id") -> Column:
    """Return a primary key."""
    return Column(name=name, kind="key", label=name.replace("_", " "))


def reference(target: str, name: str = "") -> Column:
    """Return a foreign key to the `id` of a table."""
    name = name or f"{target}_id"
    return Column(name=name, kind="reference", label=name.replace("_", " "), target=target)


def named(name: str, first: str, second: str, label: str = "") -> Column:
    """Return a name column whose values are a word of `first` and a word of `second`."""
    words = (tuple(first.split()), tuple(second.split()))
    return Column(name=name, kind="name", label=label or name.replace("_", " "), values=words)


def category(name: str, values: str, label: str = "", missing: float = 0.0) -> Column:
    """Return a category column; the values are separated by `|`."""
    label = label or name.replace("_", " ")
    words = (tuple(values.split("|")),)
    return Column(name=name, kind="category", label=label, values=words, missing=missing)


def whole(
    name: str,
    low: int,
    high: int,
    label: str = "",
    missing: float = 0.0,
    *,
    additive: bool = True,
) -> Column:
    """Return a column of whole numbers from `low` to `high`."""
    label = label or name.replace("_", " ")
    return Column(
        name=name,
        kind="whole",
        label=label,
        low=low,
        high=high,
        missing=missing,
        additive=additive,
    )


def money(name: str, low: float, high: float, label: str = "", missing: float = 0.0) -> Column:
    """Return a column of amounts with two decimals."""
    label = label or name.replace("_", " ")
    return Column(name=name, kind="money", label=label, low=low, high=high, missing=missing)


def day(name: str, low: str, high: str, label: str = "", missing: float = 0.0) -> Column:
    """Return a column of days."""
    label = label or name.replace("_", " ")
    return Column(name=name, kind="day", label=label, low=low, high=high, missing=missing)


def flag(name: str, label: str) -> Column:
    """Return a column of 0 and 1; the label follows "that"."""
    return Column(name=name, kind="flag", label=label)
