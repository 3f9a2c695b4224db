"""Nested conditions: what the template of a programming language shows of the rules' tree."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from mbndt.rules import Leaf, Node, Rules, Split, walk

# Languages limit nesting (Python: 100 levels of indentation); past this depth a subtree gets a
# function of its own.
NESTING = 16


class Branch(NamedTuple):
    """A way out of a split: its test, which the last one does without, its child and a remark."""

    test: str
    child: Node
    note: str = ""


def functions(rules: Rules, branches: Callable[[Split], Iterable[Branch]]) -> list[dict[str, Any]]:
    """Return a view of the root, then one of each subtree with a function of its own.

    A view is a `leaf`, or the number of the function to `call`, or a `number`, the `feature` to
    read, a `note` on it, and `branches` in the order of their tests, each with the view of its
    `child`.
    """
    tops = pieces(rules.root, NESTING)
    numbers = {key: i for i, key in enumerate(tops)}

    def view(node: Node, *, top: bool = False) -> dict[str, Any]:
        if isinstance(node, Leaf):
            return {"leaf": node.leaf}
        if not top and id(node) in numbers:
            return {"call": numbers[id(node)]}
        feature = rules.feature[node.feature]
        return {
            "number": numbers.get(id(node)),
            "feature": feature,
            "note": ", ".join(text for text in (feature.label, feature.unit) if text),
            "branches": [{**way._asdict(), "child": view(way.child)} for way in branches(node)],
        }

    return [view(node, top=True) for node in tops.values()]


def pieces(root: Node, depth: int) -> dict[int, Node]:
    """Cut a deep tree for languages that limit nesting, and return the pieces' roots.

    They are `{id(node): node}` of the root and of each split whose depth is a multiple of `depth`,
    in depth-first order.
    """
    return {
        id(node): node
        for _, level, node in walk(root)
        if level % depth == 0 and (level == 0 or not isinstance(node, Leaf))
    }
