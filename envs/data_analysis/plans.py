"""What is asked about a family's tables, and the exact answer, computed without pandas."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import itertools
import math
import random
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction

from execgym.envs.data_analysis.families import DataSet, Family, Record, Role, decimal_of
from execgym.judging import cells
from execgym.judging.cells import Kind
from execgym.judging.tables import Column, Row, TableSchema

# Below this share of the larger one, two numbers cannot be told apart in binary floating point.
_INDISTINCT = Fraction(1, 10**9)
_SHARE_AT_BOUNDS = 0.06
_PERCENTILE = Fraction(9, 10)


class UndeterminedError(ValueError):
    """The data leave the answer open, for example by a tie."""


class Function(enum.StrEnum):
    """How the rows of a group become one value."""

    COUNT = "count"
    SUM = "sum"
    MEAN = "mean"
    MEDIAN = "median"
    LEAST = "least"
    MOST = "most"
    DISTINCT = "distinct"
    DEVIATION = "deviation"
    PERCENTILE = "percentile"
    SHARE = "share"


class Part(enum.StrEnum):
    """A part of a time by which rows can be grouped."""

    DAY = "day"
    MONTH = "month"
    WEEKDAY = "weekday"
    HOUR = "hour"


class WindowKind(enum.StrEnum):
    """What a window adds to each group, from the groups beside it."""

    CHANGE = "change"
    RUNNING = "running"
    SHARE = "share"
    RANK = "rank"


_SIGNS: dict[str, Callable[[Fraction, int], bool]] = {
    ">=": lambda number, bound: number >= bound,
    ">": lambda number, bound: number > bound,
    "<": lambda number, bound: number < bound,
    "<=": lambda number, bound: number <= bound,
}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """Which rows count.

    Attributes:
        field: Name of a field of the fact or its entity.
        sign: `"=="` or `"!="`, or of numbers `">="`, `">"`, `"<"` or `"<="`. A missing value meets
            none of them.
        value: A text of a category, or a number.
    """

    field: str
    sign: str
    value: str | int

    def holds(self, record: Record) -> bool:
        """Return whether a row meets it."""
        value = record[self.field]
        if value is None:
            return False
        if isinstance(self.value, str):
            return (value == self.value) is (self.sign == "==")
        return _SIGNS[self.sign](_exact(value), self.value)

    @property
    def nearest(self) -> tuple[Condition, ...]:
        """Conditions that differ in what happens at the value and just below it."""
        if isinstance(self.value, str):
            return (dataclasses.replace(self, sign="!=" if self.sign == "==" else "=="),)
        other = {">=": ">", "<": "<="}[self.sign]
        return (
            dataclasses.replace(self, sign=other),
            dataclasses.replace(self, value=self.value - 1),
        )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """What rows are grouped by.

    Attributes:
        name: Name of the column.
        field: A category, or the time of the fact.
        part: The part of a time.
    """

    name: str
    field: str
    part: Part | None = None

    @property
    def column(self) -> Column:
        """The column that it makes."""
        kind = {Part.DAY: Kind.DATE, Part.HOUR: Kind.INTEGER}.get(self.part or Part.MONTH)
        return Column(name=self.name, kind=kind or Kind.TEXT)

    def of(self, record: Record) -> cells.Value:
        """Return its value in a row."""
        value = record[self.field]
        if not isinstance(value, datetime.datetime):
            return str(value)
        match self.part:
            case Part.DAY:
                return value.date()
            case Part.WEEKDAY:
                return value.strftime("%A")
            case Part.HOUR:
                return value.hour
            case _:
                return value.strftime("%Y-%m")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A value of a group.

    Attributes:
        name: Name of the column.
        function: How it comes about.
        field: The field, or `""` for a count of rows or a share.
        condition: Which rows a share counts.
        places: Decimal places that are asked for.
        whole: Whether its values are whole numbers.
    """

    name: str
    function: Function
    field: str = ""
    condition: Condition | None = None
    places: int = 0
    whole: bool = False

    @property
    def column(self) -> Column:
        """The column that it makes."""
        kind = Kind.INTEGER if self.whole else Kind.NUMBER
        return Column(name=self.name, kind=kind, places=self.places)

    def of(self, records: Sequence[Record]) -> Fraction | None:
        """Return its value in a group, None where there is none."""
        if self.function is Function.COUNT:
            return Fraction(len(records))
        if self.condition is not None:
            met = sum(self.condition.holds(record) for record in records)
            return Fraction(100 * met, len(records)) if records else None
        present = [record[self.field] for record in records if record[self.field] is not None]
        if self.function is Function.DISTINCT:
            return Fraction(len(set(present)))
        return _STATISTICS[self.function]([_exact(value) for value in present])


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A value of a group that others beside it have a part in.

    Groups stand beside each other where all their keys but the last one are equal. A change and a
    running total go along the last key, which is a month or a day.

    Attributes:
        name: Name of the column.
        kind: What it is.
        measure: Name of the measure that it is of.
        places: Decimal places that are asked for.
        whole: Whether its values are whole numbers.
    """

    name: str
    kind: WindowKind
    measure: str
    places: int = 0
    whole: bool = False

    @property
    def column(self) -> Column:
        """The column that it makes."""
        kind = Kind.INTEGER if self.whole else Kind.NUMBER
        return Column(name=self.name, kind=kind, places=self.places)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A table that is asked for.

    Attributes:
        joined: Whether facts get the values of their entities. Facts without one do not count.
        derived: Whether the family's derived number is used.
        conditions: What facts must meet.
        keys: What they are grouped by. Without keys there is one row.
        measures: The values of a group.
        least_rows: Groups of fewer rows are left out.
        top: How many groups are asked for, by the first measure downwards, in this order; 0 for
            all in any order.
        window: A further value.
    """

    joined: bool = False
    derived: bool = False
    conditions: tuple[Condition, ...] = ()
    keys: tuple[Key, ...] = ()
    measures: tuple[Measure, ...]
    least_rows: int = 0
    top: int = 0
    window: Window | None = None

    @property
    def schema(self) -> TableSchema:
        """What the table looks like."""
        columns = [key.column for key in self.keys] + [one.column for one in self.measures]
        if self.window is not None:
            columns.append(self.window.column)
        return TableSchema(
            columns=tuple(columns),
            keys=tuple(key.name for key in self.keys),
            ordered=self.top > 0,
        )


