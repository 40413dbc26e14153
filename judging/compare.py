"""Comparators over plain data: the expected value is on the judge's side, the other a claim.

Every comparator returns a `Match`, which is true where the two are equal. Its detail says what kind
of difference was met and never holds an expected value. Bad claims are differences, never
exceptions; a bad expected value is the judge's mistake and raises.
"""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import fractions
import itertools
import math
import re
import zoneinfo
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from execgym.judging.matching import Item, Tolerance, match_bags

# Whole floats below this are exact integers, so that sums and counts compare exactly.
_EXACT_FLOATS = 2**53
_PLAIN_SCALARS = (
    type(None),
    bool,
    int,
    str,
    bytes,
    bytearray,
    range,
    fractions.Fraction,
    datetime.date,
    datetime.datetime,
    datetime.time,
    datetime.timedelta,
    datetime.timezone,
    zoneinfo.ZoneInfo,
)
_SQL_TYPES = (
    type(None),
    bool,
    int,
    float,
    decimal.Decimal,
    str,
    bytes,
    datetime.date,
    datetime.datetime,
    datetime.time,
    datetime.timedelta,
)
_DEFAULT_TOLERANCE = Tolerance()
_NUMBER_TOKEN = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\Z")
_LONGEST_NUMBER = 400


@dataclasses.dataclass(frozen=True, slots=True)
class Match:
    """What a comparison said. It is true where the two were equal.

    Attributes:
        equal: Whether they were equal.
        detail: What differed, or `""`. It holds nothing of the expected value.
    """

    equal: bool
    detail: str = ""

    def __bool__(self) -> bool:
        return self.equal


_EQUAL = Match(True)


def _match(difference: str) -> Match:
    return Match(False, difference) if difference else _EQUAL


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Rule:
    tolerance: Tolerance | None = None
    tuples_as_lists: bool = False
    ints_as_floats: bool = False
    signed_zeros: bool = False


def same_value(
    expected: Any, actual: Any, *, tuples_as_lists: bool = False, signed_zeros: bool = False
) -> Match:
    """Compare plain data exactly: the same types and values all through.

    A bool is no int, a tuple no list. NaN equals NaN, also as a key and within sets. The order of a
    dict does not count. Two aware datetimes are equal with equal fields and UTC offsets. Decimals
    are compared by value: `1.0` equals `1.00`.

    Args:
        expected: Plain data, as `execgym.judging.codec` carries it.
        actual: The claim.
        tuples_as_lists: Whether a tuple equals a list with equal items.
        signed_zeros: Whether `-0.0` differs from `0.0`. They are equal otherwise.

    Raises:
        TypeError: `expected` is not plain data.
    """
    rule = _Rule(tuples_as_lists=tuples_as_lists, signed_zeros=signed_zeros)
    return _match(_difference(expected, actual, rule))


def close_value(
    expected: Any,
    actual: Any,
    *,
    rel_tol: float = 1e-6,
    abs_tol: float = 1e-9,
    ints_as_floats: bool = False,
    tuples_as_lists: bool = False,
) -> Match:
    """Compare plain data exactly but for floats, which need only be close.

    Two floats are close where `|a - b| <= max(rel_tol * max(|a|, |b|), abs_tol)`. NaN is close to
    NaN, an infinity to itself only. Real and imaginary parts of complex numbers are compared each.
    Floats in sets are paired one to one; floats in dict keys are compared exactly.

    Args:
        expected: Plain data.
        actual: The claim.
        rel_tol: Relative tolerance, at most 0.5.
        abs_tol: Absolute tolerance.
        ints_as_floats: Whether an int is taken where a float is expected. A bool never is.
        tuples_as_lists: Whether a tuple equals a list with equal items.

    Raises:
        TypeError: `expected` is not plain data.
        ValueError: A tolerance is out of range.
    """
    rule = _Rule(
        tolerance=Tolerance(relative=rel_tol, absolute=abs_tol),
        tuples_as_lists=tuples_as_lists,
        ints_as_floats=ints_as_floats,
    )
    return _match(_difference(expected, actual, rule))


