import ast
import inspect
import json
import re

import gymnasium as gym
import pytest

from envtune_gym.calls import parse_action
from envtune_gym.callsyntax import Call
from envtune_gym.domains import domain_class, domain_names
from envtune_gym.evaluation import learner as learner_module
from envtune_gym.evaluation import memory, reading
from envtune_gym.evaluation.learner import TRIES, Draft, Learner, Outcome


def _tool(name, required=(), **properties):
    parameters = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": "", "parameters": parameters}}


TEXT = {"type": "string", "description": ""}
TOOLS = [
    _tool(
        "reserve_seat",
        ("row",),
        row={"type": "integer", "description": "The row."},
        day={"type": "string", "description": "The day."},
        note=TEXT,
    ),
    _tool("dim_light", ("level",), level={"type": "number", "description": "The level."}),
    _tool("open_gate", ("city",), city={"type": "string", "description": "Where."}),
    _tool("find_code", ("place",), place=TEXT),
    _tool("unlock_gate", ("pin",), pin={"type": "integer", "description": ""}),
    _tool("show_seat", ("seat_id",), seat_id={"type": "integer", "description": ""}),
    _tool("read_page", ("page",), page=TEXT),
]


class HandMade(gym.Env):
    """Wants some calls in their order, and answers any other with one text."""

    def __init__(self, text, wanted, request):
        self.text, self.wanted, self.request = text, list(wanted), request
        self.sent = []

    def reset(self, *, seed=None, options=None):
        return self.request, {"tools": TOOLS}

    def step(self, action):
        self.sent.append(action)
        reply = parse_action(action, "tool_call")
        if reply.error:
            return self.text, 0.0, False, False, {}
        result = {"error": self.text}
        if self.wanted and reply.calls == (self.wanted[0][0],):
            result = self.wanted.pop(0)[1]
        observation = json.dumps([{"name": reply.calls[0].name, "content": json.dumps(result)}])
        return observation, 0.0, False, False, {}


def _play(text, plan, wanted, request="Please go on."):
    env = HandMade(text, wanted, request)
    learner = Learner(env)
    learner.begin("task")
    return learner.play_turn(plan), env


OK = {"done": True}
SEAT = Call("reserve_seat", {"row": 12})
UNCLOSED = '<tool_call>[{"name": "reserve_seat", "arguments": {"row": 12}}</tool_call>'


@pytest.mark.parametrize(
    ("text", "plan", "wanted"),
    [
        pytest.param("There is no tool resreve_seat.", [Call("resreve_seat", {"row": 12})], [SEAT], id="misspelt_tool"),
        pytest.param("`rwo` is not known here.", [Call("reserve_seat", {"rwo": 12})], [SEAT], id="misspelt_argument"),
        pytest.param("The row is required.", [Call("reserve_seat", {})], [SEAT], id="missing_argument"),
        pytest.param(
            "No argument is called `loud`.",
            [Call("reserve_seat", {"row": 12, "loud": True})],
            [SEAT],
            id="unknown_argument",
        ),
        pytest.param(
            "The row has to be an integer.", [Call("reserve_seat", {"row": "12"})], [SEAT], id="number_as_text"
        ),
        pytest.param(
            "Give a level between 0 and 1.",
            [Call("dim_light", {"level": 60.0})],
            [Call("dim_light", {"level": 0.6})],
            id="number_scaled",
        ),
        pytest.param(
            "The day is one of: Monday, Tuesday or Sunday.",
            [Call("reserve_seat", {"row": 12, "day": "TUESDAY"})],
            [Call("reserve_seat", {"row": 12, "day": "Tuesday"})],
            id="wrong_case",
        ),
        pytest.param(
            "The city takes a three-letter code; find_code returns it.",
            [Call("open_gate", {"city": "Stonebridge"})],
            [(Call("find_code", {"place": "Stonebridge"}), {"code": "STB"}), Call("open_gate", {"city": "STB"})],
            id="name_for_code",
        ),
        pytest.param(
            "No such seat_id.",
            [SEAT, Call("show_seat", {"seat_id": 42})],
            [(SEAT, {"seat_id": 41}), Call("show_seat", {"seat_id": 41})],
            id="id_off_by_one",
        ),
        pytest.param(
            "The page takes a name, no path.",
            [Call("read_page", {"page": "./notes/one.txt"})],
            [Call("read_page", {"page": "one.txt"})],
            id="path_for_name",
        ),
        pytest.param(
            "Call `unlock_gate` first.",
            [Call("open_gate", {"city": "STB"})],
            [Call("unlock_gate", {"pin": 77}), Call("open_gate", {"city": "STB"})],
            id="prerequisite_left_out",
        ),
        pytest.param(
            "unlock_gate must come before it.",
            [Call("open_gate", {"city": "STB"}), Call("unlock_gate", {"pin": 4})],
            [Call("unlock_gate", {"pin": 4}), Call("open_gate", {"city": "STB"})],
            id="neighbours_swapped",
        ),
        pytest.param(
            f"Character {UNCLOSED.index('</')}: expected ']'.",
            [Draft(SEAT, UNCLOSED)],
            [SEAT],
            id="list_unclosed",
        ),
        pytest.param(
            'Write {"name": ..., "arguments": {...}}.',
            [Draft(SEAT, "<tool_call>[reserve_seat(row=12)]</tool_call>")],
            [SEAT],
            id="python_syntax",
        ),
    ],
)
def test_follows_a_text_that_says_what_to_do(text, plan, wanted):
    wanted = [one if isinstance(one, tuple) else (one, OK) for one in wanted]
    outcome, env = _play(text, plan, wanted, "Reserve row 12 in Stonebridge, the pin is 77.")
    assert outcome is Outcome.DONE
    assert not env.wanted


