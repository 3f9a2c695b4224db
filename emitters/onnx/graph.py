"""The ONNX graph around the trees: what leads from the inputs to them, and the model's frame."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import count
from typing import TYPE_CHECKING, Any

from mbndt._version import __version__
from mbndt.emitters.base import identifier, provenance_line
from mbndt.emitters.onnx.trees import INPUT_TYPES, NUMBERS, Chain, Plan
from mbndt.rules import INT64_MIN, Feature, FeatureType, Node, Rules, Target, TargetType

if TYPE_CHECKING:
    from onnx import NodeProto, TensorProto, ValueInfoProto

ML = "ai.onnx.ml"
# The first version in which constants need not be inputs as well.
IR_VERSION = 4
# The lowest version of each operator that takes what it is given here; runtimes warn below 7.
OPERATORS = {
    "Cast": ("", 7),
    "Concat": ("", 7),
    "ConstantOfShape": ("", 9),
    "Gather": ("", 7),
    "Less": ("", 9),
    "ReduceSum": ("", 7),
    "Shape": ("", 7),
    "Squeeze": ("", 7),
    "Where": ("", 9),
    "LabelEncoder": (ML, 2),
    "TreeEnsembleRegressor": (ML, 1),
}
DOUBLE_TREES = (ML, 3)
MATRIX = "X"
# What stands where there is no answer; no text is empty that is a class.
NO_LABEL: dict[TargetType, str | int] = {TargetType.STRING: "", TargetType.INTEGER: INT64_MIN}


class Graph:
    """A model under construction; the names that it makes up avoid `taken`."""

    def __init__(self, taken: Iterable[str]) -> None:
        self.taken = frozenset(taken)
        self.numbers = count(1)
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []
        self.versions: dict[str, int] = {}

    def name(self, stem: str) -> str:
        """Return a new name."""
        return next(name for i in self.numbers if (name := f"{stem}_{i}") not in self.taken)

    def constant(self, kind: str, shape: Sequence[int], values: Sequence[Any]) -> str:
        """Add a constant; returns its name."""
        name = self.name("constant")
        self.constants.append(tensor(kind, shape, values, name))
        return name

    def need(self, domain: str, version: int) -> None:
        """Ask for an operator set of at least a version."""
        self.versions[domain] = max(version, self.versions.get(domain, 0))

    def add(self, operator: str, inputs: Sequence[str], output: str = "", **attributes: Any) -> str:
        """Add an operator; returns the name of its one output."""
        from onnx import helper

        output = output or self.name(operator.lower())
        domain, version = OPERATORS[operator]
        self.need(domain, version)
        node = helper.make_node(operator, inputs, [output], output, domain=domain, **attributes)
        self.nodes.append(node)
        return output

    def cast(self, name: str, kind: str, output: str = "") -> str:
        """Add a conversion to a type."""
        return self.add("Cast", [name], output, to=_type(kind))

    def join(self, columns: Sequence[str]) -> str:
        """Add a matrix of columns, which one column is already."""
        return columns[0] if len(columns) == 1 else self.add("Concat", columns, axis=1)

    def trees(self, matrix: str, plan: Plan, roots: Sequence[Node | Chain]) -> str:
        """Add a tree for each root, all over one matrix; their answers are the float columns."""
        attributes: dict[str, Any] = plan.trees(roots)
        if plan.form.number is NUMBERS["double"]:
            self.need(*DOUBLE_TREES)
            for key in ("nodes_values", "target_weights"):
                values = attributes.pop(key)
                attributes[f"{key}_as_tensor"] = tensor("DOUBLE", [len(values)], values, key)
        return self.add("TreeEnsembleRegressor", [matrix], n_targets=len(roots), **attributes)

    def serialize(
        self,
        rules: Rules,
        inputs: Sequence[ValueInfoProto],
        outputs: Sequence[ValueInfoProto],
        notes: Sequence[str],
    ) -> bytes:
        """Return the model's bytes, for equal rules the same."""
        from onnx import helper

        name = identifier(rules.name)
        graph = helper.make_graph(self.nodes, name, inputs, outputs, self.constants)
        model = helper.make_model(
            graph,
            ir_version=IR_VERSION,
            opset_imports=[helper.make_opsetid(*each) for each in sorted(self.versions.items())],
            producer_name="mbndt",
            producer_version=__version__,
            doc_string="\n".join([provenance_line(rules), *notes]),
        )
        helper.set_model_props(model, _metadata(rules))
        return bytes(model.SerializeToString(deterministic=True))


