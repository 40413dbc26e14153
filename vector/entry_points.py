"""What `gymnasium.make_vec` calls for the ids of this package.

gymnasium.make_vec("execgym/SQL-v0", num_envs=1000, level=1)
"""

from __future__ import annotations

import functools
import inspect
from typing import Any

import gymnasium
from gymnasium.envs.registration import load_env_creator
from gymnasium.vector import AutoresetMode

from execgym.envs.core import ExecEnv
from execgym.envs.errors import InvalidOptionError, not_one_of
from execgym.vector.async_vector_env import AsyncVectorEnv

_OWN_ARGUMENTS = ("num_envs", "autoreset_mode", "run_slots", "max_episode_steps")


def make_sql(num_envs: int, **kwargs: Any) -> AsyncVectorEnv:
    """Return a vector env of `execgym/SQL-v0`; see `make_vector_env`."""
    return make_vector_env("execgym/SQL-v0", num_envs, **kwargs)


def make_coding(num_envs: int, **kwargs: Any) -> AsyncVectorEnv:
    """Return a vector env of `execgym/Coding-v0`; see `make_vector_env`."""
    return make_vector_env("execgym/Coding-v0", num_envs, **kwargs)


def make_data_analysis(num_envs: int, **kwargs: Any) -> AsyncVectorEnv:
    """Return a vector env of `execgym/DataAnalysis-v0`; see `make_vector_env`."""
    return make_vector_env("execgym/DataAnalysis-v0", num_envs, **kwargs)


def make_vector_env(
    env_id: str,
    num_envs: int,
    *,
    autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    run_slots: int | None = None,
    max_episode_steps: int | None = None,
    **kwargs: Any,
) -> AsyncVectorEnv:
    """Return `num_envs` envs of a registered id of this package.

    The envs are made without Gymnasium's wrappers, so that they run on the event loop: they check
    the order of calls themselves.

    Args:
        env_id: The id.
        num_envs: How many.
        autoreset_mode: See `AsyncVectorEnv`.
        run_slots: See `AsyncVectorEnv`.
        max_episode_steps: A further bound on `max_turns`. An episode that it ends is judged as it
            stands, where Gymnasium's `TimeLimit` would leave it without a verdict. None or -1 for
            no further bound.
        **kwargs: Go to each env, as `gymnasium.make` would give them.

    Raises:
        InvalidOptionError: An argument is unknown or has a value that is not allowed.
    """
    if isinstance(num_envs, bool) or not isinstance(num_envs, int) or num_envs < 1:
        raise InvalidOptionError(f"num_envs must be at least 1, not {num_envs!r}")
    modes = [mode.value for mode in AutoresetMode]
    if not isinstance(autoreset_mode, AutoresetMode) and autoreset_mode not in modes:
        raise not_one_of("autoreset_mode", autoreset_mode, modes)
    creator: Any = load_env_creator(str(gymnasium.spec(env_id).entry_point))
    allowed = _arguments(creator)
    for name in kwargs:
        if name not in allowed:
            raise not_one_of("argument", name, [*_OWN_ARGUMENTS, *allowed])
    if max_episode_steps is not None and max_episode_steps != -1:
        kwargs["max_turns"] = _fewer_turns(
            max_episode_steps, kwargs.get("max_turns", allowed["max_turns"].default)
        )
    return AsyncVectorEnv(
        [functools.partial(creator, **kwargs)] * num_envs,
        autoreset_mode=autoreset_mode,
        run_slots=run_slots,
    )


def _fewer_turns(max_episode_steps: Any, max_turns: Any) -> int:
    for name, value in (("max_episode_steps", max_episode_steps), ("max_turns", max_turns)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise InvalidOptionError(f"{name} must be at least 1, not {value!r}")
    return min(int(max_episode_steps), int(max_turns))


def _arguments(creator: type[ExecEnv]) -> dict[str, inspect.Parameter]:
    """Return the keyword arguments of a class, those that it hands on to its parents too."""
    found: dict[str, inspect.Parameter] = {}
    for parent in creator.__mro__:
        if "__init__" not in vars(parent):
            continue
        parameters = inspect.signature(vars(parent)["__init__"]).parameters.values()
        for parameter in parameters:
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
                found.setdefault(parameter.name, parameter)
        if not any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters):
            break
    return found
