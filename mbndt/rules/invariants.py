"""What makes rules valid: every invariant of the format, checked with the path of the node."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mbndt.errors import RulesError, nearest, shown
from mbndt.rules.nodes import (
    INT64_MAX,
    INT64_MIN,
    MAX_DEPTH,
    MAX_NODES,
    Feature,
    FeatureType,
    Leaf,
    NumericSplit,
    SetSplit,
    Split,
    Target,
    TargetType,
    Threshold,
    walk,
)

if TYPE_CHECKING:
    from mbndt.rules.rules import Rules


def check_text(text: object, where: str, *, empty: bool = False) -> str:
    """Return `text` if it is text that every target can carry, else raise `RulesError`."""
    if not isinstance(text, str):
        raise RulesError(f"{where}: got {shown(text)}, expected text")
    if not text and not empty:
        raise RulesError(f"{where}: got an empty text, expected at least one character")
    if re.search("[\0\ud800-\udfff]", text):
        raise RulesError(f"{where}: got {shown(text)}, expected text without NUL or surrogates")
    return text


def check(rules: Rules) -> None:
    """Raise `RulesError` that starts with the node's path or the key if an invariant is broken."""
    check_text(rules.name, "name")
    check_target(rules.target)
    _check_features(rules)
    ids: set[int] = set()
    for count, (path, depth, node) in enumerate(walk(rules.root), start=1):
        if count > MAX_NODES:
            raise RulesError(f"root: more than {MAX_NODES} nodes")
        if depth > MAX_DEPTH:
            raise RulesError(f"root: deeper than {MAX_DEPTH} splits")
        match node:
            case Leaf():
                _check_leaf(rules, node, path)
                if node.leaf in ids:
                    raise RulesError(f"{path}.leaf: got {node.leaf}, which another leaf has")
                ids.add(node.leaf)
            case NumericSplit():
                _check_numeric(rules, node, path)
                _check_reached(node, path, [interval.to for interval in node.intervals])
            case SetSplit():
                _check_set(rules, node, path)
                unseen = [] if node.unseen is None else [node.unseen]
                _check_reached(node, path, [group.to for group in node.groups] + unseen)
    _check_ids(rules)


def check_target(target: Target) -> None:
    """Raise `RulesError` that starts with the key unless a target is valid by itself."""
    check_text(target.name, "target.name")
    check_text(target.unit, "target.unit", empty=True)
    check_text(target.description, "target.description", empty=True)
    kinds: dict[TargetType, type] = {
        TargetType.STRING: str,
        TargetType.INTEGER: int,
        TargetType.BOOLEAN: bool,
    }
    if target.classes and target.type not in kinds:
        raise RulesError(
            f"target.type: got '{target.type}' with classes, which are texts,"
            " integers or booleans; a regression has none"
        )
    if not target.classes and target.type not in (TargetType.FLOAT64, TargetType.INTEGER):
        raise RulesError(f"target.type: got '{target.type}' for a regression, expected 'float64'")
    for i, label in enumerate(target.classes):
        if type(label) is not kinds[target.type]:
            raise RulesError(f"target.classes[{i}]: got {shown(label)}, expected {target.type}")
        if isinstance(label, str):
            check_text(label, f"target.classes[{i}]")
        elif not INT64_MIN <= label <= INT64_MAX:
            raise RulesError(f"target.classes[{i}]: got {label}, expected a 64-bit integer")
    if len(set(target.classes)) < len(target.classes):
        raise RulesError(f"target.classes: duplicate class {shown(_duplicate(target.classes))}")
    event = target.event
    if event is not None and (type(event), event) not in [(type(c), c) for c in target.classes]:
        raise RulesError(f"target.event: got {shown(event)}, expected one of the classes")


def _check_features(rules: Rules) -> None:
    seen: set[str] = set()
    for i, feature in enumerate(rules.features):
        where = f"features[{i}]"
        check_feature(feature, where)
        if feature.name in seen:
            raise RulesError(f"{where}.name: duplicate name {shown(feature.name)}")
        if feature.name == rules.target.name:
            raise RulesError(f"{where}.name: {shown(feature.name)} is the target's name")
        seen.add(feature.name)


