import asyncio

import pytest

from envtune_gym import load_tasks
from envtune_gym.asking import RefusedAccessError, RefusedRequestError
from envtune_gym.errors import ServerError
from envtune_gym.evaluation.runs.episode import env_maker
from envtune_gym.evaluation.runs.policies import OracleMaker, RandomMaker
from envtune_gym.evaluation.runs.runner import InProcess, Runner, episodes_to_play
from envtune_gym.tasks import TaskSet


@pytest.fixture(scope="module")
def tasks():
    return TaskSet(list(load_tasks("generated", split="test")[:12]))


@pytest.fixture
def play(tasks, run):
    """Play all tasks; return the records and the runner."""

    def play(maker, *, samples=1, concurrency=4):
        records = []
        runner = Runner(InProcess(env_maker(tasks, run), maker, run), records.append, concurrency=concurrency)
        asyncio.run(runner.play(episodes_to_play(tasks, samples)))
        return records, runner

    return play


class Maker:
    """Wraps the oracle: something happens at each reply."""

    name = "maker"

    def __init__(self, at_reply):
        self.oracle = OracleMaker("tool_call")
        self.at_reply = at_reply

    def make(self, task, sample, seed):
        maker, policy = self, self.oracle.make(task, sample, seed)

        class Policy:
            async def reply(self, messages, tools):
                await maker.at_reply(task, sample)
                return await policy.reply(messages, tools)

        return Policy()

    async def aclose(self):
        pass


def plain(records):
    return sorted(
        (record.model_dump(exclude={"seconds"}) for record in records), key=lambda one: (one["task_id"], one["sample"])
    )


@pytest.mark.parametrize("concurrency", [2, 5, 100])
def test_how_many_are_in_work_changes_no_record(play, concurrency):
    alone, _ = play(RandomMaker("tool_call"), samples=3, concurrency=1)
    crowd, _ = play(RandomMaker("tool_call"), samples=3, concurrency=concurrency)
    assert len(alone) == 36
    assert plain(crowd) == plain(alone)


def test_samples_differ_by_their_seeds_and_come_again_with_them(play):
    records, _ = play(RandomMaker("tool_call"), samples=2)
    by_task = {}
    for record in records:
        by_task.setdefault(record.task_id, []).append(record.messages)
    assert all(one != other for one, other in by_task.values())


def test_never_more_are_in_work_than_allowed_and_no_fewer_while_there_are_any(play):
    in_work, most = 0, 0

    async def at_reply(task, sample):
        nonlocal in_work, most
        in_work += 1
        most = max(most, in_work)
        await asyncio.sleep(0)
        in_work -= 1

    records, _ = play(Maker(at_reply), concurrency=5)
    assert most == 5
    assert all(record.success for record in records)


def test_each_episode_is_kept_before_its_place_begins_another(tasks, run):
    kept, begun = [], []

    async def at_reply(task, sample):
        if task.id not in begun:
            assert len(kept) == len(begun)
            begun.append(task.id)

    runner = Runner(InProcess(env_maker(tasks, run), Maker(at_reply), run), kept.append, concurrency=1)
    asyncio.run(runner.play(episodes_to_play(tasks, 1)))
    assert [record.task_id for record in kept] == begun == tasks.ids


def test_one_slow_episode_holds_up_no_other(tasks, run):
    kept = []

    async def scenario():
        released = asyncio.Event()

        async def at_reply(task, sample):
            if task.id == tasks.ids[0]:
                await released.wait()

        def keep(record):
            kept.append(record.task_id)
            if len(kept) == len(tasks) - 1:
                released.set()

        runner = Runner(InProcess(env_maker(tasks, run), Maker(at_reply), run), keep, concurrency=2)
        await runner.play(episodes_to_play(tasks, 1))

    asyncio.run(scenario())
    assert kept[-1] == tasks.ids[0]


def test_a_broken_episode_is_recorded_and_the_others_go_on(play, tasks):
    async def at_reply(task, sample):
        if task.id == tasks.ids[3]:
            raise ServerError("gone")

    records, runner = play(Maker(at_reply))
    assert [record.task_id for record in records if record.broken] == [tasks.ids[3]]
    assert sum(record.success for record in records) == len(tasks) - 1
    assert runner.stopped is None


def test_a_run_of_nothing_but_broken_episodes_is_stopped(play):
    async def at_reply(task, sample):
        raise ServerError("cannot connect")

    records, runner = play(Maker(at_reply), samples=20, concurrency=4)
    assert 20 < len(records) < 30
    assert "cannot connect" in runner.stopped


def test_a_server_that_sometimes_answers_is_not_given_up(play):
    async def at_reply(task, sample):
        if sample % 10:
            raise ServerError("overloaded")

    records, runner = play(Maker(at_reply), samples=20, concurrency=1)
    assert sum(bool(record.broken) for record in records) == 216
    assert runner.stopped is None


def test_refused_requests_stop_nothing(play):
    async def at_reply(task, sample):
        raise RefusedRequestError("too long")

    records, runner = play(Maker(at_reply), samples=20)
    assert len(records) == 240
    assert runner.stopped is None


def test_a_server_that_lets_nobody_in_stops_the_run_and_fails_no_episode(play):
    async def at_reply(task, sample):
        raise RefusedAccessError("wrong key")

    records, runner = play(Maker(at_reply))
    assert (records, runner.stopped) == ([], "wrong key")


def test_a_file_that_cannot_be_written_stops_the_run(tasks, run):
    def keep(record):
        raise OSError(28, "No space left on device")

    runner = Runner(InProcess(env_maker(tasks, run), OracleMaker("tool_call"), run), keep, concurrency=4)
    with pytest.raises(OSError, match="No space left"):
        asyncio.run(runner.play(episodes_to_play(tasks, 1)))


def test_a_cancelled_run_has_kept_what_was_finished_and_nothing_else(tasks, run):
    kept = []

    async def scenario():
        reached = asyncio.Event()

        async def at_reply(task, sample):
            if len(kept) >= 5:
                reached.set()
                await asyncio.Event().wait()

        runner = Runner(InProcess(env_maker(tasks, run), Maker(at_reply), run), kept.append, concurrency=3)
        playing = asyncio.ensure_future(runner.play(episodes_to_play(tasks, 1)))
        await reached.wait()
        playing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await playing
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(scenario())
    assert 5 <= len(kept) < len(tasks)
    assert all(record.success for record in kept)
