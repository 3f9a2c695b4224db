"""The learner as a scikit-learn estimator over raw columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from mbndt.errors import DataError
from mbndt.table import Table

if TYPE_CHECKING:
    from mbndt.interpreter import Predictions
    from mbndt.model import Model
    from mbndt.rules import Rules


class MBNDTClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Learn multi-branch decision rules that tell two classes apart.

    `X` is a data frame or a 2-D array of n rows, raw: numbers, texts, booleans, missing values.
    Parameters as of `mbndt train`; None leaves a preset's own, and `random_state` at 0: a fit is
    always repeatable. After `fit`: `rules_`, `model_`,
    `classes_` [C], `n_features_in_`. Raises `DataError` (a `ValueError`) for data that don't fit.
    """

    def __init__(
        self,
        *,
        preset: str = "default",
        depth: int | None = None,
        branching: int | None = None,
        leaf_budget: float | None = None,
        restarts: int | None = None,
        random_state: int | None = None,
        device: str | None = None,
    ) -> None:
        self.preset = preset
        self.depth = depth
        self.branching = branching
        self.leaf_budget = leaf_budget
        self.restarts = restarts
        self.random_state = random_state
        self.device = device

    rules_: Rules
    model_: Model

    def fit(self, X: Any, y: Any) -> MBNDTClassifier:  # noqa: N803
        """Learn from rows X [n, F] and their classes y [n]."""
        from mbndt.model import learn
        from mbndt.training import preset

        table = _table(X)
        names = ("depth", "branching", "leaf_budget", "restarts", "device")
        given = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        settings = preset(self.preset, seed=self.random_state or 0, **given)
        name = getattr(y, "name", None)
        target = name if isinstance(name, str) and name else "target"
        while target in table:
            target = f"{target}_"
        labels = next(iter(Table.of({target: y}).columns.values()))
        if len(labels) != table.rows:
            raise DataError(f"y: {len(labels)} values, expected {table.rows}, one a row of X")
        whole = Table({**table.columns, target: labels}, table.rows)
        self.model_ = learn(whole, target, settings)
        self.rules_ = self.model_.rules
        self.classes_ = np.array(self.rules_.target.classes)
        self.n_features_in_ = len(table.columns)
        self.feature_names_in_ = np.array([*table.columns], dtype=object)
        return self

    def _answers(self, X: Any) -> Predictions:  # noqa: N803
        check_is_fitted(self)
        return self.rules_.predict(_table(X))

    def predict(self, X: Any) -> npt.NDArray[Any]:  # noqa: N803
        """Return the label of each row, [n]."""
        return np.array(self._answers(X).prediction, dtype=self.classes_.dtype)

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:  # noqa: N803
        """Return the probabilities of each row in the order of `classes_`, [n, C]."""
        found = self._answers(X).probabilities
        assert found is not None
        return found

    def apply(self, X: Any) -> npt.NDArray[np.int64]:  # noqa: N803
        """Return the leaf id of each row, [n]."""
        return self._answers(X).leaf


def _table(data: Any) -> Table:
    return Table.of(np.asarray(data) if isinstance(data, list) else data)
