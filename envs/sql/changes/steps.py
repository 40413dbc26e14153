"""Level 4: changes that take several statements, hold together, or may be made again."""

from __future__ import annotations

from execgym.envs.sql.changes.change import Change
from execgym.envs.sql.changes.single import NEW_KEYS, settable, value_for
from execgym.envs.sql.questions import Scene
from execgym.envs.sql.reference import quote
from execgym.envs.sql.schemas import Column, Table


def delete_whole_branch(scene: Scene) -> Change:
    """Delete rows with everything that belongs to them."""
    owner, item, event = scene.schema.tables
    to_owner, to_item = item.reference_to(owner.name), event.reference_to(item.name)
    condition = scene.condition(owner)
    owners = f"SELECT id FROM {owner.name} WHERE {condition.sql}"
    items = f"SELECT id FROM {item.name} WHERE {to_owner.name} IN ({owners})"
    deletes = (
        f"DELETE FROM {event.name} WHERE {to_item.name} IN ({items});\n"
        f"DELETE FROM {item.name} WHERE {to_owner.name} IN ({owners});\n"
        f"DELETE FROM {owner.name} WHERE {condition.sql};"
    )
    orphans = (
        f"DELETE FROM {owner.name} WHERE {condition.sql};\n"
        f"DELETE FROM {item.name} WHERE {to_owner.name} NOT IN (SELECT id FROM {owner.name});\n"
        f"DELETE FROM {event.name} WHERE {to_item.name} NOT IN (SELECT id FROM {item.name});"
    )
    return Change(
        kind="delete_whole_branch",
        text=f"Delete the {owner.plural} {condition.english}, together with their {item.plural} "
        f"and all {event.plural} of those.",
        script=deletes,
        alternatives=(
            f"BEGIN;\nPRAGMA defer_foreign_keys = ON;\n{orphans}\nCOMMIT;",
            f"PRAGMA foreign_keys = OFF;\n{orphans}",
        ),
        conditions=(condition.sql,),
    )


def all_or_nothing(scene: Scene) -> Change:
    """Two changes of which the second may fail."""
    table, child = scene.schema.owner, scene.schema.item
    column = settable(scene, child)
    condition = scene.condition(child, without=(column,))
    value = value_for(scene, column)
    key = scene.one_of(NEW_KEYS)
    insert, given, planted = _insert(scene, table, key)
    update = f"UPDATE {child.name} SET {column.name} = {value} WHERE {condition.sql};"
    return Change(
        kind="all_or_nothing",
        text=f"Set the {column.label} of all {child.plural} {condition.english} to {value}, and "
        f"add a {table.singular} with {given}. Where a {table.singular} with the key {key} is "
        "there already, nothing at all may be changed; the script may fail then.",
        script=f"BEGIN;\n{update}\n{insert}\nCOMMIT;",
        alternatives=(
            f"{insert}\n{update}",
            f"BEGIN IMMEDIATE;\n{insert}\n{update}\nEND;",
        ),
        conditions=(condition.sql,),
        plants=(planted,),
        wrongs=(
            f"{update}\n{insert}",
            f"BEGIN;\n{update}\n{insert.replace('INSERT', 'INSERT OR IGNORE')}\nCOMMIT;",
            f"BEGIN;\n{update}\n{insert.replace('INSERT', 'INSERT OR REPLACE')}\nCOMMIT;",
        ),
    )


