"""The meaning of rules. Every target is compared with what stands here.

Two implementations of the one contract, checked against each other in the tests: `leaf_of` walks
one row through the tree, `leaf_ids` sends whole columns. Everything else is a look-up by leaf.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, assert_never

import numpy as np

from mbndt.arrays import Array, Flags, Floats, Indices, Ints
from mbndt.errors import DataError, shown
from mbndt.rules import (
    INT64_MAX,
    INT64_MIN,
    Feature,
    FeatureType,
    Label,
    Leaf,
    Node,
    NumericSplit,
    Rules,
    SetSplit,
)
from mbndt.rules.values import Value, branch_of, float32_above, read_value
from mbndt.tables.table import Column, Table

MANY = 4  # a node with at least one in so many rows is said to have many
FEW = 16  # thresholds that are faster compared one after the other than searched


@dataclass(frozen=True)
class Predictions:
    """Answers for n rows.

    `leaf` [n] are ids, `prediction` [n] labels in the target's own type (a regression: values),
    None at a stop. `outputs` are what else is told of each class, [n, C] by class index, NaN at a
    stop: `risk` and `score`, or `probability` where the rules know no risks; none of a regression.
    """

    leaf: Ints
    prediction: list[Label | float | None]
    outputs: Mapping[str, Floats] = field(default_factory=dict)

    @property
    def probabilities(self) -> Floats | None:
        """Return the chance of each class, [n, C]: the risks, where the rules know them."""
        return next(iter(self.outputs.values()), None)


def leaf_of(rules: Rules, row: Mapping[str, object]) -> int:
    """Return the leaf id of one row, a mapping from feature names to raw values.

    Raises `DataError` that names a missing feature, or one whose value has the wrong type.
    """
    values: dict[str, Value] = {}
    for feature in rules.used:
        if feature.name not in row:
            raise DataError(f"row: no value for {shown(feature.name)}")
        try:
            values[feature.name] = read_value(feature.type, row[feature.name])
        except DataError as error:
            raise DataError(f"row: {shown(feature.name)}: {error}") from None
    node = rules.root
    while not isinstance(node, Leaf):
        node = node.children[branch_of(node, values[node.feature])]
    return node.leaf


def leaf_ids(rules: Rules, table: Table) -> Ints:
    """Return the leaf id of each of n rows, [n].

    Raises `DataError` that names a missing column, or the column, row and value of a wrong type.
    """
    return route(
        rules, {feature.name: table.typed(feature) for feature in rules.used}, table.n_rows
    )


def route(rules: Rules, columns: Mapping[str, Column], rows: int) -> Ints:
    """Return the leaf id of each of n rows, [n], given the typed columns that the rules use."""
    found = np.zeros(rows, np.min_scalar_type(len(rules.leaves)))
    # A node that has many of the rows tests them all, and a mask [n] tells which are its own.
    work: list[tuple[Node, Flags]] = [(rules.root, np.ones(rows, np.bool_))]
    while work:
        node, own = work.pop()
        if isinstance(node, Leaf):
            found += own * found.dtype.type(node.leaf)
        elif np.count_nonzero(own) * MANY >= rows:
            branch = _branches(rules, node, columns[node.feature])
            work += [(child, own & (branch == i)) for i, child in enumerate(node.children)]
        else:
            _route_few(rules, node, columns, np.flatnonzero(own), found)
    return found.astype(np.int64)


def _route_few(
    rules: Rules, node: Node, columns: Mapping[str, Column], here: Indices, out: Array
) -> None:
    """Write the leaf ids of the rows `here` at a node to `out`, each split taking its own alone."""
    work = [(node, here)]
    while work:
        node, here = work.pop()
        if isinstance(node, Leaf):
            out[here] = node.leaf
        elif len(here):
            branch = _branches(rules, node, columns[node.feature].take(here))
            # Several times as fast as here[branch == i].
            work += [(child, here.compress(branch == i)) for i, child in enumerate(node.children)]


def branches(rules: Rules, split: NumericSplit | SetSplit, column: Column) -> Indices:
    """Return the index of the child that each of n values goes to at one split, [n]."""
    return _branches(rules, split, column).astype(np.intp)


def _branches(rules: Rules, split: NumericSplit | SetSplit, column: Column) -> Array:
    """Return what `branches` does, in as few bytes a row as it takes."""
    match split:
        case NumericSplit():
            within = _thresholds(rules.feature[split.feature], split, column.narrow.dtype)
            branch = _intervals(within, column.narrow)
            if (to := [part.to for part in split.intervals]) != [*range(len(to))]:
                branch = np.array(to, np.min_scalar_type(len(split.children))).take(branch)
        case SetSplit():
            feature = rules.feature[split.feature]
            known: tuple[str | bool, ...] = feature.categories or (False, True)
            by_value = {value: group.to for group in split.groups for value in group.values}
            # One place more at the end, where the code of an unseen text (-1) lands.
            ends = [by_value.get(value, split.unseen) for value in known] + [split.unseen]
            table = np.array([-1 if to is None else to for to in ends], np.intp)
            branch = table[column.values]
        case _:
            assert_never(split)
    if column.some_missing:
        branch[column.missing] = split.missing
    return branch


def _thresholds(feature: Feature, split: NumericSplit, kind: np.dtype[Any]) -> Array:
    """Return the thresholds in the values' own type, such that x < t stays what it is."""
    if feature.type == FeatureType.INTEGER:
        # x < t is x < ceil(t); past the ends of int64 the comparison is constant.
        cuts = [min(max(math.ceil(t), INT64_MIN), INT64_MAX + 1) for t in split.thresholds]
        return np.array([cut for cut in cuts if cut <= INT64_MAX], np.int64)
    if kind == np.float32:
        return np.array([float32_above(t) for t in split.thresholds], np.float32)
    return np.array(split.thresholds, np.float64)


def _intervals(thresholds: Array, values: Array) -> Array:
    """Return the index of the first interval with x < t, the number of thresholds <= x, [n]."""
    if len(thresholds) > FEW:
        return np.searchsorted(thresholds, values, side="right")
    place = np.zeros(len(values), np.uint8)
    for threshold in thresholds:
        place += values >= threshold
    return place


def predict(rules: Rules, table: Table) -> Predictions:
    """Answer each row of a table; raises `DataError` as `leaf_ids` does."""
    return look_up(rules, leaf_ids(rules, table))


def look_up(rules: Rules, leaf: Ints) -> Predictions:
    """Return the answers that belong to leaf ids, [n]."""
    labels = [rules.label(entry) for entry in rules.leaves]
    prediction = np.array(labels, object).take(leaf).tolist()
    nothing = (np.nan,) * len(rules.target.classes)
    by_leaf = {
        name: np.array([nothing if row is None else row for row in rows], np.float64)
        for name, rows in rules.outputs.items()
    }
    outputs = {name: rows.take(leaf, axis=0) for name, rows in by_leaf.items()}
    return Predictions(leaf, prediction, outputs)
