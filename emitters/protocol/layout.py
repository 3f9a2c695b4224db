"""Where blocks stand on paper, and how large: what fits on the front beside the steps."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

# Of the smaller paper (Letter) between its margins, in lines of 10 points on 11.7; what stands
# round the steps; letters in a line of the page, of a step's row, and of a drawing's unit.
LINES, AROUND = 62.0, 14.0
PAGE_LETTERS, HALF_LETTERS, ROW_LETTERS = 100, 50, 30
UNITS = 16.3  # of a drawing, in a line
LARGE = 1.2  # how much larger letters may be


def front(view: Mapping[str, Any]) -> dict[str, bool]:
    """Return whether the drawing has room on the front, and whether letters may be large there."""
    drawing = view["drawing"]["height"] / UNITS if view["drawing"] else LINES
    drawn = _around(view, 1) + drawing <= LINES
    large = LARGE * _around(view, LARGE) + drawing * drawn <= LINES
    return {"drawn": drawn, "large": large}


def _around(view: Mapping[str, Any], size: float) -> float:
    """Return the lines that all but the drawing takes where letters are so much larger."""

    def lines(text: str, letters: float) -> int:
        return math.ceil(len(text) * size / letters)

    found = AROUND + lines("".join(name + said for name, said in view["identity"]), PAGE_LETTERS)
    found += sum(0.1 + lines(name + said, HALF_LETTERS) for name, said in view["use"]) / 2
    found += sum(0.2 + lines(said, PAGE_LETTERS * 0.6) for _, said in view["answers"])
    steps = 0.0
    for step in view["steps"]:
        rows = [" ".join(row["parts"]) for row in step["rows"]]
        steps += 1.5 + sum(lines(step[note], HALF_LETTERS) for note in ("converted", "missing"))
        steps += 2 * len(step["falling"])
        steps += sum(0.2 + lines(text, ROW_LETTERS) for text in rows)
    # Two columns where there are more than two steps; one is longer.
    return found + (steps if len(view["steps"]) < 3 else steps / 2 + 2)
