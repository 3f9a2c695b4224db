"""What an ONNX model's trees compare: every value on its side of every threshold, with the fewest
comparisons and no node in two places.
"""

import math
from collections import Counter

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx_models import (
    COLUMNS_FLOAT,
    MATRIX,
    MATRIX_FLOAT,
    agrees,
    can_stop,
    leaf_by,
    leaves,
    model_of,
    neighbours,
    session_of,
    split_of,
    tree_attributes,
    with_root,
)
from strategies import chain, finite, integer_thresholds, rule_trees

from mbndt.emitters import emit
from mbndt.emitters.onnx import trees as onnx_trees
from mbndt.emitters.onnx.trees import NUMBERS, Format, Plan
from mbndt.rules import (
    INT64_MAX,
    INT64_MIN,
    Feature,
    FeatureType,
    Group,
    Interval,
    Leaf,
    NumericSplit,
    SetSplit,
)

LARGEST32 = 3.4028234663852886e38

# Floats.


@pytest.mark.parametrize("size", [1, 2, 30, 127, 1000, 4096])
@pytest.mark.parametrize("copies", [1, 200])
def test_doubles_are_compared_as_doubles_in_every_batch_size(size, copies):
    cuts = [
        -1.7976931348623157e308,
        -0.1,
        -5e-324,
        5e-324,
        0.1,
        17.44188601917004,
        1e300,
        1.7976931348623157e308,
    ]
    if copies > 1:
        cuts = [0.1 + i * 2.0**-50 for i in range(copies)]
    rules = split_of(FeatureType.FLOAT64, cuts)
    session = session_of(rules)
    values = [x for cut in cuts for x in neighbours(cut)] + [0.0, -0.0, math.inf, -math.inf]
    values = (values * (1 + size // len(values)))[: max(size, len(values)) // size * size]
    for start in range(0, len(values), size):
        batch = values[start : start + size]
        (leaf,) = session.run(["leaf"], {"x": np.array(batch).reshape(-1, 1)})
        assert leaf.tolist() == [sum(cut <= x for cut in cuts) for x in batch]


@given(cut=finite, value=finite)
def test_a_double_is_below_a_threshold_where_python_says_so(cut, value):
    values = [value, *neighbours(cut)]
    rules = split_of(FeatureType.FLOAT64, [cut])
    assert leaf_by(rules, values, np.float64) == [int(x >= cut) for x in values]


@given(
    cut=finite | st.floats(width=32, allow_nan=False, allow_infinity=False),
    other=st.floats(allow_nan=False),
)
def test_a_float32_feature_given_as_doubles_is_rounded_first(cut, other):
    with np.errstate(over="ignore"):
        near = np.float32(cut)
        steps = [np.nextafter(near, np.float32(side)) for side in (-math.inf, math.inf)]
        middles = [(float(near) + float(step)) / 2 for step in steps]
        values = [other, cut, *map(float, [near, *steps]), *middles]
        values = [x for value in values if not math.isnan(value) for x in neighbours(value)]
        rounded = np.array(values).astype(np.float32).astype(np.float64)
    rules = split_of(FeatureType.FLOAT32, [cut])
    expected = [int(x >= cut) for x in rounded.tolist()]
    assert leaf_by(rules, values, np.float64) == expected


@given(cuts=st.lists(finite, min_size=1, max_size=4, unique=True), value=st.floats(width=32))
def test_float_inputs_are_compared_exactly_with_double_thresholds(cuts, value):
    cuts = sorted(cuts)
    with np.errstate(over="ignore"):
        near = np.array([value, *cuts]).astype(np.float32)
        sides = [np.nextafter(near, np.float32(side)) for side in (-math.inf, math.inf)]
    values = np.concatenate([near, *sides, np.float32([math.inf, -math.inf])])
    values = values[~np.isnan(values)]
    rules = split_of(FeatureType.FLOAT64, cuts)
    expected = [sum(cut <= x for cut in cuts) for x in values.tolist()]
    assert leaf_by(rules, values, np.float32, **COLUMNS_FLOAT) == expected


def test_a_threshold_past_float_still_tells_infinity_from_the_rest():
    rules = split_of(FeatureType.FLOAT64, [-1e300, 1e300], missing=1)
    values = [-math.inf, -LARGEST32, LARGEST32, math.inf, math.nan]
    assert leaf_by(rules, values, np.float32, **COLUMNS_FLOAT) == [0, 1, 1, 2, 1]


def test_an_interval_without_a_float_is_left_out_with_a_note():
    rules = split_of(FeatureType.FLOAT64, [0.1, 0.100000000001, 5.0])
    artifact = emit(rules, "onnx", number="float")
    (note,) = artifact.notes
    assert note == (
        "'x': the interval from 0.1 to below 0.100000000001 is left out, as no float lies in it"
    )
    assert note in onnx.load_from_string(artifact.content).doc_string
    assert emit(rules, "onnx").notes == ()
    whole = split_of(FeatureType.INTEGER, [2**60 + 1, 2**60 + 2, 2**60 + 1000])
    assert emit(whole, "onnx").notes == ()
    (note,) = emit(whole, "onnx", inputs="matrix").notes
    assert "from 1152921504606846977 to below 1152921504606846978" in note
    # No value of a float32 column lies there in any target.
    assert emit(split_of(FeatureType.FLOAT32, [0.1, 0.1 + 1e-12]), "onnx", **MATRIX).notes == ()


def test_float_models_give_probabilities_and_values_rounded_to_float():
    rules = split_of(FeatureType.FLOAT64, [0.5, 0.6])
    _, found, _ = session_of(rules, number="float").run(None, {"x": np.float32([[0.55]])})
    assert found.dtype == np.float32
    assert found.tolist() == np.float32([[1 / 3, 2 / 3]]).tolist()
    _, found, _ = session_of(rules).run(None, {"x": np.array([[0.55]])})
    assert found.tolist() == [[1 / 3, 1 - 1 / 3]]


# Integers, booleans, categories, missing values.


@given(
    cuts=st.lists(integer_thresholds, min_size=1, max_size=5, unique=True),
    value=st.integers(-INT64_MAX, INT64_MAX),
    number=st.sampled_from(["double", "float"]),
)
def test_integers_are_compared_exactly(cuts, value, number):
    cuts = sorted(cuts)
    near = [math.ceil(cut) + step for cut in cuts for step in (-1, 0, 1)]
    values = [x for x in [value, *near, -INT64_MAX, INT64_MAX] if abs(x) <= INT64_MAX]
    rules = split_of(FeatureType.INTEGER, cuts)
    expected = [sum(cut <= x for cut in cuts) for x in values]
    assert leaf_by(rules, values, np.int64, number=number) == expected


@pytest.mark.parametrize(("number", "whole"), [("double", 2**53), ("float", 2**24)])
def test_integers_are_exact_at_the_ends_of_what_the_numbers_hold(number, whole):
    # Just past -whole an integer rounds up to it, which a plain comparison would get wrong.
    for cut in (-whole - 1, -whole, -whole + 1, whole - 1, whole, whole + 1, whole + 2):
        values = [cut + step for step in range(-3, 4)]
        rules = split_of(FeatureType.INTEGER, [cut])
        found = leaf_by(rules, values, np.int64, number=number)
        assert found == [int(x >= cut) for x in values], cut
        ranked = "ReduceSum" in [node.op_type for node in model_of(rules, number=number).graph.node]
        assert ranked == (not -whole < cut <= whole), cut


@given(
    cut=integer_thresholds,
    value=st.integers(INT64_MIN, INT64_MAX),
    dtype=st.sampled_from([np.float64, np.float32]),
)
def test_integers_in_a_matrix_are_compared_as_the_numbers_they_round_to(cut, value, dtype):
    values = np.array([value, math.ceil(cut) - 1, math.ceil(cut), INT64_MIN, INT64_MAX], dtype)
    rules = split_of(FeatureType.INTEGER, [cut])
    options = MATRIX if dtype == np.float64 else MATRIX_FLOAT
    # What lies past int64 after rounding counts as the last int64.
    expected = [int(min(int(x), INT64_MAX) >= cut) for x in values.tolist()]
    assert leaf_by(rules, values, dtype, "X", **options) == expected


def test_the_least_integer_and_any_negative_boolean_are_missing():
    rules = split_of(FeatureType.INTEGER, [5], missing=1)
    assert leaf_by(rules, [INT64_MIN, -INT64_MAX, 4, 5], np.int64) == [1, 0, 0, 1]
    past = split_of(FeatureType.INTEGER, [2**60], missing=1)
    assert leaf_by(past, [INT64_MIN, -INT64_MAX, 2**60], np.int64) == [1, 0, 1]
    groups = (Group((False,), 0), Group((True,), 1))
    for missing, children in ((0, 2), (1, 2), (2, 3)):
        node = SetSplit("x", groups, missing, leaves(children))
        rules = with_root(node, Feature("x", FeatureType.BOOLEAN))
        assert leaf_by(rules, [0, 1, -1, -7], np.int64) == [0, 1, missing, missing]
        found = leaf_by(rules, [0, 1, math.nan], np.float64, "X", **MATRIX)
        assert found == [0, 1, missing]


@pytest.mark.parametrize("count", [1, 2, 3, 4, 9, 64])
def test_missing_values_reach_their_child_wherever_it_stands(count):
    cuts = [float(i) for i in range(1, count)]
    inside = [i + 0.5 for i in range(count)]
    for missing in {0, count // 2, count - 1, count}:
        rules = split_of(FeatureType.FLOAT64, cuts, missing)
        found = leaf_by(rules, [math.nan, -math.inf, math.inf, *inside], np.float64)
        assert found == [missing, 0, count - 1, *range(count)]


def test_a_missing_value_takes_its_child_among_many_pieces():
    rules = split_of(FeatureType.FLOAT64, [1.0, 2.0, 3.0, 4.0], 1, ends=[0, 1, 2, 1, 0])
    values = [math.nan, 0.0, 1.0, 2.0, 3.0, 4.0]
    assert leaf_by(rules, values, np.float64) == [1, 0, 1, 2, 1, 0]


def test_categories_are_told_apart_by_code_point_and_all_else_is_unseen():
    kind = Feature("c", FeatureType.CATEGORY, ("a", "é", "A", "spare"))
    node = SetSplit("c", (Group(("é",), 2), Group(("a",), 0)), 1, leaves(4), 3)
    values = ["a", "é", "", "A", "e\u0301", " a", "a ", "a\0", "spare", "", "\N{SNOWMAN}"]
    found = leaf_by(with_root(node, kind), values, object, "c")
    assert found == [0, 2, 1, 3, 3, 3, 3, 3, 3, 1, 3]


def test_a_feature_is_encoded_once_however_many_splits_ask_it():
    kind = Feature("c", FeatureType.CATEGORY, ("a", "b", "c"))
    below = SetSplit("c", (Group(("a", "b"), 0), Group(("c",), 1)), 1, leaves(2), 1)
    node = SetSplit("c", (Group(("a",), 1),), 0, (below, Leaf(2, (1.0, 0.0))), 0)
    rules = with_root(node, kind)
    operators = Counter(node.op_type for node in model_of(rules).graph.node)
    assert operators["LabelEncoder"] == 1
    assert leaf_by(rules, ["a", "b", "c", "?", ""], object, "c") == [2, 0, 1, 1, 1]


# Children in many places: copies, or routers.


@pytest.mark.parametrize("growth", [1, 2, math.inf])
@settings(max_examples=25)
@given(rules=rule_trees(depth=3))
def test_copies_and_routers_give_the_same_answers(growth, rules):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(onnx_trees, "GROWTH", growth)
        agrees(rules, {"prefix": "out "}, rows=100)
        agrees(rules, {"prefix": "out ", "number": "float"}, rows=100)


@pytest.mark.parametrize("depth", [4, 50, 400])
def test_copies_never_make_the_tree_much_larger_than_the_rules(depth):
    rules = chain(depth)
    pieces = sum(len(split.intervals) for split in rules.splits if isinstance(split, NumericSplit))
    size = pieces + 3 * len(rules.splits) + len(rules.leaves)
    nodes = len(tree_attributes(model_of(rules))[-1]["nodes_treeids"])
    assert nodes <= 4 * size
    assert bool(Plan(rules, Format(False, NUMBERS["double"])).routers) == (depth > 4)


def test_a_split_that_sends_all_to_one_child_asks_nothing():
    node = NumericSplit("x", (Interval(1.0, 0), Interval(None, 0)), 0, leaves(1))
    rules = with_root(node, Feature("x", FeatureType.FLOAT64))
    assert tree_attributes(model_of(rules))[-1]["nodes_modes"] == [b"LEAF"]
    assert leaf_by(rules, [0.0, math.nan], np.float64) == [0, 0]


@pytest.mark.parametrize("count", [*range(1, 18), 63, 64, 65])
@pytest.mark.parametrize("apart", [False, True])
def test_a_split_takes_the_fewest_comparisons(count, apart):
    cuts = [float(i) for i in range(1, count)]
    rules = split_of(FeatureType.FLOAT64, cuts, missing=count if apart else 0)
    (tree,) = tree_attributes(model_of(rules))
    pieces = count + apart
    most = (pieces - 1).bit_length()
    found = comparisons(tree)
    # Of all trees that tell so many pieces apart, none is lower or has shorter paths in the mean.
    assert (len(found), max(found)) == (pieces, most)
    assert sum(found) == pieces * most - (2**most - pieces)


def comparisons(tree: dict) -> list[int]:
    """How many nodes each leaf of one tree has above it."""
    above = {0: 0}
    for i, mode in enumerate(tree["nodes_modes"]):
        if mode != b"LEAF":
            for side in ("nodes_truenodeids", "nodes_falsenodeids"):
                above[tree[side][i]] = above[i] + 1
    return [above[i] for i, mode in enumerate(tree["nodes_modes"]) if mode == b"LEAF"]


@given(rules=rule_trees(depth=3).filter(can_stop))
def test_no_node_of_a_tree_has_two_parents(rules):
    # Some releases of onnxruntime lose their way where branches meet.
    for tree in tree_attributes(model_of(rules, prefix="out ")):
        found = Counter(
            (tree["nodes_treeids"][i], tree[side][i])
            for i, mode in enumerate(tree["nodes_modes"])
            if mode != b"LEAF"
            for side in ("nodes_truenodeids", "nodes_falsenodeids")
        )
        nodes = zip(tree["nodes_treeids"], tree["nodes_nodeids"], strict=True)
        assert found == Counter((tree, node) for tree, node in nodes if node)
