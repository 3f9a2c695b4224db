"""The scikit-learn estimator over raw frames and arrays."""

import copy
import io
import pickle
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from drawn_tables import mixed_table
from estimators import fast, pair
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from mbndt import MBNDTClassifier, MBNDTRegressor
from mbndt.errors import DataError, DataWarning

# Toy tables number their rows, and one column tells the target.
pytestmark = [
    pytest.mark.filterwarnings(f"ignore:.*{words}:mbndt.errors.DataWarning")
    for words in ("numbers the rows", "alone tells", "holds numbers as texts")
]


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


def test_wrong_use_is_a_plain_error(frame):
    with pytest.raises(NotFittedError):
        MBNDTClassifier().predict(frame)
    with pytest.raises(ValueError, match="y: 3 values, expected 300"):
        MBNDTClassifier().fit(frame, [0, 1, 0])


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
    X = pd.DataFrame({"x": np.arange(60.0) / 2, "c": ["u", "v"] * 30})
    y = np.where(X["x"] > 15, 5.0, -1.0) + np.where(X["c"] == "u", 0.5, 0.0)
    model = MBNDTRegressor().fit(X, y)
    assert model.score(X, y) > 0.95
    assert clone(model).get_params() == model.get_params()
    assert model.rules_.task == "regression"


def rows_of_people(n=80):
    draw = np.random.default_rng(1)
    ages = draw.integers(20, 80, n).tolist()
    sexes = draw.choice(["f", "m"], n).tolist()
    return [list(row) for row in zip(ages, sexes, strict=True)], [age > 45 for age in ages]


@pytest.mark.parametrize(
    "form", [list, lambda rows: [*map(tuple, rows)], lambda rows: np.array(rows, object)]
)
def test_each_column_of_a_list_of_rows_keeps_its_own_type(form):
    rows, y = rows_of_people()
    model = fast().fit(form(rows), y)
    assert [f.type.value for f in model.rules_.features] == ["integer", "category"]
    assert model.score(form(rows), y) == 1
    # 9 is below 45, where the text '9' is above '45'.
    assert model.predict([[9, "f"], [100, "m"]]).tolist() == [False, True]
    sexes = [sex == "f" for _, sex in rows]
    with pytest.raises(DataError, match="'x1', row 1: got 3, expected text"):
        fast().fit(form(rows), sexes).predict([[50, 3]])


def test_a_list_of_numbers_alone_is_an_array_of_numbers():
    model = fast().fit([[1, 2.5], [2, 3.5]] * 20, [0, 1] * 20)
    assert [f.type.value for f in model.rules_.features] == ["float64", "float64"]
    assert model.predict([[1.25, 2]]).tolist() == [0]
    model = fast().fit([[True, 2.5], [False, 3.5]] * 20, [0, 1] * 20)
    assert [f.type.value for f in model.rules_.features] == ["boolean", "float64"]


def test_numbers_that_numpy_made_texts_of_are_told():
    rows, y = rows_of_people()
    with pytest.warns(DataWarning, match="X: x0: numbers that NumPy made texts of"):
        fast().fit(np.array(rows), y)


@pytest.mark.parametrize(
    "wrong, message",
    [
        ([1, 2, 3], "Expected 2D array, got 1D array"),
        (np.zeros((2, 2, 2)), "Expected 2D array, got 3D array"),
        ([[1, 2], [3]], "row 2 has 1 values, expected 2"),
        ([{"a": 1}, {"a": 2}], "hand over a frame"),
        (np.zeros((3, 0)), "minimum of 1 is required"),
        (csr_array(np.eye(3)), "sparse csr_array"),
        (np.zeros((3, 1), complex), "Complex data"),
    ],
)
def test_what_is_no_table_is_refused(wrong, message):
    with pytest.raises(DataError, match=message):
        fast().fit(wrong, [0, 1, 0])


