import json
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envtune_gym import World
from envtune_gym.callsyntax import Call, parse_call
from envtune_gym.errors import ConfigurationError, TaskError

DOMAINS = ["TradingBot", "TwitterAPI", "MathAPI"]
LOGIN = {"username": "ann", "password": "secret"}


def world(config=None, domains=DOMAINS):
    return World(domains, config or {})


def test_a_call_gives_the_official_text_and_no_error():
    result = world().call("add", {"a": 2, "b": 3})
    assert (result.name, result.arguments, result.content, result.error) == (
        "add",
        {"a": 2, "b": 3},
        '{"result": 5}',
        None,
    )


def test_a_failure_has_a_typed_error_beside_the_official_text():
    result = world().call("get_stock_info", {"symbol": "NOPE"})
    assert result.content == '{"error": "Stock with symbol \'NOPE\' not found."}'
    assert (result.error.tool, result.error.argument, result.error.value) == ("get_stock_info", "symbol", "NOPE")


@pytest.mark.parametrize(
    ("text", "code", "content"),
    [
        ("nope(a=1)", "unknown_tool", "name 'nope' is not defined"),
        ("add(a=1)", "missing_argument", "MathAPI.add() missing 1 required positional argument: 'b'"),
        ("add(a=1, b=2, c=3)", "unknown_argument", "MathAPI.add() got an unexpected keyword argument 'c'"),
        ("add(1, 2, 3)", "bad_call", "MathAPI.add() takes 3 positional arguments but 4 were given"),
        ("add(1, a=2)", "missing_argument", "MathAPI.add() got multiple values for argument 'a'"),
        (
            "place_order(order_type=1, symbol='AAPL', price=1, amount=1)",
            "crashed",
            "'int' object has no attribute 'lower'",
        ),
    ],
)
def test_what_python_says_of_a_wrong_call_is_the_result(text, code, content):
    one = world()
    one.call("trading_login", LOGIN)
    result = one.run(parse_call(text))
    assert result.content == f"Error during execution: {content}"
    assert result.error.code == code


@pytest.mark.parametrize(
    "text",
    ["add(a=1", "__import__('os').getcwd()", "print(1)", "add(a=x, b=1)", "state()", "fork()", "add.__class__()"],
)
def test_text_that_is_no_call_of_a_tool_runs_nothing(text):
    one = world()
    before = one.state()
    assert one.execute(text).startswith("Error during execution: ")
    assert one.state() == before


def test_positional_and_nested_calls_run_as_in_python():
    one = world()
    assert one.execute("add(1, b=-2)") == '{"result": -1}'
    nested = one.run(parse_call("get_stock_info(symbol=get_symbol_by_name(name='Apple'))"))
    assert nested.arguments == {"symbol": "get_symbol_by_name(name='Apple')"}
    assert nested.content == "Error during execution: unhashable type: 'dict'"
    assert one.execute("mean(numbers=nope())") == "Error during execution: name 'nope' is not defined"


def test_only_offered_tools_run_nested_ones_included():
    one = world()
    offered = {"mean", "add"}
    assert one.run(parse_call("add(1, 2)"), offered).error is None
    for text in ("subtract(1, 2)", "mean(numbers=[subtract(1, 2)])"):
        result = one.run(parse_call(text), offered)
        assert result.content == "Error during execution: name 'subtract' is not defined"
        assert (result.error.code, result.error.value) == ("unknown_tool", "subtract")


@pytest.mark.parametrize("arguments", [{1: 2}, {"a": object(), "b": 1}, {"a": [[[]]], "b": {1, 2}}])
def test_strange_arguments_never_raise(arguments):
    assert world().call("add", arguments).error is not None


def test_unknown_domains_and_broken_configurations_are_refused():
    with pytest.raises(ConfigurationError, match="unknown domain 'Nope'; known: GorillaFileSystem"):
        World(["Nope"], {})
    with pytest.raises(ConfigurationError, match="named twice"):
        World(["MathAPI", "MathAPI"], {})
    with pytest.raises(TaskError, match=r"initial_config\['TradingBot'\]"):
        World(["TradingBot"], {"TradingBot": {"orders": 3}})


def test_state_has_every_domain_and_is_fresh():
    one = world({"VehicleControlAPI": {"fuelLevel": 1}})
    state = one.state()
    assert list(state) == DOMAINS
    assert state["MathAPI"] == {}
    state["TradingBot"]["watch_list"].append("XXX")
    assert "XXX" not in one.state()["TradingBot"]["watch_list"]


def test_nothing_of_the_configuration_or_the_arguments_is_kept_by_reference():
    config = {"TwitterAPI": {"tweets": {}, "authenticated": True, "username": "ann", "following_list": ["bob"]}}
    one, tags = world(config), ["#a"]
    one.call("follow_user", {"username_to_follow": "cid"})
    one.call("post_tweet", {"content": "x", "tags": tags})
    tags.append("#b")
    assert config["TwitterAPI"]["following_list"] == ["bob"]
    assert config["TwitterAPI"]["tweets"] == {}
    assert [tweet["tags"] for tweet in one.state()["TwitterAPI"]["tweets"].values()] == [["#a"]]


