import gc
import importlib.util
import os
import signal

import pytest
from hypothesis import settings

from envtune_gym import Task

# Ray reads it when it is imported. What its processes say of each other's ends would stand in what a command printed.
os.environ.setdefault("RAY_LOG_TO_DRIVER", "0")

# Some tests interrupt processes. A shell that runs tests in the background has interruptions ignored, and what it
# starts inherits that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("default", deadline=None, derandomize=True)
settings.load_profile("default")

HAS_BFCL = importlib.util.find_spec("bfcl_eval") is not None


def pytest_collection_modifyitems(items):
    """Skip what reads the official data where it is not installed."""
    if HAS_BFCL:
        return
    skip = pytest.mark.skip(reason="needs the official data: pip install --no-deps bfcl-eval==2026.3.23")
    for item in items:
        if item.get_closest_marker("bfcl"):
            item.add_marker(skip)


def pytest_collection_finish():
    """Take what the imports left out of every later garbage collection.

    It is three quarters of a million objects, which stay to the end; going through them takes half a second each time.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture
def ticket_task() -> Task:
    """Two turns over two domains: open a ticket, then close it and average some numbers."""
    return Task(
        id="ticket",
        category="base",
        domains=("TicketAPI", "MathAPI"),
        initial_config={
            "TicketAPI": {"ticket_queue": [], "ticket_counter": 7, "current_user": "ann"},
        },
        turns=("Open a ticket 'Lamp' saying the lamp is broken.", "Close it and average 1, 2 and 6."),
        ground_truth=(
            ("create_ticket(title='Lamp', description='The lamp is broken.')",),
            ("close_ticket(ticket_id=7)", "mean(numbers=[1, 2, 6])"),
        ),
    )


@pytest.fixture
def withheld_task(ticket_task) -> Task:
    """The same with `close_ticket` withheld until a third turn."""
    return ticket_task.model_copy(
        update={
            "id": "withheld",
            "category": "miss_func",
            "turns": (*ticket_task.turns, "More tools are here now."),
            "ground_truth": (ticket_task.ground_truth[0], (), ticket_task.ground_truth[1]),
            "missed_functions": {2: ("close_ticket",)},
            "excluded_functions": ("get_ticket",),
        }
    )


@pytest.fixture(scope="module")
def ray_cluster():
    """A local Ray cluster of two processors, for the tests of a module."""
    import ray

    from envtune_gym.integrations.ray import cluster

    with cluster("local", processors=2):
        yield
    assert not ray.is_initialized()