@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("form", [np.array, list, lambda X: pd.DataFrame(np.array(X))])
def test_an_array_of_another_width_is_refused_in_scikit_learns_words(width, form):
    X, y = pair()
    model = fast().fit(X.to_numpy(), y)
    other = form([[1.0] * width] * 2)
    words = f"X has {width} features, but MBNDTClassifier is expecting 2 features as input"
    for method in (model.predict, model.predict_proba, model.apply):
        with pytest.raises(ValueError, match=words):
            method(other)
    with pytest.raises(ValueError, match=words):
        fast().fit(X, y).predict(other)


def test_an_array_after_a_frame_is_taken_by_position_with_a_warning():
    X, y = pair()
    model = fast().fit(X, y)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    with pytest.warns(
        UserWarning,
        match="X does not have valid feature names, but MBNDTClassifier"
        " was fitted with feature names",
    ):
        assert model.predict(X.to_numpy()).tolist() == y.tolist()


def test_a_frame_after_an_array_is_taken_by_position_with_a_warning():
    X, y = pair()
    model = fast().fit(X.to_numpy(), y)
    assert not hasattr(model, "feature_names_in_")
    said = "X has feature names, but MBNDTClassifier was fitted without feature names"
    with pytest.warns(UserWarning, match=said):
        assert model.predict(X).tolist() == y.tolist()
    # Named as the rules name an array's columns, they are told apart by their names.
    named = pd.DataFrame({"x1": X["b"], "x0": X["a"]})
    with pytest.warns(UserWarning, match=said):
        assert model.predict(named).tolist() == y.tolist()


def test_a_frames_columns_are_matched_by_name_and_more_are_ignored():
    X, y = pair()
    model = fast().fit(X, y)
    assert model.predict(X.assign(c=0.0)[["c", "b", "a"]]).tolist() == y.tolist()
    assert model.predict({"b": X["b"], "a": X["a"]}).tolist() == y.tolist()
    said = (
        "The feature names should match those that were passed during fit. Feature names seen"
        " at fit time, yet now missing: 'b'; feature names unseen at fit time: 'B'; did you"
        " mean 'B'?"
    )
    with pytest.raises(ValueError, match=re.escape(said)):
        model.predict(X.rename(columns={"b": "B"}))


def test_one_weight_is_that_of_all_rows_and_a_table_of_weights_is_refused():
    X, y = pair()
    assert fast().fit(X, y, sample_weight=2.0).predict(X).tolist() == y.tolist()
    with pytest.raises(DataError, match="sample_weight: got 2 dimensions, expected one weight"):
        fast().fit(X, y, sample_weight=np.ones((len(y), 1)))


def test_arrow_tables_are_frames_too():
    X, y = pair()
    table = pytest.importorskip("pyarrow").table(X)
    for first in (X, table, table.to_batches()[0]):
        model = fast().fit(first, y)
        assert model.feature_names_in_.tolist() == ["a", "b"]
        for second in (X, table, table.to_batches()[0]):
            assert model.predict(second).tolist() == y.tolist()


@pytest.mark.parametrize("name", ["column_names", "columns", "toarray", "tocsr", "dtype"])
def test_a_column_may_be_called_as_what_frames_have(name):
    X, y = pair()
    X = X.rename(columns={"b": name})
    model = fast().fit(X, y)
    assert model.feature_names_in_.tolist() == ["a", name]
    assert model.predict(X).tolist() == y.tolist()


def test_a_frame_whose_columns_are_counted_is_an_array():
    X, y = pair()
    counted = pd.DataFrame(X.to_numpy())
    for first, second in ((counted, X.to_numpy()), (X.to_numpy(), counted), (counted, counted)):
        assert fast().fit(first, y).predict(second).tolist() == y.tolist()
    with pytest.warns(UserWarning, match="has feature names"):
        assert fast().fit(counted, y).predict(counted[[1, 0]]).tolist() == y.tolist()


def test_a_second_fit_forgets_the_names_of_the_first():
    X, y = pair()
    model = fast().fit(X, y).fit(X.to_numpy(), y)
    assert not hasattr(model, "feature_names_in_")
    assert model.predict(X.to_numpy()).tolist() == y.tolist()


