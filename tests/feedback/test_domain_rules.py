"""Every error that a domain with hints can raise has a rule, and no hint of theirs gives anything away."""

import ast
import importlib
import json
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

from envtune_gym import load_tasks
from envtune_gym.calls import render_answer, render_calls
from envtune_gym.callsyntax import Call, parse_call
from envtune_gym.domains import domain_class
from envtune_gym.feedback.book import domain_rules
from envtune_gym.feedback.general import RULES as GENERAL_RULES
from envtune_gym.feedback.leaks import find_leaks
from envtune_gym.feedback.rules import named_tools
from envtune_gym.wrappers import AugmentedFeedbackWrapper

DOMAINS = ("GorillaFileSystem", "TravelAPI", "VehicleControlAPI")
PACKAGE = "envtune_gym.domains."


def sources(module):
    """Return the syntax trees of a domain's module and of the modules of the package that it is made of."""
    pending, trees = [module], {}
    while pending:
        name = pending.pop()
        if name in trees or name in (PACKAGE + "base", PACKAGE + "schema"):
            continue
        trees[name] = ast.parse(Path(importlib.import_module(name).__file__).read_text())
        pending += [
            node.module
            for node in ast.walk(trees[name])
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PACKAGE)
        ]
    return list(trees.values())


def raised_codes(trees):
    """Return the codes of all failures: what is passed as `code` to a failure, or to a function that hands it on."""
    nodes = [node for tree in trees for node in ast.walk(tree)]
    takers = {"ToolFailure": 0, "ToolCrash": 0}
    codes = set()
    for function in (node for node in nodes if isinstance(node, ast.FunctionDef) and node.name != "__init__"):
        names = [argument.arg for argument in function.args.args if argument.arg != "self"]
        if "code" in names:
            takers[function.name] = names.index("code")
        for argument, default in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True):
            if argument.arg == "code":
                takers[function.name] = None
                codes |= constants(default, nodes)
    for call in (node for node in nodes if isinstance(node, ast.Call)):
        name = getattr(call.func, "attr", getattr(call.func, "id", None))
        given = [keyword.value for keyword in call.keywords if keyword.arg == "code"]
        if name in takers and takers[name] is not None and len(call.args) > takers[name]:
            given.append(call.args[takers[name]])
        if name in takers:
            codes |= {code for value in given for code in constants(value, nodes)}
    return codes


def constants(value, nodes):
    """Return the strings that an expression can be; a name stands for all that is assigned to it anywhere."""
    if isinstance(value, ast.Constant):
        return {value.value}
    if isinstance(value, ast.IfExp):
        return constants(value.body, nodes) | constants(value.orelse, nodes)
    assert isinstance(value, ast.Name), f"cannot tell the code from {ast.unparse(value)}"
    found = set()
    for node in nodes:
        if isinstance(node, ast.Assign):
            targets, values = node.targets[0], node.value
            if isinstance(targets, ast.Tuple) and isinstance(values, ast.Tuple):
                pairs = list(zip(targets.elts, values.elts, strict=True))
            else:
                pairs = [(targets, values)]
            for target, assigned in pairs:
                if isinstance(target, ast.Name) and target.id == value.id:
                    found |= constants(assigned, nodes)
    return found


@pytest.mark.parametrize("domain", DOMAINS)
def test_every_code_has_a_rule_and_every_rule_a_code(domain):
    trees = sources(domain_class(domain).__module__)
    codes = raised_codes(trees)
    assert len(codes) > 10
    general = {rule.code for rule in GENERAL_RULES}
    ruled = {rule.code for rule in domain_rules(domain)}
    assert codes - ruled - general == set()
    assert ruled - codes == set()


@pytest.mark.parametrize("domain", DOMAINS)
def test_rules_name_only_tools_of_their_domain(domain):
    for rule in domain_rules(domain):
        for text in rule.actionable:
            assert set(named_tools(text)) <= set(domain_class(domain).tools)
        assert rule.tool is None or rule.tool in domain_class(domain).tools


def altered(call, rng):
    """Return calls that are wrong in the ways models are: names, arguments, types, values, paths, order."""
    yield Call(call.name + "_now", call.kwargs)
    yield Call(call.name, {**call.kwargs, "mode_of_use": "x"})
    yield Call(call.name)
    for name, value in call.kwargs.items():
        others = {k: v for k, v in call.kwargs.items() if k != name}
        yield Call(call.name, others)
        wrong = [None, [], 10**9, -1, "no_such_thing", f"./{value}/", str(value).upper(), str(value)[:-1]]
        for index in rng.choice(len(wrong), size=3, replace=False):
            yield Call(call.name, {**others, name: wrong[index]})


def keyword_call(text, domains):
    """Return a ground-truth call with its positional arguments by name, for the format knows no others."""
    call = parse_call(text)
    tool = next(domain_class(d).tools[call.name] for d in domains if call.name in domain_class(d).tools)
    return Call(call.name, {**dict(zip(tool.signature.parameters, call.args, strict=False)), **call.kwargs})


def hints_of_episode(env, task, rng):
    """Play a task with altered calls before the right ones; yield each hint with what the agent has seen."""
    _, info = env.reset(seed=0, options={"task_id": task.id})
    seen = [str(message["content"]) for message in info["messages"]]
    for turn, truth in enumerate(task.ground_truth):
        right = [keyword_call(text, task.domains) for text in truth]
        wrong = [other for call in right for other in altered(call, rng)]
        offered = env.unwrapped.episode.offered
        for batch in (wrong[:100], right[::-1], right):
            if not batch:
                continue
            action = render_calls(batch, "tool_call")
            *_, info = env.step(action)
            seen.append(action)
            seen += [result["official"] for result in info["tool_results"]]
            remaining = [text for calls in task.ground_truth[turn:] for text in calls]
            for result in info["tool_results"]:
                if result["error"] or result["silent"]:
                    yield result, hint_in(result), offered, "\n".join(seen), remaining
        info = env.step(render_answer("Done.", "tool_call"))[4]
        seen += [str(message["content"]) for message in info["messages"]]


def hint_in(result):
    if result["content"] == result["official"]:
        return ""
    text = result["content"].partition(f"{result['official']}\nHint: ")[2]
    return text or json.loads(result["content"])["hint"]


@pytest.mark.bfcl
@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("level", ["actionable", "diagnostic"])
def test_no_hint_on_altered_official_ground_truths_gives_anything_away(domain, level):
    tasks = load_tasks("bfcl", domains=[domain], categories=["base", "miss_func"])
    env = gym.make("EnvTune/MultiDomain-v0", tasks=tasks, offer="strict", max_steps_per_turn=99)
    env = AugmentedFeedbackWrapper(env, level)
    rng = np.random.default_rng(0)
    own = domain_class(domain).tools
    told = 0
    for task in tasks[::4]:
        for result, hint, offered, seen, remaining in hints_of_episode(env, task, rng):
            assert hint or result["name"] not in own, f"no hint for {result['error'] or result['silent']}"
            told += bool(hint)
            assert find_leaks(hint, offered=offered, seen=seen, ground_truth=remaining) == [], hint
    assert told > 300
