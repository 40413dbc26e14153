"""Wrong programs that look like a right one: what the fillings of a task have to tell apart."""

from __future__ import annotations

from execgym.judging.mutation import python_mutants

_WORDS = {
    "mean": ("median", "sum"),
    "median": ("mean",),
    "min": ("max",),
    "max": ("min",),
    "size": ("sum",),
    "nunique": ("count",),
    "std": ("var",),
    "last": ("first",),
    "%Y-%m": ("%m", "%Y-%m-%d"),
    "%Y-%m-%dT%H:%M:%SZ": ("%Y-%m-%d",),
    "%d.%m.%Y %H:%M:%S": ("%m.%d.%Y %H:%M:%S",),
}
_METHODS = {
    "cumsum": ("cummax", "diff"),
    "diff": ("cumsum",),
    "sum": ("mean", "max"),
    "hour": ("minute",),
    "day_name": ("month_name",),
    "lower": ("upper",),
    "head": ("tail",),
}


def mutants(source: str) -> list[str]:
    """Return programs that differ from `source` in one thing each.

    They take another statistic, format or method, turn an order, or change what
    `execgym.judging.mutation` changes in any program. Some are equivalent to `source` or do not
    run.
    """
    # The index of a written table is left out by whoever reads it.
    return python_mutants(source, words=_WORDS, methods=_METHODS, free_keywords=("index",))