def _difference(expected: Any, actual: Any, rule: _Rule) -> str:
    """Say how two values differ, or return an empty string."""
    kind = type(expected)
    if kind is not type(actual):
        if rule.tuples_as_lists and kind in (list, tuple) and type(actual) in (list, tuple):
            return _sequences_differ(expected, actual, rule)
        if rule.ints_as_floats and kind is float and type(actual) is int:
            return "" if _int_is_close(expected, actual, rule) else "a number differs"
        return f"a value of type {type(actual).__name__} is not of the expected type"
    if kind is float:
        return "" if _floats_equal(expected, actual, rule) else "a number differs"
    if kind is complex:
        same = _floats_equal(expected.real, actual.real, rule) and _floats_equal(
            expected.imag, actual.imag, rule
        )
        return "" if same else "a number differs"
    if kind is list or kind is tuple:
        return _sequences_differ(expected, actual, rule)
    if kind is dict:
        return _dicts_differ(expected, actual, rule)
    if kind is set or kind is frozenset:
        return _sets_differ(expected, actual, rule)
    return "" if _exact_key(expected, rule) == _exact_key(actual, rule) else "a value differs"


def _sequences_differ(expected: Sequence[Any], actual: Sequence[Any], rule: _Rule) -> str:
    if len(expected) != len(actual):
        return f"a {type(actual).__name__} has the wrong length"
    for left, right in zip(expected, actual, strict=True):
        difference = _difference(left, right, rule)
        if difference:
            return difference
    return ""


def _dicts_differ(expected: dict[Any, Any], actual: dict[Any, Any], rule: _Rule) -> str:
    if len(expected) != len(actual):
        return "a dict has the wrong length"
    # Several NaNs may be keys of one dict; their values are paired in order.
    values: dict[Hashable, collections.deque[Any]] = {}
    for key, value in expected.items():
        values.setdefault(_exact_key(key, rule), collections.deque()).append(value)
    for key, value in actual.items():
        left = values.get(_exact_key(key, rule))
        if not left:
            return "a dict has a wrong key"
        difference = _difference(left.popleft(), value, rule)
        if difference:
            return difference
    return ""


def _sets_differ(expected: Iterable[Any], actual: Iterable[Any], rule: _Rule) -> str:
    left = [_item(element, rule) for element in expected]
    right = [_item(element, rule) for element in actual]
    if match_bags(left, right, rule.tolerance or Tolerance(relative=0.0, absolute=0.0)):
        return ""
    return f"a {type(actual).__name__} has wrong elements"


def _int_is_close(expected: float, actual: int, rule: _Rule) -> bool:
    try:
        number = float(actual)
    except OverflowError:
        return False
    return _floats_equal(expected, number, rule)


def _floats_equal(expected: float, actual: float, rule: _Rule) -> bool:
    if rule.tolerance is not None:
        return rule.tolerance.close(expected, actual)
    if math.isnan(expected) or math.isnan(actual):
        return math.isnan(expected) and math.isnan(actual)
    if rule.signed_zeros and math.copysign(1.0, expected) != math.copysign(1.0, actual):
        return False
    return expected == actual


def _item(element: Any, rule: _Rule) -> Item:
    """Return an element of a set in two halves: what must be equal, and its finite floats."""
    numbers: list[float] = []

    def key(value: Any) -> Hashable:
        kind = type(value)
        if rule.tolerance is not None and kind is float and math.isfinite(value):
            numbers.append(value)
            return (float,)
        if kind is tuple:
            return (tuple, *map(key, value))
        return _exact_key(value, rule)

    return key(element), tuple(numbers)


def _exact_key(value: Any, rule: _Rule) -> Hashable:
    """Return a hashable that is equal exactly where two values are the same under `same_value`."""
    kind = type(value)
    if kind is float:
        return (float, _float_key(value, rule))
    if kind is complex:
        return (complex, _float_key(value.real, rule), _float_key(value.imag, rule))
    if kind is decimal.Decimal:
        # Comparing a signalling NaN raises.
        return (kind, "nan" if value.is_nan() else value)
    if kind is tuple:
        sequence = list if rule.tuples_as_lists else tuple
        return (sequence, *(_exact_key(item, rule) for item in value))
    if kind is frozenset:
        counts = collections.Counter(_exact_key(item, rule) for item in value)
        return (frozenset, frozenset(counts.items()))
    if kind is datetime.datetime or kind is datetime.time:
        return (kind, value.replace(tzinfo=None), value.tzinfo is None, value.utcoffset())
    if kind is bytearray:
        return (bytearray, bytes(value))
    if kind in _PLAIN_SCALARS:
        return (kind, value)
    raise TypeError(f"a value of type {kind.__name__} is not plain data and cannot be compared")


