"""The examples of docs/integrations.md, each of which needs a package that others may not stand beside."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs/integrations.md"
LONGEST = 40


def run_example(name):
    """Run the example of a framework as a reader would paste it."""
    [block] = re.findall(rf"^```python {name}\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert block.count("\n") <= LONGEST
    exec(compile(block, f"{PAGE.name} ({name})", "exec"), {})
