"""ONNX: standard operators only. A tree finds the leaf; every answer is a look-up by leaf.

So answers are exact whatever the tree operator's own outputs can hold. How rules become trees over
columns of numbers stands in `trees`; here are the graph around them and its inputs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

from mbndt.emitters.base import Artifact, Emitter, identifier
from mbndt.emitters.onnx.graph import MATRIX, NO_LABEL, Graph, add_trees, value_info
from mbndt.emitters.onnx.options import OnnxOptions
from mbndt.emitters.onnx.trees import INPUT_TYPES, NUMBERS, Format, Number, Plan
from mbndt.errors import OptionError, RulesError, TargetError, shown
from mbndt.rules import (
    INT64_MIN,
    FeatureType,
    NumericSplit,
    Rules,
    TargetType,
)
from mbndt.rules.cuts import double_cut
from mbndt.rules.invariants import check_text

if TYPE_CHECKING:
    from onnx import ValueInfoProto

    from mbndt.interpreter import Predictions
    from mbndt.tables.table import Table

LABEL_TYPES = {
    TargetType.STRING: "STRING",
    TargetType.INTEGER: "INT64",
    TargetType.BOOLEAN: "BOOL",
}

OUTPUTS = {"risk": "risk", "score": "score", "probability": "probabilities"}


class Onnx(OnnxOptions, Emitter):
    """Emit a model with outputs `label`, `risk`, `score`, `leaf`; a regression: `value`, `leaf`.

    Rules without risks give `probabilities`.
    """

    target = "onnx"
    variants: ClassVar[tuple[Mapping[str, object], ...]] = (
        {"inputs": "columns", "number": "double"},
        {"inputs": "matrix", "number": "double"},
        {"inputs": "columns", "number": "float"},
        {"inputs": "matrix", "number": "float"},
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            check_text(self.prefix, "prefix", empty=True)
        except RulesError as error:
            raise OptionError(str(error)) from None

    @property
    def form(self) -> Format:
        """Return how the inputs hold values."""
        return Format(self.inputs == "matrix", NUMBERS[self.number])

    def emit(self, rules: Rules) -> Artifact:
        """Return the model's bytes.

        Raises `TargetError` for what its inputs or numbers can't hold, for an output that is named
        as an input, and for rules without features.
        """
        self._refuse(rules)
        notes = tuple(dict.fromkeys(self._dropped(rules)))
        graph = Graph([MATRIX, *rules.feature, *self._outputs(rules)])
        found = add_trees(graph, Plan(rules, self.form))
        # Squeeze copies nothing unless it gives an output.
        leaf = graph.cast(graph.add("Squeeze", [found], axes=[1]), "INT64", self.prefix + "leaf")
        outputs = []
        for name, kind, shape, values in _answers(rules, self.form.number):
            table = graph.constant(kind, shape, values)
            graph.add("Gather", [table, leaf], self.prefix + name)
            outputs.append(value_info(self.prefix + name, kind, ["N", *shape[1:]]))
        outputs.append(value_info(leaf, "INT64", ["N"]))
        content = graph.serialize(rules, self._inputs(rules), outputs, notes)
        return Artifact(identifier(rules.name), ".onnx", content, rules, notes)

    def engine(self) -> str:
        """Return onnxruntime's version; raises `EngineMissing`."""
        from mbndt.emitters.onnx.run import onnxruntime

        return f"onnxruntime {onnxruntime().__version__}"

    def unheld(self) -> tuple[int | float, ...]:
        """Return the least integer, which stands for missing."""
        return (INT64_MIN,)

    def run(self, artifact: Artifact, table: Table) -> Predictions:
        """Answer the rows with onnxruntime on the CPU, in batches of different sizes."""
        from mbndt.emitters.onnx.run import run

        return run(artifact, self.form, table)

    def expected(self, rules: Rules, table: Table) -> Predictions:
        """Return the interpreter's answers to the rows as the inputs hold them.

        Their numbers are rounded as the outputs hold them.
        """
        from mbndt.emitters.onnx.run import expected

        return expected(rules, self.form, table)

    def _outputs(self, rules: Rules) -> list[str]:
        told = [OUTPUTS[name] for name in rules.outputs]
        own = ["label", *told] if rules.target.classes else ["value"]
        return [self.prefix + name for name in [*own, "leaf"]]

    def _refuse(self, rules: Rules) -> None:
        if not rules.features:
            raise TargetError("onnx: the rules have no features, and a model needs an input")
        for feature in rules.features:
            name = shown(feature.name)
            if self.inputs == "matrix" and feature.type == FeatureType.CATEGORY:
                raise TargetError(
                    f"onnx: {name} is a category, which `inputs` matrix can't hold; columns can"
                )
            if self.inputs == "columns" and feature.name in self._outputs(rules):
                raise TargetError(
                    f"onnx: {name} is a feature and an output; `prefix` renames the outputs"
                )
        if rules.stops and rules.target.classes:
            none = NO_LABEL.get(rules.target.type)
            if none is None or none in rules.target.classes:
                what = "no boolean" if none is None else f"the class {none}, which is one,"
                raise TargetError(f"onnx: {what} can say that there is no answer")
        for leaf in rules.leaves:
            value = leaf.value
            if isinstance(value, float) and math.isinf(self.form.number.nearest(value)):
                raise TargetError(
                    f"onnx: leaf {leaf.leaf} has the value {value!r}, past the range of"
                    " `number` float; double can hold it"
                )

    def _dropped(self, rules: Rules) -> Iterator[str]:
        """Yield a note on each interval that some value reaches, but nothing the inputs hold."""
        for split in rules.splits:
            if not isinstance(split, NumericSplit):
                continue
            feature, cut = rules.feature[split.feature], self.form.cut
            thresholds = [part.below for part in split.intervals if part.below is not None]
            for low, high in pairwise(thresholds):
                reached = double_cut(feature, low) < double_cut(feature, high)
                if reached and cut(feature, low) >= cut(feature, high):
                    yield (
                        f"{shown(feature.name)}: the interval from {low} to below {high} is left"
                        f" out, as no {self.number} lies in it"
                    )

    def _inputs(self, rules: Rules) -> list[ValueInfoProto]:
        number = self.form.number.onnx
        if self.inputs == "matrix":
            doc = f"{', '.join(rules.feature)}; missing: NaN"
            return [value_info(MATRIX, number, ["N", len(rules.features)], doc)]
        found = []
        for feature in rules.features:
            kind, missing = INPUT_TYPES.get(feature.type, (number, "NaN"))
            doc = f"{feature.type}, missing: {missing if missing != '' else 'the empty text'}"
            said = ", ".join(text for text in (feature.label, feature.unit, doc) if text)
            found.append(value_info(feature.name, kind, ["N", 1], said))
        return found


def _answers(rules: Rules, number: Number) -> Iterator[tuple[str, str, list[int], list[Any]]]:
    """Yield each answer's name, type, shape [L, ...] and values, by leaf."""
    count, classes = len(rules.leaves), len(rules.target.classes)
    labels = [rules.label(leaf) for leaf in rules.leaves]
    if not classes:
        values = [math.nan if label is None else float(label) for label in labels]
        yield "value", number.onnx, [count], [number.nearest(value) for value in values]
        return
    kind = rules.target.type
    told = [NO_LABEL[kind] if label is None else label for label in labels]
    yield "label", LABEL_TYPES[kind], [count], told
    for name, rows in rules.outputs.items():
        listed = [(math.nan,) * classes if row is None else row for row in rows]
        rounded = [number.nearest(p) for row in listed for p in row]
        yield OUTPUTS[name], number.onnx, [count, classes], rounded
