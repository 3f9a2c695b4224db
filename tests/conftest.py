"""Shared settings: hypothesis draws the same examples on every run, without a database."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from mbndt.rules import Rules

settings.register_profile(
    "mbndt", derandomize=True, deadline=None, database=None, max_examples=50,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)  # fmt: skip
settings.load_profile("mbndt")

EXAMPLE = Path(__file__).parent / "data" / "example.rules.json"


@pytest.fixture(scope="session")
def example() -> Rules:
    """Rules with every construct of the format."""
    return Rules.from_json(EXAMPLE.read_bytes())
