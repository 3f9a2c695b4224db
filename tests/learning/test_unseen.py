"""Evidence of rows that learning has not seen, recounted from the rows."""

import numpy as np
import pytest
from drawn_tables import mixed_table
from sklearn.metrics import balanced_accuracy_score, r2_score

from mbndt.errors import DataWarning, OptionError
from mbndt.interpreter import leaf_ids
from mbndt.learning.aim import Aim
from mbndt.learning.fit import fit
from mbndt.learning.holdout import folds, hold_out
from mbndt.learning.pipeline import learn, prepare
from mbndt.learning.settings import preset
from mbndt.learning.training_set import TrainingSet
from mbndt.learning.unseen import REFITS, REFITS_OF_MANY, cross_fitted, refits_of
from mbndt.measures.confidence import wilson
from mbndt.rules import Interval, Leaf, NumericSplit, Rules
from mbndt.tables.table import Table

FAST = preset("fast", restarts=0)
SICK = "ill"


def noisy(rows: int, seed: int) -> Table:
    draw = np.random.default_rng(seed)
    x = draw.random(rows)
    ill = draw.random(rows) < np.where(x < 0.5, 0.1, 0.6)
    return Table.of({"x": x, "z": draw.random(rows), "y": np.where(ill, SICK, "well")})


def test_each_row_is_told_by_rules_that_have_not_seen_it():
    table = noisy(300, seed=1)
    model = learn(table, "y", FAST, refits=4)
    found = model.evidence
    truth = np.array(table.column("y"))
    codes = (truth == "well").astype(int)
    told, risk = np.empty(300, object), np.empty(300)
    alike = 0
    for part, test in folds(codes, 300, 4, FAST.seed):
        assert not set(part.tolist()) & set(test.tolist())
        again = learn(table.take(part), "y", FAST).rules
        answers = again.predict(table.take(test))
        told[test] = answers.prediction
        risk[test] = [again.leaves[i].risk[0] for i in answers.leaf]
        alike += again.root.feature == model.rules.root.feature
    performance = found["performance"]
    table_of = [
        [int(np.sum((truth == t) & (told == a))) for a in (SICK, "well")] for t in (SICK, "well")
    ]
    assert performance["table"] == table_of
    assert performance["event"] == model.rules.event == 0
    assert performance["balanced_accuracy"][0] == balanced_accuracy_score(truth, list(told))
    assert performance["calibration"]["expected"] == pytest.approx(risk.mean())
    levels = [point["act_at"] for point in performance["points"]]
    assert levels == sorted({leaf.risk[0] for leaf in model.rules.leaves})
    for point in performance["points"]:
        acted = risk >= point["act_at"]
        assert point["found"] == np.sum(acted & (truth == SICK))
        assert point["needless"] == np.sum(acted & (truth != SICK))
    question = {"feature": model.rules.root.feature, "refits": 4, "alike": alike}
    assert found["first question"] == question
    assert (found["kind"], found["folds"], found["rows"]) == ("cross-fitted", 4, 300)
    counts = np.array(found["leaves"])
    assert counts.sum(0).tolist() == [np.sum(truth == SICK), np.sum(truth == "well")]
    assert counts.shape == (len(model.rules.leaves), 2)
    assert model.rules.provenance["evidence"] == found


def memorising(rows: TrainingSet) -> Rules:
    """Return rules that tell each row they were made from by its number, and others at random."""
    numbers = rows.typed["row"].values
    order = np.argsort(numbers)
    ends = [*(float(n) + 0.5 for n in numbers[order][:-1]), None]
    parts = tuple(Interval(end, i) for i, end in enumerate(ends))
    leaves = tuple(
        Leaf(i, (1.0, 0.0) if rows.codes[k] == 0 else (0.0, 1.0), risk=(0.5, 0.5))
        for i, k in enumerate(order.tolist())
    )
    return Rules("y", rows.target, rows.features, NumericSplit("row", parts, 0, leaves))


