"""Nested conditions: what the template of a programming language shows of the rules' tree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mbndt.emitters.base import Arm, Cut, Range, arms, pieces
from mbndt.rules import Leaf, Node, Rules

# Languages limit nesting; past this depth a subtree gets a function of its own.
NESTING = 16


@dataclass(frozen=True)
class Words:
    """What a language says about a value `x`: cuts, the test for missing, literals, one of many."""

    cut: Cut
    missing: str
    literal: Callable[[Any], str]
    one_of: Callable[[list[str]], str]
    between: str = "{low} <= x < {high}"


def functions(rules: Rules, words: Words) -> list[dict[str, Any]]:
    """Return a view of the root, then one of each subtree with a function of its own.

    A view is a `leaf`, or the number of the function to `call`, or a `number`, the `feature` to
    read, a `note` on it, and `arms`, each with the tests of its `condition`, of which one must hold
    (None: the rest), and the view of its `child`.
    """
    tops = pieces(rules.root, NESTING)
    numbers = {key: i for i, key in enumerate(tops)}
    return [_view(rules, words, node, numbers, top=True) for node in tops.values()]


def _view(
    rules: Rules, words: Words, node: Node, numbers: dict[int, int], *, top: bool = False
) -> dict[str, Any]:
    if isinstance(node, Leaf):
        return {"leaf": node.leaf}
    if not top and id(node) in numbers:
        return {"call": numbers[id(node)]}
    feature = rules.feature[node.feature]
    return {
        "number": numbers.get(id(node)),
        "feature": feature,
        "note": ", ".join(text for text in (feature.label, feature.unit) if text),
        "arms": [
            {
                "condition": None if arm.rest else _condition(words, arm),
                "child": _view(rules, words, arm.child, numbers),
            }
            for arm in arms(rules, node, words.cut)
        ],
    }


def _condition(words: Words, arm: Arm) -> list[str]:
    """Return the tests of which one must hold."""
    tests = [words.missing] if arm.missing else []
    tests += [_between(words, part) for part in arm.ranges]
    if arm.values:
        tests.append(words.one_of([words.literal(value) for value in arm.values]))
    return tests


def _between(words: Words, part: Range) -> str:
    low, high = (None if end is None else words.literal(end) for end in (part.low, part.high))
    if low is None:
        return f"x < {high}"
    return f"x >= {low}" if high is None else words.between.format(low=low, high=high)
