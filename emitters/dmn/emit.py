"""DMN 1.3: one decision table of hit policy unique, a rule a leaf, for the engines of hospitals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mbndt._version import __version__
from mbndt.emitters.base import Artifact, Emitter, identifier, provenance_line, templates, visible
from mbndt.emitters.dmn.feel import TYPES, literal, names_of, unary_tests
from mbndt.emitters.dmn.options import DmnOptions
from mbndt.errors import TargetError, shown
from mbndt.rules import Feature, Leaf, Rules, Target
from mbndt.rules.boxes import Space
from mbndt.rules.values import Value, label_text

if TYPE_CHECKING:
    from mbndt.interpreter import Predictions
    from mbndt.tables.table import Table


@dataclass(frozen=True)
class Input:
    """An input of the table: the variable that it reads, and the feature that this holds."""

    name: str
    feature: Feature

    @property
    def type(self) -> str:
        """Return the type of the variable in FEEL."""
        return TYPES.get(self.feature.type, "number")


@dataclass(frozen=True)
class Output:
    """A column of answers: its name, type in FEEL, what it is, and its literals by leaf id."""

    name: str
    type: str
    label: str
    cells: Sequence[str]


class Dmn(DmnOptions, Emitter):
    """Emit a document with one decision, its inputs, and the table of its rules."""

    target = "dmn"

    def emit(self, rules: Rules) -> Artifact:
        """Return the document.

        Raises `TargetError` for rules without a split, and for numbers that engines confuse.
        """
        if not rules.used:
            raise TargetError("dmn: the rules ask for nothing, and a table needs an input")
        *names, decision = names_of([*(feature.name for feature in rules.used), rules.name])
        text = (
            templates("dmn", autoescape=True)
            .get_template("table.dmn.jinja")
            .render(
                rules=rules,
                version=__version__,
                origin=provenance_line(rules),
                decision=decision,
                inputs=[Input(*pair) for pair in zip(names, rules.used, strict=True)],
                outputs=list(outputs(rules)),
                rows=list(_rows(rules)),
                visible=visible,
                said=said,
            )
        )
        return Artifact(identifier(rules.name), ".dmn", text, rules)

    def unheld(self) -> tuple[int | float, ...]:
        """Return the infinities, which FEEL doesn't have."""
        return (float("-inf"), float("inf"))

    def engine(self) -> str:
        """Return the engine's packages; raises `EngineMissing` where one lacks."""
        from mbndt.emitters.dmn.run import engine

        return engine()

    def run(self, artifact: Artifact, table: Table) -> Predictions:
        """Answer the rows by testing each rule of the table."""
        from mbndt.emitters.dmn.run import run

        return run(artifact, table)


def outputs(rules: Rules) -> Iterator[Output]:
    """Yield the columns of answers: prediction, leaf, and each block by class."""
    labels = []
    for leaf in rules.leaves:
        try:
            labels.append(literal(rules.label(leaf)))
        except TargetError as error:
            raise TargetError(f"{error}, as an answer of {shown(rules.target.name)}") from None
    kind = TYPES.get(rules.target.type, "number")
    yield Output("prediction", kind, visible(rules.target.name), labels)
    ids = [str(leaf.leaf) for leaf in rules.leaves]
    yield Output("leaf", "number", "leaf of the rules", ids)
    for block, by_leaf in rules.outputs.items():
        for i, label in enumerate(rules.target.classes):
            cells = ["null" if values is None else literal(values[i]) for values in by_leaf]
            said_of = f"{block} of {visible(label_text(label))}"
            yield Output(f"{block}_{i}", "number", said_of, cells)


def _rows(rules: Rules) -> Iterator[tuple[Leaf, list[str]]]:
    """Yield each leaf that some input reaches, with the tests of the inputs that reach it."""
    space = Space.of(rules)
    cells: list[tuple[Feature, tuple[Value, ...]]] = [
        (feature, space.cells[feature.name]) for feature in rules.used
    ]
    for leaf, box in space.leaves(rules.root, space.whole):
        yield leaf, [unary_tests(feature, own, box[feature.name]) for feature, own in cells]


def said(of: Feature | Target) -> str:
    """Return what is known of a feature or a target beside its name, on one line."""
    parts = [getattr(of, "label", ""), of.unit and f"unit: {of.unit}", of.description]
    return ". ".join(visible(part) for part in parts if part)
