"""Small runs to look at."""

import asyncio
import json

from envtune_gym import Task, TaskSet
from envtune_gym.calls import render_answer, render_calls
from envtune_gym.callsyntax import Call
from envtune_gym.evaluation.runs.episode import env_maker, new_record, play_episode
from envtune_gym.evaluation.runs.policies import ScriptedPolicy
from envtune_gym.evaluation.runs.records import RunSettings
from envtune_gym.tasks import save_jsonl

HOSTILE = (
    "<script>alert(1)</script></script><img src=x onerror=alert(2)><!-- --><svg onload=alert(3)>"
    "&lt;b&gt; ]]> \x1b[2J\x00\x07 \u202eevil\u2066 \ud800 \u2028 end"
)

TASK = Task(
    id="ticket",
    category="base",
    domains=("TicketAPI", "MathAPI"),
    initial_config={"TicketAPI": {"ticket_queue": [], "ticket_counter": 7, "current_user": "ann"}},
    turns=("Open a ticket 'Lamp' saying the lamp is broken.", "Close it and average 1, 2 and 6."),
    ground_truth=(
        ("create_ticket(title='Lamp', description='The lamp is broken.')",),
        ("close_ticket(ticket_id=7)", "mean(numbers=[1, 2, 6])"),
    ),
)
WITHHELD = TASK.model_copy(
    update={
        "id": "withheld",
        "category": "miss_func",
        "turns": (*TASK.turns, "More tools are here now."),
        "ground_truth": (TASK.ground_truth[0], (), TASK.ground_truth[1]),
        "missed_functions": {2: ("close_ticket",)},
    }
)


def call(name, **arguments):
    return render_calls([Call(name, arguments)], "tool_call")


def answer(text="Done."):
    return render_answer(text, "tool_call")


OPEN = call("create_ticket", title="Lamp", description="The lamp is broken.")
CLOSE = call("close_ticket", ticket_id=7)
SOLVED = [OPEN, answer(), CLOSE, call("mean", numbers=[1, 2, 6]), answer()]
FAILED = [
    call("create_ticket", title="Lump", description="Broken."),
    answer(),
    call("close_ticket", ticket_id=99),
    answer(),
]

HOSTILE_MESSAGES = [
    call("create_ticket", title=HOSTILE.replace("\ud800", "")),
    HOSTILE,
    f"<answer>{HOSTILE}</answer>",
    f"<think>{HOSTILE}</think>",
    HOSTILE.replace("\ud800", ""),
]


def played(task, messages, sample=0, **settings):
    """Return the record of an episode."""
    run = RunSettings(policy="scripted", **settings)
    record = new_record(task, sample, run)
    env = env_maker(TaskSet([task]), run)()
    asyncio.run(play_episode(env, task, record, lambda: ScriptedPolicy(messages)))
    return record


def save(path, episodes):
    path.write_text("".join(json.dumps(episode.model_dump()) + "\n" for episode in episodes), encoding="utf-8")
    return path


def save_tasks(path):
    save_jsonl([TASK, WITHHELD], path)
    return path
