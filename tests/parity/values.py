"""Where the arguments of random calls come from: the world's state, official calls, documentation, and junk."""

import itertools
import json
import re
from functools import cache

from envtune_gym.callsyntax import Call, parse_call
from envtune_gym.domains import BUILTIN_DOMAINS, domain_class
from envtune_gym.official import data_folder, load_tool_docs, read_jsonl

STRINGS = [
    "", " ", ".", "..", "/", "a", "a/b", "../x", "new.txt", "new_dir", ".hidden", "x" * 300, "0", "-1", "007", "None",
    "Ünïcödé ✓", "日本語", "\U0001f600", "\ud800", "\x00", "two\nlines\r\nand\x0cmore\u2028", "  padded\t", "'", '"',
    "\\", "{}", "%s", "a:b", "a*b?", "2024-09-01", "2024-9-1", "2024-13-45",
    "1990-01-01", "US123", "usd", "buy", "Sell", "standing", "inf", "nan", "1e5", "#tag", "@user", "Open", "Closed",
]  # fmt: skip
INTEGERS = [0, 1, -1, 2, 3, 4, 5, 6, 10, 28, 99, 100, 101, 12345, 10**6, 2**31, 2**63, 10**25, -(10**25)]
NUMBERS = [
    *INTEGERS, 0.0, -0.0, 0.1, 0.5, 1.0, 1.5, -2.5, 32.0, 95, 1e-9, 1e16, 12345.678, 1e308, -1e308, 1e999, -1e999,
]  # fmt: skip
WRONG = [
    None, True, False, 0, -1, 3.7, 10**25, 1e999, "", "text", "12", [], [[]], [1, "a", None], ["a", 2], (), (1, 2), {},
    {"a": 1}, {"title": None}, {"priority": 9, "colour": "red"}, {"x": 1, "y": 2, "z": 3}, {1, 2}, [True, False],
    [1e999],
]  # fmt: skip

_SMALL = [0, 1, -1, 2, 3, 5, 10, 15, 28, 100, 400, -7, -300]
FURTHER = {
    "unit_in": ["km", "m", "cm", "mm", "um", "nm", "celsius", "fahrenheit", "kg", "lb"],
    "unit_out": ["km", "m", "cm", "mm", "um", "nm", "celsius", "fahrenheit", "kg", "lb"],
    "name": ["Apple", "Google", "Zeta Corp", "Quasar Ltd.", "Amazon", ".txt"],
    "date_of_birth": ["2008-03-22", "2008-03-23", "2008-03-24", "2008-02-29", "1990-1-1"],
    "travel_class": ["economy", "business", "first", "standing"],
    "status": ["Open", "closed", "RESOLVED"],
}
"""Values that official calls and documents do not show, by argument."""
PREPARED = {
    "TradingBot": {"authenticated": True, "market_status": "Open"},
    "TravelAPI": {
        "access_token": "token",
        "token_expires_in": 2,
        "credit_card_list": {"card": {"card_number": "1", "balance": 50000}},
        "booking_record": {"1": {"card_id": "card", "travel_cost": 10.0}},
        "user_first_name": "Ann",
        "user_last_name": "Lee",
    },
    "TwitterAPI": {"authenticated": True},
    "VehicleControlAPI": {
        "fuelLevel": 10.0,
        "doorStatus": dict.fromkeys(["driver", "passenger", "rear_left", "rear_right"], "locked"),
        "brakePedalStatus": "pressed",
        "brakePedalForce": 1000.0,
    },
}
"""Configurations in which much succeeds, by domain."""
BOUNDED = {"exponent": [*_SMALL, 0.5, -1.5, 2.0], "precision": _SMALL, "decimal_places": _SMALL}
"""Arguments that decide how long a call takes, officially without bound, and the values to try."""


def suitable(domain, parameter, state):
    """Return the values in a domain's state that an argument of this name may mean; any scalar if none do."""
    source = _SOURCES.get(domain, {}).get(parameter)
    found = list(source(state)) if source else []
    return found or _scalars(state)


def has_source(domain, parameter):
    """Tell whether a domain's state holds what an argument of this name means."""
    return parameter in _SOURCES.get(domain, {})


