"""Refining rules over rows: what they cost falls, what they say stays exact."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from drawn_tables import mixed_table
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes, load_wine
from sklearn.metrics import r2_score
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from strategies import rule_trees

from mbndt.errors import DataError, DataWarning, OptionError
from mbndt.interpreter import leaf_ids, predict
from mbndt.learning.pipeline import learn, prepare
from mbndt.learning.refine import greedy as growing
from mbndt.learning.refine.bins import bins_of, fit_axes
from mbndt.learning.refine.greedy import grow_among, least_impurity, regrow
from mbndt.learning.refine.out_of_bag import blended, forest_view
from mbndt.learning.refine.problem import Problem
from mbndt.learning.refine.refine import refine_rules
from mbndt.learning.settings import preset
from mbndt.learning.training_set import unit_weights
from mbndt.measures.accuracy import balanced_accuracy
from mbndt.measures.explanation import sizes
from mbndt.rules import Rules
from mbndt.tables.table import Table

QUICK = preset("fast", restarts=0, greedy=2)


def weighted_error(rules, table, labels):
    """The balanced error of rules in rows of mean weight, by the interpreter."""
    labels = np.array(labels)
    got = np.array(predict(rules, table).prediction)
    classes = np.unique(labels)
    rates = [np.mean(got[labels == c] != c) for c in classes]
    return np.mean(rates) * len(labels)


def extra_intervals(rules):
    """Intervals beyond the first of each numeric split, from the rules alone."""
    found = 0
    for split in rules.splits:
        if hasattr(split, "intervals"):
            to = [part.to for part in split.intervals]
            found += sum(a != b for a, b in pairwise(to))
    return found


def test_an_imported_tree_gets_smaller_at_no_greater_cost():
    X, y = load_wine(return_X_y=True, as_frame=True)
    tree = DecisionTreeClassifier(random_state=0, max_depth=4, class_weight="balanced").fit(X, y)
    rules = Rules.from_sklearn(tree)
    table = Table.of(X.assign(target=y))
    found = refine_rules(rules, table, "target", preset("default", smoothing=0.0, penalty=1.0))
    assert found.objective <= found.before[0]
    assert len(found.rules.leaves) < len(rules.leaves)
    # The objective, counted a second way.
    for objective, subject in ((found.before[0], rules), (found.objective, found.rules)):
        assert objective == pytest.approx(
            weighted_error(subject, table, y) + extra_intervals(subject)
        )


@pytest.mark.parametrize("smoothing", [0.0, 0.6])
def test_a_regression_tree_gets_better_at_no_price(smoothing):
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    rules = Rules.from_sklearn(DecisionTreeRegressor(random_state=0, max_depth=3).fit(X, y))
    refined = rules.refine(X, y, penalty=0.0, smoothing=smoothing)
    assert r2_score(y, refined.predict(X).prediction) > r2_score(y, rules.predict(X).prediction)
    assert refined.depth <= max(rules.depth, 4)


@given(rule_trees(), st.integers(0, 10**6))
@settings(max_examples=60)
def test_any_rules_can_be_refined_and_never_get_worse(rules, seed):
    draw = np.random.default_rng(seed)
    table = rows_for(rules, draw, 100)
    if rules.task == "regression":
        answers = draw.normal(size=100)
    else:
        answers = [
            rules.target.classes[i] for i in draw.integers(len(rules.target.classes), size=100)
        ]
    name = rules.target.name
    whole = Table({**table.columns, name: np.array(answers, object)}, 100)
    found = refine_rules(rules, whole, name, preset("default", smoothing=0.0))
    assert found.objective <= found.before[0] + 1e-9
    assert found.rules.target == rules.target
    assert found.rules.features == rules.features
    assert predict(found.rules, table).leaf.shape == (100,)


def test_a_small_leaf_of_given_rules_may_stay():
    X, y = np.arange(120.0)[:, None], (np.arange(120) == 50).astype(int)
    rules = Rules.from_sklearn(DecisionTreeClassifier(random_state=0).fit(X, y))
    table = Table.of({"x0": X[:, 0], "target": y})
    found = refine_rules(rules, table, "target", preset("default", smoothing=0.0, penalty=0.1))
    assert found.objective <= found.before[0]
    assert found.rules.predict(X).prediction == y.tolist()


def rows_for(rules, draw, rows):
    """Raw rows for rules: their own thresholds and categories, and missing values."""
    columns = {}
    for feature in rules.features:
        if feature.type.numeric:
            values = [*rules.thresholds(feature), 0, 1, None]
            if feature.type == "integer":
                values = [None if v is None else int(np.clip(v, -(2**62), 2**62)) for v in values]
        elif feature.type == "boolean":
            values = [False, True, None]
        else:
            values = [*feature.categories, "never seen", None]
        column = np.empty(rows, object)
        column[:] = [values[i] for i in draw.integers(len(values), size=rows)]
        columns[feature.name] = column
    return Table(columns, rows)


def test_leaves_hold_the_training_rows_that_reach_them():
    table = mixed_table(400, seed=2)
    rules = learn(table, "y", QUICK).rules
    leaf = leaf_ids(rules, table)
    labels = np.array(table.column("y"))
    for entry in rules.leaves:
        counts = [int(np.sum(labels[leaf == entry.leaf] == c)) for c in rules.target.classes]
        assert entry.counts == tuple(counts)
        assert sum(counts) > 0


def test_a_regressions_leaves_hold_the_mean_of_their_rows():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    table = Table.of(X.assign(target=y))
    rules = learn(table, "target", QUICK).rules
    leaf = leaf_ids(rules, table)
    for entry in rules.leaves:
        values = y[leaf == entry.leaf]
        assert entry.n == len(values)
        assert entry.value == pytest.approx(values.mean())
        assert entry.std == pytest.approx(values.std(ddof=0))


@pytest.mark.parametrize("seed", range(4))
def test_weights_count_as_copies_of_rows(seed):
    table = mixed_table(250, seed=seed)
    weights = np.random.default_rng(seed).integers(0, 5, table.n_rows)
    copies = table.take(np.repeat(np.arange(table.n_rows), weights))
    settings = preset("default", restarts=0, smoothing=0.0)
    one = learn(table, "y", settings, weights=weights.astype(float)).rules
    two = learn(copies, "y", settings).rules
    assert len(one.leaves) > 5
    assert sizes(one) == sizes(two)
    assert np.array_equal(predict(one, table).probabilities, predict(two, table).probabilities)
    # A factor common to all adds nothing, be the weights counts or proportions.
    same = learn(table, "y", settings, weights=7.0 * weights).rules
    assert same.root == one.root
    halves = [learn(table, "y", settings, weights=f * (weights + 0.5)).rules for f in (1.0, 0.1)]
    assert predict(halves[0], table).prediction == predict(halves[1], table).prediction


def test_weighted_values_count_as_copies_of_rows():
    draw = np.random.default_rng(1)
    x, weights = draw.normal(size=300), draw.integers(1, 4, 300)
    table = Table.of({"x": x, "y": np.floor(2 * x) + draw.normal(size=300).round(1)})
    # A look ahead on a single column meets ties, which the last bits of sums decide.
    settings = preset("default", restarts=0, smoothing=0.0, greedy=1)
    one = learn(table, "y", settings, weights=weights.astype(float)).rules
    two = learn(table.take(np.repeat(np.arange(300), weights)), "y", settings).rules
    assert len(one.leaves) > 2
    assert predict(one, table).prediction == pytest.approx(predict(two, table).prediction)


@pytest.mark.parametrize(
    ("weights", "counts"),
    [
        ([2, 4, 6], [1, 2, 3]),
        ([3, 0, 3], [1, 0, 1]),
        ([0.5, 0.5], [1, 1]),
        ([5, 7], [5, 7]),
        ([1.5, 0.5], [1.2, 0.4]),
        ([1e300, 1.0], [1, 0]),
        ([0.0], [0.0]),
    ],
)
def test_whole_weights_are_counts_and_others_proportions(weights, counts):
    found = unit_weights(len(weights), np.array(weights, float))
    assert found == pytest.approx(np.array(counts, float))


def test_whole_weights_that_multiply_the_rows_are_told_of():
    with pytest.warns(DataWarning, match="2 rows count as 2006; if these weights are proportions"):
        unit_weights(2, np.array([5.0, 2001.0]))
    assert unit_weights(2, np.array([5.0, 2001.0]) / 1003.0).sum() < 2


def rare_rows(rows, rare, seed):
    """A few rows that one column tells well from all others, and a column of noise."""
    draw = np.random.default_rng(seed)
    frame = pd.DataFrame(draw.normal(size=(rows, 2)), columns=["x", "noise"])
    frame.iloc[:rare, 0] = draw.normal(2.5, 0.5, rare)
    return Table.of(frame.assign(y=np.arange(rows) < rare).sample(frac=1, random_state=seed))


@pytest.mark.filterwarnings("ignore:.*alone tells:mbndt.errors.DataWarning")
@pytest.mark.parametrize(("rows", "rare"), [(20_000, 20), (1_000, 10)])
def test_a_rare_class_is_found_without_its_every_row_as_a_leaf(rows, rare):
    scores = []
    for seed in range(3):
        rules = learn(rare_rows(rows, rare, seed), "y", QUICK).rules
        table = rare_rows(4_000, 2_000, 100 + seed)
        got = np.array(predict(rules, table).prediction)
        scores.append(balanced_accuracy(np.array(table.column("y")), got))
        for leaf in rules.leaves:
            assert leaf.counts[leaf.class_index] >= min(3, rare // 5)
    assert np.mean(scores) > 0.9


@pytest.mark.parametrize("preset_name", ["default", "fast"])
@pytest.mark.parametrize(
    "columns",
    [
        {"c": ["a", "b"] * 4},
        {"x": [np.inf, -np.inf] * 20},
        {"x": [np.inf, 1.0, 2.0, np.inf] * 10},
        {"c": [f"only {i}" for i in range(40)]},
        {"x": [None, 1.0] * 20},
    ],
    ids=["rare categories", "infinities", "an infinity and numbers", "distinct", "gaps"],
)
def test_a_lone_strange_column_is_learned_from(columns, preset_name):
    (values,) = columns.values()
    labels = [str(value) in ("a", "inf", "None", "only 1") for value in values]
    table = Table.of({**columns, "y": labels})
    rules = learn(table, "y", preset(preset_name, restarts=0)).rules
    got = np.array(predict(rules, table).prediction)
    assert np.mean(got == labels) == 1 or "only 1" in values


def test_no_leaf_has_fewer_rows_than_asked_for():
    table = mixed_table(600, seed=3)
    settings = preset("default", restarts=0, penalty=0.0, smoothing=0.0)
    assert settings.fewest(600) == 3
    assert min(leaf.size for leaf in learn(table, "y", settings).rules.leaves) >= 3


def test_growing_subtrees_anew_never_costs_more(monkeypatch):
    table = mixed_table(500, seed=6)
    rows, _ = prepare(table, "y", QUICK)
    outcome = rows.indicators()
    axes = fit_axes(rows.features, rows.typed, outcome, rows.weights)
    sizes = tuple(axis.size for axis in axes)
    bins = bins_of(axes, rows.typed, rows.n_rows)
    problem = Problem(bins, sizes, rows.goal(outcome), 2.0, 4, 4)
    won = 0
    for seed in range(4):
        some = np.random.default_rng(seed).choice(len(sizes), 2, replace=False)
        poor = grow_among(
            problem, problem.index, 4, least_impurity, np.sort(some), np.random.default_rng(0)
        )
        before = problem.objective(poor, problem.index)
        after = problem.objective(regrow(problem, poor, problem.index, 4, seed), problem.index)
        assert after <= before + 1e-9
        won += after < before - 1
        # What is grown anew is taken only where it costs less.
        monkeypatch.setattr(growing, "grow_among", lambda *_: 0)
        monkeypatch.setattr(growing, "improve", lambda _, tree, *__: tree)
        kept = regrow(problem, poor, problem.index, 4, seed)
        assert problem.objective(kept, problem.index) == pytest.approx(before)
        monkeypatch.undo()
    assert won


def test_the_forests_view_is_of_rows_it_has_not_seen():
    draw = np.random.default_rng(0)
    bins = draw.integers(0, 50, (4, 400)).astype(np.uint8)
    labels = np.eye(2)[draw.integers(0, 2, 400)]
    view = forest_view(bins, labels, np.ones(400), 0)
    # Of labels that are pure chance nothing can be told, so the view agrees with half of them.
    assert abs(np.mean(view.argmax(1) == labels.argmax(1)) - 0.5) < 0.1
    assert np.allclose(view.sum(1), 1)
    values = bins[0][:, None] / 50 + draw.normal(size=(400, 1)) / 10
    told = forest_view(bins, values, np.ones(400), 0)
    assert np.corrcoef(told[:, 0], values[:, 0])[0, 1] > 0.8
    assert forest_view(bins[:, :5], labels[:5], np.ones(5), 0) is None


def test_a_rows_own_class_is_never_outvoted():
    draw = np.random.default_rng(0)
    own, view = np.eye(3)[draw.integers(3, size=50)], draw.dirichlet(np.ones(3), 50)
    for share in (0.0, 0.3, 0.6, 1.0):
        found = blended(own, view, share)
        assert np.allclose(found.sum(1), 1)
        assert np.array_equal(found.argmax(1), own.argmax(1))
        assert found.min() >= 0
    values, told = draw.normal(size=(2, 50, 1))
    assert np.allclose(blended(values, told, 0.3), 0.7 * values + 0.3 * told)
    assert np.allclose(blended(values, told, 0.9), (values + told) / 2)


def test_noise_prices_an_interval():
    table = mixed_table(300, seed=1)
    rows, _ = prepare(table, "y", QUICK)
    sure = rows.indicators()
    assert rows.noise(sure) == pytest.approx(0)
    assert rows.noise(np.full_like(sure, 0.5)) == pytest.approx(
        1 - np.mean([1, 1]) + 2 * np.prod(balanced_shares(rows)), abs=0.02
    )
    default = preset("default")
    assert default.price(300, 0.0) < default.price(300, 0.3) < default.price(300, 0.5)
    assert preset("default", compact=True).price(300, 0.3) == 3 * default.price(300, 0.3)
    assert preset("default", penalty=7.0).price(300, 0.3, 250.0) == 7.0
    # A row of a light class weighs as many others, so an interval must gain as many.
    assert default.price(300, 0.3, 4.0) == 4 * default.price(300, 0.3)
    assert rows.imbalance() == pytest.approx(
        rows.n_rows / 4 * sum(1 / n for n in np.bincount(rows.codes))
    )
    assert default.smooths(300)
    assert not default.smooths(10**6)


def balanced_shares(rows):
    weights = rows.class_weights()
    return weights / weights.sum()


def test_a_parity_of_bands_is_found_at_depth_two():
    draw = np.random.default_rng(0)
    x = draw.random((2500, 2))
    y = (np.floor(5 * x[:, 0]).astype(int) % 2) ^ (x[:, 1] > 0.4) ^ (draw.random(2500) < 0.05)
    table = Table.of({"x1": x[:, 0], "x2": x[:, 1], "y": y})
    train, test = table.take(np.arange(2000)), table.take(np.arange(2000, 2500))
    rules = learn(train, "y", preset("default", depth=2, branching=5, restarts=0)).rules
    assert np.mean(np.array(predict(rules, test).prediction) == y[2000:]) >= 0.93


def test_rows_that_dont_fit_the_rules_are_refused():
    X, y = load_wine(return_X_y=True, as_frame=True)
    rules = Rules.from_sklearn(DecisionTreeClassifier(max_depth=2).fit(X, y))
    with pytest.raises(DataError, match="no column"):
        rules.refine(X.drop(columns="alcohol"), y)
    with pytest.raises(DataError, match="expected one of the classes 0, 1, 2"):
        rules.refine(X, y + 1)
    with pytest.raises(DataError, match="177 values, expected 178"):
        rules.refine(X, y[:-1])
    with pytest.raises(DataError, match="no rows"):
        rules.refine(X[:0], y[:0])
    with pytest.raises(OptionError, match=r"^penalty: got -1\.0"):
        rules.refine(X, y, penalty=-1.0)
