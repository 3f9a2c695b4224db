"""Risks of leaves, their intervals, and how a stated prevalence or cost changes them."""

from dataclasses import replace

import numpy as np
import pytest
from drawn_tables import mixed_table
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta

from mbndt.errors import OptionError
from mbndt.interpreter import leaf_ids
from mbndt.learning.aim import Aim, scores
from mbndt.learning.pipeline import learn
from mbndt.learning.risk import ROW_WORTH, at_prevalence, intervals
from mbndt.learning.settings import preset
from mbndt.rules import Target, TargetType
from mbndt.tables.table import Table

FAST = preset("fast", restarts=0)
SICK = Target("y", TargetType.STRING, ("ill", "well"))
THREE = Target("y", TargetType.INTEGER, (1, 2, 3))
positive = st.floats(0.01, 100)


@pytest.fixture(scope="module")
def noisy() -> Table:
    """Return 600 rows of which a quarter is ill, more of them the greater x is."""
    draw = np.random.default_rng(5)
    x = draw.random(600)
    ill = draw.random(600) < np.where(x < 0.3, 0.05, np.where(x < 0.7, 0.2, 0.5))
    return Table.of({"x": x, "z": draw.random(600), "y": np.where(ill, "ill", "well")})


def test_risks_are_near_the_truth_where_scores_are_not(noisy):
    rules = learn(noisy, "y", FAST).rules
    draw = np.random.default_rng(6)
    x = draw.random(50_000)
    truth = np.where(x < 0.3, 0.05, np.where(x < 0.7, 0.2, 0.5))
    leaf = leaf_ids(rules, Table.of({"x": x, "z": draw.random(50_000)}))
    assert len(rules.leaves) > 1
    for end in rules.leaves:
        assert end.risk[0] == pytest.approx(truth[leaf == end.leaf].mean(), abs=0.1)
        assert end.value[0] > end.risk[0] + 0.1  # as if both were equally common
    assert rules.event == 0


def test_an_interval_is_that_of_a_share_of_so_many_rows(noisy):
    rules = learn(noisy, "y", FAST).rules
    rows = np.array([leaf.size for leaf in rules.leaves], np.float64)
    for leaf, found in zip(rules.leaves, intervals(rules, rows), strict=True):
        for p, (low, high) in zip(leaf.risk, found, strict=True):
            n = ROW_WORTH * leaf.size
            expected = beta(n * p + 0.5, n * (1 - p) + 0.5).ppf([0.025, 0.975])
            assert [low, high] == pytest.approx([min(expected[0], p), max(expected[1], p)])


@given(st.lists(positive, min_size=3, max_size=3), st.lists(positive, min_size=3, max_size=3))
def test_a_prevalence_moves_risks_as_bayes_says(before, joint):
    before, joint = np.array(before) / sum(before), np.array(joint) / sum(joint)
    after = np.array([0.2, 0.3, 0.5])
    # P(k | leaf) ~ P(leaf | k) P(k), of which only the last changes.
    likelihood = joint / before
    expected = likelihood * after / (likelihood @ after)
    assert at_prevalence(joint, before, after) == pytest.approx(expected)


def test_a_stated_prevalence_is_what_risks_come_to_in_all(noisy):
    rules = learn(noisy, "y", FAST, aim=Aim("ill", prevalence=0.02)).rules
    plain = learn(noisy, "y", FAST, aim=Aim("ill")).rules
    leaf = leaf_ids(rules, noisy)
    ill = np.array(noisy.column("y")) == "ill"
    weights = np.where(ill, 0.02 / ill.mean(), 0.98 / (1 - ill.mean()))
    risk = np.array([end.risk[0] for end in rules.leaves])[leaf]
    assert np.average(risk, weights=weights) == pytest.approx(0.02, abs=0.004)
    assert [end.value for end in rules.leaves] == [end.value for end in plain.leaves]
    assert rules.provenance["prevalence"] == 0.02


