"""What `AsyncVectorEnv.recv` and `AsyncVectorEnv.statistics` return."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Batch:
    """The results of k envs, in the order in which they finished.

    Attributes:
        env_ids: int64[k], which envs they are.
        observations: k observations, one an env, not concatenated.
        rewards: float64[k]. 0 for a reset.
        terminations: bool[k]
        truncations: bool[k]. True too where an env failed; its info then has `error`, and
            `reward_valid` is False.
        infos: k dictionaries, as the envs gave them.
        resets: bool[k], True where the entry answers a `send_reset`.
    """

    env_ids: npt.NDArray[np.int64]
    observations: tuple[Any, ...]
    rewards: npt.NDArray[np.float64]
    terminations: npt.NDArray[np.bool_]
    truncations: npt.NDArray[np.bool_]
    infos: tuple[dict[str, Any], ...]
    resets: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.infos)

    @property
    def dones(self) -> npt.NDArray[np.bool_]:
        """bool[k], where an episode is over."""
        return self.terminations | self.truncations


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """What a vector env is doing and has done.

    Attributes:
        idle: Envs that nobody has asked for anything.
        queued: Envs that wait for a run slot.
        running: Envs that execute.
        ready: Envs whose result waits to be received.
        steps: Steps done since the start, failed ones included.
        resets: Resets done since the start, failed ones included.
        errors: How often envs failed, by the exception's class name.
        queue_seconds: Time spent waiting for run slots, summed over envs.
        run_seconds: Time spent executing, summed over envs.
        run_slots: How many envs may execute at once.
    """

    idle: int
    queued: int
    running: int
    ready: int
    steps: int
    resets: int
    errors: Mapping[str, int]
    queue_seconds: float
    run_seconds: float
    run_slots: int
