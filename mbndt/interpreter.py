"""The meaning of rules. Every target is compared with what stands here.

Two implementations of the one contract, checked against each other in the tests: `leaf_of` walks
one row through the tree, `leaf_ids` sends whole columns. Everything else is a look-up by leaf.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import assert_never

import numpy as np
import numpy.typing as npt

from mbndt.errors import DataError, shown
from mbndt.rules import INT64_MAX, FeatureType, Label, Leaf, Node, NumericSplit, Rules, SetSplit
from mbndt.table import Column, Table
from mbndt.values import Value, read_value


@dataclass(frozen=True)
class Predictions:
    """Answers for n rows: `leaf` [n] ids, `prediction` [n] labels in the target's own type (a
    regression: values), `probabilities` [n, C] by class index (a regression: None).
    """

    leaf: npt.NDArray[np.int64]
    prediction: list[Label | float]
    probabilities: npt.NDArray[np.float64] | None


def leaf_of(rules: Rules, row: Mapping[str, object]) -> int:
    """Return the leaf id of one row, a mapping from feature names to raw values.

    Raises `DataError` that names a lacking feature, or one whose value has the wrong type.
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
        node = node.children[_branch(node, values[node.feature])]
    return node.leaf


def _branch(split: NumericSplit | SetSplit, value: Value) -> int:
    if value is None:
        return split.missing
    match split:
        case NumericSplit():
            assert not isinstance(value, str)
            for interval in split.intervals:
                if interval.below is None or value < interval.below:
                    return interval.to
            raise AssertionError("the last interval takes all")
        case SetSplit():
            for group in split.groups:
                if value in group.values:
                    return group.to
            assert split.unseen is not None
            return split.unseen
        case _:
            assert_never(split)


def leaf_ids(rules: Rules, table: Table) -> npt.NDArray[np.int64]:
    """Return the leaf id of each of n rows, [n].

    Raises `DataError` that names a lacking column, or the column, row and value of a wrong type.
    """
    return route(rules, {feature.name: table.typed(feature) for feature in rules.used}, table.rows)


def route(rules: Rules, columns: Mapping[str, Column], rows: int) -> npt.NDArray[np.int64]:
    """Return the leaf id of each of n rows, [n], given the typed columns that the rules use."""
    found = np.empty(rows, np.int64)
    work: list[tuple[Node, npt.NDArray[np.intp]]] = [(rules.root, np.arange(rows))]
    while work:
        node, here = work.pop()
        if isinstance(node, Leaf):
            found[here] = node.leaf
            continue
        branch = branches(rules, node, columns[node.feature].take(here))
        for i, child in enumerate(node.children):
            taken = here[branch == i]
            if len(taken):
                work.append((child, taken))
    return found


def branches(rules: Rules, split: NumericSplit | SetSplit, column: Column) -> npt.NDArray[np.intp]:
    """Return the index of the child that each of n values goes to at one split, [n]."""
    values, missing = column.values, column.missing
    match split:
        case NumericSplit():
            if rules.feature[split.feature].type == FeatureType.INTEGER:
                # x < t is x < ceil(t); past the ends of int64 the comparison is constant.
                cuts = [
                    min(max(math.ceil(t), -INT64_MAX - 1), INT64_MAX + 1) for t in split.thresholds
                ]
                within = np.array([cut for cut in cuts if cut <= INT64_MAX], np.int64)
            else:
                within = np.array(split.thresholds, np.float64)
            # The first interval with x < t is the number of thresholds that are <= x.
            place = np.searchsorted(within, values, side="right")
            to = np.array([part.to for part in split.intervals], np.intp)[place]
        case SetSplit():
            feature = rules.feature[split.feature]
            known: tuple[str | bool, ...] = feature.categories or (False, True)
            by_value = {value: group.to for group in split.groups for value in group.values}
            # One place more at the end, where the code of an unseen text (-1) lands.
            table = [by_value.get(value, split.unseen) for value in known] + [split.unseen]
            to = np.array([-1 if t is None else t for t in table], np.intp)[values]
        case _:
            assert_never(split)
    return np.where(missing, split.missing, to)


def predict(rules: Rules, table: Table) -> Predictions:
    """Answer each row of a table; raises `DataError` as `leaf_ids` does."""
    return look_up(rules, leaf_ids(rules, table))


def look_up(rules: Rules, leaf: npt.NDArray[np.int64]) -> Predictions:
    """Return the answers that belong to leaf ids, [n]."""
    labels = [rules.label(entry) for entry in rules.leaves]
    prediction = [labels[i] for i in leaf.tolist()]
    if rules.task == "regression":
        return Predictions(leaf, prediction, None)
    values = np.array([entry.value for entry in rules.leaves], np.float64)
    return Predictions(leaf, prediction, values[leaf])
