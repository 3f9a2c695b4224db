"""The number types of C headers: what each holds, and what is said of it."""

import math
import re
import shutil
from fractions import Fraction

import numpy as np
import pytest
from c_headers import leaves_in_c, one_split, printed, values
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import single_leaf

from mbndt.emitters import emit
from mbndt.emitters.c.numbers import NUMBERS, Format
from mbndt.errors import TargetError
from mbndt.interpreter import leaf_of
from mbndt.rules import (
    INT64_MAX,
    INT64_MIN,
    FeatureType,
    Leaf,
    Rules,
    Target,
    TargetType,
)

FIXED = ["int32", "int16", "int8"]


pytestmark = pytest.mark.skipif(
    not shutil.which("gcc"), reason="gcc isn't installed: apt-get install gcc"
)


@settings(max_examples=8)
@given(st.sampled_from([1, 3, 7, 10, 100]), st.data(), st.sampled_from(list(FeatureType)[:2]))
def test_each_of_the_255_stored_integers_goes_where_its_number_goes(scale, data, type_):
    within = st.floats(-125 / scale, 125 / scale)
    exact = st.integers(-125, 126).map(lambda i: i / scale)
    cuts = data.draw(st.lists(within | exact, min_size=1, max_size=12, unique=True))
    rules = one_split(sorted(cuts), type_, missing=0)
    numbers = [i / scale for i in range(-127, 128)]
    found = leaves_in_c(rules, {"x": [*numbers, None]}, number="int8", scale=[f"x={scale}"])
    assert found == [leaf_of(rules, {"x": x}) for x in [*numbers, None]]


def test_a_threshold_is_the_least_integer_whose_double_is_not_below_it():
    form = Format(NUMBERS["int8"], one_split([0.07]), ["x=100"])
    assert form.cut(form.rules.features[0], 0.07) == 7  # while ceil(0.07 * 100) is 8
    assert form.cut(form.rules.features[0], math.nextafter(0.07, 1)) == 8
    assert form.cut(form.rules.features[0], math.nextafter(0.07, 0)) == 7


@pytest.mark.parametrize("number", FIXED)
def test_numbers_past_the_ends_and_missing_ones_are_stored_so_that_they_go_right(number):
    rules = one_split([-1.25, 1.25], missing=1)
    xs = [-math.inf, -1e300, -1.2500001, -1.25, 0.0, 1.2499999, 1.25, 1e300, math.inf, None]
    assert leaves_in_c(rules, {"x": xs}, number=number) == [0, 0, 0, 1, 1, 1, 2, 2, 2, 1]
    whole = one_split([-3, 3], FeatureType.INTEGER, missing=1)
    xs = [-INT64_MAX, -4, -3, 2, 3, INT64_MAX, None]
    assert leaves_in_c(whole, {"x": xs}, number=number) == [0, 0, 1, 1, 2, 2, 1]
    assert leaves_in_c(whole, {"x": xs}, number=number, scale="x=9") == [0, 0, 1, 1, 2, 2, 1]


def test_values_are_parts_of_their_scale_in_fixed_point(tmp_path):
    rules = values(0.5, -1.25, 1 / 3)
    code = """
    values_input x = {0};
    int32_t (*value)(const values_input *) = values_value;
    printf("%d of %d\\n", (int)value(&x), VALUES_VALUE_SCALE);
    """
    header = emit(rules, "c", number="int16")
    assert printed(tmp_path, [header.text], code) == ["-1250000000 of 1000000000"]
    assert any("too coarse for 1" in note for note in header.notes)
    assert emit(values(1e9, 0.25), "c", number="int8").text.count("VALUE_SCALE 1\n") == 1


@given(st.lists(st.integers(0, 50), min_size=1, max_size=9).filter(any), st.integers(1, 10**6))
def test_parts_sum_to_65535_and_are_the_nearest_below_or_above(weights, by):
    exact = [Fraction(w, sum(weights)) * 65535 for w in weights]
    row = tuple(w / sum(weights) for w in weights)
    target = Target("y", TargetType.INTEGER, tuple(range(by, by + len(row))))
    told, divisor = Format(NUMBERS["int8"], Rules("r", target, (), Leaf(0, row))).results()
    ((parts,),) = told.values()
    assert (sum(parts), divisor) == (65535, 65535)
    up = [q % 1 for q, part in zip(exact, parts, strict=True) if part > q]
    down = [q % 1 for q, part in zip(exact, parts, strict=True) if part < q]
    assert all(abs(q - part) < 1 for q, part in zip(exact, parts, strict=True))
    assert not up or not down or min(up) >= max(down) - Fraction(1, 10**9)


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_a_float_literal_is_the_shortest_that_reads_back(x):
    text = Format(NUMBERS["float"], single_leaf()).literal(x)
    assert text[-1] == "f"
    assert np.float32(text[:-1]) == np.float32(x)
    digits = len(re.sub(r"e.*|[-.]", "", np.format_float_scientific(np.float32(x), trim="-")))
    assert len(re.sub(r"[ef].*|[-.]", "", text).strip("0")) <= digits


