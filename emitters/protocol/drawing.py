"""The drawing of a decision sheet's tree, from left to right: what a template turns into SVG.

Decision boxes are hexagons with the step's number, results are boxes (Society for Medical Decision
Making, Med Decis Making 12:149, 1992); each line says the answer above, in signs for want of room,
and the next question below.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from mbndt.emitters.protocol.grammar import (
    Answer,
    Bounds,
    Sheet,
    number_text,
    value_text,
)
from mbndt.emitters.protocol.words import say

# In units of about a quarter of a millimetre: the widest drawing, a line of text, the room at the
# top, and letters of 8 points.
WIDEST, ROW, TOP, FONT = 750.0, 13.6, 5.0, 11.2
MOST_LEVELS, HIGHEST = 8, 1020.0  # what can be read, and stands on one page
HEXAGON = 12.0  # half its width
TURN = 5.0  # from a hexagon to where its lines part
PATTERN = 14.0  # the part of a result's box that shows its class
BESIDE = 1.75 * ROW  # from a question to a text below it
# The width of letters in ems, as in Arial and its like; others are at most one em wide.
WIDTHS = {
    letter: width
    for width, letters in {
        0.22: "ijl'",
        0.28: " !,./:;ftI[]",
        0.34: "r()-“”`°",
        0.39: "*",
        0.5: "cksvxyzJ",
        0.56: "abdeghnopqu0123456789L$_#?≥",
        0.59: "+<=>~FTZ",
        0.67: "ABEKPSVXY&",
        0.73: "CDHNRUw",
        0.78: "GOQ",
        0.84: "mM",
        0.89: "%",
        0.95: "W",
    }.items()
    for letter in letters
}


def drawing(
    sheet: Sheet,
    titles: Mapping[str, str],
    answers: Mapping[int, tuple[str, str]],
    kinds: Mapping[int, int],
) -> dict[str, Any] | None:
    """Return where boxes, lines and texts stand, in units of about a quarter of a millimetre.

    `titles` by feature name; `answers` (with what bears them out, or nothing) and `kinds` (a class
    index) by leaf id. None for a sheet without steps, or with too many to be drawn on a page.
    """
    levels = _levels(sheet)
    if not levels or max(levels.values()) >= MOST_LEVELS:
        return None
    tree = _Tree(sheet, titles, answers, kinds, levels)
    tree.place(1)
    if tree.bottom > HIGHEST:
        return None
    return {
        "font": FONT,
        "row": tree.row,
        "width": tree.right + tree.box,
        "widest": WIDEST,
        "height": TOP + tree.bottom + 4,
        "hexagons": tree.hexagons,
        "lines": tree.lines,
        "boxes": tree.boxes,
        "box": tree.box,
        "pattern": tree.pattern,
    }


class _Tree:
    """Places a tree; `middles` are the hexagons' x by level, and results stand at `right`."""

    def __init__(
        self,
        sheet: Sheet,
        titles: Mapping[str, str],
        answers: Mapping[int, tuple[str, str]],
        kinds: Mapping[int, int],
        levels: Mapping[int, int],
    ) -> None:
        self.sheet, self.levels, self.kinds = sheet, levels, kinds
        self.titles = {
            number: titles[sheet.inputs[step.letter].name] for number, step in sheet.steps.items()
        }
        self.pattern = PATTERN if kinds else 0.0
        self.answers = {leaf: (f"R{leaf} {text}", more) for leaf, (text, more) in answers.items()}
        self.row = ROW + 2 + ROW * any(more for _, more in answers.values())
        self.bottom = 0.0
        # By level, the height from which on a text stands clear of the questions above.
        self.clear: dict[int, float] = defaultdict(float)
        self.hexagons: list[dict[str, Any]] = []
        self.lines: list[dict[str, Any]] = []
        self.boxes: list[dict[str, Any]] = []
        self._measure()

    def _measure(self) -> None:
        """Give each level the width of its longest text, the widest less where that is too much."""
        widths = [0.0] * (max(self.levels.values()) + 2)  # the last is the lines' to results
        longest = max(
            _width(text)
            for step in self.sheet.steps.values()
            for answer in step.answers
            if answer.step is None
            for text in self._said(answer)
        )
        self.box = min(self.pattern + longest + 8, WIDEST / 3)
        for number, step in self.sheet.steps.items():
            level = self.levels[number]
            widths[level] = max(widths[level], _width(self.titles[number]))
            for answer in step.answers:
                if answer.step is not None:
                    widths[level + 1] = max(widths[level + 1], _width(_signs(answer)))
        gap = TURN + 8
        for number, step in self.sheet.steps.items():
            own = self.levels[number] + 1
            room = sum(width + 2 * HEXAGON + gap for width in widths[own:-1])
            ends = [_width(_signs(answer)) for answer in step.answers if answer.step is None]
            widths[-1] = max(widths[-1], max(ends, default=0.0) - room)
        fixed = self.box + 2 * HEXAGON * (len(widths) - 1) + gap * len(widths)
        most = _cap(widths, WIDEST - fixed)
        self.columns = [min(width, most) + gap for width in widths]
        self.middles = [
            sum(self.columns[: level + 1]) + HEXAGON * (2 * level + 1)
            for level in range(len(widths) - 1)
        ]
        self.right = self.middles[-1] + HEXAGON + self.columns[-1]

    def place(self, number: int) -> float:
        """Place a step and all below it; return its height on the page."""
        step, level = self.sheet.steps[number], self.levels[number]
        start = self.middles[level] + HEXAGON
        # The line that leads here ends halfway down, and has a text of its own.
        half = self.row * (len(step.answers) - 1) / 2
        self.bottom = max(self.bottom, self.clear[level] - half - self.row / 2 - TOP)
        ends = [self._end(answer, level) for answer in step.answers]
        y = (ends[0] + ends[-1]) / 2
        for i, (answer, height) in enumerate(zip(step.answers, ends, strict=True)):
            right = self.right if answer.step is None else self.middles[level + 1] - HEXAGON
            self.lines.append(
                {
                    "id": f"{number}-{i}",
                    "x": start,
                    "y": y,
                    "turn": start + TURN,
                    "to_x": right,
                    "to_y": height,
                    "full": " ".join(answer.parts),
                    "text": _short(_signs(answer), right - start - TURN - 4),
                }
            )
        room = self.columns[level] - TURN - 4
        self.hexagons.append(
            {
                "number": number,
                "x": self.middles[level],
                "y": y,
                "full": self.titles[number],
                "root": level == 0,
                "title": _short(self.titles[number], room),
                "left": self.middles[level] - HEXAGON - self.columns[level] + TURN + 3,
            }
        )
        self.clear[level] = y + BESIDE
        return y

    def _end(self, answer: Answer, level: int) -> float:
        """Place what a row leads to; return its height on the page."""
        if answer.step is not None:
            return self.place(answer.step)
        # The line's text begins in the next level's column.
        below = max((y for column, y in self.clear.items() if column > level), default=0.0)
        y = max(TOP + self.bottom + self.row / 2, below)
        self.bottom = y - TOP + self.row / 2
        text, more = self._said(answer)
        self.boxes.append(
            {
                "leaf": answer.stop if answer.leaf is None else answer.leaf,
                "x": self.right,
                "y": y,
                "full": answer.then if not more else say("pair", name=text, text=more),
                "kind": None if answer.leaf is None else self.kinds.get(answer.leaf, 0),
                "text": _short(text, self.box - self.pattern - 6),
                "more": _short(more, self.box - self.pattern - 6),
            }
        )
        return y

    def _said(self, answer: Answer) -> tuple[str, str]:
        """Return what stands in the box that a row ends in, and what bears it out."""
        return (say("drawn_stop"), "") if answer.leaf is None else self.answers[answer.leaf]


