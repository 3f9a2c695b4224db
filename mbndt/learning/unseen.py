"""What rules say of rows that they were not learned from: rows held out, or a cross-fit.

A cross-fit learns the rules again several times, each time without a part of the rows, and has each
row answered by those that have not seen it. Its figures are those of the way of learning. A leaf of
the rules themselves counts the unseen rows of the leaves that took its place: of the same answer
where there is one, and of the most rows in common.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mbndt.arrays import Flags, Floats, Indices, Ints
from mbndt.interpreter import route
from mbndt.learning.holdout import folds
from mbndt.learning.provenance import hashes_of
from mbndt.learning.risk import at_prevalence, intervals
from mbndt.learning.training_set import TrainingSet
from mbndt.measures.confidence import wilson
from mbndt.measures.explanation import path_lengths
from mbndt.measures.performance import performance, performance_of_numbers
from mbndt.rules import Leaf, Rules
from mbndt.tables.digest import digest
from mbndt.tables.target import Values

REFITS, REFITS_OF_MANY = 5, 2
MANY_ROWS = 10_000  # from where half of the rows learn about what all of them do

Learn = Callable[[TrainingSet], Rules]
Told = Callable[[int, int], None]


@dataclass(frozen=True)
class CrossFit:
    """Evidence of a cross-fit, and the risks [n, C] that those say who have not seen a row."""

    evidence: dict[str, Any]
    view: Floats | None


def refits_of(n_rows: int) -> int:
    """Return how often rules of so many rows are learned again unless that is stated."""
    return REFITS if n_rows <= MANY_ROWS else REFITS_OF_MANY


def held_out(rules: Rules, data: TrainingSet) -> dict[str, Any]:
    """Return the evidence of rows that took no part in learning."""
    leaf = route(rules, data.typed, data.n_rows)
    return {
        "kind": "held out",
        "rows": data.n_rows,
        "digest": digest(hashes_of(rules, data)),
        "mean_path": float(np.mean(path_lengths(rules)[leaf])),
        "leaves": _by_leaf(rules, data, leaf),
        "intervals": _observed(rules, data, leaf),
        "performance": _performance(rules, data, _Answers.of(rules, data, leaf)),
    }


def cross_fitted(
    rules: Rules, training: TrainingSet, refits: int, seed: int, learn: Learn, told: Told
) -> CrossFit | None:
    """Return the evidence for rules of all rows; None where a part would lack a second class.

    `learn` makes rules of some of the rows; `told` hears how many refits of how many are done.
    """
    parts = folds(training.codes, training.n_rows, min(refits, training.n_rows), seed)
    codes = training.codes
    if codes is not None and any(len(np.unique(codes[part])) < 2 for part, _ in parts):
        return None
    own = route(rules, training.typed, training.n_rows)
    answers = _Answers.empty(rules, training.n_rows)
    alike, place = 0, np.zeros(training.n_rows, np.int64)
    paths = np.zeros(training.n_rows)
    for number, (part, test) in enumerate(parts, start=1):
        found = learn(training.take(part))
        leaf = route(found, training.typed, training.n_rows)
        answers.put(test, _Answers.of(found, training.take(test), leaf[test]))
        place[test] = _successors(rules, own, found, leaf)[leaf[test]]
        paths[test] = path_lengths(found)[leaf[test]]
        alike += _first_question(found) == _first_question(rules)
        told(number, len(parts))
    evidence = {
        "kind": "cross-fitted",
        "folds": len(parts),
        "rows": training.n_rows,
        "mean_path": float(paths.mean()),
        "leaves": _by_leaf(rules, training, place),
        "intervals": leaf_intervals(rules, training, own, place),
        "performance": _performance(rules, training, answers),
        "first question": {
            "feature": _first_question(rules),
            "refits": len(parts),
            "alike": alike,
        },
    }
    return CrossFit(evidence, answers.risk)


def _first_question(rules: Rules) -> str | None:
    return None if isinstance(rules.root, Leaf) else rules.root.feature


def _successors(rules: Rules, own: Ints, found: Rules, leaf: Ints) -> Indices:
    """Return for each leaf of other rules the leaf of these rules that it took the place of.

    `own` and `leaf` [n] are the rows' leaves in the one and in the other.
    """
    shared = np.zeros((len(rules.leaves), len(found.leaves)))
    np.add.at(shared, (own, leaf), 1)
    union = shared.sum(1, keepdims=True) + shared.sum(0) - shared
    alike = np.divide(shared, union, out=np.zeros_like(shared), where=union > 0)
    if rules.target.classes:
        answers = [[end.class_index for end in part.leaves] for part in (rules, found)]
        same: Flags = np.equal.outer(*map(np.array, answers))
        # A leaf of another answer takes the place only where none of the same has rows in common.
        alike = np.where(same & (shared > 0), alike + 1, alike)
    return np.asarray(alike.argmax(0))


@dataclass(frozen=True)
class _Answers:
    """What some rows were told: class indices [n] and risks [n, C], or values [n]."""

    told: Any
    risk: Floats | None

    @classmethod
    def empty(cls, rules: Rules, rows: int) -> _Answers:
        """Return room for answers."""
        if not rules.target.classes:
            return cls(np.zeros(rows), None)
        return cls(np.zeros(rows, np.int64), np.zeros((rows, len(rules.target.classes))))

    @classmethod
    def of(cls, rules: Rules, data: TrainingSet, leaf: Ints) -> _Answers:
        """Return the answers of rules to rows in leaves [n]."""
        if not rules.target.classes:
            return cls(np.array([end.value for end in rules.leaves])[leaf], None)
        told = np.array([end.class_index for end in rules.leaves])[leaf]
        return cls(told, _risks(rules, data)[leaf])

    def put(self, index: Indices, part: _Answers) -> None:
        """Take the answers to some of the rows."""
        self.told[index] = part.told
        if self.risk is not None:
            self.risk[index] = part.risk


def _performance(rules: Rules, data: TrainingSet, answers: _Answers) -> dict[str, Any]:
    if isinstance(data.outcome, Values):
        return performance_of_numbers(data.outcome.values, answers.told)
    levels = None
    if rules.event is not None:
        # Those that a reader of these rules can act at.
        levels = _risks(rules, data)[:, rules.event]
    return performance(
        len(data.target.classes),
        data.outcome.codes,
        answers.told,
        answers.risk,
        rules.event,
        levels,
    )


def _risks(rules: Rules, data: TrainingSet) -> Floats:
    """Return the leaves' risks [L, C] where classes are as common as they were in training.

    Whatever prevalence was stated, figures are those of the rows at hand.
    """
    risk = np.array([end.risk for end in rules.leaves], np.float64)
    if data.prevalence is None:
        return risk
    counts = np.array(rules.provenance["class rows"], np.float64)
    return at_prevalence(risk, data.prevalence, counts / counts.sum())


def _by_leaf(rules: Rules, data: TrainingSet, leaf: Ints) -> list[Any]:
    """Return what unseen rows in leaves [n] had: counts by class, or size, mean and spread."""
    count = len(rules.leaves)
    if data.codes is not None:
        found = np.zeros((count, len(data.target.classes)), np.int64)
        np.add.at(found, (leaf, data.codes), 1)
        return [*found.tolist()]
    values = data.numbers()
    return [_spread(values[leaf == i]) for i in range(count)]


def _spread(values: Floats) -> dict[str, Any]:
    if not len(values):
        return {"n": 0, "mean": None, "std": None}
    return {"n": len(values), "mean": float(values.mean()), "std": float(values.std())}


def _observed(rules: Rules, data: TrainingSet, leaf: Ints) -> list[Any]:
    """Return the 95 % interval of what unseen rows of each leaf had, None for a leaf of none."""
    by_leaf = _by_leaf(rules, data, leaf)
    if data.codes is None:
        return [_of_mean(spread) for spread in by_leaf]
    return [
        [[*wilson(n, sum(counts))] for n in counts] if sum(counts) else None for counts in by_leaf
    ]


def leaf_intervals(rules: Rules, training: TrainingSet, own: Ints, place: Ints) -> list[Any]:
    """Return the 95 % interval of each leaf's risks; of a regression that of the unseen means.

    `own` [n] are the rows' leaves, `place` [n] those that they count for where they are unseen.
    """
    if training.codes is None:
        return [_of_mean(spread) for spread in _by_leaf(rules, training, place)]
    rows = np.asarray(np.bincount(own, training.weights, len(rules.leaves)), np.float64)
    return [*intervals(rules, rows)]


def _of_mean(spread: Mapping[str, Any]) -> list[float] | None:
    from scipy.special import stdtrit

    if spread["n"] < 2:
        return None
    half = float(stdtrit(spread["n"] - 1, 0.975)) * spread["std"] / (spread["n"] - 1) ** 0.5
    return [spread["mean"] - half, spread["mean"] + half]