def _duplicate(items: Sequence[object]) -> object:
    return next(item for i, item in enumerate(items) if item in items[:i])


def check_feature(feature: Feature, where: str) -> None:
    """Raise `RulesError` that starts with `where` unless a feature is valid by itself."""
    check_text(feature.name, f"{where}.name")
    for key in ("label", "unit", "description"):
        check_text(getattr(feature, key), f"{where}.{key}", empty=True)
    if feature.categories and feature.type != FeatureType.CATEGORY:
        raise RulesError(f"{where}.categories: not for a feature of type {feature.type}")
    for k, category in enumerate(feature.categories):
        check_text(category, f"{where}.categories[{k}]")
    if len(set(feature.categories)) < len(feature.categories):
        raise RulesError(
            f"{where}.categories: duplicate category {shown(_duplicate(feature.categories))}"
        )


def _check_count(number: object, where: str) -> None:
    if type(number) is not int or number < 0:
        raise RulesError(f"{where}: got {shown(number)}, expected a whole number from 0")


def _check_float(number: object, where: str) -> None:
    # NumPy's floats are Python floats too, but print as something else.
    if type(number) is not float or not math.isfinite(number):
        raise RulesError(f"{where}: got {shown(number)}, expected a finite float")


def _check_ids(rules: Rules) -> None:
    """Leaves that answer count depth-first, and stops have the numbers that are left."""
    found = [(path, node) for path, _, node in walk(rules.root) if isinstance(node, Leaf)]
    taken = {leaf.leaf for _, leaf in found if leaf.stops}
    left = (i for i in range(len(found)) if i not in taken)
    for path, leaf in found:
        if not leaf.stops and leaf.leaf != (expected := next(left, None)):
            raise RulesError(
                f"{path}.leaf: got {leaf.leaf}, expected {expected}"
                " (leaves count from 0, left to right)"
            )
        if leaf.leaf >= len(found):
            raise RulesError(f"{path}.leaf: got {leaf.leaf}, but there are {len(found)} leaves")
    if all(leaf.stops for _, leaf in found):
        raise RulesError("root: no leaf answers")
    if len({leaf.risk is None for _, leaf in found if not leaf.stops}) > 1:
        raise RulesError("root: some leaves have a risk, and others none")


def _check_leaf(rules: Rules, leaf: Leaf, path: str) -> None:
    _check_count(leaf.leaf, f"{path}.leaf")
    if leaf.stops and leaf.risk is not None:
        raise RulesError(f"{path}.risk: not where there is no answer")
    if rules.task == "regression":
        if not leaf.stops:
            _check_float(leaf.value, f"{path}.value")
        if leaf.counts is not None:
            raise RulesError(f"{path}.counts: not for a regression, which has n, mean and std")
        if leaf.risk is not None:
            raise RulesError(f"{path}.risk: not for a regression")
        if leaf.n is not None:
            _check_count(leaf.n, f"{path}.n")
        for key in ("mean", "std"):
            if getattr(leaf, key) is not None:
                _check_float(getattr(leaf, key), f"{path}.{key}")
        return
    classes = len(rules.target.classes)
    if not leaf.stops:
        _check_chances(leaf.value, classes, f"{path}.value")
    if leaf.risk is not None:
        _check_chances(leaf.risk, classes, f"{path}.risk")
    for k, count in enumerate(leaf.counts or ()):
        _check_count(count, f"{path}.counts[{k}]")
    if leaf.counts is not None and len(leaf.counts) != classes:
        raise RulesError(f"{path}.counts: got {len(leaf.counts)}, expected {classes}")
    for key in ("n", "mean", "std"):
        if getattr(leaf, key) is not None:
            raise RulesError(f"{path}.{key}: only for a regression")


def _check_chances(found: object, classes: int, where: str) -> None:
    if not isinstance(found, tuple) or len(found) != classes:
        raise RulesError(f"{where}: expected {classes} probabilities, one per class")
    for k, p in enumerate(found):
        _check_float(p, f"{where}[{k}]")
        if not 0.0 <= p <= 1.0:
            raise RulesError(f"{where}[{k}]: got {p}, expected a probability")
    if abs(math.fsum(found) - 1.0) > 1e-9:
        raise RulesError(f"{where}: sums to {math.fsum(found)!r}, expected 1")


