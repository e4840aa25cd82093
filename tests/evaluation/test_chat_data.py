import json

import gymnasium as gym
import pytest

from envtune_gym import TaskSet
from envtune_gym.calls import parse_action
from envtune_gym.errors import ConfigurationError, DataError
from envtune_gym.evaluation.chat_data import converse, save_chat_data
from envtune_gym.registration import MULTI_DOMAIN_ID

FORMATS = ("tool_call", "python", "openai")


@pytest.fixture
def export(tmp_path, ticket_task, withheld_task):
    """Write the conversations of tasks (by default one plain, one with withheld tools); return the lines."""

    def export(shape="sft", *tasks, **options):
        path = tmp_path / "chat.jsonl"
        save_chat_data(TaskSet(tasks or [ticket_task, withheld_task]), path, shape, **options)
        return [json.loads(line) for line in path.read_text().splitlines()]

    return export


def as_action(message, action_format):
    """An assistant message of a conversation as the action that it came from."""
    return json.dumps(message) if action_format == "openai" else message["content"]


def replayed(tasks, row, messages, action_format, **options):
    """Play the assistant messages; return the last reward and all messages of the new conversation."""
    env = gym.make(MULTI_DOMAIN_ID, tasks=tasks, action_format=action_format, strict_format=True, **options)
    _, info = env.reset(options={"task_id": row["id"]})
    seen, reward = list(info["messages"]), 0.0
    for message in messages:
        if message["role"] == "assistant":
            _, reward, _, _, info = env.step(as_action(message, action_format))
            seen += info["messages"]
    return reward, seen


@pytest.mark.parametrize("action_format", FORMATS)
@pytest.mark.parametrize("thoughts", ["none", "plan"])
@pytest.mark.parametrize("tool_docs", ["full", "compact"])
def test_conversations_played_back_are_solved_and_read_the_same(
    export, ticket_task, withheld_task, action_format, thoughts, tool_docs
):
    tasks = TaskSet([ticket_task, withheld_task])
    rows = export(action_format=action_format, thoughts=thoughts, tool_docs=tool_docs)
    assert [(row["id"], row["category"]) for row in rows] == [("ticket", "base"), ("withheld", "miss_func")]
    for row in rows:
        reward, seen = replayed(tasks, row, row["messages"], action_format, tool_docs=tool_docs)
        assert reward == 1.0
        assert seen == row["messages"]


@pytest.mark.parametrize("action_format", FORMATS)
def test_the_rows_for_trl_hold_the_same_conversations(export, ticket_task, withheld_task, action_format):
    tasks = TaskSet([ticket_task, withheld_task])
    for row in export("trl", action_format=action_format):
        assert row["prompt"][-1]["role"] == "user"
        assert row["completion"][-1]["role"] == "assistant"
        whole = [*row["prompt"], *row["completion"]]
        if whole[-1]["content"] == "Done." or action_format != "openai":
            assert replayed(tasks, row, whole, action_format)[0] == 1.0


@pytest.mark.parametrize("shape", ["sft", "trl"])
@pytest.mark.parametrize("action_format", ["tool_call", "python"])
def test_where_the_system_prompt_has_the_tools_no_column_shows_them_twice(export, shape, action_format):
    for row in export(shape, action_format=action_format):
        assert not {"tools", "later_tools"} & set(row)
        assert "create_ticket" in (row.get("messages") or row["prompt"])[0]["content"]


def names(tools):
    return {tool["function"]["name"] for tool in tools}


def test_sft_in_openai_says_which_tools_were_on_offer_when(export):
    plain, withheld = export(action_format="openai")
    assert "close_ticket" in names(plain["tools"])
    assert plain["later_tools"] == []
    assert "close_ticket" not in names(withheld["tools"])
    [later] = withheld["later_tools"]
    assert "close_ticket" in names(later["tools"])
    first = withheld["messages"][later["from_message"]]
    assert first["tool_calls"][0]["function"] == {"name": "close_ticket", "arguments": '{"ticket_id": 7}'}


