"""What all targets share: the registry, identifiers, machine thresholds, ranges and arms."""

import keyword
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import float_thresholds, integer_thresholds, rule_trees, texts

from mbndt.conformance.boundary import special_values
from mbndt.emitters import emit, emitter
from mbndt.emitters.base import C_KEYWORDS, identifier
from mbndt.emitters.nested import pieces
from mbndt.errors import OptionError
from mbndt.rules import Feature, FeatureType, NumericSplit, walk
from mbndt.rules.cuts import arms, double_cut, ranges
from mbndt.rules.values import branch_of, float32_above, read_value

X = Feature("x", FeatureType.FLOAT64)
SINGLE = Feature("x", FeatureType.FLOAT32)
WHOLE = Feature("n", FeatureType.INTEGER)


def test_an_unknown_target_or_option_names_the_nearest(example):
    with pytest.raises(OptionError, match="target: got 'pyhton'; did you mean 'python'"):
        emit(example, "pyhton")
    with pytest.raises(OptionError, match="dialekt: not an option of target 'sql'"):
        emit(example, "sql", dialekt="duckdb")
    with pytest.raises(OptionError, match="takes no options"):
        emitter("python", dialect="duckdb")


@given(texts(hostile=True))
def test_identifiers_are_legal_everywhere(name):
    word = identifier(name)
    assert word.isidentifier()
    assert word.isascii()
    assert word == word.lower()
    assert not word.startswith("_")
    assert not keyword.iskeyword(word)
    assert word not in C_KEYWORDS


@pytest.mark.parametrize(
    "name, word",
    [
        ("early warning", "early_warning"),
        ("Größe (cm)", "groe_cm_"),
        ("", "m_"),
        ("日本", "m_"),
        ("9 lives", "m_9_lives"),
        ("_x", "m__x"),
        ("while", "m_while"),
        ("None", "none"),
        ("a--b__c", "a_b_c"),
        ("ﬁne", "fine"),
        ("lambda", "m_lambda"),
        ("NULL", "null"),
    ],
)
def test_known_identifiers(name, word):
    assert identifier(name) == word


@given(float_thresholds, st.floats(allow_nan=False), st.integers(-3, 3))
def test_a_float32_feature_is_compared_before_rounding(t, x, steps):
    cut = double_cut(SINGLE, t)
    for value in (x, np.nextafter(cut, math.inf * steps) if steps else cut, t, float32_above(t)):
        with np.errstate(over="ignore"):
            rounded = float(np.float32(value))
        assert (value < cut) == (rounded < t)


@given(float_thresholds)
def test_float32_above_is_the_least_float32_from_the_threshold(t):
    above = float32_above(t)
    with np.errstate(over="ignore", under="ignore"):
        assert float(np.float32(above)) == above
        assert above >= t
        assert float(np.nextafter(np.float32(above), np.float32(-np.inf))) < t


@given(integer_thresholds, st.integers(-(2**63), 2**63 - 1))
def test_whole_numbers_are_compared_with_whole_cuts(t, x):
    cut = double_cut(WHOLE, t)
    assert isinstance(cut, int) or math.isinf(cut)
    near = [] if math.isinf(cut) else [cut - 1, cut, cut + 1]
    for value in [x, *near]:
        if -(2**63) <= value < 2**63:
            assert (value < cut) == (value < t)


@given(rule_trees(hostile=True))
def test_ranges_and_arms_send_values_where_the_interpreter_does(rules):
    for split in rules.splits:
        feature = rules.feature[split.feature]
        parts = split.intervals if isinstance(split, NumericSplit) else ()
        cuts = {part.below for part in parts if part.below is not None}
        for raw in special_values(feature, cuts):
            value = read_value(feature.type, raw)
            child = split.children[branch_of(split, value)]
            # A float32 cut is made for the double before rounding.
            x = raw if feature.type == FeatureType.FLOAT32 and value is not None else value
            assert taken(arms(rules, split), x) is child
            if isinstance(split, NumericSplit) and x is not None:
                hit = [p for p in ranges(rules, split) if within(p, x)]
                assert [split.children[p.to] for p in hit] == [child]


def within(part, x):
    return (part.low is None or part.low <= x) and (part.high is None or x < part.high)


def taken(listed, x):
    for arm in listed:
        inside = x is not None and (any(within(p, x) for p in arm.ranges) or x in arm.values)
        if arm.rest or inside or (arm.missing and x is None):
            return arm.child
    raise AssertionError("no arm took the value")


def test_neighbouring_ranges_with_one_child_are_merged(example):
    found = ranges(example, example.root)
    assert [(p.low, p.high, p.to) for p in found] == [
        (None, 9, 2),
        (9, 21, 0),
        (21, 25, 1),
        (25, None, 2),
    ]
    assert len({part.to for part in found}) == 3


@given(rule_trees(depth=5), st.integers(1, 3))
def test_pieces_are_the_splits_at_multiples_of_the_depth(rules, depth):
    found = [id(node) for node in pieces(rules.root, depth).values()]
    expected = [
        id(node)
        for path, _, node in walk(rules.root)
        if path == "root" or (path.count("children") % depth == 0 and node in rules.splits)
    ]
    assert found == expected
