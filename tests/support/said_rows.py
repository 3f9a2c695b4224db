"""The rows of a sheet, as its text says them."""

import pytest
from hypothesis import HealthCheck, Phase, settings

slowly = settings(
    max_examples=20, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)


formats = pytest.mark.parametrize("kind", ["md", "html", "txt"])


def rows_below(text: str, heading: str) -> list[list[str]]:
    """Return the cells of the first Markdown table below a heading."""
    lines = text.split(f"\n## {heading}\n")[1].split("\n")
    lines = lines[next(i for i, line in enumerate(lines) if line.startswith("|")) :]
    table = lines[: next(i for i, line in enumerate(lines) if not line.startswith("|"))]
    return [
        [cell.strip() for cell in line.split(" | ")]
        for line in (line[2:].removesuffix("|") for line in table[2:])
    ]
