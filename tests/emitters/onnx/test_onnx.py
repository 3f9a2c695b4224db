"""The ONNX model: it answers as the interpreter, on whatever its inputs can hold, in every batch
size; it is valid, minimal and the same each time; and it refuses what it can't hold."""

import json
import math
import subprocess
import sys
from collections import Counter

import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import given, settings
from onnx.reference import ReferenceEvaluator
from strategies import chain, many_intervals, regression, rule_trees

from mbndt.conformance.verify import boundary_rows, check
from mbndt.emitters import emit, emitter
from mbndt.emitters.onnx.emit import Onnx
from mbndt.errors import DataError, EngineMissing, OptionError, TargetError
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

LABELS = Target("y", TargetType.STRING, ("no", "yes"))
COLUMNS, COLUMNS_FLOAT = {}, {"number": "float"}
MATRIX, MATRIX_FLOAT = {"inputs": "matrix"}, {"inputs": "matrix", "number": "float"}
EVERY = [COLUMNS, COLUMNS_FLOAT, MATRIX, MATRIX_FLOAT]
NUMERIC = (FeatureType.FLOAT64, FeatureType.FLOAT32, FeatureType.INTEGER, FeatureType.BOOLEAN)


def leaves(count: int) -> tuple[Leaf, ...]:
    return tuple(Leaf(i, (i / count, 1 - i / count)) for i in range(count))


def split_of(kind: FeatureType, cuts: list, missing: int = 0, ends: list | None = None) -> Rules:
    """Rules of one numeric split: interval i goes to leaf i, or to `ends[i]`."""
    ends = ends or list(range(len(cuts) + 1))
    parts = tuple(Interval(*each) for each in zip([*cuts, None], ends, strict=True))
    node = NumericSplit("x", parts, missing, leaves(max([*ends, missing]) + 1))
    return Rules("one split", LABELS, (Feature("x", kind),), node)


def with_root(root, *features: Feature, target: Target = LABELS) -> Rules:
    return Rules("by hand", target, features, root)


def past_float() -> Rules:
    """A regression with a value that no float holds."""
    node = NumericSplit(
        "x", (Interval(0.0, 0), Interval(None, 1)), 1, (Leaf(0, 0.1), Leaf(1, -1e300))
    )
    target = Target("y", TargetType.FLOAT64)
    return with_root(node, Feature("x", FeatureType.FLOAT64), target=target)


def model_of(rules: Rules, **options) -> onnx.ModelProto:
    return onnx.load_from_string(emit(rules, "onnx", **options).content)


def session_of(rules: Rules, **options) -> onnxruntime.InferenceSession:
    quiet = onnxruntime.SessionOptions()
    quiet.add_session_config_entry("session.intra_op.allow_spinning", "0")
    content = emit(rules, "onnx", **options).content
    return onnxruntime.InferenceSession(content, quiet, ["CPUExecutionProvider"])


def leaf_by(rules: Rules, values, dtype, name: str = "x", **options) -> list[int]:
    """Leaf ids of one hand-made column, the way around `Onnx.run`."""
    column = np.array(values, dtype).reshape(-1, 1)
    (leaf,) = session_of(rules, **options).run(["leaf"], {name: column})
    return leaf.tolist()


def tree_attributes(model: onnx.ModelProto) -> list[dict]:
    """The attributes of each tree operator, the routers' first, the main tree's last."""
    return [
        {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}
        for node in model.graph.node
        if node.op_type == "TreeEnsembleRegressor"
    ]


def neighbours(x: float) -> list[float]:
    return [math.nextafter(x, -math.inf), x, math.nextafter(x, math.inf)]


def agrees(rules: Rules, options: dict, rows: int = 300) -> None:
    found = check(rules, "onnx", options, [boundary_rows(rules, rows)])
    assert found.outcome in ("agrees", "refused"), found
    assert found.mismatches == 0, found


# Whole rules.


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
@given(rules=rule_trees(depth=3, hostile=True))
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
        ["out leaf"], tool._feeds(rules, table)
    )
    assert found[0].tolist() == tool.expected(rules, table).leaf.tolist()


# The shape of a model.


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


def test_inputs_stand_in_the_features_order_with_their_types(example):
    found = [(entry.name, entry.type, entry.shape) for entry in session_of(example).get_inputs()]
    assert found == [
        ("respiratory rate", "tensor(int64)", ["N", 1]),
        ("lactate", "tensor(double)", ["N", 1]),
        ("on oxygen", "tensor(int64)", ["N", 1]),
        ("AVPU", "tensor(string)", ["N", 1]),
    ]
    (entry,) = session_of(regression(), inputs="matrix").get_inputs()
    assert (entry.name, entry.type, entry.shape) == ("X", "tensor(double)", ["N", 2])
    assert session_of(example, number="float").get_inputs()[1].type == "tensor(float)"


@pytest.mark.parametrize(
    ("rules", "options", "opset", "trees"),
    [
        (chain(8), COLUMNS, 9, 3),
        (chain(8), COLUMNS_FLOAT, 9, 2),
        (many_intervals(), COLUMNS, 7, 3),
        (many_intervals(), COLUMNS_FLOAT, 7, 1),
        (split_of(FeatureType.INTEGER, [3]), MATRIX_FLOAT, 7, 1),
        (split_of(FeatureType.INTEGER, [3]), COLUMNS_FLOAT, 9, 1),
    ],
)
def test_versions_are_the_lowest_that_carry_the_operators(rules, options, opset, trees):
    model = model_of(rules, **options)
    onnx.checker.check_model(model, full_check=True)
    versions = {entry.domain: entry.version for entry in model.opset_import}
    assert versions == {"": opset, "ai.onnx.ml": trees}
    for entry in model.opset_import:
        # 7 is what runtimes promise to take; no operator set comes before 1.
        if (entry.domain, entry.version) not in (("", 7), ("ai.onnx.ml", 1)):
            lower = onnx.ModelProto.FromString(model.SerializeToString())
            next(e for e in lower.opset_import if e.domain == entry.domain).version -= 1
            with pytest.raises(onnx.checker.ValidationError):
                onnx.checker.check_model(lower, full_check=True)
    model.ir_version -= 1
    with pytest.raises(onnx.checker.ValidationError):
        onnx.checker.check_model(model, full_check=True)


