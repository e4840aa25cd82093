"""What the parity tests share: the time zone that the oracle needs, and the figures printed at the end."""

import time
from collections import Counter

import pytest

FIGURES = "parity"
"""Name of the test property under which a test reports its figures, a dictionary of counts."""


@pytest.fixture(autouse=True, scope="module")
def utc():
    """Run the official backends under UTC: they format random timestamps in the host's time zone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


@pytest.fixture
def figures(record_property):
    """Yield a counter whose totals over all tests are printed at the end of the run."""
    counts = Counter()
    yield counts
    record_property(FIGURES, dict(counts))


def pytest_terminal_summary(terminalreporter):
    totals = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", None) == "teardown":
                for counts in [value for name, value in report.user_properties if name == FIGURES]:
                    totals.update(counts)
    if totals:
        terminalreporter.section("parity with the official package")
        for name in sorted(totals):
            terminalreporter.write_line(f"{totals[name]:>8,} {name}")
