"""The learner as scikit-learn estimators over raw columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from mbndt.table import Table

if TYPE_CHECKING:
    from mbndt.interpreter import Predictions
    from mbndt.model import Model
    from mbndt.rules import Rules


class _Learner(BaseEstimator):  # type: ignore[misc]
    """What both estimators share: parameters as of `mbndt train`, fitting, leaf ids."""

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
        class_weight: str | None = None,
        monitor: str | None = None,
        random_state: int | None = None,
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
        self.class_weight = class_weight
        self.monitor = monitor
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
        from mbndt.model import learn
        from mbndt.rows import row_weights, with_target
        from mbndt.settings import preset

        options = {name: value for name, value in self.get_params().items() if value is not None}
        seed = options.pop("random_state", 0)
        settings = preset(options.pop("preset"), seed=seed, **options)
        table = _table(X)
        whole, target = with_target(table, y)
        weights = row_weights(table, sample_weight)
        self.model_ = learn(whole, target, settings, task=self._task, weights=weights)
        self.rules_ = self.model_.rules
        self.n_features_in_ = len(table.columns)
        self.feature_names_in_ = np.array([*table.columns], dtype=object)
        return self

    def _answers(self, X: Any) -> Predictions:  # noqa: N803
        check_is_fitted(self)
        return self.rules_.predict(_table(X))

    def apply(self, X: Any) -> npt.NDArray[np.int64]:  # noqa: N803
        """Return the leaf id of each row, [n]."""
        return self._answers(X).leaf


class MBNDTClassifier(ClassifierMixin, _Learner):  # type: ignore[misc]
    """Learn multi-branch decision rules that tell two or more classes apart.

    `X` is a data frame or a 2-D array of n rows, raw: numbers, texts, booleans, missing values.
    Parameters as of `mbndt train`; None leaves a preset's own, and `random_state` at 0: a fit is
    always repeatable. After `fit`: `rules_`, `model_`, `classes_` [C], `n_features_in_`. Raises
    `DataError` (a `ValueError`) for data that don't fit.
    """

    _task = "classification"

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
    """Learn multi-branch decision rules that give a number; see `MBNDTClassifier`."""

    _task = "regression"

    def predict(self, X: Any) -> npt.NDArray[np.float64]:  # noqa: N803
        """Return the value of each row, [n]."""
        return np.array(self._answers(X).prediction, np.float64)


def _table(data: Any) -> Table:
    return Table.of(np.asarray(data) if isinstance(data, list) else data)
