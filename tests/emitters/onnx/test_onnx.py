"""The ONNX model: it answers as the interpreter, on whatever its inputs can hold, in every batch
size; it is valid, minimal and the same each time; and it refuses what it can't hold."""

import math
from collections import Counter

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from onnx.reference import ReferenceEvaluator
from onnx_models import (
    COLUMNS,
    COLUMNS_FLOAT,
    MATRIX,
    MATRIX_FLOAT,
    agrees,
    can_stop,
    leaves,
    model_of,
    past_float,
    session_of,
    split_of,
    with_root,
)
from strategies import chain, many_intervals, regression, rule_trees

from mbndt.conformance.boundary import boundary_rows
from mbndt.emitters import emitter
from mbndt.emitters.onnx.emit import Onnx
from mbndt.emitters.onnx.run import inputs_of
from mbndt.errors import DataError, TargetError
from mbndt.interpreter import leaf_of, predict
from mbndt.rules import (
    INT64_MAX,
    INT64_MIN,
    Feature,
    FeatureType,
    Group,
    Interval,
    Leaf,
    NumericSplit,
    Rules,
    SetSplit,
    Target,
    TargetType,
)
from mbndt.tables.csv_files import parse_csv
from mbndt.tables.table import Table

EVERY = [COLUMNS, COLUMNS_FLOAT, MATRIX, MATRIX_FLOAT]


NUMERIC = (FeatureType.FLOAT64, FeatureType.FLOAT32, FeatureType.INTEGER, FeatureType.BOOLEAN)


@pytest.mark.parametrize("options", EVERY, ids=str)
@settings(max_examples=25)
@given(rules=rule_trees(kinds=NUMERIC))
def test_numeric_rules_answer_as_the_interpreter(options, rules):
    agrees(rules, options)


@pytest.mark.parametrize("options", [COLUMNS, COLUMNS_FLOAT], ids=str)
@settings(max_examples=25)
@given(rules=rule_trees())
def test_rules_of_every_kind_answer_as_the_interpreter(options, rules):
    agrees(rules, options)


@settings(max_examples=25)
@given(rules=rule_trees(depth=3, hostile=True))
def test_hostile_names_and_texts_pass_through(rules):
    agrees(rules, {"prefix": "\N{SNOWMAN}; "})


@pytest.mark.parametrize("options", EVERY, ids=str)
@pytest.mark.parametrize(
    "rules", [chain(50), chain(400), many_intervals(), regression()], ids=lambda r: r.name
)
def test_deep_and_wide_rules_answer_as_the_interpreter(rules, options):
    agrees(rules, options, rows=2000)


@settings(max_examples=25)
@given(rules=rule_trees(depth=3, hostile=True).filter(can_stop))
def test_models_pass_the_full_check_and_no_name_is_made_twice(rules):
    model = model_of(rules, prefix="out ")
    onnx.checker.check_model(model, full_check=True)
    made = [name for node in model.graph.node for name in node.output]
    made += [tensor.name for tensor in model.graph.initializer]
    made += [entry.name for entry in model.graph.input]
    assert max(Counter(made).values()) == 1


@settings(max_examples=20)
@given(rules=rule_trees(depth=3))
def test_a_second_engine_gives_the_same_answers(rules):
    # The reference evaluator of onnx itself, which has no trees of doubles.
    tool = Onnx(number="float", prefix="out ")
    table = boundary_rows(rules, 40)
    try:
        content = tool.emit(rules).content
    except TargetError:
        return
    found = ReferenceEvaluator(onnx.load_from_string(content)).run(
        ["out leaf"], inputs_of(tool.form, rules, table)
    )
    assert found[0].tolist() == tool.expected(rules, table).leaf.tolist()


@pytest.mark.parametrize("options", EVERY, ids=str)
@pytest.mark.parametrize("rows", [0, 1, 5])
def test_a_single_leaf_answers_every_row(rows, options):
    features = [Feature("x", FeatureType.FLOAT64), Feature("n", FeatureType.INTEGER)]
    if options.get("inputs") != "matrix":
        features.insert(0, Feature("c", FeatureType.CATEGORY, ("a",)))
    rules = with_root(Leaf(0, (0.25, 0.75)), *features)
    tool = emitter("onnx", **options)
    found = tool.run(tool.emit(rules), Table({}, rows))
    assert found.leaf.tolist() == [0] * rows
    assert found.prediction == ["yes"] * rows
    assert found.probabilities.tolist() == [[0.25, 0.75]] * rows


