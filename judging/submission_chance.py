"""Chance that nobody can foresee and that is the same again: it is drawn from the submission."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping


def submission_chance(task_id: str, artifacts: Mapping[str, bytes]) -> random.Random:
    """Return the generator by which a submission is judged.

    Equal submissions are judged alike in every process, so that equal actions get equal rewards and
    equal words. Whoever writes one cannot have prepared for what it will meet: any change for the
    sake of that changes it (the heuristic of Fiat and Shamir, "How to prove yourself", 1986).

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
