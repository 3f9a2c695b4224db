"""Time the vectorised interpreter beside scikit-learn's `predict` of the same tree and rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeClassifier

from benchmarks.timing import DEPTHS, SETS, interleaved, show, speed
from mbndt import Rules
from mbndt.tables.table import Table

ROWS = 100_000


def measure(repeats: int = 21) -> list[dict[str, Any]]:
    """Return a record for each set, depth and call: milliseconds for all rows, and how many times
    as fast as scikit-learn's `predict` of its favourite array, float32 in C order.

    Ours answers labels and probabilities from doubles. Medians over interleaved `repeats`.
    """
    return [
        {"set": name, "depth": depth, **record}
        for name in SETS
        for depth in DEPTHS
        for record in _measure(name, depth, repeats)
    ]


def _measure(name: str, depth: int, repeats: int) -> list[dict[str, Any]]:
    data = SETS[name]()
    names = [str(name) for name in data.feature_names]
    frame = pd.DataFrame(data.data.astype(np.float64), columns=names)
    tree = DecisionTreeClassifier(max_depth=depth, random_state=0).fit(frame, data.target)
    bare = DecisionTreeClassifier(max_depth=depth, random_state=0).fit(frame.values, data.target)
    rules = Rules.from_sklearn(tree)
    rows = pd.concat([frame] * (ROWS // len(frame) + 1), ignore_index=True)[:ROWS].copy()
    single = np.ascontiguousarray(rows.values, np.float32)
    columns = Table.of({name: rows[name].to_numpy().copy() for name in names})
    calls: dict[str, Callable[[], object]] = {
        "scikit-learn, float32 array": lambda: bare.predict(single),
        "scikit-learn, frame of doubles": lambda: tree.predict(rows),
        "mbndt, frame of doubles": lambda: rules.predict(rows),
        "mbndt, columns of doubles": lambda: rules.predict(columns),
    }
    took = interleaved(calls, repeats)
    return [
        {
            "call": word,
            "ms": round(float(np.median(times)) * 1e3, 2),
            "speed": speed(times, took["scikit-learn, float32 array"]),
        }
        for word, times in took.items()
    ]


if __name__ == "__main__":
    show(measure())