def test_a_shared_parsed_call_leaves_no_trace_in_the_next_world():
    call = parse_call("post_tweet(content='x', tags=['#a'])")
    config = {"TwitterAPI": {"tweets": {}, "authenticated": True, "username": "ann"}}
    for _ in range(2):
        one = world(config)
        one.run(call)
        (tweet,) = one.state()["TwitterAPI"]["tweets"].values()
        assert tweet["tags"] == ["#a"]
    assert call == Call("post_tweet", {"content": "x", "tags": ["#a"]})


RANDOM_CALLS = ["trading_login(username='a', password='b')", "fund_account(amount=10)", "fund_account(amount=5)"]


def test_fork_and_restore_draw_the_same_numbers_from_there_on():
    one = world({"TradingBot": {"authenticated": True}})
    one.execute("fund_account(amount=10)")
    snapshot, fork = one.snapshot(), one.fork()
    texts = [one.execute(call) for call in RANDOM_CALLS]
    after = one.state()
    assert [fork.execute(call) for call in RANDOM_CALLS] == texts
    assert fork.same_state(one)
    for _ in range(2):
        one.restore(snapshot)
        assert one.state() != after
        assert [one.execute(call) for call in RANDOM_CALLS] == texts
        assert one.state() == after


def test_a_snapshot_of_other_domains_is_refused():
    with pytest.raises(ConfigurationError, match="the snapshot is of"):
        world().restore(World(["MathAPI"], {}).snapshot())


@given(st.lists(st.sampled_from([*RANDOM_CALLS, "place_order('Buy', 'AAPL', 1.5, 2)", "trading_logout()"]), max_size=8))
def test_interleaved_worlds_end_as_each_does_alone(calls):
    alone = world()
    for call in calls:
        alone.execute(call)
    many = [world() for _ in range(16)]
    for call in calls:
        for one in many:
            one.execute(call)
    assert all(one.same_state(alone) for one in many)


def test_threads_do_not_disturb_one_another():
    def play(results, index):
        one = world()
        for call in RANDOM_CALLS * 5 + ["logarithm(value=7, base=2, precision=30)"]:
            text = one.execute(call)
        results[index] = (text, one.state())

    results = [None] * 16
    threads = [threading.Thread(target=play, args=(results, index)) for index in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(result == results[0] for result in results)


def test_what_the_official_tool_raises_is_reported_as_such_and_spoils_a_nested_call():
    one = World(["VehicleControlAPI", "MathAPI"], {})
    failing = "lockDoors(unlock=True, door=['hood'])"
    result = one.run(parse_call(failing))
    assert (result.content, result.error.code) == ("Error during execution: 'hood'", "unknown_door")
    assert one.execute(f"absolute_value(number={failing})") == "Error during execution: 'hood'"


def test_the_state_cannot_grow_without_bound_through_nested_calls():
    one = World(["TwitterAPI"], {"TwitterAPI": {"authenticated": True, "username": "ann", "following_list": ["bob"]}})
    contents = [one.execute("follow_user(username_to_follow=list_all_following())") for _ in range(40)]
    assert "too large" in contents[-1]
    assert len(str(one.state())) < 10**6


def test_the_budget_of_nested_calls_is_shared_by_all_calls_of_a_world():
    text = "x" * 60_000
    tree = {"home": {"type": "directory", "contents": {"a": {"type": "file", "content": text}}}}
    one = World(["GorillaFileSystem"], {"GorillaFileSystem": {"root": tree}})
    many = "echo(content=[" + ", ".join(['cat(file_name="a")'] * 500) + "])"
    assert "too large" in one.execute(many)
    assert "too large" in one.fork().execute("echo(content=cat(file_name='a'))")


def test_a_result_that_is_too_long_is_an_error():
    text = "x" * 2**21
    tree = {"home": {"type": "directory", "contents": {"a": {"type": "file", "content": text}}}}
    result = World(["GorillaFileSystem"], {"GorillaFileSystem": {"root": tree}}).call("cat", {"file_name": "a"})
    assert (result.error.code, len(result.content) < 100) == ("too_large", True)


@pytest.mark.parametrize(("name", "arguments"), [("add", None), (["x"], {}), (None, None), ("add", [1, 2])])
def test_calls_of_the_wrong_shape_are_errors_too(name, arguments):
    assert world().call(name, arguments).error.code == "bad_call"


@pytest.mark.parametrize("name", ["mean", "nothing", "add"])
def test_arguments_nested_without_end_are_a_result_like_any_other(name):
    deep = []
    for _ in range(5_000):
        deep = [deep]
    result = World(["MathAPI"], {}).call(name, {"numbers": deep})
    assert result.content.startswith(("Error", '{"error"'))
    assert result.arguments == {"numbers": "(nested too deeply)"}
    json.dumps(result.error.to_dict())
