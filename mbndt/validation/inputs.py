"""How a table's inputs, and the leaves that its rows reach, differ from those of the training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mbndt.arrays import Ints
from mbndt.learning.provenance import mapping, value_counts, value_names
from mbndt.measures.calibration import share
from mbndt.measures.drift import binned, drift
from mbndt.rules import Feature, FeatureType, Rules
from mbndt.tables.table import UNSEEN, Column
from mbndt.validation.answers import Answered, by_leaf

Found = dict[str, Any]


def inputs(found: Answered) -> list[Found]:
    """Return for each input in use what is missing, outside of the training's range, and moved."""
    facts = mapping(found.rules.provenance.get("features"))
    rows = found.rules.provenance.get("training rows")
    return [
        _input(feature, found.typed[feature.name], mapping(facts.get(feature.name)), rows)
        for feature in found.rules.used
    ]


def _input(feature: Feature, column: Column, facts: Mapping[str, Any], rows: object) -> Found:
    n, missing = len(column.missing), int(column.missing.sum())
    values = column.values[~column.missing]
    told: Found = {"name": feature.name, "unit": feature.unit, "missing": share(missing, n)}
    told["missing_in_training"] = facts.get("missing")
    if feature.type.numeric:
        told["training_range"] = ends = _range(facts.get("range"))
        told["outside"] = None
        if ends is not None:
            outside = (values < ends[0]) | (values > ends[1])
            told["outside"] = share(int(outside.sum()), len(values))
    elif feature.type == FeatureType.CATEGORY:
        told["unlisted"] = share(int(np.sum(values == UNSEEN)), len(values))
    moved = _drift(feature, column, facts, rows)
    return told | (moved or {"psi": None, "by_chance": None, "drift": None})


def _range(value: object) -> list[float] | None:
    return value if _numbers(value, 2) else None  # type: ignore[return-value]


def _numbers(value: object, count: int) -> bool:
    return (
        isinstance(value, list)
        and len(value) == count
        and all(isinstance(x, int | float) and not isinstance(x, bool) for x in value)
    )


def _drift(
    feature: Feature, column: Column, facts: Mapping[str, Any], rows: object
) -> dict[str, object] | None:
    """Return how far a column has moved, missing values being a bin too; None if not known."""
    shares, cuts, gap = facts.get("shares"), facts.get("cuts"), facts.get("missing")
    if not isinstance(rows, int) or not isinstance(gap, float):
        return None
    values = column.values[~column.missing]
    if feature.type.numeric:
        if not isinstance(cuts, list) or not _numbers(cuts, len(cuts)):
            return None
        if not _numbers(shares, len(cuts) + 1):
            return None
        before = [float(part) for part in shares]  # type: ignore[union-attr]
        after = binned(values.astype(np.float64), cuts).tolist()
    else:
        names = value_names(feature)
        if not isinstance(shares, Mapping) or not _numbers([*shares.values()], len(names)):
            return None
        before = [float(shares.get(name, 0)) for name in names] + [0.0]
        counts = value_counts(feature, column)
        after = [*counts.tolist(), int(len(values) - counts.sum())]
    told = [part * (1 - gap) * rows for part in before]
    pairs = zip([*told, gap * rows], [*after, int(column.missing.sum())], strict=True)
    kept = [(old, new) for old, new in pairs if old or new]
    return drift([old for old, _ in kept], [new for _, new in kept])


def leaves(found: Answered) -> Found:
    """Return how many rows each leaf has, here and in training, and what came of them."""
    rules = found.rules
    here = np.bincount(found.leaf, minlength=len(rules.leaves))
    sizes = [end.size for end in rules.leaves]
    known = [
        0 if size is None and end.stops else size
        for size, end in zip(sizes, rules.leaves, strict=True)
    ]
    moved = None
    if all(size is not None for size in known):
        pairs = [(old, new) for old, new in zip(known, here.tolist(), strict=True) if old or new]
        moved = drift([old for old, _ in pairs], [new for _, new in pairs])  # type: ignore[misc]
    listed = [_leaf(found, end.leaf, sizes) for end in rules.leaves]
    return {**(moved or {"psi": None, "by_chance": None, "drift": None}), "leaves": listed}


def _leaf(found: Answered, number: int, sizes: Sequence[int | None]) -> Found:
    rules, own = found.rules, found.leaf == number
    end, rows = rules.leaves[number], int(own.sum())
    told: Found = {
        "leaf": number,
        "answer": rules.label(end),
        "training_rows": sizes[number],
        "rows": rows,
        "share": share(rows, len(own)),
    }
    event, risk = rules.event, by_leaf(rules, "risk")
    if rules.target.classes and event is not None:
        told["expected"] = None if risk is None or end.stops else float(risk[number, event])
        told["observed"] = share(int(np.sum(found.is_event & own)), rows)
    return told


def counts_by_leaf(rules: Rules, leaf: Ints) -> list[int]:
    """Return how many rows are in each leaf."""
    found: list[int] = np.bincount(leaf, minlength=len(rules.leaves)).tolist()
    return found
