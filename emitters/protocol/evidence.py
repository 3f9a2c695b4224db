"""What a decision sheet rests on: the rows of the training, and how held-out rows were told."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from mbndt.emitters.protocol.grammar import number_text, value_text
from mbndt.emitters.protocol.results import interval
from mbndt.emitters.protocol.statements import OutcomeStatement, Statements
from mbndt.emitters.protocol.text import NOT_STATED, percent, plain, said
from mbndt.rules import Feature, Rules, deep_recursion
from mbndt.rules.values import label_text

MOST = 1e300  # greater numbers are no measurements, and too large to format

# What the blocks of the sheet say in words.
SAID = {"training rows", "class rows", "features", "held out"}


def answer_table(rules: Rules, stated: Statements) -> list[list[str]]:
    """Return a row for each class: what to do, how common it was, how often it was told right."""
    total = _counts(rules.provenance, "class rows", rules)
    held = rules.provenance.get("held out")
    hits, rows = (_counts(held, key, rules) for key in ("class_hits", "class_rows"))
    found = []
    for i, label in enumerate(rules.target.classes):
        action = stated.outcomes.get(label_text(label), OutcomeStatement()).action
        common = f"{total[i]} of {sum(total)}, {percent(total[i] / sum(total))}" if total else ""
        right = ""
        if hits and rows and 0 < rows[i] >= hits[i]:
            right = f"{hits[i]} of {rows[i]} ({interval(hits[i], rows[i])})"
        found.append([value_text(label), said(action), common or NOT_STATED, right or NOT_STATED])
    return found


def _counts(facts: object, key: str, rules: Rules) -> list[int]:
    """Return the count of each class under a key, none where there are no sound ones."""
    listed = facts.get(key) if isinstance(facts, Mapping) else None
    if not isinstance(listed, (list, tuple)) or len(listed) != len(rules.target.classes):
        return []
    return list(listed) if all(map(_is_count, listed)) and sum(listed) else []


def seen(rules: Rules, feature: Feature) -> str:
    """Return what the training saw of a feature: its range, and how much was missing."""
    ends = seen_range(rules, feature)
    found = [] if ends is None else [" to ".join(map(number_text, ends))]
    missing: Any = _facts(rules, feature).get("missing")
    if _is_number(missing) and 0 <= missing <= 1:
        found.append(f"{percent(missing)} missing")
    return ", ".join(found) or NOT_STATED


def seen_range(rules: Rules, feature: Feature) -> tuple[float, float] | None:
    """Return the least and greatest value of a number in training, where the rules know it."""
    ends = _facts(rules, feature).get("range")
    if isinstance(ends, (list, tuple)) and len(ends) == 2 and all(map(_is_number, ends)):
        return (ends[0], ends[1]) if ends[0] <= ends[1] else None
    return None


def _facts(rules: Rules, feature: Feature) -> Mapping[str, Any]:
    features = rules.provenance.get("features")
    facts = features.get(feature.name) if isinstance(features, Mapping) else None
    return facts if isinstance(facts, Mapping) else {}


def _is_number(value: Any) -> bool:
    known = isinstance(value, (int, float)) and not isinstance(value, bool)
    return known and -MOST <= value <= MOST


def _is_count(value: Any) -> bool:
    return _is_number(value) and isinstance(value, int) and value >= 0


def evidence(rules: Rules, stated: Statements) -> Iterator[list[str]]:
    """Yield what is known of training and validation; what nobody stated stays visible."""
    rows = rules.provenance.get("training rows")
    yield ["Learned from", f"{rows} rows" if _is_count(rows) else NOT_STATED]
    held_out = _held_out(rules.provenance.get("held out"))
    if "rounded from" in rules.provenance and held_out != NOT_STATED:
        held_out += ", before thresholds were rounded"
    yield ["Held-out rows of the same data", held_out]
    yield ["Validated on other data", said(stated.validation)]


def provenance(rules: Rules) -> Iterator[list[str]]:
    """Yield what else the rules know of their making."""
    yield ["Rules", plain(rules.name)]
    with deep_recursion():
        for key, value in rules.provenance.items():
            if key not in SAID:
                text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
                yield [plain(key), plain(text)]


def _held_out(figures: object) -> str:
    if not isinstance(figures, Mapping) or not _is_count(figures.get("rows")):
        return NOT_STATED
    found = [f"{figures['rows']} rows"]
    for key, name in (
        ("balanced_accuracy", "balanced accuracy"),
        ("r2", "R squared"),
        ("rmse", "root mean squared error"),
    ):
        value, ends = figures.get(key), figures.get(f"{key}_95")
        if _is_number(value):
            found.append(f"{name} {value:.3g}")
        if isinstance(ends, (list, tuple)) and len(ends) == 2 and all(map(_is_number, ends)):
            found[-1] += f" (95 % {ends[0]:.3g} to {ends[1]:.3g})"
    return ", ".join(found)
