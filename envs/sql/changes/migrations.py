"""Level 5: changes of the tables themselves, with what is in them."""

from __future__ import annotations

from execgym.envs.sql.changes.change import Change
from execgym.envs.sql.questions import NoQuestionError, Scene
from execgym.envs.sql.schemas import Column, Table


def add_counter(scene: Scene) -> Change:
    """Add a column that holds how many children there are."""
    child, parent = scene.schema.event, scene.schema.item
    link = child.reference_to(parent.name)
    name = f"{child.name}_count"
    counted = f"SELECT COUNT(*) FROM {child.name} WHERE {child.name}.{link.name} = {parent.name}.id"
    add = f"ALTER TABLE {parent.name} ADD COLUMN {name} INTEGER NOT NULL DEFAULT 0;"
    given = [column for column in parent.columns if not column.missing]
    listed = ", ".join(column.name for column in given)
    values = ", ".join("99999" if column.kind == "key" else column.name for column in given)
    return Change(
        kind="add_counter",
        text=f"Add a column {name} to {parent.name}: a whole number (INTEGER) that is never NULL "
        f"and 0 by default. Fill it with the number of {child.plural} of each {parent.singular}.",
        script=f"{add}\nUPDATE {parent.name} SET {name} = ({counted});",
        alternatives=(
            f"BEGIN;\n{add}\nUPDATE {parent.name} SET {name} = (SELECT COUNT({link.name}) "
            f"FROM {child.name} WHERE {link.name} = {parent.name}.id);\nCOMMIT;",
        ),
        probes=(
            f"INSERT INTO {parent.name} ({listed}) SELECT {values} FROM {parent.name} "
            f"ORDER BY id LIMIT 1; SELECT {name} FROM {parent.name} WHERE id = 99999",
            f"UPDATE {parent.name} SET {name} = NULL",
        ),
    )


def summary_table(scene: Scene) -> Change:
    """Make a table of totals by group."""
    table = scene.one_of([t for t in scene.schema.tables if t.of_kind("category") and _totals(t)])
    group, total = scene.group(table), scene.one_of(_totals(table))
    name = f"{table.name}_summary"
    kind = total.sql_type
    create = (
        f"CREATE TABLE {name} ({group.name} TEXT PRIMARY KEY, number INTEGER NOT NULL, "
        f"total {kind} NOT NULL);"
    )
    rows = (
        f"SELECT {group.name}, COUNT(*), SUM({total.name}) FROM {table.name} GROUP BY {group.name}"
    )
    return Change(
        kind="summary_table",
        text=f"Make a table {name} with the columns {group.name} (TEXT, the primary key), number "
        f"(INTEGER, never NULL) and total ({kind}, never NULL). For every value of {group.label} "
        f"among the {table.plural} it has one row: the value, how many {table.plural} have it, "
        f"and the sum of their {total.label}.",
        script=f"{create}\nINSERT INTO {name} {rows};",
        alternatives=(
            f"CREATE TABLE {name} ({group.name} TEXT NOT NULL, total {kind} NOT NULL, number "
            f"INTEGER NOT NULL, PRIMARY KEY ({group.name}));\nINSERT INTO {name} "
            f"({group.name}, number, total) {rows};",
        ),
        probes=(
            f"INSERT INTO {name} SELECT * FROM {name} LIMIT 1",
            f"UPDATE {name} SET number = NULL",
        ),
    )


def archive(scene: Scene) -> Change:
    """Move some rows into a table of the same columns."""
    table = scene.schema.event
    condition = scene.condition(table)
    name = f"{table.name}_archive"
    definitions = []
    for column in table.columns:
        text = f"{column.name} {column.sql_type}"
        if column.kind == "key":
            text += " PRIMARY KEY"
        elif not column.missing:
            text += " NOT NULL"
        definitions.append(text)
    create = f"CREATE TABLE {name} ({', '.join(definitions)});"
    insert = f"INSERT INTO {name} SELECT * FROM {table.name} WHERE {condition.sql};"
    delete = f"DELETE FROM {table.name} WHERE {condition.sql};"
    listed = ", ".join(column.name for column in table.columns)
    return Change(
        kind="archive",
        text=f"Make a table {name} with the same columns as {table.name}, of the same types, with "
        "the same primary key and the same columns that are never NULL, but without foreign keys. "
        f"Move the {table.plural} {condition.english} there.",
        script=f"{create}\n{insert}\n{delete}",
        alternatives=(
            f"BEGIN;\n{create}\nINSERT INTO {name} ({listed}) SELECT {listed} FROM {table.name} "
            f"WHERE {condition.sql};\nDELETE FROM {table.name} WHERE id IN "
            f"(SELECT id FROM {name});\nCOMMIT;",
        ),
        conditions=(condition.sql,),
    )