def test_the_same_rules_give_the_same_bytes_in_every_process(example):
    code = (
        "import sys, hashlib; from mbndt.rules import Rules; "
        "rules = Rules.from_json(sys.stdin.read()); "
        "print(hashlib.sha256(rules.compile('onnx')).hexdigest())"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            input=example.to_json(),
            text=True,
            check=True,
            capture_output=True,
            env={"PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1


def test_the_model_says_where_it_comes_from(example):
    model = model_of(example)
    entries = {entry.key: entry.value for entry in model.metadata_props}
    assert entries["name"] == "early warning"
    assert entries["fingerprint"] == example.fingerprint
    assert json.loads(entries["classes"]) == ["home", "ward", "intensive care"]
    assert json.loads(entries["units"]) == {"respiratory rate": "breaths/min", "lactate": "mmol/L"}
    assert [each["name"] for each in json.loads(entries["features"])] == list(example.feature)
    assert json.loads(entries["provenance"]) == dict(example.provenance)
    assert model.producer_name == "mbndt"
    assert example.fingerprint in model.doc_string
    assert [entry.doc_string for entry in model.graph.input] == [
        "breaths/min, integer, missing: -9223372036854775808",
        "Serum lactate, mmol/L, float64, missing: NaN",
        "boolean, missing: -1",
        "category, missing: the empty text",
    ]


def test_importing_the_target_loads_neither_onnx_nor_numpy_nor_the_engine():
    code = (
        "import sys, mbndt.emitters.onnx.emit; "
        "sys.exit(bool({'numpy', 'onnx', 'onnxruntime'} & set(sys.modules)))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_to_compile_loads_neither_tables_nor_the_engine(example):
    code = (
        "import sys; from mbndt.rules import Rules; "
        "Rules.from_json(sys.stdin.read()).compile('onnx'); "
        "sys.exit(bool({'mbndt.tables.table', 'onnxruntime'} & set(sys.modules)))"
    )
    subprocess.run([sys.executable, "-c", code], input=example.to_json(), text=True, check=True)


# Running.


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
    feeds = Onnx()._feeds(rules, Table.of({"x": [0.1, 1e300]}))
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


def test_a_lacking_engine_is_named_with_the_way_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(EngineMissing, match="pip install onnxruntime"):
        Onnx().engine()
    monkeypatch.undo()
    assert Onnx().engine() == f"onnxruntime {onnxruntime.__version__}"


# Refusals.


def test_a_name_that_an_output_has_is_refused_until_the_outputs_are_renamed():
    for name in ("label", "probabilities", "leaf"):
        node = NumericSplit(name, (Interval(0.0, 0), Interval(None, 1)), 1, leaves(2))
        rules = with_root(node, Feature(name, FeatureType.FLOAT64))
        with pytest.raises(TargetError, match=f"'{name}' is a feature and an output; `prefix`"):
            emit(rules, "onnx")
        for options in ({"prefix": "out_"}, MATRIX):
            found = check(rules, "onnx", options, [boundary_rows(rules, 50)])
            assert (found.note, found.mismatches) == ("", 0)
        clash = with_root(node, *rules.features, Feature(f"p{name}", FeatureType.BOOLEAN))
        with pytest.raises(TargetError, match=f"'p{name}' is a feature and an output"):
            emit(clash, "onnx", prefix="p")
    node = NumericSplit("value", (Interval(0.0, 0), Interval(None, 1)), 1, leaves(2))
    agrees(with_root(node, Feature("value", FeatureType.FLOAT64)), COLUMNS)


def test_made_up_names_give_way_to_features():
    made = [node.name for node in model_of(chain(8)).graph.node]
    made += [tensor.name for tensor in model_of(chain(8)).graph.initializer]
    names = [name for name in made if name not in ("label", "probabilities", "leaf")]
    features = tuple(Feature(name, FeatureType.INTEGER) for name in ["X", *names])
    node = NumericSplit(names[0], (Interval(0, 0), Interval(None, 1)), 1, leaves(2))
    rules = with_root(node, *features)
    onnx.checker.check_model(model_of(rules), full_check=True)
    agrees(rules, COLUMNS)


def test_rules_without_features_are_refused():
    with pytest.raises(TargetError, match="no features"):
        emit(with_root(Leaf(0, (1.0, 0.0))), "onnx")


def test_a_matrix_refuses_categories_and_names_the_first(example):
    with pytest.raises(TargetError, match="'AVPU' is a category"):
        emit(example, "onnx", inputs="matrix")
    assert check(example, "onnx", MATRIX, []).outcome == "refused"


def test_a_value_past_float_is_refused():
    with pytest.raises(TargetError, match=r"leaf 1 has the value -1e\+300"):
        emit(past_float(), "onnx", number="float")


def test_wrong_options_are_named():
    with pytest.raises(OptionError, match="inputs: got 'colums'; did you mean 'columns'"):
        emitter("onnx", inputs="colums")
    with pytest.raises(OptionError, match="number"):
        emitter("onnx", number="int8")
    with pytest.raises(OptionError, match="prefix"):
        emitter("onnx", prefix="\udc80")
