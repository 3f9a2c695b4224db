"""The chance of each class in a leaf, as it will be among rows that nobody has seen yet.

The rows of a leaf were chosen for telling alike, so their own shares flatter. Each row therefore
speaks for the most part by what models that have not seen it say of it (a forest's out-of-bag view,
or rules of a cross-fit), the rows being as common as they are. On leaves of 600 training rows this
halves the error of the shares; `benchmarks.risk` measures it, and the coverage of the intervals.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mbndt.arrays import Floats
from mbndt.interpreter import route
from mbndt.learning.aim import scores
from mbndt.learning.isotonic import Pair, isotonic
from mbndt.learning.monotone import kept, leaf_pairs, of_two
from mbndt.learning.training_set import TrainingSet
from mbndt.rules import Leaf, Rules

# Chosen on draws of the paper's large sets, where the truth is known.
VIEW_SHARE = 0.7  # what of a row's say is the view of those that have not seen it
PRIOR_ROWS = 0.5  # of the classes' overall shares, so that no chance is 0
TIE = 1e-12
ROW_WORTH = 0.8  # of a training row, beside an unseen one, in an interval


def with_risks(rules: Rules, training: TrainingSet, view: Floats | None) -> Rules:
    """Return rules whose leaves have the risk of each class, from a view of the rows [n, C].

    Without a view rows speak for themselves alone. Where costs are stated the scores, and so the
    labels, follow from the risks. A regression has no risks. Risks, scores and values are pooled
    where they would not be as monotone as was asked for.
    """
    pairs = leaf_pairs(rules, training)
    if training.codes is None:
        return _ordered_values(rules, training, pairs) if pairs else rules
    weights, own = training.weights, training.indicators()
    said = own if view is None else (1 - VIEW_SHARE) * own + VIEW_SHARE * view
    prior = training.shares()
    leaf = route(rules, training.typed, training.n_rows)
    rows = np.bincount(leaf, weights, len(rules.leaves))
    sums = np.zeros((len(rules.leaves), own.shape[1]))
    np.add.at(sums, leaf, said * weights[:, None])
    worth = np.asarray(rows + PRIOR_ROWS, np.float64)
    risk = (sums + PRIOR_ROWS * prior) / worth[:, None]
    event = rules.event
    if pairs and event is not None:
        risk = of_two(risk, worth, pairs, event)
    if training.prevalence is not None:
        risk = at_prevalence(risk, prior, training.prevalence)
    risk /= risk.sum(1, keepdims=True)
    if not pairs or event is None:
        return rules.with_leaves(lambda end: _answering(end, risk[end.leaf], training, event))
    risk = of_two(risk, worth, pairs, event)  # to the last bit
    found = rules.with_leaves(lambda end: _answering(end, risk[end.leaf], training, event))
    score = np.array([leaf.value for leaf in found.leaves], np.float64)
    mass = np.bincount(leaf, weights * training.class_weights()[training.codes], len(rows))
    score = of_two(score, np.maximum(mass, PRIOR_ROWS), pairs, event)
    found = found.with_leaves(lambda end: replace(end, value=tuple(score[end.leaf].tolist())))
    assert kept(found, training)
    return found


def _ordered_values(rules: Rules, training: TrainingSet, pairs: list[Pair]) -> Rules:
    leaf = route(rules, training.typed, training.n_rows)
    rows = np.bincount(leaf, training.weights, len(rules.leaves))
    values = np.array([end.value for end in rules.leaves], np.float64)
    values = isotonic(values, np.maximum(rows, PRIOR_ROWS), pairs)
    found = rules.with_leaves(lambda end: replace(end, value=float(values[end.leaf])))
    assert kept(found, training)
    return found


def _answering(leaf: Leaf, risk: Floats, training: TrainingSet, event: int | None) -> Leaf:
    leaf = replace(leaf, risk=tuple(risk.tolist()))
    if training.costs is None:
        return leaf
    score = scores(risk @ training.costs)
    if event is not None and score[event] >= score.max() * (1 - TIE):
        score[event] = score.max() * (1 + TIE)  # at the very threshold the event is the answer
    return replace(leaf, value=tuple((score / score.sum()).tolist()))


def intervals(rules: Rules, rows: Floats) -> list[list[list[float]]]:
    """Return the 95 % interval of each leaf's risk of each class, [L, C, 2].

    `rows` [L] is how many training rows the leaves' risks rest on. The interval is that of a share
    under Jeffreys' prior (Brown, Cai and DasGupta, Statistical Science 16, 2001).
    """
    from scipy.special import betaincinv

    risk = np.array([leaf.risk for leaf in rules.leaves], np.float64)
    worth = ROW_WORTH * rows[:, None]
    a, b = worth * risk + 0.5, worth * (1 - risk) + 0.5
    ends = np.stack([betaincinv(a, b, 0.025), betaincinv(a, b, 0.975)], axis=2)
    # A risk beside 0 or 1 may lie beyond the middle 95 %.
    ends[..., 0] = np.minimum(ends[..., 0], risk)
    ends[..., 1] = np.maximum(ends[..., 1], risk)
    found: list[list[list[float]]] = ends.tolist()
    return found


def at_prevalence(risk: Floats, before: Floats, after: Floats) -> Floats:
    """Return risks [..., C] as they are where classes have other shares [C] than before (Bayes)."""
    factor = np.divide(after, before, out=np.zeros_like(after), where=before > 0)
    found = risk * factor
    return np.asarray(found / found.sum(-1, keepdims=True))
