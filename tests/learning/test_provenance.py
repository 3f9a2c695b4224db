"""What training knows of its rows: counts, ranges and the gaps that thresholds may move in."""

from dataclasses import replace

import pytest
from drawn_tables import mixed_table
from hypothesis import given
from hypothesis import strategies as st
from sheets import two_way

from mbndt.learning.pipeline import learn
from mbndt.learning.provenance import gaps, known_gaps
from mbndt.learning.settings import preset
from mbndt.rules import Feature, FeatureType, Rules

listed = st.lists(st.integers(-30, 30), unique=True).map(sorted)


@given(listed, listed)
def test_a_gap_holds_just_the_thresholds_that_sort_the_values_alike(values, thresholds):
    for threshold, (low, high) in zip(thresholds, gaps(values, thresholds), strict=True):
        below = [value for value in values if value < threshold]
        for other in (x / 2 for x in range(-70, 71)):
            alike = [value for value in values if value < other] == below
            assert alike == ((low is None or low < other) and (high is None or other <= high))


def known(gap: object, cut: float = 2.0) -> object:
    rules = two_way(Feature("x", FeatureType.FLOAT64), cut)
    return known_gaps(replace(rules, provenance={"features": {"x": {"gaps": gap}}}), "x")


def test_gaps_are_known_only_where_they_hold_the_thresholds():
    assert known([[1, 2]]) == [(1, 2)]
    assert known([[None, 2.0]]) == [(None, 2.0)]
    for wrong in (
        [[2, 3]],
        [[1, 1.5]],
        [[1, 2], [2, 3]],
        [],
        [[1]],
        [["a", 3]],
        [[True, 3]],
        None,
        "12",
        [None],
        {"a": 1},
    ):
        assert known(wrong) is None
    rules = two_way(Feature("x", FeatureType.FLOAT64), 2.0)
    for facts in ({}, {"features": 3}, {"features": {"x": [1]}}, {"features": {"y": {}}}):
        assert known_gaps(replace(rules, provenance=facts), "x") is None


@pytest.mark.parametrize("style", ["fast", "paper"])
def test_learned_rules_know_their_rows_ranges_and_gaps(style):
    table = mixed_table(200, 3)
    settings = preset(style)
    model = learn(table, "y", replace(settings, depth=2) if style == "paper" else settings)
    rules = Rules.from_json(model.rules.to_json())
    facts = rules.provenance
    leaves = [leaf.counts for leaf in rules.leaves]
    assert facts["class rows"] == [sum(column) for column in zip(*leaves, strict=True)]
    assert facts["training rows"] == sum(facts["class rows"])
    assert set(facts["features"]) == {feature.name for feature in rules.used}
    numeric = [feature for feature in rules.used if feature.type.numeric]
    assert numeric
    for feature in numeric:
        ends = facts["features"][feature.name]["range"]
        assert ends[0] <= ends[1]
        found = known_gaps(rules, feature.name)
        assert found is not None
        for (low, high), threshold in zip(found, rules.thresholds(feature), strict=True):
            assert low is None or ends[0] <= low < threshold
            assert high is None or threshold <= high <= ends[1]
