"""Training rows: what learning sees, and how it weighs and sums them up in leaves."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from mbndt.errors import DataError
from mbndt.problem import Classes, Floats, Goal, Indices, Numbers
from mbndt.rules import Feature, Leaf, Target
from mbndt.schema import Labels, Values, read_weights
from mbndt.table import Column, Table

LEAST_WEIGHT = 1e-9


@dataclass(frozen=True)
class Rows:
    """Training rows: typed columns of `features`, what they should lead to, and the rows'
    `weights` [n], all above zero. `balanced` says that classes weigh equally.
    """

    features: tuple[Feature, ...]
    typed: Mapping[str, Column]
    outcome: Labels | Values
    weights: Floats
    balanced: bool = True

    @property
    def rows(self) -> int:
        """Return the number of rows."""
        return len(self.weights)

    @property
    def codes(self) -> npt.NDArray[np.int64] | None:
        """Return the rows' classes, [n]; None for a regression."""
        return self.outcome.codes if isinstance(self.outcome, Labels) else None

    @property
    def target(self) -> Target:
        """Return what the rules are to tell."""
        return self.outcome.target

    def take(self, index: Indices) -> Rows:
        """Return some of the rows."""
        outcome: Labels | Values
        if isinstance(self.outcome, Labels):
            outcome = replace(self.outcome, codes=self.outcome.codes[index])
        else:
            outcome = replace(self.outcome, values=self.outcome.values[index])
        typed = {name: column.take(index) for name, column in self.typed.items()}
        return replace(self, typed=typed, outcome=outcome, weights=self.weights[index])

    def indicators(self) -> Floats:
        """Return the rows' outcomes as numbers: one column a class [n, C], or the values of a
        regression at mean 0 and unit spread [n, 1].
        """
        if isinstance(self.outcome, Labels):
            return np.eye(len(self.target.classes))[self.outcome.codes]
        values = self.outcome.values
        mean = np.average(values, weights=self.weights)
        spread = np.sqrt(np.average((values - mean) ** 2, weights=self.weights))
        return ((values - mean) / (spread or 1.0))[:, None]

    def class_weights(self) -> Floats:
        """Return each class's weight, [C]: n / (C n_c), or 1 if classes aren't balanced."""
        assert isinstance(self.outcome, Labels)
        count = len(self.target.classes)
        sums = np.bincount(self.outcome.codes, self.weights, count)
        if not self.balanced:
            return np.ones(count)
        present = np.count_nonzero(sums)
        return np.asarray(np.divide(sums.sum(), present * sums, out=np.ones(count), where=sums > 0))

    def noise(self, view: Floats) -> float:
        """Return how noisy the outcomes are in a view of them [n, K]: Gini's impurity, each class
        weighing the same if balanced, or the mean squared error at unit spread.
        """
        if isinstance(self.outcome, Values):
            return float(np.average((self.indicators() - view)[:, 0] ** 2, weights=self.weights))
        share = view * self.class_weights()
        share /= share.sum(1, keepdims=True)
        weights = self.weights * self.class_weights()[self.outcome.codes]
        return float(np.average(1 - (share**2).sum(1), weights=weights))

    def goal(self, outcome: Floats) -> Goal:
        """Return the goal of (smoothed) outcomes, weighted to a mean weight of 1."""
        weights = self.weights / self.weights.mean()
        if isinstance(self.outcome, Labels):
            return Classes(outcome * self.class_weights() * weights[:, None])
        return Numbers(outcome[:, 0], weights)

    def numbers(self) -> Floats:
        """Return the rows' outcomes as one number each, [n]: class indices, or values."""
        if isinstance(self.outcome, Labels):
            return self.outcome.codes.astype(np.float64)
        return self.outcome.values

    def leaf(self, number: int, rows: Indices, goal: Goal | None = None) -> Leaf:
        """Return the leaf that rows reach: the shares of their weighted classes (as smoothed in
        `goal`), or their mean.
        """
        if isinstance(self.outcome, Values):
            values, weights = self.outcome.values[rows], self.weights[rows]
            mean = float(np.average(values, weights=weights))
            std = float(np.sqrt(np.average((values - mean) ** 2, weights=weights)))
            return Leaf(number, mean, n=len(rows), mean=mean, std=std)
        goal = goal or self.goal(self.indicators())
        assert isinstance(goal, Classes)
        mass = goal.mass[rows].sum(0)
        return Leaf(number, tuple((mass / mass.sum()).tolist()), self._counts(rows))

    def network_leaf(self, number: int, outputs: Floats, rows: Indices) -> Leaf:
        """Return the leaf that rows reach, with the network's probabilities of classes."""
        if isinstance(self.outcome, Values):
            return self.leaf(number, rows)
        if len(outputs) == 1:
            p = 1 / (1 + math.exp(-float(outputs[0])))
            return Leaf(number, (1.0 - p, p), self._counts(rows))
        p = np.exp(outputs - outputs.max())
        return Leaf(number, tuple((p / p.sum()).tolist()), self._counts(rows))

    def _counts(self, rows: Indices) -> tuple[int, ...]:
        assert isinstance(self.outcome, Labels)
        size = len(self.target.classes)
        return tuple(np.bincount(self.outcome.codes[rows], minlength=size).tolist())


def with_target(table: Table, y: Any) -> tuple[Table, str]:
    """Return the table with targets y [n] as one more column, and that column's name: that of y, or
    `target`, with `_` added where the table has it already.
    """
    own = getattr(y, "name", None)
    target = own if isinstance(own, str) and own else "target"
    while target in table:
        target = f"{target}_"
    if len(getattr(y, "shape", (0,))) == 2:
        if y.shape[1] != 1:
            raise DataError(f"y: {y.shape[1]} columns, expected one")
        y = np.asarray(y)[:, 0]
    column = Table.of({target: y})
    _check_rows("y", column.columns[target], table)
    declared = {**table.declared, **column.declared}
    return replace(table, columns={**table.columns, **column.columns}, declared=declared), target


def row_weights(table: Table, weights: Any) -> Floats | None:
    """Return the rows' weights [n] as given, or None; raises `DataError` for wrong ones."""
    if weights is None:
        return None
    found = read_weights(Table.of({"sample_weight": weights}), "sample_weight")
    _check_rows("sample_weight", found, table)
    return found


def unit_weights(rows: int, weights: Floats | None) -> Floats:
    """Return weights [n] on the scale of the greatest, so that their sums stay in range; a row that
    weighs next to nothing beside it weighs nothing.
    """
    if weights is None:
        return np.ones(rows)
    scaled = weights / weights.max(initial=0.0) if weights.any() else weights
    return np.where(scaled < LEAST_WEIGHT, 0.0, scaled)


def _check_rows(name: str, values: Any, table: Table) -> None:
    if len(values) != table.rows:
        raise DataError(f"{name}: {len(values)} values, expected {table.rows}, one a row of X")
