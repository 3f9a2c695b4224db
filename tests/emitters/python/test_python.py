"""The Python module: standard library only, readable, and as strict as the interpreter."""

import ast
import subprocess
import sys
from collections import ChainMap, Counter, OrderedDict, defaultdict
from decimal import Decimal
from types import MappingProxyType

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import chain, regression, rule_trees, single_leaf

from mbndt.cli.report import predictions_csv
from mbndt.emitters import emit
from mbndt.errors import DataError
from mbndt.interpreter import leaf_ids, leaf_of, predict
from mbndt.rules import Feature, FeatureType, Group, Interval, Leaf, NumericSplit, Rules, SetSplit
from mbndt.tables.csv_files import parse_csv


def module(rules: Rules) -> dict:
    space: dict = {"__name__": "compiled"}
    exec(compile(emit(rules, "python").text, "compiled.py", "exec"), space)
    return space


def test_it_imports_the_standard_library_only(example):
    tree = ast.parse(emit(example, "python").text, feature_version=(3, 9))
    names = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    assert names <= sys.stdlib_module_names
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]


def test_it_names_features_and_classes(example):
    space = module(example)
    assert space["FEATURES"] == ["respiratory rate", "lactate", "on oxygen", "AVPU"]
    assert space["CLASSES"] == ["home", "ward", "intensive care"]
    row = {"respiratory rate": 30, "AVPU": "pain"}
    assert space["predict"](row) == "intensive care"
    assert space["predict_proba"](row) == [0.0, 0.0, 1.0]
    assert space["leaf"](row) == 5


def test_a_regression_gives_its_number():
    space = module(regression())
    assert space["predict"]({"x": 0.2, "n": None}) == 2.0
    assert "predict_proba" not in space
    assert "CLASSES" not in space


anything = st.one_of(
    st.none(),
    st.floats(),
    st.integers(-(2**64), 2**64),
    st.booleans(),
    st.text(max_size=3),
    st.sampled_from(
        [
            "a",
            "b",
            "é",
            "1",
            np.float32(0.1),
            np.int8(1),
            np.bool_(True),
            pd.NA,
            pd.NaT,
            np.float64("nan"),
            np.uint64(2**63 - 1),
            np.timedelta64(1, "s"),
            b"a",
            1j,
            [1],
        ]
    ),
)


def one_feature(kind: str) -> Rules:
    """Return rules that ask about one feature of a type."""
    base = chain(1)
    feature = Feature("v", FeatureType(kind), ("a", "b", "é") if kind == "category" else ())
    leaves = base.root.children
    root = NumericSplit("v", (Interval(1, 0), Interval(None, 1)), 1, leaves)
    if kind == "boolean":
        root = SetSplit("v", (Group((False,), 0), Group((True,), 1)), 0, leaves)
    if kind == "category":
        root = SetSplit("v", (Group(("a", "é"), 0),), 0, leaves, 1)
    return Rules("one", base.target, (feature,), root)


@pytest.mark.parametrize("kind", ["float64", "float32", "integer", "boolean", "category"])
def test_it_takes_and_refuses_what_the_interpreter_does(kind):
    rules = one_feature(kind)
    answer = module(rules)["leaf"]

    @given(anything)
    def agree(value):
        try:
            expected = leaf_of(rules, {"v": value})
        except DataError:
            with pytest.raises(ValueError, match="'v'"):
                answer({"v": value})
        else:
            assert answer({"v": value}) == expected

    agree()
    with pytest.raises(ValueError, match="'v'"):
        answer({})


def over(*names: str, cut: float = 1.0) -> Rules:
    """Return a chain that asks once about each of some float features, each leaf an own."""
    base = chain(1)
    node = Leaf(len(names), (0.5, 0.5))
    for i in reversed(range(len(names))):
        parts = (Interval(cut, 0), Interval(None, 1))
        node = NumericSplit(names[i], parts, 1, (Leaf(i, (1.0, 0.0)), node))
    return Rules("over", base.target, tuple(Feature(n, FeatureType.FLOAT64) for n in names), node)


def test_features_whose_names_look_alike_or_are_taken_stay_apart():
    names = (
        "row",
        "type",
        "dict",
        "str",
        "lacking",
        "leaf",
        "float",
        "ValueError",
        "a b",
        "a_b",
        "a-b",
        "a_b_9",
        "é",
        "e",
        "_number",
        "number",
        "日",
        "本",
        "z" * 60,
        "z" * 61,
    )
    answer = module(over(*names))["leaf"]
    high = dict.fromkeys(names, 2.0)
    assert answer(high) == len(names)
    for i, name in enumerate(names):
        assert answer(high | {name: 0.0}) == i
    with pytest.raises(ValueError, match="'lacking': got 'x', expected a number"):
        answer(high | {"lacking": "x"})


