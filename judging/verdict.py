"""What a judge says."""

from __future__ import annotations

import dataclasses
import enum
import math
from typing import Any


class Status(enum.StrEnum):
    """The four things a judge can say.

    `JUDGE_ERROR` is the judge's own failure: it carries no score, and a learner must mask it.
    `INVALID` is kept for proof of cheating; a wrong answer is a `FAIL`.
    """

    PASS = "pass"  # noqa: S105
    FAIL = "fail"
    INVALID = "invalid"
    JUDGE_ERROR = "judge_error"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that the judge looked at, reported apart from the rest.

    Attributes:
        name: What was looked at, for example `"hidden rows"`.
        passed: Whether it held. A check that could not be measured has not passed.
        value: The measured figure, NaN where there is none.
        threshold: What `value` was held against, NaN where there is none.
        measurable: False where this machine or task cannot measure it.
        detail: One sentence for a person. It never holds hidden data.
    """

    name: str
    passed: bool
    value: float = math.nan
    threshold: float = math.nan
    measurable: bool = True
    detail: str = ""

    def __post_init__(self) -> None:
        if self.passed and not self.measurable:
            raise ValueError(f"check {self.name!r} cannot pass without having been measured")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A judge's answer about one submission.

    Attributes:
        status: See `Status`.
        score: Finite, in [0, 1]; 0 unless the gate held or the task grants partial credit. A
            `PASS` has a positive score. A `JUDGE_ERROR` has none: its score is 0 and means nothing.
        checks: What was looked at.
        reason: One sentence for a person. It never holds hidden data.
        judge_version: Which judge said so.
    """

    status: Status
    score: float
    checks: tuple[Check, ...] = ()
    reason: str = ""
    judge_version: str

    def __post_init__(self) -> None:
        if type(self.score) is not float or not math.isfinite(self.score):
            raise ValueError(f"a score is a finite float, not {self.score!r}")
        if not 0.0 <= self.score <= 1.0:
            raise ValueError(f"a score lies in [0, 1], not {self.score!r}")
        if self.status is Status.PASS and self.score == 0.0:
            raise ValueError("a PASS has a positive score")
        if self.status in (Status.INVALID, Status.JUDGE_ERROR) and self.score != 0.0:
            raise ValueError(f"{self.status} has no score, not {self.score!r}")

    @property
    def valid(self) -> bool:
        """Whether the score says something about the candidate."""
        return self.status is not Status.JUDGE_ERROR

    def as_info(self) -> dict[str, Any]:
        """Return plain data for `info["verdict"]`: new objects, one type per key, no None."""
        return {
            "status": str(self.status),
            "score": self.score,
            "reason": self.reason,
            "judge_version": self.judge_version,
            "checks": [_check_as_info(check) for check in self.checks],
        }


def _check_as_info(check: Check) -> dict[str, Any]:
    # Gymnasium's checker never finds NaN equal to NaN, so a missing figure is left out.
    data: dict[str, Any] = {
        "name": check.name,
        "passed": check.passed,
        "measurable": check.measurable,
        "detail": check.detail,
    }
    if not math.isnan(check.value):
        data["value"] = check.value
    if not math.isnan(check.threshold):
        data["threshold"] = check.threshold
    return data