def add_or_renew(scene: Scene) -> Change:
    """A row is there afterwards with certain values, whether or not it was there before."""
    table = scene.schema.owner
    key = scene.one_of(NEW_KEYS)
    insert, given, planted = _insert(scene, table, key)
    filled = [column.name for column in table.columns if not column.missing][1:]
    renewed = ", ".join(f"{name} = excluded.{name}" for name in filled)
    row = insert.partition("VALUES ")[2].rstrip(";")
    literals = row[1:-1].split(", ")[1:]
    set_all = ", ".join(
        f"{name} = {literal}" for name, literal in zip(filled, literals, strict=True)
    )
    kept = [column.name for column in table.columns if column.missing]
    note = f" Its {' and '.join(kept)} stays as it is then." if kept else ""
    return Change(
        kind="add_or_renew",
        text=f"Make sure that there is a {table.singular} with {given}: add it, or give the one "
        f"with that key these values.{note} The script is run twice, and the second run must not "
        "fail or change anything.",
        script=f"{insert.rstrip(';')} ON CONFLICT (id) DO UPDATE SET {renewed};",
        alternatives=(
            f"UPDATE {table.name} SET {set_all} WHERE id = {key};\n"
            f"{insert.replace('INSERT', 'INSERT OR IGNORE')}",
            f"{insert.replace('INSERT', 'INSERT OR IGNORE')}\n"
            f"UPDATE {table.name} SET {set_all} WHERE id = {key};",
        ),
        times=2,
        plants=(planted,),
        wrongs=(
            insert.replace("INSERT", "INSERT OR IGNORE"),
            *([insert.replace("INSERT", "INSERT OR REPLACE")] if kept else []),
            *(
                f"{insert.rstrip(';')} ON CONFLICT (id) DO UPDATE SET "
                + ", ".join(f"{name} = excluded.{name}" for name in filled if name != left_out)
                for left_out in filled
                if len(filled) > 1
            ),
        ),
    )


def keep_latest(scene: Scene) -> Change:
    """Of several rows of a parent only the first or the last one stays."""
    child, parent = scene.schema.event, scene.schema.item
    link = child.reference_to(parent.name)
    word, function, sign = scene.one_of((("highest", "MAX", "<"), ("lowest", "MIN", ">")))
    return Change(
        kind="keep_latest",
        text=f"Of the {child.plural} of each {parent.singular}, keep only the one with the {word} "
        f"{child.key.name}, and delete the rest.",
        script=f"DELETE FROM {child.name} WHERE id NOT IN "
        f"(SELECT {function}(id) FROM {child.name} GROUP BY {link.name});",
        alternatives=(
            f"DELETE FROM {child.name} WHERE EXISTS (SELECT 1 FROM {child.name} AS other "
            f"WHERE other.{link.name} = {child.name}.{link.name} AND {child.name}.id {sign} "
            "other.id);",
        ),
    )


def exchange(scene: Scene) -> Change:
    """Two values of a column take each other's place."""
    table = scene.table()
    column = scene.one_of(table.of_kind("category"))
    first, second = (quote(value) for value in scene.generator.sample(column.values[0], 2))
    name = column.name
    return Change(
        kind="exchange",
        text=f"The {column.label} of the {table.plural} was mixed up: where it is {first} it has "
        f"to be {second}, and where it is {second} it has to be {first}.",
        script=f"UPDATE {table.name} SET {name} = CASE {name} WHEN {first} THEN {second} "
        f"ELSE {first} END WHERE {name} IN ({first}, {second});",
        alternatives=(
            f"UPDATE {table.name} SET {name} = 'execgym between' WHERE {name} = {first};\n"
            f"UPDATE {table.name} SET {name} = {first} WHERE {name} = {second};\n"
            f"UPDATE {table.name} SET {name} = {second} WHERE {name} = 'execgym between';",
        ),
    )


def _insert(scene: Scene, table: Table, key: int) -> tuple[str, str, str]:
    """Return an INSERT of a new row, its values in words, and one of another row with its key."""
    columns = [column for column in table.columns if not column.missing]
    values = [str(key), *(value_for(scene, column) for column in columns[1:])]
    names = ", ".join(column.name for column in columns)
    given = ", ".join(
        f"{column.name} {value}" for column, value in zip(columns, values, strict=True)
    )
    asked = dict(zip(columns, values, strict=True))
    others = [str(key), *(_another(column, asked.get(column)) for column in table.columns[1:])]
    return (
        f"INSERT INTO {table.name} ({names}) VALUES ({', '.join(values)});",
        given,
        f"INSERT INTO {table.name} VALUES ({', '.join(others)});",
    )


def _another(column: Column, literal: str | None) -> str:
    """Return a literal of a column other than one, and never NULL."""
    if column.kind == "category":
        return next(quote(value) for value in column.values[0] if quote(value) != literal)
    if column.kind == "name":
        return "'Planted Before'"
    if column.kind == "day":
        return "'1999-12-31'"
    if column.kind == "flag":
        return "0" if literal == "1" else "1"
    if column.kind == "whole":
        return str(int(literal or int(column.low)) + 1)
    return repr(round(float(literal or column.low) + 1.5, 2))


LEVEL_4 = (delete_whole_branch, all_or_nothing, add_or_renew, keep_latest, exchange)
