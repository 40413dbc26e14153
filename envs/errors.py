"""What a caller can get wrong. A model's mistake is never one of these: it is an observation."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class EnvError(Exception):
    """Base of the errors that an env raises for its caller's mistakes."""


class InvalidOptionError(EnvError, ValueError):
    """An argument of `make` or an entry of `reset`'s options is not allowed."""


class InvalidStateError(EnvError, ValueError):
    """A state cannot be restored in this env."""


class UnknownTaskError(EnvError, LookupError):
    """No task has this id."""


class TaskSetUnavailableError(EnvError):
    """A public task set is known but has not been fetched or imported on this machine."""


class EngineUnavailableError(EnvError):
    """A database engine is known but is not installed where sandboxes would need it."""


def not_one_of(what: str, value: object, allowed: Iterable[object]) -> InvalidOptionError:
    """Return an error that names the value, what is allowed, and the closest allowed value."""
    choices = [str(choice) for choice in allowed]
    close = difflib.get_close_matches(str(value), choices, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return InvalidOptionError(f"{what} {value!r} is not one of {', '.join(choices)}.{hint}")
