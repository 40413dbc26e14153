"""Checks of what a caller gives to a vector env. Each error names the value and what is allowed."""

from __future__ import annotations

import collections
from collections.abc import Iterable, Sequence
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt

from execgym.envs.spaces import Unicode
from execgym.vector.errors import InvalidRequestError


def check_length(what: str, values: Any, expected: int) -> None:
    """Raise `InvalidRequestError` unless `values` has the expected length."""
    if not hasattr(values, "__len__") or len(values) != expected:
        given = len(values) if hasattr(values, "__len__") else repr(values)
        raise InvalidRequestError(f"{what} must have length {expected}, not {given}")


def check_count(what: str, count: object, lowest: int, highest: int | None = None) -> None:
    """Raise `InvalidRequestError` unless `count` is a whole number within the bounds."""
    if (
        isinstance(count, bool)
        or not isinstance(count, int | np.integer)
        or count < lowest
        or (highest is not None and count > highest)
    ):
        bounds = f"at least {lowest}" if highest is None else f"from {lowest} to {highest}"
        raise InvalidRequestError(f"{what} must be a whole number, {bounds}, not {count!r}")


def check_seeds(seeds: Iterable[object]) -> list[int | None]:
    """Return the seeds as Python numbers, or raise `InvalidRequestError`."""
    checked: list[int | None] = []
    for seed in seeds:
        if seed is None:
            checked.append(None)
        elif isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
            raise InvalidRequestError(
                f"a seed is a whole number that is not negative, or None, not {seed!r}"
            )
        else:
            checked.append(int(seed))
    return checked


def spread_seeds(seed: int | Sequence[int | None] | None, num_envs: int) -> Sequence[int | None]:
    """Return one seed an env: `seed + i` for a number, the sequence itself for a sequence."""
    if seed is None:
        return [None] * num_envs
    if isinstance(seed, int | np.integer) and not isinstance(seed, bool):
        check_seeds([seed])
        return [int(seed) + index for index in range(num_envs)]
    check_length("seed", seed, num_envs)
    return check_seeds(seed)  # type: ignore[arg-type]


def check_ids(env_ids: Sequence[int] | npt.NDArray[Any], num_envs: int) -> list[int]:
    """Return the env ids as Python numbers.

    Raises:
        InvalidRequestError: One is no whole number, is out of range, or stands twice.
    """
    ids: list[int] = []
    for index in np.asarray(env_ids).ravel().tolist():
        if isinstance(index, bool) or not isinstance(index, int):
            raise InvalidRequestError(f"an env id is a whole number, not {index!r}")
        if not 0 <= index < num_envs:
            raise InvalidRequestError(f"there is no env {index}: the envs are 0 to {num_envs - 1}")
        ids.append(index)
    if len(set(ids)) != len(ids):
        twice = next(index for index, n in collections.Counter(ids).items() if n > 1)
        raise InvalidRequestError(f"env {twice} stands twice in env_ids")
    return ids


def check_actions(
    actions: Sequence[Any], env_ids: Sequence[int], action_space: gymnasium.Space[Any]
) -> None:
    """Check that there is one action an env, and that each is a `str` where the envs take text.

    Raises:
        InvalidRequestError: The number of actions is wrong.
        TypeError: An action is no `str`. (A `str` that is not in the space is answered by the
            env, since it is the model's mistake.)
    """
    if isinstance(actions, str):
        raise InvalidRequestError("actions is one str an env, not one str")
    check_length("actions", actions, len(env_ids))
    if not isinstance(action_space, Unicode | gymnasium.spaces.Text):
        return
    for index, action in zip(env_ids, actions, strict=True):
        if not isinstance(action, str):
            raise TypeError(f"the action of env {index} must be a str, not {type(action).__name__}")


def take_mask(options: dict[str, Any] | None, num_envs: int) -> npt.NDArray[np.bool_] | None:
    """Take `reset_mask` out of `options` and return it, checked by the rules of Gymnasium."""
    if options is None or "reset_mask" not in options:
        return None
    mask = options.pop("reset_mask")
    if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
        kind = f"array of {mask.dtype}" if isinstance(mask, np.ndarray) else type(mask).__name__
        raise TypeError(f"options['reset_mask'] must be a NumPy array of bool, not {kind}")
    if mask.shape != (num_envs,):
        raise InvalidRequestError(
            f"options['reset_mask'] must have the shape ({num_envs},), not {mask.shape}"
        )
    if not mask.any():
        raise InvalidRequestError("options['reset_mask'] must be True for at least one env")
    return mask
