"""What every judge's grading has in common: the retry on our own failure, and the gate."""

from __future__ import annotations

import logging
import math
from collections.abc import Awaitable, Callable, Sequence

from execgym.judging.verdict import Check, Status, Verdict

_LOGGER = logging.getLogger(__name__)
_ATTEMPTS = 2


async def grade_with_retry(grade: Callable[[], Awaitable[Verdict]], judge_version: str) -> Verdict:
    """Grade, and once more where the judge itself failed.

    `grade` turns whatever the candidate can cause into a FAIL and opens fresh sandboxes each time
    it is called. So an exception out of it (`SandboxError` or any other), or a JUDGE_ERROR, says
    nothing about the candidate. A FAIL is never tried again: that would reward luck.

    Args:
        grade: The grading.
        judge_version: Goes into the verdict when `grade` gives none.

    Returns:
        The first verdict about the candidate, else a JUDGE_ERROR. Its reason names the classes of
        the failures only, since their messages may hold hidden data; those go to the log.

    Raises:
        asyncio.CancelledError: The caller was cancelled. Nothing is tried again then.
    """
    failures: list[str] = []
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            verdict = await grade()
            if type(verdict) is not Verdict:
                raise TypeError(f"a judge returned {type(verdict).__name__}, not Verdict")
        except Exception as error:
            _LOGGER.warning("grading attempt %d failed", attempt, exc_info=True)
            failures.append(type(error).__name__)
            continue
        if verdict.valid:
            return verdict
        failures.append(verdict.reason or "JUDGE_ERROR without a reason")
    return Verdict(
        status=Status.JUDGE_ERROR,
        score=0.0,
        reason=f"The judge failed {_ATTEMPTS} times: {'; '.join(failures)}.",
        judge_version=judge_version,
    )


def gate(correct: bool, weighted: Sequence[tuple[float, Check]] = ()) -> float:
    """Return the score of work whose correctness gates everything else.

    Wrong work scores 0 however well it does otherwise. Right work scores 1 less the weights of the
    checks that have not passed. A check that could not be measured has not passed.

    Args:
        correct: Whether the work is right.
        weighted: Weights and checks. The weights are not negative and their sum is below 1, so
            that right work always has a positive score.

    Raises:
        ValueError: The weights are not as said.
    """
    weights = [weight for weight, _ in weighted]
    if not all(math.isfinite(weight) and weight >= 0 for weight in weights) or sum(weights) >= 1:
        raise ValueError(f"weights are not negative and sum to less than 1, unlike {weights}")
    if not correct:
        return 0.0
    return 1.0 - math.fsum(weight for weight, check in weighted if not check.passed)
