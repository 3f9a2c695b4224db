"""What the answers are for: the event that counts, what errors cost, how common classes are.

By default classes weigh equally. Stated costs make the answer that of least expected cost by the
risks (Elkan, IJCAI 2001), and the splits those that serve it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mbndt.arrays import Floats
from mbndt.errors import OptionError, nearest, shown
from mbndt.rules import Feature, Label, Rules, Target
from mbndt.rules.monotone import SIGNS
from mbndt.rules.values import label_text

MISSED, FALSE = "missed", "false"
OPERATING, PREVALENCE, MONOTONE = "operating point", "prevalence", "monotone"


@dataclass(frozen=True)
class Aim:
    """What is stated of the answers' use, in the user's words.

    `event` is the class whose finding counts. `act_at` is the least risk of the event at which it
    is the answer; `cost` says it otherwise: `{"missed": 10, "false": 1}` for two classes, or
    `{truth: {answer: cost}}`. `prevalence` is the share of the event, or of each class, where the
    rules will be used. `monotone` names numeric features along which, all else equal, the chance of
    the event, or a regression's value, never falls ("+") or never rises ("-").
    """

    event: object = None
    act_at: float | None = None
    cost: Mapping[str, Any] | None = None
    prevalence: float | Mapping[str, float] | None = None
    monotone: Mapping[str, str] | None = None

    @classmethod
    def of_rules(cls, rules: Rules) -> Aim:
        """Return the aim that rules were learned with, by their provenance."""
        stated = rules.provenance.get(OPERATING)
        stated = stated if isinstance(stated, Mapping) else {}
        return cls(
            rules.target.event,
            stated.get("act_at"),
            stated.get("cost"),
            rules.provenance.get(PREVALENCE),
            rules.provenance.get(MONOTONE),
        )

    def stated(self) -> dict[str, Any]:
        """Return what rules record of it."""
        found: dict[str, Any] = {}
        if self.act_at is not None:
            found[OPERATING] = {"act_at": float(self.act_at)}
        elif self.cost is not None:
            found[OPERATING] = {"cost": dict(self.cost)}
        if self.prevalence is not None:
            given = self.prevalence
            found[PREVALENCE] = dict(given) if isinstance(given, Mapping) else float(given)
        if self.monotone:
            found[MONOTONE] = dict(self.monotone)
        return found

    def target(self, target: Target) -> Target:
        """Return the target with the event; raises `OptionError` for a class that it lacks."""
        if replace(self, monotone=None) == Aim():
            return target
        if not target.classes:
            raise OptionError(
                "event, act_at, cost, prevalence: only for classes, and"
                f" {shown(target.name)} is a number"
            )
        if self.event is None:
            return target
        return replace(target, event=_class_of("event", self.event, target))

    def check_monotone(self, features: Sequence[Feature], target: Target) -> None:
        """Raise `OptionError` for an order that can't be kept, or not along these features."""
        if self.monotone is None:
            return
        if not isinstance(self.monotone, Mapping):
            raise OptionError(f'monotone: got {shown(self.monotone)}, expected {{"age": "+"}}')
        if self.monotone and len(target.classes) > 2:
            raise OptionError(
                f"monotone: {shown(target.name)} has {len(target.classes)} classes, expected two,"
                " or a number"
            )
        numeric = [feature.name for feature in features if feature.type.numeric]
        kinds = {feature.name: feature.type for feature in features}
        for name, sign in self.monotone.items():
            if name not in kinds:
                raise OptionError(
                    f"monotone: no feature {shown(name)}{nearest(str(name), numeric)}"
                )
            if name not in numeric:
                raise OptionError(
                    f"monotone: {shown(name)} is of type {kinds[name]}, expected a numeric feature"
                    f"{nearest(name, numeric)}"
                )
            if sign not in SIGNS:
                raise OptionError(f"monotone: {name}: got {shown(sign)}, expected + or -")

    def costs(self, target: Target, event: int | None) -> Floats | None:
        """Return what it costs to answer a class [C, C] where another is true, None if unstated.

        Rows are true classes. Raises `OptionError` for what doesn't fit the target.
        """
        if self.act_at is not None and self.cost is not None:
            raise OptionError("act_at, cost: expected one of them, as each says the other")
        if self.act_at is not None:
            t = _number("act_at", self.act_at)
            if not 0 < t < 1:
                raise OptionError(f"act_at: got {shown(self.act_at)}, expected above 0 and below 1")
            return _of_two("act_at", target, event, 1 - t, t)
        if self.cost is None:
            return None
        if not isinstance(self.cost, Mapping) or not self.cost:
            raise OptionError(f"cost: got {shown(self.cost)}, expected {_EXPECTED}")
        if any(not isinstance(value, Mapping) for value in self.cost.values()):
            return self._of_errors(target, event)
        return self._of_classes(target)

    def _of_errors(self, target: Target, event: int | None) -> Floats:
        assert self.cost is not None
        for key in self.cost:
            if key not in (MISSED, FALSE):
                raise OptionError(f"cost: unknown {shown(key)}{nearest(str(key), (MISSED, FALSE))}")
        missed, false = (_positive(f"cost: {k}", self.cost.get(k, 1)) for k in (MISSED, FALSE))
        return _of_two("cost", target, event, missed, false)

    def _of_classes(self, target: Target) -> Floats:
        assert self.cost is not None
        found = 1.0 - np.eye(len(target.classes))
        for truth, row in self.cost.items():
            i = target.classes.index(_class_of("cost", truth, target))
            for answer, cost in row.items():
                k = target.classes.index(_class_of(f"cost: {truth}", answer, target))
                if i == k and cost != 0:
                    raise OptionError(f"cost: {truth}: {answer}: right, so it costs 0")
                if i != k:
                    found[i, k] = _positive(f"cost: {truth}: {answer}", cost)
        return found

    def shares(self, target: Target, event: int | None) -> Floats | None:
        """Return each class's stated share [C], None if unstated; raises `OptionError`."""
        if self.prevalence is None:
            return None
        if not isinstance(self.prevalence, Mapping):
            share = _number("prevalence", self.prevalence)
            if not 0 < share < 1:
                raise OptionError(
                    f"prevalence: got {shown(self.prevalence)}, expected above 0 and below 1"
                )
            found = _of_two("prevalence", target, event, share, 1 - share)
            return np.asarray(found.sum(1))
        shares = np.zeros(len(target.classes))
        for name, share in self.prevalence.items():
            place = target.classes.index(_class_of("prevalence", name, target))
            shares[place] = _positive(f"prevalence: {name}", share)
        if np.any(shares == 0) or abs(shares.sum() - 1) > 1e-6:
            raise OptionError(
                f"prevalence: got {shown(dict(self.prevalence))}, expected a share for each class,"
                " 1 together"
            )
        return shares


