"""Tables and named values that a candidate has written as files, against the expected ones.

A table is a CSV file: UTF-8 with or without a byte order mark, any line ends, a comma between
cells, a header. Its columns are found by name, in any order; each must stand there once. A nameless
first column, which is how pandas writes an index that nobody asked for, is left out; any other
column too many is wrong. Rows are found by the schema's keys, or by position where order is asked.

Named values are one JSON object with exactly the names that were asked.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

from execgym.judging.cells import MISSING, Kind, Value, matches, parse

LARGEST_FILE = 2 * 2**20
"""Bytes that an output file may have."""

_MOST_ROWS = 50_000
_QUOTED = 60

Row = tuple[Value, ...]


class OutputError(ValueError):
    """A candidate's file is no table or no object of the schema. The text says what is wrong."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a table, or a named value.

    Attributes:
        name: Its name.
        kind: What it holds.
        places: Decimal places to which a number is asked.
    """

    name: str
    kind: Kind
    places: int = 0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TableSchema:
    """What a table is to look like.

    Attributes:
        columns: Its columns.
        keys: Names of the columns that tell rows apart. They hold no numbers.
        ordered: Whether the rows must come in the expected order.
    """

    columns: tuple[Column, ...]
    keys: tuple[str, ...]
    ordered: bool = False

    def __post_init__(self) -> None:
        kinds = {column.name: column.kind for column in self.columns}
        if len(kinds) != len(self.columns) or not self.columns:
            raise ValueError("a schema has columns, each of another name")
        if not self.keys or any(kinds.get(key, Kind.NUMBER) is Kind.NUMBER for key in self.keys):
            raise ValueError(f"keys {self.keys} are no columns without numbers")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """How a candidate's values compare.

    Attributes:
        right: Cells that are right.
        cells: Cells that there are to be, and those of rows that are not to be there.
        reason: What is wrong, or `""`. It holds names of the schema and no expected value.
    """

    right: int
    cells: int
    reason: str = ""

    @property
    def share(self) -> float:
        """The share of the cells that are right."""
        return self.right / self.cells if self.cells else 0.0


def read_table(data: bytes, schema: TableSchema) -> list[tuple[str, ...]]:
    """Return the rows of a CSV file, with the cells in the schema's order.

    Raises:
        OutputError: It is no CSV file with these columns.
    """
    try:
        lines = csv.reader(io.StringIO(_text(data), newline=""), strict=True)
        rows = [row for row in lines if row]
    except csv.Error as error:
        raise OutputError(f"it is no CSV file: {error}") from None
    if not rows:
        raise OutputError("it is empty")
    if len(rows) - 1 > _MOST_ROWS:
        raise OutputError(f"it has more than {_MOST_ROWS} rows")
    header = [name.strip() for name in rows[0]]
    first = 1 if header[0] in ("", "Unnamed: 0") and len(header) > 1 else 0
    names = header[first:]
    wanted = [column.name for column in schema.columns]
    _check_names(names, wanted, "column")
    places = [first + names.index(name) for name in wanted]
    if any(len(row) != len(header) for row in rows):
        raise OutputError("not all of its lines have as many cells as its header")
    return [tuple(row[place] for place in places) for row in rows[1:]]


def compare_table(schema: TableSchema, expected: Sequence[Row], data: bytes) -> Comparison:
    """Compare a CSV file, cell by cell.

    Raises:
        OutputError: It is no CSV file with these columns.
    """
    rows = read_table(data, schema)
    width = len(schema.columns)
    if schema.ordered:
        pairs: list[tuple[Row, tuple[str, ...] | None]] = [
            (row, rows[index] if index < len(rows) else None) for index, row in enumerate(expected)
        ]
        surplus = max(0, len(rows) - len(expected))
    else:
        pairs, surplus = _paired(schema, expected, rows)
    right = 0
    wrong: dict[str, int] = {}
    for row, written in pairs:
        for index, column in enumerate(schema.columns):
            if written is not None and matches(
                column.kind, column.places, row[index], written[index]
            ):
                right += 1
            elif written is not None:
                wrong[column.name] = wrong.get(column.name, 0) + 1
    missing = sum(written is None for _, written in pairs)
    cells = width * (len(pairs) + surplus)
    reason = ""
    if missing or surplus:
        reason = f"{missing} rows are missing and {surplus} are too many"
    elif wrong:
        reason = f"wrong values in {_names(wrong)}"
    return Comparison(right=right, cells=cells, reason=reason)


def compare_values(
    columns: Sequence[Column], expected: Mapping[str, Value], data: bytes
) -> Comparison:
    """Compare one JSON object of named values.

    Raises:
        OutputError: It is no JSON object with these names.
    """
    written = read_object(data)
    _check_names(list(written), [column.name for column in columns], "name")
    wrong = [
        column.name
        for column in columns
        if not _matches_json(column, expected[column.name], written[column.name])
    ]
    reason = f"wrong values in {_names(wrong)}" if wrong else ""
    return Comparison(right=len(columns) - len(wrong), cells=len(columns), reason=reason)


class _Literal(str):
    """A JSON number as it was written."""

    __slots__ = ()


def read_object(data: bytes) -> dict[str, Any]:
    """Return a JSON object whose numbers are left as they were written.

    Raises:
        OutputError: It is no JSON object, or a key stands in it twice.
    """
    try:
        value = json.loads(
            _text(data),
            object_pairs_hook=_no_duplicates,
            parse_int=_Literal,
            parse_float=_Literal,
            parse_constant=_Literal,
        )
    except RecursionError:
        raise OutputError("it is nested too deep") from None
    except ValueError as error:
        raise OutputError(f"it is no JSON: {error}") from None
    if not isinstance(value, dict):
        raise OutputError("it is no JSON object")
    return value


def _matches_json(column: Column, expected: Value, written: Any) -> bool:
    if written is None:
        return expected is None
    if isinstance(written, bool):
        return column.kind is Kind.BOOLEAN and written is expected
    if not isinstance(written, str):
        return False
    if isinstance(written, _Literal) and column.kind not in (Kind.INTEGER, Kind.NUMBER):
        return False
    return matches(column.kind, column.places, expected, written)


def _paired(
    schema: TableSchema, expected: Sequence[Row], rows: Sequence[tuple[str, ...]]
) -> tuple[list[tuple[Row, tuple[str, ...] | None]], int]:
    """Pair rows by their keys and count those that belong to no expected one."""
    places = [
        (index, column.kind)
        for index, column in enumerate(schema.columns)
        if column.name in schema.keys
    ]
    found: dict[Row, tuple[str, ...]] = {}
    surplus = 0
    for row in rows:
        key = tuple(
            None if row[index].strip().lower() in MISSING else parse(kind, row[index])
            for index, kind in places
        )
        if key in found:
            surplus += 1
        else:
            found[key] = row
    pairs = [(row, found.pop(tuple(row[index] for index, _ in places), None)) for row in expected]
    return pairs, surplus + len(found)


def _text(data: bytes) -> str:
    if len(data) > LARGEST_FILE:
        raise OutputError(f"it has more than {LARGEST_FILE} bytes")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise OutputError("it is not UTF-8") from None
    if "\0" in text:
        raise OutputError("it holds a NUL character")
    return text


def _check_names(names: Sequence[str], wanted: Sequence[str], what: str) -> None:
    for name in wanted:
        if names.count(name) != 1:
            problem = "is missing" if name not in names else "stands there more than once"
            raise OutputError(f"the {what} {name!r} {problem}")
    for name in names:
        if name not in wanted:
            raise OutputError(f"a {what} {name[:_QUOTED]!r} was not asked for")


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise OutputError("a key stands twice in one object")
    return result


def _names(names: Sequence[str] | Mapping[str, int]) -> str:
    return ", ".join(repr(name) for name in names)
