"""Wrong scripts that look like a right one: what the hidden databases have to tell apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import sqlglot

from execgym.envs.sql.changes.driver import statements
from execgym.envs.sql.changes.state import DatabaseState
from execgym.envs.sql.mutants import mutants
from execgym.envs.sql.reference import quote

_MOST_KEYS = 60


def script_mutants(script: str, columns: Sequence[str] = ()) -> list[str]:
    """Return scripts that differ from a script in one statement each.

    They leave a statement out, or put a mutant of it in its place (see
    `execgym.envs.sql.mutants.mutants`). Some may be equivalent or fail to run.

    Args:
        script: The script.
        columns: Names of columns to put in place of those that it sets.
    """
    parts = [part.strip() for part in statements(script)]
    found: dict[str, None] = {}
    for place, part in enumerate(parts):
        others = ["", *_mutants(part, columns)]
        for other in others:
            text = "\n".join(
                one if one.endswith(";") or not one else f"{one};"
                for one in (*parts[:place], other, *parts[place + 1 :])
            )
            found[text] = None
    return list(found)


def _mutants(statement: str, columns: Sequence[str]) -> Iterator[str]:
    yield from mutants(statement.rstrip("; "), columns)
    try:
        tree = sqlglot.parse_one(statement, read="sqlite")
    except sqlglot.errors.SqlglotError:
        return
    if isinstance(tree, sqlglot.exp.Update):
        for column in columns:
            assigned = tree.expressions[0].this
            if column.lower() != assigned.name.lower():
                before = assigned.this
                assigned.set("this", sqlglot.exp.to_identifier(column))
                yield tree.sql("sqlite")
                assigned.set("this", before)


def typed_in(before: DatabaseState, after: DatabaseState) -> list[str]:
    """Return scripts that make one state of another without having understood the task.

    The first empties each table that differs and fills it with the rows that it has afterwards;
    the second goes through the changed rows by their keys. Whoever has seen the shown database can
    write them.
    """
    whole, by_key = [], []
    for name, table in after.tables.items():
        old = before.tables.get(name)
        if old is None or old.rows == table.rows or old.columns != table.columns:
            continue
        whole.append(f"DELETE FROM {name};")
        whole += [_insert(name, table.columns, row) for row in table.rows]
        rows = {row[0]: row for row in table.rows}
        old_rows = {row[0]: row for row in old.rows}
        for key in [*old_rows, *(key for key in rows if key not in old_rows)]:
            where = f"WHERE {table.columns[0]} = {quote(key)};"
            if key not in rows:
                by_key.append(f"DELETE FROM {name} {where}")
            elif key not in old_rows:
                by_key.append(_insert(name, table.columns, rows[key]))
            elif rows[key] != old_rows[key]:
                values = ", ".join(
                    f"{column} = {quote(value)}"
                    for column, value, old_value in zip(
                        table.columns, rows[key], old_rows[key], strict=True
                    )
                    if value != old_value
                )
                by_key.append(f"UPDATE {name} SET {values} {where}")
    found = []
    if whole:
        found.append("PRAGMA foreign_keys = OFF;\n" + "\n".join(whole))
    if by_key and len(by_key) <= _MOST_KEYS:
        found.append("PRAGMA foreign_keys = OFF;\n" + "\n".join(by_key))
    return found


def _insert(name: str, columns: Sequence[str], row: Sequence[object]) -> str:
    values = ", ".join(quote(value) for value in row)  # type: ignore[arg-type]
    return f"INSERT INTO {name} ({', '.join(columns)}) VALUES ({values});"
