"""What a rollout leaves behind: tokens as they were sampled, and what they earned."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A run of tokens after the prompt that is either all sampled or all given.

    Attributes:
        token_ids: The tokens. A sampled segment ends with the token that stopped it, EOS or a stop
            token, since ending is a choice that is learnt like any other.
        logprobs: Log-probability of each sampled token under the sampler, at its temperature; empty
            for given tokens.
        policy_version: Number of optimiser steps that the sampling policy had made; -1 for given
            tokens.
    """

    token_ids: tuple[int, ...]
    logprobs: tuple[float, ...] = ()
    policy_version: int = -1

    def __post_init__(self) -> None:
        if self.logprobs and len(self.logprobs) != len(self.token_ids):
            raise ValueError(f"{len(self.token_ids)} tokens have {len(self.logprobs)} log-probs")
        if self.sampled != (self.policy_version >= 0):
            raise ValueError("sampled tokens have log-probs and a policy version, others neither")

    @property
    def sampled(self) -> bool:
        """Whether the model wrote these tokens."""
        return bool(self.logprobs)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Trajectory:
    """One episode, token in and token out: nothing in here is ever tokenised again.

    Attributes:
        prompt_ids: The first prompt.
        segments: What followed, in order: sampled messages and the observations between them.
        reward: Sum of the episode's rewards.
        reward_valid: False where the judge or a sandbox failed: the episode must count for nothing.
        task_id: The task. Groups are told apart by `group_id`, never by this or by the prompt.
        group_id: Which group of samples of one task it belongs to, unique within a batch.
        level: The task's difficulty.
        status: The verdict's status, or `"unjudged"` where the episode ended before its judgement
            (the message or the context was full).
        reason: The verdict's sentence.
        observation: The first observation.
        actions: The messages as the env saw them.
        image: Digest of the image that the sandboxes were made from, or of the host; see
            `execgym.sandbox.fingerprint`. `""` where nothing ran and nothing was judged.
    """

    prompt_ids: tuple[int, ...]
    segments: tuple[Segment, ...]
    reward: float
    reward_valid: bool
    task_id: str
    group_id: int
    level: int = 0
    status: str = "unjudged"
    reason: str = ""
    observation: str = ""
    actions: tuple[str, ...] = ()
    image: str = ""

    @property
    def success(self) -> bool:
        """Whether the judge passed it. Shaping rewards are no success."""
        return self.reward_valid and self.status == "pass"

    @property
    def token_ids(self) -> tuple[int, ...]:
        """All tokens after the prompt."""
        return tuple(token for segment in self.segments for token in segment.token_ids)

    @property
    def loss_mask(self) -> tuple[bool, ...]:
        """For each of `token_ids`, whether the model wrote it."""
        return tuple(segment.sampled for segment in self.segments for _ in segment.token_ids)

    @property
    def logprobs(self) -> tuple[float, ...]:
        """For each of `token_ids`, its log-probability under the sampler; NaN where given."""
        nan = float("nan")
        return tuple(
            value
            for segment in self.segments
            for value in (segment.logprobs or (nan,) * len(segment.token_ids))
        )

    @property
    def sampled_tokens(self) -> int:
        """How many tokens the model wrote."""
        return sum(len(segment.token_ids) for segment in self.segments if segment.sampled)

    @property
    def policy_version(self) -> int:
        """The oldest policy that wrote a part of it, -1 where none did."""
        versions = [segment.policy_version for segment in self.segments if segment.sampled]
        return min(versions, default=-1)
