"""Wrong queries that look like a right one: what the hidden databases have to tell apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

import sqlglot
from sqlglot import expressions as exp

_COMPARISONS: dict[type[exp.Expression], tuple[type[exp.Expression], ...]] = {
    exp.GT: (exp.GTE, exp.LT),
    exp.GTE: (exp.GT, exp.LTE),
    exp.LT: (exp.LTE, exp.GT),
    exp.LTE: (exp.LT, exp.GTE),
    exp.EQ: (exp.NEQ,),
    exp.NEQ: (exp.EQ,),
    exp.And: (exp.Or,),
    exp.Or: (exp.And,),
}
_AGGREGATES: dict[type[exp.Expression], type[exp.Expression]] = {
    exp.Max: exp.Min,
    exp.Min: exp.Max,
    exp.Sum: exp.Avg,
    exp.Avg: exp.Sum,
}
_OTHER_COLUMNS = 2


def mutants(sql: str, columns: Sequence[str] = ()) -> list[str]:
    """Return queries that differ from `sql` in one thing each.

    They drop a condition, turn a comparison, drop or add DISTINCT, drop or turn ORDER BY, change
    LIMIT, swap an aggregate, turn LEFT JOIN into JOIN, drop HAVING, move a number by one, or take
    another column. Some may be equivalent to `sql` or fail to run.

    Args:
        sql: A SELECT that sqlglot can read; if it cannot, there are no mutants.
        columns: Names of columns to put in place of those that the query lists.
    """
    try:
        tree = cast(exp.Expression, sqlglot.parse_one(sql, read="sqlite"))
    except sqlglot.errors.SqlglotError:
        return []
    original = tree.sql("sqlite")
    found = dict.fromkeys(_all(tree, columns))
    found.pop(original, None)
    return list(found)


def _all(tree: exp.Expression, columns: Sequence[str]) -> Iterator[str]:
    for node in cast(list[exp.Expression], list(tree.walk())):
        if isinstance(node, exp.Select):
            yield from _of_select(tree, node, outermost=node is tree)
        yield from _of_node(tree, node)
    if isinstance(tree, exp.Select):
        yield from _with_other_columns(tree, columns)


def _of_select(tree: exp.Expression, select: exp.Select, *, outermost: bool) -> Iterator[str]:
    for part in ("where", "having", "order", "limit", "distinct", "group"):
        if select.args.get(part) is not None:
            yield _with(tree, select, part, None)
    if outermost and select.args.get("distinct") is None:
        yield _with(tree, select, "distinct", exp.Distinct())


def _of_node(tree: exp.Expression, node: exp.Expression) -> Iterator[str]:
    for other in _replacements(node):
        yield _replaced(tree, node, other)
    if isinstance(node, exp.Join) and node.args.get("side"):
        yield _with(tree, node, "side", None)


def _replacements(node: exp.Expression) -> Iterator[exp.Expression]:
    if isinstance(node, exp.And | exp.Or):
        yield node.this.copy()
        yield node.expression.copy()
    for comparison in _COMPARISONS.get(type(node), ()):
        yield comparison(this=node.this.copy(), expression=node.expression.copy())
    if type(node) in _AGGREGATES:
        yield _AGGREGATES[type(node)](this=node.this.copy())
    if isinstance(node, exp.Count):
        if isinstance(node.this, exp.Distinct):
            yield exp.Count(this=node.this.expressions[0].copy())
        elif not isinstance(node.this, exp.Star):
            yield exp.Count(this=exp.Star())
    if isinstance(node, exp.Ordered):
        down = not node.args.get("desc")
        yield exp.Ordered(this=node.this.copy(), desc=down, nulls_first=not down)
    if isinstance(node, exp.In | exp.Is | exp.Exists | exp.Like):
        yield exp.Not(this=exp.Paren(this=node.copy()))
    if isinstance(node, exp.Literal) and node.is_int and not isinstance(node.parent, exp.Select):
        yield exp.Literal.number(int(node.name) - 1)
        yield exp.Literal.number(int(node.name) + 1)


def _with_other_columns(tree: exp.Select, columns: Sequence[str]) -> Iterator[str]:
    for projection in tree.expressions:
        for column in projection.find_all(exp.Column):
            others = [name for name in columns if name.lower() != column.name.lower()]
            for name in others[:_OTHER_COLUMNS]:
                yield _with(tree, column, "this", exp.to_identifier(name))


def _with(tree: exp.Expression, node: exp.Expression, part: str, value: object) -> str:
    before = node.args.get(part)
    node.set(part, value)
    try:
        return tree.sql("sqlite")
    finally:
        node.set(part, before)


def _replaced(tree: exp.Expression, node: exp.Expression, other: exp.Expression) -> str:
    if node is tree:
        return other.sql("sqlite")
    node.replace(other)
    try:
        return tree.sql("sqlite")
    finally:
        other.replace(node)
