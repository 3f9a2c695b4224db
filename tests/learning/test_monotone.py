"""Rules learned to rise or fall with a feature do so at every pair of rows that differ in it."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from drawn_tables import mixed_table
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import rule_trees

from mbndt import MBNDTClassifier, MBNDTRegressor
from mbndt.conformance.boundary import boundary_rows
from mbndt.errors import OptionError
from mbndt.interpreter import leaf_ids
from mbndt.learning.aim import Aim
from mbndt.learning.isotonic import isotonic
from mbndt.learning.joining import joined
from mbndt.learning.pipeline import learn, prepare
from mbndt.learning.refine.ordering import corners
from mbndt.learning.refine.refine import refine_rules
from mbndt.learning.settings import preset
from mbndt.rules import Rules
from mbndt.rules.monotone import not_monotone, promised, zigzags
from mbndt.tables.table import Table

FAST = preset("fast", restarts=0, greedy=2)
PAPER = preset("paper", restarts=1, first_epochs=8, epochs=10)


def wavy(rows=400, seed=0, classes=True, gaps=0.1):
    """Return a table whose target goes up and down with x, by group, and up with z."""
    draw = np.random.default_rng(seed)
    x, z = draw.random(rows).round(2), draw.integers(0, 9, rows)
    group = draw.choice(["a", "b"], rows)
    height = np.sin(9 * x) + z / 6 + np.where(group == "a", x, -x) + draw.normal(0, 0.3, rows)
    y = np.where(height > np.quantile(height, 0.6), "ill", "well") if classes else height
    x = np.where(draw.random(rows) < gaps, np.nan, x)
    return Table.of({"x": x, "z": z, "group": group, "y": y})


def answers(rules: Rules, table: Table) -> np.ndarray:
    """Return numbers of each row's answer that rise with the event, or the value, [n, K]."""
    event, ends = rules.event, rules.leaves
    if event is None:
        told = [[leaf.value] for leaf in ends]
    else:
        label = rules.target.classes[event]
        told = [[leaf.value[event], leaf.risk[event], rules.label(leaf) == label] for leaf in ends]
    return np.array(told, np.float64)[leaf_ids(rules, table)]


def goes_wrong(rules: Rules, name: str, sign: str, rows: int = 60) -> bool:
    """Tell whether some boundary row's answer goes the wrong way as a feature alone rises."""
    table = boundary_rows(rules, rows)
    cells = [table.column(feature.name) for feature in rules.used]
    columns = {f.name: list(c) for f, c in zip(rules.used, cells, strict=True)}
    if name not in columns:
        return False
    thresholds = rules.thresholds(rules.feature[name])
    values = sorted({v for t in thresholds for v in (t - 1e-9, t, t + 1)})
    if rules.feature[name].type == "integer":
        values = sorted({v for t in thresholds for v in (t - 1, t, t + 1)})
    found = []
    for value in values:
        size = len(columns[name])
        found.append(answers(rules, Table.of({**columns, name: [value] * size})))
    steps = np.diff(np.array(found), axis=0) * (1 if sign == "+" else -1)
    return bool((steps < 0).any())


CASES = [
    (True, FAST, {}),
    (True, FAST, {"act_at": 0.2}),
    (True, FAST, {"cost": {"missed": 3}, "event": "ill"}),
    (True, FAST, {"prevalence": 0.05}),
    (False, FAST, {}),
    (True, PAPER, {}),
    (False, PAPER, {}),
    (True, replace(PAPER, refine=True), {}),
    (True, replace(FAST, smoothing=0.0), {}),
]


@pytest.mark.parametrize("classes, chosen, aim", CASES)
@pytest.mark.parametrize("signs", [{"x": "+", "z": "+"}, {"x": "-"}])
def test_learned_rules_keep_the_order_everywhere(classes, chosen, aim, signs):
    sizes = []
    for seed in range(2):
        table = wavy(300, seed, classes)
        # Without a forest the refits' view of the rows makes the risks anew.
        refits = 0 if chosen.smoothing else 2
        model = learn(table, "y", chosen, aim=Aim(monotone=signs, **aim), refits=refits)
        assert model.rules.provenance["monotone"] == signs == promised(model.rules)
        sizes.append(len(model.rules.leaves))
        for name, sign in signs.items():
            assert not zigzags(model.rules, name, sign)
            assert not goes_wrong(model.rules, name, sign)
    assert max(sizes) > 1


def test_without_being_asked_the_same_rules_zigzag():
    found = [learn(wavy(400, seed), "y", FAST).rules for seed in range(3)]
    assert all("x" in not_monotone(rules) for rules in found)
    assert all(goes_wrong(rules, "x", "+") and goes_wrong(rules, "x", "-") for rules in found)
    assert all("monotone" not in rules.provenance for rules in found)


def test_where_the_truth_is_ordered_nothing_is_lost():
    draw = np.random.default_rng(2)
    x, z = draw.random(900), draw.random(900)
    level = np.digitize(x, [0.3, 0.7]) + (z > 0.5)
    for y in (np.where(level + draw.normal(0, 0.7, 900) > 1.5, "yes", "no"), level / 2 + 0.25):
        table = Table.of({"x": x, "z": z, "y": y})
        free = learn(table, "y", FAST).rules
        kept = learn(table, "y", FAST, aim=Aim(monotone={"x": "+", "z": "+"})).rules
        if free.event is None:
            wrong = [np.mean(np.abs(rules.predict(table).prediction - y)) for rules in (free, kept)]
            assert max(wrong) < 0.01
            continue
        right = [np.mean(rules.predict(table).prediction == y) for rules in (free, kept)]
        assert right[1] > right[0] - 0.01