def test_what_is_learned_by_heart_is_found_out():
    draw = np.random.default_rng(3)
    side = np.where(draw.random(400) < 0.5, "a", "b")
    table = Table.of({"row": draw.permutation(400).astype(float), "y": side})
    with pytest.warns(DataWarning):  # each row has its own number
        training, _ = prepare(table, "y", FAST)
    rules = memorising(training)
    found = cross_fitted(rules, training, 5, 0, memorising, lambda done, of: None)
    assert list(rules.predict(table).prediction) == side.tolist()
    value, low, high = found.evidence["performance"]["balanced_accuracy"]
    assert value == pytest.approx(0.5, abs=0.08)
    assert low < value < high


def test_leaves_of_the_same_rows_take_each_others_place():
    table = noisy(200, seed=4)
    training, _ = prepare(table, "y", FAST)
    rules = fit(training, FAST).rules
    found = cross_fitted(rules, training, 5, 0, lambda part: rules, lambda done, of: None)
    own = leaf_ids(rules, table)
    for leaf in rules.leaves:
        rows = np.array(table.column("y"))[own == leaf.leaf]
        assert found.evidence["leaves"][leaf.leaf] == [np.sum(rows == SICK), np.sum(rows == "well")]


def test_held_out_rows_are_counted_by_leaf_and_class():
    table = noisy(400, seed=2)
    found = learn(table, "y", FAST, holdout=0.25)
    training, _ = prepare(table, "y", FAST)
    _, held = hold_out(training, 0.25, FAST.seed)
    leaf = leaf_ids(found.rules, table.take(held))
    truth = np.array(table.column("y"))[held]
    assert found.evidence["kind"] == "held out"
    for end in found.rules.leaves:
        rows = truth[leaf == end.leaf]
        counts = [int(np.sum(rows == SICK)), int(np.sum(rows == "well"))]
        assert found.evidence["leaves"][end.leaf] == counts
        expected = [[*wilson(n, len(rows))] for n in counts] if len(rows) else None
        assert found.evidence["intervals"][end.leaf] == expected


def test_figures_are_at_the_prevalence_of_the_rows_whatever_was_stated():
    table = noisy(300, seed=5)
    plain = learn(table, "y", FAST, refits=3).evidence["performance"]
    stated = learn(table, "y", FAST, refits=3, aim=Aim(SICK, prevalence=0.01))
    found = stated.evidence["performance"]
    assert found["calibration"]["expected"] == pytest.approx(plain["calibration"]["expected"])
    assert found["auc"] == pytest.approx(plain["auc"])
    mean = np.mean([leaf.risk[0] for leaf in stated.rules.leaves])
    assert mean < plain["calibration"]["expected"] / 5


def test_numbers_have_means_of_unseen_rows_by_leaf():
    draw = np.random.default_rng(6)
    x = draw.random(300)
    table = Table.of({"x": x, "y": np.where(x < 0.4, 1.0, 5.0) + draw.normal(0, 1, 300)})
    found = learn(table, "y", FAST, refits=5)
    assert sum(leaf["n"] for leaf in found.evidence["leaves"]) == 300
    for leaf, part, (low, high) in zip(
        found.rules.leaves, found.evidence["leaves"], found.evidence["intervals"], strict=True
    ):
        assert low < part["mean"] < high
        assert leaf.value == pytest.approx(part["mean"], abs=0.5)
    training, _ = prepare(table, "y", FAST)
    told = np.empty(300)
    for part, test in folds(None, 300, 5, FAST.seed):
        again = fit(training.take(part), FAST).rules
        told[test] = again.predict(table.take(test)).prediction
    r2 = found.evidence["performance"]["r2"]
    assert r2 == pytest.approx(r2_score(table.column("y"), told))


def test_a_table_of_one_odd_row_has_no_cross_fit_and_that_is_told():
    table = Table.of({"x": np.arange(40.0), "y": ["a"] * 39 + ["b"]})
    with pytest.warns(DataWarning, match="too few rows of all classes but one"):
        model = learn(table, "y", FAST, refits=5)
    assert model.evidence == {}


def test_many_rows_are_refitted_less_often():
    assert refits_of(10_000) == REFITS == 5
    assert refits_of(10_001) == REFITS_OF_MANY == 2
    with pytest.raises(OptionError, match="refits: got 1, expected 0, or 2 and more"):
        learn(mixed_table(60), "y", FAST, refits=1)
