"""Time the emitted Python, a row at a time, beside m2cgen's for the same tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from benchmarks.timing import DEPTHS, SETS, interleaved, show, speed
from mbndt import Rules

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
    calls = {
        "m2cgen score": _through(score, lists),
        "m2cgen score, row from a dict": _through(
            lambda row: score([row[name] for name in names]), dicts
        ),
    }
    calls |= {word: _through(own[word], dicts) for word in ("leaf", "predict", "predict_proba")}
    took = interleaved(calls, repeats)
    return [
        {
            "function": word,
            "ns_per_row": round(float(np.median(times)) / ROWS * 1e9),
            "speed": speed(times, took["m2cgen score"]),
        }
        for word, times in took.items()
    ]


def _through(call: Callable[[Any], object], rows: Sequence[Any]) -> Callable[[], None]:
    """Return what calls a function for each row."""

    def run() -> None:
        for row in rows:
            call(row)

    return run


def _module(text: str) -> dict[str, Any]:
    space: dict[str, Any] = {"__name__": "compiled"}
    exec(compile(text, "compiled.py", "exec"), space)
    return space


def _rival(tree: DecisionTreeClassifier) -> Callable[[list[float]], list[float]]:
    import m2cgen

    score: Callable[[list[float]], list[float]] = _module(m2cgen.export_to_python(tree))["score"]
    return score


if __name__ == "__main__":
    show(measure())
