import asyncio

import pytest

from envtune_gym.calls import render_answer, render_calls
from envtune_gym.callsyntax import parse_call
from envtune_gym.feedback.proposing import ChatModel, ModelSettings, collect_failures, propose_hint

from .server import ScriptedServer


@pytest.fixture
def server():
    scripted = ScriptedServer()
    yield scripted
    scripted.close()


@pytest.fixture
def collect(ticket_task):
    """Play calls, one list a turn, in a task; return the causes of what fails."""

    def collect(*turns, task=ticket_task, runs=1):
        messages = []
        for calls in turns:
            steps = [render_calls([parse_call(call)], "tool_call") for call in calls]
            messages += [*steps, render_answer("Done.", "tool_call")]
        return collect_failures([(task, messages)] * runs)

    return collect


@pytest.fixture
def group(collect):
    """A ticket that does not exist is closed in the second turn."""
    return collect(["create_ticket(title='Lamp')"], ["close_ticket(ticket_id=99)"])[0]


@pytest.fixture
def settings(server):
    return ModelSettings("m", server.url, retries=2, timeout=10)


@pytest.fixture
def propose(server, settings, group):
    """Ask a scripted server for a hint on a cause."""

    def propose(*script, group=group):
        server.script = list(script)

        async def ask():
            async with ChatModel(settings) as model:
                return await propose_hint(group, model, model)

        return asyncio.run(ask())

    return propose