_EXPECTED = "missed=10,false=1, or a cost for pairs of classes"


def _of_two(name: str, target: Target, event: int | None, of_event: float, other: float) -> Floats:
    """Return [2, 2] costs: of missing the event, and of an answer of it where it is not."""
    if len(target.classes) != 2 or event is None:
        raise OptionError(
            f"{name}: {len(target.classes)} classes, and a single number speaks of two; state a"
            " value for each class"
        )
    found = np.zeros((2, 2))
    found[event, 1 - event], found[1 - event, event] = of_event, other
    return found


def _class_of(name: str, given: object, target: Target) -> Label:
    """Return the class that a text or a label names."""
    for label in target.classes:
        if (type(given) is type(label) and given == label) or given == label_text(label):
            return label
    known = [label_text(label) for label in target.classes]
    raise OptionError(f"{name}: no class {shown(given)}{nearest(str(given), known)}")


def _number(name: str, given: object) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float) or not math.isfinite(given):
        raise OptionError(f"{name}: got {shown(given)}, expected a number")
    return float(given)


def _positive(name: str, given: object) -> float:
    if not 0 < (number := _number(name, given)) < 1e9:
        raise OptionError(f"{name}: got {shown(given)}, expected a number above 0")
    return number


def scores(costs: Floats) -> Floats:
    """Return weights of answers [..., C] for what each costs [..., C]: the greatest costs least.

    They are such that a row's cost is the sum of the weights of all other answers, but for a
    constant; none is below 0.
    """
    count = costs.shape[-1]
    found = costs.sum(-1, keepdims=True) / (count - 1) - costs
    return np.asarray(found - np.minimum(found.min(-1, keepdims=True), 0.0))
