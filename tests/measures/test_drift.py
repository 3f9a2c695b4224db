"""How far a column has moved, recounted bin by bin."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from mbndt.measures.drift import binned, by_chance, deciles, drift, stability_index

COUNTS = st.lists(st.integers(0, 50), min_size=2, max_size=8)
NUMBERS = st.lists(st.floats(-1e6, 1e6) | st.sampled_from([0.0, 1.0, math.inf]), max_size=60)


@given(st.data())
def test_the_index_is_the_sum_over_bins_and_says_nothing_of_no_rows(data):
    old = data.draw(COUNTS)
    new = data.draw(st.lists(st.integers(0, 50), min_size=len(old), max_size=len(old)))
    found = stability_index(old, new)
    if not sum(old) or not sum(new):
        assert found is None
        return
    total = 0.0
    for a, b in zip(old, new, strict=True):
        before, after = (
            (n + 0.5) / (sum(each) + len(each) / 2) for n, each in ((a, old), (b, new))
        )
        total += (after - before) * math.log(after / before)
    assert found == pytest.approx(total, abs=1e-12)
    assert found >= 0


@given(NUMBERS)
def test_each_value_is_in_the_bin_between_its_cuts(numbers):
    values = np.array(numbers)
    cuts = deciles(values)
    assert cuts == sorted(set(cuts))
    assert all(map(math.isfinite, cuts))
    edges = [-math.inf, *cuts, math.inf]
    counted = [
        sum(low <= x < high or x == high == math.inf for x in numbers)
        for low, high in itertools.pairwise(edges)
    ]
    assert binned(values, cuts).tolist() == counted
    assert not numbers or counted[0] > 0


def test_tenths_of_different_values_are_tenths():
    values = np.random.default_rng(0).permutation(100).astype(float)
    assert binned(values, deciles(values)).tolist() == [10] * 10


@pytest.mark.parametrize("bins", [2, 5, 11, 40])
def test_what_chance_makes_is_the_quantile_of_chi_squared(bins):
    exact = chi2.ppf(0.95, bins - 1) * (1 / 300 + 1 / 80)
    assert by_chance(bins, 300, 80) == pytest.approx(exact, rel=0.03)


def test_samples_of_one_source_move_beyond_chance_in_about_one_of_twenty():
    draw = np.random.default_rng(1)
    beyond = 0
    for _ in range(400):
        old, new = (draw.multinomial(n, [0.1] * 10) for n in (500, 200))
        beyond += drift(old.tolist(), new.tolist())["drift"] != "none"
    assert 5 <= beyond <= 40


def test_a_word_says_how_far():
    flat = [100.0] * 5
    assert drift(flat, [100] * 5)["drift"] == "none"
    assert drift(flat, [150, 120, 100, 80, 50])["drift"] == "some"
    assert drift(flat, [400, 50, 20, 20, 10])["drift"] == "much"
    assert drift(flat, [0] * 5) is None
    assert by_chance(1, 5, 5) == 0
