"""A language model as a policy: text in, sampled tokens and their log-probabilities out."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
import torch
from transformers import DynamicCache

from execgym.agents.models import SMOLLM2, load_model
from execgym.agents.packing import TokenBatch
from execgym.agents.prompts import PromptStyle, RawPrompt

_REORDER_BELOW = 0.75
"""Finished rows leave the batch when less than this part of it is still being written."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """A sampled message.

    Attributes:
        token_ids: The sampled tokens, with the EOS or stop token that ended them.
        logprobs: The log-probability of each, at the policy's temperature.
        text: The message, without what ended it.
        stopped: Whether the model ended it; False where it ran to the length limit.
    """

    token_ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    text: str
    stopped: bool


class LLMPolicy:
    """A causal language model that samples messages and can tell how likely they were.

    Sampling is from the whole distribution at one temperature, without top-k or top-p, so that
    the log-probabilities are those of the distribution that was really sampled from.

    Args:
        model: A Hugging Face causal language model, in evaluation mode.
        tokenizer: Its tokenizer.
        style: How observations become prompts and messages become actions.
        temperature: Of sampling, and of every log-probability.
        max_new_tokens: Length limit of a message.
        max_rows: Messages that are written at once.
        compile_model: Whether the training pass is compiled by `torch.compile`.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        style: PromptStyle | None = None,
        temperature: float = 1.0,
        max_new_tokens: int = 32,
        max_rows: int = 256,
        compile_model: bool = False,
    ) -> None:
        if not temperature > 0:
            raise ValueError(f"temperature must be positive, not {temperature!r}")
        if max_new_tokens < 1 or max_rows < 1:
            raise ValueError("max_new_tokens and max_rows must be at least 1")
        self.model = model
        self.tokenizer = tokenizer
        self.style: PromptStyle = style if style is not None else RawPrompt()
        self.temperature = temperature
        self.max_new_tokens = max_new_tokens
        self.max_rows = max_rows
        self.version = 0
        """Optimiser steps made so far; the learner counts it up."""
        causal = model.get_base_model() if hasattr(model, "get_base_model") else model
        self._config = causal.config
        self._decoder = causal.get_decoder()
        self._head = causal.get_output_embeddings()
        self._training_decoder = (
            torch.compile(self._decoder, dynamic=True) if compile_model else self._decoder
        )
        self._stop_ids = torch.tensor(
            sorted(_stop_tokens(tokenizer, self.style.stop_characters)), device=self.device
        )

    @classmethod
    def load(
        cls,
        name: str = SMOLLM2,
        *,
        device: str | torch.device = "auto",
        lora_rank: int = 0,
        **options: Any,
    ) -> Self:
        """Load a policy by the model's name.

        Args:
            name: See `execgym.agents.models.load_model`.
            device: `"auto"` for CUDA where there is some, or a torch device.
            lora_rank: Train low-rank adapters of this rank on all linear layers (Hu et al. 2021,
                arXiv:2106.09685) instead of all weights; 0 for all weights.
            **options: See the class.
        """
        if device == "auto":
            device = "cuda" if torch.cuda.is_available() else "cpu"
        model, tokenizer = load_model(name, device=device)
        if lora_rank:
            from peft import LoraConfig, get_peft_model

            adapters = LoraConfig(
                r=lora_rank, lora_alpha=2 * lora_rank, target_modules="all-linear", lora_dropout=0.0
            )
            model = get_peft_model(model, adapters).eval()
        return cls(model, tokenizer, **options)

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(iter(self.model.parameters())).device  # type: ignore[no-any-return]

    @property
    def max_context(self) -> int:
        """Tokens that prompt and messages may have together."""
        return int(getattr(self._config, "max_position_embeddings", None) or 2**31)

    @property
    def shares_prompts(self) -> bool:
        """Whether the model's attention allows branches; see `execgym.agents.packing`."""
        if self._config._attn_implementation != "sdpa":
            return False
        layers = getattr(self._config, "layer_types", None) or ()
        sliding = getattr(self._config, "sliding_window", None)
        return all(layer == "full_attention" for layer in layers) and not (sliding and not layers)

    # ---- sampling -----------------------------------------------------------------------------

    def generate(
        self,
        contexts: Sequence[Sequence[int]],
        generators: Sequence[np.random.Generator] | None = None,
    ) -> list[Completion]:
        """Continue each context by one message.

        Equal contexts are read once and their cache is shared out. Each sample draws from a
        generator of its own, one number a token, so what is sampled does not depend on which
        others are in the batch (but for the rounding of the matrix products).

        Args:
            contexts: Token ids, at least one each.
            generators: One for each context, or None for the likeliest token always.

        Raises:
            ValueError: A context is empty, or leaves no room for a message.
        """
        longest = self.max_context - self.max_new_tokens
        for context in contexts:
            if not 1 <= len(context) <= longest:
                raise ValueError(
                    f"a context has 1 to {longest} tokens (the model's {self.max_context} less "
                    f"max_new_tokens), not {len(context)}"
                )
        keys = [tuple(context) for context in contexts]
        order = sorted(range(len(keys)), key=lambda index: (len(keys[index]), keys[index]))
        found: dict[int, Completion] = {}
        for start in range(0, len(order), self.max_rows):
            members = order[start : start + self.max_rows]
            drawn = [generators[index] for index in members] if generators is not None else None
            completions = self._generate_rows([keys[index] for index in members], drawn)
            found.update(zip(members, completions, strict=True))
        return [found[index] for index in range(len(keys))]

    @torch.inference_mode()
    def _generate_rows(
        self, contexts: list[tuple[int, ...]], generators: list[np.random.Generator] | None
    ) -> list[Completion]:
        device = self.device
        distinct = list(dict.fromkeys(contexts))
        width = max(map(len, distinct))
        # Padding on the left, so that every context ends in the last column.
        padded = [[0] * (width - len(context)) + list(context) for context in distinct]
        tokens = torch.tensor(padded, device=device)
        lengths = torch.tensor([len(context) for context in distinct], device=device)
        mask = (torch.arange(width, device=device) >= (width - lengths)[:, None]).long()
        positions = (mask.cumsum(-1) - 1).clamp(min=0)
        cache = DynamicCache(config=self._config)
        hidden = self._forward(tokens, mask, positions, cache)
        place = {context: index for index, context in enumerate(distinct)}
        share = torch.tensor([place[context] for context in contexts], device=device)
        if len(distinct) < len(contexts):
            cache.batch_select_indices(share)
            hidden, mask, lengths = hidden[share], mask[share], lengths[share]

        sampled: list[list[int]] = [[] for _ in contexts]
        logprobs: list[list[float]] = [[] for _ in contexts]
        stopped = [False] * len(contexts)
        rows = list(range(len(contexts)))  # which sample each row of the batch is
        for step in range(self.max_new_tokens):
            uniform = None
            if generators is not None:
                # A row that has ended draws no more, or its later messages would depend on how
                # long it stayed in the batch.
                uniform = [0.0 if stopped[row] else generators[row].random() for row in rows]
            chosen, chosen_logprobs = self._choose(hidden, uniform)
            ended = torch.isin(chosen, self._stop_ids)
            for row, token, logprob, end in zip(
                rows, chosen.tolist(), chosen_logprobs.tolist(), ended.tolist(), strict=True
            ):
                if not stopped[row]:
                    sampled[row].append(token)
                    logprobs[row].append(logprob)
                    stopped[row] = end
            going = [place for place, row in enumerate(rows) if not stopped[row]]
            if not going or step + 1 == self.max_new_tokens:
                break
            if len(going) < _REORDER_BELOW * len(rows):
                keep = torch.tensor(going, device=device)
                cache.batch_select_indices(keep)
                mask, lengths, chosen = mask[keep], lengths[keep], chosen[keep]
                rows = [rows[place] for place in going]
            mask = torch.cat([mask, mask.new_ones(len(rows), 1)], dim=1)
            positions = (lengths + step)[:, None]
            hidden = self._forward(chosen[:, None], mask, positions, cache)
        return [
            Completion(
                token_ids=tuple(tokens_),
                logprobs=tuple(logprobs_),
                text=self._text(tokens_),
                stopped=stopped_,
            )
            for tokens_, logprobs_, stopped_ in zip(sampled, logprobs, stopped, strict=True)
        ]

    def _forward(
        self, tokens: torch.Tensor, mask: torch.Tensor, positions: torch.Tensor, cache: DynamicCache
    ) -> torch.Tensor:
        """Extend the cache and return the last column's logits, [R, V]."""
        with self._arithmetic():
            if self._head_is_plain:
                output = self._decoder(
                    input_ids=tokens, attention_mask=mask, position_ids=positions, cache=cache
                )
                return self._head(output.last_hidden_state[:, -1])  # type: ignore[no-any-return]
            output = self.model(
                input_ids=tokens,
                attention_mask=mask,
                position_ids=positions,
                cache=cache,
                logits_to_keep=1,
            )
            return output.logits[:, -1]  # type: ignore[no-any-return]

    def _choose(
        self, logits: torch.Tensor, uniform: list[float] | None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        logprobs = (logits.float() / self.temperature).log_softmax(-1)
        if uniform is None:
            chosen = logits.argmax(-1)
        else:
            # Inverse transform sampling. In float64, since a sum of fifty thousand float32
            # probabilities is off by more than many of them.
            cumulative = logprobs.double().exp().cumsum(-1)
            draws = torch.tensor(uniform, dtype=torch.float64, device=logits.device)
            draws = (draws * cumulative[:, -1])[:, None]
            chosen = torch.searchsorted(cumulative, draws, right=True)[:, 0]
            chosen = chosen.clamp(max=logits.shape[-1] - 1)
        return chosen, logprobs.gather(-1, chosen[:, None])[:, 0]

    def _text(self, token_ids: list[int]) -> str:
        text = str(self.tokenizer.decode(token_ids, skip_special_tokens=True))
        for character in self.style.stop_characters:
            text = text.split(character, 1)[0]
        return text

    # ---- log-probabilities --------------------------------------------------------------------

    def logprobs(self, batch: TokenBatch) -> torch.Tensor:
        """Return the log-probability of each sampled token, [N], at the sampling temperature.

        Only the outputs that predict a sampled token meet the vocabulary, so prompts, observations
        and padding cost no logits and can have no gradient of their own.
        """
        batch = batch.to(self.device)
        mask = batch.attention() if self.shares_prompts else (batch.branches >= 0).long()
        inputs = {
            "input_ids": batch.token_ids,
            "attention_mask": mask,
            "position_ids": batch.positions,
            "use_cache": False,
        }
        with self._arithmetic():
            if self._head_is_plain:
                hidden = self._training_decoder(**inputs).last_hidden_state
                logits = self._head(hidden[batch.rows, batch.predictors])
            else:
                logits = self.model(**inputs).logits[batch.rows, batch.predictors]
        scaled = logits.float() / self.temperature
        chosen = scaled.gather(-1, batch.targets[:, None])[:, 0]
        logprobs: torch.Tensor = chosen - scaled.logsumexp(-1)
        return logprobs

    @property
    def _head_is_plain(self) -> bool:
        """Whether logits are the output layer alone, without scaling or capping after it."""
        extras = ("final_logit_softcapping", "logit_scale", "logits_scaling")
        return all(getattr(self._config, name, None) in (None, 1.0) for name in extras)

    @contextlib.contextmanager
    def _arithmetic(self) -> Iterator[None]:
        """Multiply in bfloat16 on CUDA, and in the weights' own type elsewhere."""
        device = self.device
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type == "cuda"):
            yield


def use_threads(threads: int = 0) -> int:
    """Set torch's threads so that the sandboxes keep a core, and return the number.

    On two cores, two torch threads fell from 268 to between 1 and 20 tokens a second as soon as
    anything else ran, since they wait for one another; one thread kept 120-140.

    Args:
        threads: The number, or 0 for one less than there are cores.
    """
    cores = len(os.sched_getaffinity(0))
    chosen = threads or max(1, cores - 1)
    torch.set_num_threads(chosen)
    return chosen


def _stop_tokens(tokenizer: Any, characters: str) -> set[int]:
    """Return EOS and every token whose text holds one of the stop characters."""
    if not characters.isascii():
        raise ValueError(f"stop characters must be ASCII, not {characters!r}")
    found = {tokenizer.eos_token_id} if tokenizer.eos_token_id is not None else set()
    if characters:
        texts = tokenizer.batch_decode([[index] for index in range(len(tokenizer))])
        found |= {
            index for index, text in enumerate(texts) if any(char in text for char in characters)
        }
    if not found:
        raise ValueError("nothing could end a message: no EOS token and no stop characters")
    return found
