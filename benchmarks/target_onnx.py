"""Time ONNX models in onnxruntime, on one thread, beside skl2onnx's of the same tree."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from benchmarks.timing import DEPTHS, SETS, interleaved, show, speed
from mbndt import Rules

# Rows of a call, and calls timed in one go.
BATCHES = {1: 200, 10_000: 3}
Feeds = Mapping[str, Any]
Call = Callable[[], list[Any]]


def measure(repeats: int = 61) -> list[dict[str, Any]]:
    """Return a record for each set, depth, form of inputs, batch and model: microseconds a call,
    and how many times as fast as skl2onnx's model of the same inputs, `speed`, and as the one
    that gives the leaf too, as ours always do, `speed_with_leaf`.

    skl2onnx's have floats as inputs. Medians over interleaved `repeats`.
    """
    return [
        {"set": name, "depth": depth, "inputs": inputs, "batch": batch, **record}
        for name in SETS
        for depth in DEPTHS
        for inputs, models in _models(name, depth).items()
        for batch in BATCHES
        for record in _measure(models, _rows(name, batch), inputs == "columns", repeats)
    ]


def _rows(name: str, batch: int) -> pd.DataFrame:
    data = SETS[name]()
    names = [f"x{i}" for i in range(data.data.shape[1])]
    return pd.DataFrame(data.data, columns=names).sample(batch, replace=True, random_state=0)


def _models(name: str, depth: int) -> dict[str, dict[str, bytes]]:
    """Return all models of one tree by the form of inputs, skl2onnx's two first."""
    data = SETS[name]()
    tree = DecisionTreeClassifier(max_depth=depth, random_state=0).fit(data.data, data.target)
    rules = Rules.from_sklearn(tree)
    return {
        inputs: {
            "skl2onnx": _rival(tree, inputs, leaf=False),
            "skl2onnx with leaf": _rival(tree, inputs, leaf=True),
            "mbndt float": _own(rules, inputs, "float"),
            "mbndt double": _own(rules, inputs, "double"),
        }
        for inputs in ("matrix", "columns")
    }


def _own(rules: Rules, inputs: str, number: str) -> bytes:
    content = rules.compile("onnx", inputs=inputs, number=number)
    assert isinstance(content, bytes)
    return content


def _rival(tree: DecisionTreeClassifier, inputs: str, *, leaf: bool) -> bytes:
    from skl2onnx import convert_sklearn
    from skl2onnx.common.data_types import FloatTensorType

    options = {id(tree): {"zipmap": False, "decision_leaf": leaf}}
    if inputs == "matrix":
        given = [("X", FloatTensorType([None, tree.n_features_in_]))]
        return bytes(convert_sklearn(tree, "m", given, options=options).SerializeToString())
    names = [f"x{i}" for i in range(tree.n_features_in_)]
    join = make_column_transformer(("passthrough", names))
    join.fit(pd.DataFrame(np.zeros((2, len(names))), columns=names))
    given = [(name, FloatTensorType([None, 1])) for name in names]
    model = convert_sklearn(make_pipeline(join, tree), "m", given, options=options)
    return bytes(model.SerializeToString())


def _measure(
    models: Mapping[str, bytes], rows: pd.DataFrame, columns: bool, repeats: int
) -> list[dict[str, Any]]:
    calls = {
        word: _call(model, _feeds(rows, columns, "float64" if "double" in word else "float32"))
        for word, model in models.items()
    }
    labels = [call()[0] for call in calls.values()]
    assert all(np.array_equal(labels[0], others) for others in labels)
    count = BATCHES[len(rows)]
    took = interleaved({word: _repeated(call, count) for word, call in calls.items()}, repeats)
    return [
        {
            "model": word,
            "us": round(float(np.median(times)) / count * 1e6, 1),
            "speed": speed(times, took["skl2onnx"]),
            "speed_with_leaf": speed(times, took["skl2onnx with leaf"]),
        }
        for word, times in took.items()
    ]


def _feeds(rows: pd.DataFrame, columns: bool, kind: str) -> Feeds:
    if not columns:
        return {"X": np.ascontiguousarray(rows.to_numpy(kind))}
    return {name: rows[name].to_numpy(kind).reshape(-1, 1).copy() for name in map(str, rows)}


def _call(model: bytes, feeds: Feeds) -> Call:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"])
    return lambda: session.run(None, feeds)


def _repeated(call: Call, count: int) -> Callable[[], None]:
    def run() -> None:
        for _ in range(count):
            call()

    return run


if __name__ == "__main__":
    show(measure())