def _float_key(value: float, rule: _Rule) -> Hashable:
    if math.isnan(value):
        return "nan"
    if rule.signed_zeros:
        return (value, math.copysign(1.0, value))
    return value


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RowOptions:
    """How rows of a query are compared.

    Attributes:
        by_position: Whether columns are paired by position and their names are free.
        extra_columns: Whether columns that were not asked for are passed over (by name only).
        tolerance: For numbers that are not both whole.
    """

    by_position: bool = False
    extra_columns: bool = False
    tolerance: Tolerance = _DEFAULT_TOLERANCE

    def __post_init__(self) -> None:
        if self.by_position and self.extra_columns:
            raise ValueError("extra columns can be told from the others by name only")


def row_bag(
    expected_columns: Sequence[str],
    expected_rows: Sequence[Sequence[Any]],
    actual_columns: Any,
    actual_rows: Any,
    options: RowOptions = RowOptions(),
) -> Match:
    """Compare the results of two queries as bags of rows, whatever their order.

    Columns are paired by name without regard to case, and in their order where a name occurs more
    than once; they count even where no row does. NULL equals NULL. Numbers are compared by value
    (`1` equals `1.0`): whole ones exactly, others by tolerance. A bool is no number, text is no
    number, and text and bytes are exact.

    Args:
        expected_columns: Names.
        expected_rows: Rows, each with a value for each column.
        actual_columns: The claim.
        actual_rows: The claim.
        options: See `RowOptions`.

    Raises:
        ValueError: As in `ordered_rows`.
    """
    return ordered_rows(
        expected_columns,
        expected_rows,
        actual_columns,
        actual_rows,
        [()] * len(expected_rows),
        options,
    )


def ordered_rows(
    expected_columns: Sequence[str],
    expected_rows: Sequence[Sequence[Any]],
    actual_columns: Any,
    actual_rows: Any,
    order_keys: Sequence[Sequence[Any]],
    options: RowOptions = RowOptions(),
    *,
    offset: int = 0,
    limit: int | None = None,
) -> Match:
    """Compare the results of two queries in order, rows that tie as bags.

    Neighbouring expected rows with equal order keys are peers, and may come in any order among
    themselves. Where LIMIT or OFFSET cuts through peers, any of them may be given: pass *all* rows,
    as they are before the cut, and the cut itself. Columns and values are compared as in `row_bag`.

    Args:
        expected_columns: Names.
        expected_rows: Rows in order, before OFFSET and LIMIT.
        actual_columns: The claim.
        actual_rows: The claim.
        order_keys: For each expected row, the values of the outermost ORDER BY.
        options: See `RowOptions`.
        offset: Rows that the query skips.
        limit: Rows that it then gives at most.

    Raises:
        ValueError: The expected rows do not fit the columns or order keys, or hold what is no SQL
            value (None, bool, int, float, Decimal, str, bytes, or of the datetime family).
    """
    if any(len(row) != len(expected_columns) for row in expected_rows):
        raise ValueError("an expected row does not fit the expected columns")
    if not all(map(_is_sql_value, itertools.chain(*expected_rows, *order_keys))):
        raise ValueError("an expected row or order key holds what is no SQL value")
    if len(order_keys) != len(expected_rows):
        raise ValueError("there must be an order key for each expected row")
    if offset < 0 or (limit is not None and limit < 0):
        raise ValueError("an offset and a limit are not negative")
    columns = _pair_columns(expected_columns, actual_columns, options)
    if isinstance(columns, Match):
        return columns
    if type(actual_rows) not in (list, tuple) or not all(
        type(row) in (list, tuple) and len(row) == len(actual_columns) for row in actual_rows
    ):
        return Match(False, "the rows are malformed")
    end = len(expected_rows) if limit is None else min(len(expected_rows), offset + limit)
    if len(actual_rows) != max(0, end - offset):
        return Match(False, f"{len(actual_rows)} rows are not the expected number")
    if not actual_rows:
        return _EQUAL
    wanted = [list(row) for row in expected_rows]
    given = [[row[column] for column in columns] for row in actual_rows]
    tolerant = [
        any(type(_cell(row[column])) is float for row in itertools.chain(wanted, given))
        for column in range(len(expected_columns))
    ]
    expected = [_row_item(row, tolerant) for row in wanted]
    actual = [_row_item(row, tolerant) for row in given]
    keys = [tuple(map(_cell_key, key)) for key in order_keys]
    position = 0
    for _, peers in itertools.groupby(range(len(keys)), key=keys.__getitem__):
        group = [expected[index] for index in peers]
        first, position = position, position + len(group)
        # What the cut leaves of these peers.
        part = actual[max(first - offset, 0) : max(min(position, end) - offset, 0)]
        if part and not match_bags(group, part, options.tolerance, part=len(part) < len(group)):
            return Match(False, "the rows differ, in value or in order")
    return _EQUAL


