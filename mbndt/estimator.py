"""The learner as scikit-learn estimators over raw columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mbndt.errors import OptionError, shown
from mbndt.tables.inputs import class_factors, columns_of, iterable, matched, names_of, plain_labels

if TYPE_CHECKING:
    from numpy.random import RandomState

    from mbndt.arrays import Floats
    from mbndt.interpreter import Predictions
    from mbndt.learning.model import Model
    from mbndt.rules import Rules
    from mbndt.tables.schema import Schema

    Declared = Schema | Mapping[str, Any] | str | Path | None

MOST_SEED = 2**31
# What a pickle keeps of a model besides its rules and settings: plain values all.
FIGURES = ("history", "evidence", "moved", "dropped", "starts", "objective")
# Parameters that are no settings, or not as they stand.
OWN = {"preset", "schema", "class_weight", "random_state", "monotone"}


class _Learner(BaseEstimator):  # type: ignore[misc]
    """What both estimators share: parameters, fitting, leaf ids."""

    _task: str

    def __init__(
        self,
        *,
        preset: str = "default",
        depth: int | None = None,
        branching: int | None = None,
        leaf_budget: float | None = None,
        restarts: int | None = None,
        refine: bool | None = None,
        penalty: float | None = None,
        compact: bool | None = None,
        min_rows: int | None = None,
        min_events: int | None = None,
        monotone: Mapping[str, str] | None = None,
        monitor: str | None = None,
        schema: Declared = None,
        random_state: int | RandomState | None = 0,
        device: str | None = None,
    ) -> None:
        self.preset = preset
        self.depth = depth
        self.branching = branching
        self.leaf_budget = leaf_budget
        self.restarts = restarts
        self.refine = refine
        self.penalty = penalty
        self.compact = compact
        self.min_rows = min_rows
        self.min_events = min_events
        self.monotone = monotone
        self.monitor = monitor
        self.schema = schema
        self.random_state = random_state
        self.device = device

    rules_: Rules
    model_: Model

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:  # noqa: N803
        """Learn from rows X [n, F], their targets y [n] and their weights [n], 1 where None."""
        from mbndt.learning.aim import Aim
        from mbndt.learning.pipeline import learn
        from mbndt.learning.settings import preset
        from mbndt.learning.training_set import row_weights, with_target

        given = {k: v for k, v in self.get_params().items() if v is not None and k not in OWN}
        settings = preset(self.preset, seed=_seed(self.random_state), **given, **self._balance())
        schema = _schema(self.schema)
        table = columns_of(X)
        whole, target = with_target(table, plain_labels(y, type(self).__name__))
        each = None if sample_weight is None else row_weights(table, iterable(sample_weight))
        weights = self._weights(whole.columns[target], each)
        self.model_ = learn(
            whole,
            target,
            settings,
            schema=schema,
            task=self._task,
            weights=weights,
            aim=Aim(monotone=self.monotone),
        )
        self.rules_ = self.model_.rules
        self.n_features_in_ = len(table.columns)
        self._columns = [*table.columns]
        self.__dict__.pop("feature_names_in_", None)  # of a fit before
        if (names := names_of(X)) is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        return self

    def _balance(self) -> dict[str, Any]:
        return {}

    def _weights(self, labels: Any, weights: Floats | None) -> Floats | None:
        return weights

    def _answers(self, X: Any) -> Predictions:  # noqa: N803
        check_is_fitted(self)
        named = hasattr(self, "feature_names_in_")
        return self.rules_.predict(matched(X, self._columns, named, type(self).__name__))

    def apply(self, X: Any) -> npt.NDArray[np.int64]:  # noqa: N803
        """Return the leaf id of each row, [n]."""
        return self._answers(X).leaf

    def __getstate__(self) -> dict[str, Any]:
        """Return the state as plain values, the rules as their JSON.

        This is for stores that trust few types. The network and its encoder, which only `model_`
        had, stay behind.
        """
        state = dict(super().__getstate__())
        model = state.pop("model_", None)
        if model is not None:
            state["rules_"] = self.rules_.to_json()
            state["_figures"] = {name: getattr(model, name) for name in FIGURES}
            state["_settings"] = asdict(model.settings)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take a state of `__getstate__`; raises `RulesError` for rules that break the contract."""
        from mbndt.learning.model import Model
        from mbndt.learning.settings import Settings
        from mbndt.rules import Rules

        state = dict(state)
        figures, settings = state.pop("_figures", None), state.pop("_settings", None)
        super().__setstate__(state)
        if figures is not None:
            self.rules_ = Rules.from_json(state["rules_"])
            self.model_ = Model(self.rules_, Settings(**settings), **figures)


