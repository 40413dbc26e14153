"""Runs a script on SQLite databases that lie in memory, and tells in which state it leaves them.

This file is shipped into sandboxes, where it runs a candidate's script, and is imported by the
judge, which runs references by the same rules on the host. It imports only the standard library.
A database is opened from the bytes of its file, so that nothing outlives it but what is told.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

READY = b"ready"
"""What the driver says before it runs a script."""

VALUE_BYTES = 1_000_000
"""Largest text, BLOB or row that a script may make."""

_STEPS_A_CALL = 1000
_MAX_PAGES = 20_000
_NAME_LENGTH = 200
_ANSWER_BYTES = 200_000
_PROBE_ROWS = 10
# A message has a bound on its values as well as on its bytes.
_NODE_BYTES = 40
_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: VALUE_BYTES,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 200_000,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 20,
}
# A table is rebuilt with foreign keys off, or put off to the end of the transaction.
_PRAGMAS = frozenset(
    (
        *("table_info", "table_xinfo", "table_list", "index_list", "index_info"),
        *("foreign_key_list", "foreign_key_check", "foreign_keys", "defer_foreign_keys"),
        # SQLite runs quick_check by itself where a column with a CHECK is added.
        *("integrity_check", "quick_check", "legacy_alter_table", "recursive_triggers"),
        *("index_xinfo", "database_list", "user_version", "optimize"),
    )
)
_REFUSED_FUNCTIONS = frozenset(("load_extension", "random", "randomblob"))
_REFUSED = frozenset(
    (
        sqlite3.SQLITE_ATTACH,
        sqlite3.SQLITE_DETACH,
        sqlite3.SQLITE_CREATE_VTABLE,
        sqlite3.SQLITE_DROP_VTABLE,
    )
)


class ScriptError(Exception):
    """A statement of a script failed, or the script broke a bound. The text says why."""


class Outcome:
    """What running a script came to.

    Attributes:
        error: Why it ended before its end, or `""`.
        columns: Columns of the last rows that a statement gave.
        rows: Those rows, as many as were asked for.
        cut: Whether there were more.
        changes: Rows that were inserted, changed or deleted, counting each time.
    """

    def __init__(self) -> None:
        self.error = ""
        self.columns: list[str] = []
        self.rows: list[tuple[Any, ...]] = []
        self.cut = False
        self.changes = 0


def statements(script: str) -> Iterator[str]:
    """Yield the statements of a script; what follows the last semicolon is one, too."""
    start = place = 0
    while True:
        place = script.find(";", place) + 1
        if not place:
            break
        if sqlite3.complete_statement(script[start:place]):
            yield script[start:place]
            start = place
    if script[start:].strip():
        yield script[start:]


class WritableDatabase:
    """A database in memory on which a script may do anything that stays within it.

    Foreign keys are enforced. Text that is not UTF-8 comes out as bytes.

    Args:
        database: The bytes of an SQLite file.
        reverse: Whether rows whose order nothing asks for come in reverse.
    """

    def __init__(self, database: bytes, *, reverse: bool = False) -> None:
        self._connection = sqlite3.connect(
            ":memory:", isolation_level=None, check_same_thread=False
        )
        self._connection.deserialize(database)
        self._connection.text_factory = _text
        self._connection.execute("PRAGMA trusted_schema = OFF")
        self._connection.execute(f"PRAGMA max_page_count = {_MAX_PAGES}")
        if reverse:
            self._connection.execute("PRAGMA reverse_unordered_selects = ON")
        for limit, value in _LIMITS.items():
            self._connection.setlimit(limit, value)

    def __enter__(self) -> WritableDatabase:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def run(self, script: str, *, steps: int, rows: int = 0) -> Outcome:
        """Run a script until its end or the first statement that fails.

        A transaction that is open then is rolled back.

        Args:
            script: Any number of statements.
            steps: Bound on the instructions of SQLite's virtual machine.
            rows: Rows of a statement's answer after which the rest is left out.
        """
        left = [max(1, steps // _STEPS_A_CALL)]

        def stop() -> int:
            left[0] -= 1
            return int(left[0] < 0)

        outcome = Outcome()
        self._connection.execute("PRAGMA foreign_keys = ON")
        before = self._connection.total_changes
        self._connection.set_authorizer(_authorize)
        self._connection.set_progress_handler(stop, _STEPS_A_CALL)
        try:
            for statement in statements(script):
                cursor = self._connection.execute(statement)
                if cursor.description is not None:
                    outcome.columns = [str(each[0])[:_NAME_LENGTH] for each in cursor.description]
                    outcome.rows, outcome.cut = _first(cursor, rows)
                # What a RETURNING leaves unread is done all the same.
                cursor.close()
        except sqlite3.OperationalError as error:
            interrupted = str(error) == "interrupted"
            outcome.error = (
                "the script took too many steps and was stopped" if interrupted else str(error)
            )
        except (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError, MemoryError) as error:
            outcome.error = str(error) or type(error).__name__
        finally:
            self._connection.set_progress_handler(None, 0)
            self._connection.set_authorizer(None)
        outcome.changes = self._connection.total_changes - before
        if self._connection.in_transaction:
            self._connection.rollback()
        return outcome

    def bytes(self) -> bytes:
        """Return the database's file."""
        return self._connection.serialize()


