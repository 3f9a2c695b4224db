"""Time the emitted Python, a row at a time, beside m2cgen's for the same tree."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.tree import DecisionTreeClassifier

from mbndt import Rules

SETS = {"breast cancer": load_breast_cancer, "digits": load_digits}
DEPTHS = (4, 8)
ROWS = 200  # few enough to stay in the cache, as a row does that was made just now


def measure(repeats: int = 201) -> list[dict[str, Any]]:
    """Return a record for each set, depth and function: nanoseconds a row, and how many times as
    fast as m2cgen's `score`, which takes a list of floats and checks nothing.

    Ours get dicts of floats and check their types; m2cgen's is timed from dicts as well.
    Medians over interleaved `repeats`, each of all rows. Needs the package `m2cgen`.
    """
    return [
        {"set": name, "depth": depth, **record}
        for name in SETS
        for depth in DEPTHS
        for record in _measure(name, depth, repeats)
    ]


def _measure(name: str, depth: int, repeats: int) -> list[dict[str, Any]]:
    data = SETS[name]()
    values = np.asarray(data.data, np.float64)
    tree = DecisionTreeClassifier(max_depth=depth, random_state=0).fit(values, data.target)
    names = [str(name) for name in data.feature_names]
    own = _module(str(Rules.from_sklearn(tree, feature_names=names).compile("python")))
    lists = np.random.default_rng(0).permutation(values)[:ROWS].tolist()
    dicts = [dict(zip(names, row, strict=True)) for row in lists]
    score = _rival(tree)
    calls: dict[str, Any] = {
        "m2cgen score": (score, lists),
        "m2cgen score, row from a dict": (lambda row: score([row[name] for name in names]), dicts),
    }
    calls |= {word: (own[word], dicts) for word in ("leaf", "predict", "predict_proba")}
    took = _interleaved(calls, repeats)
    reference = np.array(took["m2cgen score"])
    return [
        {
            "function": word,
            "ns_per_row": round(statistics.median(times)),
            "speed": round(float(np.median(reference / np.array(times))), 2),
        }
        for word, times in took.items()
    ]


def _module(text: str) -> dict[str, Any]:
    space: dict[str, Any] = {"__name__": "compiled"}
    exec(compile(text, "compiled.py", "exec"), space)
    return space


def _rival(tree: DecisionTreeClassifier) -> Callable[[list[float]], list[float]]:
    import m2cgen

    score: Callable[[list[float]], list[float]] = _module(m2cgen.export_to_python(tree))["score"]
    return score


def _interleaved(
    calls: Mapping[str, tuple[Callable[[Any], object], Sequence[Any]]], repeats: int
) -> dict[str, list[float]]:
    """Return each function's nanoseconds a row, one figure a repeat."""
    took: dict[str, list[float]] = {word: [] for word in calls}
    for _ in range(repeats):
        for word, (call, rows) in calls.items():
            begin = time.perf_counter_ns()
            for row in rows:
                call(row)
            took[word].append((time.perf_counter_ns() - begin) / len(rows))
    return took


def main() -> None:
    for record in measure():
        print(*(f"{key} {value}" for key, value in record.items()), sep=", ")


if __name__ == "__main__":
    main()
