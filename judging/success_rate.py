"""How often candidates pass, and how sure that is."""

from __future__ import annotations

import dataclasses
import math


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
