"""Leaves of whole rules brought into the order that was asked for.

The search (`refine/ordering.py`) orders labels; scores, risks and values are estimated afterwards,
so they are pooled here as little as makes the rules monotone for every input.
"""

from __future__ import annotations

import numpy as np

from mbndt.arrays import Floats
from mbndt.learning.isotonic import Pair, isotonic
from mbndt.learning.training_set import TrainingSet
from mbndt.rules import Rules
from mbndt.rules.monotone import SIGNS, steps, zigzags


def leaf_pairs(rules: Rules, training: TrainingSet) -> list[Pair]:
    """Return the pairs of leaf ids of which the first may have no greater answer."""
    return [
        (low.leaf, high.leaf) if SIGNS[sign] > 0 else (high.leaf, low.leaf)
        for name, sign in (training.aim.monotone or {}).items()
        for low, high in steps(rules, name)
    ]


def of_two(table: Floats, weights: Floats, pairs: list[Pair], event: int) -> Floats:
    """Return scores or risks of two classes [L, 2] such that the event's are ordered."""
    found = np.empty_like(table)
    found[:, event] = isotonic(table[:, event], weights, pairs)
    found[:, 1 - event] = 1 - found[:, event]
    return found


def kept(rules: Rules, training: TrainingSet) -> bool:
    """Tell whether rules are as monotone as was asked for, at every input."""
    asked = training.aim.monotone or {}
    return not any(zigzags(rules, name, sign) for name, sign in asked.items())
