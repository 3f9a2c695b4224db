"""Training rows: what learning sees, and how it weighs and sums them up in leaves.

Weights count rows. Whole-number weights are repeats: a row of weight 3 is learned from as three
equal rows are, but for a factor common to all weights, which adds nothing. Other weights tell
proportions alone, so a factor changes nothing either; together they count for Kish's effective
number of rows, (sum of w)^2 / sum of w^2, which is never more than there are. Weights that are
whole by chance, such as a survey's, say more than they know: divided by their mean they don't.

Up to `SMOOTHED_ROWS` rows repeats are made of the weights before anything is learned, so that both
are one to the last bit, networks and the forest included. Beyond, rows and their repeats part ways
where rows are drawn: networks' batches and early stopping, and their encoder. Held-out rows are
drawn from the table, repeats or not. Leaves record rows as they stand in the table.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mbndt.arrays import Floats, Indices, Ints
from mbndt.errors import DataError, warn
from mbndt.interpreter import branches
from mbndt.learning.aim import Aim, scores
from mbndt.learning.refine.problem import Classes, Goal, Numbers
from mbndt.learning.settings import SMOOTHED_ROWS
from mbndt.rules import INT64_MAX, Feature, Leaf, Node, Rules, SetSplit, Target
from mbndt.rules.nodes import deep_recursion
from mbndt.rules.rules import event_of
from mbndt.tables.table import Column, Table
from mbndt.tables.target import Labels, Values, read_weights

LEAST_WEIGHT = 1e-9
MANY_REPEATS = 20
GRID = 2.0**-24  # of class weights


@dataclass(frozen=True)
class TrainingSet:
    """Training rows: typed columns of `features`, outcomes, and weights.

    `weights` [n] are all above zero and count rows. `balanced` says that classes weigh equally;
    `costs` [C, C] says instead what each answer costs where each class is true. `prevalence` [C]
    is how common classes will be, None for as common as they are here.
    """

    features: tuple[Feature, ...]
    typed: Mapping[str, Column]
    outcome: Labels | Values
    weights: Floats
    balanced: bool = True
    costs: Floats | None = None
    prevalence: Floats | None = None
    aim: Aim = field(default_factory=Aim)

    @property
    def n_rows(self) -> int:
        """Return the number of rows."""
        return len(self.weights)

    @property
    def count(self) -> float:
        """Return how many rows the weights count for."""
        return float(self.weights.sum())

    @property
    def codes(self) -> Ints | None:
        """Return the rows' classes, [n]; None for a regression."""
        return self.outcome.codes if isinstance(self.outcome, Labels) else None

    @property
    def target(self) -> Target:
        """Return what the rules are to tell."""
        return self.outcome.target

    def take(self, index: Indices) -> TrainingSet:
        """Return some of the rows."""
        outcome: Labels | Values
        if isinstance(self.outcome, Labels):
            outcome = replace(self.outcome, codes=self.outcome.codes[index])
        else:
            outcome = replace(self.outcome, values=self.outcome.values[index])
        typed = {name: column.take(index) for name, column in self.typed.items()}
        return replace(self, typed=typed, outcome=outcome, weights=self.weights[index])

    def repeated(self) -> TrainingSet:
        """Return the rows as often as they weigh, in their order.

        Where that is no whole number, or above `SMOOTHED_ROWS` rows, they stay as they are.
        """
        times = self.weights.astype(np.int64) if self.count <= SMOOTHED_ROWS else None
        if times is None or np.any(times != self.weights) or np.all(times == 1):
            return self
        index = np.repeat(np.arange(self.n_rows), times)
        return replace(self.take(index), weights=np.ones(len(index)))

    def counted(self, rules: Rules) -> Rules:
        """Return rules whose leaves and splits record these rows, whatever they came from."""

        def node(old: Node, index: Indices) -> Node:
            if isinstance(old, Leaf):
                if self.codes is None:
                    return replace(old, n=len(index))
                return replace(old, counts=self._counts(index))
            column = self.typed[old.feature].take(index)
            to = branches(rules, old, column)
            children = [node(child, index[to == i]) for i, child in enumerate(old.children)]
            found = replace(old, children=tuple(children), missing_rows=int(column.missing.sum()))
            if isinstance(found, SetSplit) and found.unseen is not None:
                listed = {text for group in found.groups for text in group.values}
                known = [text in listed for text in rules.feature[old.feature].categories]
                # One place more at the end, where the code of an unseen text (-1) lands.
                rest = ~np.array([*known, False])[column.values] & ~column.missing
                return replace(found, unseen_rows=int(rest.sum()))
            return found

        with deep_recursion():
            return replace(rules, root=node(rules.root, np.arange(self.n_rows)))

    def indicators(self) -> Floats:
        """Return the rows' outcomes as numbers, [n, K].

        One column a class, or the values of a regression at mean 0 and unit spread.
        """
        if isinstance(self.outcome, Labels):
            return np.eye(len(self.target.classes))[self.outcome.codes]
        values = self.outcome.values
        mean = np.average(values, weights=self.weights)
        spread = np.sqrt(np.average((values - mean) ** 2, weights=self.weights))
        return ((values - mean) / (spread or 1.0))[:, None]

    def class_weights(self) -> Floats:
        """Return each class's weight, [C]: n / (C n_c), or 1 if classes aren't balanced.

        With costs it is what errors of the class cost, such that a row weighs 1 in the mean.
        """
        assert isinstance(self.outcome, Labels)
        count = len(self.target.classes)
        sums = np.bincount(self.outcome.codes, self.weights, count)
        if self.costs is not None:
            each = self.costs.sum(1)
            return np.asarray(each * (sums.sum() / (sums @ each)))
        if not self.balanced:
            return np.ones(count)
        present = np.count_nonzero(sums)
        return np.asarray(np.divide(sums.sum(), present * sums, out=np.ones(count), where=sums > 0))

    def noise(self, view: Floats) -> float:
        """Return how noisy the outcomes are in a view of them [n, K].

        Gini's impurity, each class weighing the same if balanced, or the mean squared error at unit
        spread.
        """
        if isinstance(self.outcome, Values):
            return float(np.average((self.indicators() - view)[:, 0] ** 2, weights=self.weights))
        share = view * self.class_weights()
        share /= share.sum(1, keepdims=True)
        weights = self.weights * self.class_weights()[self.outcome.codes]
        return float(np.average(1 - (share**2).sum(1), weights=weights))

    def goal(self, outcome: Floats) -> Goal:
        """Return the goal of (smoothed) outcomes."""
        if isinstance(self.outcome, Labels):
            # On a grid, so that sums are exact: of rows in any order, and of repeats.
            each = np.round(self.class_weights() / GRID) * GRID
            mass = outcome * each
            if self.costs is not None:
                relative = self.costs / self.costs.sum(1, keepdims=True) * (len(each) - 1)
                mass = np.round(scores(mass @ relative) / GRID) * GRID
            return Classes(mass * self.weights[:, None])
        return Numbers(outcome[:, 0], self.weights)

    def class_counts(self) -> Floats | None:
        """Return how many rows there are of each class, [C]; None for a regression."""
        if self.codes is None:
            return None
        return np.asarray(np.bincount(self.codes, self.weights, len(self.target.classes)), float)

    def shares(self) -> Floats:
        """Return the share of each class, [C]."""
        counts = self.class_counts()
        assert counts is not None
        return np.asarray(counts / counts.sum())

    @property
    def event(self) -> int | None:
        """Return the index of the class whose finding counts: the stated, or the rarer of two."""
        counts = self.class_counts()
        if counts is None:
            return None
        return event_of(self.target, counts.tolist())

    def imbalance(self) -> float:
        """Return how many rows of the data are worth one of balanced data.

        Rows beside Kish's effective rows, as a row of a light class weighs as many of the others.
        """
        counts = self.class_counts()
        if counts is None:
            return 1.0
        return float(counts @ self.class_weights() ** 2 / self.count)

    def numbers(self) -> Floats:
        """Return the rows' outcomes as one number each, [n]: class indices, or values."""
        if isinstance(self.outcome, Labels):
            return self.outcome.codes.astype(np.float64)
        return self.outcome.values

    def single_leaf(self) -> Leaf:
        """Return the leaf of rules that tell nothing: the commonest class, or the cheapest one."""
        plain = self if self.costs is not None else replace(self, balanced=False)
        return plain.leaf(0, np.arange(self.n_rows))

    def leaf(self, number: int, index: Indices, goal: Goal | None = None) -> Leaf:
        """Return the leaf that rows reach.

        It has the shares of their weighted classes (as smoothed in `goal`), or their mean.
        """
        if isinstance(self.outcome, Values):
            values, weights = self.outcome.values[index], self.weights[index]
            mean = float(np.average(values, weights=weights))
            std = float(np.sqrt(np.average((values - mean) ** 2, weights=weights)))
            return Leaf(number, mean, n=len(index), mean=mean, std=std)
        goal = goal or self.goal(self.indicators())
        assert isinstance(goal, Classes)
        mass = goal.mass[index].sum(0)
        return Leaf(number, tuple((mass / mass.sum()).tolist()), self._counts(index))

    def network_leaf(self, number: int, outputs: Floats, index: Indices) -> Leaf:
        """Return the leaf that rows reach, with the network's probabilities of classes."""
        if isinstance(self.outcome, Values):
            return self.leaf(number, index)
        if len(outputs) == 1:
            p = 1 / (1 + math.exp(-float(outputs[0])))
            return Leaf(number, (1.0 - p, p), self._counts(index))
        p = np.exp(outputs - outputs.max())
        return Leaf(number, tuple((p / p.sum()).tolist()), self._counts(index))

    def _counts(self, index: Indices) -> tuple[int, ...]:
        assert isinstance(self.outcome, Labels)
        size = len(self.target.classes)
        return tuple(np.bincount(self.outcome.codes[index], minlength=size).tolist())


