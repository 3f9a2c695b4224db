"""The scikit-learn estimator over raw frames and arrays."""

import pickle

import numpy as np
import pandas as pd
import pytest
from drawn_tables import mixed_table
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from mbndt import MBNDTClassifier, MBNDTRegressor
from mbndt.errors import DataError


@pytest.fixture(scope="module")
def frame():
    return pd.DataFrame({n: list(c) for n, c in mixed_table(300).columns.items()})


@pytest.fixture(scope="module")
def fitted(frame):
    return MBNDTClassifier(preset="fast").fit(frame.drop(columns="y"), frame["y"])


def test_it_learns_predicts_and_scores_raw_frames(frame, fitted):
    X, y = frame.drop(columns="y"), frame["y"]
    assert fitted.score(X, y) > 0.6
    assert fitted.classes_.tolist() == ["no", "yes"]
    assert fitted.rules_.target.name == "y"
    proba = fitted.predict_proba(X)
    assert proba.shape == (300, 2)
    assert np.array_equal(fitted.classes_[proba.argmax(1)], fitted.predict(X))
    assert set(fitted.apply(X)) == {leaf.leaf for leaf in fitted.rules_.leaves}


def test_it_clones_pickles_and_stands_in_pipelines(frame, fitted):
    X, y = frame.drop(columns="y"), frame["y"]
    assert clone(fitted).get_params() == fitted.get_params()
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.predict(X), fitted.predict(X))
    pipe = make_pipeline(FunctionTransformer(), MBNDTClassifier(preset="fast"))
    assert cross_val_score(pipe, X, y, cv=2).shape == (2,)


@pytest.mark.parametrize("labels", [[0, 1], [True, False], ["a", "b"], [1.0, 2.0]])
def test_it_takes_arrays_and_keeps_label_types(labels):
    draw = np.random.default_rng(0)
    X = draw.normal(size=(80, 3))
    y = np.array(labels)[(X[:, 1] > 0).astype(int)]
    model = MBNDTClassifier(preset="fast").fit(X, y)
    assert model.score(X, y) > 0.9
    assert set(model.predict(X)) == set(labels)
    assert [f.name for f in model.rules_.features] == ["x0", "x1", "x2"]
    assert model.n_features_in_ == 3


def test_a_target_named_like_a_column_is_renamed():
    X = pd.DataFrame({"y": np.arange(20.0)})
    model = MBNDTClassifier(preset="fast").fit(X, pd.Series([0] * 10 + [1] * 10, name="y"))
    assert model.rules_.target.name == "y_"


def test_wrong_use_is_a_plain_error(frame):
    with pytest.raises(NotFittedError):
        MBNDTClassifier().predict(frame)
    with pytest.raises(ValueError, match="y: 3 values, expected 300"):
        MBNDTClassifier().fit(frame, [0, 1, 0])


def test_numbers_of_numpy_are_parameters():
    X = pd.DataFrame({"x": np.arange(40.0)})
    y = (X["x"] > 19).astype(int)
    search = GridSearchCV(
        MBNDTClassifier(preset="fast"),
        {"depth": np.arange(1, 3), "penalty": np.float64([1, 2])},
        cv=2,
    )
    assert search.fit(X, y).best_score_ > 0.6


@pytest.mark.parametrize("shape", [(-1, 1), (-1,)])
def test_targets_may_be_a_column(shape):
    X = np.arange(40.0)[:, None]
    y = np.where(X[:, 0] > 19, "a", "b")
    assert MBNDTClassifier(preset="fast").fit(X, y.reshape(shape)).score(X, y) == 1
    frame = pd.DataFrame({"y": y})
    assert MBNDTClassifier(preset="fast").fit(X, frame).score(X, y) == 1
    with pytest.raises(DataError, match="2 columns"):
        MBNDTClassifier(preset="fast").fit(X, np.c_[y, y])


@pytest.mark.parametrize("weights", [1e308, 1e-308, np.where(np.arange(40) % 2, 1e200, 1e-200)])
@pytest.mark.parametrize("kind", [MBNDTClassifier, MBNDTRegressor])
def test_extreme_weights_give_a_tree(kind, weights):
    X = pd.DataFrame({"x": np.arange(40.0)})
    y = (np.arange(40) // 10 % 2).astype(float if kind is MBNDTRegressor else int)
    model = kind(preset="default").fit(X, y, np.broadcast_to(weights, 40))
    # Rows of next to no weight beside others say nothing.
    told = np.asarray(weights * np.ones(40) > 1e-300) if np.ndim(weights) else np.ones(40, bool)
    told &= np.broadcast_to(weights, 40) > np.max(weights) / 1e6
    assert np.mean(model.predict(X)[told] == y[told]) > 0.9


def test_a_regressor_learns_a_step():
    X = pd.DataFrame({"x": np.arange(60.0), "c": ["u", "v"] * 30})
    y = np.where(X["x"] > 30, 5.0, -1.0) + np.where(X["c"] == "u", 0.5, 0.0)
    model = MBNDTRegressor().fit(X, y)
    assert model.score(X, y) > 0.95
    assert clone(model).get_params() == model.get_params()
    assert model.rules_.task == "regression"
