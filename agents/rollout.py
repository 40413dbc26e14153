"""Groups of episodes, played through a vector env's `send` and `recv`."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from execgym.agents.policy import Completion, LLMPolicy
from execgym.agents.trajectory import Segment, Trajectory


class StepBatch(Protocol):
    """What `recv` gives: one entry for each env that was ready."""

    env_ids: Sequence[int]
    observations: Sequence[str]
    rewards: Sequence[float]
    terminations: Sequence[bool]
    truncations: Sequence[bool]
    infos: Sequence[Mapping[str, Any]]
    resets: Sequence[bool]


class AsyncEnvs(Protocol):
    """The face of `execgym.vector.AsyncVectorEnv` that a rollout needs."""

    num_envs: int

    def send(self, actions: Sequence[str], env_ids: Sequence[int]) -> None:
        """Start a step in each of these envs."""
        ...

    def send_reset(
        self,
        env_ids: Sequence[int],
        *,
        seeds: Sequence[int | None] | None = None,
        options: Sequence[Mapping[str, Any] | None] | None = None,
    ) -> None:
        """Start a new episode in each of these envs."""
        ...

    def recv(
        self, min_envs: int = 1, max_envs: int | None = None, timeout: float | None = None
    ) -> Any:
        """Wait until that many envs have an answer."""
        ...


@dataclasses.dataclass(slots=True)
class _Episode:
    """An episode while it is played."""

    index: int
    task_id: str
    group_id: int
    generator: np.random.Generator | None
    prompt: list[int] = dataclasses.field(default_factory=list)
    segments: list[Segment] = dataclasses.field(default_factory=list)
    observation: str = ""
    actions: list[str] = dataclasses.field(default_factory=list)
    reward: float = 0.0
    stopped: bool = True
    info: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def context(self) -> list[int]:
        return [*self.prompt, *(token for part in self.segments for token in part.token_ids)]


def collect(
    envs: AsyncEnvs,
    policy: LLMPolicy,
    task_ids: Sequence[str],
    *,
    group_size: int = 1,
    seed: Sequence[int] | None = None,
    rows_per_generation: int = 64,
    timeout: float | None = 600.0,
) -> list[Trajectory]:
    """Play `group_size` episodes of each task.

    While the model writes for the envs that are ready, the others go on running: a generation
    starts as soon as `rows_per_generation` envs, or all that still run, wait for a message.

    Args:
        envs: Any number of envs; more episodes than envs are played one after another.
        policy: Who writes the messages.
        task_ids: One group for each, the same task twice being two groups.
        group_size: Episodes a group.
        seed: Entropy of the sampling, or None for the likeliest token always. Equal seeds, weights
            and tasks give equal trajectories, in whatever order the envs answer.
        rows_per_generation: See above.
        timeout: Seconds that no env may answer in before the rollout fails.

    Returns:
        The trajectories, groups in the order of `task_ids`.

    Raises:
        TimeoutError: No env answered.
    """
    waiting = deque(
        _Episode(
            index=group * group_size + sample,
            task_id=task_id,
            group_id=group,
            generator=None if seed is None else np.random.default_rng([*seed, group, sample]),
        )
        for group, task_id in enumerate(task_ids)
        for sample in range(group_size)
    )
    total = len(waiting)
    playing: dict[int, _Episode] = {}
    done: dict[int, Trajectory] = {}
    ready: list[int] = []
    _begin(envs, list(range(envs.num_envs)), waiting, playing)
    while len(done) < total:
        running = len(playing) - len(ready)
        wanted = min(rows_per_generation - len(ready), running)
        if wanted > 0:
            batch = envs.recv(min_envs=wanted, timeout=timeout)
            free = _take_in(batch, policy, playing, ready, done)
            _begin(envs, free, waiting, playing)
            continue
        # The order of arrival is left to chance; rounding may depend on a row's place.
        ready.sort(key=lambda env_id: playing[env_id].index)
        completions = policy.generate(
            [playing[env_id].context for env_id in ready],
            None if seed is None else [_drawn(playing[env_id]) for env_id in ready],
        )
        for env_id, completion in zip(ready, completions, strict=True):
            _write_down(playing[env_id], completion, policy)
        envs.send([playing[env_id].actions[-1] for env_id in ready], ready)
        ready = []
    return [done[index] for index in range(total)]


def _begin(
    envs: AsyncEnvs, free: list[int], waiting: deque[_Episode], playing: dict[int, _Episode]
) -> None:
    started = []
    for env_id in free:
        if waiting:
            playing[env_id] = waiting.popleft()
            started.append(env_id)
    if started:
        options = [{"task_id": playing[env_id].task_id} for env_id in started]
        envs.send_reset(started, options=options)


def _take_in(
    batch: StepBatch,
    policy: LLMPolicy,
    playing: dict[int, _Episode],
    ready: list[int],
    done: dict[int, Trajectory],
) -> list[int]:
    """Note what the envs answered; return the envs whose episodes are over."""
    free = []
    for place, env_id in enumerate(int(number) for number in batch.env_ids):
        episode = playing[env_id]
        episode.info = batch.infos[place]
        observation = batch.observations[place]
        over = bool(batch.terminations[place] or batch.truncations[place])
        if batch.resets[place] and not over:
            episode.observation = observation
            episode.prompt = policy.style.first(policy.tokenizer, observation)
        else:
            episode.reward += float(batch.rewards[place])
            if not over and (episode.stopped or not policy.style.needs_stop):
                given = policy.style.following(policy.tokenizer, observation)
                episode.segments.append(Segment(token_ids=tuple(given)))
            else:
                over = True
        if over or len(episode.context) + policy.max_new_tokens > policy.max_context:
            done[episode.index] = _finished(episode)
            del playing[env_id]
            free.append(env_id)
        else:
            ready.append(env_id)
    return free


def _write_down(episode: _Episode, completion: Completion, policy: LLMPolicy) -> None:
    episode.segments.append(
        Segment(
            token_ids=completion.token_ids,
            logprobs=completion.logprobs,
            policy_version=policy.version,
        )
    )
    episode.actions.append(policy.style.action(completion.text))
    episode.stopped = completion.stopped


def _drawn(episode: _Episode) -> np.random.Generator:
    assert episode.generator is not None  # noqa: S101
    return episode.generator


def _finished(episode: _Episode) -> Trajectory:
    verdict: Mapping[str, Any] = episode.info.get("verdict", {})
    return Trajectory(
        prompt_ids=tuple(episode.prompt),
        segments=tuple(episode.segments),
        reward=episode.reward,
        reward_valid=bool(episode.info.get("reward_valid", True)),
        task_id=episode.task_id,
        group_id=episode.group_id,
        level=int(episode.info.get("level", 0)),
        status=str(verdict.get("status", "unjudged")),
        reason=str(verdict.get("reason", "")),
        observation=episode.observation,
        actions=tuple(episode.actions),
        image=str(episode.info.get("image", "")),
    )
