"""Shared settings: hypothesis draws the same examples on every run, without a database."""

import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from mbndt.rules import Rules

settings.register_profile(
    "mbndt",
    derandomize=True,
    deadline=None,
    database=None,
    max_examples=50,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("mbndt")

EXAMPLE = Path(__file__).parent / "data" / "example.rules.json"


@pytest.fixture(scope="session")
def example() -> Rules:
    """Rules with every construct of the format."""
    return Rules.from_json(EXAMPLE.read_bytes())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many tests each lacking engine, program or package has skipped."""
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = [str(report.longrepr[2]).removeprefix("Skipped: ") for report in skipped]
    lacking = Counter(reason for reason in reasons if re.search("install|import", reason))
    if lacking:
        terminalreporter.section("skipped, and what to install")
        for reason, count in lacking.most_common():
            terminalreporter.write_line(f"{count:5} {reason}")
        if other := len(reasons) - lacking.total():
            terminalreporter.write_line(f"{other:5} that don't apply here, whatever is installed")
