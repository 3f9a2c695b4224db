"""Other learners of trees, each on columns prepared as the paper prepares them for CART."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from benchmarks.data import usual
from benchmarks.figures import Figures, figures_of
from mbndt.arrays import Indices
from mbndt.learning.training_set import TrainingSet
from mbndt.rules import FeatureType
from mbndt.tables.target import Labels

# Categorical columns of fewer levels become one column a level.
LEVELS = 10

Matrix = npt.NDArray[np.float32]
# A leaf's conditions, each (column, threshold, whether the value is at most it), and its answer.
Path = tuple[list[tuple[int, float, bool]], float]


@dataclass(frozen=True)
class Prepared:
    """The matrices of training and test rows, and each column's raw feature."""

    train: Matrix
    test: Matrix
    source: list[int]


def prepare(train: TrainingSet, test: TrainingSet) -> Prepared:
    """Fill missing values, and encode categories of few levels one-hot, others by the training
    rows' mean outcome.
    """
    columns, source = [], []
    numbers = train.numbers()
    for i, feature in enumerate(train.features):
        fill = usual(feature, train)
        column = train.typed[feature.name]
        old, new = (
            np.where(rows.typed[feature.name].missing, fill, rows.typed[feature.name].values)
            for rows in (train, test)
        )
        seen = np.unique(column.values[~column.missing])
        if feature.type != FeatureType.CATEGORY:
            pairs = [(old, new)]
        elif len(seen) < LEVELS:
            pairs = [(old == level, new == level) for level in seen]
        else:
            means = {level: numbers[old == level].mean() for level in seen}
            overall = numbers.mean()
            pairs = [tuple(np.array([means.get(v, overall) for v in part]) for part in (old, new))]
        columns += pairs
        source += [i] * len(pairs)
    matrices = [np.stack(part, axis=1).astype(np.float32) for part in zip(*columns, strict=True)]
    return Prepared(matrices[0], matrices[1], source)


def _tree_figures(
    paths: list[Path],
    prepared: Prepared,
    train: TrainingSet,
    test: TrainingSet,
    seconds: float,
    **more: Any,
) -> Figures:
    """Return the figures of a binary tree given as its leaves' conditions."""
    leaf_train, leaf_test = (_route(paths, matrix) for matrix in (prepared.train, prepared.test))
    features = [len({prepared.source[c] for c, _, _ in conditions}) for conditions, _ in paths]
    return figures_of(
        test.outcome,
        np.array([answer for _, answer in paths])[leaf_test],
        leaves=len(np.unique(leaf_train)),
        thresholds=len(paths) - 1,
        path=np.array([len(conditions) for conditions, _ in paths])[leaf_test],
        features=np.array(features)[leaf_test],
        seconds=seconds,
        **more,
    )


def _route(paths: list[Path], matrix: Matrix) -> Indices:
    leaf = np.full(len(matrix), -1)
    for i, (conditions, _) in enumerate(paths):
        here = np.arange(len(matrix))
        for column, threshold, below in conditions:
            here = here[(matrix[here, column] <= np.float64(threshold)) == below]
        leaf[here] = i
    assert (leaf >= 0).all()
    return leaf


def cart(train: TrainingSet, test: TrainingSet, seed: int, **options: Any) -> Figures:
    """Fit scikit-learn's CART, with balanced class weights where there are classes."""
    prepared = prepare(train, test)
    if isinstance(train.outcome, Labels):
        model = DecisionTreeClassifier(class_weight="balanced", random_state=seed, **options)
    else:
        model = DecisionTreeRegressor(random_state=seed, **options)
    start = time.process_time()
    model.fit(prepared.train, train.numbers())
    seconds = time.process_time() - start
    tree = model.tree_

    def walk(node: int, conditions: list[tuple[int, float, bool]]) -> Iterator[Path]:
        left, right = tree.children_left[node], tree.children_right[node]
        if left < 0:
            value = tree.value[node][0]
            answer = model.classes_[value.argmax()] if hasattr(model, "classes_") else value[0]
            yield conditions, float(answer)
            return
        test_of = int(tree.feature[node]), float(tree.threshold[node])
        yield from walk(left, [*conditions, (*test_of, True)])
        yield from walk(right, [*conditions, (*test_of, False)])

    return _tree_figures(list(walk(0, [])), prepared, train, test, seconds)


