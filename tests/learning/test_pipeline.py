"""Learning end to end: what is learned, told, refused, and repeated."""

import numpy as np
import pandas as pd
import pytest
from drawn_tables import mixed_table
from sklearn.metrics import balanced_accuracy_score

from mbndt.checkpoint import save
from mbndt.errors import DataError, OptionError
from mbndt.interpreter import predict
from mbndt.learning.holdout import evaluate
from mbndt.learning.network.encoding import typed_columns
from mbndt.learning.network.loop import batch_size
from mbndt.learning.pipeline import learn
from mbndt.learning.settings import preset
from mbndt.learning.training_set import TrainingSet
from mbndt.measures.accuracy import balanced_accuracy, balanced_interval
from mbndt.measures.confidence import wilson
from mbndt.measures.explanation import path_lengths
from mbndt.rules import Leaf
from mbndt.tables.schema import Schema
from mbndt.tables.table import Table
from mbndt.tables.target import infer_target

FAST = preset("fast")


def test_a_signal_is_learned_and_the_held_out_figures_are_true():
    table = mixed_table(800, seed=5)
    model = learn(table, "y", FAST, holdout=0.25)
    assert model.evidence["kind"] == "held out"
    assert model.evidence["rows"] == 200
    value, low, high = model.evidence["performance"]["balanced_accuracy"]
    assert value > 0.7
    assert low < value < high
    assert sum(sum(leaf.counts) for leaf in model.rules.leaves) == 600


def test_evaluate_agrees_with_scikit_learn():
    table = mixed_table(300, seed=1)
    rules = learn(table, "y", FAST).rules
    outcome = infer_target(table, "y", Schema())
    typed = typed_columns(table, rules.features)
    found = evaluate(rules, TrainingSet(rules.features, typed, outcome, np.ones(300)))
    labels = predict(rules, table).prediction
    assert found["balanced_accuracy"] == pytest.approx(
        balanced_accuracy_score(list(table.column("y")), labels)
    )
    assert found["mean_path"] <= 4
    assert found["leaves"] == len(rules.leaves)


def test_the_same_seed_gives_the_same_model_byte_for_byte(tmp_path):
    for name in ("a.pt", "b.pt"):
        save(learn(mixed_table(200), "y", FAST, holdout=0.2), tmp_path / name)
    assert (tmp_path / "a.pt").read_bytes() == (tmp_path / "b.pt").read_bytes()
    other = learn(mixed_table(200), "y", preset("fast", seed=1), holdout=0.2)
    save(other, tmp_path / "c.pt")
    assert (tmp_path / "a.pt").read_bytes() != (tmp_path / "c.pt").read_bytes()


def test_thresholds_are_short_decimals():
    rules = learn(mixed_table(400), "y", FAST).rules
    cuts = [
        part.below
        for split in rules.splits
        for part in getattr(split, "intervals", ())
        if part.below is not None and split.feature == "x"
    ]
    assert cuts
    # The values have one decimal, so two always fit into a gap.
    assert all(round(cut, 2) == cut for cut in cuts)


def test_nothing_to_learn_from_gives_a_single_leaf():
    rules = learn(Table.of({"x": [1.0] * 4, "y": ["a", "a", "a", "b"]}), "y", FAST).rules
    assert rules.leaves[0].value == (0.75, 0.25)


@pytest.mark.parametrize("values", [["a", "b"], ["a", "b", "b"], [0, 1] * 3])
def test_few_rows_are_enough(values):
    table = Table.of({"x": np.arange(float(len(values))), "y": values})
    assert sum(sum(leaf.counts) for leaf in learn(table, "y", FAST).rules.leaves) == len(values)


@pytest.mark.parametrize(
    "column",
    [
        [1e308, -1e308, 1e300, 0.0] * 5,
        [np.inf, -np.inf, 0.0, 1.0] * 5,
        [None] * 20,
        [f"only {i}" for i in range(20)],
        [None, 1.0] * 10,
        [5e-324, 0.0] * 10,
    ],
    ids=["huge", "infinite", "missing", "distinct", "half missing", "tiny"],
)
def test_strange_columns_give_a_tree(column):
    table = Table.of({"x": column, "z": np.arange(20.0), "y": [0, 1] * 10})
    rules = learn(table, "y", FAST).rules
    assert predict(rules, table).leaf.shape == (20,)


