import json
import time

import pytest

from envtune_gym.asking import ModelSettings
from envtune_gym.callsyntax import MAX_LENGTH
from envtune_gym.errors import ConfigurationError
from envtune_gym.evaluation.models import ServerMaker, server_policy
from envtune_gym.evaluation.oracle import Oracle
from envtune_gym.evaluation.runs.policies import ModelOptions
from envtune_gym.evaluation.runs.records import EvaluatedEpisode

from .proxy import FAULTS, Proxy, completion

FORMATS = ("openai", "python", "tool_call")


def solver(task, action_format):
    """A model that knows the solution: it says what comes after as many replies as the conversation has."""
    messages = Oracle(action_format).messages(task)

    def model(request):
        said = sum(message["role"] == "assistant" for message in request["messages"])
        return json.loads(messages[said]) if action_format == "openai" else {"content": messages[said]}

    return model


@pytest.fixture
def play(evaluate, ticket_task):
    """Play the ticket task with a model behind a proxy; return the record."""

    def play(proxy, action_format="openai", **settings):
        settings = {"retries": 3, "timeout": 0.3, "patience": 20.0, **settings}
        maker = ServerMaker(ModelSettings("m", proxy.url, **settings), action_format)
        [record], _ = evaluate(maker, [ticket_task], action_format)
        return record

    return play


def without_time(record):
    return record.model_dump(exclude={"seconds"})


@pytest.mark.parametrize("action_format", FORMATS)
def test_a_model_that_knows_the_solution_solves_the_task(play, ticket_task, action_format):
    with Proxy(solver(ticket_task, action_format)) as proxy:
        record = play(proxy, action_format)
    assert (record.success, record.broken, record.format_errors) == (True, "", 0)
    assert record.messages == Oracle(action_format).messages(ticket_task)
    assert (record.prompt_tokens, record.completion_tokens) == (10 * record.num_steps, 3 * record.num_steps)


def test_in_the_native_mode_tools_and_results_travel_apart_from_the_text(play, ticket_task):
    with Proxy(solver(ticket_task, "openai")) as proxy:
        play(proxy)
    first, second = proxy.requests[:2]
    names = {tool["function"]["name"] for tool in first["tools"]}
    assert {"create_ticket", "mean"} <= names
    _, _, said, result = second["messages"]
    assert said["tool_calls"][0]["function"]["name"] == "create_ticket"
    assert result["role"] == "tool"
    assert result["tool_call_id"] == said["tool_calls"][0]["id"]
    assert json.loads(result["content"])["id"] == 7


@pytest.mark.parametrize("action_format", ["python", "tool_call"])
def test_in_the_prompting_mode_everything_is_text(play, ticket_task, action_format):
    with Proxy(solver(ticket_task, action_format)) as proxy:
        play(proxy, action_format)
    assert all("tools" not in request for request in proxy.requests)
    system, user, said, result = proxy.requests[1]["messages"]
    assert "create_ticket" in system["content"]
    assert [message["role"] for message in (system, user, said, result)] == ["system", "user", "assistant", "user"]
    [content] = json.loads(result["content"])
    assert json.loads(content if action_format == "python" else content["content"])["id"] == 7


def test_sampling_parameters_go_to_the_server_and_what_is_not_said_does_not(evaluate, ticket_task):
    with Proxy(solver(ticket_task, "openai")) as proxy:
        options = ModelOptions(proxy.url, temperature=0.5, top_p=0.9, max_tokens=77, sampling_seed=3)
        evaluate(server_policy("m", options, "openai"), [ticket_task], "openai", samples=2)
        asked, proxy.requests = proxy.requests, []
        evaluate(server_policy("m", ModelOptions(proxy.url), "openai"), [ticket_task], "openai")
    assert {(r["model"], r["temperature"], r["top_p"], r["max_tokens"]) for r in asked} == {("m", 0.5, 0.9, 77)}
    assert len({request["seed"] for request in asked}) == 2  # one for each episode
    assert not {"temperature", "top_p", "seed"} & set().union(*proxy.requests)


