"""What the benchmarks `target_*` share: scikit-learn's trees and the clock."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits

from mbndt.arrays import Floats

SETS = {"breast cancer": load_breast_cancer, "digits": load_digits}
DEPTHS = (4, 8)
Times = Floats


def interleaved(calls: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, Times]:
    """Return each call's seconds, [repeats]. All take turns, so that what else runs hits all."""
    took: dict[str, list[float]] = {word: [] for word in calls}
    for _ in range(repeats):
        for word, call in calls.items():
            begin = time.perf_counter_ns()
            call()
            took[word].append((time.perf_counter_ns() - begin) / 1e9)
    return {word: np.array(times) for word, times in took.items()}


def speed(took: Times, reference: Times) -> float:
    """Return how many times as fast as the reference: the median over the repeats."""
    return round(float(np.median(reference / took)), 2)


def show(records: Iterable[Mapping[str, Any]]) -> None:
    """Print a line for each record."""
    for record in records:
        print(*(f"{key} {value}" for key, value in record.items()), sep=", ")
