"""The parameters of the estimators: they are those of the learner, with scikit-learn's own."""

import inspect
import json
import re
from dataclasses import fields

import numpy as np
import pandas as pd
import pytest
from estimators import fast, pair
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from mbndt import MBNDTClassifier, MBNDTRegressor
from mbndt.errors import OptionError
from mbndt.learning.settings import Settings
from mbndt.tables.schema import Schema

# Toy tables number their rows, and one column tells the target.
pytestmark = [
    pytest.mark.filterwarnings(f"ignore:.*{words}:mbndt.errors.DataWarning")
    for words in ("numbers the rows", "alone tells", "holds numbers as texts")
]


def test_numbers_of_numpy_are_parameters():
    X = pd.DataFrame({"x": np.arange(40.0)})
    y = (X["x"] > 19).astype(int)
    search = GridSearchCV(
        MBNDTClassifier(preset="fast"),
        {"depth": np.arange(1, 3), "penalty": np.float64([1, 2])},
        cv=2,
    )
    assert search.fit(X, y).best_score_ > 0.6


def test_a_schema_is_taken_as_a_dict_a_path_or_itself(tmp_path):
    said = {"features": [{"name": "a", "unit": "mg/l"}, {"name": "b", "type": "float32"}]}
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(said))
    X, y = pair()
    models = [fast(schema=s).fit(X, y) for s in (said, path, str(path), Schema.read(path))]
    for model in models:
        assert model.rules_ == models[0].rules_
        assert clone(model).fit(X, y).rules_.feature["a"].unit == "mg/l"
    assert models[0].rules_.feature["b"].type.value == "float32"
    with pytest.raises(OptionError, match="schema: unknown key 'feature'"):
        fast(schema={"feature": []}).fit(X, y)


def unequal(n=400):
    draw = np.random.default_rng(0)
    X = pd.DataFrame({"x": draw.integers(0, 4, n)})
    return X, (draw.random(n) < X["x"] * 0.12).astype(int)


def test_class_weights_are_balanced_as_they_come_or_given():
    X, y = unequal()
    assert inspect.signature(MBNDTClassifier).parameters["class_weight"].default == "balanced"
    assert 1 in fast().fit(X, y).predict(X)
    plain = fast(class_weight=None).fit(X, y)
    assert plain.predict(X).tolist() == [0] * 400  # no value of x has a majority of 1
    leaf = plain.rules_.leaves[0]
    assert leaf.value[0] == pytest.approx(np.mean(y == 0))
    weighted = fast(class_weight={1: 3.0}).fit(X, y)
    same = fast(class_weight=None).fit(X, y, np.where(y == 1, 3.0, 1.0))
    assert weighted.rules_ == same.rules_
    assert 1 in weighted.predict(X)
    both = fast(class_weight={0: 1, 1: 3}).fit(X, y, np.full(400, 2.0))
    assert both.rules_.root == weighted.rules_.root


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({2: 1.0}, "the label 2, which no row has"),
        ({"1": 1.0}, "the label '1', which no row has; did you mean '1'?"),
        ({1: 0.0}, "got 0.0 for 1, expected a finite number above 0"),
        ({1: "much"}, "got 'much' for 1"),
        ("even", "class_weight: got 'even'"),
    ],
)
def test_a_wrong_class_weight_is_named(wrong, message):
    with pytest.raises(OptionError, match=re.escape(message)):
        fast(class_weight=wrong).fit(*unequal())


def test_a_regressor_has_no_class_weight():
    assert "class_weight" not in MBNDTRegressor().get_params()


def test_random_states_are_scikit_learns():
    X, y = pair()
    given = ({}, {"random_state": np.int64(7)}, {"random_state": 7})
    assert [fast(**o).fit(X, y).model_.settings.seed for o in given] == [0, 7, 7]
    state = np.random.RandomState(3)
    drawn = [fast(random_state=state).fit(X, y).model_.settings.seed for _ in range(2)]
    assert drawn[0] != drawn[1]
    assert fast(random_state=np.random.RandomState(3)).fit(X, y).model_.settings.seed == drawn[0]
    fresh = {fast(random_state=None).fit(X, y).model_.settings.seed for _ in range(3)}
    assert len(fresh) == 3
    for wrong in (-1, 2**40, "x", True, 1.5):
        with pytest.raises(OptionError, match="random_state: got"):
            fast(random_state=wrong).fit(X, y)


@pytest.mark.parametrize("kind", [MBNDTClassifier, MBNDTRegressor])
def test_parameters_are_the_basic_settings_and_scikit_learns_own(kind):
    basic = {entry.name for entry in fields(Settings) if entry.metadata["basic"]}
    own = {"preset", "compact", "monotone", "schema", "random_state"}
    expected = basic - {"seed", "class_weight"} | own
    expected |= {"class_weight"} if kind is MBNDTClassifier else set()
    assert set(kind().get_params()) == expected


@pytest.mark.parametrize("kind", [MBNDTClassifier, MBNDTRegressor])
def test_each_parameter_and_attribute_is_documented(kind):
    parameters, attributes = inspect.getdoc(kind).split("\nAttributes\n")
    named = re.findall(r"^(\w+)$", parameters, re.MULTILINE)[1:]
    assert set(named) == set(kind().get_params())
    x, y = np.arange(40.0).reshape(20, 2), np.arange(20) % 2
    fitted = kind(preset="fast", restarts=0).fit(pd.DataFrame(x, columns=["a", "b"]), y)
    public = {name for name in vars(fitted) if name.endswith("_") and not name.startswith("_")}
    assert set(re.findall(r"^(\w+_)$", attributes, re.MULTILINE)) == public
