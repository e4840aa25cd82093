"""How fast the viewer's page opens: 2,000 episodes of official tasks, in a headless Chromium.

    python benchmarks/viewer_speed.py            # needs bfcl-eval, playwright, and chromium on the path

The times are the browser's own, from the beginning of the navigation: until the first paint, and until the page is
drawn and can be used. Then: the first episode opened (which reads the details), another one, and a search in all texts.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from mistaken_runs import make_run, save_run

from envtune_gym import load_tasks
from envtune_gym.viewer.building import build_page
from envtune_gym.viewer.opening import open_run
from envtune_gym.viewer.selecting import Conditions, select, view

EPISODES = 2000
MEASURED = """() => {
  const [navigation] = performance.getEntriesByType('navigation');
  const paint = performance.getEntriesByName('first-contentful-paint')[0];
  return { paint: paint ? paint.startTime : null, ready: navigation.domComplete };
}"""
OPENED = """(row) => {
  const start = performance.now();
  document.getElementById(`row-${row}`).click();
  document.getElementById('detail').getBoundingClientRect();
  return performance.now() - start;
}"""
SEARCHED = """() => new Promise((resolve) => {
  const box = document.getElementById('query');
  box.value = 'budget';
  box.dispatchEvent(new Event('input'));
  const start = performance.now();
  new MutationObserver(() => resolve(performance.now() - start)).observe(
    document.getElementById('count'), { childList: true, characterData: true, subtree: true });
})"""


def main() -> None:
    """Make the page, open it some times, and print the times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="how often the page is opened")
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as directory:
        page = make_page(Path(directory))
        found = [measure(page) for _ in range(rounds)]
    for name in found[0]:
        values = [one[name] for one in found]
        print(f"{name}: median {statistics.median(values):,.0f} ms, worst {max(values):,.0f} ms")


def make_page(directory: Path) -> Path:
    """Write a page of 2,000 episodes."""
    tasks = load_tasks("bfcl")
    episodes = []
    for sample in range(-(-EPISODES // len(tasks))):
        played = make_run(tasks[: EPISODES - len(episodes)], sample, skill=0.7)
        episodes += [episode.model_copy(update={"sample": sample}) for episode in played]
    run = open_run(save_run(episodes, directory / "run.jsonl"))
    start = time.perf_counter()
    conditions = Conditions()
    page = directory / "run.html"
    page.write_text(build_page(view([run], select([run], conditions), conditions)), encoding="utf-8")
    seconds = time.perf_counter() - start
    print(f"{len(episodes):,} episodes written in {seconds:.1f} s: {page.stat().st_size / 1e6:.1f} MB")
    return page


def measure(page: Path) -> dict[str, float]:
    """Return the times, in milliseconds, of one visit with a new browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        visit = browser.new_page()
        start = time.perf_counter()
        visit.goto(page.as_uri() + "#overview")
        visit.wait_for_selector("html[data-ready]")
        seen = time.perf_counter() - start
        times: dict[str, Any] = visit.evaluate(MEASURED)
        visit.keyboard.press("/")
        visit.evaluate("() => new Promise(requestAnimationFrame)")
        opened = {
            "another episode opened": visit.evaluate(OPENED, 3),
            "search in all texts, with a pause of 120 ms for typing": visit.evaluate(SEARCHED),
        }
        browser.close()
    return {"first paint": times["paint"], "drawn": times["ready"], "seen by the driver": 1000 * seen, **opened}


if __name__ == "__main__":
    main()
