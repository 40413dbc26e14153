"""The space of text.

`gymnasium.spaces.Text` needs an alphabet, costs memory and time in proportion to it, and its
shared-memory and batching paths fail for real text (measured with Gymnasium 1.4.0). BrowserGym and
MiniWoB++ came to the same end with a space of their own.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

_SAMPLE_ALPHABET = "abcdefghijklmnopqrstuvwxyz ABCXYZ0123456789_.,;:()[]{}<>=+-*/'\"\n#é√漢🙂"
_SAMPLE_LENGTH = 64


class Unicode(gymnasium.Space[str]):
    """Every string of at most `max_length` code points that UTF-8 can carry, the empty one too.

    It takes O(1) memory. Lone surrogates are not in it: no byte sequence means them, so they
    cannot reach a file, a pipe or a tokenizer. A sample is short, at most 64 code points.

    Args:
        max_length: Largest number of code points, at least 1.
        seed: Seed of the space's own generator.
    """

    def __init__(self, max_length: int, *, seed: int | np.random.Generator | None = None) -> None:
        if isinstance(max_length, bool) or not isinstance(max_length, int) or max_length < 1:
            raise ValueError(f"max_length must be a whole number of at least 1, not {max_length!r}")
        self.max_length = max_length
        super().__init__(shape=None, dtype=str, seed=seed)

    @property
    def is_np_flattenable(self) -> bool:
        """False: text has no fixed-size array form. Use a token wrapper for that."""
        return False

    def sample(self, mask: None = None, probability: None = None) -> str:
        """Return a short random string. Masks are not supported."""
        if mask is not None or probability is not None:
            raise gymnasium.error.Error("Unicode.sample takes no mask and no probability")
        length = int(self.np_random.integers(0, min(self.max_length, _SAMPLE_LENGTH) + 1))
        picks = self.np_random.integers(0, len(_SAMPLE_ALPHABET), size=length)
        return "".join(_SAMPLE_ALPHABET[index] for index in picks)

    def contains(self, x: Any) -> bool:
        """Return whether `x` is a `str` of allowed length without lone surrogates."""
        return isinstance(x, str) and len(x) <= self.max_length and is_encodable(x)

    def to_jsonable(self, sample_n: Any) -> list[str]:
        """Return the samples as they are."""
        return list(sample_n)

    def from_jsonable(self, sample_n: list[Any]) -> list[str]:
        """Return the samples as they are."""
        return list(sample_n)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unicode) and other.max_length == self.max_length

    def __hash__(self) -> int:
        return hash((Unicode, self.max_length))

    def __repr__(self) -> str:
        return f"Unicode({self.max_length})"


def is_encodable(text: str) -> bool:
    """Return whether UTF-8 can carry `text`, which is to say that it has no lone surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
