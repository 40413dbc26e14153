"""Runs one SELECT on SQLite databases that lie in memory, and bounds it.

This file is shipped into sandboxes, where it runs a candidate's query, and is imported by the
judge, which runs references with the same settings on the host. It imports only the standard
library. A database is handed over as the bytes of its file and opened from memory, so nothing that
a query could do would outlive it; that it can do nothing but read is seen to by the authorizer.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, Union

Value = Union[None, int, float, str, bytes]  # noqa: UP007
Row = tuple[Value, ...]

VALUE_BYTES = 1_000_000
"""Largest text, BLOB or row that a query may make."""

NAME_LENGTH = 200
"""Characters of a column's name."""

_STEPS_A_CALL = 1000
_PAGE_BYTES = 1024
_SQLITE_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: VALUE_BYTES,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 200_000,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
}
_HARMLESS_PRAGMAS = frozenset(
    {"table_info", "table_xinfo", "table_list", "foreign_key_list", "index_list", "index_info"}
)
# Besides the first, these give another answer at each call, so they could not be judged.
_REFUSED_FUNCTIONS = frozenset(
    {"load_extension", "random", "randomblob", "changes", "total_changes", "last_insert_rowid"}
)
_READING = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE})


ROWS_A_STATEMENT = 500


class QueryError(Exception):
    """The query could not be run, or broke a bound. The text says why."""


def column_names(description: Sequence[Sequence[Any]]) -> list[str]:
    """Return the names of an answer's columns, cut where they are absurdly long.

    A query of few bytes can give thousands of columns the name that is most of its text.
    """
    return [str(column[0])[:NAME_LENGTH] for column in description]


class Database(Protocol):
    """A database of some engine on which one may only read.

    Attributes:
        tables_read: Tables of it that the last query reads.
    """

    tables_read: set[str]

    def __enter__(self) -> Database: ...

    def __exit__(self, *_: object) -> None: ...

    def run(
        self, query: str, *, rows: int, size: int, steps: int
    ) -> tuple[list[str], list[Row], bool]:
        """Run one statement; see `ReadOnlyDatabase.run`."""
        ...


class BoundedRows:
    """Collects the rows of an answer until they are too many.

    Args:
        rows: Rows after which the rest is left out.
        size: Bytes of the values, 8 each and the length of texts, after which it is.
    """

    def __init__(self, rows: int, size: int) -> None:
        self.found: list[Row] = []
        self._rows = rows
        self._size = size

    def add(self, row: Row) -> bool:
        """Take a row; return False, without it, when there are too many."""
        self._size -= sum(
            8 + (len(value) if isinstance(value, (str, bytes)) else 0) for value in row
        )
        if len(self.found) == self._rows or self._size < 0:
            return False
        self.found.append(row)
        return True


def load_statements(
    data: bytes, definitions: Sequence[tuple[str, str]], *, reverse: bool
) -> Iterator[str]:
    """Return the statements that make an SQLite file's tables in another engine.

    Args:
        data: The bytes of the SQLite file.
        definitions: Names of its tables, each with a CREATE TABLE of the engine.
        reverse: Whether rows are stored in reverse.
    """
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        connection.deserialize(data)
        for table, definition in definitions:
            yield definition
            rows = connection.execute(f"SELECT * FROM {table}").fetchall()  # noqa: S608
            if reverse:
                rows.reverse()
            for start in range(0, len(rows), ROWS_A_STATEMENT):
                part = rows[start : start + ROWS_A_STATEMENT]
                values = ", ".join(f"({', '.join(map(_literal, row))})" for row in part)
                yield f"INSERT INTO {table} VALUES {values}"  # noqa: S608
    finally:
        connection.close()