@pytest.mark.parametrize(
    "make", [dict, OrderedDict, MappingProxyType, Counter, pd.Series, lambda row: ChainMap({}, row)]
)
def test_any_mapping_is_a_row_and_none_makes_up_a_value(make):
    answer = module(over("a", "b"))["leaf"]
    assert answer(make({"a": 2.0, "b": 0.0})) == 1
    assert answer(make({"a": 0.0})) == 0
    with pytest.raises(ValueError, match="no value for 'b'"):
        answer(make({"a": 2.0}))
    given = defaultdict(float, a=2.0)
    with pytest.raises(ValueError, match="no value for 'b'"):
        answer(given)
    assert "b" not in given


def test_whole_numbers_are_rounded_to_doubles_before_they_are_compared():
    rules = over("a", cut=2.0**53 + 4)
    for value in (2**53 + 2, 2**53 + 3, 2**53 + 4, np.int64(2**53 + 3), Decimal(2**53 + 3)):
        assert module(rules)["leaf"]({"a": value}) == leaf_of(rules, {"a": value})
    assert module(rules)["leaf"]({"a": 2**53 + 3}) == 1


def test_a_list_of_probabilities_is_the_callers_own():
    answer = module(over("a"))["predict_proba"]
    answer({"a": 0.0}).append("spoilt")
    assert answer({"a": 0.0}) == [1.0, 0.0]


def test_a_feature_is_read_once_on_a_path_and_again_where_a_function_begins():
    text = emit(chain(20), "python").text
    ways_in = text.split("def predict(row)")[0].split("def ")[1:]
    assert len(ways_in) == 2
    for function in ways_in:
        assert [function.count(f"row['{name}']") for name in ("x", "n")] == [1, 1]


@pytest.mark.parametrize("kind", ["float64", "float32", "integer"])
@pytest.mark.parametrize("ends", [(0, 1, 2), (1, 0, 2), (2, 1, 0), (0, 1, 0), (1, 0, 1), (0, 0, 0)])
@pytest.mark.parametrize("missing", [0, 1, 2, 3])
def test_missing_and_every_order_of_branches_is_right(kind, ends, missing):
    place = {to: i for i, to in enumerate(dict.fromkeys((*ends, missing)))}
    parts = tuple(Interval(b, place[to]) for b, to in zip((-3, 5, None), ends, strict=True))
    leaves = tuple(Leaf(i, (0.5, 0.5)) for i in range(len(place)))
    root = NumericSplit("v", parts, place[missing], leaves)
    rules = Rules("one", chain(1).target, (Feature("v", FeatureType(kind)),), root)
    answer = module(rules)["leaf"]
    for value in (-4, -3, 4, 5, -9.0, -3.0, 5.0, 1e9, None, np.nan, pd.NA, np.float32("nan")):
        assert answer({"v": value}) == leaf_of(rules, {"v": value})


def script(rules: Rules, text: bytes, tmp_path) -> subprocess.CompletedProcess:
    path = tmp_path / "compiled.py"
    path.write_text(emit(rules, "python").text, encoding="utf-8")
    return subprocess.run([sys.executable, "-I", path], input=text, capture_output=True)


def test_as_a_script_it_reads_what_predict_reads(example, tmp_path):
    text = (
        "\ufeffAVPU,on oxygen,respiratory rate,extra,lactate\r\n"
        '"alert",TRUE,8,"a,\nb",1e0\r\n\r\n,,,,\r\nvoice,0, 8.0 ,,nan\r\n"pain",1,24,,inf\r\n'
    )
    done = script(example, text.encode(), tmp_path)
    assert done.stderr == b""
    table = parse_csv(text.removeprefix("\ufeff"))
    assert done.stdout.decode() == predictions_csv(example, predict(example, table))


@pytest.mark.parametrize(
    "text", ["", "AVPU\n1\n", "AVPU,AVPU\n", "AVPU,respiratory rate\na\n", "respiratory rate\nx\n"]
)
def test_as_a_script_it_refuses_in_one_line(example, tmp_path, text):
    done = script(example, text.encode(), tmp_path)
    assert done.returncode == 1
    assert done.stdout == b""
    assert done.stderr.count(b"\n") == 1
    assert b": error: " in done.stderr


@given(rule_trees(hostile=True))
def test_no_name_breaks_out_of_the_module(rules):
    text = emit(rules, "python").text
    assert text.isascii()
    tree = ast.parse(text, feature_version=(3, 9))
    kinds = (ast.Import, ast.FunctionDef, ast.ClassDef, ast.Assign, ast.If, ast.Expr)
    assert all(isinstance(node, kinds) for node in tree.body)
    calls = {
        n.func.id
        for n in ast.walk(tree)
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)
    }
    assert not calls & {"exec", "eval", "open", "__import__", "compile"}


def test_depth_500_and_no_features_work(example):
    deep = chain(500)
    row = {"x": 1e9, "n": 10**6, "flag": False, "c": "b"}
    assert module(deep)["leaf"](row) == leaf_of(deep, row) == 500
    assert module(single_leaf())["predict"]({}) is False
    assert leaf_ids(single_leaf(), parse_csv("a\n1\n")).tolist() == [0]