@pytest.mark.parametrize("levels", [[3, 20, 100], [0.5, 1.0, 2.0]])
def test_pandas_categories_of_numbers_are_categories(levels):
    codes = np.arange(60) % 3
    cells = pd.Categorical.from_codes(codes, [*levels])
    X = pd.DataFrame({"code": cells})
    y = np.where(codes == 1, "odd", "even")
    model = fast().fit(X, y)
    assert model.rules_.features[0].type.value == "category"
    assert model.score(X, y) == 1
    unused = pd.DataFrame({"code": cells.add_categories([7])})
    assert fast().fit(unused, y).rules_ == model.rules_
    assert model.predict(unused).tolist() == y.tolist()
    with pytest.raises(DataError, match=r"column 'code', row 1: got .*, expected text"):
        model.predict(pd.DataFrame({"code": np.array(levels)}))


@pytest.mark.filterwarnings("error::mbndt.errors.DataWarning")
def test_declared_categories_of_numbers_are_no_reason_to_warn():
    draw = np.random.default_rng(0)
    X = pd.DataFrame({"code": pd.Categorical(draw.integers(1, 5, 80))})
    y = (X["code"].astype(int) > 2) ^ (draw.random(80) < 0.2)
    assert fast().fit(X, y).rules_.features[0].type.value == "category"


def test_a_gap_that_makes_whole_categories_floats_changes_no_answer():
    X = pd.DataFrame({"code": pd.Categorical([1, 2] * 30)})
    y = ["a", "b"] * 30
    model = fast().fit(X, y)
    gaps = pd.DataFrame({"code": pd.Series([2.0, 1.0, None]).astype("category")})
    assert model.predict(gaps)[:2].tolist() == ["b", "a"]
    assert fast().fit(X, pd.Categorical([5, 7] * 30)).classes_.tolist() == [5, 7]


def test_categories_of_polars_are_categories():
    pl = pytest.importorskip("polars")
    texts = ["u", "v", "w"] * 20
    y = [text == "v" for text in texts]
    for kind in (pl.Categorical, pl.Enum(["u", "v", "w", "never"]), pl.String):
        X = pl.DataFrame({"c": pl.Series(texts, dtype=kind)})
        model = fast().fit(X, pl.Series("told", y))
        assert model.rules_.features[0].categories == ("u", "v", "w")
        assert model.score(X, y) == 1


def test_a_pickle_holds_plain_values_and_rules_as_json(frame, fitted):
    found = set()

    class Watched(pickle.Unpickler):
        def find_class(self, module, name):
            found.add(f"{module}.{name}")
            return super().find_class(module, name)

    again = Watched(io.BytesIO(pickle.dumps(fitted))).load()
    assert {name for name in found if name.startswith("mbndt")} == {
        "mbndt.estimator.MBNDTClassifier"
    }
    assert again.rules_ == fitted.rules_
    assert again.model_ == replace(fitted.model_, network=None, encoder=None)
    X = frame.drop(columns="y")
    assert np.array_equal(copy.deepcopy(again).predict_proba(X), fitted.predict_proba(X))
    unfitted = pickle.loads(pickle.dumps(MBNDTClassifier(depth=2)))
    assert unfitted.get_params() == MBNDTClassifier(depth=2).get_params()
    with pytest.raises(NotFittedError):
        unfitted.predict(X)


def test_trackers_that_patch_scikit_learns_own_fits_see_ours_alone(monkeypatch):
    def patched(self, *rest, **more):
        raise AssertionError(f"a tracker saw the fit of {type(self).__name__}")

    for kind in (RandomForestClassifier, RandomForestRegressor):
        monkeypatch.setattr(kind, "fit", patched)
    X, y = pair()
    assert fast().fit(X, y).score(X, y) == 1
    MBNDTRegressor(preset="fast", restarts=0).fit(X, X["a"])