@settings(max_examples=4)
@given(
    st.lists(
        st.floats(width=32, allow_nan=False, allow_infinity=False),
        min_size=80,
        max_size=80,
        unique_by=lambda x: x + 0.0,
    )
)
def test_the_compiler_reads_float_literals_as_they_are_meant(xs):
    rules = one_split(sorted(xs))
    found = leaves_in_c(rules, {"x": sorted(xs)}, number="float")
    assert found == list(range(1, len(xs) + 1))


def test_integers_beyond_doubles_are_told_apart_and_the_reserved_one_is_refused():
    cuts = [-INT64_MAX + 1, 2**53 + 1, INT64_MAX]
    rules = one_split(cuts, FeatureType.INTEGER, missing=3)
    xs = [-INT64_MAX, -INT64_MAX + 1, 2**53, 2**53 + 1, INT64_MAX - 1, INT64_MAX, None]
    assert leaves_in_c(rules, {"x": xs}) == [0, 1, 1, 2, 2, 3, 3]
    with pytest.raises(TargetError, match=r"'x', row 2: -9223372036854775808 stands for a missing"):
        leaves_in_c(rules, {"x": [1, INT64_MIN]})


@pytest.mark.parametrize(
    "number, cuts, dropped",
    [
        ("float", [0.1, math.nextafter(0.1, 1), 2.0], ["0.1 to below 0.10000000000000002"]),
        ("double", [0.1, math.nextafter(0.1, 1), 2.0], []),
        ("int8", [1.0, 100.004, 100.006], ["100.004 to below 100.006"]),
        ("int8", [float(i) / 100 + 100 for i in range(60)], ["more intervals are dropped"]),
    ],
)
def test_intervals_that_no_number_reaches_are_dropped_and_said_so(number, cuts, dropped):
    artifact = emit(one_split(cuts), "c", number=number)
    notes = [note for note in artifact.notes if "dropped" in note]
    assert len(notes) == len(dropped) or "more" in dropped[0]
    for text in dropped:
        assert any(text in note for note in notes)
    assert len(notes) < 25
    for note in artifact.notes:
        assert note in artifact.text


def test_whole_numbers_reach_no_interval_between_two_fractions():
    artifact = emit(one_split([2.2, 2.7, 10**19], FeatureType.INTEGER), "c")
    assert [note.split(" from ")[1][:14] for note in artifact.notes] == [
        "2.2 to below 2",
        "10000000000000",
    ]


def test_a_scale_is_chosen_from_the_thresholds_and_stands_in_the_header():
    artifact = emit(one_split([2.15, 30.0]), "c", number="int16")
    assert artifact.notes == ("scale 100 of 'x' is chosen from its thresholds",)
    assert "scale 100: 'x'" in artifact.text
    assert "x->x < 215" in artifact.text
    coarse = emit(one_split([2.15, 30.0]), "c", number="int8")
    assert "scale 1: 'x'" in coarse.text
    assert "2.15 becomes 3.0" in coarse.notes[1]
    given_scale = emit(one_split([2.15, 30.0]), "c", number="int16", scale=("x=20",))
    assert given_scale.notes == ()
    assert "x->x < 43" in given_scale.text


@pytest.mark.parametrize(
    "rules, number, said",
    [
        (one_split([127.5]), "int8", "threshold 127.5 of 'x': not in -126 to 127 of int8_t"),
        (one_split([-127.0]), "int8", "-127.0"),
        (one_split([1e300]), "int32", "1e+300"),
        (one_split([2**40], FeatureType.INTEGER), "int32", "1099511627776"),
        (one_split([10**30], FeatureType.INTEGER), "int32", "at scale 1"),
        (values(1e39, 0.5), "float", "leaf value 1e+39: out of the range of float"),
        (values(0.5, -2147483648.0), "int8", "out of the range of int32_t"),
    ],
)
def test_what_a_type_cannot_hold_is_refused(rules, number, said):
    with pytest.raises(TargetError, match=re.escape(said)):
        emit(rules, "c", number=number)


def test_the_ends_of_the_type_are_held():
    cuts = [-126.0, 127.0]
    xs = [-128.0, -127.0, -126.0, 126.9, 127.0]
    assert leaves_in_c(one_split(cuts), {"x": xs}, number="int8") == [0, 0, 1, 1, 2]
    assert "found = 2147483647;" in emit(values(2147483647.0, -1.0), "c", number="int8").text