def _levels(sheet: Sheet) -> dict[int, int]:
    """Return by number how many steps lead to a step."""
    found = {1: 0} if sheet.steps else {}
    for number, step in sheet.steps.items():  # which lead forward
        found |= {answer.step: found[number] + 1 for answer in step.answers if answer.step}
    return found


def _cap(widths: Sequence[float], room: float) -> float:
    """Return the greatest width to which all must be cut to fit into a room together.

    >>> _cap([10.0, 50.0, 90.0], 100.0)
    45.0
    """
    share = 0.0
    for i, width in enumerate(ascending := sorted(widths)):
        share = (room - sum(ascending[:i])) / (len(widths) - i)
        if width > share:
            return share
    return max(widths)


def _signs(answer: Answer) -> str:
    """Return what a row says in few signs: `<9, ≥25, missing`."""
    found = [*map(_bounds_signs, answer.bounds), *map(value_text, answer.values)]
    found += [say("not_listed")] * answer.other + [say("not_known")] * answer.missing
    return ", ".join(found)


def _bounds_signs(bounds: Bounds) -> str:
    low, high = bounds
    if low is None:
        return say("drawn_any") if high is None else f"<{number_text(high)}"
    if high is None:
        return f"≥{number_text(low)}"
    return say("drawn_between", low=number_text(low), high=number_text(high))


def ems(text: str) -> float:
    """Return about how wide a text is, in ems."""
    return sum(WIDTHS.get(c, 0.7 if c.isalpha() and c < "\u1100" else 1.0) for c in text)


def _width(text: str) -> float:
    return FONT * ems(text)


def _short(text: str, width: float) -> str:
    """Return a text cut to about a width."""
    if _width(text) <= width:
        return text
    while text and _width(text) + FONT > width:
        text = text[:-1]
    return text.rstrip() + "…"
