import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from envtune_gym.calls import render_answer, render_calls
from envtune_gym.callsyntax import Call
from envtune_gym.errors import DataError, ServerError
from envtune_gym.evaluation import Oracle, replay
from envtune_gym.evaluation.runs.episode import env_maker
from envtune_gym.evaluation.runs.policies import Reply
from envtune_gym.evaluation.runs.records import EvaluatedEpisode, RunSettings
from envtune_gym.tasks import TaskSet

DONE = render_answer("Done.", "tool_call")


def calls(*made):
    return render_calls([Call(name, arguments) for name, arguments in made], "tool_call")


@pytest.mark.parametrize("action_format", ["tool_call", "python", "openai"])
def test_the_ground_truth_is_solved_in_each_format(played, withheld_task, action_format):
    record = played(withheld_task, Oracle(action_format).messages(withheld_task), action_format=action_format)
    assert (record.success, record.error_type, record.progress, record.reward) == (True, None, 1.0, 1.0)
    assert (record.turns, record.turns_passed, record.num_turns, record.num_steps, record.calls) == (3, 3, 3, 5, 3)
    assert (record.errors, record.format_errors, record.truncated_by, record.broken) == (0, 0, "", "")
    assert record.messages == Oracle(action_format).messages(withheld_task)
    assert withheld_task.fingerprint.startswith(record.fingerprint)


def test_an_episode_counts_as_the_replay_of_its_messages_does(played, ticket_task):
    messages = [calls(("create_ticket", {"title": "Lamp"})), "<answer>", calls(("nothing", {})), DONE, DONE]
    record = played(ticket_task, messages)
    (known,) = replay([ticket_task], Known(messages)).episodes
    for field in ("turns", "num_steps", "calls", "errors", "success", "error_type", "progress"):
        assert getattr(record, field) == getattr(known, field)


class Known:
    name = "known"

    def __init__(self, known):
        self.known = known

    def messages(self, task):
        return self.known


def test_the_policy_sees_the_whole_conversation_and_the_tools_on_offer_now(played, withheld_task, talker):
    replies = iter(Oracle().messages(withheld_task))
    policy = talker(lambda messages, tools: next(replies))
    played(withheld_task, policy)
    roles = [[message["role"] for message in messages] for messages, _ in policy.shown]
    assert roles[0] == ["system", "user"]
    assert roles[1] == ["system", "user", "assistant", "tool"]
    assert roles[-1][-2:] == ["assistant", "tool"] or roles[-1][-1] == "tool"
    offered = [{tool["function"]["name"] for tool in tools} for _, tools in policy.shown]
    assert "close_ticket" not in offered[2]
    assert "close_ticket" in offered[3]
    assert all(
        shown[: len(before)] == before for (before, _), (shown, _) in zip(policy.shown, policy.shown[1:], strict=False)
    )


def test_a_policy_that_changes_what_it_is_shown_changes_nothing_of_the_verdict(played, ticket_task, talker):
    replies = iter(Oracle().messages(ticket_task))

    def say(messages, tools):
        messages.clear()
        return next(replies)

    assert played(ticket_task, talker(say)).success


def test_twenty_steps_a_turn_and_one_more(played, ticket_task):
    record = played(ticket_task, [calls(("get_ticket", {"ticket_id": 1}))] * 30)
    assert (record.num_steps, record.truncated_by, record.success) == (21, "env", False)
    assert record.error_type == "multi_turn:force_terminated"
    assert played(ticket_task, [DONE] * 2).truncated_by == ""


def test_a_policy_that_cannot_go_on_leaves_a_failure_and_what_it_had(played, ticket_task, talker):
    def say(messages, tools):
        if len(messages) > 2:
            raise ServerError("no answer\nfrom the server")
        return Reply(Oracle().messages(ticket_task)[0], 100, 7)

    record = played(ticket_task, talker(say))
    assert record.broken == "no answer from the server"
    assert (record.success, record.error_type) == (False, "multi_turn:force_terminated")
    assert (record.num_steps, record.calls, record.prompt_tokens, record.completion_tokens) == (1, 1, 100, 7)


@pytest.mark.parametrize("said", [Reply(None), Reply(3), Reply("<answer>a</answer>", None), Reply("", "x")])
def test_a_policy_that_returns_nonsense_breaks_its_own_episode(played, ticket_task, talker, said):
    record = played(ticket_task, talker(lambda messages, tools: said))
    assert record.broken
    assert not record.success


def test_hints_are_counted_and_change_no_verdict(played, ticket_task):
    messages = [calls(("get_ticket", {"ticket_id": 99})), "<tool_call>[{", *Oracle().messages(ticket_task)]
    plain, taught = played(ticket_task, messages), played(ticket_task, messages, feedback="actionable")
    assert (plain.hints, taught.hints) == (0, 2)
    assert (plain.errors, plain.format_errors, plain.success) == (taught.errors, taught.format_errors, taught.success)
    assert (plain.errors, plain.format_errors, plain.success) == (2, 1, True)


def test_an_unreadable_message_has_a_hint_in_the_openai_format_too(played, ticket_task):
    message = '{"role": "assistant", "tool_calls": [' + '{"function": {"name": "ls", "arguments": "{}"}},' * 900
    record = played(ticket_task, [message[:-1] + "]}"], action_format="openai", feedback="actionable")
    assert (record.format_errors, record.hints) == (1, 1)


def test_hints_that_cannot_be_read_are_a_mistake_of_the_whole_run(ticket_task):
    with pytest.raises(DataError, match=r"nowhere\.yaml"):
        env_maker(TaskSet([ticket_task]), RunSettings(policy="test", feedback="error", hints="nowhere.yaml"))


HOSTILE = st.text(max_size=30) | st.sampled_from(
    ["\ud800", "\udfff" * 9, "[" * 5_000, '{"a":' * 2_000, "\x00\x1b[2J", "9" * 6_000, "x" * 200_000, "NaN", "{}"]
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(HOSTILE, min_size=1, max_size=4), st.sampled_from(["tool_call", "python", "openai"]))
def test_whatever_a_policy_says_its_record_can_be_written_and_read(played, ticket_task, texts, action_format):
    record = played(ticket_task, texts, action_format=action_format)
    line = record.model_dump_json()
    assert "\n" not in line
    assert EvaluatedEpisode.model_validate_json(line) == record
    assert len(line) < 700_000


def test_what_is_recorded_can_be_played_again_with_the_same_outcome(played, ticket_task):
    first = played(ticket_task, ["\ud800 hello", "x" * 100_000, DONE, DONE])
    again = played(ticket_task, first.messages)
    assert again.model_dump(exclude={"seconds"}) == first.model_dump(exclude={"seconds"})
    assert max(map(len, first.messages)) < 70_000
