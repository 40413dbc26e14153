"""One env of a vector env: runs its requests on the event loop and survives its faults."""

from __future__ import annotations

import asyncio
import dataclasses
import enum
import logging
from collections.abc import Callable, Mapping
from typing import Any, Protocol, runtime_checkable

import gymnasium

from execgym.envs.errors import EnvError
from execgym.vector.threads import DaemonThreads

_LOGGER = logging.getLogger(__name__)
_MESSAGE_LENGTH = 2000
CLOSE_SECONDS = 10.0
"""How long envs may take to close before they are left to themselves."""


@runtime_checkable
class AsyncEnv(Protocol):
    """What an env has that runs on the event loop, `execgym.envs.ExecEnv` above all."""

    async def areset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin a new episode."""
        ...

    async def astep(self, action: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Take one step."""
        ...

    async def aclose(self) -> None:
        """Close the env."""
        ...


class RequestKind(enum.Enum):
    """What a request asks of an env."""

    RESET = enum.auto()
    STEP = enum.auto()
    STEP_AND_RESET = enum.auto()
    """A step, and a reset at once where it ends the episode (SAME_STEP autoreset)."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What one env is asked to do."""

    env_id: int
    kind: RequestKind
    action: Any = None
    seed: int | None = None
    options: Mapping[str, Any] | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a request.

    Attributes:
        env_id: Which env it was.
        kind: What was asked.
        observation: The env's, or a member of its space where the env failed.
        reward: 0 for a reset or a failure.
        terminated: As the env said.
        truncated: As the env said, or True where the env failed.
        info: As the env said, or what failed.
        final: Last observation and info of the episode that ended, for `STEP_AND_RESET`.
        error: What the env raised, or None.
    """

    env_id: int
    kind: RequestKind
    observation: Any
    reward: float = 0.0
    terminated: bool = False
    truncated: bool = False
    info: dict[str, Any]
    final: tuple[Any, dict[str, Any]] | None = None
    error: BaseException | None = None


class HostedEnv:
    """An env with what it takes to make it anew.

    An env with the methods `areset`, `astep` and `aclose` runs on the event loop. Any other one,
    a wrapped env too, runs in a thread, not always the same one.

    An exception out of the env ends its episode, and the env is closed and made anew before its
    next reset. Its random generator goes over to the new one, so that a seeded run stays seeded.
    The caller's own mistakes (`EnvError`) leave the env as it is.

    Args:
        env_id: Its index in the vector env.
        env_fn: Makes the env.
        threads: Where envs without async methods run.
    """

    def __init__(
        self,
        env_id: int,
        env_fn: Callable[[], gymnasium.Env[Any, Any]],
        threads: DaemonThreads,
    ) -> None:
        self.env_id = env_id
        self.env = env_fn()
        self._async_env = _as_async(self.env)
        self.over = True
        self._env_fn = env_fn
        self._threads = threads
        self._broken = False
        self._last_observation: Any = None

    async def run(self, request: Request, placeholder: Callable[[], Any]) -> Outcome:
        """Do what is asked. Raises nothing but `CancelledError`, when the task is cancelled.

        Args:
            request: What is asked.
            placeholder: Makes an observation for an env that fails before it gave one.
        """
        try:
            if request.kind is RequestKind.RESET:
                observation, info = await self._reset(request.seed, request.options)
                return Outcome(
                    env_id=self.env_id, kind=request.kind, observation=observation, info=info
                )
            outcome = await self._step(request)
        except BaseException as error:
            outcome = self._failed(request, error, placeholder)
            if request.kind is not RequestKind.STEP_AND_RESET:
                return outcome
            return await self._begin_anew(outcome, placeholder)
        if self.over and request.kind is RequestKind.STEP_AND_RESET:
            return await self._begin_anew(outcome, placeholder)
        return outcome

    async def close(self) -> None:
        """Close the env. Its exceptions are logged."""
        self.over = True
        try:
            if self._async_env is not None:
                await self._async_env.aclose()
            else:
                await self._threads.run(self.env.close)
        except BaseException as error:
            _raise_if_cancelled(error)
            _LOGGER.warning("env %d failed to close", self.env_id, exc_info=True)

    async def _begin_anew(self, ended: Outcome, placeholder: Callable[[], Any]) -> Outcome:
        final = (ended.observation, ended.info)
        try:
            observation, info = await self._reset(None, None)
        except BaseException as error:
            request = Request(env_id=self.env_id, kind=RequestKind.RESET)
            failed = self._failed(request, error, placeholder)
            return dataclasses.replace(
                ended, observation=failed.observation, info=failed.info, final=final, error=error
            )
        return dataclasses.replace(ended, observation=observation, info=info, final=final)

    async def _reset(
        self, seed: int | None, options: Mapping[str, Any] | None
    ) -> tuple[Any, dict[str, Any]]:
        if self._broken:
            await self._rebuild()
        self.over = True
        # A copy each: envs and wrappers may take entries out of what they are given.
        own_options = None if options is None else dict(options)
        observation: Any
        info: dict[str, Any]
        if self._async_env is not None:
            observation, info = await self._async_env.areset(seed=seed, options=own_options)
        else:
            observation, info = await self._threads.run(
                lambda: self.env.reset(seed=seed, options=own_options)
            )
        self.over = False
        self._last_observation = observation
        return observation, _checked(info)

    async def _step(self, request: Request) -> Outcome:
        if self._async_env is not None:
            result = await self._async_env.astep(request.action)
        else:
            result = await self._threads.run(lambda: self.env.step(request.action))
        observation, reward, terminated, truncated, info = result
        outcome = Outcome(
            env_id=self.env_id,
            kind=request.kind,
            observation=observation,
            reward=float(reward),
            terminated=bool(terminated),
            truncated=bool(truncated),
            info=_checked(info),
        )
        self._last_observation = observation
        self.over = outcome.terminated or outcome.truncated
        return outcome

    async def _rebuild(self) -> None:
        old = self.env
        closing = asyncio.ensure_future(self.close())
        _, late = await asyncio.wait([closing], timeout=CLOSE_SECONDS)
        for each in late:
            each.cancel()
        new = await self._threads.run(self._env_fn)
        generator = old.unwrapped._np_random
        if generator is not None:
            new.unwrapped._np_random = generator
            new.unwrapped._np_random_seed = old.unwrapped._np_random_seed
        self.env = new
        self._async_env = _as_async(new)
        self._broken = False

    def _failed(
        self, request: Request, error: BaseException, placeholder: Callable[[], Any]
    ) -> Outcome:
        _raise_if_cancelled(error)
        self.over = True
        if not isinstance(error, EnvError):
            self._broken = True
            _LOGGER.warning("env %d failed in %s", self.env_id, request.kind.name, exc_info=error)
        observation = self._last_observation
        return Outcome(
            env_id=self.env_id,
            kind=request.kind,
            observation=placeholder() if observation is None else observation,
            truncated=True,
            info={
                "reward_valid": False,
                "error": {
                    "type": type(error).__name__,
                    "message": _message(error),
                },
            },
            error=error,
        )


def _raise_if_cancelled(error: BaseException) -> None:
    """Raise `error` if it is the cancellation of this task, and not one of the env's own making.

    Everything else is caught, `SystemExit` too: out of a task it would end the event loop.
    """
    task = asyncio.current_task()
    if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
        raise error


def _checked(info: object) -> dict[str, Any]:
    if not isinstance(info, dict):
        raise TypeError(f"an env's info is a dict, not {type(info).__name__}")
    return info


def _message(error: BaseException) -> str:
    text = str(error)[:_MESSAGE_LENGTH]
    return text.encode("utf-8", "backslashreplace").decode()


def _as_async(env: gymnasium.Env[Any, Any]) -> AsyncEnv | None:
    return env if isinstance(env, AsyncEnv) else None
