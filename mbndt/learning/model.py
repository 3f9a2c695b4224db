"""What learning gives: rules, and the networks, figures and counts that they came with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from mbndt.learning.network.encoding import Encoder
from mbndt.learning.settings import Settings
from mbndt.rules import Rules

if TYPE_CHECKING:
    from mbndt.learning.network.frozen import TrainedNetwork


@dataclass(frozen=True)
class Model:
    """The trained whole: rules, and what they came from.

    `network` is the winner of the restarts (None where no column varies or none was asked for) and
    `encoder` makes its scores; `history` has a record an epoch; `evidence` is what rows that
    learning did not see tell of the rules, empty without any; `moved` counts the thresholds that
    became shorter, `dropped` the rows left out as they lacked a target; `starts` has the objectives
    that refining began and ended with, for each start, and `objective` that of the rules.
    """

    rules: Rules
    settings: Settings
    encoder: Encoder | None = None
    network: TrainedNetwork | None = None
    history: tuple[dict[str, Any], ...] = ()
    evidence: Mapping[str, Any] = field(default_factory=dict)
    moved: int = 0
    dropped: int = 0
    starts: tuple[tuple[float, float], ...] = ()
    objective: float | None = None


def with_evidence(model: Model, evidence: Mapping[str, Any]) -> Model:
    """Return a model that states, in its rules too, how it did on rows that it has not seen."""
    provenance = {**model.rules.provenance, "evidence": dict(evidence)}
    return replace(model, evidence=evidence, rules=replace(model.rules, provenance=provenance))
