"""Takes the pictures of the viewer in docs/images, in a headless Chromium: `python docs/screenshots.py`.

Needs the extra `dev`, bfcl-eval, and chromium on the path. The runs in the pictures are made up: a player who knows the
solutions and makes mistakes (benchmarks/mistaken_runs.py).
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from envtune_gym import load_tasks
from envtune_gym.viewer.building import build_page
from envtune_gym.viewer.opening import open_run
from envtune_gym.viewer.selecting import Conditions, select, view

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs/images"
WIDTH = 1180


@dataclass(frozen=True)
class Picture:
    """A picture to take.

    Attributes:
        name: Of its file, without `.png`.
        page: The page: of one run, or of two.
        place: Where in the page.
        scheme: `light` or `dark`.
        height: How much is seen, in pixels.
        turn: Index of the turn of the episode that is scrolled to the top, if any.
    """

    name: str
    page: str
    place: str
    scheme: str
    height: int
    turn: int | None = None


PICTURES = (
    Picture("viewer-overview", "one", "#overview", "light", 740),
    Picture("viewer-episode", "one", "#episode-1", "light", 770, turn=1),
    Picture("viewer-dark", "one", "#episode-4", "dark", 740),
    Picture("viewer-compare", "two", "#overview", "dark", 740),
    Picture("viewer-side-by-side", "two", "#episode-1", "light", 640),
)


def main() -> None:
    """Write the pictures."""
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        pages = make_pages(Path(directory))
        take(pages)
    sys.stdout.write("".join(f"{file.name}: {file.stat().st_size / 1000:.0f} kB\n" for file in IMAGES.glob("viewer-*")))


def make_pages(directory: Path) -> dict[str, Path]:
    """Make two runs, and write a page of the first and one of both."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    from mistaken_runs import make_run, save_run

    tasks = load_tasks("bfcl")
    before = save_run(make_run(tasks, 1, skill=0.72, policy="before"), directory / "before.jsonl")
    after = save_run(make_run(tasks, 2, skill=0.86, policy="after"), directory / "after.jsonl")
    return {"one": _page(directory / "one.html", before), "two": _page(directory / "two.html", before, after)}


def take(pages: dict[str, Path]) -> None:
    """Take all pictures."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for picture in PICTURES:
            context = browser.new_context(
                viewport={"width": WIDTH, "height": picture.height}, color_scheme=picture.scheme
            )
            page: Any = context.new_page()
            page.goto(pages[picture.page].as_uri() + picture.place)
            page.wait_for_selector("html[data-ready]")
            if picture.turn is not None:
                page.locator(".turn").nth(picture.turn).evaluate("(element) => element.scrollIntoView()")
            page.screenshot(path=IMAGES / f"{picture.name}.png")
            context.close()
        browser.close()


def _page(path: Path, *files: Path) -> Path:
    runs = [open_run(file) for file in files]
    conditions = Conditions()
    path.write_text(build_page(view(runs, select(runs, conditions), conditions)), encoding="utf-8")
    return path


if __name__ == "__main__":
    main()
