import asyncio
import time

import pytest

from envtune_gym.asking.retrying import PassingFaultError, persist, wanted_pause


def attempts(*faults):
    """An attempt that fails so often before it succeeds; it counts."""
    left = list(faults)

    async def attempt(seconds):
        attempt.seconds.append(seconds)
        if left:
            raise left.pop(0)
        return "done"

    attempt.seconds = []
    return attempt


def now():
    return PassingFaultError("not now", 0.0)


def test_it_is_tried_until_it_succeeds():
    attempt = attempts(now(), now())
    assert asyncio.run(persist(attempt, retries=2, seconds=10)) == "done"
    assert len(attempt.seconds) == 3
    assert 10 >= attempt.seconds[0] > attempt.seconds[-1] > 9


def test_the_number_of_retries_is_a_limit():
    attempt = attempts(*[now() for _ in range(9)])
    with pytest.raises(PassingFaultError, match="not now"):
        asyncio.run(persist(attempt, retries=3, seconds=10))
    assert len(attempt.seconds) == 4


@pytest.mark.parametrize("pause", [None, 60.0, 1e300, float("inf")])
def test_a_pause_beyond_the_time_that_is_left_is_not_made(pause):
    attempt = attempts(PassingFaultError("later", pause))
    start = time.monotonic()
    with pytest.raises(PassingFaultError, match="later"):
        asyncio.run(persist(attempt, retries=9, seconds=0.1))
    assert time.monotonic() - start < 5


@pytest.mark.parametrize(
    ("headers", "pause"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "20", "retry-after": "3"}, 0.02),
        ({"retry-after-ms": "soon", "retry-after": "3"}, 3.0),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "tomorrow"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "Wed, 99 Oct 2015 07:28:00 GMT"}, None),
    ],
)
def test_the_server_says_when_to_come_back(headers, pause):
    assert wanted_pause(headers) == (None if pause is None else pytest.approx(pause))
