"""Levels 1 and 2: changes of one table by one statement."""

from __future__ import annotations

from execgym.envs.sql.changes.change import Change
from execgym.envs.sql.questions import NoQuestionError, Scene
from execgym.envs.sql.reference import quote
from execgym.envs.sql.schemas import Column, Table

NEW_KEYS = range(5000, 9000)
"""Keys of new rows: no filling of a schema has one of them."""


def value_for(scene: Scene, column: Column) -> str:
    """Choose a plausible value for a column, as a literal."""
    generator = scene.generator
    if column.kind == "category":
        return quote(scene.one_of(column.values[0]))
    if column.kind == "flag":
        return str(generator.randint(0, 1))
    if column.kind == "whole":
        return str(generator.randint(int(column.low), int(column.high)))
    if column.kind == "money":
        return repr(round(generator.uniform(float(column.low), float(column.high)), 2))
    if column.kind == "day":
        return quote(scene.one_of((str(column.low), str(column.high), "2021-07-15")))
    if column.kind == "name":
        return quote(f"{scene.one_of(column.values[0])} {scene.one_of(column.values[1])} II")
    raise NoQuestionError


def settable(scene: Scene, table: Table) -> Column:
    """Choose a column that a sentence can set to a value."""
    return scene.one_of(table.of_kind("category", "whole", "money"))


def set_where(scene: Scene) -> Change:
    """Set a column of the rows that meet a condition."""
    table = scene.table()
    column = settable(scene, table)
    condition = scene.condition(table, without=(column,))
    value = value_for(scene, column)
    text = scene.one_of(
        (
            f"Set the {column.label} of all {table.plural} {condition.english} to {value}.",
            f"Change the {column.label} to {value} for every one of the {table.plural} "
            f"{condition.english}.",
        )
    )
    return Change(
        kind="set_where",
        text=text,
        script=f"UPDATE {table.name} SET {column.name} = {value} WHERE {condition.sql};",
        alternatives=(
            f"UPDATE {table.name} SET {column.name} = CASE WHEN {condition.sql} THEN {value} "
            f"ELSE {column.name} END",
        ),
        conditions=(condition.sql,),
    )


def set_one(scene: Scene) -> Change:
    """Set a column of the row with a certain name."""
    table = scene.one_of([table for table in scene.schema.tables if table.title.kind == "name"])
    column = settable(scene, table)
    value = value_for(scene, column)
    title = table.title
    name = quote(scene.one_of(scene.rows[table.name])[title.name])
    return Change(
        kind="set_one",
        text=f"Change the {column.label} of the {table.singular} whose {title.label} is {name} "
        f"to {value}.",
        script=f"UPDATE {table.name} SET {column.name} = {value} WHERE {title.name} = {name};",
        alternatives=(
            f"UPDATE {table.name} SET {column.name} = {value} WHERE {table.key.name} IN "
            f"(SELECT {table.key.name} FROM {table.name} WHERE {title.name} = {name});",
        ),
    )


def delete_where(scene: Scene) -> Change:
    """Delete the rows that meet a condition, of the table that no other refers to."""
    table = scene.schema.event
    condition = scene.condition(table)
    text = scene.one_of(
        (
            f"Delete all {table.plural} {condition.english}.",
            f"Remove the {table.plural} {condition.english}.",
        )
    )
    return Change(
        kind="delete_where",
        text=text,
        script=f"DELETE FROM {table.name} WHERE {condition.sql};",
        alternatives=(
            f"DELETE FROM {table.name} WHERE {table.key.name} IN "
            f"(SELECT {table.key.name} FROM {table.name} WHERE {condition.sql})",
        ),
        conditions=(condition.sql,),
    )


def insert_row(scene: Scene) -> Change:
    """Add a row whose values are given."""
    table = scene.schema.owner
    columns = [column for column in table.columns if not column.missing]
    left_out = [column for column in table.columns if column.missing]
    values = [
        str(scene.one_of(NEW_KEYS)) if column.kind == "key" else value_for(scene, column)
        for column in columns
    ]
    given = ", ".join(
        f"{column.label} {value}" if column.kind != "flag" else f"{column.name} {value}"
        for column, value in zip(columns, values, strict=True)
    )
    rest = f" Leave {' and '.join(column.name for column in left_out)} empty." if left_out else ""
    names = ", ".join(column.name for column in columns)
    everything = [*values, *("NULL" for _ in left_out)]
    all_names = ", ".join(column.name for column in (*columns, *left_out))
    return Change(
        kind="insert_row",
        text=f"Add a {table.singular} with {given}.{rest}",
        script=f"INSERT INTO {table.name} ({names}) VALUES ({', '.join(values)});",
        alternatives=(f"INSERT INTO {table.name} ({all_names}) SELECT {', '.join(everything)}",),
    )


