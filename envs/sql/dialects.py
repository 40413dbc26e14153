"""Turns the generator's SQLite into another engine's SQL: definitions of tables, and references.

sqlglot does most of it. What it does not know is put right here, and the engines are the proof:
tests run the references of hundreds of tasks in each.
"""

from __future__ import annotations

from typing import cast

import sqlglot
from sqlglot import expressions as exp

from execgym.envs.sql.schemas import Column, Table

_TYPES = {
    "key": "INTEGER",
    "reference": "INTEGER",
    "name": "VARCHAR",
    "category": "VARCHAR",
    "whole": "INTEGER",
    "money": "DECIMAL(12, 2)",
    "day": "DATE",
    "flag": "INTEGER",
}


def engine_type(column: Column) -> str:
    """Return the declared type of a column in the engines that have types."""
    return _TYPES[column.kind]


def engine_definition(table: Table) -> str:
    """Return the CREATE TABLE statement for the engines that have types."""
    parts = []
    for column in table.columns:
        text = f"{column.name} {engine_type(column)}"
        if column.kind == "key":
            text += " PRIMARY KEY"
        elif not column.missing:
            text += " NOT NULL"
        if column.target:
            text += f" REFERENCES {column.target}(id)"
        parts.append(text)
    return f"CREATE TABLE {table.name} ({', '.join(parts)})"


def translated(sql: str, dialect: str) -> str:
    """Return a reference of the generator in another dialect.

    Args:
        sql: The reference, in SQLite's dialect.
        dialect: sqlglot's name of the other one.
    """
    tree = cast(exp.Expression, sqlglot.parse_one(sql, read="sqlite"))
    for select in list(tree.find_all(exp.Select)):
        _group_by_all_that_is_shown(select)
    for node in list(tree.find_all(exp.TsOrDsToTimestamp)):
        # The column is a DATE, which needs no conversion.
        node.replace(node.this)
    for ordered in tree.find_all(exp.Ordered):
        # None of the terms is ever NULL, so no engine has to be told where NULL goes.
        ordered.set("nulls_first", None)
    return tree.sql(dialect)


def _group_by_all_that_is_shown(select: exp.Select) -> None:
    """Add to a GROUP BY of a key what is shown beside it, for engines that do not see it depend."""
    group = select.args.get("group")
    if group is None:
        return
    grouped = {item.sql("sqlite") for item in group.expressions}
    for item in select.expressions:
        shown = item.unalias()
        if isinstance(shown, exp.Column) and shown.sql("sqlite") not in grouped:
            group.append("expressions", shown.copy())
