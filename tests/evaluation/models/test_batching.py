import asyncio

import pytest

from envtune_gym.evaluation.models.batching import Batches


def ask(questions, size, answer=None):
    """Ask all at once; return the answers and the batches."""
    seen = []

    def answer_all(batch):
        seen.append(list(batch))
        return [answer(one) if answer else one * 10 for one in batch]

    async def run():
        batches = Batches(answer_all, size)
        try:
            return await asyncio.gather(*map(batches.ask, questions), return_exceptions=True)
        finally:
            await batches.aclose()

    return asyncio.run(run()), seen


def test_what_is_asked_together_is_answered_together():
    assert ask(range(5), 8) == ([0, 10, 20, 30, 40], [[0, 1, 2, 3, 4]])


def test_a_batch_is_no_larger_than_its_size():
    assert ask(range(5), 2) == ([0, 10, 20, 30, 40], [[0, 1], [2, 3], [4]])


def test_a_batch_that_fails_fails_for_those_who_asked_in_it_alone():
    answers, _ = ask([1, 0, 2, 4], 2, lambda one: 8 // one)
    assert [type(answer) for answer in answers] == [ZeroDivisionError, ZeroDivisionError, int, int]


def test_conversations_at_different_turns_go_on_together():
    seen = []

    def answer_all(batch):
        seen.append(sorted(batch))
        return batch

    async def talk(batches, name, turns):
        for turn in range(turns):
            await batches.ask((turn, name))

    async def run():
        batches = Batches(answer_all, 8)
        await asyncio.gather(talk(batches, "a", 3), talk(batches, "b", 1), talk(batches, "c", 2))

    asyncio.run(run())
    assert seen == [[(0, "a"), (0, "b"), (0, "c")], [(1, "a"), (1, "c")], [(2, "a")]]


def test_who_gives_up_holds_nobody_up():
    async def run():
        batches = Batches(lambda batch: [one * 10 for one in batch], 8)
        impatient, patient = (asyncio.ensure_future(batches.ask(one)) for one in (1, 2))
        await asyncio.sleep(0)
        impatient.cancel()
        return await patient

    assert asyncio.run(asyncio.wait_for(run(), 20)) == 20


def test_a_close_lets_go_of_what_waits():
    async def run():
        batches = Batches(lambda batch: batch, 1)
        asking = asyncio.ensure_future(batches.ask(1))
        await asyncio.sleep(0)
        await batches.aclose()
        return asking

    asking = asyncio.run(asyncio.wait_for(run(), 20))
    with pytest.raises(asyncio.CancelledError):
        asking.result()
