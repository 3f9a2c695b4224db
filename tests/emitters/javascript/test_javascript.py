"""The JavaScript module, run in Node: typed as the interpreter is, and safe within a page."""

import json
import shutil
import subprocess

import pytest
from hypothesis import given, settings
from strategies import HOSTILE_TEXTS, chain, regression, rule_trees, single_leaf

from mbndt.emitters import emit
from mbndt.interpreter import leaf_of
from mbndt.rules import (
    Feature,
    FeatureType,
    Interval,
    Leaf,
    NumericSplit,
    Rules,
    Target,
    TargetType,
)

needs_node = pytest.mark.skipif(
    shutil.which("node") is None, reason="no node on PATH: install Node.js 16.9 or later"
)

ASK = """
import * as rules from "./rules.mjs";
const answer = (row) => {
  try {
    return rules.leaf(row);
  } catch (error) {
    return [error.name, error.feature, error.message];
  }
};
const show = (_, value) => (typeof value === "bigint" ? `${value}n` : value);
console.log(JSON.stringify(%s, show));
"""


def node(rules, expression, folder):
    """Return what an expression gives that sees the module as `rules`, and `answer(row)`."""
    (folder / "rules.mjs").write_text(emit(rules, "javascript").text, "ascii")
    (folder / "ask.mjs").write_text(ASK % expression)
    done = subprocess.run(
        ["node", "ask.mjs"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def one_split(kind, name="x", cut=0.5, classes=("no", "yes")):
    leaves = (Leaf(0, (1.0, 0.0)), Leaf(1, (0.0, 1.0)), Leaf(2, (0.5, 0.5)))
    split = NumericSplit(name, (Interval(cut, 0), Interval(None, 1)), 2, leaves)
    target = TargetType.INTEGER if isinstance(classes[0], int) else TargetType.STRING
    return Rules("one split", Target("y", target, classes), (Feature(name, kind),), split)


@needs_node
def test_it_names_features_and_classes_and_answers(example, tmp_path):
    row = '{"respiratory rate": 30, AVPU: "pain"}'
    found = node(
        example,
        f"[rules.FEATURES, rules.CLASSES, rules.predict({row}), rules.predictProba({row})]",
        tmp_path,
    )
    assert found == [
        ["respiratory rate", "lactate", "on oxygen", "AVPU"],
        ["home", "ward", "intensive care"],
        "intensive care",
        [0, 0, 1],
    ]


@needs_node
def test_a_regression_gives_its_number(tmp_path):
    found = node(
        regression(),
        '[rules.predict({x: 0.2, n: null}), "predictProba" in rules, "CLASSES" in rules]',
        tmp_path,
    )
    assert found == [2.0, False, False]


@needs_node
@pytest.mark.parametrize("value", ["null", "undefined", "NaN"])
@pytest.mark.parametrize("kind", ["float64", "float32", "integer"])
def test_each_form_of_a_missing_value_is_missing(kind, value, tmp_path):
    assert node(one_split(FeatureType(kind)), f"answer({{x: {value}}})", tmp_path) == 2


@needs_node
def test_values_of_the_wrong_type_are_errors_that_name_the_feature(tmp_path):
    wrong = {
        "float64": ['"1"', "true", "[]", "{}", "Symbol()"],
        "float32": ['"1"', "false", "new Date()"],
        "integer": ["0.5", '"1"', "true", "2n ** 63n", "-(2n ** 63n) - 1n", "Infinity", "1e300"],
    }
    for kind, values in wrong.items():
        rows = ", ".join(f"answer({{x: {value}}})" for value in values)
        for value, found in zip(
            values, node(one_split(FeatureType(kind)), f"[{rows}]", tmp_path), strict=True
        ):
            assert found[:2] == ["ValueError", "x"], (kind, value, found)


@needs_node
def test_whole_numbers_are_exact_as_numbers_and_as_bigints(tmp_path):
    rules = one_split(FeatureType.INTEGER, cut=2**53 + 1)
    rows = "[2n ** 53n, 2n ** 53n + 1n, 2 ** 53, 2 ** 53 + 2, 5, -(2n ** 63n), 3.0]"
    asked = f"{rows}.map((x) => answer({{x}}))"
    assert node(rules, asked, tmp_path) == [0, 1, 0, 1, 0, 0, 0]


@needs_node
def test_float32_features_round_ties_to_even(tmp_path):
    rules = one_split(FeatureType.FLOAT32, cut=1 + 2**-22)
    rows = [1 + 2**-23 + 2**-24, 1 + 2**-23 + 2**-24 - 2**-52, 1 + 2**-22, 1e300, -1e300]
    expected = [leaf_of(rules, {"x": x}) for x in rows]
    assert expected == [1, 0, 1, 1, 0]
    asked = f"{json.dumps(rows)}.map((x) => answer({{x}}))"
    assert node(rules, asked, tmp_path) == expected


@needs_node
@pytest.mark.parametrize("name", ["__proto__", "constructor", "toString", "hasOwnProperty"])
def test_what_every_object_inherits_is_no_value(name, tmp_path):
    rules = one_split(FeatureType.FLOAT64, name)
    rows = f"""[answer({{}}), answer(JSON.parse('{{"{name}": 1}}'))]"""
    lacking, given = node(rules, rows, tmp_path)
    assert lacking[:2] == ["ValueError", name]
    assert "no such property" in lacking[2]
    assert given == 1


@needs_node
def test_large_labels_are_all_bigints(tmp_path):
    rules = one_split(FeatureType.FLOAT64, classes=(1, 2**60 + 1))
    asked = "[rules.predict({x: 0}), rules.predict({x: 1}), typeof rules.CLASSES[0]]"
    assert node(rules, asked, tmp_path) == ["1n", f"{2**60 + 1}n", "bigint"]


@settings(max_examples=60)
@given(rule_trees(hostile=True, depth=3))
def test_no_text_can_end_a_script_element_a_comment_or_a_line(rules):
    text = emit(rules, "javascript").text
    assert text.isascii()
    assert "<" not in text.replace(" < ", "").replace(" <= ", "")
    assert all(line.isprintable() for line in text.split("\n"))


def test_hostile_texts_hold_what_ends_a_script_element():
    assert any("</script" in text.lower() for text in HOSTILE_TEXTS)


@needs_node
@pytest.mark.parametrize("rules", [single_leaf(), chain(500)], ids=["leaf", "deep"])
def test_the_smallest_and_the_deepest_tree_load(rules, tmp_path):
    assert isinstance(node(rules, "rules.FEATURES", tmp_path), list)