@pytest.mark.parametrize("t", [0.05, 0.1, 0.3, 0.6])
def test_labels_follow_risks_from_the_stated_one_on(noisy, t):
    rules = learn(noisy, "y", FAST, aim=Aim(act_at=t)).rules
    for leaf in rules.leaves:
        assert rules.label(leaf) == ("ill" if leaf.risk[0] >= t else "well")
    by_cost = learn(noisy, "y", FAST, aim=Aim(cost={"missed": 1 - t, "false": t})).rules
    assert by_cost.root == rules.root


@given(st.lists(positive, min_size=9, max_size=9), st.lists(positive, min_size=3, max_size=3))
def test_the_greatest_score_is_the_least_expected_cost(costs, risk):
    matrix = np.array(costs).reshape(3, 3) * (1 - np.eye(3))
    expected = [sum(risk[k] * matrix[k, c] for k in range(3)) for c in range(3)]
    found = scores(np.array(expected))
    assert found.min() >= 0
    assert expected[int(found.argmax())] == pytest.approx(min(expected))
    # What the others weigh is what an answer costs, but for a constant.
    others = found.sum() - found
    assert others - expected == pytest.approx(np.full(3, others[0] - expected[0]))


def test_costs_of_many_classes_are_a_matrix():
    found = Aim(cost={1: {2: 5.0}, "3": {"1": 7}}).costs(THREE, None)
    assert found.tolist() == [[0, 5, 1], [1, 0, 1], [7, 1, 0]]


def test_a_cost_of_three_classes_moves_the_splits_too():
    draw = np.random.default_rng(7)
    x = draw.random(900)
    y = np.clip(np.floor(x * 3 + draw.normal(0, 0.5, 900)), 0, 2).astype(int)
    table = Table.of({"x": x, "y": y})
    for truth, other in ((0, 2), (2, 0)):
        cost = {truth: {label: 20.0 for label in range(3) if label != truth}}
        rules = learn(table, "y", FAST, aim=Aim(cost=cost)).rules
        plain = learn(table, "y", FAST).rules
        told = np.array(rules.predict(table).prediction)
        before = np.array(plain.predict(table).prediction)
        assert (told == truth).sum() > (before == truth).sum()
        assert (told == other).sum() <= (before == other).sum()


@pytest.mark.parametrize(
    ("aim", "target", "message"),
    [
        (Aim("il"), SICK, "event: no class 'il'; did you mean 'ill'"),
        (Aim(act_at=1.0), SICK, "act_at: got 1.0, expected above 0 and below 1"),
        (Aim(act_at=0.1), THREE, "act_at: 3 classes"),
        (Aim(act_at=0.1, cost={"missed": 2}), SICK, "act_at, cost: expected one of them"),
        (Aim(cost={"mised": 2}), SICK, "cost: unknown 'mised'; did you mean 'missed'"),
        (Aim(cost={"missed": -2}), SICK, "cost: missed: got -2, expected a number above 0"),
        (Aim(cost={"ill": {"ill": 1}}), SICK, "cost: ill: ill: right, so it costs 0"),
        (Aim(cost=3), SICK, "cost: got 3"),
        (Aim(prevalence=0), SICK, "prevalence: got 0, expected above 0 and below 1"),
        (Aim(prevalence={"ill": 0.2}), SICK, "expected a share for each class"),
        (Aim(prevalence=0.2), Target("y", TargetType.FLOAT64), "only for classes"),
    ],
)
def test_what_cannot_be_aimed_at_is_refused_by_name(aim, target, message):
    event = 0 if len(target.classes) == 2 else None
    with pytest.raises(OptionError, match=message):
        [aim.target(target), aim.costs(target, event), aim.shares(target, event)]


def test_rules_refined_keep_what_their_answers_are_for():
    table = mixed_table(300, seed=2)
    event = learn(table, "y", FAST).rules.target.classes[0]
    aim = Aim(event, act_at=0.2)
    rules = learn(table, "y", FAST, aim=aim).rules
    features = Table.of({name: table.column(name) for name in table.columns if name != "y"})
    again = rules.refine(features, table.column("y"))
    assert again.target.event == event
    assert Aim.of_rules(again) == aim
    for leaf in again.leaves:
        assert (leaf.class_index == again.event) == (leaf.risk[again.event] >= 0.2)
    assert "evidence" not in again.provenance
    assert replace(again, provenance={}).root == again.root
