import pytest
from hypothesis import given
from hypothesis import strategies as st

from execgym.judging.success_rate import success_rate


def test_wilsons_interval_is_the_published_one():
    # Newcombe 1998 (Stat. Med. 17), table I: 81 of 263 and 1 of 29.
    rate = success_rate(81, 263)
    assert (rate.low, rate.high) == pytest.approx((0.2553, 0.3662), abs=1e-4)
    rate = success_rate(1, 29)
    assert (rate.low, rate.high) == pytest.approx((0.0061, 0.1718), abs=1e-4)


@given(st.integers(0, 500), st.integers(0, 500))
def test_an_interval_holds_its_rate(a, b):
    rate = success_rate(min(a, b), max(a, b))
    assert 0 <= rate.low <= rate.rate <= rate.high <= 1


def test_more_successes_than_episodes_are_refused():
    with pytest.raises(ValueError, match="2 successes of 1"):
        success_rate(2, 1)


def test_a_rate_reads_as_a_sentence():
    assert str(success_rate(1, 2)) == "1/2 = 50.0% (95 % interval 9.5% to 90.5%)"