def _pair_columns(expected: Sequence[str], actual: Any, options: RowOptions) -> list[int] | Match:
    """Return the actual position of each expected column, or what is wrong."""
    if type(actual) not in (list, tuple) or not all(type(name) is str for name in actual):
        return Match(False, "the columns are malformed")
    if options.by_position:
        if len(actual) != len(expected):
            return Match(False, f"{len(actual)} columns are not the expected number")
        return list(range(len(expected)))
    positions: dict[str, collections.deque[int]] = {}
    for name in expected:
        positions.setdefault(name.lower(), collections.deque())
    for position, name in enumerate(actual):
        if name.lower() in positions:
            positions[name.lower()].append(position)
        elif not options.extra_columns:
            return Match(False, f"the column {name[:100]!r} was not asked for")
    columns = []
    for name in expected:
        if not positions[name.lower()]:
            return Match(False, "a column that was asked for is missing")
        columns.append(positions[name.lower()].popleft())
    if any(positions.values()):
        return Match(False, "a column is given more than once")
    return columns


def _cell(value: Any) -> Any:
    """Return a number as int where it is whole and as float where not, all else as it is."""
    if type(value) is decimal.Decimal and value.is_finite():
        # An integer of as many digits as its exponent says would be without bound.
        if value.adjusted() < 300 and value == value.to_integral_value():
            return int(value)
        value = float(value)
    if type(value) is float and abs(value) < _EXACT_FLOATS and value.is_integer():
        return int(value)
    return value


def _row_item(row: Sequence[Any], tolerant: Sequence[bool]) -> Item:
    key: list[Hashable] = []
    numbers: list[float] = []
    for value, by_tolerance in zip(row, tolerant, strict=True):
        cell = _cell(value)
        if by_tolerance and _is_measurable(cell):
            key.append(None)
            numbers.append(cell)
        else:
            key.append(_cell_key(cell))
    return tuple(key), tuple(numbers)


def _is_measurable(cell: Any) -> bool:
    return (type(cell) is int and cell.bit_length() < 1000) or (
        type(cell) is float and math.isfinite(cell)
    )


def _cell_key(value: Any) -> Hashable:
    if not _is_sql_value(value):
        # Equal to nothing, not even to itself.
        return object()
    return _exact_key(_cell(value), _Rule())


def _is_sql_value(value: Any) -> bool:
    return type(value) in _SQL_TYPES


def same_text(expected: str, actual: str) -> Match:
    """Compare program output by the usual rule.

    White space at the ends of lines and of the text does not count, nor the kind of line end.
    """
    left, right = _lines(expected), _lines(actual)
    if left == right:
        return _EQUAL
    if len(left) != len(right):
        return Match(False, f"{len(right)} lines are not the expected number")
    return Match(False, "a line differs")


def close_text(
    expected: str, actual: str, *, rel_tol: float = 1e-6, abs_tol: float = 1e-9
) -> Match:
    """Compare program output by words, line by line; decimal numbers need only be close.

    A number is digits with a sign, a point or an exponent (`+5`, `.5`, `1e3`; no `1_000`, `1,000`,
    `nan`). Two words are held against each other as numbers where both are numbers and at least
    one has a point or an exponent; otherwise they must be the same.

    Raises:
        ValueError: A tolerance is out of range.
    """
    tolerance = Tolerance(relative=rel_tol, absolute=abs_tol)
    left, right = _lines(expected), _lines(actual)
    if len(left) != len(right):
        return Match(False, f"{len(right)} lines are not the expected number")
    for expected_line, actual_line in zip(left, right, strict=True):
        expected_words, actual_words = expected_line.split(), actual_line.split()
        if len(expected_words) != len(actual_words):
            return Match(False, "a line has the wrong number of words")
        for wanted, given in zip(expected_words, actual_words, strict=True):
            if wanted != given and not _numbers_close(wanted, given, tolerance):
                return Match(False, "a word or number differs")
    return _EQUAL


def _lines(text: str) -> list[str]:
    lines = [line.rstrip() for line in text.replace("\r\n", "\n").split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _numbers_close(wanted: str, given: str, tolerance: Tolerance) -> bool:
    words = (wanted, given)
    if any(len(word) > _LONGEST_NUMBER or not _NUMBER_TOKEN.match(word) for word in words):
        return False
    if all(word.lstrip("+-").isdigit() for word in words):
        return False
    numbers = (float(wanted), float(given))
    return all(map(math.isfinite, numbers)) and tolerance.close(*numbers)