class MBNDTClassifier(ClassifierMixin, _Learner):  # type: ignore[misc]
    """Learn multi-branch decision rules that tell two or more classes apart.

    `X` is a data frame, a 2-D array or a list of n rows, raw: numbers, texts, booleans, missing
    values. A frame's columns are matched by name, and columns that were not learned from are
    ignored; an array's are matched by position. pandas' and polars' categories are categories,
    whatever their labels are.

    Parameters
    ----------
    preset
        The settings to start from: "default", "paper" (the published method: its networks, pruned
        and not refined) or "fast" (fewer starts). Each parameter below that is None keeps the
        preset's own.
    depth
        Most splits on a path, 1 to 4.
    branching
        Most branches of a split, 2 to 16.
    leaf_budget
        Number of effective leaves that the network aims at.
    restarts
        Number of networks to start from.
    refine
        Whether the rules are re-split exactly after pruning.
    penalty
        Price of an interval, in rows of mean weight; by the noise of the labels where None.
    compact
        Fewer leaves: whether the price of an interval is tripled.
    min_rows
        Least rows of a leaf; 3, or fewer where there are fewer than 90 rows, where None.
    min_events
        Least rows of the event in a leaf, unless it has as many rows as hold so many at the overall
        share.
    class_weight
        "balanced" (classes weigh equally), None (as their rows do), or {label: weight}, 1 for
        labels that it lacks. Probabilities count rows by these weights.
    monotone
        Numeric columns along which, all else equal, the chance of the event never falls
        (`{"age": "+"}`) or never rises (`"-"`), for two classes; the event is the rarer of them,
        the later of equally common ones, as `rules_.target.event` then says.
    monitor
        What the second stage of the networks stops by, "score" or "loss"; only preset "paper" has
        that stage.
    schema
        What columns are, where it can't be told from the values: a dict with `features` and
        `target`, or the path of a JSON or TOML file.
    random_state
        A seed, with which a fit is repeatable; None draws a new one each time, which
        `model_.settings.seed` tells; or NumPy's `RandomState`.
    device
        Where networks are trained, "cpu" or "cuda".

    Attributes
    ----------
    rules_
        The rules, with `compile`, `predict`, `to_json`, …
    model_
        The learned `Model`: rules, settings and the history of learning. A pickle keeps plain
        values and the rules' JSON, and leaves out the network.
    classes_
        The labels, [C].
    n_features_in_
        Number of columns learned from.
    feature_names_in_
        Their names, if `X` was a frame.

    Raises
    ------
    DataError
        (a `ValueError`) for data that can't be used.
    OptionError
        (a `ValueError`) for a wrong parameter, with the nearest valid choice.

    """

    _task = "classification"

    def __init__(
        self,
        *,
        preset: str = "default",
        depth: int | None = None,
        branching: int | None = None,
        leaf_budget: float | None = None,
        restarts: int | None = None,
        refine: bool | None = None,
        penalty: float | None = None,
        compact: bool | None = None,
        min_rows: int | None = None,
        min_events: int | None = None,
        class_weight: str | Mapping[Any, float] | None = "balanced",
        monotone: Mapping[str, str] | None = None,
        monitor: str | None = None,
        schema: Declared = None,
        random_state: int | RandomState | None = 0,
        device: str | None = None,
    ) -> None:
        super().__init__(
            preset=preset,
            depth=depth,
            branching=branching,
            leaf_budget=leaf_budget,
            restarts=restarts,
            refine=refine,
            penalty=penalty,
            compact=compact,
            min_rows=min_rows,
            min_events=min_events,
            monotone=monotone,
            monitor=monitor,
            schema=schema,
            random_state=random_state,
            device=device,
        )
        self.class_weight = class_weight

    def _balance(self) -> dict[str, Any]:
        if self.class_weight is None or isinstance(self.class_weight, Mapping):
            return {"class_weight": "none"}
        return {"class_weight": self.class_weight}

    def _weights(self, labels: Any, weights: Floats | None) -> Floats | None:
        if not isinstance(self.class_weight, Mapping):
            return weights
        factors = class_factors(labels, self.class_weight)
        return factors if weights is None else factors * weights

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> MBNDTClassifier:  # noqa: N803
        """Learn from rows X [n, F], their classes y [n] and their weights [n], 1 where None."""
        super().fit(X, y, sample_weight)
        self.classes_ = np.array(self.rules_.target.classes)
        return self

    def predict(self, X: Any) -> npt.NDArray[Any]:  # noqa: N803
        """Return the label of each row, [n]."""
        return np.array(self._answers(X).prediction, dtype=self.classes_.dtype)

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:  # noqa: N803
        """Return the probabilities of each row in the order of `classes_`, [n, C]."""
        found = self._answers(X).probabilities
        assert found is not None
        return found