def add_to_number(scene: Scene) -> Change:
    """Raise or lower a number by a fixed amount."""
    table = scene.table()
    column = scene.one_of(table.of_kind("whole", "money"))
    condition = scene.condition(table, without=(column,))
    amount = scene.count_of(2, 9)
    word, sign = scene.one_of((("Raise", "+"), ("Lower", "-")))
    other = "-" if sign == "+" else "+"
    return Change(
        kind="add_to_number",
        text=f"{word} the {column.label} of all {table.plural} {condition.english} by {amount}.",
        script=f"UPDATE {table.name} SET {column.name} = {column.name} {sign} {amount} "
        f"WHERE {condition.sql};",
        alternatives=(
            f"UPDATE {table.name} SET {column.name} = {column.name} {other} -{amount} "
            f"WHERE {condition.sql}",
        ),
        conditions=(condition.sql,),
    )


def multiply(scene: Scene) -> Change:
    """Change an amount by some percent, without rounding."""
    table = scene.one_of([table for table in scene.schema.tables if table.of_kind("money")])
    column = scene.one_of(table.of_kind("money"))
    condition = scene.condition(table, without=(column,))
    percent = scene.one_of((5, 10, 20, 25, 50))
    word, factor = scene.one_of((("Raise", 100 + percent), ("Lower", 100 - percent)))
    sign = "+" if word == "Raise" else "-"
    return Change(
        kind="multiply",
        text=f"{word} the {column.label} of all {table.plural} {condition.english} by {percent} "
        "percent. Do not round.",
        script=f"UPDATE {table.name} SET {column.name} = {column.name} * {factor / 100} "
        f"WHERE {condition.sql};",
        alternatives=(
            f"UPDATE {table.name} SET {column.name} = {column.name} {sign} {column.name} * "
            f"{percent} / 100 WHERE {condition.sql};",
        ),
        conditions=(condition.sql,),
    )


def cap(scene: Scene) -> Change:
    """Raise a whole number, up to a bound."""
    table = scene.one_of([table for table in scene.schema.tables if table.of_kind("whole")])
    column = scene.one_of(table.of_kind("whole"))
    amount = scene.count_of(2, 6)
    values = sorted(int(str(row[column.name])) for row in scene.rows[table.name])
    bound = values[len(values) * 2 // 3] + amount // 2
    name = column.name
    text = (
        f"Raise the {column.label} of every {table.singular} by {amount}, but to no more than "
        f"{bound}. Leave those alone that have {bound} or more now."
    )
    return Change(
        kind="cap",
        text=text,
        script=f"UPDATE {table.name} SET {name} = MIN({name} + {amount}, {bound}) "
        f"WHERE {name} < {bound};",
        alternatives=(
            f"UPDATE {table.name} SET {name} = CASE WHEN {name} >= {bound} THEN {name} "
            f"WHEN {name} + {amount} > {bound} THEN {bound} ELSE {name} + {amount} END",
        ),
        conditions=(f"{name} < {bound}",),
    )


def fill_missing(scene: Scene) -> Change:
    """Give a value to the rows that lack one."""
    choices = [
        (table, column)
        for table in scene.schema.tables
        for column in table.of_kind("category", "whole", "money", missing=True)
    ]
    table, column = scene.one_of(choices)
    value = "'unknown'" if column.kind == "category" else value_for(scene, column)
    return Change(
        kind="fill_missing",
        text=f"Where the {column.label} of a {table.singular} is missing, set it to {value}.",
        script=f"UPDATE {table.name} SET {column.name} = {value} WHERE {column.name} IS NULL;",
        alternatives=(f"UPDATE {table.name} SET {column.name} = COALESCE({column.name}, {value})",),
    )


def two_ways(scene: Scene) -> Change:
    """Set a column to one of two values by a condition."""
    table = scene.table()
    column = scene.one_of(table.of_kind("category"))
    condition = scene.condition(table, without=(column,))
    first, second = value_for(scene, column), value_for(scene, column)
    if first == second:
        raise NoQuestionError
    name = column.name
    return Change(
        kind="two_ways",
        text=f"Set the {column.label} of all {table.plural} {condition.english} to {first}, and "
        f"that of all other {table.plural} to {second}.",
        script=f"UPDATE {table.name} SET {name} = CASE WHEN {condition.sql} THEN {first} "
        f"ELSE {second} END;",
        alternatives=(f"UPDATE {table.name} SET {name} = IIF({condition.sql}, {first}, {second})",),
        conditions=(condition.sql,),
    )


def delete_by_two(scene: Scene) -> Change:
    """Delete rows by two conditions."""
    table = scene.schema.event
    first = scene.condition(table)
    used = tuple(column for column in table.columns if column.name in first.sql)
    second = scene.condition(table, without=used)
    word, sign = scene.one_of((("and", "AND"), ("or", "OR")))
    kept = f"({first.sql}) {sign} ({second.sql})"
    return Change(
        kind="delete_by_two",
        text=f"Delete the {table.plural} {first.english} {word} {second.english}.",
        script=f"DELETE FROM {table.name} WHERE {kept};",
        alternatives=(f"DELETE FROM {table.name} WHERE NOT (NOT ({kept}))",),
        conditions=(first.sql, second.sql),
    )


LEVEL_1 = (set_where, set_one, delete_where, insert_row)
LEVEL_2 = (add_to_number, multiply, cap, fill_missing, two_ways, delete_by_two)
