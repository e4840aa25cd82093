"""Install each extra alone, from the wheel, in an environment of its own, and run its tests there.

Some extras cannot live together, so one environment cannot test them all: run `python benchmarks/extras.py`, or with
the names of some. It prints what was installed and what came of the tests as a Markdown table, and ends with 1 if
anything failed.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
TOOLS = ("pytest>=8", "hypothesis>=6.100")
CONSTRAINTS = ("torch==2.13.0",)  # as constraints.txt; what else stands there some extras cannot have

_VERSIONS = """
import importlib.metadata, sys
for name in sys.argv[1:]:
    print(name, importlib.metadata.version(name))
"""


@dataclass(frozen=True)
class Extra:
    """What to run for an extra.

    Attributes:
        tests: Its tests.
        packages: The packages whose versions are told.
    """

    tests: tuple[str, ...]
    packages: tuple[str, ...]


EXTRAS = {
    "": Extra(("tests/test_import.py", "tests/test_env.py"), ("gymnasium", "pydantic")),
    "eval": Extra(("tests/test_cli.py", "tests/test_docs_commands.py"), ("typer", "openai")),
    "train": Extra(("tests/integrations/test_trl.py",), ("trl", "transformers", "torch")),
    "mcp": Extra(("tests/integrations/test_mcp_server.py",), ("mcp",)),
    "viz": Extra(("tests/evaluation/test_run_pictures.py",), ("matplotlib",)),
    "classical": Extra(
        ("tests/wrappers/test_featurize.py", "tests/wrappers/test_candidate_action.py"),
        ("stable-baselines3", "sb3-contrib", "scikit-learn"),
    ),
    "verifiers": Extra(("tests/integrations/test_verifiers_env.py",), ("verifiers", "mcp", "openai")),
    "openenv": Extra(("tests/integrations/test_openenv.py",), ("openenv", "mcp")),
    "ray": Extra(
        ("tests/integrations/test_ray.py", "tests/integrations/test_ray_envs.py", "tests/commands/test_executors.py"),
        ("ray",),
    ),
    "verl": Extra(("tests/integrations/test_verl_agent_loop.py",), ("verl", "transformers", "torch")),
}


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("extras", nargs="*", metavar="EXTRA", help=f"some of: {', '.join(filter(None, EXTRAS))}")
    parser.add_argument("--pip", default="", metavar="FLAGS", help="more words for pip install, such as an index")
    arguments = parser.parse_args()
    unknown = set(arguments.extras) - set(EXTRAS)
    if unknown:
        parser.error(f"no such extra: {', '.join(sorted(unknown))}")
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        _run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", scratch, str(ROOT)])
        [wheel] = Path(scratch).glob("*.whl")
        for name in arguments.extras or EXTRAS:
            rows.append(_row(name, wheel, arguments.pip.split()))
            print(_line(rows[-1]), file=sys.stderr, flush=True)
    print("\n".join(map(_line, (["extra", "installed", "tests", "seconds"], ["---"] * 4, *rows))))
    return int(any("failed" in row[2] for row in rows))


def _row(name: str, wheel: Path, flags: list[str]) -> list[str]:
    """Install an extra and run its tests; return its row of the table."""
    extra = EXTRAS[name]
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        programs = Path(scratch) / "venv" / "bin"
        constraints = Path(scratch) / "constraints.txt"
        constraints.write_text("\n".join(CONSTRAINTS), encoding="utf-8")
        _run([sys.executable, "-m", "venv", str(programs.parent)])
        wanted = [f"{wheel}[{name}]" if name else str(wheel), *TOOLS]
        installed = _run(
            [str(programs / "pip"), "install", "--quiet", *flags, "--constraint", str(constraints), *wanted],
            check=False,
        )
        if installed.returncode:
            return [name or "(none)", "", f"failed to install: {installed.stderr.strip().splitlines()[-1]}", ""]
        versions = _run([str(programs / "python"), "-c", _VERSIONS, *extra.packages]).stdout.strip().splitlines()
        # The program `pytest` leaves the checkout out of the path, so that the tests import what was installed.
        tests = _run([str(programs / "pytest"), "-q", "-p", "no:cacheprovider", *extra.tests], check=False)
        outcome = re.findall(r"^(?:=+ )?(.*?) in [\d.]+s", tests.stdout, re.MULTILINE)
        if tests.returncode:
            sys.stderr.write(tests.stdout[-4_000:] + tests.stderr[-2_000:])
            outcome = [f"failed: {outcome[-1] if outcome else f'exit code {tests.returncode}'}"]
    return [name or "(none)", ", ".join(versions), outcome[-1], f"{time.monotonic() - began:.0f}"]


def _run(words: list[str], check: bool = True) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, cwd=ROOT, check=check, text=True, capture_output=True)  # noqa: S603 - our own words


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.exit(main())
