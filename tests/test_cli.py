"""What holds for every command: help, flags, errors, exit codes."""

import os
import subprocess
import sys

import pytest
import typer

from envtune_gym.cli import main
from envtune_gym.commands.app import app
from envtune_gym.tasks import save_jsonl

SELECTION = {"--tasks", "--categories", "--domains", "--split", "--limit", "--seed", "--skip-quarantined"}


def commands(command=None, path=()):
    """Yield every command with the words that lead to it."""
    command = command or typer.main.get_command(app)
    if not hasattr(command, "commands"):
        yield path, command
    for name, child in getattr(command, "commands", {}).items():
        yield from commands(child, (*path, name))


COMMANDS = {path: {name for option in command.params for name in option.opts} for path, command in commands()}


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_help_shows_an_example(path, capsys):
    assert main([*path, "--help"]) == 0
    assert f"  envtune {' '.join(path)} " in capsys.readouterr().out


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_tasks_are_chosen_by_the_same_flags(path):
    fewer = {
        ("tasks", "generate"): SELECTION - {"--tasks", "--limit", "--skip-quarantined"},  # `--count` is no choice
        ("tasks", "coverage"): SELECTION - {"--tasks", "--seed", "--skip-quarantined"},
        ("tasks", "ladder"): {"--limit", "--seed"},  # of the generated test split, all kinds alike
        ("tasks", "paraphrase"): {"--limit", "--seed"},  # of a file; the seed is the model's
        ("rollouts",): {"--tasks", "--limit"},  # what is chosen are rollouts
        ("report",): set(),
        ("score",): {"--tasks"},  # what is scored says which tasks
        ("compare",): set(),
        ("view",): {"--tasks", "--limit"},  # what is chosen are episodes
        ("mcp",): {"--tasks"},
        ("mcp-proxy",): set(),
    }
    assert COMMANDS[path] & SELECTION == fewer.get(path, SELECTION)


def test_without_words_the_help(capsys):
    assert main([]) == 0
    assert "Usage: envtune" in capsys.readouterr().out


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_a_bare_install_says_how_to_add_the_command_line(missing):
    code = f"import sys; sys.modules[{missing!r}] = None; from envtune_gym.cli import main; sys.exit(main(['--help']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert 'pip install "envtune-gym[eval]"' in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("replay --nonsense", "--nonsense"),
        ("nonsense", "nonsense"),
        ("tasks", "command"),
        ("replay --limit some", "--limit"),
        ("replay --limit 0", "--limit"),
        ("replay --tasks nowhere", "'generated', 'bfcl', the path"),
        ("replay --tasks absent.jsonl", "absent.jsonl"),
        ("tasks list --domains Nowhere", "TravelAPI"),
        ("tasks list --split exam", "train, val, test"),
        ("tasks list --tasks {file} --categories miss_param", "base, miss_func"),
        ("tasks list --tasks {file} --categories ,", "categories is empty"),
        ("tasks show nobody --tasks {file}", "'nobody'"),
        ("tasks export {file}/x.jsonl --tasks {file}", "cannot write"),
        ("replay --tasks {file} --out {file}/x.jsonl", "cannot write"),
        ("replay --tasks {file} --actions absent.jsonl", "absent.jsonl"),
        ("tasks audit --tasks {file} --write", "--tasks bfcl"),
        ("tasks export x --format xyz", "'--format': 'xyz' is not one of 'envtune', 'bfcl'"),
    ],
)
def test_a_mistake_is_told_in_one_line(words, said, tmp_path, ticket_task, withheld_task, capsys):
    file = tmp_path / "tasks.jsonl"
    save_jsonl([ticket_task, withheld_task], file)
    assert main(words.format(file=file).split()) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert captured.err.count("\n") == 1
    assert said in captured.err


def test_an_interruption_ends_quietly(tmp_path, ticket_task):
    file = tmp_path / "tasks.jsonl"
    save_jsonl([ticket_task], file)
    # In a process of its own, for here an interruption could hit a callback that swallows it; again and again, in case.
    code = (
        "import signal, sys; from envtune_gym.cli import main; import envtune_gym.commands.bench;"
        "signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT));"
        "signal.setitimer(signal.ITIMER_REAL, 0.5, 5);"
        "sys.exit(main())"
    )
    words = [sys.executable, "-c", code, "bench", "--tasks", str(file), "--repeats", "1000000"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["table", "json"])
def test_a_reader_that_goes_away_is_no_error(form, tmp_path, ticket_task):
    file = tmp_path / "tasks.jsonl"
    save_jsonl([ticket_task], file)
    reader, writer = os.pipe()
    os.close(reader)
    code = "import sys; from envtune_gym.cli import main; sys.exit(main())"
    words = [sys.executable, "-c", code, "tasks", "list", "--tasks", str(file), *form]
    done = subprocess.run(words, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (130, "")