def test_further_fields_of_the_request_are_passed_on(play, ticket_task):
    with Proxy(solver(ticket_task, "openai")) as proxy:
        play(proxy, extra={"chat_template_kwargs": {"enable_thinking": False}})
    assert proxy.requests[0]["chat_template_kwargs"] == {"enable_thinking": False}


@pytest.mark.parametrize("fault", [*FAULTS, "hang", "drip"])
def test_a_fault_that_passes_changes_nothing(play, ticket_task, fault):
    with Proxy(solver(ticket_task, "openai")) as proxy:
        expected = without_time(play(proxy, timeout=10))
        proxy.faults = [None, fault, None, fault]
        assert without_time(play(proxy)) == expected
        assert len(proxy.requests) > 2 * expected["num_steps"]


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("429", "RateLimitError"),
        ("503", "InternalServerError"),
        ("reset", "APIConnectionError"),
        ("dropped", "APIConnectionError"),
        ("truncated", "the answer is not JSON"),
        ("html", "the answer is not JSON"),
        ("empty", "the reply is empty"),
    ],
)
def test_a_fault_that_stays_breaks_the_episode_after_so_many_retries(play, ticket_task, fault, reason):
    with Proxy(solver(ticket_task, "openai"), [None, *[fault] * 9]) as proxy:
        record = play(proxy, retries=2)
    assert record.broken.startswith("127.0.0.1: ")
    assert reason in record.broken
    assert (record.success, record.num_steps, len(proxy.requests)) == (False, 1, 4)


@pytest.mark.parametrize("fault", ["later", "hang", "drip"])
def test_the_time_in_all_is_a_limit_too(play, ticket_task, fault):
    with Proxy(solver(ticket_task, "openai"), [fault] * 99) as proxy:
        start = time.monotonic()
        record = play(proxy, retries=90, timeout=5, patience=0.3)
        assert time.monotonic() - start < 4
    assert record.broken
    assert len(proxy.requests) == 1


@pytest.mark.parametrize("fault", ["endless", "endless_error"])
def test_an_answer_without_an_end_is_not_read_to_it(play, ticket_task, fault):
    with Proxy(solver(ticket_task, "openai"), [fault] * 9) as proxy:
        record = play(proxy, retries=0, timeout=60)
    assert "an answer of more than 16,777,216 bytes" in record.broken


def test_a_request_that_is_refused_for_its_length_breaks_its_episode_at_once(evaluate, ticket_task):
    other = ticket_task.model_copy(update={"id": "other"})
    with Proxy(solver(ticket_task, "openai"), [None, "400"]) as proxy:
        maker = ServerMaker(ModelSettings("m", proxy.url), "openai")
        records, stopped = evaluate(maker, [ticket_task, other], "openai", concurrency=1)
    assert "maximum context length is 8192 tokens" in records[0].broken
    assert records[1].success
    assert stopped is None
    assert len(proxy.requests) == 2 + records[1].num_steps


@pytest.mark.parametrize("fault", ["401", "moved"])
def test_a_server_that_refuses_everybody_stops_the_run(evaluate, ticket_task, fault):
    with Proxy(solver(ticket_task, "openai"), [fault] * 99) as proxy:
        maker = ServerMaker(ModelSettings("m", proxy.url), "openai")
        records, stopped = evaluate(maker, [ticket_task], "openai", samples=50, concurrency=2)
    assert stopped.startswith("127.0.0.1: ")
    assert (records, len(proxy.requests)) == ([], 2)


def call(function):
    return {"content": None, "tool_calls": [{"id": "a", "type": "function", "function": function}]}


