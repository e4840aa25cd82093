"""Writes docs/environments.md, and the tables of settings in docs/training.md, from the docstrings: `make docs`.

What is made here is never edited by hand; tests fail when it is not what this script would write.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

from envtune_gym.domains import BUILTIN_DOMAINS, domain_class
from envtune_gym.domains.base import Domain
from envtune_gym.env import EnvtuneEnv
from envtune_gym.registration import MULTI_DOMAIN_ID, env_id
from envtune_gym.training.layers import settings_table

PAGE = Path(__file__).with_name("environments.md")
TRAINING_PAGE = Path(__file__).with_name("training.md")
_TABLES = re.compile(r"(<!-- settings: made by `make docs` -->\n).*?(<!-- end of settings -->\n)", re.DOTALL)

_HEAD = """# Environments

<!-- Made by `make docs` from the docstrings in envtune_gym; do not edit. -->

Each domain has an environment that serves the tasks involving it, with the tools of all domains that a task
involves; `{multi}` serves all tasks. All share one interface:

{interface}

"""


def environments_page() -> str:
    """Return the text of docs/environments.md."""
    interface = _as_markdown(inspect.getdoc(EnvtuneEnv) or "").replace("\n## ", "\n### ")
    head = _HEAD.format(multi=MULTI_DOMAIN_ID, interface=interface)
    return head + "\n".join(_domain_section(name, domain_class(name)) for name in BUILTIN_DOMAINS)


def training_page(page: str) -> str:
    """Return docs/training.md with its tables of settings made anew."""
    return _TABLES.sub(lambda match: f"{match[1]}\n{settings_table()}\n{match[2]}", page)


def _domain_section(name: str, domain: type[Domain]) -> str:
    rows = [_tool_row(tool.schema["function"]) for tool in domain.tools.values()]
    drawing = ", ".join(f"`{tool}`" for tool in sorted(domain.random_tools))
    return "\n".join(
        [
            f"## `{env_id(name)}`",
            "",
            _as_markdown(inspect.getdoc(domain) or ""),
            "",
            f"State that is compared: {', '.join(f'`{field}`' for field in domain.state_fields) or 'none'}.",
            f"Tools that draw random numbers: {drawing or 'none'}.",
            "",
            f"| tool ({len(rows)}) | what it is for |",
            "| --- | --- |",
            *rows,
            "",
        ]
    )


def _tool_row(function: dict[str, Any]) -> str:
    parameters = function["parameters"]
    shown = [
        name if name in parameters["required"] else f"{name}={parameter.get('default')!r}"
        for name, parameter in parameters["properties"].items()
    ]
    return f"| `{function['name']}({', '.join(shown)})` | {function['description']} |"


def _as_markdown(docstring: str) -> str:
    """Turn the sections of a Google docstring into lists."""
    lines = []
    for line in docstring.splitlines():
        item = re.match(r"    (\w+): (.*)", line)
        if item:
            lines.append(f"- `{item[1]}`: {item[2]}")
        elif re.fullmatch(r"(Args|Attributes|Raises):", line):
            lines += [f"**{line[:-1]}**", ""]
        else:
            lines.append(re.sub(r"^ {8}", "  ", line))
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(environments_page(), encoding="utf-8")
    TRAINING_PAGE.write_text(training_page(TRAINING_PAGE.read_text(encoding="utf-8")), encoding="utf-8")