def state_of(data: bytes, *, rows: int, size: int) -> dict[str, Any]:
    """Return what a database holds, as plain data.

    It is read over a connection of its own: on the script's, a temporary table would be seen in the
    place of one of the same name.

    Args:
        data: The bytes of its file.
        rows: Rows of all tables after which the rest is left out, which `"cut"` tells.
        size: Bytes of names and values after which it is.
    """
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    try:
        connection.deserialize(data)
        connection.text_factory = _text
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, VALUE_BYTES)
        return _read_state(connection, rows, size)
    except (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError, MemoryError):
        # A schema can be made that nobody can read, such as a column whose value is an error.
        return {"tables": {}, "others": [], "sound": False, "cut": False}
    finally:
        connection.close()


def _read_state(connection: sqlite3.Connection, rows: int, size: int) -> dict[str, Any]:
    kinds = connection.execute("SELECT type, name FROM main.sqlite_master").fetchall()
    tables = {}
    cut = False
    for kind, name in sorted(kinds):
        if kind != "table" or str(name).lower().startswith("sqlite_"):
            continue
        quoted = _quoted(name)
        facts = connection.execute(f"PRAGMA main.table_xinfo({quoted})").fetchall()
        references = sorted(_references(connection, quoted))
        indexes = sorted(_indexes(connection, quoted))
        size -= _size((name, *facts, *references, *indexes))
        if size < 0:
            cut = True
            break
        listed = ", ".join(_quoted(fact[1]) for fact in facts)
        found: list[tuple[Any, ...]] = []
        for row in connection.execute(f"SELECT {listed} FROM main.{quoted}"):
            size -= _size(row)
            if len(found) >= rows or size < 0:
                cut = True
                break
            found.append(row)
        rows -= len(found)
        tables[str(name)[:_NAME_LENGTH]] = {
            "columns": [
                (
                    str(each),
                    str(declared).upper(),
                    bool(filled or key),
                    key,
                    hidden,
                    _default(connection, default),
                )
                for _, each, declared, filled, default, key, hidden in facts
            ],
            "rows": found,
            "references": references,
            "indexes": indexes,
        }
    others = sorted((str(kind), str(name)) for kind, name in kinds if kind in ("view", "trigger"))
    if _size(others) > size:
        cut, others = True, []
    sound = cut or _is_sound(connection)
    return {"tables": tables, "others": others, "sound": sound, "cut": cut}


def _default(connection: sqlite3.Connection, default: str | None) -> Any:
    """Return the value of a column's default, however it is written."""
    if default is None:
        return None
    try:
        return connection.execute(f"SELECT {default}").fetchone()[0]
    except (sqlite3.Error, sqlite3.Warning):
        return str(default)[:_NAME_LENGTH]


def _references(
    connection: sqlite3.Connection, quoted: str
) -> Iterator[tuple[str, str, str, str, str]]:
    found = connection.execute(f"PRAGMA main.foreign_key_list({quoted})").fetchall()
    for _, _, target, column, key, on_update, on_delete, _ in found:
        yield str(column), str(target), str(key or "id"), str(on_update), str(on_delete)


def _indexes(
    connection: sqlite3.Connection, quoted: str
) -> Iterator[tuple[bool, bool, tuple[str, ...]]]:
    """Yield of each index but the primary key's: unique, partial, and its columns."""
    found = connection.execute(f"PRAGMA main.index_list({quoted})").fetchall()
    for _, name, unique, origin, partial in found:
        if origin != "pk":
            parts = connection.execute(f"PRAGMA main.index_info({_quoted(name)})").fetchall()
            columns = tuple(str(part[2] or "(expression)") for part in parts)
            yield bool(unique), bool(partial), columns


