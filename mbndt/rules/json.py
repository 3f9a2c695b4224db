"""The reader of the JSON form of rules (format `mbndt-rules`, version 1), which is strict.

It refuses unknown and repeated keys, non-finite numbers, `1.0` where an integer is asked
and everything that `Rules` itself refuses, and says where. Limits: `MAX_BYTES` of text,
`MAX_PARTS` values, `rules.MAX_DEPTH` splits on a path, `rules.MAX_NODES` nodes, and a provenance
nested `MAX_NESTING` deep.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeVar, cast

from mbndt.errors import RulesError, nearest, shown
from mbndt.rules.invariants import check_text
from mbndt.rules.nodes import (
    INT64_MAX,
    MAX_DEPTH,
    Feature,
    FeatureType,
    Group,
    Interval,
    Leaf,
    Node,
    NumericSplit,
    SetSplit,
    Target,
    TargetType,
    Threshold,
    deep_recursion,
)
from mbndt.rules.rules import Rules

FORMAT, VERSION = "mbndt-rules", 1
MAX_BYTES = 64 * 2**20
# A value of two bytes takes some hundred in memory.
MAX_PARTS = 5_000_000
MAX_NESTING = 100

Obj = dict[str, Any]
E = TypeVar("E", FeatureType, TargetType)


@dataclass(frozen=True, slots=True)
class _Number:
    """A JSON number with a fraction or an exponent, as it is written."""

    text: str

    def __repr__(self) -> str:
        return self.text

    def __float__(self) -> float:
        return float(self.text)


def read(text: str | bytes) -> Rules:
    """Return the rules that a JSON text says; raises `RulesError` with the node's path."""
    if len(text) > MAX_BYTES:
        raise RulesError(f"rules: {len(text)} bytes, expected at most {MAX_BYTES}")
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8-sig")
        if (parts := sum(map(text.count, ",[{"))) > MAX_PARTS:
            raise RulesError(f"rules: {parts} values, expected at most {MAX_PARTS}")
        with deep_recursion():
            document = json.loads(
                text,
                object_pairs_hook=_unique,
                parse_float=_Number,
                parse_constant=_refuse_constant,
            )
            return _rules(document)
    except RulesError:
        raise
    except RecursionError:
        raise RulesError(f"rules: nested deeper than {MAX_DEPTH} splits") from None
    except UnicodeDecodeError as error:
        raise RulesError(f"rules: not UTF-8 text at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise RulesError(
            f"rules: not JSON: line {error.lineno} column {error.colno}: {error.msg}"
        ) from None
    except ValueError as error:  # an integer of thousands of digits
        raise RulesError(f"rules: {error}") from None


def schema() -> str:
    """Return the JSON Schema of the format, as text: what `read` takes, it takes too."""
    from importlib.resources import files

    return files("mbndt.rules").joinpath("rules.schema.json").read_text("utf-8")


def _unique(pairs: list[tuple[str, Any]]) -> Obj:
    found: Obj = {}
    for key, value in pairs:
        if key in found:
            raise RulesError(f"rules: duplicate key {shown(key)}")
        found[key] = value
    return found


def _refuse_constant(word: str) -> None:
    raise RulesError(f"rules: {word} is not a finite number")


def _rules(document: object) -> Rules:
    top = _object(
        document,
        "rules",
        {"format", "version", "name", "task", "target", "features", "root"},
        {"provenance"},
    )
    if top["format"] != FORMAT or type(top["version"]) is not int or top["version"] != VERSION:
        raise RulesError(
            f"format: got {shown(top['format'])} version {shown(top['version'])},"
            f" expected '{FORMAT}' version {VERSION}"
        )
    if top["task"] not in ("classification", "regression"):
        raise RulesError(
            f"task: got {shown(top['task'])}, expected 'classification' or 'regression'"
        )
    target = read_target(top["target"], str(top["task"]))
    features = tuple(
        read_feature(item, f"features[{i}]")
        for i, item in enumerate(_list(top["features"], "features"))
    )
    types = {feature.name: feature.type for feature in features}
    return Rules(
        name=check_text(top["name"], "name"),
        target=target,
        features=features,
        root=_node(top["root"], "root", types),
        provenance=cast(
            Obj, _plain(_object(top.get("provenance", {}), "provenance"), "provenance")
        ),
    )