def licketysplit(
    train: TrainingSet, test: TrainingSet, seed: int, *, thresholds: int, **options: Any
) -> Figures:
    """Fit LicketySPLIT with balanced sample weights, on tests at the quantiles of each column."""
    from licketysplit import LicketySPLITClassifier

    prepared = prepare(train, test)
    codes = train.outcome.codes
    start = time.process_time()
    shares = np.arange(1, thresholds + 1) / (thresholds + 1)
    tests = []
    for i, column in enumerate(prepared.train.T):
        cuts = np.unique(np.quantile(column, shares, method="lower"))
        tests += [(i, float(cut)) for cut in cuts[cuts < column.max()]]
    bits = np.stack([prepared.train[:, i] <= np.float64(cut) for i, cut in tests], axis=1)
    model = LicketySPLITClassifier(**options)
    model.fit(bits, codes, sample_weight=train.class_weights()[codes])
    seconds = time.process_time() - start
    # A literal +i says that test i - 1 holds, -i that it doesn't.
    paths = [
        ([(*tests[abs(literal) - 1], literal > 0) for literal in literals], float(answer))
        for literals, answer in zip(*model.get_tree_paths(), strict=True)
    ]
    return _tree_figures(paths, prepared, train, test, seconds)


def contree(train: TrainingSet, test: TrainingSet, seed: int, **options: Any) -> Figures:
    """Fit ConTree; it takes no weights, so rows of smaller classes are repeated to balance."""
    from pycontree import ConTree

    prepared = prepare(train, test)
    codes = train.outcome.codes
    counts = np.bincount(codes)
    times = np.maximum(np.rint(counts.max() / counts), 1).astype(int)[codes]
    matrix, repeated = np.repeat(prepared.train, times, axis=0), np.repeat(codes, times)
    start = time.process_time()
    model = ConTree(**options)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(matrix, repeated)
    seconds = time.process_time() - start
    late = any("time limit" in str(warning.message) for warning in caught)

    def walk(node: Any, conditions: list[tuple[int, float, bool]]) -> Iterator[Path]:
        if node.is_leaf_node():
            yield conditions, float(node.get_label())
            return
        test_of = node.get_split_feature(), float(node.get_split_threshold())
        yield from walk(node.get_left(), [*conditions, (*test_of, True)])
        yield from walk(node.get_right(), [*conditions, (*test_of, False)])

    note = "time limit reached" if late else ""
    return _tree_figures(list(walk(model.tree_, [])), prepared, train, test, seconds, note=note)


def xgboost(train: TrainingSet, test: TrainingSet, seed: int, **options: Any) -> Figures:
    """Fit XGBoost; leaves and paths are sums over its trees."""
    from xgboost import XGBClassifier

    prepared = prepare(train, test)
    codes = train.outcome.codes
    counts = np.bincount(codes)
    balance = {"scale_pos_weight": counts[0] / counts[1]} if len(counts) == 2 else {}
    model = XGBClassifier(n_jobs=1, random_state=seed, **balance, **options)
    start = time.process_time()
    model.fit(prepared.train, codes)
    seconds = time.process_time() - start
    reached_train, reached = model.apply(prepared.train), model.apply(prepared.test)
    frame = model.get_booster().trees_to_dataframe()
    path = np.zeros(test.n_rows)
    used = np.zeros((test.n_rows, len(train.features)), np.bool_)
    for tree, nodes in frame.groupby("Tree"):
        above = {nodes["ID"].iloc[0]: frozenset[int]()}
        depth = {nodes["ID"].iloc[0]: 0}
        at = {}
        for node in nodes.sort_values("Node").itertuples():
            if node.Feature == "Leaf":
                at[node.Node] = above[node.ID], depth[node.ID]
                continue
            for child in (node.Yes, node.No):
                feature = prepared.source[int(node.Feature[1:])]
                above[child] = above[node.ID] | {feature}
                depth[child] = depth[node.ID] + 1
        for leaf in np.unique(reached[:, tree]):
            here = np.flatnonzero(reached[:, tree] == leaf)
            features, steps = at[leaf]
            path[here] += steps
            used[np.ix_(here, sorted(features))] = True
    return figures_of(
        test.outcome,
        model.predict(prepared.test),
        leaves=sum(len(np.unique(column)) for column in reached_train.T),
        thresholds=int((frame["Feature"] != "Leaf").sum()),
        path=path,
        features=used.sum(1),
        seconds=seconds,
    )
