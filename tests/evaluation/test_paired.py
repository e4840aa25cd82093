import pytest

from envtune_gym.evaluation.paired import Interval, paired_shares

SCENARIOS = [f"s{number}" for number in range(20)]
HALF = [number % 2 for number in range(20)]


def test_shares_are_means_over_cases():
    shares = paired_shares(["a", "a", "b"], {"off": [0, 0, 0], "on": [1, 0.5, 0]}, "off")
    assert shares["on"].share.value == pytest.approx(0.5)
    assert shares["on"].difference.value == pytest.approx(0.5)
    assert shares["off"].difference == Interval(0, 0, 0)


def test_differences_are_paired():
    shares = paired_shares(SCENARIOS, {"off": [one / 2 for one in HALF], "on": [one / 2 + 0.25 for one in HALF]}, "off")
    difference, share = shares["on"].difference, shares["on"].share
    assert (difference.low, difference.high) == pytest.approx((0.25, 0.25))
    assert share.low + 0.1 < share.value < share.high - 0.1


def test_more_cases_of_the_same_scenarios_tell_nothing_new():
    once = paired_shares(SCENARIOS, {"off": HALF}, "off")
    assert paired_shares(SCENARIOS * 10, {"off": HALF * 10}, "off") == once
    apart = [f"{name}-{copy}" for copy in range(10) for name in SCENARIOS]
    more = paired_shares(apart, {"off": HALF * 10}, "off")
    assert more["off"].share.high - more["off"].share.low < once["off"].share.high - once["off"].share.low