def test_trl_in_openai_never_shows_a_call_of_a_tool_that_was_not_on_offer(export):
    rows = export("trl", action_format="openai")
    assert [row["id"] for row in rows] == ["ticket", "withheld", "withheld"]
    for row in rows:
        called = {call["function"]["name"] for m in row["completion"] for call in m.get("tool_calls", ())}
        assert called <= names(json.loads(row["tools"]))
    before, after = rows[1:]
    assert after["prompt"][: len(before["prompt"] + before["completion"])] == before["prompt"] + before["completion"]
    assert "close_ticket" not in names(json.loads(before["tools"]))


def test_trl_in_openai_is_in_the_form_of_chat_templates(export):
    calls = [
        call["function"]["arguments"]
        for row in export("trl", action_format="openai")
        for message in row["completion"]
        for call in message.get("tool_calls", ())
    ]
    assert {"ticket_id": 7} in calls
    assert all(m["content"] is not None for row in export("trl", action_format="openai") for m in row["completion"])


@pytest.mark.parametrize("action_format", FORMATS)
def test_thoughts_name_the_tools_and_only_if_wanted(export, action_format):
    def spoken(thoughts):
        rows = export(action_format=action_format, thoughts=thoughts)
        return [message for message in rows[0]["messages"] if message["role"] == "assistant"]

    assert "I use close_ticket, then mean." in str(spoken("plan")[2])
    assert "I use" not in str(spoken("none"))
    for plain, thinking in zip(spoken("none"), spoken("plan"), strict=True):
        read = [parse_action(as_action(message, action_format), action_format) for message in (plain, thinking)]
        assert read[0].calls == read[1].calls
        assert read[0].answer == read[1].answer


def test_tasks_that_the_format_cannot_hold_are_left_out_with_the_reason(tmp_path, ticket_task):
    truth = (ticket_task.ground_truth[0], ("close_ticket(ticket_id=7)", "mean(numbers=[add(a=1, b=2)])"))
    nested = ticket_task.model_copy(update={"id": "nested", "ground_truth": truth})
    done = save_chat_data(TaskSet([ticket_task, nested]), tmp_path / "chat.jsonl")
    assert (done.conversations, done.rows, list(done.left_out)) == (1, 1, ["nested"])
    assert "python" in done.left_out["nested"]
    assert save_chat_data(TaskSet([nested]), tmp_path / "chat.jsonl", action_format="python").rows == 1


def test_nothing_is_written_where_nothing_can_be(tmp_path, ticket_task):
    path = tmp_path / "chat.jsonl"
    path.write_text("mine")
    nested = ticket_task.model_copy(update={"ground_truth": (("mean(numbers=[add(a=1, b=2)])",), ())})
    with pytest.raises(ConfigurationError, match="no task can be written as chat data: task ticket"):
        save_chat_data(TaskSet([nested]), path)
    assert path.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(DataError, match="cannot write the chat data"):
        save_chat_data(TaskSet([ticket_task]), tmp_path / "no" / "chat.jsonl")


def test_a_conversation_that_does_not_earn_the_verdict_is_refused(ticket_task):
    """With strict offer a tool that is withheld is refused, so this ground truth fails when it is played."""
    broken = ticket_task.model_copy(
        update={
            "turns": (*ticket_task.turns, "Tools are back."),
            "ground_truth": (*ticket_task.ground_truth, ()),
            "missed_functions": {2: ("close_ticket",)},
            "category": "miss_func",
        }
    )
    env = gym.make(MULTI_DOMAIN_ID, tasks=TaskSet([broken]))
    with pytest.raises(ConfigurationError, match="does not earn the verdict"):
        converse(env, broken, "tool_call")


@pytest.mark.bfcl
def test_official_tasks_of_every_category(tmp_path):
    from envtune_gym import load_tasks

    tasks = TaskSet([task for name in ("base", "miss_func", "miss_param") for task in load_tasks("bfcl", [name])[:4]])
    for action_format in FORMATS:
        done = save_chat_data(tasks, tmp_path / "chat.jsonl", action_format=action_format)
        rows = [json.loads(line) for line in (tmp_path / "chat.jsonl").read_text().splitlines()]
        assert done.conversations + len(done.left_out) == len(tasks)
        assert done.conversations >= 10
        assert all(replayed(tasks, row, row["messages"], action_format)[0] == 1.0 for row in rows)