def aimed(training: TrainingSet, aim: Aim) -> TrainingSet:
    """Return training rows with what is stated of the answers' use.

    Raises `OptionError` for what doesn't fit the target.
    """
    outcome = replace(training.outcome, target=aim.target(training.target))
    training = replace(training, outcome=outcome)
    aim.check_monotone(training.features, training.target)
    event = training.event
    if aim.monotone and event is not None:
        # What is to rise is settled for all parts of these rows, and stands in the rules.
        target = replace(training.target, event=training.target.classes[event])
        training = replace(training, outcome=replace(training.outcome, target=target))
    costs = aim.costs(training.target, event)
    shares = aim.shares(training.target, event)
    return replace(training, costs=costs, prevalence=shares, aim=aim)


def with_target(table: Table, y: Any) -> tuple[Table, str]:
    """Return the table with targets y [n] as one more column, and that column's name.

    That of y, or `target`, with `_` added where the table has it already.
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
    """Return the rows' weights [n] as given, one number for all of them, or None.

    Raises `DataError` for wrong ones.
    """
    if weights is None:
        return None
    if np.ndim(weights) > 1:
        raise DataError(
            f"sample_weight: got {np.ndim(weights)} dimensions, expected one weight a"
            " row, or one number"
        )
    if np.ndim(weights) == 0:
        weights = np.full(table.n_rows, weights)
    found = read_weights(Table.of({"sample_weight": weights}), "sample_weight")
    _check_rows("sample_weight", found, table)
    return found


def unit_weights(rows: int, weights: Floats | None) -> Floats:
    """Return weights [n] as counts of rows (see above).

    A row that weighs next to nothing beside the greatest weighs nothing.
    """
    if weights is None:
        return np.ones(rows)
    if not weights.any():
        return weights
    scaled = weights / weights.max()
    scaled[scaled < LEAST_WEIGHT] = 0.0
    kept = weights[scaled > 0]
    if np.all(kept == np.floor(kept)) and kept.max() <= INT64_MAX:
        found = np.where(scaled > 0, weights, 0.0)
        found = np.asarray(found / np.gcd.reduce(kept.astype(np.int64)))
        if found.sum() > MANY_REPEATS * len(kept):
            warn(
                f"weights: whole numbers count as repeats, so {len(kept)} rows count as"
                f" {found.sum():.0f}; if these weights are proportions, divide them by their"
                " mean"
            )
        return found
    part, power = np.frexp(scaled * (scaled.sum() / (scaled**2).sum()))
    # What a factor may change in the last bits is rounded off.
    return np.asarray(np.ldexp(np.round(part * 2**40) / 2**40, power))


def _check_rows(name: str, values: Any, table: Table) -> None:
    if len(values) != table.n_rows:
        raise DataError(f"{name}: {len(values)} values, expected {table.n_rows}, one per row of X")
