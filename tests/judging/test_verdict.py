import json
import math

import pytest

from execgym.judging import Check, Status, Verdict


def verdict(status=Status.PASS, score=1.0, **rest):
    return Verdict(status=status, score=score, judge_version="1", **rest)


@pytest.mark.parametrize(
    "score", [math.nan, math.inf, -math.inf, 1.5, -0.1, 1, True, "1.0", None, [1.0]]
)
def test_a_score_that_is_no_sane_number_is_refused(score):
    with pytest.raises(ValueError, match="score"):
        verdict(score=score)


def test_a_pass_without_a_score_is_refused():
    with pytest.raises(ValueError, match="PASS"):
        verdict(score=0.0)


@pytest.mark.parametrize("status", [Status.INVALID, Status.JUDGE_ERROR])
def test_a_status_that_says_nothing_about_right_work_carries_no_score(status):
    with pytest.raises(ValueError, match="has no score"):
        verdict(status, 0.5)
    assert verdict(status, 0.0).score == 0.0


def test_a_fail_may_carry_partial_credit():
    assert verdict(Status.FAIL, 0.5).valid


def test_only_a_judge_error_is_not_valid():
    scores = {Status.PASS: 1.0}
    invalid = [status for status in Status if not verdict(status, scores.get(status, 0.0)).valid]
    assert invalid == [Status.JUDGE_ERROR]


def test_a_check_that_was_not_measured_cannot_pass():
    with pytest.raises(ValueError, match="leaks"):
        Check(name="leaks", passed=True, measurable=False)


def test_info_is_plain_data_without_none_or_nan():
    checks = (Check(name="rows", passed=True), Check(name="time", passed=False, value=2.0))
    info = verdict(checks=checks, reason="right").as_info()
    assert json.loads(json.dumps(info, allow_nan=False)) == info
    assert "value" not in info["checks"][0]
    assert info["checks"][1]["value"] == 2.0
    assert type(info["status"]) is str


def test_info_is_new_objects_each_time():
    subject = verdict(checks=(Check(name="rows", passed=True),))
    first = subject.as_info()
    first["checks"][0]["passed"] = False
    first["checks"].clear()
    assert subject.as_info()["checks"][0]["passed"] is True
