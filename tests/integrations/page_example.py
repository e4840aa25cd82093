"""The examples of pages that need a package which others may not stand beside, or not everybody has."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
LONGEST = 40


def example(name, page="docs/integrations.md"):
    """Return the example of a framework."""
    text = (ROOT / page).read_text(encoding="utf-8")
    [block] = re.findall(rf"^```python {name}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert block.count("\n") <= LONGEST
    return block


def run_example(name, page="docs/integrations.md", **names):
    """Run the example of a framework as a reader would paste it, where some names are known already."""
    exec(compile(example(name, page), f"{page} ({name})", "exec"), names)
