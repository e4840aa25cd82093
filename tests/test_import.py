import json
import subprocess
import sys

HEAVY = ("torch", "trl", "transformers", "rich", "pandas", "mpmath", "typer", "datasets", "mcp")


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_importing_the_package_loads_nothing_heavy():
    loaded = json.loads(run("import json, sys, envtune_gym; print(json.dumps(sorted(sys.modules)))"))
    assert not {name.partition(".")[0] for name in loaded} & set(HEAVY)


def test_playing_an_episode_loads_nothing_heavy():
    code = """
import json, sys, gymnasium as gym, envtune_gym
env = gym.make("EnvTune/TravelAPI-v0")
env.reset(seed=0)
env.step("<answer>hello</answer>")
print(json.dumps(sorted(sys.modules)))
"""
    assert not {name.partition(".")[0] for name in json.loads(run(code))} & set(HEAVY)