def _feature_of(rules: Rules, split: Split, path: str) -> Feature:
    if split.feature not in rules.feature:
        raise RulesError(
            f"{path}.feature: {shown(split.feature)} is not one of the features"
            f"{nearest(split.feature, rules.feature)}"
        )
    return rules.feature[split.feature]


def _check_numeric(rules: Rules, split: NumericSplit, path: str) -> None:
    feature = _feature_of(rules, split, path)
    if not feature.type.numeric:
        raise RulesError(
            f"{path}.intervals: {shown(feature.name)} is {feature.type}, which is split by groups"
        )
    before: Threshold = -math.inf
    for i, interval in enumerate(split.intervals):
        where = f"{path}.intervals[{i}].below"
        last = i == len(split.intervals) - 1
        if interval.below is None:
            if not last:
                raise RulesError(f"{where}: missing; only the last interval has none")
            continue
        if last:
            raise RulesError(f"{where}: got {interval.below}, but the last interval has none")
        if type(interval.below) is not int:
            _check_float(interval.below, where)
        if feature.type != FeatureType.INTEGER and not _is_double(interval.below):
            raise RulesError(
                f"{where}: no double holds {interval.below}, and"
                f" {shown(feature.name)} is {feature.type}"
            )
        if interval.below <= before:
            raise RulesError(
                f"{where}: got {interval.below} after {before}, expected thresholds to rise"
            )
        before = interval.below
    if not split.intervals:
        raise RulesError(f"{path}.intervals: expected at least one")


def _is_double(number: Threshold) -> bool:
    try:
        return float(number) == number
    except OverflowError:
        return False


def _check_set(rules: Rules, split: SetSplit, path: str) -> None:
    feature = _feature_of(rules, split, path)
    if feature.type.numeric:
        raise RulesError(
            f"{path}.groups: {shown(feature.name)} is {feature.type}, which is split by intervals"
        )
    boolean = feature.type == FeatureType.BOOLEAN
    allowed: frozenset[str | bool] = frozenset((False, True) if boolean else feature.categories)
    seen: set[str | bool] = set()
    for i, group in enumerate(split.groups):
        for k, value in enumerate(group.values):
            where = f"{path}.groups[{i}].in[{k}]"
            if type(value) is not (bool if boolean else str) or value not in allowed:
                raise RulesError(f"{where}: {shown(value)} is not a value of {feature.name!r}")
            if value in seen:
                raise RulesError(f"{where}: {shown(value)} is in another group too")
            seen.add(value)
        if not group.values:
            raise RulesError(f"{path}.groups[{i}].in: expected at least one value")
    if not split.groups:
        raise RulesError(f"{path}.groups: expected at least one")
    if boolean and seen != allowed:
        raise RulesError(f"{path}.groups: expected both false and true")
    if boolean and (split.unseen is not None or split.unseen_rows is not None):
        raise RulesError(f"{path}.unseen: a boolean has no unseen value")
    if not boolean and split.unseen is None:
        raise RulesError(f"{path}.unseen: missing; expected the child for other texts")


def _check_reached(split: Split, path: str, targets: list[int]) -> None:
    for key in ("missing_rows", "unseen_rows"):
        if getattr(split, key, None) is not None:
            _check_count(getattr(split, key), f"{path}.{key}")
    named = [*targets, split.missing]
    parts = split.intervals if isinstance(split, NumericSplit) else split.groups
    for part in parts:
        if part.redirected_from is not None:
            _check_count(part.redirected_from, f"{path}: redirected_from")
    for to in named:
        if type(to) is not int or not 0 <= to < len(split.children):
            raise RulesError(
                f"{path}: no child {shown(to)}: there are {len(split.children)} children"
            )
    for i in range(len(split.children)):
        if i not in named:
            raise RulesError(f"{path}.children[{i}]: nothing leads to this child")