def near_misses(plan: Plan) -> list[Plan]:
    """Return plans that differ in one bound or condition, which the data should tell apart."""
    found = []
    for index, condition in enumerate(plan.conditions):
        others = plan.conditions[:index], plan.conditions[index + 1 :]
        found.append(dataclasses.replace(plan, conditions=(*others[0], *others[1])))
        found += [
            dataclasses.replace(plan, conditions=(*others[0], near, *others[1]))
            for near in condition.nearest
        ]
    for index, measure in enumerate(plan.measures):
        if measure.condition is not None:
            found += [
                dataclasses.replace(
                    plan,
                    measures=(
                        *plan.measures[:index],
                        dataclasses.replace(measure, condition=near),
                        *plan.measures[index + 1 :],
                    ),
                )
                for near in measure.condition.nearest
            ]
    if plan.least_rows:
        found += [
            dataclasses.replace(plan, least_rows=rows)
            for rows in (0, plan.least_rows - 1, plan.least_rows + 1)
        ]
    return found


def rows_of(plan: Plan, family: Family, data: DataSet) -> list[Row]:
    """Return the table that a plan asks for.

    Raises:
        UndeterminedError: The data leave it open.
    """
    groups: dict[Row, list[Record]] = {}
    for record in records_of(plan, family, data):
        groups.setdefault(tuple(key.of(record) for key in plan.keys), []).append(record)
    if not plan.keys:
        groups.setdefault((), [])
    rows: list[Row] = [
        (*keys, *(measure.of(groups[keys]) for measure in plan.measures))
        for keys in sorted(groups, key=_sort_key)
        if len(groups[keys]) >= plan.least_rows
    ]
    if plan.window is not None:
        rows = _with_window(plan, plan.window, rows)
    if plan.top:
        rows = _top(plan, rows)
    return rows


def with_values_at_bounds(
    family: Family, conditions: Sequence[Condition], data: DataSet, generator: random.Random
) -> DataSet:
    """Return data in which some values lie on the bounds of conditions and just below them."""
    facts, entities = [dict(one) for one in data.facts], [dict(one) for one in data.entities]
    for condition in conditions:
        if isinstance(condition.value, str):
            continue
        for shape, records in ((family.facts, facts), (family.entities, entities)):
            field = next((one for one in shape.fields if one.name == condition.field), None)
            if field is None:
                continue
            count = max(2, round(len(records) * _SHARE_AT_BOUNDS))
            for index, record in enumerate(generator.sample(records, count)):
                bound = condition.value - index % 2
                number = bound if field.role is Role.COUNT else decimal_of(bound, field.places)
                record[field.name] = number
    return DataSet(tuple(facts), tuple(entities))


def records_of(plan: Plan, family: Family, data: DataSet) -> list[Record]:
    """Return the facts that count, with all that a plan needs of them."""
    entities = {entity[family.entities.key]: entity for entity in data.entities}
    found = []
    for fact in data.facts:
        record = dict(fact)
        if plan.joined:
            entity = entities.get(fact[family.facts.fields[1].name])
            if entity is None:
                continue
            record.update(entity)
        if plan.derived:
            record[family.derived.name] = _derive(family, record)
        if all(condition.holds(record) for condition in plan.conditions):
            found.append(record)
    return found


