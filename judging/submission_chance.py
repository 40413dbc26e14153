"""Chance that is hard to prepare for and the same again: it is drawn from the submission."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping


def submission_chance(task_id: str, artifacts: Mapping[str, bytes]) -> random.Random:
    """Return the generator by which a submission is judged.

    Equal submissions are judged alike in every process, so that equal actions get equal rewards and
    equal words. Any change for the sake of what a submission will meet changes that (the heuristic
    of Fiat and Shamir, "How to prove yourself", 1986). It is no secret: whoever has this package at
    hand while writing, which no sandbox gives, could try variants until the draw suits. So a task
    never rests on it alone.

    Args:
        task_id: The task.
        artifacts: What is handed in.
    """
    digest = hashlib.sha256()
    for part in (
        task_id.encode(),
        *(part for name in sorted(artifacts) for part in (name.encode(), artifacts[name])),
    ):
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return random.Random(digest.digest())  # noqa: S311
