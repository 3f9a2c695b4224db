"""Decision trees of scikit-learn as rules, to compile to every target and to refine."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from mbndt.errors import RulesError, shown
from mbndt.rules import (
    Feature,
    FeatureType,
    Interval,
    Label,
    Leaf,
    Node,
    NumericSplit,
    Rules,
    Target,
    TargetType,
    deep_recursion,
)


def rules_of_tree(tree: Any, names: Sequence[str] | None, name: str) -> Rules:
    """Return the rules of a fitted `DecisionTreeClassifier` or `DecisionTreeRegressor`."""
    inner = _inner(tree)
    if inner.n_outputs != 1:
        raise RulesError(f"from_sklearn: a tree of {inner.n_outputs} outputs, expected one")
    if names is None:
        trained = getattr(tree, "feature_names_in_", None)
        names = [f"x{i}" for i in range(inner.n_features)] if trained is None else [*trained]
    if len(names) != inner.n_features:
        raise RulesError(f"from_sklearn: {len(names)} feature names, expected {inner.n_features}")
    features = tuple(Feature(str(feature), FeatureType.FLOAT32) for feature in names)
    classes = getattr(tree, "classes_", None)
    target = Target(name, TargetType.FLOAT64) if classes is None else _target(name, classes)
    with deep_recursion():
        root = _node(inner, 0, features, bool(target.classes), itertools.count())
    return Rules(name, target, features, root, {"imported from": f"{type(tree).__name__}"})


def _inner(tree: Any) -> Any:
    """Return the nodes of a fitted tree of scikit-learn; raises `RulesError` for all else."""
    from sklearn.tree import BaseDecisionTree
    from sklearn.tree._tree import Tree

    inner = getattr(tree, "tree_", None)
    # Trees of other packages have a `tree_` too, or derive from these and answer otherwise.
    own = type(tree).__module__.startswith("sklearn.tree.")
    if own and isinstance(tree, BaseDecisionTree) and isinstance(inner, Tree):
        return inner
    kind = f"{type(tree).__module__}.{type(tree).__qualname__}"
    state = "an unfitted " if own and isinstance(tree, BaseDecisionTree) else ""
    raise RulesError(
        f"from_sklearn: got {state}{kind}, expected a fitted decision tree of scikit-learn"
    )


def _target(name: str, classes: Any) -> Target:
    labels: list[Label] = []
    for label in classes.tolist():
        if isinstance(label, float) and not label.is_integer():
            raise RulesError(
                f"from_sklearn: the class {shown(label)} is neither text, whole number nor boolean"
            )
        labels.append(int(label) if isinstance(label, float) else label)
    kinds = {bool: TargetType.BOOLEAN, int: TargetType.INTEGER}
    return Target(name, kinds.get(type(labels[0]), TargetType.STRING), tuple(labels))


def _node(
    tree: Any, place: int, features: Sequence[Feature], classes: bool, ids: itertools.count[int]
) -> Node:
    left, right = int(tree.children_left[place]), int(tree.children_right[place])
    if left < 0:
        return _leaf(tree, place, classes, ids)
    children = tuple(_node(tree, child, features, classes, ids) for child in (left, right))
    feature = features[int(tree.feature[place])].name
    to_left = bool(tree.missing_go_to_left[place])
    if tree.threshold[place] == np.inf:  # all that isn't missing goes left
        return NumericSplit(feature, (Interval(None, 0),), 1 - to_left, children)
    below = _float32_above(tree.threshold[place])
    if below == np.inf:
        raise RulesError(
            f"from_sklearn: {shown(feature)} is split at {tree.threshold[place]!r},"
            " above all float32 numbers"
        )
    return NumericSplit(feature, (Interval(below, 0), Interval(None, 1)), 1 - to_left, children)


def _float32_above(threshold: float) -> float:
    """Return the least float32 above a double: x <= t for a float32 x is x below it."""
    with np.errstate(over="ignore"):
        near = np.float32(threshold)
        above = near if float(near) > threshold else np.nextafter(near, np.float32(np.inf))
    return float(above)


def _leaf(tree: Any, place: int, classes: bool, ids: itertools.count[int]) -> Leaf:
    value, rows = tree.value[place][0], int(tree.n_node_samples[place])
    if not classes:
        return Leaf(next(ids), float(value[0]), n=rows)
    shares = value / value.sum()
    return Leaf(next(ids), tuple(shares.tolist()))