def read_target(item: object, task: str) -> Target:
    """Return the target that plain JSON values say."""
    obj = _object(item, "target", {"name", "type"}, {"classes", "event", "unit", "description"})
    if (task == "classification") != ("classes" in obj):
        raise RulesError(
            f"target.classes: {'not' if 'classes' in obj else 'expected'} for a {task}"
        )
    classes = _list(obj.get("classes", []), "target.classes")
    if "classes" in obj and not classes:
        raise RulesError("target.classes: expected at least one")
    kind = _choice(TargetType, obj["type"], "target.type")
    return Target(
        name=check_text(obj["name"], "target.name"),
        type=kind,
        classes=tuple(classes),
        event=obj.get("event"),
        **_texts(obj, "target", ("unit", "description")),
    )


def read_feature(item: object, path: str) -> Feature:
    """Return the feature that plain JSON values say; `path` starts an error's message."""
    optional = {"categories", "label", "unit", "description"}
    obj = _object(item, path, {"name", "type"}, optional)
    kind = _choice(FeatureType, obj["type"], f"{path}.type")
    if (kind == FeatureType.CATEGORY) != ("categories" in obj):
        asked = "expected for a category feature" if kind == "category" else f"not for type {kind}"
        raise RulesError(f"{path}.categories: {asked}")
    return Feature(
        name=check_text(obj["name"], f"{path}.name"),
        type=kind,
        categories=tuple(_list(obj.get("categories", []), f"{path}.categories")),
        **_texts(obj, path, ("label", "unit", "description")),
    )


def _node(item: object, path: str, types: Mapping[str, FeatureType]) -> Node:
    if not isinstance(item, dict):
        raise RulesError(f"{path}: got {shown(item)}, expected a node")
    if "leaf" in item:
        return _leaf(item, path)
    shared = {"feature", "missing", "children"}
    if "intervals" in item:
        obj = _object(item, path, shared | {"intervals"}, {"missing_rows"})
    else:
        counted = {"missing_rows", "unseen_rows"}
        obj = _object(item, path, shared | {"groups"}, counted | {"unseen"})
    feature = check_text(obj["feature"], f"{path}.feature")
    children: list[Node] = []
    for i, child in enumerate(_list(obj["children"], f"{path}.children")):
        children.append(_node(child, f"{path}.children[{i}]", types))
    missing = _index(obj["missing"], f"{path}.missing")
    missing_rows = _optional_index(obj, "missing_rows", path)
    if "intervals" in obj:
        exact = types.get(feature) == FeatureType.INTEGER
        intervals = tuple(
            _interval(part, f"{path}.intervals[{i}]", exact)
            for i, part in enumerate(_list(obj["intervals"], f"{path}.intervals"))
        )
        return NumericSplit(feature, intervals, missing, tuple(children), missing_rows)
    groups = tuple(
        _group(part, f"{path}.groups[{i}]")
        for i, part in enumerate(_list(obj["groups"], f"{path}.groups"))
    )
    unseen = _optional_index(obj, "unseen", path)
    unseen_rows = _optional_index(obj, "unseen_rows", path)
    return SetSplit(feature, groups, missing, tuple(children), unseen, missing_rows, unseen_rows)


def _leaf(item: object, path: str) -> Leaf:
    obj = _object(item, path, {"leaf", "value"}, {"counts", "n", "mean", "std", "risk"})
    value: tuple[float, ...] | float | None = None
    if isinstance(obj["value"], list):
        value = _floats(obj["value"], f"{path}.value")
    elif obj["value"] is not None:
        value = _float(obj["value"], f"{path}.value")
    counts = None
    if "counts" in obj:
        listed = _list(obj["counts"], f"{path}.counts")
        counts = tuple(_index(n, f"{path}.counts[{k}]") for k, n in enumerate(listed))
    return Leaf(
        leaf=_index(obj["leaf"], f"{path}.leaf"),
        value=value,
        counts=counts,
        n=_optional_index(obj, "n", path),
        mean=_float(obj["mean"], f"{path}.mean") if "mean" in obj else None,
        std=_float(obj["std"], f"{path}.std") if "std" in obj else None,
        risk=_floats(_list(obj["risk"], f"{path}.risk"), f"{path}.risk") if "risk" in obj else None,
    )


