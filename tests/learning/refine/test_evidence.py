"""Splits that chance alone would give are told from others, at every size and kind of outcome."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2_contingency

from mbndt.interpreter import predict
from mbndt.learning.pipeline import learn
from mbndt.learning.refine.bins import NumberAxis, SetAxis
from mbndt.learning.refine.evidence import BY_CUT, Evidence, _moments
from mbndt.learning.refine.out_of_bag import forest_view
from mbndt.learning.refine.problem import BinSplit, Classes, Problem
from mbndt.learning.settings import preset
from mbndt.measures.accuracy import balanced_accuracy
from mbndt.rules import Feature, FeatureType
from mbndt.tables.table import Table

QUICK = preset("default", restarts=0)
NUMBER = Feature("x", FeatureType.FLOAT64)


def drawn_outcome(draw, kind, rows):
    """Outcomes of pure chance, [n, K]."""
    if kind == "numbers":
        return draw.normal(size=(rows, 1))
    if kind == "far numbers":
        return draw.standard_cauchy((rows, 1))
    if kind == "mostly zero":
        return np.maximum(0.0, draw.normal(-1, 1, (rows, 1)))
    if kind == "rare":
        return np.eye(2)[draw.permutation(np.arange(rows) < 20).astype(int)]
    return np.eye(3)[draw.integers(3, size=rows)]


def evidence(draw, outcome, *, columns=3, levels=0, view=False, weights=None):
    rows = len(outcome)
    size = levels or min(rows, 254)
    bins = np.array([draw.permutation(np.arange(rows) * size // rows) for _ in range(columns)])
    category = Feature("c", FeatureType.CATEGORY, tuple(f"{i}" for i in range(levels)))
    axis = SetAxis(category, np.arange(levels), levels, levels + 2) if levels else None
    problem = Problem(
        bins.astype(np.uint8),
        (size + 1 + bool(levels),) * columns,
        Classes(outcome),
        1.0,
        6,
        4,
        3,
        weights,
    )
    told = forest_view(problem.bins, outcome, np.ones(rows), 0) if view else None
    return Evidence(problem, (axis or NumberAxis(NUMBER, ()),) * columns, outcome, told)


@pytest.mark.parametrize("levels", [0, 4, 40], ids=["numbers", "4 levels", "40 levels"])
@pytest.mark.parametrize("kind", ["3 classes", "rare", "numbers", "far numbers", "mostly zero"])
def test_chance_passes_no_more_often_than_it_should(kind, levels):
    passed, draws = 0, 150
    for seed in range(draws):
        draw = np.random.default_rng(seed)
        found = evidence(draw, drawn_outcome(draw, kind, 200), levels=levels)
        passed += found.by_cut(found.problem.index) <= BY_CUT
    # Five times the share is beyond any luck of the draw: 15 where 3 are due.
    assert passed / draws < 4 * BY_CUT


def test_the_forests_view_goes_along_with_what_there_is_alone():
    draw = np.random.default_rng(0)
    rare = []
    for _ in range(20):
        found = evidence(draw, drawn_outcome(draw, "3 classes", 150), view=True)
        rare.append(found.by_view(found.problem.index))
    assert np.mean(np.array(rare) < 0.02) <= 0.1
    parity = evidence(draw, np.zeros((400, 2)), columns=2)
    odd = (parity.problem.bins > 127).sum(0) % 2
    outcome = np.eye(2)[odd]
    view = forest_view(parity.problem.bins, outcome, np.ones(400), 0)
    found = Evidence(parity.problem, parity.axes, outcome, view)
    assert found.by_view(parity.problem.index) < 1e-6
    # No single cut tells a parity, the whole tree does.
    half = (np.arange(255) > 127).astype(int)
    tree = BinSplit(0, half, (BinSplit(1, half, (0, 1)), BinSplit(1, half, (1, 0))))
    assert found.by_cut(parity.problem.index) > BY_CUT
    assert found.by_tree(tree, parity.problem.index) < 1e-6
    noise = Evidence(parity.problem, parity.axes, np.eye(2)[draw.integers(2, size=400)])
    assert noise.by_tree(tree, parity.problem.index) > 0.01


def test_a_row_of_weight_two_is_as_much_evidence_as_two_rows():
    draw = np.random.default_rng(3)
    outcome, weights = drawn_outcome(draw, "3 classes", 60), draw.integers(1, 4, 60)
    one = evidence(np.random.default_rng(1), outcome, weights=weights.astype(float))
    copies = np.repeat(np.arange(60), weights)
    problem = one.problem.take(copies, 4)
    two = Evidence(
        Problem(problem.bins, problem.sizes, problem.goal, 1.0, 6, 4, 3), one.axes, outcome[copies]
    )
    assert one.by_cut(one.problem.index) == pytest.approx(two.by_cut(problem.index), rel=1e-9)


def test_a_tables_moments_are_those_of_its_permutations():
    draw = np.random.default_rng(0)
    level, code = np.repeat([0, 1, 2], [3, 10, 27]), np.repeat([0, 1], [6, 34])
    found = []
    for _ in range(4000):
        table = np.zeros((3, 2))
        np.add.at(table, (level, draw.permutation(code)), 1)
        found.append(chi2_contingency(table, correction=False).statistic)
    (free, bent), (free_, bent_) = (_moments(np.bincount(x), 40) for x in (level, code))
    variance = 80 / 37 * (free - bent) * (free_ - bent_) + 1600 / 39 * bent * bent_
    assert np.mean(found) == pytest.approx(2 * 40 / 39, rel=0.05)
    assert np.var(found) == pytest.approx(variance, rel=0.15)


def test_noise_gives_one_leaf_at_every_size():
    leaves = []
    for rows, draws in ((100, 16), (300, 16), (2_000, 6), (12_000, 2)):
        for seed in range(draws):
            draw = np.random.default_rng([rows, seed])
            table = Table.of(
                {
                    "a": draw.normal(size=rows),
                    "b": draw.normal(size=rows),
                    "y": draw.integers(2, size=rows),
                }
            )
            leaves.append(len(learn(table, "y", QUICK).rules.leaves))
    assert np.mean(np.array(leaves) <= 2) >= 0.95


def test_categories_of_pure_chance_give_one_leaf():
    leaves = []
    for seed in range(16):
        draw = np.random.default_rng(seed)
        columns = {f"c{k}": [f"v{i}" for i in draw.integers(k, size=300)] for k in (3, 12, 48)}
        table = Table.of({**columns, "y": draw.integers(2, size=300)})
        leaves.append(len(learn(table, "y", QUICK).rules.leaves))
    assert np.mean(np.array(leaves) <= 2) >= 0.9


def test_below_a_real_split_noise_adds_no_leaves_and_weak_signals_are_found():
    for right, rows, most in ((0.9, 2_000, 3), (0.65, 1_000, 8)):
        draw = np.random.default_rng(rows)
        frame = pd.DataFrame(draw.normal(size=(2 * rows, 2)), columns=["a", "b"])
        table = Table.of(frame.assign(y=(frame["a"] > 0) ^ (draw.random(2 * rows) >= right)))
        rules = learn(table.take(np.arange(rows)), "y", QUICK).rules
        assert 2 <= len(rules.leaves) <= most
        test = table.take(np.arange(rows, 2 * rows))
        got = np.array(predict(rules, test).prediction)
        assert balanced_accuracy(np.array(test.column("y")), got) > right - 0.05


def test_a_price_of_ones_own_is_taken_at_its_word():
    draw = np.random.default_rng(0)
    table = Table.of({"x": draw.normal(size=300), "y": draw.integers(2, size=300)})
    assert len(learn(table, "y", preset("default", restarts=0, penalty=0.5)).rules.leaves) > 2
