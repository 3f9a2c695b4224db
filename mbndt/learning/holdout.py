"""Rows held out of learning: which they are, and the figures of rules on them."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from mbndt.arrays import Indices, Ints
from mbndt.errors import OptionError
from mbndt.interpreter import route
from mbndt.learning.network.pruning import redirected
from mbndt.learning.training_set import TrainingSet
from mbndt.measures.accuracy import balanced_accuracy, balanced_interval, squared_error_figures
from mbndt.measures.explanation import path_lengths
from mbndt.rules import Rules
from mbndt.tables.target import Values

Folds: TypeAlias = list[tuple[Indices, Indices]]


def hold_out(data: TrainingSet, holdout: float, seed: int) -> tuple[Indices, Indices]:
    """Return the rows to learn from and those held out, stratified by class.

    The only row of a class is learned from. Raises `OptionError` for a fraction out of range.
    """
    if not 0.0 <= holdout < 1.0:
        raise OptionError(f"holdout: got {holdout}, expected a fraction from 0 to below 1")
    everything = np.arange(data.n_rows)
    codes = data.codes
    alone = np.zeros(data.n_rows, np.bool_) if codes is None else np.bincount(codes)[codes] == 1
    among = everything[~alone]
    held = min(round(holdout * data.n_rows), len(among) - 1)
    if held <= 0:
        return everything, everything[:0]
    strata = stratified(codes, among, held)
    from sklearn.model_selection import train_test_split

    kept, held_rows = train_test_split(among, test_size=held, random_state=seed, stratify=strata)
    return np.sort(np.append(kept, everything[alone])), np.sort(held_rows)


def folds(codes: Ints | None, rows: int, count: int, seed: int) -> Folds:
    """Return `count` folds' training rows and test rows out of so many, of each class its share.

    `codes` [n] are classes, None for numbers. Classes of fewer rows than folds are shared out
    together.
    """
    from sklearn.model_selection import KFold, StratifiedKFold

    everything = np.arange(rows)
    shuffled = KFold(count, shuffle=True, random_state=seed + 111)
    if codes is None:
        return list(shuffled.split(everything))
    rare = np.bincount(codes)[codes] < count
    strata = np.where(rare, -1, codes)
    if 0 < rare.sum() < count or len(np.unique(strata)) == 1:
        return list(shuffled.split(everything))
    kind = StratifiedKFold(count, shuffle=True, random_state=seed + 111)
    return list(kind.split(everything, strata))


def stratified(codes: Ints | None, among: Indices, size: int) -> Ints | None:
    """Return the classes [m] to stratify a draw of `size` rows of some [m] by.

    None where a class or a part is too small for it.
    """
    if codes is None:
        return None
    counts = np.bincount(codes[among])
    counts = counts[counts > 0]
    fits = counts.min() >= 2 and len(counts) <= min(size, len(among) - size)
    return codes[among] if fits else None


def evaluate(rules: Rules, data: TrainingSet) -> dict[str, Any]:
    """Return the figures of rules on rows.

    Mean path length, leaves, rows that pruning redirected; for classes balanced accuracy with a 95
    % interval and accuracy, for numbers R squared, mean absolute and root mean squared error with a
    95 % interval.
    """
    leaf = route(rules, data.typed, data.n_rows)
    figures: dict[str, Any] = {
        "rows": data.n_rows,
        "mean_path": float(np.mean(path_lengths(rules)[leaf])),
        "leaves": len(rules.leaves),
        "redirected": redirected(rules, data.typed, data.n_rows),
    }
    if isinstance(data.outcome, Values):
        values = np.array([entry.value for entry in rules.leaves], np.float64)
        return figures | squared_error_figures(data.outcome.values, values[leaf])
    codes = data.outcome.codes
    got = np.array([entry.class_index for entry in rules.leaves], np.int64)[leaf]
    return figures | {
        "balanced_accuracy": balanced_accuracy(codes, got),
        "balanced_accuracy_95": list(balanced_interval(codes, got)),
        "accuracy": float(np.mean(got == codes)),
        "class_rows": np.bincount(codes, minlength=len(data.target.classes)).tolist(),
        "class_hits": np.bincount(codes[got == codes], minlength=len(data.target.classes)).tolist(),
    }
