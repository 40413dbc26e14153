"""Matching two bags whose items hold numbers that need only be close.

Closeness is not transitive, so neither rounding into buckets nor greedy pairing is right: both
refuse some bags that can be paired, and buckets also pair numbers that are not close. Here items
are split into independent groups first, and only a group in which some pairs are close and some
are not is matched as a bipartite graph.
"""

from __future__ import annotations

import bisect
import collections
import dataclasses
import itertools
import math
from collections.abc import Hashable, Sequence

Item = tuple[Hashable, tuple[float, ...]]
"""An item of a bag: what must be equal, and the numbers that must be close."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """When two numbers are close: `|a - b| <= max(relative * max(|a|, |b|), absolute)`.

    Attributes:
        relative: From 0 to 0.5.
        absolute: Not negative; what makes a tiny number close to 0.
    """

    relative: float = 1e-6
    absolute: float = 1e-9

    def __post_init__(self) -> None:
        if not 0 <= self.relative <= 0.5:
            raise ValueError(f"a relative tolerance lies in [0, 0.5], not {self.relative!r}")
        if not 0 <= self.absolute < math.inf:
            raise ValueError(f"an absolute tolerance is finite, >= 0, not {self.absolute!r}")

    def close(self, first: float, second: float) -> bool:
        """Return whether two numbers are close. NaN is close to NaN; two ints must be equal."""
        if type(first) is int and type(second) is int:
            return first == second
        if math.isnan(first) or math.isnan(second):
            return math.isnan(first) and math.isnan(second)
        return math.isclose(first, second, rel_tol=self.relative, abs_tol=self.absolute)


def match_bags(
    expected: Sequence[Item],
    actual: Sequence[Item],
    tolerance: Tolerance,
    *,
    part: bool = False,
) -> bool:
    """Return whether each actual item can be paired with an expected one of its own.

    Args:
        expected: Items; equal keys have equally many numbers, all finite. Ints lie within the
            range of a float.
        actual: Likewise.
        tolerance: When two numbers are close.
        part: Whether expected items may be left over.
    """
    if len(actual) > len(expected) or (len(actual) < len(expected) and not part):
        return False
    # Only expected keys are inserted: keys of the candidate's could be made to collide.
    groups: dict[Hashable, tuple[list[tuple[float, ...]], list[tuple[float, ...]]]] = {}
    for key, numbers in expected:
        groups.setdefault(key, ([], []))[0].append(numbers)
    for key, numbers in actual:
        group = groups.get(key)
        if group is None:
            return False
        group[1].append(numbers)
    return all(_match_numbers(left, right, tolerance, part=part) for left, right in groups.values())


_Vectors = list[tuple[float, ...]]


def _match_numbers(
    expected: _Vectors, actual: _Vectors, tolerance: Tolerance, *, part: bool
) -> bool:
    if len(actual) > len(expected) or (len(actual) < len(expected) and not part):
        return False
    width = len(expected[0])
    if width == 0 or not actual:
        return True
    starts = [
        _cluster_starts([row[column] for row in (*expected, *actual)], tolerance)
        for column in range(width)
    ]
    groups: collections.defaultdict[tuple[int, ...], tuple[_Vectors, _Vectors]]
    groups = collections.defaultdict(lambda: ([], []))
    for side, rows in enumerate((expected, actual)):
        for row in rows:
            label = tuple(
                bisect.bisect_right(column_starts, number)
                for column_starts, number in zip(starts, row, strict=True)
            )
            groups[label][side].append(row)
    return all(_match_group(left, right, tolerance, part=part) for left, right in groups.values())


def _cluster_starts(numbers: list[float], tolerance: Tolerance) -> list[float]:
    # A number between two close ones may be close to only one of them where the tolerance is
    # relative, but it is always within twice the tolerance of both.
    ordered = sorted(numbers)
    return [ordered[0]] + [
        number
        for before, number in itertools.pairwise(ordered)
        if not math.isclose(
            before, number, rel_tol=2 * tolerance.relative, abs_tol=2 * tolerance.absolute
        )
    ]


def _match_group(expected: _Vectors, actual: _Vectors, tolerance: Tolerance, *, part: bool) -> bool:
    if len(actual) > len(expected) or (len(actual) < len(expected) and not part):
        return False
    if not actual or _all_close(expected + actual, tolerance):
        return True
    if len(actual) == len(expected):
        pairs = zip(sorted(expected), sorted(actual), strict=True)
        if all(_rows_close(left, right, tolerance) for left, right in pairs):
            return True
    return _match_graph(expected, actual, tolerance)


def _all_close(rows: _Vectors, tolerance: Tolerance) -> bool:
    for column in zip(*rows, strict=True):
        # By the smallest magnitude, so that it holds for every pair in between too.
        allowed = max(tolerance.relative * min(map(abs, column)), tolerance.absolute)
        if max(column) - min(column) > allowed:
            return False
        if len({number for number in column if type(number) is int}) > 1:
            return False
    return True


def _rows_close(first: tuple[float, ...], second: tuple[float, ...], tolerance: Tolerance) -> bool:
    return all(tolerance.close(left, right) for left, right in zip(first, second, strict=True))


def _match_graph(expected: _Vectors, actual: _Vectors, tolerance: Tolerance) -> bool:
    """Pair every actual row by augmenting paths (Kuhn's algorithm, breadth first)."""
    expected = sorted(expected)
    owner: list[int | None] = [None] * len(expected)
    edges = [_close_indices(expected, row, tolerance) for row in actual]
    for start in range(len(actual)):
        reached_from: dict[int, int] = {}
        queue = collections.deque([start])
        free: int | None = None
        while queue and free is None:
            current = queue.popleft()
            for index in edges[current]:
                if index in reached_from:
                    continue
                reached_from[index] = current
                holder = owner[index]
                if holder is None:
                    free = index
                    break
                queue.append(holder)
        if free is None:
            return False
        # Along the path, each row gives up its partner for the next.
        taken_by: dict[int, int] = {
            holder: index for index, holder in enumerate(owner) if holder is not None
        }
        while True:
            current = reached_from[free]
            owner[free] = current
            if current == start:
                break
            free = taken_by[current]
    return True


def _close_indices(ordered: _Vectors, row: tuple[float, ...], tolerance: Tolerance) -> list[int]:
    """Return the indices of the rows, in order of their first number, that are close to `row`."""
    # The other number may be the larger one, but at a tolerance of 0.5 at most twice as large.
    margin = 2 * max(tolerance.relative * abs(row[0]), tolerance.absolute)
    first = bisect.bisect_left(ordered, (row[0] - margin,))
    last = bisect.bisect_right(ordered, row[0] + margin, key=lambda other: other[0])
    return [index for index in range(first, last) if _rows_close(ordered[index], row, tolerance)]
