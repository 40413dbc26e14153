"""Level 3: changes of one table by what another one holds."""

from __future__ import annotations

from execgym.envs.sql.changes.change import Change
from execgym.envs.sql.changes.single import settable, value_for
from execgym.envs.sql.questions import Scene
from execgym.envs.sql.reference import quote
from execgym.envs.sql.schemas import Column, Table

_FIRST_NEW_KEY = 10_000


def _pair(scene: Scene) -> tuple[Table, Table, Column]:
    """Choose a table, the one that it refers to, and the column by which it does."""
    schema = scene.schema
    child, parent = scene.one_of(((schema.item, schema.owner), (schema.event, schema.item)))
    return child, parent, child.reference_to(parent.name)


def set_by_parent(scene: Scene) -> Change:
    """Set a column of the rows whose parent meets a condition."""
    child, parent, link = _pair(scene)
    column = settable(scene, child)
    condition = scene.condition(parent)
    value = value_for(scene, column)
    return Change(
        kind="set_by_parent",
        text=f"Set the {column.label} to {value} for all {child.plural} that belong to "
        f"{parent.plural} {condition.english}.",
        script=f"UPDATE {child.name} SET {column.name} = {value} WHERE {link.name} IN "
        f"(SELECT id FROM {parent.name} WHERE {condition.sql});",
        alternatives=(
            f"UPDATE {child.name} SET {column.name} = {value} WHERE EXISTS (SELECT 1 FROM "
            f"{parent.name} WHERE {parent.name}.id = {child.name}.{link.name} AND "
            f"({_qualified(condition.sql, parent)}))",
        ),
        conditions=(condition.sql,),
    )


def delete_by_parent(scene: Scene) -> Change:
    """Delete the rows whose parent meets a condition."""
    child, parent = scene.schema.event, scene.schema.item
    link = child.reference_to(parent.name)
    condition = scene.condition(parent)
    return Change(
        kind="delete_by_parent",
        text=f"Delete all {child.plural} of {parent.plural} {condition.english}. Keep the "
        f"{parent.plural}.",
        script=f"DELETE FROM {child.name} WHERE {link.name} IN "
        f"(SELECT id FROM {parent.name} WHERE {condition.sql});",
        alternatives=(
            f"DELETE FROM {child.name} WHERE id IN (SELECT {child.name}.id FROM {child.name} "
            f"JOIN {parent.name} ON {parent.name}.id = {child.name}.{link.name} WHERE "
            f"{_qualified(condition.sql, parent)});",
        ),
        conditions=(condition.sql,),
    )


def delete_childless(scene: Scene) -> Change:
    """Delete the rows to which none of another table refers."""
    child, parent = scene.schema.event, scene.schema.item
    link = child.reference_to(parent.name)
    return Change(
        kind="delete_childless",
        text=f"Delete the {parent.plural} that have no {child.singular} at all.",
        script=f"DELETE FROM {parent.name} WHERE id NOT IN (SELECT {link.name} FROM {child.name});",
        alternatives=(
            f"DELETE FROM {parent.name} WHERE NOT EXISTS (SELECT 1 FROM {child.name} "
            f"WHERE {child.name}.{link.name} = {parent.name}.id)",
        ),
    )


def insert_for_each(scene: Scene) -> Change:
    """Add one row for each parent that meets a condition."""
    child, parent = scene.schema.event, scene.schema.item
    condition = scene.condition(parent)
    names, values, given = [], [], []
    for column in child.columns:
        if column.kind == "key":
            names.append(column.name)
            values.append(f"{_FIRST_NEW_KEY} + id")
            given.append(f"its key is {_FIRST_NEW_KEY} plus that of the {parent.singular}")
        elif column.target:
            names.append(column.name)
            values.append("id")
        elif not column.missing:
            literal = value_for(scene, column)
            names.append(column.name)
            values.append(literal)
            given.append(f"its {column.name} is {literal}")
    return Change(
        kind="insert_for_each",
        text=f"Add one {child.singular} for each of the {parent.plural} {condition.english}: "
        f"{', '.join(given)}, and everything else is empty.",
        script=f"INSERT INTO {child.name} ({', '.join(names)}) SELECT {', '.join(values)} "
        f"FROM {parent.name} WHERE {condition.sql};",
        alternatives=(
            f"WITH chosen AS (SELECT * FROM {parent.name} WHERE {condition.sql}) "
            f"INSERT INTO {child.name} ({', '.join(names)}) SELECT {', '.join(values)} FROM chosen",
        ),
        conditions=(condition.sql,),
    )


def set_to_count(scene: Scene) -> Change:
    """Set a number to how many children there are."""
    child, parent = scene.schema.event, scene.schema.item
    link = child.reference_to(parent.name)
    column = scene.one_of(parent.of_kind("whole"))
    condition = scene.condition(child)
    counted = (
        f"SELECT COUNT(*) FROM {child.name} WHERE {child.name}.{link.name} = {parent.name}.id "
        f"AND {_qualified(condition.sql, child)}"
    )
    grouped = (
        f"SELECT {link.name} AS parent, COUNT(*) AS number FROM {child.name} "
        f"WHERE {condition.sql} GROUP BY {link.name}"
    )
    return Change(
        kind="set_to_count",
        text=f"Set the {column.label} of every {parent.singular} to the number of its "
        f"{child.plural} {condition.english}, which is 0 where it has none.",
        script=f"UPDATE {parent.name} SET {column.name} = ({counted});",
        alternatives=(
            f"UPDATE {parent.name} SET {column.name} = COALESCE((SELECT number FROM ({grouped}) "
            f"WHERE parent = {parent.name}.id), 0)",
        ),
        conditions=(condition.sql,),
    )


def move_children(scene: Scene) -> Change:
    """Let the children of one parent belong to another one."""
    child, parent = scene.schema.item, scene.schema.owner
    link = child.reference_to(parent.name)
    title = parent.title
    rows = scene.generator.sample(scene.rows[parent.name], 2)
    first, second = (quote(row[title.name]) for row in rows)
    exists = f"EXISTS (SELECT 1 FROM {parent.name} WHERE {title.name} = {second})"
    target = f"(SELECT id FROM {parent.name} WHERE {title.name} = {second})"
    source = f"(SELECT id FROM {parent.name} WHERE {title.name} = {first})"
    return Change(
        kind="move_children",
        text=f"Let all {child.plural} of the {parent.singular} whose {title.label} is {first} "
        f"belong to the one whose {title.label} is {second}. Where there is no such "
        f"{parent.singular}, nothing is to be changed, and the script must not fail.",
        script=f"UPDATE {child.name} SET {link.name} = {target} WHERE {link.name} IN {source} "
        f"AND {exists};",
        alternatives=(
            f"UPDATE {child.name} SET {link.name} = COALESCE({target}, {link.name}) "
            f"WHERE {link.name} = {source}",
        ),
    )


def _qualified(condition: str, table: Table) -> str:
    """Name the table of the column that a condition begins with."""
    return f"{table.name}.{condition}"


LEVEL_3 = (
    set_by_parent,
    delete_by_parent,
    delete_childless,
    insert_for_each,
    set_to_count,
    move_children,
)