class MBNDTRegressor(RegressorMixin, _Learner):  # type: ignore[misc]
    """Learn multi-branch decision rules that give a number.

    `X` is what `MBNDTClassifier` takes.

    Parameters
    ----------
    preset
        The settings to start from: "default", "paper" (the published method: its networks, pruned
        and not refined) or "fast" (fewer starts). Each parameter below that is None keeps the
        preset's own.
    depth
        Most splits on a path, 1 to 4.
    branching
        Most branches of a split, 2 to 16.
    leaf_budget
        Number of effective leaves that the network aims at.
    restarts
        Number of networks to start from.
    refine
        Whether the rules are re-split exactly after pruning.
    penalty
        Price of an interval, in rows of mean weight; by the noise of the labels where None.
    compact
        Fewer leaves: whether the price of an interval is tripled.
    min_rows
        Least rows of a leaf; 3, or fewer where there are fewer than 90 rows, where None.
    min_events
        Least rows of the event in a leaf, unless it has as many rows as hold so many at the overall
        share.
    monotone
        Numeric columns along which, all else equal, the answer never falls (`{"age": "+"}`) or
        never rises (`"-"`).
    monitor
        What the second stage of the networks stops by, "score" or "loss"; only preset "paper" has
        that stage.
    schema
        What columns are, where it can't be told from the values: a dict with `features` and
        `target`, or the path of a JSON or TOML file.
    random_state
        A seed, with which a fit is repeatable; None draws a new one each time, which
        `model_.settings.seed` tells; or NumPy's `RandomState`.
    device
        Where networks are trained, "cpu" or "cuda".

    Attributes
    ----------
    rules_
        The rules, with `compile`, `predict`, `to_json`, …
    model_
        The learned `Model`: rules, settings and the history of learning. A pickle keeps plain
        values and the rules' JSON, and leaves out the network.
    n_features_in_
        Number of columns learned from.
    feature_names_in_
        Their names, if `X` was a frame.

    Raises
    ------
    DataError
        (a `ValueError`) for data that can't be used.
    OptionError
        (a `ValueError`) for a wrong parameter, with the nearest valid choice.

    """

    _task = "regression"

    def predict(self, X: Any) -> npt.NDArray[np.float64]:  # noqa: N803
        """Return the value of each row, [n]."""
        return np.array(self._answers(X).prediction, np.float64)


def _seed(state: int | RandomState | None) -> int:
    if isinstance(state, int | np.integer) and not isinstance(state, bool):
        if 0 <= state <= MOST_SEED:
            return int(state)
    elif state is None or isinstance(state, np.random.RandomState):
        return int(check_random_state(state).randint(MOST_SEED - 1))
    raise OptionError(
        f"random_state: got {shown(state)}, expected None, a whole number from 0 to"
        f" {MOST_SEED}, or a RandomState"
    )


def _schema(declared: Declared) -> Schema | None:
    from mbndt.tables.schema import Schema

    if declared is None or isinstance(declared, Schema):
        return declared
    if isinstance(declared, Mapping):
        return Schema.of(dict(declared), "schema")
    return Schema.read(Path(declared))
