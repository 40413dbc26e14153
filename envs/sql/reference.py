"""Reference queries, and what they answer on a database."""

from __future__ import annotations

import dataclasses

from execgym.envs.sql.driver import QueryError, ReadOnlyDatabase, Row, Value

MAX_ROWS = 5000
"""Rows that a judged query may give on one database."""

MAX_BYTES = 400_000
"""Bytes of its values there, 8 each and the length of texts."""

MAX_STEPS = 20_000_000
"""Instructions of SQLite's virtual machine that it may take there."""


class UndeterminedError(Exception):
    """A reference has no answer on a database, or more than one right answer."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceQuery:
    """A right query, in a form that also tells what it orders by.

    Attributes:
        sql: The query, as a person would submit it.
        keyed: The query without LIMIT, with the terms of its outermost ORDER BY as further
            columns at the end. Equal to `sql` where it orders by nothing.
        keys: How many columns these are.
        limit: Its LIMIT, or None.
        ordered: Whether the order of its rows is part of the task.
    """

    sql: str
    keyed: str
    keys: int = 0
    limit: int | None = None
    ordered: bool = True


@dataclasses.dataclass(frozen=True, slots=True)
class ExpectedRows:
    """What a reference answers on one database.

    Attributes:
        columns: Column names.
        rows: The rows, in order where there is one.
        keys: For each row the values that it is ordered by, or None where order is free. Rows
            with equal keys may come in any order among themselves.
    """

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    keys: tuple[Row, ...] | None


def reference_query(
    columns: str,
    rest: str,
    *,
    order: tuple[tuple[str, bool], ...] = (),
    limit: int | None = None,
    head: str = "",
) -> ReferenceQuery:
    """Build a reference from parts.

    Args:
        columns: What stands after SELECT.
        rest: From FROM on, without ORDER BY and LIMIT.
        order: Terms to order by, and whether each descends. Terms of a DISTINCT query or of a
            UNION must be among the columns.
        limit: Number of rows, or None.
        head: A WITH clause, or nothing.
    """
    body = f"{head} SELECT {columns} {rest}".strip()
    if not order:
        return ReferenceQuery(sql=body, keyed=body)
    terms = ", ".join(term + (" DESC" if down else "") for term, down in order)
    keys = ", ".join(term for term, _ in order)
    keyed = f"{head} SELECT {columns}, {keys} {rest} ORDER BY {terms}".strip()
    tail = f" LIMIT {limit}" if limit is not None else ""
    return ReferenceQuery(
        sql=f"{body} ORDER BY {terms}{tail}", keyed=keyed, keys=len(order), limit=limit
    )


def expected_rows(
    reference: ReferenceQuery, database: bytes, *, reverse: bool = False
) -> ExpectedRows:
    """Run a reference on a database, on the host.

    Args:
        reference: The reference.
        database: Bytes of an SQLite file.
        reverse: Whether rows that no query puts in order come in reverse.

    Raises:
        UndeterminedError: It gives no rows, only NULL, too many rows, or its LIMIT cuts through
            rows that it does not tell apart.
    """
    with ReadOnlyDatabase(database, reverse=reverse) as opened:
        return _expected(reference, opened)


def _expected(reference: ReferenceQuery, database: ReadOnlyDatabase) -> ExpectedRows:
    try:
        names, rows, cut = database.run(
            reference.keyed, rows=MAX_ROWS, size=MAX_BYTES, steps=MAX_STEPS
        )
    except QueryError as error:
        raise UndeterminedError(f"the reference fails: {error}") from error
    if cut:
        raise UndeterminedError("the reference gives too many rows")
    width = len(names) - reference.keys
    keys = [row[width:] for row in rows] if reference.keys else None
    answers = [row[:width] for row in rows]
    limit = reference.limit
    if limit is not None and len(answers) > limit:
        if keys is None or keys[limit - 1] == keys[limit]:
            raise UndeterminedError("LIMIT cuts through rows that are not told apart")
        answers, keys = answers[:limit], keys[:limit]
    if all(value is None for row in answers for value in row):
        raise UndeterminedError("the reference gives no value")
    return ExpectedRows(
        tuple(names[:width]), tuple(answers), tuple(keys) if keys and reference.ordered else None
    )


def quote(value: Value) -> str:
    """Return an SQL literal."""
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, bytes):
        return f"x'{value.hex()}'"
    return repr(value)