def test_ends_the_turn_if_the_text_says_so():
    outcome, env = _play("This is not on offer yet; tell the user.", [Call("ring_bell")], [(SEAT, OK)])
    assert outcome is Outcome.ANSWER
    assert len(env.sent) == 1


@pytest.mark.parametrize(
    ("text", "step"),
    [
        ("It did not work.", Call("open_gate", {"city": "Stonebridge"})),
        ("The gate must be unlocked.", Call("open_gate", {"city": "STB"})),
        ("Error during execution: 'NoneType' object is not subscriptable", Call("read_page", {"page": "a"})),
        ("name 'ring_bell' is not defined", Call("ring_bell")),
        ("This cannot be read.", Draft(SEAT, "<tool_call>[reserve_seat(row=12)]</tool_call>")),
    ],
)
def test_repeats_itself_if_the_text_does_not_help(text, step):
    outcome, env = _play(text, [step], [(SEAT, OK)])
    assert outcome is Outcome.GAVE_UP
    assert len(set(env.sent)) == 1
    assert len(env.sent) == 1 + TRIES


def test_gives_up_after_three_tries():
    outcome, env = _play("One of: Mon, Tue, Wed, Thu, Fri.", [Call("read_page", {"page": "x"})], [(SEAT, OK)])
    assert outcome is Outcome.GAVE_UP
    assert len(env.sent) == 1 + TRIES
    assert len(set(env.sent)) == len(env.sent)


def test_takes_a_result_without_complaint_for_a_success():
    plan = [SEAT, Call("read_page", {"page": "errors"})]
    outcome, env = _play("", plan, [(SEAT, {"text": "no error"}), (plan[1], ["not", "missing"])])
    assert outcome is Outcome.DONE
    assert len(env.sent) == 2


def _sources():
    return [inspect.getsource(module) for module in (learner_module, reading, memory)]


def test_holds_no_tool_name():
    tools = {name for domain in domain_names() for name in domain_class(domain).tools}
    for source in _sources():
        written = {name for name in tools if re.search(rf"(?<!\w){name}(?!\w)", source) and not name.islower()}
        written |= {name for name in tools if "_" in name and re.search(rf"(?<!\w){name}(?!\w)", source)}
        literals = {node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant)}
        assert not written
        assert not tools & literals


def test_imports_nothing_that_knows_the_world_or_the_feedback():
    allowed = {"calls", "callsyntax", "evaluation.memory", "evaluation.reading"}
    for source in _sources():
        names = re.findall(r"(?:from|import) envtune_gym\.?([\w.]*)", source)
        assert set(names) <= allowed
        assert "unwrapped" not in source
        assert not re.search(r"\"(?:tool_results|messages|turn_results|task_id)\"\]", source)
