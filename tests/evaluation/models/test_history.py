import asyncio
import json

import pytest

from envtune_gym import TaskSet, load_tasks
from envtune_gym.errors import ConfigurationError
from envtune_gym.evaluation.models.history import OfficialHistory, PlainHistory, history_of
from envtune_gym.evaluation.runs.episode import env_maker, new_record, play_episode
from envtune_gym.evaluation.runs.policies import Reply
from envtune_gym.evaluation.runs.records import RunSettings


def shown(task, history, action_format, *replies, **settings):
    """What a model is shown last, after these replies in a task, and the tools it is given."""

    class Said:
        left = list(replies)

        async def reply(self, messages, tools):
            self.last = history.shown(messages, tools)
            return Reply(self.left.pop(0))

    said = Said()
    run = RunSettings(policy="said", action_format=action_format, **settings)
    record = new_record(task, 0, run)
    error = asyncio.run(play_episode(env_maker(TaskSet([task]), run)(), task, record, lambda: said))
    assert isinstance(error, IndexError)
    return said.last


def test_results_of_several_calls_are_one_message_of_the_user(ticket_task):
    text = "[mean(numbers=[1, 3]), create_ticket(title='Lamp')]"
    messages, tools = shown(ticket_task, PlainHistory("python"), "python", text)
    assert tools == []
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "user"]
    mean, ticket = json.loads(messages[-1]["content"])
    assert json.loads(mean) == {"result": 2.0}
    assert json.loads(ticket)["title"] == "Lamp"


def test_a_message_that_could_not_be_read_is_answered_with_what_is_wrong(ticket_task):
    messages, _ = shown(ticket_task, PlainHistory("tool_call"), "tool_call", "<tool_call>[{</tool_call>")
    assert messages[-1]["role"] == "user"
    assert messages[-1]["content"].startswith("parse error at character")


def test_a_request_that_follows_results_is_the_same_message(ticket_task):
    """Some chat templates take no two messages of the user in a row."""
    history = PlainHistory("python")
    system, asked, said = (
        {"role": "system", "content": "s"},
        {"role": "user", "content": "u"},
        {"role": "assistant", "content": "[ls()]"},
    )
    result, following = {"role": "tool", "name": "ls", "content": "[]"}, {"role": "user", "content": "next"}
    messages, _ = history.shown([system, asked, said, result, following], [])
    assert messages == [system, asked, said, {"role": "user", "content": '["[]"]\nnext'}]
    assert following == {"role": "user", "content": "next"}


@pytest.mark.bfcl
def test_hints_stand_where_the_results_stand():
    task = load_tasks("bfcl").get("multi_turn_base_0")
    for feedback in ("off", "actionable"):
        history = OfficialHistory(task, "python")
        messages, _ = shown(task, history, "python", "[cd(folder='nowhere')]", feedback=feedback)
        assert messages[-1]["content"].startswith("""[{'role': 'tool', 'name': "cd(folder='nowhere')", 'content': """)
        assert ("`pwd`" in messages[-1]["content"]) == (feedback == "actionable")


@pytest.mark.bfcl
def test_what_feedback_adds_to_the_fixed_message_stays():
    task = load_tasks("bfcl", categories=("miss_func",))[0]
    replies = [*["Done."] * (min(task.missed_functions) - 1), "[pwd()]", "Done."]
    messages, _ = shown(task, OfficialHistory(task, "python"), "python", *replies, feedback="diagnostic")
    request = messages[-1]["content"]
    assert request.startswith("[{'name': 'sort', 'description': ")
    assert "\nI have updated some more functions" in request
    assert "[Feedback on the turn that has just ended" in request


@pytest.mark.bfcl
def test_more_than_the_official_decoder_takes_has_results_too():
    task = load_tasks("bfcl").get("multi_turn_base_0")
    text = "```python\n[pwd()]\n```"
    messages, _ = shown(task, OfficialHistory(task, "python"), "python", text, decoder="correct")
    assert messages[-1]["content"].startswith("[{'role': 'tool', 'name': 'pwd()', 'content': ")


@pytest.mark.bfcl
def test_whose_prompts_are_shown_goes_by_the_task_unless_it_is_said(ticket_task):
    task = load_tasks("bfcl")[0]
    kinds = [type(history_of(*arguments)) for arguments in ((task, "python"), (task, "openai"), (task, "tool_call"))]
    assert kinds == [OfficialHistory, OfficialHistory, PlainHistory]
    assert type(history_of(task, "python", "plain")) is PlainHistory
    assert type(history_of(ticket_task, "python")) is PlainHistory
    for arguments in ((ticket_task, "python"), (task, "tool_call")):
        with pytest.raises(ConfigurationError, match="prompts for its own tasks only"):
            history_of(*arguments, "official")
