"""Rules are valid by construction, and say where they are not."""

from dataclasses import replace

import pytest
from strategies import chain

from mbndt.errors import RulesError
from mbndt.rules import (
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
    walk,
)

YES_NO = Target("y", TargetType.STRING, ("no", "yes"))
X = Feature("x", FeatureType.FLOAT64)
N = Feature("n", FeatureType.INTEGER)
FLAG = Feature("flag", FeatureType.BOOLEAN)
COLOUR = Feature("colour", FeatureType.CATEGORY, ("red", "blue"))
FEATURES = (X, N, FLAG, COLOUR)
LEAVES = (Leaf(0, (1.0, 0.0)), Leaf(1, (0.0, 1.0)))


def rules(root, target=YES_NO, features=FEATURES, name="r"):
    return Rules(name, target, features, root)


def numeric(*intervals, feature="x", missing=0, children=LEAVES):
    return NumericSplit(feature, tuple(Interval(*part) for part in intervals), missing, children)


def groups(*listed, feature="colour", missing=0, unseen=0, children=LEAVES):
    return SetSplit(feature, tuple(Group(*part) for part in listed), missing, children, unseen)


BROKEN = {
    "thresholds fall": (numeric((2.0, 0), (1.0, 1), (None, 0)), r"root\.intervals\[1\]\.below"),
    "threshold stands twice": (numeric((1.0, 0), (1.0, 1), (None, 0)), r"intervals\[1\]"),
    "threshold is infinite": (numeric((float("inf"), 0), (None, 1)), r"intervals\[0\]"),
    "threshold is NaN": (numeric((float("nan"), 0), (None, 1)), r"intervals\[0\]"),
    "last interval ends": (numeric((1.0, 0), (2.0, 1)), r"intervals\[1\]\.below"),
    "an inner interval is open": (numeric((None, 0), (None, 1)), r"intervals\[0\]\.below"),
    "no intervals": (numeric(), r"root\.intervals"),
    "no double holds a threshold": (numeric((2**53 + 1, 0), (None, 1)), r"no double holds"),
    "unknown feature": (numeric((1.0, 0), (None, 1), feature="z"), r"root\.feature"),
    "intervals on a set": (numeric((1.0, 0), (None, 1), feature="flag"), r"root\.intervals"),
    "groups on a number": (groups((("red",), 0), feature="x"), r"root\.groups"),
    "no child": (numeric((1.0, 0), (None, 2)), "child 2"),
    "negative child": (numeric((1.0, 0), (None, -1)), "child -1"),
    "unreached child": (numeric((1.0, 0), (None, 0)), r"root\.children\[1\]"),
    "unlisted category": (groups((("green",), 1)), r"root\.groups\[0\]\.in\[0\]"),
    "category in two groups": (groups((("red",), 1), (("red",), 0)), r"groups\[1\]\.in\[0\]"),
    "empty group": (groups(((), 1)), r"groups\[0\]\.in"),
    "no groups": (groups(), r"root\.groups"),
    "category without unseen": (groups((("red",), 1), unseen=None), r"root\.unseen"),
    "boolean with unseen": (groups(((False,), 0), ((True,), 1), feature="flag"), r"root\.unseen"),
    "boolean half covered": (groups(((False,), 1), feature="flag", unseen=None), r"root\.groups"),
    "text in a boolean group": (groups((("red",), 1), feature="flag", unseen=None), r"groups\[0\]"),
    "leaf ids out of order": (
        numeric((1.0, 0), (None, 1), children=LEAVES[::-1]),
        r"root\.children\[0\]\.leaf",
    ),
    "too few probabilities": (Leaf(0, (1.0,)), r"root\.value"),
    "a number for probabilities": (Leaf(0, 1.0), r"root\.value"),
    "probabilities off 1": (Leaf(0, (0.5, 0.6)), r"root\.value"),
    "probability below 0": (Leaf(0, (-0.5, 1.5)), r"root\.value\[0\]"),
    "probability NaN": (Leaf(0, (float("nan"), 1.0)), r"root\.value\[0\]"),
    "counts of another length": (Leaf(0, (0.5, 0.5), counts=(1,)), r"root\.counts"),
    "n in a classification": (Leaf(0, (0.5, 0.5), n=3), r"root\.n"),
}


@pytest.mark.parametrize("root, where", BROKEN.values(), ids=BROKEN)
def test_a_broken_node_is_refused_with_its_path(root, where):
    with pytest.raises(RulesError, match=where):
        rules(root)


@pytest.mark.parametrize(
    "change, where",
    [
        ({"name": ""}, "name"),
        ({"name": "a\0b"}, "name"),
        ({"name": "\ud800"}, "name"),
        ({"features": (X, X, N, FLAG, COLOUR)}, r"features\[1\]"),
        ({"features": (X, replace(N, name="y"))}, "target's name"),
        ({"features": (replace(X, categories=("a",)),)}, "categories"),
        ({"features": (replace(COLOUR, categories=("", "a")),)}, r"categories\[0\]"),
        ({"features": (replace(COLOUR, categories=("a", "a")),)}, "duplicate category 'a'"),
        ({"target": replace(YES_NO, classes=("no", "no"))}, "duplicate class 'no'"),
        ({"target": replace(YES_NO, classes=("no", 1))}, r"classes\[1\]"),
        ({"target": replace(YES_NO, classes=(0, 1), type=TargetType.BOOLEAN)}, r"classes\[0\]"),
        ({"target": replace(YES_NO, classes=(False, True), type=TargetType.INTEGER)}, "classes"),
        ({"target": replace(YES_NO, classes=(0, 2**63), type=TargetType.INTEGER)}, "64-bit"),
        ({"target": replace(YES_NO, type=TargetType.FLOAT64)}, r"target\.type"),
        ({"target": replace(YES_NO, classes=())}, r"target\.type"),
    ],
)
def test_a_broken_head_is_refused(change, where):
    with pytest.raises(RulesError, match=where):
        replace(rules(Leaf(0, (0.5, 0.5))), **change)


def test_a_regression_refuses_what_is_for_classes():
    number = Target("y", TargetType.FLOAT64)
    for leaf in (Leaf(0, (1.0,)), Leaf(0, float("inf")), Leaf(0, 1.0, counts=(1,))):
        with pytest.raises(RulesError, match="root"):
            rules(leaf, target=number)


def test_ties_go_to_the_lowest_class():
    assert Leaf(0, (0.25, 0.375, 0.375)).class_index == 1


def test_depth_500_is_taken_and_501_refused():
    assert chain(500).depth == 500
    with pytest.raises(RulesError, match="500"):
        chain(501)


def test_walk_goes_depth_first_from_left_to_right(example):
    ids = [node.leaf for _, _, node in walk(example.root) if isinstance(node, Leaf)]
    assert ids == sorted(ids)
    paths = [path for path, _, _ in walk(example.root)]
    assert paths[:4] == [
        "root",
        "root.children[0]",
        "root.children[1]",
        "root.children[1].children[0]",
    ]


def test_the_fingerprint_follows_the_meaning_not_the_layout(example):
    assert Rules.from_json(example.to_json(indent=None)).fingerprint == example.fingerprint
    assert replace(example, name="other").fingerprint != example.fingerprint


def test_a_leaf_holds_no_negative_zero():
    assert repr(Leaf(0, (-0.0, 1.0)).value) == "(0.0, 1.0)"
    assert repr(Leaf(0, -0.0).value) == "0.0"
