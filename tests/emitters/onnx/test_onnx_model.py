"""The shape of ONNX models, and what no model can hold."""

import json
import subprocess
import sys

import onnx
import onnxruntime
import pytest
from onnx_models import (
    COLUMNS,
    COLUMNS_FLOAT,
    MATRIX,
    MATRIX_FLOAT,
    agrees,
    leaves,
    model_of,
    past_float,
    session_of,
    split_of,
    with_root,
)
from strategies import chain, many_intervals, regression

from mbndt.conformance.boundary import boundary_rows
from mbndt.conformance.verify import check
from mbndt.emitters import emit, emitter
from mbndt.emitters.onnx.emit import Onnx
from mbndt.errors import EngineMissing, OptionError, TargetError
from mbndt.rules import (
    Feature,
    FeatureType,
    Interval,
    Leaf,
    NumericSplit,
)


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


def test_a_lacking_engine_is_named_with_the_way_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(EngineMissing, match="pip install onnxruntime"):
        Onnx().engine()
    monkeypatch.undo()
    assert Onnx().engine() == f"onnxruntime {onnxruntime.__version__}"


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
