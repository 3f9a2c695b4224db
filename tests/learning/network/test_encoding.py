"""Scores rise with the values, lie on the grid, and their inverse is exact."""

import numpy as np
import pytest
from drawn_tables import mixed_table
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mbndt.learning.network.encoding import (
    GRID,
    SCORE_END,
    NumberColumn,
    RankGauss,
    SetColumn,
    fit_encoder,
    least,
    typed_columns,
)
from mbndt.rules import Feature, FeatureType
from mbndt.tables.schema import Schema, infer_features
from mbndt.tables.target import infer_labels

doubles = st.floats(allow_nan=False, width=64)
samples = arrays(np.float64, st.integers(2, 40), elements=doubles)
any_scores = st.integers(-int(5.3 / GRID), int(5.3 / GRID)).map(lambda i: i * GRID)


def fitted(values: np.ndarray) -> RankGauss:
    return RankGauss.fit(values, np.random.default_rng(0))


@given(samples, st.lists(doubles, min_size=2, max_size=20))
def test_scores_never_fall_and_lie_on_the_grid(sample, values):
    scores = fitted(sample).score(np.sort(np.array(values)))
    assert np.all(np.diff(scores) >= 0)
    assert np.all(np.abs(scores) <= SCORE_END + GRID)
    assert np.all(scores / GRID == np.round(scores / GRID))
    assert np.all(scores == scores.astype(np.float32))


@given(samples, any_scores)
def test_lowest_is_the_very_double_at_which_a_score_is_reached(sample, score):
    ranks = fitted(sample)
    t = NumberColumn(Feature("x", FeatureType.FLOAT64), 0.0, ranks).lowest(score)
    if t is None:
        assert ranks.score(np.array([np.inf]))[0] < score
        return
    assert ranks.score(np.array([t]))[0] >= score
    if t > -np.inf:
        assert ranks.score(np.array([np.nextafter(t, -np.inf)]))[0] < score


@given(arrays(np.int64, st.integers(2, 20)), any_scores)
def test_lowest_of_whole_numbers_is_exact_beyond_two_to_the_53(sample, score):
    ranks = fitted(sample.astype(np.float64))
    t = NumberColumn(Feature("n", FeatureType.INTEGER), 0.0, ranks).lowest(score)
    if t is None:
        assert ranks.score(np.array([float(2**63 - 1)]))[0] < score
        return
    assert isinstance(t, int)
    assert ranks.score(np.array([float(t)]))[0] >= score
    if t > -(2**63):
        assert ranks.score(np.array([float(t - 1)]))[0] < score


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6))
def test_least_finds_what_a_walk_would(low, length, past):
    high = low + length
    edge = min(low + past, high)
    assert least(low, high, lambda places: np.array(places) >= edge) == edge


def test_the_scores_of_a_normal_sample_are_near_its_own_normal_scores():
    draw = np.random.default_rng(1)
    sample = draw.normal(7, 3, 5000)
    x = np.array([1.0, 4.0, 7.0, 10.0, 13.0])
    assert np.allclose(fitted(sample).score(x), (x - 7) / 3, atol=0.1)


def test_every_type_of_column_gets_its_encoding():
    table = mixed_table()
    features = infer_features(table, Schema(), "y")
    codes = infer_labels(table, "y", Schema()).codes
    typed = typed_columns(table, features)
    encoder, train_scores = fit_encoder(features, typed, codes, np.random.default_rng(0))
    by_feature = {}
    for column in encoder.columns:
        by_feature.setdefault(column.feature.name, []).append(column)
    counts = {name: len(columns) for name, columns in by_feature.items()}
    # colour: four categories and missing, one-hot; code: fourteen, target-encoded.
    assert counts == {"x": 1, "single": 1, "n": 1, "flag": 1, "colour": 5, "pair": 1, "code": 1}
    assert isinstance(by_feature["x"][0], NumberColumn)
    assert by_feature["x"][0].fill == np.median([v for v in table.column("x") if v is not None])
    code = by_feature["code"][0]
    assert isinstance(code, SetColumn)
    level = np.array([v == "code 3" for v in table.column("code")])
    assert code.known[code.feature.categories.index("code 3")] == codes[level].mean()
    assert code.unseen == codes.mean()
    missing = np.array([v is None for v in table.column("code")])
    assert code.missing == codes[missing].mean()
    # Only the target-encoded column's training scores differ: they leave the row's class out.
    scores = encoder.encode(typed)
    differing = {
        encoder.columns[j].feature.name
        for j in range(scores.shape[1])
        if not np.array_equal(scores[:, j], train_scores[:, j])
    }
    assert differing == {"code"}


@pytest.mark.parametrize("values", [[3.0, 3.0, 3.0], [None, None, 1.0], [None, None, None]])
def test_constant_columns_get_no_score(values):
    from mbndt.tables.table import Table

    feature = Feature("x", FeatureType.FLOAT64)
    typed = typed_columns(Table.of({"x": values}), [feature])
    encoder, scores = fit_encoder([feature], typed, np.array([0, 1, 0]), np.random.default_rng(0))
    assert encoder.columns == ()
    assert scores.shape == (3, 0)
