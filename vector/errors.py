"""What a caller can get wrong with a vector env.

Each is also the error that Gymnasium raises for the like mistake, so that code written against
Gymnasium's vector envs catches it.
"""

from __future__ import annotations

from gymnasium.error import (
    AlreadyPendingCallError,
    ClosedEnvironmentError,
    NoAsyncCallError,
    ResetNeeded,
)


class VectorEnvError(Exception):
    """Base of the errors that a vector env raises for its caller's mistakes."""


class EnvInFlightError(VectorEnvError, AlreadyPendingCallError):
    """An env was asked for something while an earlier request is not answered yet."""

    def __init__(self, message: str) -> None:
        super().__init__(message, "send")


class NothingInFlightError(VectorEnvError, NoAsyncCallError):
    """A result was asked for and no env is working on one."""

    def __init__(self, message: str) -> None:
        super().__init__(message, "recv")


class EpisodeOverError(VectorEnvError, ResetNeeded):
    """An env was stepped that has no running episode."""


class VectorEnvClosedError(VectorEnvError, ClosedEnvironmentError):
    """The vector env has been closed."""


class InvalidRequestError(VectorEnvError, ValueError):
    """An argument does not fit the vector env: wrong env ids, lengths, masks or counts."""
