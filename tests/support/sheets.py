"""Decision sheets as tests take them: made, read, and cut into the rows of a step."""

from collections.abc import Mapping

import pytest

from mbndt.emitters import emit
from mbndt.emitters.protocol.grammar import Sheet
from mbndt.emitters.protocol.paper import read_sheet
from mbndt.rules import (
    Feature,
    FeatureType,
    Group,
    Interval,
    Leaf,
    Node,
    NumericSplit,
    Rules,
    SetSplit,
    Target,
    TargetType,
)

languages = pytest.mark.parametrize("language", ["en", "de", "fr", "es"])
LABELS = Target("y", TargetType.STRING, ("no", "yes"))
NO, YES = (1.0, 0.0), (0.0, 1.0)


def sheet_text(
    rules: Rules, kind: str = "md", *, sheet: Mapping[str, object] | None = None, **options: object
) -> str:
    """Return a sheet that stops nowhere unless it is stated to, so that all steps stand on it."""
    stated = {"least_rows": 0, **(sheet or {})}
    return emit(rules, "protocol", format=kind, sheet=stated, **options).text


def read(rules: Rules, kind: str = "md") -> Sheet:
    return read_sheet(sheet_text(rules, kind), html=kind == "html")


def two_way(feature: Feature, *cuts: float, missing: int = 1) -> Rules:
    """Return a split whose intervals go to "no" and "yes" in turn."""
    parts = tuple(Interval(cut, i % 2) for i, cut in enumerate([*cuts, None]))
    split = NumericSplit(feature.name, parts, missing, (Leaf(0, NO), Leaf(1, YES)))
    return Rules("r", LABELS, (feature,), split)


def step_lines(rules: Rules, number: int) -> list[str]:
    """Return the printed rows of a step."""
    part = sheet_text(rules).split(f"### Step {number}: ")[1].split("\n#")[0]
    return [line for line in part.splitlines() if line.startswith("|")][2:]


def long_words(word: str) -> tuple[Rules, dict[str, object]]:
    """Return rules and statements that have a word wherever people's texts can stand."""
    c = Feature("c", FeatureType.CATEGORY, (word, f"{word}b"), label=f"{word}L", unit=word)
    x = Feature("x", FeatureType.FLOAT64, label="lactate", unit=word, description=word)

    def below(cut: float, low: Node, high: Node) -> NumericSplit:
        return NumericSplit("x", (Interval(cut, 0), Interval(None, 1)), 0, (low, high))

    other = below(1.0, below(3.0, Leaf(2, NO), Leaf(3, YES)), Leaf(4, NO))
    root = SetSplit("c", (Group((word,), 0),), 1, (below(2.0, Leaf(0, NO), Leaf(1, YES)), other), 1)
    target = Target(f"{word}T", TargetType.STRING, (f"{word}h", f"{word}w"), word, word)
    stated = {
        "title": word * 2,
        "author": word * 2,
        "population": word,
        "exclusions": [word],
        "outcomes": {f"{word}h": {"action": word * 2}},
        "features": {"c": {"measured": word, "missing": word * 2}},
    }
    return Rules(word, target, (c, x), root), stated
