"""Rules with all evidence, whose texts are Greek: all Latin letters of a sheet are its own."""

from dataclasses import replace

from unseen import performance_of, with_evidence

from mbndt.rules import (
    Feature,
    FeatureType,
    Group,
    Interval,
    Leaf,
    NumericSplit,
    Rules,
    SetSplit,
    Target,
    TargetType,
)


def greek(event=True):
    """Return rules of all types with all evidence, whose texts are Greek."""
    x = Feature("ξ", FeatureType.FLOAT64, label="Ξ", unit="μ", description="Δ")
    y = Feature("υ", FeatureType.FLOAT32)
    n = Feature("ν", FeatureType.INTEGER, unit="π")
    b = Feature("β", FeatureType.BOOLEAN)
    c = Feature("κ", FeatureType.CATEGORY, ("α", "ω\n", "ω"))
    classes = ("λ", "ρ") if event else ("λ", "ρ", "σ")

    def leaf(i):
        counts = ((9 + i, 1), (2, 30 - i), (5, 5))[i % 3]
        counts = counts if event else (*counts, 0)
        return Leaf(i, tuple(k / sum(counts) for k in counts), counts)

    def below(name, cut, missing, *nodes):
        return NumericSplit(name, (Interval(cut, 0), Interval(None, 1)), missing, nodes)

    flags = SetSplit("β", (Group((False,), 0), Group((True,), 1)), 0, (leaf(4), leaf(5)))
    groups = (Group(("α",), 0), Group(("ω\n",), 1))
    sets = SetSplit("κ", groups, 2, (leaf(3), flags, leaf(6)), 2)
    root = below("ξ", 2.5, 1, below("υ", 0.7, 1, leaf(0), leaf(1)), below("ν", 7, 0, leaf(2), sets))
    target = Target("τ", TargetType.STRING, classes, "ζ", "Ζ")
    seen = {"missing": 0.0004, "range": [0.25, 9.5]}
    provenance = {
        "training rows": 400,
        "class rows": [250, 150] if event else [250, 100, 50],
        "features": {"ξ": seen, "υ": seen, "ν": {"missing": 0.5, "range": [0, 9]}},
        "operating point": {"act_at": 0.125, "cost": {"missed": 2.5, "false": 1}},
        "prevalence": {"λ": 0.9, "ρ": 0.1},
    }
    rules = Rules("Ρ", target, (x, y, n, b, c, Feature("ο", FeatureType.FLOAT64)), root, provenance)
    question = {"feature": "ξ", "refits": 9, "alike": 7}
    rules = with_evidence(rules, "cross-fitted", **{"first question": question})
    block = {"rules": rules.fingerprint, "kind": "external", "on": "Λ", "date": "2026-10-01"}
    block["performance"] = performance_of([[20, 5], [2, 25]], 1, useful=None, unanswered=1)
    blocks = [block] if event else []
    return replace(rules, provenance={**rules.provenance, "validation": blocks})


def numbers():
    """Return a regression whose texts are Greek."""
    parts = (Interval(1.5, 0), Interval(None, 1))
    leaves = (Leaf(0, 1.25, n=30, mean=1.25, std=0.5), Leaf(1, 7.0, n=1, mean=7.0, std=0.0))
    provenance = {
        "evidence": {
            "kind": "held out",
            "rows": 31,
            "leaves": [{"n": 30, "mean": 1.3, "std": 0.4}, {"n": 1, "mean": 7.5, "std": None}],
            "intervals": [[1.1, 1.6], None],
            "performance": {"rows": 31, "r2": [0.5, 0.4, 0.6], "mae": 0.25, "rmse": 0.75},
        },
        "held out": {"rows": 9, "r2": 0.5, "rmse": 1.5, "rmse_95": [1.25, 1.75]},
    }
    x = Feature("ξ", FeatureType.FLOAT64)
    root = NumericSplit("ξ", parts, 0, leaves)
    return Rules("Ρ", Target("τ", TargetType.FLOAT64, unit="μ"), (x,), root, provenance)


GREEK_WORDS = {
    "exclusions": ["Γ"],
    "validation": "Θ",
    "supersedes": "Φ",
    "date": "2026-11-01",
    "review_date": "2026-10-01",
    "features": {
        "ξ": {
            "range": [0.5, 90],
            "decimals": 1,
            "other_units": [{"unit": "φ", "factor": 0.1}, {"unit": "χ", "factor": 1.25}],
            "missing": {"stop": "Σ"},
        },
        "υ": {"decimals": 0, "missing": "Π"},
        "ν": {"decimals": -1},
        "κ": {"values": {"α": "Α"}},
        "β": {"values": {"true": "Β"}, "missing": {"stop": ""}},
    },
    "outcomes": {"λ": {"action": "Λ", "label": "Ε"}},
}
CASES = {
    "an event": (greek(), GREEK_WORDS),
    "three classes": (greek(event=False), {}),
    "a number": (numbers(), {}),
    "no step": (replace(numbers(), root=Leaf(0, 1.5), provenance={}), {}),
}
