"""Runs one SELECT on DuckDB databases that lie in memory, and bounds it.

This file is shipped into sandboxes beside `driver`, and runs only there. A database is filled from
an SQLite file by DuckDB itself, then locked: no files, no extensions, no settings. It is thrown
away after the query.
"""

from __future__ import annotations

import datetime
import decimal
import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

try:
    # In a sandbox the modules stand alone: there is no execgym.
    import execgym_sql_driver as driver  # type: ignore[import-not-found]
except ImportError:
    from execgym.envs.sql import driver

# The package itself starts a thread when it is imported, which no fork of a sandbox would keep.
try:
    import _duckdb as duckdb
except ImportError:
    raise ImportError(
        "DuckDB is not in the image of the sandbox: pip install duckdb==1.5.5"
    ) from None

_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "threads": 1,
    "memory_limit": "256MB",
    "enable_external_access": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "python_enable_replacements": False,
}
_LOCK = "SET lock_configuration = true"
_STEPS_A_SECOND = 5_000_000
_WATCH_SECONDS = 0.02
_ROWS_A_FETCH = 256
# SQL in a text would hide what a query reads, and the others answer otherwise at each call.
_REFUSED_FUNCTIONS = frozenset(
    {"query", "query_table", "random", "setseed", "uuid", "gen_random_uuid", "uuidv4", "uuidv7"}
)


class DuckDBDatabase:
    """A database in memory on which one may only read; see `driver.Database`.

    Args:
        data: The bytes of an SQLite file.
        definitions: Names of its tables, each with a CREATE TABLE of DuckDB's.
        reverse: Whether rows are stored in reverse.
    """

    def __init__(
        self, data: bytes, definitions: Sequence[tuple[str, str]], *, reverse: bool
    ) -> None:
        self.tables_read: set[str] = set()
        self._tables = {name.lower() for name, _ in definitions}
        self._connection = duckdb.connect(":memory:", config=_SETTINGS)
        self._connection.execute("BEGIN")
        for statement in driver.load_statements(data, definitions, reverse=reverse):
            self._connection.execute(statement)
        self._connection.execute("COMMIT")
        self._connection.execute(_LOCK)

    def __enter__(self) -> DuckDBDatabase:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def run(
        self, query: str, *, rows: int, size: int, steps: int
    ) -> tuple[list[str], list[tuple[Any, ...]], bool]:
        """Run one statement; see `driver.ReadOnlyDatabase.run`.

        A step is a part of a CPU second here, for DuckDB does not count any.
        """
        self.tables_read.clear()
        done = threading.Event()
        watch = threading.Thread(target=self._watch, args=(done, steps / _STEPS_A_SECOND))
        watch.start()
        try:
            self._check(query)
            answer = self._connection.execute(query)
            names = driver.column_names(answer.description)
            bounded = driver.BoundedRows(rows, size)
            while True:
                part = answer.fetchmany(_ROWS_A_FETCH)
                for row in part:
                    if not bounded.add(tuple(map(_plain, row))):
                        return names, bounded.found, True
                if not part:
                    return names, bounded.found, False
        except duckdb.InterruptException:
            raise driver.QueryError("the query took too many steps and was stopped") from None
        except (duckdb.Error, ValueError, OverflowError, MemoryError) as error:
            raise driver.QueryError(str(error).strip() or type(error).__name__) from None
        finally:
            done.set()
            watch.join()

    def _check(self, query: str) -> None:
        statements = self._connection.extract_statements(query)
        kinds = (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN)
        if len(statements) != 1 or statements[0].type not in kinds:
            raise driver.QueryError("the query must be one SELECT")
        for name in _called_functions(query):
            if name in _REFUSED_FUNCTIONS:
                raise driver.QueryError(f"not authorized to use function: {name}")
        try:
            named = self._connection.get_table_names(query)
        except duckdb.Error:
            # It says why itself when it is run.
            return
        self.tables_read.update(self._tables & {name.lower() for name in named})

    def _watch(self, done: threading.Event, seconds: float) -> None:
        started = time.process_time()
        while not done.wait(_WATCH_SECONDS):
            if time.process_time() - started > seconds:
                self._connection.interrupt()


def opener_for(request: Mapping[str, Any]) -> Callable[[bytes, bool], DuckDBDatabase]:
    """Return what opens a database of a request."""
    definitions = request["definitions"]
    return lambda data, reverse: DuckDBDatabase(data, definitions, reverse=reverse)


def _called_functions(query: str) -> set[str]:
    """Return the names before an opening bracket, as DuckDB's own scanner tells them."""
    # Its places count bytes.
    data = query.encode()
    places = [place for place, _ in duckdb.tokenize(query)] + [len(data)]
    found = set()
    before = b""
    for index, place in enumerate(places[:-1]):
        text = data[place : places[index + 1]]
        if text.startswith(b"("):
            found.add(before.decode("utf-8", "replace").strip('"').lower())
        # Comments are no tokens, so a token's text has those that follow it.
        before = text.split(b"--")[0].split(b"/*")[0].strip()
    return found


def _plain(value: Any) -> Any:
    """Return a value as SQLite would hold it.

    Truth is 1 or 0, a day and a time are texts, a whole decimal is a whole number. Anything else
    that SQLite has no type for comes as a text.
    """
    if value is None or type(value) in (int, str, bytes):
        return value
    if type(value) is float:
        return None if math.isnan(value) else value
    if type(value) is bool:
        return int(value)
    if isinstance(value, decimal.Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, datetime.datetime):
        return value.isoformat(" ")
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    return str(value)
