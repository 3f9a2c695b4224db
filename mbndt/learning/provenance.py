"""What training knows about rules, kept with them as plain values: rows, ranges, gaps, figures.

It documents and never changes an answer. The sheet prints it; rounding trusts its gaps.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mbndt._version import __version__
from mbndt.arrays import Ints
from mbndt.learning.settings import Settings
from mbndt.learning.training_set import TrainingSet
from mbndt.measures.drift import binned, deciles
from mbndt.measures.overlap import sketch
from mbndt.rules import Feature, FeatureType, Rules
from mbndt.tables.digest import Hashes, digest, row_hashes
from mbndt.tables.table import Column

# The training values on both sides of a threshold, None past the last one: `x < t` sorts the rows
# alike for every t with low < t <= high.
Gap = tuple[float | None, float | None]


def learned(rules: Rules, training: TrainingSet, settings: Settings) -> dict[str, Any]:
    """Return the provenance of rules that were learned from rows."""
    return {
        "learned by": f"mbndt {__version__}",
        "training rows": training.n_rows,
        "depth": settings.depth,
        "branching": settings.branching,
        "seed": settings.seed,
        **{
            key: least
            for key in ("min_rows", "min_events")
            if (least := getattr(settings, key)) is not None
        },
        **training.aim.stated(),
        **trained_on(rules, training),
    }


def trained_on(rules: Rules, training: TrainingSet) -> dict[str, Any]:
    """Return facts of the training rows: their numbers by class, and facts of each feature in use.

    Those are the share missing, what a later table is compared with (`shares` of the values between
    `cuts`, or by value), and for numbers the least and greatest value and the thresholds' gaps.
    The `training data` have what tells these rows again, all of them or many.
    """
    found: dict[str, Any] = {}
    if training.codes is not None:
        found["class rows"] = np.bincount(
            training.codes, minlength=len(training.target.classes)
        ).tolist()
    found["features"] = {
        feature.name: _feature_facts(rules, feature, training.typed[feature.name])
        for feature in rules.used
    }
    found["training data"] = {
        "rows": training.n_rows,
        "columns": [feature.name for feature in rules.used],
        "digest": digest(hashes := hashes_of(rules, training)),
        "sketch": sketch(hashes),
    }
    return found


def earlier_data(rules: Rules) -> list[Any]:
    """Return what tells the rows again that rules were learned from, for rules made of them."""
    before = rules.provenance.get("earlier training data")
    known = rules.provenance.get("training data")
    return [*(before if isinstance(before, list) else []), *([known] if known else [])]


def hashes_of(rules: Rules, data: TrainingSet) -> Hashes:
    """Return hashes of rows, [n]: of the columns that the rules use, and the target."""
    return row_hashes({f: data.typed[f.name] for f in rules.used}, data.outcome)


def _feature_facts(rules: Rules, feature: Feature, column: Column) -> dict[str, Any]:
    facts: dict[str, Any] = {"missing": float(np.mean(column.missing)), **_shares(feature, column)}
    if feature.type.numeric:
        values = finite_values(column)
        facts["range"] = [values[0], values[-1]] if values else None
        facts["gaps"] = [list(gap) for gap in gaps(values, rules.thresholds(feature))]
    return facts


def _shares(feature: Feature, column: Column) -> dict[str, Any]:
    """Return the shares of values that aren't missing: between tenths, or by value."""
    values = column.values[~column.missing]
    if feature.type.numeric:
        cuts = deciles(values)
        return {"cuts": cuts, "shares": (binned(values, cuts) / max(1, len(values))).tolist()}
    shares = (value_counts(feature, column) / max(1, len(values))).tolist()
    return {"shares": dict(zip(value_names(feature), shares, strict=True))}


def value_names(feature: Feature) -> tuple[str, ...]:
    """Return the values of a category or a boolean as texts."""
    return feature.categories if feature.type == FeatureType.CATEGORY else ("false", "true")


def value_counts(feature: Feature, column: Column) -> Ints:
    """Return how often a category or a boolean has each of its listed values."""
    codes = column.values[~column.missing]
    return np.bincount(codes[codes >= 0], minlength=len(value_names(feature))).astype(np.int64)


def finite_values(column: Column) -> list[float]:
    """Return the different finite values of a column, rising, as Python's exact numbers."""
    values = np.unique(column.values[~column.missing])
    found: list[float] = values[np.isfinite(values)].tolist()
    return found


def gaps(values: Sequence[float], thresholds: Sequence[float]) -> list[Gap]:
    """Return for each threshold the neighbouring ones of some rising values.

    >>> gaps([1, 2, 4], [2, 3, 9])
    [(1, 2), (2, 4), (4, None)]
    """
    found: list[Gap] = []
    for threshold in thresholds:
        place = bisect_left(values, threshold)
        low = values[place - 1] if place else None
        found.append((low, values[place] if place < len(values) else None))
    return found


def known_gaps(rules: Rules, name: str) -> list[Gap] | None:
    """Return the gaps that the rules' provenance states for a feature's thresholds, if it does."""
    facts = mapping(mapping(rules.provenance.get("features")).get(name))
    listed = facts.get("gaps")
    thresholds = rules.thresholds(rules.feature[name])
    if not isinstance(listed, list) or len(listed) != len(thresholds):
        return None
    found: list[Gap] = []
    for gap, threshold in zip(listed, thresholds, strict=True):
        if not isinstance(gap, list) or len(gap) != 2 or not all(map(_is_end, gap)):
            return None
        low, high = gap
        # Facts of other thresholds than these prove nothing.
        if (low is not None and low >= threshold) or (high is not None and threshold > high):
            return None
        found.append((low, high))
    return found


def mapping(value: object) -> Mapping[str, Any]:
    """Return a value if it is a mapping, else an empty one: provenance is anybody's JSON."""
    return value if isinstance(value, Mapping) else {}


def _is_end(value: object) -> bool:
    return value is None or (isinstance(value, (int, float)) and not isinstance(value, bool))
