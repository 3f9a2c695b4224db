"""The drawing of a decision sheet's tree, from left to right: what a template turns into SVG.

Decision boxes are hexagons with the step's number, results are boxes (Society for Medical Decision
Making, Med Decis Making 12:149, 1992); each line says the answer above, in signs for want of room,
and the next question below.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mbndt.emitters.protocol_reader import (
    MISSING,
    OTHER,
    Answer,
    Bounds,
    Sheet,
    number_text,
    value_text,
)

WIDTH, ROW, TOP = 470.0, 10.6, 4.0
BOX = 88.0  # a result's box
HEXAGON = 11.0  # half its width
LETTER = 4.0  # the mean width of a letter


def drawing(
    sheet: Sheet, titles: Mapping[str, str], answers: Mapping[int, str], kinds: Mapping[int, int]
) -> dict[str, Any] | None:
    """Return where boxes, lines and texts stand, in units of about a quarter of a millimetre.

    `titles` by feature name; `answers` and `kinds` (a class index) by leaf id. None for a sheet
    without steps.
    """
    if not sheet.steps:
        return None
    tree = _Tree(sheet, titles, answers, kinds)
    tree.place(1, 0)
    return {
        "width": WIDTH, "height": TOP + ROW * tree.rows + 4, "hexagons": tree.hexagons,
        "lines": tree.lines, "boxes": tree.boxes, "box": BOX,
    }  # fmt: skip


class _Tree:
    def __init__(
        self, sheet: Sheet, titles: Mapping[str, str], answers: Mapping[int, str],
        kinds: Mapping[int, int],
    ) -> None:  # fmt: skip
        self.sheet, self.titles, self.answers, self.kinds = sheet, titles, answers, kinds
        self.rows = 0
        self.hexagons: list[dict[str, Any]] = []
        self.lines: list[dict[str, Any]] = []
        self.boxes: list[dict[str, Any]] = []
        self.column = (WIDTH - BOX) / (_depth(sheet, 1) + 1)

    def place(self, number: int, level: int) -> float:
        """Place a step and all below it; return its height on the page."""
        step, x = self.sheet.steps[number], (level + 1) * self.column - HEXAGON
        ends = [self._end(answer, level) for answer in step.answers]
        y = (ends[0] + ends[-1]) / 2
        for i, (answer, height) in enumerate(zip(step.answers, ends, strict=True)):
            right = WIDTH - BOX if answer.step is None else (level + 2) * self.column - 22
            start = x + HEXAGON
            self.lines.append({
                "id": f"{number}-{i}", "x": start, "y": y, "turn": start + 5,
                "to_x": right, "to_y": height, "full": " ".join(answer.parts),
                "text": _short(_signs(answer), right - start - 10),
            })  # fmt: skip
        title = self.titles[self.sheet.inputs[step.letter].name]
        self.hexagons.append({
            "number": number, "x": x, "y": y, "full": title, "root": level == 0,
            "title": _short(title, self.column - 26), "left": level * self.column + 8,
        })  # fmt: skip
        return y

    def _end(self, answer: Answer, level: int) -> float:
        """Place what a row leads to; return its height on the page."""
        if answer.step is not None:
            return self.place(answer.step, level + 1)
        leaf = answer.leaf
        assert leaf is not None
        y = TOP + ROW * (self.rows + 0.5)
        self.rows += 1
        text = self.answers[leaf]
        self.boxes.append({
            "leaf": leaf, "x": WIDTH - BOX, "y": y, "full": text, "kind": self.kinds.get(leaf, 0),
            "text": _short(f"R{leaf} {text}", BOX - 24),
        })  # fmt: skip
        return y


def _signs(answer: Answer) -> str:
    """Return what a row says in few signs: `<9, ≥25, missing`."""
    found = [*map(_bounds_signs, answer.bounds), *map(value_text, answer.values)]
    return ", ".join([*found, *[OTHER] * answer.other, *[MISSING] * answer.missing])


def _bounds_signs(bounds: Bounds) -> str:
    low, high = bounds
    if low is None:
        return "any" if high is None else f"<{number_text(high)}"
    if high is None:
        return f"≥{number_text(low)}"
    if isinstance(high, int):
        return f"{low} to {high - 1}" if low < high - 1 else f"{low}"
    return f"{number_text(low)} to <{number_text(high)}"


def _depth(sheet: Sheet, number: int) -> int:
    """Return the greatest number of steps from one on."""
    depths: dict[int, int] = {}
    for step in reversed([*sheet.steps.values()]):
        below = [depths[answer.step] for answer in step.answers if answer.step is not None]
        depths[step.number] = 1 + max(below, default=0)
    return depths[number]


def _short(text: str, width: float) -> str:
    """Return a text cut to about a width."""
    most = max(int(width / LETTER), 3)
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
