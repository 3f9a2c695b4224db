"""ONNX models of rules, and their answers."""

import math

import numpy as np
import onnx
import onnxruntime

from mbndt.conformance.boundary import boundary_rows
from mbndt.conformance.verify import check
from mbndt.emitters import emit
from mbndt.emitters.onnx.graph import NO_LABEL
from mbndt.rules import (
    Feature,
    FeatureType,
    Interval,
    Leaf,
    NumericSplit,
    Rules,
    Target,
    TargetType,
)

LABELS = Target("y", TargetType.STRING, ("no", "yes"))


COLUMNS, COLUMNS_FLOAT = {}, {"number": "float"}


MATRIX, MATRIX_FLOAT = {"inputs": "matrix"}, {"inputs": "matrix", "number": "float"}


def leaves(count: int) -> tuple[Leaf, ...]:
    return tuple(Leaf(i, (i / count, 1 - i / count)) for i in range(count))


def split_of(kind: FeatureType, cuts: list, missing: int = 0, ends: list | None = None) -> Rules:
    """Rules of one numeric split: interval i goes to leaf i, or to `ends[i]`."""
    ends = ends or list(range(len(cuts) + 1))
    parts = tuple(Interval(*each) for each in zip([*cuts, None], ends, strict=True))
    node = NumericSplit("x", parts, missing, leaves(max([*ends, missing]) + 1))
    return Rules("one split", LABELS, (Feature("x", kind),), node)


def with_root(root, *features: Feature, target: Target = LABELS) -> Rules:
    return Rules("by hand", target, features, root)


def past_float() -> Rules:
    """A regression with a value that no float holds."""
    node = NumericSplit(
        "x", (Interval(0.0, 0), Interval(None, 1)), 1, (Leaf(0, 0.1), Leaf(1, -1e300))
    )
    target = Target("y", TargetType.FLOAT64)
    return with_root(node, Feature("x", FeatureType.FLOAT64), target=target)


def can_stop(rules: Rules) -> bool:
    """Tell whether a label can say that there is no answer, where rules need one that does."""
    none = NO_LABEL.get(rules.target.type)
    needed = rules.stops and rules.target.classes
    return not needed or none not in (None, *rules.target.classes)


def model_of(rules: Rules, **options) -> onnx.ModelProto:
    return onnx.load_from_string(emit(rules, "onnx", **options).content)


def session_of(rules: Rules, **options) -> onnxruntime.InferenceSession:
    quiet = onnxruntime.SessionOptions()
    quiet.add_session_config_entry("session.intra_op.allow_spinning", "0")
    content = emit(rules, "onnx", **options).content
    return onnxruntime.InferenceSession(content, quiet, ["CPUExecutionProvider"])


def agrees(rules: Rules, options: dict, rows: int = 300) -> None:
    found = check(rules, "onnx", options, [boundary_rows(rules, rows)])
    assert found.outcome in ("agrees", "refused"), found
    assert found.mismatches == 0, found


def leaf_by(rules: Rules, values, dtype, name: str = "x", **options) -> list[int]:
    """Leaf ids of one hand-made column, the way around `Onnx.run`."""
    column = np.array(values, dtype).reshape(-1, 1)
    (leaf,) = session_of(rules, **options).run(["leaf"], {name: column})
    return leaf.tolist()


def tree_attributes(model: onnx.ModelProto) -> list[dict]:
    """The attributes of each tree operator, the routers' first, the main tree's last."""
    return [
        {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}
        for node in model.graph.node
        if node.op_type == "TreeEnsembleRegressor"
    ]


def neighbours(x: float) -> list[float]:
    return [math.nextafter(x, -math.inf), x, math.nextafter(x, math.inf)]
