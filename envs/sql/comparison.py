"""Whether the rows of a query are the right ones.

The rules: as many columns as the reference has. Columns are paired by name, whatever the case,
where both sides have the same names and no name twice, else by position: names are no burden, and
a column under another's name is still wrong. Rows are a bag. Where the reference orders, rows that
it does not tell apart may come in any order among themselves. Texts, BLOBs and NULL are equal when
they are the same; whole numbers too; other numbers when they are within 1e-9 of each other. No
rows are never right.
"""

from __future__ import annotations

from collections.abc import Sequence

from execgym.envs.sql.driver import Row
from execgym.envs.sql.reference import ExpectedRows
from execgym.judging.compare import RowOptions, ordered_rows, row_bag
from execgym.judging.matching import Tolerance

_OPTIONS = RowOptions(by_position=True, tolerance=Tolerance(relative=1e-9, absolute=1e-9))


def rows_match(
    expected: ExpectedRows, columns: Sequence[str], rows: Sequence[Row], *, ordered: bool = True
) -> bool:
    """Return whether rows are right.

    Args:
        expected: The reference's rows.
        columns: Names of the columns.
        rows: The rows to judge.
        ordered: Whether to look at the order where the reference has one.
    """
    if len(columns) != len(expected.columns) or len(rows) != len(expected.rows) or not rows:
        return False
    places = _places(expected.columns, columns)
    actual = [tuple(row[place] for place in places) for row in rows]
    names = expected.columns
    if expected.keys is None or not ordered:
        return row_bag(names, expected.rows, names, actual, _OPTIONS).equal
    return ordered_rows(names, expected.rows, names, actual, expected.keys, _OPTIONS).equal


def _places(expected: Sequence[str], actual: Sequence[str]) -> list[int]:
    """Return for each expected column where it stands in the actual rows."""
    wanted = [_bare(name) for name in expected]
    given = [_bare(name) for name in actual]
    if len(set(wanted)) == len(wanted) and set(given) == set(wanted):
        return [given.index(name) for name in wanted]
    return list(range(len(actual)))


def _bare(name: str) -> str:
    # SQLite names `SELECT t.a` "a", but `SELECT count( * )` by its text.
    name = "".join(name.split()).lower()
    return name if "(" in name else name.rpartition(".")[2]