def add_trees(graph: Graph, plan: Plan) -> str:
    """Add all that leads from the inputs to a column of leaf ids as floats, [N, 1].

    Ids are exact up to 2^24, and rules have no more than 100,000 nodes.
    """
    columns = [MATRIX] if plan.form.matrix else list(_add_columns(graph, plan))
    if plan.routers:
        routed = graph.trees(graph.join(columns), plan, plan.routers)
        kind = plan.form.number.onnx
        columns.append(routed if kind == "FLOAT" else graph.cast(routed, kind))
    return graph.trees(graph.join(columns), plan, [plan.rules.root])


def _add_columns(graph: Graph, plan: Plan) -> Iterator[str]:
    """Add the columns that come from features, each [N, 1] of the number type."""
    kind = plan.form.number.onnx
    codes: dict[str, str] = {}
    for source in plan.columns:
        match source:
            case str():
                feature = plan.rules.feature[source]
                value = feature.name
                if feature.type in INPUT_TYPES:
                    value = _add_integers(graph, plan, feature)
                yield value
            case (name, children):
                if name not in codes:
                    codes[name] = _add_code(graph, plan.rules.feature[name])
                table = graph.constant(kind, [len(children)], [float(to) for to in children])
                yield graph.add("Gather", [table, codes[name]])
    if not plan.columns:
        # A lone leaf asks nothing, and still needs a column of the batch's length.
        shape = graph.add("Shape", [plan.rules.features[0].name])
        yield graph.add("ConstantOfShape", [shape], value=tensor(kind, [1], [0.0]))


def _add_integers(graph: Graph, plan: Plan, feature: Feature) -> str:
    """Add an integer or boolean feature's value, or rank among the cuts, NaN where missing."""
    kind = plan.form.number.onnx
    value = feature.name
    if cuts := plan.ranked.get(feature.name):
        # cut <= x, said as cut - 1 < x.
        below = graph.constant("INT64", [1, len(cuts)], [cut - 1 for cut in cuts])
        passed = graph.cast(graph.add("Less", [below, value]), kind)
        value = graph.add("ReduceSum", [passed], axes=[1], keepdims=1)
    else:
        value = graph.cast(value, kind)
    least = INT64_MIN + 1 if feature.type == FeatureType.INTEGER else 0
    missing = graph.add("Less", [feature.name, graph.constant("INT64", [1, 1], [least])])
    return graph.add("Where", [missing, graph.constant(kind, [1, 1], [math.nan]), value])


def _add_code(graph: Graph, feature: Feature) -> str:
    """Add a category's index; the next two are for missing and for any other text."""
    texts = [*feature.categories, ""]
    indexes = list(range(len(texts)))
    return graph.add(
        "LabelEncoder",
        [feature.name],
        keys_strings=texts,
        values_int64s=indexes,
        default_int64=len(texts),
    )


def _metadata(rules: Rules) -> dict[str, str]:
    """Return the model's properties: texts as they are, the rest as JSON."""
    columns: list[Feature | Target] = [*rules.features, rules.target]
    entries = {
        "classes": list(rules.target.classes),
        "features": [asdict(feature) for feature in rules.features],
        "units": {column.name: column.unit for column in columns if column.unit},
        "provenance": dict(rules.provenance),
    }
    return {
        "name": rules.name,
        "task": rules.task,
        "target": rules.target.name,
        **{key: json.dumps(value, sort_keys=True) for key, value in entries.items()},
        "fingerprint": rules.fingerprint,
        "mbndt_version": __version__,
    }


def _type(kind: str) -> int:
    from onnx import TensorProto

    return int(TensorProto.DataType.Value(kind))


def tensor(kind: str, shape: Sequence[int], values: Sequence[Any], name: str = "") -> TensorProto:
    """Return a tensor of the type named `kind`."""
    from onnx import helper

    return helper.make_tensor(name, _type(kind), shape, values)


def value_info(name: str, kind: str, shape: Sequence[Any], doc: str = "") -> ValueInfoProto:
    """Return an input's or output's name, type and shape."""
    from onnx import helper

    return helper.make_tensor_value_info(name, _type(kind), shape, doc)