def _is_sound(connection: sqlite3.Connection) -> bool:
    """Return whether what is stored keeps every constraint."""
    broken = connection.execute("PRAGMA foreign_key_check").fetchone()
    checked = connection.execute("PRAGMA integrity_check(1)").fetchone()
    return broken is None and checked == ("ok",)


def run_on_all(
    databases: Sequence[bytes],
    script: str,
    *,
    times: int,
    probes: Sequence[str],
    rows: int,
    size: int,
    steps: int,
    reverse: bool = False,
) -> list[dict[str, Any]]:
    """Run a script on each database, and probes on copies of what it leaves.

    Args:
        databases: Bytes of SQLite files.
        script: The script.
        times: How often it is run on each, one time after the other.
        probes: Scripts that look at what the new state allows.
        rows: See `WritableDatabase.state`.
        size: Likewise.
        steps: Bound on the instructions of each run.
        reverse: Whether rows whose order nothing asks for come in reverse.

    Returns:
        Plain data, one dict a database: `error` (of the first run that failed), `state`, and
        `probes`: whether each failed, and the last rows that it gave.
    """
    return [
        _run_on(data, script, times, probes, rows=rows, size=size, steps=steps, reverse=reverse)
        for data in databases
    ]


def _run_on(
    data: bytes,
    script: str,
    times: int,
    probes: Sequence[str],
    *,
    rows: int,
    size: int,
    steps: int,
    reverse: bool,
) -> dict[str, Any]:
    error = ""
    for _ in range(times):
        # A connection each, as if somebody ran it again: what is temporary is gone by then.
        with WritableDatabase(data, reverse=reverse) as database:
            error = error or database.run(script, steps=steps).error
            data = database.bytes()
    state = state_of(data, rows=rows, size=size)
    probed = []
    for probe in probes if state["sound"] and not state["cut"] else ():
        with WritableDatabase(data) as copy:
            outcome = copy.run(probe, steps=steps, rows=_PROBE_ROWS)
            probed.append((bool(outcome.error), outcome.rows))
    return {"error": error[:2000], "state": state, "probes": probed}


def look(request: Mapping[str, Any]) -> dict[str, Any]:
    """Run a script on a copy of a database and return what there is to see."""
    with WritableDatabase(request["databases"][0]) as database:
        outcome = database.run(request["script"], steps=request["steps"], rows=request["rows"])
    return {
        "error": outcome.error[:2000],
        "columns": outcome.columns,
        "rows": outcome.rows,
        "cut": outcome.cut,
        "changes": outcome.changes,
    }


def main() -> None:
    """Serve one request on the sandbox's message channel."""
    import execgym_codec  # type: ignore[import-not-found]
    import sandbox_channel  # type: ignore[import-not-found]

    request = execgym_codec.decode(sandbox_channel.receive())
    # What fails from here on is the script's doing.
    sandbox_channel.send(READY)
    if request["look"]:
        answer: Any = look(request)
    else:
        answer = run_on_all(
            request["databases"],
            request["script"],
            times=request["times"],
            probes=request["probes"],
            rows=request["rows"],
            size=request["size"],
            steps=request["steps"],
        )
    sandbox_channel.send(execgym_codec.encode(answer))


def _authorize(
    action: int, first: str | None, second: str | None, _base: str | None, _by: str | None
) -> int:
    if action in _REFUSED:
        return sqlite3.SQLITE_DENY
    if action == sqlite3.SQLITE_PRAGMA:
        known = (first or "").lower() in _PRAGMAS
        return sqlite3.SQLITE_OK if known else sqlite3.SQLITE_DENY
    if action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in _REFUSED_FUNCTIONS:
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK


def _first(cursor: sqlite3.Cursor, most: int) -> tuple[list[tuple[Any, ...]], bool]:
    """Return the first rows of an answer, and whether there are more."""
    found: list[tuple[Any, ...]] = []
    size = _ANSWER_BYTES
    for row in cursor:
        size -= _size(row)
        if len(found) >= most or size < 0:
            return found, True
        found.append(row)
    return found, False


def _size(value: Any) -> int:
    """Return about how many bytes it takes to tell a value."""
    if isinstance(value, (str, bytes)):
        return _NODE_BYTES + 4 * len(value)
    if isinstance(value, (tuple, list)):
        return _NODE_BYTES + sum(map(_size, value))
    return _NODE_BYTES


def _quoted(name: Any) -> str:
    return '"' + str(name).replace('"', '""') + '"'


def _text(data: bytes) -> str | bytes:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data
