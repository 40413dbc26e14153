"""How often a policy succeeds, and how sure that is."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence

import numpy as np

from execgym.agents.policy import LLMPolicy
from execgym.agents.rollout import AsyncEnvs, collect
from execgym.agents.trajectory import Trajectory
from execgym.envs.task import TaskSource
from execgym.judging.success_rate import SuccessRate, success_rate

_ATTEMPTS_PER_TASK = 50


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