@pytest.mark.parametrize(
    "columns, message",
    [
        ({"x": [1, 2, 3], "y": ["a", "a", "a"]}, "constant"),
        ({"x": [1, 2, 3], "y": [0.5, 0.5, 0.5]}, "'y' is constant, expected different"),
        ({"x": [1], "y": ["a"]}, "at least 2"),
        ({"x": [], "y": []}, "0 rows"),
        ({"x": [1, 2, 3], "y": ["a", None, "b"]}, "missing in row 2; `drop_missing_target`"),
        ({"x": [1, "a", 2], "y": ["a", "b", "a"]}, "column 'x', row 1"),
    ],
)
def test_a_table_that_cant_be_learned_from_is_refused(columns, message):
    with pytest.raises(DataError, match=message):
        learn(Table.of(columns), "y", FAST)


def test_a_wrong_value_is_named_by_its_row_in_the_file():
    columns = {"x": [1.0] * 89 + ["n/a"], "y": [None, None, *["a", "b"] * 44]}
    schema = Schema.of({"features": [{"name": "x", "type": "float64"}]}, "s")
    with pytest.raises(DataError, match="column 'x', row 90: got 'n/a'"):
        learn(Table.of(columns), "y", FAST, schema=schema, holdout=0.3, drop_missing_target=True)


def test_rows_without_a_target_are_dropped_on_request():
    table = Table.of({"x": [1.0, 2.0, 3.0, 4.0], "y": ["a", None, "b", "b"]})
    rules = learn(table, "y", FAST, drop_missing_target=True).rules
    assert sum(sum(leaf.counts) for leaf in rules.leaves) == 3


@pytest.mark.parametrize(
    "option, value",
    [
        ("depth", 0),
        ("depth", 5),
        ("branching", 1),
        ("restarts", 0),
        ("refine", 1),
        ("penalty", -1.0),
        ("smoothing", 2),
        ("class_weight", "even"),
        ("leaf_budget", 0.5),
        ("device", "tpu"),
        ("seed", -1),
    ],
)
def test_a_wrong_setting_names_its_option(option, value):
    with pytest.raises(OptionError, match=option):
        preset("paper", **{option: value})
    with pytest.raises(OptionError, match="did you mean 'paper'"):
        preset("papers")
    with pytest.raises(OptionError, match="'deepness'"):
        preset("paper", deepness=3)


@pytest.mark.parametrize(
    "rows, size", [(5, 5), (99, 16), (491, 40), (3458, 256), (12172, 512), (200000, 1024)]
)
def test_batch_sizes_are_those_of_the_reference_runs(rows, size):
    assert batch_size(rows) == size


def test_wilson_is_the_published_example():
    # Newcombe 1998, table I: 81 of 263.
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert wilson(0, 10)[0] == pytest.approx(0.0)


def test_the_balanced_interval_covers_as_often_as_it_says():
    draw = np.random.default_rng(0)
    expected = np.repeat([0, 1], [80, 40])
    chance = np.where(expected == 0, 0.9, 0.7)
    covered = 0
    for _ in range(1000):
        got = np.where(draw.random(120) < chance, expected, 1 - expected)
        low, high = balanced_interval(expected, got)
        covered += low <= 0.8 <= high
        assert low <= balanced_accuracy(expected, got) <= high
    assert 930 <= covered <= 985


def test_path_lengths_skip_splits_with_one_child(example):
    assert path_lengths(example).tolist() == [1, 2, 2, 3, 3, 2]


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_with_all_defaults_whole_weights_are_repeats_to_the_last_bit(task):
    draw = np.random.default_rng(3)
    frame = pd.DataFrame({"a": draw.normal(size=250), "b": draw.normal(size=250).round(1)})
    noisy = frame.a + frame.b + draw.normal(size=250)
    outcome = noisy > 0 if task == "classification" else noisy
    weights = draw.integers(0, 5, 250)
    settings = preset("default", seed=1)
    given = {"task": task, "weights": weights.astype(float)}
    one = learn(Table.of(frame.assign(y=outcome)), "y", settings, **given)
    index = np.repeat(np.arange(250), weights)
    two = learn(Table.of(frame.assign(y=outcome).iloc[index]), "y", settings, task=task)

    def bare(rules):
        return rules.with_leaves(lambda leaf: Leaf(leaf.leaf, leaf.value)).root

    assert bare(one.rules) == bare(two.rules)
    assert len(one.rules.leaves) > 1
    # Leaves record rows of the table, weighted or not.
    assert sum(leaf.size for leaf in one.rules.leaves) == np.count_nonzero(weights)
