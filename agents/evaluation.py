"""How often a policy succeeds, and how sure that is."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from execgym.agents.policy import LLMPolicy
from execgym.agents.rollout import AsyncEnvs, collect
from execgym.agents.trajectory import Trajectory
from execgym.envs.task import TaskSource

_ATTEMPTS_PER_TASK = 50


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SuccessRate:
    """A success rate with its 95 % Wilson interval.

    Attributes:
        successes: Episodes that the judge passed.
        episodes: Episodes with a valid reward.
        low: Lower end of the interval.
        high: Upper end of the interval.
    """

    successes: int
    episodes: int
    low: float
    high: float

    @property
    def rate(self) -> float:
        """The successes' part of the episodes, 0 where there are none."""
        return self.successes / self.episodes if self.episodes else 0.0

    def __str__(self) -> str:
        return (
            f"{self.successes}/{self.episodes} = {self.rate:.1%} "
            f"(95 % interval {self.low:.1%} to {self.high:.1%})"
        )


def success_rate(successes: int, episodes: int) -> SuccessRate:
    """Return a rate with Wilson's score interval (J. Am. Stat. Assoc. 22, 1927) at 95 %."""
    if not 0 <= successes <= episodes:
        raise ValueError(f"{successes} successes of {episodes} episodes")
    if not episodes:
        return SuccessRate(successes=0, episodes=0, low=0.0, high=1.0)
    z = 1.959963984540054
    rate = successes / episodes
    scale = 1 + z * z / episodes
    centre = (rate + z * z / (2 * episodes)) / scale
    half = z * math.sqrt(rate * (1 - rate) / episodes + z * z / (4 * episodes**2)) / scale
    return SuccessRate(
        successes=successes,
        episodes=episodes,
        # At rates of 0 and 1 the interval ends at the rate, but for rounding.
        low=min(rate, max(0.0, centre - half)),
        high=max(rate, min(1.0, centre + half)),
    )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """One measurement of a policy.

    Attributes:
        label: When it was made: `"pretrained"`, `"warm start"`, `"step 20"`, ...
        step: Optimisation steps of reinforcement learning made by then.
        success: The success rate, with one episode a task.
        by_kind: The success rate by kind of task, where tasks have kinds, else by level.
        trajectories: The episodes.
    """

    label: str
    step: int
    success: SuccessRate
    by_kind: dict[str, SuccessRate]
    trajectories: tuple[Trajectory, ...]


def held_out_tasks(
    source: TaskSource, *, count: int, split: str, levels: Sequence[int | None], seed: int
) -> list[str]:
    """Draw tasks with different prompts, the levels in turn.

    Raises:
        ValueError: The source has not that many.
    """
    generator = np.random.default_rng([seed, 1])
    found: dict[str, str] = {}
    for _ in range(count * _ATTEMPTS_PER_TASK):
        if len(found) == count:
            break
        task_id = source.sample(generator, split, levels[len(found) % len(levels)])
        found.setdefault(source.task(task_id).prompt, task_id)
    if len(found) < count:
        raise ValueError(
            f"found only {len(found)} tasks with different prompts in split {split!r}, not {count}"
        )
    return list(found.values())


def evaluate(
    envs: AsyncEnvs,
    policy: LLMPolicy,
    task_ids: Sequence[str],
    source: TaskSource,
    *,
    label: str = "",
    step: int = 0,
    seed: Sequence[int] | None = None,
) -> Evaluation:
    """Play each task once.

    Args:
        envs: See `execgym.agents.rollout.collect`.
        policy: What is measured.
        task_ids: The tasks.
        source: Where they come from.
        label: See `Evaluation`.
        step: See `Evaluation`.
        seed: Entropy of the sampling, or None for the likeliest token always.
    """
    trajectories = collect(envs, policy, task_ids, seed=seed)
    episodes: Counter[str] = Counter()
    successes: Counter[str] = Counter()
    for trajectory in trajectories:
        if trajectory.reward_valid:
            task = source.task(trajectory.task_id)
            kind = task.metadata.get("kind", f"level {task.level}")
            episodes[kind] += 1
            successes[kind] += trajectory.success
    return Evaluation(
        label=label,
        step=step,
        success=success_rate(successes.total(), episodes.total()),
        by_kind={kind: success_rate(successes[kind], episodes[kind]) for kind in sorted(episodes)},
        trajectories=tuple(trajectories),
    )
