"""Episodes of an evaluation in the processes of a real Ray cluster, some of which are killed."""

import asyncio
import os
import signal
import sys

import pytest

pytest.importorskip("ray", reason='needs Ray: pip install ".[ray]"')
if sys.platform != "linux":
    pytest.skip("finds the processes of a cluster in /proc", allow_module_level=True)

from ray_processes import kill_one, pids

from envtune_gym import TaskSet, load_tasks
from envtune_gym.errors import ConfigurationError, ServerError
from envtune_gym.evaluation.runs.episode import env_maker
from envtune_gym.evaluation.runs.policies import OracleMaker, RandomMaker
from envtune_gym.evaluation.runs.records import RunSettings
from envtune_gym.evaluation.runs.runner import InProcess, Runner, episodes_to_play
from envtune_gym.integrations.ray import RayExecutor

WORKER = "_EvaluationWorker"
RUN = RunSettings(policy="test")


@pytest.fixture(scope="module")
def tasks():
    return TaskSet(list(load_tasks("generated", split="test")[:24]))


def run(executor, tasks, keep, *, samples=1, concurrency=4):
    """Play all tasks; return the runner."""

    async def play():
        try:
            runner = Runner(executor, keep, concurrency=concurrency)
            await runner.play(episodes_to_play(tasks, samples))
            return runner
        finally:
            await executor.aclose()

    return asyncio.run(play())


def in_process(tasks, maker):
    make_env = env_maker(tasks, RUN)
    return lambda places: InProcess(make_env, maker, RUN)


def plain(records):
    found = [record.model_dump(exclude={"seconds"}) for record in records]
    return sorted(found, key=lambda one: (one["task_id"], one["sample"]))


@pytest.mark.usefixtures("ray_cluster")
def test_a_worker_that_is_killed_in_the_middle_changes_no_record(tasks):
    here, there, killed = [], [], []
    make = in_process(tasks, RandomMaker("tool_call"))
    run(make(1), tasks, here.append, samples=2)

    def keep(record):
        there.append(record)
        if len(there) in (5, 20):
            killed.append(kill_one(WORKER))

    run(RayExecutor(make, RUN, 4), tasks, keep, samples=2)
    assert len(set(killed)) == 2
    assert len(there) == 48
    assert plain(there) == plain(here)
    assert not pids(WORKER) & set(killed)


def deadly(marker, deadly_id, *, always):
    """Return the oracle, which kills its process in the middle of a task: always, or once."""

    class Deadly:
        name = "deadly"

        def make(self, task, sample, seed):
            policy = OracleMaker("tool_call").make(task, sample, seed)

            class Policy:
                async def reply(self, messages, tools):
                    if task.id == deadly_id and len(messages) > 2 and (always or not marker.exists()):
                        marker.touch()
                        os.kill(os.getpid(), signal.SIGKILL)
                    return await policy.reply(messages, tools)

            return Policy()

        async def aclose(self):
            pass

    return Deadly()


@pytest.mark.usefixtures("ray_cluster")
@pytest.mark.parametrize("always", [False, True])
def test_an_episode_that_its_worker_dies_of_is_tried_again_and_costs_no_other(tasks, tmp_path, always):
    records = []
    make = in_process(tasks, deadly(tmp_path / "died", tasks.ids[3], always=always))
    runner = run(RayExecutor(make, RUN, 8), tasks, records.append, concurrency=8)
    assert (tmp_path / "died").exists()
    assert sorted(record.task_id for record in records) == sorted(tasks.ids)
    broken = [record for record in records if record.broken]
    assert [record.task_id for record in broken] == ([tasks.ids[3]] if always else [])
    assert all("the Ray workers that played it died" in record.broken for record in broken)
    assert all(record.success for record in records if not record.broken)
    assert runner.stopped is None


@pytest.mark.usefixtures("ray_cluster")
def test_a_worker_that_cannot_play_stops_the_run_with_the_reason(tasks):
    def make(places):
        raise ConfigurationError("cannot import my_agent")

    with pytest.raises(ServerError, match="a Ray worker cannot play this: cannot import my_agent"):
        run(RayExecutor(make, RUN, 4), tasks, print)


@pytest.mark.usefixtures("ray_cluster")
def test_workers_that_die_at_once_stop_the_run(tasks):
    def make(places):
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(ServerError, match="workers die before they can play"):
        run(RayExecutor(make, RUN, 1), tasks, print, concurrency=1)


@pytest.mark.usefixtures("ray_cluster")
def test_workers_end_with_their_run(tasks):
    executor = RayExecutor(in_process(tasks, OracleMaker("tool_call")), RUN, 2)
    seen = set()
    run(executor, tasks, lambda record: seen.update(pids(WORKER)), concurrency=2)
    assert seen  # one may have played all before the other had started
    while pids(WORKER) & seen:
        os.sched_yield()