def category_table(scene: Scene) -> Change:
    """Give the values of a column a table of their own."""
    table = scene.schema.event
    column = scene.one_of(table.of_kind("category"))
    name, link = f"{table.name}_{column.name}", f"{column.name}_id"
    create = f"CREATE TABLE {name} (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);"
    fill = (
        f"INSERT INTO {name} (id, name) SELECT ROW_NUMBER() OVER (ORDER BY {column.name}), "
        f"{column.name} FROM (SELECT DISTINCT {column.name} FROM {table.name});"
    )
    by_rank = (
        f"INSERT INTO {name} SELECT (SELECT COUNT(DISTINCT other.{column.name}) FROM {table.name} "
        f"AS other WHERE other.{column.name} <= part.{column.name}), part.{column.name} FROM "
        f"(SELECT DISTINCT {column.name} FROM {table.name}) AS part;"
    )
    rest = (
        f"ALTER TABLE {table.name} ADD COLUMN {link} INTEGER REFERENCES {name}(id);\n"
        f"UPDATE {table.name} SET {link} = (SELECT id FROM {name} "
        f"WHERE {name}.name = {table.name}.{column.name});\n"
        f"ALTER TABLE {table.name} DROP COLUMN {column.name};"
    )
    return Change(
        kind="category_table",
        text=f"Give the values of {table.name}.{column.name} a table of their own: {name}, with "
        "id (INTEGER, the primary key) and name (TEXT, never NULL, unique). Number them from 1 in "
        f"alphabetical order. In {table.name}, put a column {link} (INTEGER, without NOT NULL, "
        f"which refers to {name}.id) in the place of {column.name}.",
        script=f"{create}\n{fill}\n{rest}",
        alternatives=(f"BEGIN;\n{create}\n{by_rank}\n{rest}\nCOMMIT;",),
        probes=(
            f"INSERT INTO {name} (id, name) SELECT 99999, name FROM {name} LIMIT 1",
            f"INSERT INTO {name} (id, name) VALUES (99999, NULL)",
            f"UPDATE {table.name} SET {link} = 99999",
        ),
    )


def checked_column(scene: Scene) -> Change:
    """Bound a number from now on, and put those right that are out of bounds."""
    table = scene.schema.event
    column = scene.one_of(table.of_kind("whole"))
    values = sorted(int(str(row[column.name])) for row in scene.rows[table.name])
    bound = values[len(values) * 3 // 4]
    if bound == values[-1]:
        raise NoQuestionError
    name = column.name
    update = f"UPDATE {table.name} SET {name} = {bound} WHERE {name} > {bound};"
    rebuilt = _rebuilt(table, column, f"CHECK ({name} <= {bound})")
    reversed_check = _rebuilt(table, column, f"CHECK ({bound} >= {name})")
    return Change(
        kind="checked_column",
        text=f"No {table.singular} may have a {column.label} of more than {bound} any more. Set it "
        f"to {bound} where it is more, and see to it, by a CHECK on {table.name}, that the "
        "database refuses more from now on. The rest of the table stays as it is.",
        script=f"{update}\n{rebuilt}",
        alternatives=(f"PRAGMA foreign_keys = OFF;\nBEGIN;\n{update}\n{reversed_check}\nCOMMIT;",),
        conditions=(f"{name} > {bound}",),
        probes=(
            f"UPDATE {table.name} SET {name} = {bound + 1}",
            f"UPDATE {table.name} SET {name} = {bound}",
            f"UPDATE {table.name} SET {name} = {int(column.low) - 1}",
        ),
    )


def _rebuilt(table: Table, checked: Column, check: str) -> str:
    """Return statements that put a table with a CHECK in the place of one without."""
    parts = []
    for column in table.columns:
        text = f"{column.name} {column.sql_type}"
        if column.kind == "key":
            text += " PRIMARY KEY"
        elif not column.missing:
            text += " NOT NULL"
        if column.target:
            text += f" REFERENCES {column.target}(id)"
        if column is checked:
            text += f" {check}"
        parts.append(text)
    return (
        f"CREATE TABLE {table.name}_new ({', '.join(parts)});\n"
        f"INSERT INTO {table.name}_new SELECT * FROM {table.name};\n"
        f"DROP TABLE {table.name};\n"
        f"ALTER TABLE {table.name}_new RENAME TO {table.name};"
    )


def _totals(table: Table) -> list[Column]:
    return [column for column in table.of_kind("whole", "money") if column.additive]


LEVEL_5 = (add_counter, summary_table, archive, category_table, checked_column)
