import asyncio
import math

import pytest

from execgym.judging import Check, Status, Verdict, gate, grade_with_retry
from execgym.sandbox.errors import SandboxDiedError

PASS = Verdict(status=Status.PASS, score=1.0, judge_version="7")
FAIL = Verdict(status=Status.FAIL, score=0.0, judge_version="7")
BROKEN = Verdict(status=Status.JUDGE_ERROR, score=0.0, reason="No gold.", judge_version="7")


def grade(*outcomes):
    """Grade with a judge that has these outcomes, one a call; return the verdict and the calls."""
    calls = []

    async def judge():
        outcome = outcomes[len(calls)]
        calls.append(outcome)
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    return asyncio.run(grade_with_retry(judge, judge_version="1")), len(calls)


@pytest.mark.parametrize("verdict", [PASS, FAIL])
def test_a_verdict_about_the_candidate_is_final(verdict):
    assert grade(verdict) == (verdict, 1)


@pytest.mark.parametrize(
    "failure", [SandboxDiedError("gone"), KeyError("gold"), TimeoutError(), BROKEN, None]
)
def test_a_failure_of_ours_is_tried_once_more(failure):
    assert grade(failure, PASS) == (PASS, 2)


def test_two_failures_of_ours_are_a_judge_error_without_a_score():
    verdict, calls = grade(SandboxDiedError("x"), OSError("y"))
    assert calls == 2
    assert verdict.status is Status.JUDGE_ERROR
    assert (verdict.score, verdict.valid, verdict.judge_version) == (0.0, False, "1")


def test_a_judge_error_names_the_failures_but_not_their_hidden_messages():
    verdict, _ = grade(KeyError("the gold answer"), SandboxDiedError("hidden rows"))
    assert "KeyError" in verdict.reason
    assert "SandboxDiedError" in verdict.reason
    assert "gold" not in verdict.reason
    assert "hidden" not in verdict.reason


def test_a_cancelled_grading_is_not_tried_again():
    with pytest.raises(asyncio.CancelledError):
        grade(asyncio.CancelledError(), PASS)


def test_wrong_work_scores_nothing_however_well_it_does_otherwise():
    assert gate(False, [(0.4, Check(name="style", passed=True))]) == 0.0


def test_right_work_loses_the_weight_of_each_check_that_has_not_passed():
    weighted = [
        (0.25, Check(name="style", passed=True)),
        (0.25, Check(name="time", passed=False)),
        (0.125, Check(name="leaks", passed=False, measurable=False)),
    ]
    assert gate(True, weighted) == 0.625
    assert gate(True) == 1.0


@pytest.mark.parametrize("weights", [[1.0], [0.5, 0.5], [-0.1], [math.nan], [math.inf]])
def test_weights_that_could_leave_right_work_without_a_score_are_refused(weights):
    with pytest.raises(ValueError, match="weights"):
        gate(True, [(weight, Check(name="style", passed=False)) for weight in weights])
