"""The commands that the pages show exist, with these options."""

import re
import shlex
from pathlib import Path

import pytest
import typer

from envtune_gym.commands.app import app

PAGES = sorted((Path(__file__).parents[1] / "docs").glob("*.md"))
BLOCK = re.compile(r"^```(?:console|sh|bash)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def commands(page):
    """Yield the words of each command of a page after `envtune`."""
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(line.removeprefix("$ "), comments=True)
            while words and "=" in words[0]:  # variables of the command's environment
                words = words[1:]
            if words[:1] == ["envtune"]:
                yield words[1:]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_can_be_read(page):
    for words in commands(page):
        command = typer.main.get_command(app)
        left = list(words)
        while hasattr(command, "commands"):
            assert left, words
            command = command.commands.get(left.pop(0))
            assert command is not None, words
        command.make_context("envtune", left, resilient_parsing=False).close()
