"""GRPO in one file: advantages within groups, a clipped token-level loss, one optimiser.

Shao et al. 2024 (arXiv:2402.03300), with what later work found to matter: a loss summed over all
tokens of the step and divided once (DAPO, arXiv:2503.14476), no division by the group's standard
deviation (Dr. GRPO, arXiv:2503.20783), a leave-one-out baseline (RLOO, arXiv:2402.14740), a wider
upper clip (DAPO), and truncated importance weights where the sampler was an older policy
(arXiv:2505.24298 and "off-policy RL" notes of the same year).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any, Literal

import torch

from execgym.agents.packing import TokenBatch, micro_batches, pack
from execgym.agents.policy import LLMPolicy
from execgym.agents.trajectory import Trajectory

_MAX_LOG_RATIO = 10.0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class GRPOConfig:
    """What GRPO can be told.

    Attributes:
        learning_rate: Of AdamW.
        weight_decay: Of AdamW.
        gradient_clip: Largest norm of the gradient.
        warmup_steps: Optimiser steps over which the learning rate rises linearly.
        epochs: Optimiser steps on each batch of rollouts.
        advantage: `"leave_one_out"`: reward less the mean of the others; `"group_normalised"`:
            the reward's distance from the mean in standard deviations, which over-weights tasks
            that nearly always or nearly never succeed; `"centred"`: the reward less the mean.
        variance_tolerance: A group whose rewards spread no wider than this teaches nothing and is
            dropped: a threshold of zero would turn float noise into a gradient.
        clip_low: The ratio counts down to `1 - clip_low`.
        clip_high: The ratio counts up to `1 + clip_high`.
        denominator: `"tokens"`: the step's sampled tokens; a positive number: that constant, which
            gives long and short samples equal weight a token (Dr. GRPO's batch x longest).
        kl_coefficient: Weight of the k3 estimate of the divergence from the reference; 0 for none.
        importance_cap: Largest weight by which a token of an older sampler is multiplied.
        tokens_per_micro_batch: Columns x rows of one forward pass. It changes memory and speed
            and no gradient.
    """

    learning_rate: float = 1e-5
    weight_decay: float = 0.0
    gradient_clip: float = 1.0
    warmup_steps: int = 0
    epochs: int = 1
    advantage: Literal["leave_one_out", "group_normalised", "centred"] = "leave_one_out"
    variance_tolerance: float = 1e-6
    clip_low: float = 0.2
    clip_high: float = 0.28
    denominator: Literal["tokens"] | float = "tokens"
    kl_coefficient: float = 0.0
    importance_cap: float = 2.0
    tokens_per_micro_batch: int = 2048


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class UpdateReport:
    """What one update did.

    Attributes:
        groups: Groups that came in.
        groups_dropped: Those without variance, or with fewer than two valid rewards.
        invalid: Trajectories whose reward was not valid.
        tokens: Sampled tokens that were trained on; 0 where nothing was, and no step was made.
        loss: The loss of the first epoch; about zero by construction, so not a sign of progress.
        gradient_norm: Of the last epoch, before clipping.
        first_ratio: Mean ratio on the first pass; 1 but for rounding when the sampler is current.
        clipped: Part of the last epoch's tokens whose ratio was outside the clip.
        kl: Mean k3 estimate of the divergence of the sampler from the policy, last epoch.
    """

    groups: int
    groups_dropped: int
    invalid: int
    tokens: int
    loss: float = 0.0
    gradient_norm: float = 0.0
    first_ratio: float = 1.0
    clipped: float = 0.0
    kl: float = 0.0


def advantages(trajectories: Sequence[Trajectory], config: GRPOConfig) -> tuple[list[float], int]:
    """Compare each trajectory with the others of its group.

    Trajectories whose reward is not valid are left out of the baseline and get NaN, as do all of
    a group that is dropped: NaN means "do not train on this".

    Returns:
        The advantages, in the order given, and the number of groups that were dropped.
    """
    groups: dict[int, list[int]] = {}
    for index, trajectory in enumerate(trajectories):
        groups.setdefault(trajectory.group_id, []).append(index)
    values = [math.nan] * len(trajectories)
    dropped = 0
    for members in groups.values():
        valid = [index for index in members if trajectories[index].reward_valid]
        rewards = [trajectories[index].reward for index in valid]
        if len(valid) < 2 or max(rewards) - min(rewards) <= config.variance_tolerance:
            dropped += 1
            continue
        # fsum, so that the order within a group cannot matter even in the last bit.
        mean = math.fsum(rewards) / len(rewards)
        if config.advantage == "leave_one_out":
            scale = len(rewards) / (len(rewards) - 1)
        elif config.advantage == "group_normalised":
            spread = math.fsum((reward - mean) ** 2 for reward in rewards) / len(rewards)
            scale = 1 / math.sqrt(spread)
        else:
            scale = 1.0
        for index, reward in zip(valid, rewards, strict=True):
            values[index] = (reward - mean) * scale
    return values, dropped


class GRPO:
    """Updates a policy from groups of trajectories.

    Args:
        policy: What is trained.
        config: See `GRPOConfig`.
        reference: The policy to stay near, needed where `kl_coefficient` is positive.
    """

    def __init__(
        self, policy: LLMPolicy, config: GRPOConfig, *, reference: LLMPolicy | None = None
    ) -> None:
        if config.kl_coefficient and reference is None:
            raise ValueError("kl_coefficient needs a reference policy")
        self.policy = policy
        self.config = config
        self.reference = reference
        self.parameters = [p for p in policy.model.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW(
            self.parameters,
            lr=config.learning_rate,
            betas=(0.9, 0.99),
            weight_decay=config.weight_decay,
        )

    def update(self, trajectories: Sequence[Trajectory]) -> UpdateReport:
        """Make `epochs` optimiser steps, or none where no group has anything to teach."""
        values, dropped = advantages(trajectories, self.config)
        used = [
            (trajectory, value)
            for trajectory, value in zip(trajectories, values, strict=True)
            if not math.isnan(value) and trajectory.sampled_tokens
        ]
        groups = len({trajectory.group_id for trajectory in trajectories})
        invalid = sum(not trajectory.reward_valid for trajectory in trajectories)
        batches = self._batches([trajectory for trajectory, _ in used])
        terms = [_given(batch, used, self.policy.device) for batch in batches]
        tokens = sum(int(term.counts.sum()) for term in terms)
        if not tokens:
            return UpdateReport(groups=groups, groups_dropped=dropped, invalid=invalid, tokens=0)
        if any(trajectory.policy_version != self.policy.version for trajectory, _ in used):
            terms = self._with_importance(batches, terms)
        denominator = tokens if self.config.denominator == "tokens" else self.config.denominator
        first: dict[str, float] = {}
        for _ in range(self.config.epochs):
            sums = {"loss": 0.0, "ratio": 0.0, "clipped": 0.0, "kl": 0.0}
            self.optimizer.zero_grad(set_to_none=True)
            for batch, term in zip(batches, terms, strict=True):
                loss = self._loss(batch, term, sums) / denominator
                loss.backward()  # type: ignore[no-untyped-call]
            norm = torch.nn.utils.clip_grad_norm_(self.parameters, self.config.gradient_clip)
            for group in self.optimizer.param_groups:
                group["lr"] = self._learning_rate()
            if torch.isfinite(norm):
                self.optimizer.step()
            self.policy.version += 1
            first = first or dict(sums)
        return UpdateReport(
            groups=groups,
            groups_dropped=dropped,
            invalid=invalid,
            tokens=tokens,
            loss=first["loss"] / denominator,
            gradient_norm=float(norm),
            first_ratio=first["ratio"] / tokens,
            clipped=sums["clipped"] / tokens,
            kl=sums["kl"] / tokens,
        )

    def state_dict(self) -> dict[str, Any]:
        """Return what a checkpoint needs beside the model's weights."""
        return {"optimizer": self.optimizer.state_dict(), "version": self.policy.version}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take up a state again."""
        self.optimizer.load_state_dict(state["optimizer"])
        self.policy.version = state["version"]

    def _learning_rate(self) -> float:
        warmup = self.config.warmup_steps
        return self.config.learning_rate * min(1.0, (self.policy.version + 1) / max(1, warmup))

    def _batches(self, trajectories: Sequence[Trajectory]) -> list[TokenBatch]:
        budget = self.config.tokens_per_micro_batch
        share = self.policy.shares_prompts
        rows = pack(trajectories, max_tokens=budget, share_prompts=share)
        return micro_batches(rows, max_tokens=budget)

    def _loss(self, batch: TokenBatch, term: _Terms, sums: dict[str, float]) -> torch.Tensor:
        """Return the sum of the loss over a batch's tokens, and add its figures to `sums`."""
        logprobs = self.policy.logprobs(batch)
        log_ratio = (logprobs - term.old_logprobs).clamp(-_MAX_LOG_RATIO, _MAX_LOG_RATIO)
        ratio = log_ratio.exp()
        low, high = 1 - self.config.clip_low, 1 + self.config.clip_high
        gain = torch.minimum(ratio * term.advantages, ratio.clamp(low, high) * term.advantages)
        losses = -gain * term.importance
        if self.config.kl_coefficient and self.reference is not None:
            with torch.no_grad():
                anchor = self.reference.logprobs(batch)
            # Weighted by the ratio, or its gradient would be that of the divergence the other way
            # round (checked exactly on a categorical).
            losses = losses + self.config.kl_coefficient * ratio * _k3(anchor - logprobs)
        # where, not a product: NaN times zero is NaN.
        losses = torch.where(term.counts, losses, torch.zeros_like(losses))
        with torch.no_grad():
            outside = ((ratio < low) | (ratio > high)) & term.counts
            zero = torch.zeros_like(ratio)
            sums["loss"] += float(losses.sum())
            sums["ratio"] += float(torch.where(term.counts, ratio, zero).sum())
            sums["clipped"] += float(outside.sum())
            sums["kl"] += float(torch.where(term.counts, _k3(log_ratio), zero).sum())
        return losses.sum()

    def _with_importance(self, batches: list[TokenBatch], terms: list[_Terms]) -> list[_Terms]:
        """Make the present policy the proximal one, and weigh tokens by how far it has moved."""
        weighted = []
        for batch, term in zip(batches, terms, strict=True):
            with torch.no_grad():
                present = self.policy.logprobs(batch)
            moved = (present - term.old_logprobs).clamp(-_MAX_LOG_RATIO, _MAX_LOG_RATIO)
            weighted.append(
                dataclasses.replace(
                    term,
                    old_logprobs=torch.where(term.counts, present, term.old_logprobs),
                    importance=moved.exp().clamp(max=self.config.importance_cap),
                )
            )
        return weighted


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Terms:
    """What the loss needs of each sampled token of a batch, all [N].

    Attributes:
        old_logprobs: Under the policy that the ratio is taken against.
        advantages: Of the token's trajectory.
        importance: Weight of the token.
        counts: False where the sampler's log-probability is not finite: such a token is in neither
            the numerator nor the denominator.
    """

    old_logprobs: torch.Tensor
    advantages: torch.Tensor
    importance: torch.Tensor
    counts: torch.Tensor


def _given(
    batch: TokenBatch, used: Sequence[tuple[Trajectory, float]], device: torch.device
) -> _Terms:
    logprobs = [trajectory.logprobs for trajectory, _ in used]
    places = list(zip(batch.owners.tolist(), batch.offsets.tolist(), strict=True))
    old = torch.tensor([logprobs[owner][offset] for owner, offset in places], device=device)
    counts = torch.isfinite(old)
    return _Terms(
        old_logprobs=torch.where(counts, old, torch.zeros_like(old)),
        advantages=torch.tensor([used[owner][1] for owner, _ in places], device=device),
        importance=torch.ones_like(old),
        counts=counts,
    )


def _k3(log_ratio: torch.Tensor) -> torch.Tensor:
    """Return Schulman's k3 estimate of a divergence, never negative."""
    bounded = log_ratio.clamp(-_MAX_LOG_RATIO, _MAX_LOG_RATIO)
    return bounded.exp() - bounded - 1
