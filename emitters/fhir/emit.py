"""FHIR R4 with CQL 1.5: a library and a plan that asks it, for the systems of hospitals."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from mbndt.emitters.base import Artifact, Emitter, identifier
from mbndt.emitters.fhir.numbers import PLACES, held, moved, rounded
from mbndt.emitters.fhir.options import FhirOptions
from mbndt.emitters.fhir.resources import bundle
from mbndt.errors import shown
from mbndt.rules import Rules

if TYPE_CHECKING:
    from mbndt.interpreter import Predictions
    from mbndt.tables.table import Table


class Fhir(FhirOptions, Emitter):
    """Emit a bundle of two resources."""

    target = "fhir"

    def emit(self, rules: Rules) -> Artifact:
        """Return the bundle; raises `TargetError` for numbers that CQL doesn't hold."""
        text = json.dumps(bundle(rules), indent=1, ensure_ascii=False)
        return Artifact(identifier(rules.name), ".fhir.json", f"{text}\n", rules, _notes(rules))

    def unheld(self) -> tuple[int | float, ...]:
        """Return the infinities, which CQL doesn't have."""
        return (float("-inf"), float("inf"))

    def engine(self) -> str:
        """Return the engine's packages; raises `EngineMissing` where one lacks."""
        from mbndt.emitters.fhir.run import engine

        return engine()

    def run(self, artifact: Artifact, table: Table) -> Predictions:
        """Answer the rows by the library, and see that one action of the plan fits each."""
        from mbndt.emitters.fhir.run import run

        return run(artifact, table)

    def expected(self, rules: Rules, table: Table) -> Predictions:
        """Return the interpreter's answers to the rows as CQL holds them, in its decimals."""
        import numpy as np

        from mbndt.interpreter import Predictions, predict

        found = predict(rules, held(rules, table))
        labels = [rounded(x) if isinstance(x, float) else x for x in found.prediction]
        outputs = {
            name: np.array(
                [[x if x != x else rounded(x) for x in row] for row in rows.tolist()]
            ).reshape(rows.shape)
            for name, rows in found.outputs.items()
        }
        return Predictions(found.leaf, labels, outputs)


def _notes(rules: Rules) -> tuple[str, ...]:
    found = []
    if changed := moved(rules):
        feature, old, new = changed[0]
        found.append(
            f"{len(changed)} thresholds became the next decimal of {PLACES} places that isn't"
            f" below, as CQL has no more (of {shown(feature.name)} {old!r}: {new!r}), so values are"
            f" rounded to {PLACES} places first"
        )
    told = [leaf.value for leaf in rules.leaves if isinstance(leaf.value, float)]
    told += [x for rows in rules.outputs.values() for row in rows if row for x in row]
    if any(rounded(x) != x for x in told):
        found.append(f"what is told of each leaf is rounded to CQL's {PLACES} places")
    return tuple(found)
