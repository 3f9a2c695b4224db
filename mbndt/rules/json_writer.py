"""The JSON form of rules, written whole: keys in a fixed order, numbers in their shortest form."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

from mbndt.errors import RulesError
from mbndt.rules.json import FORMAT, VERSION, Obj
from mbndt.rules.nodes import (
    Feature,
    FeatureType,
    Group,
    Interval,
    Leaf,
    Node,
    NumericSplit,
    SetSplit,
    Split,
    Target,
    deep_recursion,
)
from mbndt.rules.rules import Rules


def write(rules: Rules, *, indent: int | None = 1) -> str:
    """Return the JSON form: UTF-8 text, keys in a fixed order, numbers in their shortest form."""
    return _dumps(rules, indent=indent)


def canonical(rules: Rules) -> str:
    """Return the one compact JSON text, keys sorted, that stands for these rules.

    It leaves out how they were validated, as validation names the rules that it holds for.
    """
    made = {key: value for key, value in rules.provenance.items() if key != "validation"}
    whole = replace(rules, provenance=made) if len(made) < len(rules.provenance) else rules
    return _dumps(whole, sort_keys=True, separators=(",", ":"))


def _dumps(rules: Rules, **style: Any) -> str:
    document: Obj = {
        "format": FORMAT,
        "version": VERSION,
        "name": rules.name,
        "task": rules.task,
        "target": _present(rules.target),
        "features": [_present(feature) for feature in rules.features],
    }
    with deep_recursion():
        document["root"] = _node_out(rules.root)
        if rules.provenance:
            document["provenance"] = dict(rules.provenance)
        try:
            return json.dumps(document, ensure_ascii=False, allow_nan=False, **style)
        except (TypeError, ValueError) as error:
            raise RulesError(f"provenance: {error}") from None


def _present(item: Target | Feature) -> Obj:
    """Return the fields that differ from nothing, in their order."""
    found: Obj = {}
    for entry in fields(item):
        value = getattr(item, entry.name)
        keep = (
            entry.name in ("name", "type") or value or (entry.name == "event" and value is not None)
        )
        if keep or (entry.name == "categories" and item.type == FeatureType.CATEGORY):
            found[entry.name] = list(value) if isinstance(value, tuple) else value
    return found


def _node_out(node: Node) -> Obj:
    if isinstance(node, Leaf):
        value = list(node.value) if isinstance(node.value, tuple) else node.value
        found: Obj = {"leaf": node.leaf, "value": value}
        for key in ("counts", "n", "mean", "std", "risk"):
            if (part := getattr(node, key)) is not None:
                found[key] = list(part) if isinstance(part, tuple) else part
        return found
    return {
        "feature": node.feature,
        **dict(_branches_out(node)),
        "missing": node.missing,
        **_rows_out(node),
        "children": [_node_out(child) for child in node.children],
    }


def _rows_out(split: Split) -> Obj:
    keys = ("missing_rows", "unseen_rows")
    rows = {key: getattr(split, key, None) for key in keys}
    return {key: number for key, number in rows.items() if number is not None}


def _branches_out(split: Split) -> Iterator[tuple[str, object]]:
    match split:
        case NumericSplit():
            yield (
                "intervals",
                [
                    ({} if part.below is None else {"below": part.below}) | _ends_out(part)
                    for part in split.intervals
                ],
            )
        case SetSplit():
            yield "groups", [{"in": list(part.values)} | _ends_out(part) for part in split.groups]
            if split.unseen is not None:
                yield "unseen", split.unseen


def _ends_out(part: Interval | Group) -> Obj:
    found: Obj = {"to": part.to}
    if part.redirected_from is not None:
        found["redirected_from"] = part.redirected_from
    return found