def visible_state(world, domain):
    """Return a domain's public state, and of a file system the names in the current directory too, under `here`."""
    state = world.state()[domain]
    if domain == "GorillaFileSystem":
        try:
            state["here"] = json.loads(world.call("ls", {"a": True}).content)["current_directory_content"]
        except ValueError:
            state["here"] = []
    return state


@cache
def official_calls(tool):
    """Return the arguments by name of a tool's calls in official ground truths, without nested calls."""
    return _corpus().get(tool, [])


@cache
def official_values(tool, parameter):
    """Return the values that an argument has in official ground truths, then those that its description lists."""
    description = _documents()[tool]["parameters"]["properties"][parameter]["description"]
    listed = re.findall(r'"([^"]+)"', description)
    for values in re.findall(r"(?:Enum\]:|ptions are:) ([^.\[\]]+)", description):
        listed += re.split(r", (?:or )?", values.strip())
    used = [arguments[parameter] for arguments in official_calls(tool) if parameter in arguments]
    return [*[value for index, value in enumerate(used) if value not in used[:index]][:40], *listed]


def entries(category):
    """Return the official test entries of a category."""
    return read_jsonl(data_folder() / f"data/BFCL_v4_multi_turn_{category}.json")


def ground_truths(category):
    """Return the official ground truths of a category: call strings by turn."""
    answers = read_jsonl(data_folder() / f"data/possible_answer/BFCL_v4_multi_turn_{category}.json")
    return [answer["ground_truth"] for answer in answers]


@cache
def tools():
    """Return the tools of all official domains by name."""
    return {name: tool for domain in BUILTIN_DOMAINS for name, tool in domain_class(domain).tools.items()}


@cache
def _documents():
    return {doc["name"]: doc for domain in BUILTIN_DOMAINS for doc in load_tool_docs(domain)}


@cache
def _corpus():
    found = {}
    for text in itertools.chain.from_iterable(itertools.chain.from_iterable(ground_truths("base"))):
        call = parse_call(text)
        arguments = dict(zip(tools()[call.name].signature.parameters, call.args, strict=False)) | dict(call.kwargs)
        if arguments and not any(isinstance(value, Call) for value in arguments.values()):
            found.setdefault(call.name, []).append(arguments)
    return found


def _scalars(value):
    if isinstance(value, dict):
        return [*value, *itertools.chain.from_iterable(map(_scalars, value.values()))]
    if isinstance(value, list):
        return list(itertools.chain.from_iterable(map(_scalars, value)))
    return [] if value is None else [value]


def _names(state):
    """Return the names of files and directories: those here, then the others, those near the root first."""
    yield from state.get("here", ())
    level = [state["root"]]
    while level:
        contents = [item for directory in level for item in directory["directory"].items()]
        yield from (name for name, _ in contents)
        level = [item for _, item in contents if "directory" in item]


_FILES = ("file_name", "dir_name", "folder", "source", "destination", "file_name1", "file_name2", "path", "name")
_SOURCES = {
    "GorillaFileSystem": dict.fromkeys(_FILES, _names),
    "MessageAPI": {
        "user": lambda state: state["user_map"],
        "user_id": lambda state: state["user_map"].values(),
        "receiver_id": lambda state: state["user_map"].values(),
    },
    "TicketAPI": {
        "username": lambda state: [state["current_user"]],
        "ticket_id": lambda state: [ticket["id"] for ticket in state["ticket_queue"] if "id" in ticket],
    },
    "TradingBot": {
        "order_id": lambda state: state["orders"],
        "symbol": lambda state: [*state["watch_list"], *state["stocks"]],
        "stock": lambda state: state["stocks"],
        "stocks": lambda state: state["stocks"],
        "amount": lambda state: [state["account_info"].get("balance", 0), 100, 1],
    },
    "TravelAPI": {
        "access_token": lambda state: [state["access_token"]],
        "card_id": lambda state: state["credit_card_list"],
        "booking_id": lambda state: state["booking_record"],
        "first_name": lambda state: [state["user_first_name"]],
        "last_name": lambda state: [state["user_last_name"]],
    },
    "TwitterAPI": {
        "username": lambda state: [state["username"]],
        "password": lambda state: [state["password"]],
        "username_to_follow": lambda state: state["following_list"],
        "username_to_unfollow": lambda state: state["following_list"],
        "tweet_id": lambda state: state["tweets"],
    },
    "VehicleControlAPI": {"door": lambda state: state["doorStatus"]},
}
