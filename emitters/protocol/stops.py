"""Where a decision sheet gives no answer, and the words that say so.

A sheet stops at a value that too few training rows had where it is asked for, and wherever people
state that it must. Of a part of the rules that only stops it prints one row.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mbndt.emitters.protocol.grammar import Answer
from mbndt.emitters.protocol.words import say
from mbndt.rules import Leaf, Node, Rules, deep_recursion
from mbndt.rules.nodes import walk
from mbndt.rules.stopping import only_stops, stopping

if TYPE_CHECKING:
    from mbndt.emitters.protocol.statements import Statements

STOPS = ("stop_measure_own", "stop_measure", "stop_unlisted", "stop_here")  # keys of messages


def stopped(rules: Rules, stated: Statements) -> Rules:
    """Return rules that stop where the sheet does."""
    named = {name for name, entry in stated.features.items() if entry.missing.stop}
    return stopping(rules, stated.least_rows, named)


def stop_of(node: Node) -> int | None:
    """Return the first leaf id below a node that only stops, else None."""
    if not only_stops(node):
        return None
    return next(leaf.leaf for _, _, leaf in walk(node) if isinstance(leaf, Leaf))


def stop_text(row: Answer, own: str) -> str:
    """Return what a row that stops says; `own` is what people state of a missing value."""
    if row.missing and not (row.bounds or row.values or row.other):
        return say("stop_measure_own", own=own) if own else say("stop_measure")
    return say("stop_unlisted" if row == Answer(other=True) else "stop_here")


def trimmed(rules: Rules) -> tuple[Rules, list[str]]:
    """Return rules in which one leaf is all that is left of a part that only stops.

    Its leaves are numbered anew; the ids of the page's elements that they stand for go with them.
    """
    goals: list[str] = []

    def node(old: Node) -> Node:
        stop = stop_of(old)
        if stop is None and not isinstance(old, Leaf):
            return replace(old, children=tuple(map(node, old.children)))
        leaf = Leaf(0, None) if stop is not None else old
        assert isinstance(leaf, Leaf)
        goals.append(f"result-{leaf.leaf}" if stop is None else f"stop-{stop}")
        return replace(leaf, leaf=len(goals) - 1)

    with deep_recursion():
        return replace(rules, root=node(rules.root)), goals