@pytest.mark.parametrize(
    "message",
    [
        {"content": None, "tool_calls": "create_ticket"},
        {"content": None, "tool_calls": {"0": 1}},
        {"content": None, "tool_calls": [None, 5, "x", []]},
        {"content": None, "tool_calls": [{"id": {}, "function": {"name": [], "arguments": 7}}]},
        {"content": {"a": 1}, "tool_calls": 9},
        {"content": 5.5, "reasoning_content": ["x"], "tool_calls": True},
        {"role": 7, "content": [{"text": None}, {"text": "x"}]},
        call({"name": "mean", "arguments": 12}),
        call({"name": "mean", "arguments": {"numbers": [1]}}),
        call({"name": "mean", "arguments": "[" * 5_000}),
        call({"name": "mean", "arguments": '{"numbers": [1, NaN]}'}),
        call({"name": "mean", "arguments": '{"numbers": [1], "numbers": ' + "9" * 9_000 + "}"}),
        call({"name": "__class__", "arguments": "{}"}),
        call({"name": "mean\ud800", "arguments": '{"x": "\ud800"}'}),
        {"content": "\ud800 \x1b[2J \x00"},
        {"content": "a" * (2 * MAX_LENGTH)},
        {"content": None, "tool_calls": [{"id": "a"}] * 100_000},
    ],
)
@pytest.mark.parametrize("action_format", FORMATS)
def test_whatever_a_message_holds_the_run_goes_on_and_can_be_kept(play, action_format, message):
    with Proxy(lambda request: completion(message)) as proxy:
        record = play(proxy, action_format, retries=0, timeout=20)
    assert EvaluatedEpisode.model_validate_json(record.model_dump_json()) == record
    assert not record.success
    assert max(map(len, record.messages), default=0) <= MAX_LENGTH + 1
    assert record.broken == "" or "the reply is empty" in record.broken


def test_an_empty_reply_that_the_model_itself_has_ended_is_an_answer(play, ticket_task):
    """Asked twice, to be sure; the benchmark too takes it for the end of the turn."""
    solve = solver(ticket_task, "openai")

    def model(request):
        message = solve(request)
        return message if message.get("tool_calls") else {"content": ""}

    with Proxy(model) as proxy:
        record = play(proxy)
    assert (record.success, record.broken) == (True, "")
    assert len(proxy.requests) == record.num_steps + ticket_task.num_turns


def test_calls_that_nobody_offered_do_not_count(play, ticket_task):
    calls = [{"id": "a", "type": "function", "function": {"name": "mean", "arguments": "{}"}}]
    with Proxy(lambda request: {"content": "Done.", "tool_calls": calls}) as proxy:
        record = play(proxy, "python")
    assert record.messages == ["Done."] * ticket_task.num_turns


def test_thoughts_are_kept_in_the_record_and_not_sent_back(play, ticket_task):
    solve = solver(ticket_task, "openai")
    with Proxy(lambda request: {**solve(request), "reasoning_content": "I see."}) as proxy:
        record = play(proxy)
    assert record.success
    assert json.loads(record.messages[0])["reasoning_content"] == "I see."
    assert "I see." not in json.dumps(proxy.requests)


def test_many_episodes_through_many_faults_all_end_as_they_would_without(evaluate, ticket_task, withheld_task):
    tasks = [ticket_task, withheld_task]
    solvers = {task.turns[-1]: solver(task, "openai") for task in tasks}

    def model(request):
        is_withheld = "close_ticket" not in {tool["function"]["name"] for tool in request["tools"]} or any(
            message["content"] == withheld_task.turns[-1] for message in request["messages"]
        )
        return solvers[withheld_task.turns[-1] if is_withheld else ticket_task.turns[-1]](request)

    def run(proxy):
        settings = ModelSettings("m", proxy.url, timeout=0.4, retries=20, patience=60)
        return evaluate(ServerMaker(settings, "openai"), tasks, "openai", samples=4, concurrency=8)

    with Proxy(model) as proxy:
        calm, _ = run(proxy)
        proxy.fail(0.3, seed=1)
        stormy, stopped = run(proxy)
    assert stopped is None
    assert [without_time(record) for record in stormy] == [without_time(record) for record in calm]
    assert all(record.success for record in calm)


@pytest.mark.bfcl
def test_the_benchmarks_prompts_can_be_asked_for_only_where_it_has_some(ticket_task):
    maker = ServerMaker(ModelSettings("m", "http://localhost:1/v1"), "python", prompts="official")
    with pytest.raises(ConfigurationError, match="prompts for its own tasks only"):
        maker.make(ticket_task, 0, 0)
