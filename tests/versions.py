"""Builds wheel and sdist, installs each into fresh environments of several Pythons and Gymnasiums, and tries them out.

    python tests/versions.py --python 3.10 3.11 3.12 3.13 --gymnasium 1.2.0 1.4

Interpreters are looked for as `python3.10` and so on, in PATH and where pyenv keeps its own; a version that is not
there is reported as such. The archives are built with hatchling (pip install hatchling). Prints the table of
docs/versions.md, and exits with 1 if anything failed.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHONS = ("3.10", "3.11", "3.12", "3.13")
GYMNASIUMS = ("1.2.0", "1.4")

SMOKE = """
import sys
import gymnasium as gym
import envtune_gym
from envtune_gym import World, load_tasks, score_trajectory
from envtune_gym.domains import BUILTIN_DOMAINS
from envtune_gym.registration import ENV_IDS
from envtune_gym.wrappers import AugmentedFeedbackWrapper, ProgressRewardWrapper
from gymnasium.utils.env_checker import check_env

for name in ENV_IDS:
    check_env(gym.make(name).unwrapped)
for domain in BUILTIN_DOMAINS:
    task = load_tasks("generated", domains=(domain,))[0]
    assert score_trajectory(task, [[list(calls)] for calls in task.ground_truth]).valid, task.id
env = ProgressRewardWrapper(AugmentedFeedbackWrapper(gym.make("EnvTune/TicketAPI-v0")))
env.reset(seed=0)
told = env.step('<tool_call>[{"name": "get_ticket", "arguments": {"ticket_id": 99}}]</tool_call>')[0]
assert "There is no ticket 99" in told
envs = gym.make_vec("EnvTune/MathAPI-v0", num_envs=2, vectorization_mode="sync")
envs.reset(seed=0)
envs.step(("<answer>a</answer>",) * 2)
assert "site-packages" in envtune_gym.__file__
print(f"Python {sys.version.split()[0]}, Gymnasium {gym.__version__}")
"""


@dataclass(frozen=True)
class Outcome:
    """What came of one combination.

    Attributes:
        python: The version of Python asked for.
        gymnasium: The version of Gymnasium asked for.
        archive: Wheel or sdist.
        said: The versions that ran, or what went wrong.
        passed: Whether it ran; None if it could not be tried.
    """

    python: str
    gymnasium: str
    archive: str
    said: str
    passed: bool | None


class Failed(Exception):
    """A command that ended with an error; its message is the end of what it said."""


def run(*command: str | Path, cwd: Path | None = None) -> str:
    """Run a command and return its output.

    Raises:
        Failed: If it ends with an error.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        lines = (done.stdout + done.stderr).strip().splitlines()
        raise Failed("\n".join(lines[-15:]))
    return done.stdout


def build(folder: Path) -> dict[str, Path]:
    """Build sdist and wheel, the wheel from what the sdist holds, and return their paths by kind.

    Raises:
        Failed: If the build fails, or hatchling is not installed.
    """
    if importlib.util.find_spec("hatchling") is None:
        raise Failed("building the archives needs hatchling; run: pip install hatchling")
    run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", folder, cwd=ROOT)
    (sdist,) = folder.glob("*.tar.gz")
    shutil.unpack_archive(sdist, folder / "unpacked")
    (unpacked,) = (folder / "unpacked").iterdir()
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=unpacked)
    (wheel,) = folder.glob("*.whl")
    return {"wheel": wheel, "sdist": sdist}


def find_python(version: str) -> str | None:
    """Return an interpreter of a version such as `3.12`, or None if there is none."""
    if platform.python_version().startswith(f"{version}."):
        return sys.executable
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    kept = [str(path) for path in sorted((root / "versions").glob(f"{version}.*/bin/python"))]
    candidates = [*reversed(kept), shutil.which(f"python{version}")]
    for candidate in filter(None, candidates):
        try:
            run(candidate, "-c", f"import sys; assert sys.version.startswith('{version}.')")
        except Failed:
            continue
        return candidate
    return None


def try_out(python: str, archive: Path, gymnasium: str | None, folder: Path) -> str:
    """Install an archive into a fresh environment and run the smoke test; return the versions that ran.

    Args:
        python: The interpreter.
        archive: Wheel or sdist.
        gymnasium: Version of Gymnasium, as `1.2.0` or `1.4`; None takes whatever pip chooses.
        folder: Where the environment is made.

    Raises:
        Failed: If anything fails.
    """
    environment = folder / "environment"
    run(python, "-m", "venv", "--without-pip", environment)
    inside = environment / ("Scripts" if os.name == "nt" else "bin") / "python"
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", inside)
    wanted = [f"gymnasium=={_pattern(gymnasium)}"] if gymnasium else []
    run(*pip, "install", "--quiet", archive, *wanted)
    run(*pip, "check")
    return run(inside, "-c", SMOKE, cwd=folder).strip().splitlines()[-1]


def _pattern(version: str) -> str:
    """Return what pip is asked for: of a minor version the newest release."""
    return version if version.count(".") > 1 else f"{version}.*"


def outcomes(pythons: Sequence[str], gymnasiums: Sequence[str], folder: Path) -> list[Outcome]:
    """Try all combinations: the wheel in each, the sdist with the newest Gymnasium."""
    archives = build(folder)
    found: list[Outcome] = []
    for version, gymnasium in itertools.product(pythons, gymnasiums):
        for kind in ("wheel", "sdist") if gymnasium == gymnasiums[-1] else ("wheel",):
            python = find_python(version)
            if python is None:
                found.append(Outcome(version, gymnasium, kind, "no such interpreter here", None))
                continue
            with tempfile.TemporaryDirectory() as place:
                try:
                    said = try_out(python, archives[kind], gymnasium, Path(place))
                    found.append(Outcome(version, gymnasium, kind, said, True))
                except Failed as error:
                    found.append(Outcome(version, gymnasium, kind, str(error), False))
            sys.stderr.write(f"{found[-1]}\n")
    return found


def table(found: Sequence[Outcome]) -> str:
    """Return the outcomes as a table in Markdown."""
    words = {True: "passed", False: "failed", None: "not tried"}
    cells = [
        (one.python, _pattern(one.gymnasium), one.archive, words[one.passed], one.said.splitlines()[-1])
        for one in found
    ]
    rows = [f"| {' | '.join(row)} |" for row in cells]
    head = "| Python | Gymnasium | installed from | outcome | versions that ran |\n| --- | --- | --- | --- | --- |"
    return "\n".join([head, *rows])


def main() -> int:
    """Read the arguments, try everything, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", nargs="+", default=PYTHONS, metavar="X.Y")
    parser.add_argument("--gymnasium", nargs="+", default=GYMNASIUMS, metavar="X.Y", help="oldest first")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        try:
            found = outcomes(arguments.python, arguments.gymnasium, Path(folder))
        except Failed as error:  # of the build; what an environment fails with is an outcome
            sys.stderr.write(f"error: {error}\n")
            return 1
    sys.stdout.write(table(found) + "\n")
    return int(any(one.passed is False for one in found))


if __name__ == "__main__":
    sys.exit(main())