def build_database(
    definitions: Iterable[str], rows: Mapping[str, Sequence[Sequence[Value]]]
) -> bytes:
    """Return the bytes of an SQLite file with these tables and rows."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        connection.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
        connection.execute("BEGIN")
        for definition in definitions:
            connection.execute(definition)
        for table, part in rows.items():
            if part:
                marks = ", ".join("?" * len(part[0]))
                name = '"' + table.replace('"', '""') + '"'
                connection.executemany(f"INSERT INTO {name} VALUES ({marks})", part)  # noqa: S608
        connection.execute("COMMIT")
        return connection.serialize()
    finally:
        connection.close()


class ReadOnlyDatabase:
    """A database in memory on which one may only read.

    Text that is not UTF-8 comes out as bytes, so that no two texts become equal by decoding.

    Args:
        database: The bytes of an SQLite file.
        reverse: Whether rows whose order no query asks for come in reverse. A query that answers
            otherwise then is not determined by its question.
    """

    def __init__(self, database: bytes, *, reverse: bool = False) -> None:
        self.tables_read: set[str] = set()
        self._connection = sqlite3.connect(
            ":memory:", isolation_level=None, check_same_thread=False
        )
        self._connection.deserialize(database)
        self._connection.text_factory = _text
        self._connection.execute("PRAGMA query_only = ON")
        self._connection.execute("PRAGMA trusted_schema = OFF")
        if reverse:
            self._connection.execute("PRAGMA reverse_unordered_selects = ON")
        for limit, value in _SQLITE_LIMITS.items():
            self._connection.setlimit(limit, value)
        names = self._connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        self.tables = frozenset(str(row[0]).lower() for row in names)
        self._connection.set_authorizer(self._authorize)

    def __enter__(self) -> ReadOnlyDatabase:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def run(
        self, query: str, *, rows: int, size: int, steps: int
    ) -> tuple[list[str], list[Row], bool]:
        """Run one statement.

        Args:
            query: One SELECT (or WITH, VALUES, EXPLAIN). Comments and last semicolons are fine.
            rows: Rows after which the rest is left out.
            size: Bytes of the values, 8 each and the length of texts, after which the rest is
                left out.
            steps: Bound on the instructions of SQLite's virtual machine.

        Returns:
            The column names, the rows, and whether some were left out.

        Raises:
            QueryError: SQLite refused or stopped the query.
        """
        left = [max(1, steps // _STEPS_A_CALL)]

        def stop() -> int:
            left[0] -= 1
            return int(left[0] < 0)

        self.tables_read.clear()
        self._connection.set_progress_handler(stop, _STEPS_A_CALL)
        try:
            # To `sqlite3`, what follows a semicolon is another statement, even a semicolon.
            cursor = self._connection.execute(query.rstrip("; \t\r\n"))
            if cursor.description is None:
                raise QueryError("the query returns no rows: it must be one SELECT")
            names = column_names(cursor.description)
            bounded = BoundedRows(rows, size)
            for row in cursor:
                if not bounded.add(row):
                    return names, bounded.found, True
            return names, bounded.found, False
        except sqlite3.OperationalError as error:
            if str(error) == "interrupted":
                raise QueryError("the query took too many steps and was stopped") from None
            raise QueryError(str(error)) from None
        except (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError, MemoryError) as error:
            raise QueryError(str(error) or type(error).__name__) from None
        finally:
            self._connection.set_progress_handler(None, 0)

    def _authorize(
        self, action: int, first: str | None, second: str | None, _base: str | None, _by: str | None
    ) -> int:
        if action == sqlite3.SQLITE_READ and (first or "").lower() in self.tables:
            self.tables_read.add((first or "").lower())
        if action in _READING:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_FUNCTION:
            refused = (second or "").lower() in _REFUSED_FUNCTIONS
            return sqlite3.SQLITE_DENY if refused else sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_PRAGMA and (first or "").lower() in _HARMLESS_PRAGMAS:
            return sqlite3.SQLITE_OK
        return sqlite3.SQLITE_DENY


def _open_sqlite(data: bytes, reverse: bool) -> Database:
    return ReadOnlyDatabase(data, reverse=reverse)


def run_on_all(
    databases: Sequence[bytes],
    query: str,
    *,
    rows: int,
    size: int,
    steps: int,
    open_database: Callable[[bytes, bool], Database] = _open_sqlite,
) -> list[dict[str, Any]]:
    """Run a query on each database; stop after the first on which it fails.

    From the second database on, rows that nothing puts in order come in reverse, so that rows
    which are in order by chance only on the first are not so on the rest.

    Returns:
        Plain data, one dict a database: `columns`, `rows`, `cut` (whether rows were left out) and
        `reads` (whether the query reads a table), or `error`.
    """
    answers: list[dict[str, Any]] = []
    for index, data in enumerate(databases):
        with open_database(data, index > 0) as database:
            try:
                names, found, cut = database.run(query, rows=rows, size=size, steps=steps)
            except QueryError as error:
                answers.append({"error": str(error)[:2000]})
                break
            answers.append(
                {"columns": names, "rows": found, "cut": cut, "reads": bool(database.tables_read)}
            )
    return answers


def main(
    opener_for: Callable[[Mapping[str, Any]], Callable[[bytes, bool], Database]] | None = None,
) -> None:
    """Serve one request on the sandbox's message channel.

    Args:
        opener_for: Takes the request and returns what opens a database of another engine than
            SQLite, given the bytes of an SQLite file and whether to store its rows in reverse.
    """
    import execgym_codec  # type: ignore[import-not-found]
    import sandbox_channel  # type: ignore[import-not-found]

    request = execgym_codec.decode(sandbox_channel.receive())
    answers = run_on_all(
        request["databases"],
        request["query"],
        rows=request["rows"],
        size=request["size"],
        steps=request["steps"],
        open_database=opener_for(request) if opener_for is not None else _open_sqlite,
    )
    sandbox_channel.send(execgym_codec.encode(answers))


def _literal(value: Value) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, bytes):
        raise ValueError("a BLOB has no literal that every engine reads")
    return repr(value)


def _text(data: bytes) -> str | bytes:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data
