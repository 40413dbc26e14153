"""A warm start: a few worked answers, learnt by likelihood, so that sampling sometimes succeeds.

GRPO learns from differences within a group: from a task that the model never solves it learns
nothing. A warm start is not reinforcement learning, and its effect is measured apart.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import torch

from execgym.agents.packing import micro_batches, pack
from execgym.agents.policy import LLMPolicy
from execgym.agents.trajectory import Segment, Trajectory


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A worked answer.

    Attributes:
        observation: What the env would show.
        action: A right action, on one line where the style stops at the end of a line.
    """

    observation: str
    action: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class WarmStartConfig:
    """How to learn the examples.

    Attributes:
        learning_rate: Of AdamW.
        epochs: Times that each example is seen.
        batch_size: Examples an optimiser step.
        tokens_per_micro_batch: See `execgym.agents.grpo.GRPOConfig`.
        seed: Of the order.
    """

    learning_rate: float = 2e-5
    epochs: int = 2
    batch_size: int = 8
    tokens_per_micro_batch: int = 2048
    seed: int = 0


def warm_start(
    policy: LLMPolicy, examples: Sequence[Example], config: WarmStartConfig
) -> list[float]:
    """Make the examples likelier.

    Returns:
        The mean negative log-likelihood of a token at each optimiser step, in nats.
    """
    written = [_as_trajectory(policy, example) for example in examples]
    parameters = [p for p in policy.model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(parameters, lr=config.learning_rate, weight_decay=0.0)
    generator = np.random.default_rng(config.seed)
    losses = []
    for _ in range(config.epochs):
        order = generator.permutation(len(written))
        for start in range(0, len(order), config.batch_size):
            part = [written[index] for index in order[start : start + config.batch_size]]
            rows = pack(part, max_tokens=config.tokens_per_micro_batch, share_prompts=False)
            tokens = sum(trajectory.sampled_tokens for trajectory in part)
            optimizer.zero_grad(set_to_none=True)
            total = 0.0
            for batch in micro_batches(rows, max_tokens=config.tokens_per_micro_batch):
                loss = -policy.logprobs(batch).sum() / tokens
                loss.backward()
                total += float(loss.detach())
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            optimizer.step()
            losses.append(total)
    return losses


def _as_trajectory(policy: LLMPolicy, example: Example) -> Trajectory:
    prefix = policy.style.action("")
    if not example.action.startswith(prefix):
        raise ValueError(f"an action of this style starts with {prefix!r}: {example.action!r}")
    stops = policy.style.stop_characters
    if any(character in example.action for character in stops):
        raise ValueError(f"an action of this style has none of {stops!r}: {example.action!r}")
    end = stops[0] if stops else policy.tokenizer.eos_token
    tokens = policy.tokenizer.encode(example.action[len(prefix) :] + end, add_special_tokens=False)
    return Trajectory(
        prompt_ids=tuple(policy.style.first(policy.tokenizer, example.observation)),
        segments=(
            Segment(token_ids=tuple(tokens), logprobs=(0.0,) * len(tokens), policy_version=0),
        ),
        reward=0.0,
        reward_valid=True,
        task_id="",
        group_id=0,
    )