def _derive(family: Family, record: Record) -> Decimal | None:
    left, right = record[family.derived.left], record[family.derived.right]
    if left is None or right is None:
        return None
    left, right = Decimal(str(left)), Decimal(str(right))
    return left * right if family.derived.sign == "*" else left - right


def _exact(value: object) -> Fraction:
    if not isinstance(value, int | Decimal):
        raise TypeError(f"{value!r} is no number")
    return Fraction(value)


def _sort_key(keys: Row) -> tuple[tuple[bool, int | str], ...]:
    return tuple((True, value) if isinstance(value, int) else (False, str(value)) for value in keys)


def _top(plan: Plan, rows: list[Row]) -> list[Row]:
    place = len(plan.keys)
    if len(rows) <= plan.top or any(row[place] is None for row in rows):
        raise UndeterminedError("there are too few groups to rank")
    _check_apart([_number(row[place]) for row in rows])
    return sorted(rows, key=lambda row: -_number(row[place]))[: plan.top]


def _check_apart(numbers: Sequence[Fraction]) -> None:
    """Refuse numbers of which two cannot be told apart surely by somebody who uses floats."""
    ordered = sorted(numbers)
    for lower, upper in itertools.pairwise(ordered):
        if upper - lower <= max(abs(upper), abs(lower), Fraction(1)) * _INDISTINCT:
            raise UndeterminedError("two groups are tied")


def _number(value: cells.Value) -> Fraction:
    if not isinstance(value, int | Fraction):
        raise UndeterminedError("a group has no value")
    return Fraction(value)


def _with_window(plan: Plan, window: Window, rows: list[Row]) -> list[Row]:
    place = len(plan.keys) + [one.name for one in plan.measures].index(window.measure)
    partitions: dict[Row, list[Row]] = {}
    for row in rows:
        partitions.setdefault(row[: len(plan.keys) - 1], []).append(row)
    result: list[Row] = []
    for beside in partitions.values():
        numbers = [_number(row[place]) for row in beside]
        if window.kind is WindowKind.RANK and not plan.measures[place - len(plan.keys)].whole:
            _check_apart(numbers)
        added = _WINDOWS[window.kind](numbers)
        result += [(*row, value) for row, value in zip(beside, added, strict=True)]
    return result


def _changes(numbers: Sequence[Fraction]) -> list[Fraction | None]:
    return [None, *(after - before for before, after in itertools.pairwise(numbers))]


def _running(numbers: Sequence[Fraction]) -> list[Fraction | None]:
    return [sum(numbers[: index + 1], Fraction(0)) for index in range(len(numbers))]


def _shares(numbers: Sequence[Fraction]) -> list[Fraction | None]:
    total = sum(numbers, Fraction(0))
    if total == 0:
        raise UndeterminedError("there is nothing to have a share of")
    return [100 * number / total for number in numbers]


def _ranks(numbers: Sequence[Fraction]) -> list[Fraction | None]:
    return [Fraction(1 + sum(other > number for other in numbers)) for number in numbers]


_WINDOWS: dict[WindowKind, Callable[[Sequence[Fraction]], list[Fraction | None]]] = {
    WindowKind.CHANGE: _changes,
    WindowKind.RUNNING: _running,
    WindowKind.SHARE: _shares,
    WindowKind.RANK: _ranks,
}


def _mean(numbers: Sequence[Fraction]) -> Fraction | None:
    return sum(numbers, Fraction(0)) / len(numbers) if numbers else None


def _quantile(numbers: Sequence[Fraction], share: Fraction) -> Fraction | None:
    """Return a quantile with linear interpolation between neighbours."""
    if not numbers:
        return None
    ordered = sorted(numbers)
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def _deviation(numbers: Sequence[Fraction]) -> Fraction | None:
    mean = _mean(numbers)
    if mean is None or len(numbers) < 2:
        return None
    variance = sum(((number - mean) ** 2 for number in numbers), Fraction(0)) / (len(numbers) - 1)
    return Fraction(math.sqrt(variance))


_STATISTICS: dict[Function, Callable[[Sequence[Fraction]], Fraction | None]] = {
    Function.SUM: lambda numbers: sum(numbers, Fraction(0)) if numbers else None,
    Function.MEAN: _mean,
    Function.MEDIAN: lambda numbers: _quantile(numbers, Fraction(1, 2)),
    Function.LEAST: lambda numbers: min(numbers, default=None),
    Function.MOST: lambda numbers: max(numbers, default=None),
    Function.DEVIATION: _deviation,
    Function.PERCENTILE: lambda numbers: _quantile(numbers, _PERCENTILE),
}
