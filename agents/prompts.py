"""How observations become tokens and tokens become actions."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Protocol


class PromptStyle(Protocol):
    """The way that a policy talks with an env."""

    @property
    def needs_stop(self) -> bool:
        """Whether a message that ran to its length limit cannot be followed by another turn."""
        ...

    @property
    def stop_characters(self) -> str:
        """ASCII characters that end a message; the text is cut before them."""
        ...

    def first(self, tokenizer: Any, observation: str) -> list[int]:
        """Return the tokens that the first message continues."""
        ...

    def following(self, tokenizer: Any, observation: str) -> list[int]:
        """Return the tokens to append after a message, which the next message continues."""
        ...

    def action(self, text: str) -> str:
        """Return the env's action for a message's text."""
        ...


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RawPrompt:
    """Plain text to be continued: what a small model does best.

    With the defaults, which are for SQL, the model continues the observation and a new line with
    ``SQL: SELECT``, and what it writes up to the end of the line is the rest of the query.

    Attributes:
        suffix: Stands between the observation and the message.
        action_prefix: The part of the suffix that belongs to the action.
        stop_characters: End a message.
    """

    suffix: str = "\nSQL: SELECT"
    action_prefix: str = "SELECT"
    stop_characters: str = "\n;"
    needs_stop: bool = False

    def __post_init__(self) -> None:
        if not self.suffix.endswith(self.action_prefix):
            raise ValueError(f"suffix {self.suffix!r} must end with {self.action_prefix!r}")

    def first(self, tokenizer: Any, observation: str) -> list[int]:
        """Return the tokens of the observation and the suffix."""
        return list(tokenizer.encode(observation + self.suffix))

    def following(self, tokenizer: Any, observation: str) -> list[int]:
        """Return the tokens of a new line, the observation and the suffix."""
        return list(tokenizer.encode("\n" + observation + self.suffix, add_special_tokens=False))

    def action(self, text: str) -> str:
        """Return the prefix and the text."""
        return self.action_prefix + text


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ChatPrompt:
    """The model's own chat template: observations are the user's turns.

    Attributes:
        system: A system message, or the empty string for the template's own.
        tools: OpenAI-style schemas for the template. Leave it empty where the env's instructions
            already name the tools, or where the template knows none.
    """

    system: str = ""
    tools: Sequence[Mapping[str, Any]] = ()
    stop_characters: str = ""
    needs_stop: bool = True

    def first(self, tokenizer: Any, observation: str) -> list[int]:
        """Return the tokens of the conversation that asks for the first message."""
        text = self._render(tokenizer, [*self._head(), _user(observation)], prompt=True)
        return list(tokenizer.encode(text, add_special_tokens=False))

    def following(self, tokenizer: Any, observation: str) -> list[int]:
        """Return the tokens between a message's EOS and the next message.

        The template is rendered with and without the new turn after a stand-in conversation, and
        the difference after the last EOS is tokenised: what the model has sampled stays as it is
        (the method of TRL's `_get_tool_suffix_ids`).
        """
        before = [*self._head(), _user("?"), {"role": "assistant", "content": "!"}]
        shorter = self._render(tokenizer, before, prompt=False)
        longer = self._render(tokenizer, [*before, _user(observation)], prompt=True)
        end = shorter.rfind(tokenizer.eos_token)
        cut = end + len(tokenizer.eos_token) if end >= 0 else len(shorter)
        if longer[:cut] != shorter[:cut]:
            raise ValueError(
                "this chat template rewrites earlier turns, so that a conversation cannot be "
                "extended token by token; use RawPrompt or episodes of one turn"
            )
        return list(tokenizer.encode(longer[cut:], add_special_tokens=False))

    def action(self, text: str) -> str:
        """Return the text."""
        return text

    def _head(self) -> list[dict[str, str]]:
        return [{"role": "system", "content": self.system}] if self.system else []

    def _render(self, tokenizer: Any, messages: list[dict[str, str]], *, prompt: bool) -> str:
        if not tokenizer.chat_template:
            raise ValueError("this tokenizer has no chat template; use RawPrompt")
        return str(
            tokenizer.apply_chat_template(
                messages,
                tools=[dict(tool) for tool in self.tools] or None,
                add_generation_prompt=prompt,
                tokenize=False,
            )
        )


def _user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}
