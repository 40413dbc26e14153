"""A language model as the agent of `execgym run`."""

from __future__ import annotations

import numpy as np

from execgym.agents.policy import LLMPolicy, use_threads
from execgym.agents.prompts import ChatPrompt, RawPrompt
from execgym.envs.core import ExecEnv


class ModelAgent:
    """Plays episode after episode with one model.

    A model whose tokenizer has a chat template is asked by it. Another one continues plain text.

    Args:
        name: See `execgym.agents.models.load_model`.
        seed: Of the sampling.
        temperature: Of the sampling; 0 for the likeliest token always.
        max_new_tokens: Length limit of a message.
    """

    def __init__(
        self, name: str, *, seed: int, temperature: float = 0.0, max_new_tokens: int = 256
    ) -> None:
        use_threads()
        self._policy = LLMPolicy.load(
            name, temperature=temperature or 1.0, max_new_tokens=max_new_tokens, style=ChatPrompt()
        )
        if not self._policy.tokenizer.chat_template:
            self._policy.style = RawPrompt(suffix="\n", action_prefix="", stop_characters="")
        self._generator = np.random.default_rng(seed) if temperature else None
        self._context: list[int] = []

    def __call__(self, env: ExecEnv, observation: str) -> str:
        """Return the next message."""
        policy = self._policy
        if env.turn == 0:
            self._context = policy.style.first(policy.tokenizer, observation)
        else:
            self._context += policy.style.following(policy.tokenizer, observation)
        generators = [self._generator] if self._generator is not None else None
        (completion,) = policy.generate([self._context], generators)
        self._context += completion.token_ids
        return policy.style.action(completion.text)
