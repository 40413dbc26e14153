"""The kinds of work that tasks ask for, each with its prompt, reference and right result."""

from __future__ import annotations

import dataclasses
import datetime
import enum
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Protocol

from execgym.envs.data_analysis import families
from execgym.envs.data_analysis.families import DataSet, Family
from execgym.envs.data_analysis.files import Style
from execgym.envs.data_analysis.plans import Condition, Plan, near_misses, rows_of
from execgym.envs.data_analysis.reference import answer_source, cleaning_source, program_source
from execgym.envs.data_analysis.wording import (
    answer_prompt,
    clean_columns,
    cleaning_prompt,
    program_prompt,
)
from execgym.judging.cells import Kind, Value
from execgym.judging.tables import Column, Row, TableSchema

_FEWEST_CELLS = 4
_MOST_ROWS = 120
_LIKELIEST_GUESS = 1e-5


class TaskKind(enum.StrEnum):
    """What is handed in."""

    PROGRAM = "program"
    ANSWER = "answer"
    CLEANING = "cleaning"
    MODEL = "model"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A filling of a task's tables with the right result.

    Attributes:
        files: The files of the filling.
        rows: The right table; of an answer, its one row.
        labels: Of a model, the ids to predict with their labels.
        errors: Of a model, the root mean squared errors of the mean and of the best prediction.
    """

    files: Mapping[str, bytes]
    rows: tuple[Row, ...] = ()
    labels: tuple[tuple[int, float], ...] = ()
    errors: tuple[float, float] = (0.0, 0.0)


class Work(Protocol):
    """What a task asks for. It knows nothing of a certain filling of the tables."""

    @property
    def kind(self) -> TaskKind:
        """What is handed in."""
        ...

    @property
    def joined(self) -> bool:
        """Whether the table of the entities is needed."""
        ...

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """What rows must meet."""
        ...

    def schema(self, family: Family) -> TableSchema:
        """Return what the result looks like; an answer is a table of one row."""
        ...

    def rows(self, family: Family, data: DataSet) -> tuple[Row, ...]:
        """Return the right result.

        Raises:
            UndeterminedError: The data leave it open.
        """
        ...

    def is_worth_asking(self, family: Family, rows: tuple[Row, ...]) -> bool:
        """Return whether a right result is neither trivial nor too long."""
        ...

    @property
    def near_misses(self) -> tuple[Work, ...]:
        """Works that are wrong in one thing, which the fillings of a task must tell apart."""
        ...

    def prompt(self, family: Family, style: Style, files: Mapping[str, bytes]) -> str:
        """Return what the model is asked."""
        ...

    def reference(self, family: Family, style: Style) -> str:
        """Return a program that writes the right table, or prints the right answer as JSON."""
        ...


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ProgramWork:
    """A program that writes a table.

    Attributes:
        plan: The table.
    """

    plan: Plan

    @property
    def kind(self) -> TaskKind:
        """What is handed in."""
        return TaskKind.PROGRAM

    @property
    def joined(self) -> bool:
        """Whether the table of the entities is needed."""
        return self.plan.joined

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """What rows must meet."""
        return self.plan.conditions

    def schema(self, family: Family) -> TableSchema:
        """Return what the table looks like."""
        return self.plan.schema

    def rows(self, family: Family, data: DataSet) -> tuple[Row, ...]:
        """Return the right table.

        Raises:
            UndeterminedError: The data leave it open.
        """
        return tuple(rows_of(self.plan, family, data))

    def is_worth_asking(self, family: Family, rows: tuple[Row, ...]) -> bool:
        """Return whether a right table is neither trivial nor too long."""
        return len(rows) <= _MOST_ROWS and sum(len(row) for row in rows) >= _FEWEST_CELLS

    @property
    def near_misses(self) -> tuple[Work, ...]:
        """Programs of plans that are wrong in one thing."""
        return tuple(ProgramWork(plan=plan) for plan in near_misses(self.plan))

    def prompt(self, family: Family, style: Style, files: Mapping[str, bytes]) -> str:
        """Return what the model is asked."""
        return program_prompt(family, style, self.plan, files)

    def reference(self, family: Family, style: Style) -> str:
        """Return a program that writes the right table."""
        return program_source(family, style, self.plan)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class AnswerWork:
    """Named values about the files that are shown.

    Attributes:
        overall: Values of all rows.
        best: The group that comes first, and its value.
    """

    overall: Plan
    best: Plan

    @property
    def kind(self) -> TaskKind:
        """What is handed in."""
        return TaskKind.ANSWER

    @property
    def joined(self) -> bool:
        """Whether the table of the entities is needed."""
        return self.overall.joined

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """What rows must meet."""
        return self.overall.conditions

    @property
    def columns(self) -> tuple[Column, ...]:
        """The named values."""
        return (
            *(measure.column for measure in self.overall.measures),
            *self.best.schema.columns,
        )

    def schema(self, family: Family) -> TableSchema:
        """Return the named values as the columns of a table of one row."""
        return TableSchema(columns=self.columns, keys=self.best.schema.keys)

    def rows(self, family: Family, data: DataSet) -> tuple[Row, ...]:
        """Return the right values, as one row.

        Raises:
            UndeterminedError: The data leave them open.
        """
        overall, best = rows_of(self.overall, family, data), rows_of(self.best, family, data)
        return ((*overall[0], *best[0]),)

    def is_worth_asking(self, family: Family, rows: tuple[Row, ...]) -> bool:
        """Return whether the right values are hard to guess."""
        trivial = any(value is None or value == 0 for value in rows[0])
        return not trivial and self.blind_guess(family, rows[0]) <= _LIKELIEST_GUESS

    @property
    def near_misses(self) -> tuple[Work, ...]:
        """Answers to plans that are wrong in one thing."""
        pairs = zip(near_misses(self.overall), near_misses(self.best), strict=True)
        return tuple(AnswerWork(overall=overall, best=best) for overall, best in pairs)

    def blind_guess(self, family: Family, row: Row) -> float:
        """Return about how likely it is to guess values that one knows the size of.

        A category is one of its values, and a number one of those of its size with the places
        that are asked for.
        """
        sizes = {
            field.name: len(field.values)
            for field in (*family.facts.fields, *family.entities.fields)
        }
        likelihood = 1.0
        for column, value in zip(self.columns, row, strict=True):
            if column.kind is Kind.TEXT:
                likelihood /= sizes[column.name]
            elif isinstance(value, int | Fraction):
                likelihood /= float(1 + abs(value) * 10**column.places)
        return likelihood

    def prompt(self, family: Family, style: Style, files: Mapping[str, bytes]) -> str:
        """Return what the model is asked."""
        return answer_prompt(family, style, self.overall, self.best, files)

    def reference(self, family: Family, style: Style) -> str:
        """Return a program that prints the right answer."""
        return answer_source(family, style, self.overall, self.best)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CleaningWork:
    """A program that writes the clean table of the facts."""

    @property
    def kind(self) -> TaskKind:
        """What is handed in."""
        return TaskKind.CLEANING

    @property
    def joined(self) -> bool:
        """Whether the table of the entities is needed."""
        return False

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """What rows must meet: nothing."""
        return ()

    def schema(self, family: Family) -> TableSchema:
        """Return what the clean table looks like."""
        return TableSchema(columns=clean_columns(family), keys=(family.facts.key,))

    def rows(self, family: Family, data: DataSet) -> tuple[Row, ...]:
        """Return the clean table."""
        return tuple(tuple(_plain(value) for value in fact.values()) for fact in data.facts)

    def is_worth_asking(self, family: Family, rows: tuple[Row, ...]) -> bool:
        """Return True: there are always some rows."""
        return True

    @property
    def near_misses(self) -> tuple[Work, ...]:
        """None: nothing is selected."""
        return ()

    def prompt(self, family: Family, style: Style, files: Mapping[str, bytes]) -> str:
        """Return what the model is asked."""
        return cleaning_prompt(family, style, files)

    def reference(self, family: Family, style: Style) -> str:
        """Return a program that writes the clean table."""
        return cleaning_source(family, style)


def _plain(value: families.Value) -> Value:
    match value:
        case None | str() | datetime.datetime():
            return value
        case int() | Decimal():
            return Fraction(value)
