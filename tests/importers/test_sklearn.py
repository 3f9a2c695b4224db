"""Imported trees answer as scikit-learn does, also on their thresholds and with gaps."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

from mbndt.errors import RulesError
from mbndt.rules import Rules


def around(X, tree):
    """Rows on every threshold and one float32 and one double step beside it."""
    rows = [X]
    for feature, t in zip(tree.tree_.feature, tree.tree_.threshold, strict=True):
        if feature < 0:
            continue
        near, inf = np.float32(t), np.float32(np.inf)
        beside = [np.nextafter(near, inf), np.nextafter(near, -inf), -inf, inf]
        for value in (t, np.nextafter(t, np.inf), np.nextafter(t, -np.inf), *beside):
            moved = X[:20].copy()
            moved[:, feature] = np.clip(value, -1e30, 1e30)
            rows.append(moved)
    return np.concatenate(rows)


@pytest.mark.parametrize("labels", [int, str, bool, float])
def test_a_classifier_answers_as_it_did(labels):
    X, y = load_iris(return_X_y=True)
    y = (y > 0) if labels is bool else y.astype(labels)
    tree = DecisionTreeClassifier(random_state=0, class_weight="balanced").fit(X, y)
    rules = Rules.from_sklearn(tree)
    rows = around(X, tree)
    found = rules.predict(rows)
    assert [type(label) for label in found.prediction[:1]] == [int if labels is float else labels]
    assert np.array_equal(np.array(found.prediction), tree.predict(rows))
    assert np.array_equal(found.probabilities, tree.predict_proba(rows))


def test_a_regressor_answers_as_it_did():
    X, _ = load_iris(return_X_y=True)
    tree = DecisionTreeRegressor(random_state=0, max_depth=6).fit(X[:, :3], X[:, 3])
    rules = Rules.from_sklearn(tree, feature_names=["a", "b", "c"], name="width")
    rows = around(X[:, :3], tree)
    found = rules.predict(dict(zip("abc", rows.T, strict=True)))
    assert np.array_equal(np.array(found.prediction), tree.predict(rows))


def test_missing_values_go_where_the_tree_sends_them():
    X, y = load_iris(return_X_y=True)
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    tree = DecisionTreeClassifier(random_state=0, max_depth=5).fit(X, y)
    found = Rules.from_sklearn(tree).predict(X)
    assert np.array_equal(np.array(found.prediction), tree.predict(X))


def test_what_is_no_tree_is_refused():
    X, y = load_iris(return_X_y=True)
    for wrong in (LinearRegression().fit(X, y), DecisionTreeClassifier()):
        with pytest.raises(RulesError, match="expected a fitted decision tree"):
            Rules.from_sklearn(wrong)
    with pytest.raises(RulesError, match="2 outputs"):
        Rules.from_sklearn(DecisionTreeRegressor().fit(X, X[:, :2]))
    with pytest.raises(RulesError, match="3 feature names, expected 4"):
        Rules.from_sklearn(DecisionTreeClassifier().fit(X, y), feature_names=["a", "b", "c"])


class Foreign:
    """As other packages' trees are: fitted, with a `tree_` of their own."""

    def __init__(self, inner):
        self.tree_ = inner


class Derived(DecisionTreeClassifier):
    """As the trees of packages that change what an answer is."""

    def predict(self, X, check_input=True):
        return np.zeros(len(X))


def test_foreign_trees_are_refused_by_name():
    X, y = load_iris(return_X_y=True)
    tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    search = GridSearchCV(DecisionTreeClassifier(), {"max_depth": [1]}, cv=2).fit(X, y)
    for wrong in (
        Foreign({"root": 1}),
        Foreign(None),
        Foreign(tree.tree_),
        search,
        Derived().fit(X, y),
        make_pipeline(tree),
        tree.tree_,
        None,
    ):
        with pytest.raises(RulesError, match=f"got .*{type(wrong).__qualname__}, expected a fit"):
            Rules.from_sklearn(wrong)
    with pytest.raises(RulesError, match="got an unfitted sklearn"):
        Rules.from_sklearn(ExtraTreeClassifier())


@pytest.mark.parametrize("kind", [ExtraTreeClassifier, ExtraTreeRegressor])
def test_randomised_trees_answer_as_they_did(kind):
    X, y = load_iris(return_X_y=True)
    tree = kind(random_state=0, max_depth=6).fit(X, y)
    rows = around(X, tree)
    assert np.array_equal(
        np.array(Rules.from_sklearn(tree).predict(rows).prediction), tree.predict(rows)
    )
