"""Rules of sixteen leaves, four classes and mixed types, with what people state about them."""

import itertools

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

CLASSES = ("home", "observation", "ward", "intensive care")
FEATURES = (
    Feature("age", FeatureType.INTEGER, unit="years"),
    Feature("lactate", FeatureType.FLOAT64, label="Serum lactate", unit="mmol/L"),
    Feature("rr", FeatureType.INTEGER, label="Respiratory rate", unit="breaths/min"),
    Feature("avpu", FeatureType.CATEGORY, ("alert", "voice", "pain", "none"), label="AVPU score"),
    Feature("oxygen", FeatureType.BOOLEAN, label="On oxygen"),
    Feature("temp", FeatureType.FLOAT32, label="Temperature", unit="°C"),
    Feature("weight", FeatureType.FLOAT64, unit="kg"),
)
PROVENANCE = {
    "learned by": "mbndt",
    "training rows": 1600,
    "class rows": [620, 470, 310, 200],
    "features": {
        "age": {"missing": 0.0, "range": [18, 97]},
        "lactate": {"missing": 0.08, "range": [0.4, 14.2]},
        "avpu": {"missing": 0.01},
    },
    "held out": {
        "rows": 400,
        "balanced_accuracy": 0.81,
        "balanced_accuracy_95": [0.77, 0.845],
        "class_rows": [155, 118, 77, 50],
        "class_hits": [140, 90, 0, 50],
    },
}

STATED = {
    "title": "Where to send an adult with suspected infection",
    "population": "adults in the emergency department",
    "setting": "at triage, by the nurse in charge",
    "exclusions": ["age below 18", "pregnant"],
    "outcome": "the place of care that the patient needs",
    "horizon": "24 hours",
    "author": "A. Example",
    "contact": "extension 1234",
    "version": "2.1",
    "date": "2026-11-01",
    "review_date": "2027-11-01",
    "features": {
        "age": {"label": "Age", "range": [18, 110], "measured": "from the record"},
        "lactate": {
            "range": [0.1, 30],
            "decimals": 1,
            "measured": "venous sample",
            "missing": "take the row missing, and ask for it now",
        },
        "temp": {"unit": "degrees C", "decimals": 0, "description": "of the ear drum"},
    },
    "outcomes": {
        "home": {"action": "Discharge with advice"},
        "intensive care": {"action": "Call the outreach team now", "pattern": "dark"},
    },
}


def mixed_rules() -> Rules:
    """Return the rules: every type of feature, shared children, missing values on every side."""
    ids = itertools.count()

    def leaf(of: int, *counts: int) -> Leaf:
        assert max(counts) == counts[of]
        total = sum(counts)
        shares = [count / total for count in counts[:3]]
        return Leaf(next(ids), (*shares, 1 - sum(shares)), counts)

    def cut(
        name: str, cuts: tuple[float, ...], to: tuple[int, ...], missing: int, *kids: Node
    ) -> Node:
        parts = (Interval(b, t) for b, t in zip([*cuts, None], to, strict=True))
        return NumericSplit(name, tuple(parts), missing, kids)

    def oxygen(missing: int, no: Node, yes: Node) -> Node:
        return SetSplit("oxygen", (Group((False,), 0), Group((True,), 1)), missing, (no, yes))

    avpu = SetSplit(
        "avpu",
        (Group(("alert",), 0), Group(("voice",), 1), Group(("pain", "none"), 2)),
        2,
        (leaf(1, 3, 42, 2, 1), leaf(2, 0, 3, 31, 3), leaf(3, 0, 1, 2, 12)),
        2,
    )
    temp = cut(
        "temp",
        (35.1, 38.5),
        (0, 1, 0),
        1,
        cut("weight", (50.0,), (0, 1), 0, leaf(2, 1, 2, 26, 3), leaf(1, 8, 65, 4, 2)),
        cut("age", (65,), (0, 1), 1, leaf(0, 423, 33, 27, 3), leaf(0, 226, 17, 12, 10)),
    )
    low = cut(
        "rr",
        (9, 21, 25),
        (0, 1, 2, 0),
        2,
        avpu,
        temp,
        oxygen(0, leaf(1, 2, 35, 5, 5), leaf(2, 2, 0, 21, 3)),
    )
    age = cut(
        "age",
        (50, 75),
        (0, 1, 2),
        2,
        leaf(1, 4, 46, 4, 0),
        leaf(2, 2, 4, 36, 2),
        leaf(2, 1, 3, 21, 2),
    )
    late = SetSplit(
        "avpu",
        (Group(("alert", "voice"), 0), Group(("none", "pain"), 1)),
        1,
        (leaf(1, 6, 87, 2, 3), leaf(3, 1, 1, 0, 9)),
        0,
    )
    high = cut("weight", (60.0, 110.0), (0, 1, 0), 0, age, late)
    root = cut(
        "lactate",
        (2.0, 4.15),
        (0, 1, 2),
        0,
        low,
        high,
        oxygen(1, leaf(2, 0, 3, 29, 4), leaf(3, 2, 2, 1, 18)),
    )
    return Rules(
        "early warning 2",
        Target("disposition", TargetType.STRING, CLASSES),
        FEATURES,
        root,
        PROVENANCE,
    )