@pytest.mark.parametrize(
    ("kind", "classes", "dtype"),
    [
        (TargetType.STRING, ("", "😀\n\"'"), np.object_),
        (TargetType.INTEGER, (INT64_MIN, INT64_MAX), np.int64),
        (TargetType.BOOLEAN, (True, False), np.bool_),
    ],
)
def test_labels_keep_their_type(kind, classes, dtype):
    classes = tuple(label or "no" for label in classes) if kind == "string" else classes
    node = NumericSplit(
        "x", (Interval(0.0, 0), Interval(None, 1)), 1, (Leaf(0, (0.5, 0.5)), Leaf(1, (0.0, 1.0)))
    )
    rules = with_root(node, Feature("x", FeatureType.FLOAT64), target=Target("y", kind, classes))
    session = session_of(rules)
    assert [entry.name for entry in session.get_outputs()] == ["label", "probabilities", "leaf"]
    label, probabilities, leaf = session.run(None, {"x": np.array([[-1.0], [1.0]])})
    assert (label.dtype, label.tolist()) == (dtype, list(classes))
    assert (probabilities.dtype, leaf.dtype) == (np.float64, np.int64)
    empty = session.run(None, {"x": np.empty((0, 1))})
    assert [array.shape for array in empty] == [(0,), (0, 2), (0,)]
    tool = Onnx()
    found = tool.run(tool.emit(rules), Table.of({"x": [-1.0, 1.0]}))
    assert [type(each) for each in found.prediction] == [type(each) for each in classes]


def test_a_regression_gives_value_and_leaf():
    session = session_of(past_float())
    assert [entry.name for entry in session.get_outputs()] == ["value", "leaf"]
    value, leaf = session.run(None, {"x": np.array([[-1.0], [0.0]])})
    assert (value.tolist(), leaf.tolist()) == ([0.1, -1e300], [0, 1])
    assert value.dtype == np.float64


def test_run_takes_texts_of_a_csv_and_unused_columns_may_be_lacking(example):
    table = parse_csv("AVPU,lactate,respiratory rate\nNA,,8\nalert,2.5,22\n,inf,\n")
    features = (
        *example.features,
        Feature("unused", FeatureType.CATEGORY, ("a",)),
        Feature("other", FeatureType.INTEGER),
    )
    root = NumericSplit(
        "lactate",
        (Interval(2.15, 0), Interval(None, 1)),
        1,
        (Leaf(0, (1.0, 0.0, 0.0)), Leaf(1, (0.0, 1.0, 0.0))),
    )
    rules = Rules("x", example.target, features, root)
    for options in (COLUMNS, COLUMNS_FLOAT):
        tool = emitter("onnx", **options)
        assert tool.run(tool.emit(rules), table).leaf.tolist() == [1, 1, 1]
        rows = [
            dict(zip(table.columns, row, strict=True))
            for row in zip(*table.columns.values(), strict=True)
        ]
        assert len(rows) == 3
        used = table.without(["AVPU", "respiratory rate"])
        assert tool.run(tool.emit(rules), used).leaf.tolist() == predict(rules, table).leaf.tolist()
    with pytest.raises(DataError, match="no column 'lactate'"):
        tool.run(tool.emit(rules), table.without(["lactate"]))


def test_run_gives_the_same_rows_in_order_whatever_the_batches():
    rules = split_of(FeatureType.FLOAT64, [float(i) for i in range(50)])
    tool = Onnx()
    for rows in (0, 1, 2, 4, 5, 64, 65, 1064, 1065, 3000):
        values = np.arange(rows) * 7 % 53 - 1.5
        found = tool.run(tool.emit(rules), Table({"x": values}, rows))
        assert found.leaf.tolist() == [min(max(math.floor(x) + 1, 0), 50) for x in values]


def test_run_leaves_the_rounding_of_float32_features_to_the_model():
    rules = split_of(FeatureType.FLOAT32, [0.5])
    feeds = inputs_of(Onnx().form, rules, Table.of({"x": [0.1, 1e300]}))
    assert feeds["x"].tolist() == [[0.1], [1e300]]


def test_texts_that_are_not_unicode_are_unseen():
    node = SetSplit("c", (Group(("a", "?", "\ufffd"), 0),), 0, leaves(2), 1)
    rules = with_root(node, Feature("c", FeatureType.CATEGORY, ("a", "?", "\ufffd")))
    tool = Onnx()
    table = Table.of({"c": ["a", "\udc80", "?"]})
    assert tool.run(tool.emit(rules), table).leaf.tolist() == [0, 1, 0]


def test_what_is_expected_of_float_inputs_is_the_answer_to_the_rounded_row():
    rules = split_of(FeatureType.FLOAT64, [0.1, 16777217.0], missing=1)
    values = [0.1, 0.09999999999, 16777217.0, 16777216.9, 1e39, None]
    rounded = [float(np.float32(x)) if x is not None and x < 1e38 else x for x in values]
    rounded[4] = math.inf
    found = Onnx(number="float").expected(rules, Table.of({"x": values}))
    assert found.leaf.tolist() == [leaf_of(rules, {"x": x}) for x in rounded]
    assert found.leaf.tolist() != predict(rules, Table.of({"x": values})).leaf.tolist()
    third = float(np.float32(1 / 3))
    assert found.probabilities[found.leaf == 1][0][0] == third
