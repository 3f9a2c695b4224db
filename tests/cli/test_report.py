"""What is printed says what the rules say."""

from dataclasses import replace

import pytest
from hypothesis import given
from strategies import many_intervals, rule_trees, single_leaf

from mbndt.cli.report import predictions_csv, print_rules
from mbndt.interpreter import predict
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
from mbndt.rules.words import answers
from mbndt.tables.csv_files import parse_csv


def test_answers_name_every_value_once(example):
    root = [answer.text for answer in answers(example, example.root)]
    assert root == ["below 9, or 25 or more", "9 to 20", "21 to 24, or missing"]
    avpu = [answer.text for answer in answers(example, example.splits[2])]
    assert avpu == ["'alert', or 'voice'", "'pain', or 'unresponsive', or not listed, or missing"]


def test_a_whole_threshold_of_a_float_feature_names_no_whole_numbers():
    leaves = tuple(Leaf(i, (0.5, 0.5)) for i in range(3))
    parts = (Interval(9, 0), Interval(21, 1), Interval(None, 2))
    x = Feature("x", FeatureType.FLOAT64)
    rules = Rules("r", single_leaf().target, (x,), NumericSplit("x", parts, 0, leaves))
    texts = [answer.text for answer in answers(rules, rules.splits[0])]
    assert texts == ["below 9.0, or missing", "9.0 to below 21.0", "21.0 or more"]


@given(rule_trees(hostile=True))
def test_each_child_that_some_value_reaches_has_one_answer(rules):
    for split in rules.splits:
        listed = answers(rules, split)
        assert len({id(answer.child) for answer in listed}) == len(listed)
        assert all(answer.text.isprintable() for answer in listed)


def test_the_outline_shows_every_leaf(example, capsys):
    print_rules(example)
    out = capsys.readouterr().out
    assert all(f"(leaf {leaf.leaf}, n {leaf.size}" in out for leaf in example.leaves)
    assert "below 2.15, or missing: ward 0.500 (leaf 1, n 40, 50% of them)" in out
    for rules in (many_intervals(), single_leaf()):
        print_rules(rules)


@pytest.mark.parametrize(
    "kind, classes, text", [("boolean", (False, True), "true"), ("integer", (7, -3), "-3")]
)
def test_labels_are_written_as_the_contract_says(kind, classes, text):
    rules = single_leaf()
    rules = replace(
        rules,
        root=Leaf(0, (1 / 3, 2 / 3)),
        target=replace(rules.target, type=TargetType(kind), classes=classes),
    )
    out = predictions_csv(rules, predict(rules, parse_csv("a\n1\n")))
    assert out == (
        "prediction,leaf,probability_0,probability_1\n"
        f"{text},0,0.3333333333333333,0.6666666666666666\n"
    )


def test_the_share_of_rows_stands_beside_a_score_that_weighs_them(capsys):
    rules = single_leaf()
    leaf = Leaf(0, (0.25, 0.75), counts=(8, 2))
    print_rules(replace(rules, root=leaf, target=replace(rules.target, classes=(False, True))))
    assert "true 0.750 (leaf 0, n 10, 20% of them)" in capsys.readouterr().out
    value = Rules("r", Target("t", TargetType.FLOAT64), (), Leaf(0, 2.5, n=10))
    print_rules(value)
    assert "2.5 (leaf 0, n 10)" in capsys.readouterr().out
