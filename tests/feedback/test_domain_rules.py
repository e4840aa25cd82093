"""Every error that a domain can raise has a rule, and every rule is about one."""

import ast
import importlib
from pathlib import Path

import pytest

from envtune_gym.domains import BUILTIN_DOMAINS, domain_class
from envtune_gym.feedback.book import domain_rules
from envtune_gym.feedback.general import RULES as GENERAL_RULES
from envtune_gym.feedback.rules import named_tools

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


@pytest.mark.parametrize("domain", BUILTIN_DOMAINS)
def test_every_code_has_a_rule_and_every_rule_a_code(domain):
    trees = sources(domain_class(domain).__module__)
    codes = raised_codes(trees)
    assert len(codes) > 5
    general = {rule.code for rule in GENERAL_RULES}
    ruled = {rule.code for rule in domain_rules(domain)}
    assert codes - ruled - general == set()
    assert ruled - codes == set()


@pytest.mark.parametrize("domain", BUILTIN_DOMAINS)
def test_rules_name_only_tools_of_their_domain(domain):
    for rule in domain_rules(domain):
        for text in rule.actionable:
            assert set(named_tools(text)) <= set(domain_class(domain).tools)
        assert rule.tool is None or rule.tool in domain_class(domain).tools
