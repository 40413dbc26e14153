"""Turns the text of a right query into a reference that tells what it orders by."""

from __future__ import annotations

from typing import cast

import sqlglot
from sqlglot import expressions as exp

from execgym.envs.sql.reference import ReferenceQuery, UndeterminedError


def reference_from_sql(sql: str, *, ordered: bool = True) -> ReferenceQuery:
    """Read a query. Only the ORDER BY of its outermost SELECT or UNION orders its rows.

    Args:
        sql: The query.
        ordered: Whether its ORDER BY is part of the task. If not, it only says which rows a LIMIT
            takes.

    Raises:
        UndeterminedError: What it orders by cannot be told.
    """
    sql = sql.strip().rstrip(";").strip()
    try:
        tree = cast(exp.Expression, sqlglot.parse_one(sql, read="sqlite"))
    except sqlglot.errors.SqlglotError as error:
        raise UndeterminedError("the reference cannot be read") from error
    if tree.args.get("offset") is not None:
        raise UndeterminedError("the reference has an OFFSET")
    limit = _limit(tree)
    order = tree.args.get("order")
    if order is None:
        if limit is None:
            return ReferenceQuery(sql=sql, keyed=sql)
        tree.set("limit", None)
        return ReferenceQuery(sql=sql, keyed=tree.sql("sqlite"), limit=limit)
    if not ordered and limit is None:
        return ReferenceQuery(sql=sql, keyed=sql)
    tree.set("limit", None)
    terms = [term.this if isinstance(term, exp.Ordered) else term for term in order.expressions]
    keyed = _keyed_union(tree, terms) if isinstance(tree, exp.SetOperation) else _keyed(tree, terms)
    return ReferenceQuery(
        sql=sql, keyed=keyed.sql("sqlite"), keys=len(terms), limit=limit, ordered=ordered
    )


def _limit(tree: exp.Expression) -> int | None:
    node = tree.args.get("limit")
    if node is None:
        return None
    value = node.expression
    if not isinstance(value, exp.Literal) or not value.is_int:
        raise UndeterminedError("the LIMIT of the reference is no number")
    return int(value.name)


def _keyed(tree: exp.Expression, terms: list[exp.Expression]) -> exp.Expression:
    if not isinstance(tree, exp.Select):
        raise UndeterminedError("the reference is no SELECT")
    aliases = {item.alias.lower(): item.unalias() for item in tree.expressions if item.alias}
    shown = [item.unalias().sql("sqlite").lower() for item in tree.expressions]
    keys = []
    for term in terms:
        if isinstance(term, exp.Literal) and term.is_int:
            key = tree.expressions[int(term.name) - 1].unalias().copy()
        else:
            key = term.copy().transform(_resolve, aliases)
        if tree.args.get("distinct") is not None and key.sql("sqlite").lower() not in shown:
            raise UndeterminedError("the reference is DISTINCT and orders by what it does not show")
        keys.append(key)
    for key in keys:
        tree.append("expressions", key)
    return tree


def _resolve(node: exp.Expression, aliases: dict[str, exp.Expression]) -> exp.Expression:
    if isinstance(node, exp.Column) and not node.table and node.name.lower() in aliases:
        return aliases[node.name.lower()].copy()
    return node


def _keyed_union(tree: exp.Expression, terms: list[exp.Expression]) -> exp.Expression:
    first = tree
    while isinstance(first, exp.SetOperation):
        first = first.this
    names = [item.alias_or_name for item in first.expressions]
    keys = []
    for term in terms:
        if isinstance(term, exp.Literal) and term.is_int:
            keys.append(exp.column(names[int(term.name) - 1], quoted=True))
        elif isinstance(term, exp.Column) and term.name in names:
            keys.append(exp.column(term.name, quoted=True))
        else:
            raise UndeterminedError("the reference is a UNION that orders by what it does not show")
    order = tree.args["order"].copy()
    tree.set("order", None)
    rows = exp.select("*", *keys).from_(cast(exp.Query, tree).subquery("rows_of_union"))
    rows.set("order", order)
    return rows