def test_refined_rules_keep_what_was_promised():
    table = wavy(400, 1)
    rules = learn(table, "y", FAST, aim=Aim(monotone={"x": "+"})).rules
    again = refine_rules(rules, wavy(400, 7), "y", preset("default")).rules
    assert promised(again) == {"x": "+"}
    assert not goes_wrong(again, "x", "+")
    assert again.target.event == rules.target.event


def test_weights_are_repeats_with_an_order_too():
    table, draw = mixed_table(200), np.random.default_rng(0)
    weights = draw.integers(1, 3, 200)
    index = np.repeat(np.arange(200), weights)
    aim = Aim(monotone={"x": "+", "n": "-"})
    once = learn(table, "y", FAST, weights=weights.astype(float), aim=aim).rules
    assert not any(zigzags(once, name, sign) for name, sign in aim.monotone.items())
    many = learn(table.take(index), "y", FAST, aim=aim).rules
    assert [leaf.value for leaf in once.leaves] == [leaf.value for leaf in many.leaves]


@pytest.mark.parametrize(
    "signs, message",
    [
        ({"X": "+"}, "monotone: no feature 'X'; did you mean 'x'"),
        ({"group": "+"}, "monotone: 'group' is of type category, expected a numeric feature"),
        ({"y": "+"}, "monotone: no feature 'y'; expected one of 'x', 'z'"),
        ({"x": "up"}, "monotone: x: got 'up', expected . or -"),
        ("x", "monotone: got 'x', expected"),
    ],
)
def test_what_has_no_order_is_refused_by_name(signs, message):
    with pytest.raises(OptionError, match=message):
        prepare(wavy(80), "y", FAST, aim=Aim(monotone=signs))


def test_three_classes_have_no_order():
    table = Table.of({"x": [*range(60)], "y": ["a", "b", "c"] * 20})
    with pytest.raises(OptionError, match="monotone: 'y' has 3 classes, expected two, or a number"):
        prepare(table, "y", FAST, aim=Aim(monotone={"x": "+"}))


def test_the_estimators_take_an_order():
    table = wavy(300, gaps=0.0)
    X = np.column_stack([table.column("x"), table.column("z")])
    for make, y in (
        (MBNDTClassifier, np.asarray(table.column("y")) == "ill"),
        (MBNDTRegressor, wavy(300, classes=False).column("y")),
    ):
        name = make(preset="fast", restarts=0).fit(X, y)._columns[0]
        model = make(preset="fast", restarts=0, monotone={name: "+"}).fit(X, y)
        assert promised(model.rules_) == {name: "+"}


# The parts


def least_squares(values, weights, pairs):
    """Return the isotonic values by their formula: the least mean below the greatest above."""
    every = range(len(values))
    subsets = [set(s) for r in range(len(values) + 1) for s in itertools.combinations(every, r)]
    upper = [s for s in subsets if all(a not in s or b in s for a, b in pairs)]
    lower = [set(every) - s for s in upper]

    def mean(of):
        return np.average(values[[*of]], weights=weights[[*of]])

    return [
        max(min(mean(u & low) for low in lower if i in low) for u in upper if i in u) for i in every
    ]


@given(
    st.lists(st.tuples(st.floats(-9, 9), st.floats(0.1, 9)), min_size=1, max_size=5),
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=7),
)
@settings(deadline=None)
def test_pooled_values_are_the_nearest_ordered_ones(items, pairs):
    values, weights = np.array(items).T
    pairs = [(a, b) for a, b in pairs if max(a, b) < len(values)]
    found = isotonic(values, weights, pairs)
    assert all(found[a] <= found[b] for a, b in pairs)
    assert found == pytest.approx(least_squares(values, weights, pairs), abs=1e-6)


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 5)), min_size=1, max_size=12))
def test_corners_are_the_ends_of_pooled_runs(items):
    from sklearn.isotonic import IsotonicRegression

    values, weights = np.array(items).T
    if not weights.any():
        return
    gain, weight = (np.append(0, np.cumsum(part)) for part in (values * weights, weights))
    ends = corners(gain, weight, 1)
    means = np.diff(gain[ends]) / np.diff(weight[ends])
    assert np.all(np.diff(means) > 0)
    there = weights > 0
    fit = IsotonicRegression().fit(np.arange(there.sum()), values[there], weights[there])
    fitted = fit.predict(np.arange(there.sum()))
    run = np.searchsorted(ends, np.flatnonzero(there), side="right") - 1
    assert means[run] == pytest.approx(fitted, abs=1e-9)


@given(rule_trees())
@settings(deadline=None)
def test_joined_leaves_answer_as_before(rules):
    # Of many leaves with few different answers.
    few = rules.with_leaves(
        lambda leaf: leaf if leaf.stops else replace(leaf, value=rules.leaves[leaf.leaf % 2].value)
    )
    few = few if not any(leaf.value is None for leaf in few.leaves) else rules
    fewer = joined(few, _Nothing())
    assert len(fewer.leaves) <= len(few.leaves)
    rows = boundary_rows(few, 50)
    old, new = ([r.leaves[i].value for i in leaf_ids(r, rows).tolist()] for r in (few, fewer))
    assert old == new


class _Nothing:
    """Rows of classes, of which `joined` needs none."""

    codes = ()
