"""Decision sheets as tests take them: made, read, and cut into the rows of a step."""

from mbndt.emitters import emit
from mbndt.emitters.protocol_reader import Sheet, read_sheet
from mbndt.rules import (
    Feature,
    Interval,
    Leaf,
    NumericSplit,
    Rules,
    Target,
    TargetType,
)

LABELS = Target("y", TargetType.STRING, ("no", "yes"))
NO, YES = (1.0, 0.0), (0.0, 1.0)


def sheet_text(rules: Rules, kind: str = "md", **options: object) -> str:
    return emit(rules, "protocol", format=kind, **options).text


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