def _interval(item: object, path: str, exact: bool) -> Interval:
    obj = _object(item, path, {"to"}, {"below", "redirected_from"})
    below: Threshold | None = None
    if "below" in obj:
        read_number = _exact if exact else _float
        below = read_number(obj["below"], f"{path}.below")
    return Interval(below, *_ends(obj, path))


def _group(item: object, path: str) -> Group:
    obj = _object(item, path, {"in", "to"}, {"redirected_from"})
    return Group(tuple(_list(obj["in"], f"{path}.in")), *_ends(obj, path))


def _ends(obj: Obj, path: str) -> tuple[int, int | None]:
    source = obj.get("redirected_from", 0)
    redirected = _index(source, f"{path}.redirected_from")
    return _index(obj["to"], f"{path}.to"), redirected if "redirected_from" in obj else None


def _object(
    item: object, path: str, required: set[str] | None = None, optional: set[str] | None = None
) -> Obj:
    if not isinstance(item, dict):
        raise RulesError(f"{path}: got {shown(_plain(item, path))}, expected an object")
    if required is None:
        return item
    known = required | (optional or set())
    for key in item:
        if key not in known:
            raise RulesError(f"{path}: unknown key {shown(key)}{nearest(key, known)}")
    for key in sorted(required - item.keys()):
        raise RulesError(f"{path}: missing key {shown(key)}")
    return item


def _list(item: object, path: str) -> list[Any]:
    if not isinstance(item, list):
        raise RulesError(f"{path}: got {shown(item)}, expected a list")
    return [_plain(part, path) if isinstance(part, _Number) else part for part in item]


def _texts(obj: Obj, path: str, keys: tuple[str, ...]) -> dict[str, str]:
    return {key: check_text(obj[key], f"{path}.{key}", empty=True) for key in keys if key in obj}


def _choice(kind: type[E], item: object, path: str) -> E:
    if not isinstance(item, str) or item not in list(kind):
        known = [choice.value for choice in kind]
        raise RulesError(f"{path}: got {shown(item)}{nearest(str(item)[:60], known)}")
    return kind(item)


def _index(item: object, path: str) -> int:
    if type(item) is not int or not 0 <= item <= INT64_MAX:
        raise RulesError(f"{path}: got {shown(item)}, expected a whole number from 0 to 2^63 - 1")
    return item


def _optional_index(obj: Obj, key: str, path: str) -> int | None:
    return _index(obj[key], f"{path}.{key}") if key in obj else None


def _floats(items: list[Any], path: str) -> tuple[float, ...]:
    return tuple(_float(item, f"{path}[{k}]") for k, item in enumerate(items))


def _float(item: object, path: str) -> float:
    """Return the double nearest to what is written."""
    if type(item) is int or isinstance(item, (_Number, float)):
        try:
            number = float(item)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return number
    raise RulesError(f"{path}: got {shown(item)}, expected a finite number")


def _exact(item: object, path: str) -> Threshold:
    """Return a threshold on integers: as it is, or where no double holds it, its ceiling."""
    if type(item) is int:
        return item
    number = _float(item, path)
    try:
        exact = Decimal(str(item))
    except ArithmeticError:
        raise RulesError(f"{path}: got {shown(item)}, an exponent out of reach") from None
    if abs(number) > INT64_MAX or exact == Decimal(number):
        return number
    # On integers x < t and x < ceil(t) are the same, so the shorter of the two is kept.
    return number if math.ceil(exact) == math.ceil(number) else math.ceil(exact)


def _plain(item: object, path: str, nesting: int = MAX_NESTING) -> object:
    """Return plain JSON values, each number finite and each text legal."""
    if nesting < 0:
        raise RulesError(f"{path[:60]}…: nested deeper than {MAX_NESTING}")
    match item:
        case _Number():
            return _float(item, path)
        case str():
            return check_text(item, path, empty=True)
        case list():
            return [_plain(part, f"{path}[{i}]", nesting - 1) for i, part in enumerate(item)]
        case dict():
            return {
                check_text(key, path, empty=True): _plain(part, _member(path, key), nesting - 1)
                for key, part in item.items()
            }
    return item


def _member(path: str, key: str) -> str:
    """Return the path of an object's member; a key that is no plain word stands in quotes."""
    return f"{path}.{key}" if key.isidentifier() and len(key) <= 60 else f"{path}[{shown(key)}]"
