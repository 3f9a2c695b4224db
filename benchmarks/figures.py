"""What is measured of a fitted model."""

from __future__ import annotations

from typing import Any

import numpy as np

from mbndt.arrays import Array, Ints
from mbndt.interpreter import route
from mbndt.learning.training_set import TrainingSet
from mbndt.measures.accuracy import balanced_accuracy, squared_error_figures
from mbndt.measures.explanation import path_lengths
from mbndt.rules import NumericSplit, Rules, walk
from mbndt.tables.target import Labels, Values

# Balanced accuracy (for numbers R squared), leaves that training rows reach, thresholds, mean
# splits and mean different features on a test row's path, CPU seconds of the fit.
FIGURES = ("score", "leaves", "thresholds", "path", "features", "cpu_seconds")

Figures = dict[str, Any]


def figures_of(
    outcome: Labels | Values,
    got: Array,
    *,
    leaves: int,
    thresholds: int,
    path: Array,
    features: Array,
    seconds: float,
    note: str = "",
) -> Figures:
    """Return the figures of the answers `got` to test rows, and of the paths to them, [n]."""
    if isinstance(outcome, Labels):
        score = balanced_accuracy(outcome.codes, got.astype(np.int64))
    else:
        score = squared_error_figures(outcome.values, got)["r2"]
    return {
        "score": score,
        "leaves": leaves,
        "thresholds": thresholds,
        "path": float(path.mean()),
        "features": float(features.mean()),
        "cpu_seconds": seconds,
        "note": note,
    }


def figures_of_rules(
    rules: Rules, train: TrainingSet, test: TrainingSet, seconds: float
) -> Figures:
    """Return the figures of rules; of a split into sets, all groups but one count as thresholds."""
    leaf = route(rules, test.typed, test.n_rows)
    answers = [
        entry.class_index if isinstance(entry.value, tuple) else entry.value
        for entry in rules.leaves
    ]
    cuts = sum(
        len(split.thresholds) if isinstance(split, NumericSplit) else len(split.groups) - 1
        for split in rules.splits
    )
    return figures_of(
        test.outcome,
        np.array(answers)[leaf],
        leaves=len(np.unique(route(rules, train.typed, train.n_rows))),
        thresholds=cuts,
        path=path_lengths(rules)[leaf],
        features=_features(rules)[leaf],
        seconds=seconds,
    )


def _features(rules: Rules) -> Ints:
    """Return the number of different features on each leaf's path, [L]."""
    above: dict[str, frozenset[str]] = {"root": frozenset()}
    found = []
    for path, _, node in walk(rules.root):
        tested = above.pop(path)
        if hasattr(node, "leaf"):
            found.append(len(tested))
            continue
        # A split with one child decides nothing.
        below = tested | {node.feature} if len(node.children) > 1 else tested
        above |= {f"{path}.children[{i}]": below for i in range(len(node.children))}
    return np.array(found, np.int64)
