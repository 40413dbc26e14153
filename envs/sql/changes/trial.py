"""What a script does to a database, on the host: references, and wrong scripts for comparison."""

from __future__ import annotations

import dataclasses
from typing import Any

from execgym.envs.sql.changes.change import Change
from execgym.envs.sql.changes.driver import run_on_all
from execgym.envs.sql.changes.state import DatabaseState, difference, read_state
from execgym.envs.sql.reference import MAX_ROWS, MAX_STEPS
from execgym.judging.compare import same_value

MAX_STATE_BYTES = 1_200_000
"""What a state may take to tell, as the driver counts it. Five of them are one message."""


@dataclasses.dataclass(frozen=True, slots=True)
class Result:
    """What a script came to on one database.

    Attributes:
        error: Why it failed, or `""`.
        state: The state in which it left the database.
        probes: Of each probe whether it failed, and the last rows that it gave.
    """

    error: str
    state: DatabaseState
    probes: tuple[tuple[bool, tuple[Any, ...]], ...]


def read_result(data: Any) -> Result:
    """Read what a driver told of one database, believing nothing.

    Raises:
        ValueError: It is malformed.
        TypeError: Likewise.
        KeyError: Likewise.
    """
    probes = tuple((failed is True, tuple(rows)) for failed, rows in data["probes"])
    return Result(str(data["error"]), read_state(data["state"]), probes)


def attempt(change: Change, script: str, database: bytes, *, reverse: bool = False) -> Result:
    """Run a script on a database, by the rules by which candidates' are run."""
    (answer,) = run_on_all(
        [database],
        script,
        times=change.times,
        probes=change.probes,
        rows=MAX_ROWS,
        size=MAX_STATE_BYTES,
        steps=MAX_STEPS,
        reverse=reverse,
    )
    return read_result(answer)


def wrong_in(expected: Result, actual: Result) -> str:
    """Return what is wrong with a result in one sentence, or `""`.

    A script that has nothing to change, since what it should do cannot be done, may fail or not.
    """
    if actual.error and not expected.error:
        return f"The script fails: {actual.error.strip().rstrip('.')}."
    text = difference(expected.state, actual.state)
    if text:
        return text
    if not same_value(list(expected.probes), list(actual.probes)):
        return "The new state allows what it should refuse, or refuses what it should allow."
    return ""


def is_determined(change: Change, database: bytes, result: Result) -> bool:
    """Return whether the reference has the same result whatever the order of stored rows."""
    return not wrong_in(result, attempt(change, change.script, database, reverse=True))


def is_worth_asking(change: Change, shown: bytes) -> bool:
    """Return whether the reference changes the shown database, in a way that is determined."""
    result = attempt(change, change.script, shown)
    if result.error or result.state.cut or not is_determined(change, shown, result):
        return False
    untouched = attempt(change, "", shown)
    return bool(difference(result.state, untouched.state)) or untouched.probes != result.probes
