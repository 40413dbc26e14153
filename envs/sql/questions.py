"""How questions are put together: what every template has to work with."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Sequence
from typing import TypeVar

from execgym.envs.sql.driver import Value
from execgym.envs.sql.reference import ReferenceQuery, quote
from execgym.envs.sql.schemas import Column, Schema, Table

_T = TypeVar("_T")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question and its answer.

    Attributes:
        kind: Name of the template.
        text: The question.
        reference: A right query.
        tables: Tables that one needs.
    """

    kind: str
    text: str
    reference: ReferenceQuery
    tables: tuple[Table, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Condition:
    """A condition in English, to follow a plural noun, and in SQL."""

    english: str
    sql: str


class NoQuestionError(Exception):
    """A template finds nothing to ask about in this scene."""


_EXTREMES = (("MAX", "highest"), ("MIN", "lowest"))
_TOTALS = (("AVG", "average"), ("SUM", "total"))
_SPREAD_FOR_EXTREMES = 25
_SHARE_WITHOUT_CONDITION = 0.5
_COMPARISONS = (
    (">", "is greater than", "is after"),
    ("<", "is less than", "is before"),
    (">=", "is at least", "is on or after"),
    ("<=", "is at most", "is on or before"),
)


class Scene:
    """A schema, its rows, and a generator to choose by.

    Args:
        schema: What the question is about.
        rows: The shown rows, by table and column.
        generator: Makes every choice.
    """

    def __init__(
        self, schema: Schema, rows: dict[str, list[dict[str, Value]]], generator: random.Random
    ) -> None:
        self.schema = schema
        self.rows = rows
        self.generator = generator

    def one_of(self, choices: Sequence[_T]) -> _T:
        """Choose one.

        Raises:
            NoQuestionError: There is nothing to choose from.
        """
        if not choices:
            raise NoQuestionError
        return self.generator.choice(choices)

    def table(self) -> Table:
        """Choose a table."""
        return self.one_of(self.schema.tables)

    def number(self, table: Table) -> Column:
        """Choose a column of numbers of which totals make sense."""
        return self.one_of([c for c in table.of_kind("whole", "money") if c.additive])

    def measure(self, table: Table) -> tuple[Column, str, str]:
        """Choose a column of numbers, an aggregate function, and its English word.

        Extremes are asked only of columns of many values: in others the extreme is nearly always
        the same, so it would not tell a right query from a wrong one.
        """
        column = self.one_of(table.of_kind("whole", "money"))
        functions = list(_EXTREMES) if column.spread >= _SPREAD_FOR_EXTREMES else []
        functions += _TOTALS if column.additive else ()
        function, word = self.one_of(functions)
        return column, function, word

    def ordered(self, table: Table) -> Column:
        """Choose a column that one can order by: numbers and days."""
        return self.one_of(table.of_kind("whole", "money", "day"))

    def group(self, table: Table) -> Column:
        """Choose a column that one can group by."""
        return self.one_of(table.of_kind("category"))

    def shown(self, table: Table, *without: Column) -> Column:
        """Choose a column to list."""
        columns = table.of_kind("name", "category", "whole", "money", "day")
        return self.one_of([column for column in columns if column not in without])

    def condition(
        self, table: Table, *, alias: str = "", without: tuple[Column, ...] = ()
    ) -> Condition:
        """Choose a condition that some rows of a table meet and some do not."""
        columns = table.of_kind("category", "whole", "money", "day", "flag")
        column = self.one_of([column for column in columns if column not in without])
        prefix = f"{alias}." if alias else ""
        name = prefix + column.name
        if column.kind == "flag":
            return Condition(f"that {column.label}", f"{name} = 1")
        values = [row[column.name] for row in self.rows[table.name]]
        value = self.one_of(values)
        if column.kind == "category":
            return Condition(f"whose {column.label} is {quote(value)}", f"{name} = {quote(value)}")
        sign, english, english_for_days = self.one_of(_COMPARISONS)
        phrase = english_for_days if column.kind == "day" else english
        # From the middle of the range, so that neither all nor nearly none meet it.
        middle = sorted(values, key=lambda item: (str(type(item)), item))
        fifth = len(middle) // 5
        value = self.one_of(middle[fifth : len(middle) - fifth])
        return Condition(
            f"whose {column.label} {phrase} {quote(value)}", f"{name} {sign} {quote(value)}"
        )

    def maybe_condition(self, table: Table, *, without: tuple[Column, ...]) -> tuple[str, str]:
        """Choose a sentence that limits the question to some rows, and a WHERE, or neither."""
        if self.generator.random() < _SHARE_WITHOUT_CONDITION:
            return "", ""
        condition = self.condition(table, without=without)
        return (
            f"Consider only the {table.plural} {condition.english}. ",
            f" WHERE {condition.sql}",
        )

    def count_of(self, low: int, high: int) -> int:
        """Choose a number."""
        return self.generator.randint(low, high)


Template = Callable[[Scene], Question]
