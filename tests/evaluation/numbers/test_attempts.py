import itertools

import pytest

from envtune_gym.errors import ConfigurationError
from envtune_gym.evaluation.numbers.attempts import pass_all, pass_any, reported_ks


@pytest.mark.parametrize(("attempts", "successes", "k"), [(5, 2, 3), (6, 0, 2), (6, 6, 4), (4, 1, 4), (7, 3, 1)])
def test_both_are_shares_of_all_draws(attempts, successes, k):
    outcomes = [index < successes for index in range(attempts)]
    draws = list(itertools.combinations(outcomes, k))
    assert pass_any(attempts, successes, k) == pytest.approx(sum(map(any, draws)) / len(draws))
    assert pass_all(attempts, successes, k) == pytest.approx(sum(map(all, draws)) / len(draws))


def test_more_draws_than_attempts_are_refused():
    with pytest.raises(ConfigurationError, match="k = 3"):
        pass_any(2, 1, 3)
    with pytest.raises(ConfigurationError):
        pass_all(2, 3, 1)


def test_powers_of_two_and_all_attempts_are_reported():
    assert [reported_ks(attempts) for attempts in (1, 2, 6, 8)] == [[1], [1, 2], [1, 2, 4, 6], [1, 2, 4, 8]]
