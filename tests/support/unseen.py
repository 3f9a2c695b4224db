"""Evidence as training writes it, made by hand."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mbndt.measures.confidence import wilson
from mbndt.rules import Rules

KINDS = {"held out": {}, "cross-fitted": {"folds": 5}}


def performance_of(table: list[list[int]], event: int | None = None, **more: Any) -> dict[str, Any]:
    """Return a performance of a table [truth][answer], all but sums invented."""
    rows = sum(map(sum, table))
    found: dict[str, Any] = {"rows": rows, "unanswered": 0, "table": table}
    found |= {"class_rows": [*map(sum, table)], "accuracy": [0.8, 0.7, 0.9]}
    found |= {"commonest": [0.6, 0.5, 0.7], "balanced_accuracy": [0.75, 0.65, 0.85]}
    if event is not None:
        found |= {key: [0.9, 0.8, 0.95] for key in ("sensitivity", "specificity", "ppv", "npv")}
        observed = [[0.05, 0.01, 0.1], [0.7, 0.5, 0.9]]
        groups = [
            {"expected": at, "observed": seen, "rows": 20}
            for at, seen in zip((0.04, 0.8), observed, strict=True)
        ]
        found |= {
            "event": event,
            "auc": [0.91, 0.85, 0.96],
            "calibration": {"expected": 0.38, "observed": [0.4, 0.3, 0.5], "groups": groups},
            "points": [
                {"act_at": 0.05, "found": 6, "missed": 0, "needless": 9, "spared": 40},
                {"act_at": 0.4, "found": 5, "missed": 1, "needless": 4, "spared": 45},
            ],
            "useful": [0.13, 0.79],
        }
    return found | more


def with_evidence(rules: Rules, kind: str = "held out", **more: Any) -> Rules:
    """Return rules with risks, and unseen counts of half the training rows of each leaf."""
    seen = {leaf.leaf: [n // 2 for n in leaf.counts or ()] for leaf in rules.leaves}
    leaves = [seen[leaf.leaf] for leaf in rules.leaves]
    intervals = [[[*wilson(n, sum(row))] if sum(row) else [0, 1] for n in row] for row in leaves]
    classes = range(len(rules.target.classes))
    table = [
        [sum(seen[x.leaf][k] for x in rules.leaves if x.class_index == j) for j in classes]
        for k in classes
    ]
    facts: Mapping[str, Any] = {
        "kind": kind,
        "rows": sum(map(sum, leaves)),
        "leaves": leaves,
        "intervals": intervals,
        "performance": performance_of(table, rules.event),
        **KINDS[kind],
        **more,
    }
    risky = rules.with_leaves(lambda leaf: replace(leaf, risk=leaf.value))
    return replace(risky, provenance={**rules.provenance, "evidence": facts})
