"""Measure what is learned where there is nothing to learn, little, or a rare class.

Noise: outcomes of pure chance should give one leaf, and below a real split there should be no more
of them. Weak signals should still be found. Rare classes stand beside CART of depth 2 with balanced
class weights, and beside the best cut that the draw's distribution allows.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.metrics import balanced_accuracy_score, r2_score
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from benchmarks.report import show
from mbndt.arrays import Floats
from mbndt.estimator import MBNDTClassifier, MBNDTRegressor

Drawn = tuple[pd.DataFrame, npt.NDArray[np.str_] | Floats]
FRESH = 20_000
LABELS = np.array(["a", "b", "c"])
SHIFT, SPREAD = 2.5, 0.5  # of the rare class; the others are N(0, 1)


def noise(
    draw: np.random.Generator, rows: int, *, columns: int = 2, kind: str = "balanced"
) -> Drawn:
    """Draw rows whose outcome, of some kind, is pure chance."""
    frame = pd.DataFrame({f"x{i}": draw.normal(size=rows) for i in range(columns)})
    if kind == "categories":
        frame = pd.DataFrame(
            {
                f"x{i}": np.char.add("c", draw.integers(3 * 4**i, size=rows).astype(str))
                for i in range(columns)
            }
        )
    if kind == "gaps":
        frame = frame.mask(draw.random(frame.shape) < 0.2)
    if kind == "numbers":
        return frame, draw.normal(size=rows)
    if kind == "far numbers":
        return frame, draw.standard_cauchy(rows)
    if kind == "unbalanced":
        # Some rows of each class at the least, as without them nothing is to learn.
        return frame, LABELS[draw.permutation(np.arange(rows) < max(5, rows // 20)).astype(int)]
    return frame, LABELS[draw.integers(3 if kind == "3 classes" else 2, size=rows)]


def step(draw: np.random.Generator, rows: int, *, right: float = 0.8, columns: int = 2) -> Drawn:
    """Draw rows of which a share `right` follows the sign of the first column; others are noise."""
    frame, _ = noise(draw, rows, columns=columns)
    return frame, LABELS[((frame["x0"] > 0) ^ (draw.random(rows) >= right)).astype(int)]


def parity(draw: np.random.Generator, rows: int, *, right: float = 0.8) -> Drawn:
    """Draw rows that follow the product of the signs of two columns; a third is noise."""
    frame, _ = noise(draw, rows, columns=3)
    odd = (frame["x0"] > 0) ^ (frame["x1"] > 0)
    return frame, LABELS[(odd ^ (draw.random(rows) >= right)).astype(int)]


def line(draw: np.random.Generator, rows: int, *, r2: float = 0.05) -> Drawn:
    """Draw values that the first of two columns explains a share `r2` of."""
    frame, _ = noise(draw, rows)
    return frame, frame["x0"] * np.sqrt(r2) + draw.normal(size=rows) * np.sqrt(1 - r2)


def rare(draw: np.random.Generator, rows: int, *, counts: tuple[int, ...] = (20,)) -> Drawn:
    """Draw classes of `counts` rows, each to one side of all others on a column of its own."""
    frame, _ = noise(draw, rows, columns=1 + len(counts))
    code = np.repeat(np.arange(1, 1 + len(counts)), counts)
    code = np.append(code, np.zeros(rows - len(code), int))
    for c in range(1, 1 + len(counts)):
        here = np.flatnonzero(code == c)
        frame.iloc[here, c - 1] = draw.normal(SHIFT, SPREAD, len(here))
    order = draw.permutation(rows)
    return frame.iloc[order].reset_index(drop=True), LABELS[code[order]]


def best_of_rare() -> float:
    """Return the balanced accuracy of the best single cut for a rare class."""
    cuts = np.linspace(0, SHIFT, 2001)
    other, own = NormalDist(), NormalDist(SHIFT, SPREAD)
    return float(max((other.cdf(t) + 1 - own.cdf(t)) / 2 for t in cuts))


@dataclass(frozen=True)
class Case:
    """What is drawn, with how many rows to learn from, and how many in all to be tested on."""

    name: str
    rows: int
    made: Callable[..., Drawn]
    fresh: Callable[..., Drawn] | None = None


NOISE_ROWS = (100, 300, 1_000, 2_000, 10_000, 20_000, 50_000)
KINDS = ("balanced", "unbalanced", "3 classes", "categories", "gaps", "numbers", "far numbers")


def noise_cases(most: int) -> list[Case]:
    """Return the cases of pure noise of at most so many rows."""
    return [
        Case(f"{kind}, {columns} columns", rows, partial(noise, columns=columns, kind=kind))
        for kind in KINDS
        for columns in ((2, 20) if kind == "balanced" else (3,))
        for rows in NOISE_ROWS
        if rows <= most
    ]


def signal_cases(most: int) -> list[Case]:
    """Return the cases of weak signals, and of noise beside strong ones."""
    made: list[tuple[str, Callable[..., Drawn], tuple[int, ...]]] = [
        (
            f"step .{right:.0%} right, {columns} columns".replace("%", ""),
            partial(step, right=right, columns=columns),
            sizes,
        )
        for right, sizes in (
            (0.6, (300, 1_000, 2_000)),
            (0.8, (300, 2_000, 20_000)),
            (0.95, (2_000, 20_000)),
        )
        for columns in (2, 20)
    ]
    made += [("parity .80 right, 3 columns", parity, (300, 2_000, 20_000))]
    made += [("line, R² .05, 2 columns", line, (300, 2_000, 20_000))]
    return [Case(name, n, function) for name, function, sizes in made for n in sizes if n <= most]


def rare_cases(most: int) -> list[Case]:
    """Return the cases of rare classes; fresh rows have more of them, to tell the rates well."""
    made = [
        ((20,), 20_000),
        ((20,), 2_000),
        ((50,), 50_000),
        ((10,), 1_000),
        ((20, 40), 20_000),
        ((20, 20), 2_000),
    ]
    return [
        Case(
            " + ".join(map(str, counts)),
            rows,
            partial(rare, counts=counts),
            partial(rare, counts=tuple(5_000 for _ in counts)),
        )
        for counts, rows in made
        if rows <= most
    ]


Outcome = tuple[int, float, float, float]


def learned(case: Case, preset: str, seed: int) -> Outcome:
    """Return the leaves of a draw's tree, its score on fresh rows, CART's, and seconds."""
    frame, y = case.made(np.random.default_rng([seed, case.rows]), case.rows)
    test, answer = (case.fresh or case.made)(np.random.default_rng([seed, 1, 2]), FRESH)
    numbers = y.dtype.kind == "f"
    start = time.process_time()
    model = (MBNDTRegressor if numbers else MBNDTClassifier)(preset=preset, random_state=seed)
    model.fit(frame, y)
    seconds = time.process_time() - start
    score = r2_score if numbers else balanced_accuracy_score
    plain = np.nan
    if all(kind.kind == "f" for kind in frame.dtypes):
        tree = (
            DecisionTreeRegressor(max_depth=2, random_state=seed)
            if numbers
            else DecisionTreeClassifier(max_depth=2, class_weight="balanced", random_state=seed)
        )
        plain = float(score(answer, tree.fit(frame, y).predict(test)))
    leaves = len(model.rules_.leaves)
    return leaves, float(score(answer, model.predict(test))), plain, seconds


def run(cases: list[Case], preset: str, draws: int, jobs: int) -> pd.DataFrame:
    """Return a line of figures for each case, all draws learned from."""
    lines = {}
    with ProcessPoolExecutor(jobs) as pool:
        found = {
            case: [pool.submit(learned, case, preset, seed) for seed in range(draws)]
            for case in cases
        }
        for case, futures in found.items():
            leaves, score, plain, seconds = np.array([future.result() for future in futures]).T
            lines[f"{case.name}, {case.rows:,} rows"] = {
                "one leaf": f"{np.mean(leaves == 1):.0%}",
                "two": f"{np.mean(leaves == 2):.0%}",
                "more": f"{np.mean(leaves > 2):.0%}",
                "leaves": f"{leaves.mean():.1f}",
                "fresh score": f"{score.mean():.3f}",
                "least": f"{score.min():.3f}",
                "CART 2": f"{plain.mean():.3f}",
                "seconds": f"{seconds.mean():.2f}",
            }
    return pd.DataFrame.from_dict(lines, "index")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--draws", type=int, default=20)
    options.add_argument("--rows", type=int, default=50_000, help="the most rows of a case")
    options.add_argument("--preset", default="default")
    options.add_argument("--jobs", type=int, default=1)
    options.add_argument("--only", help="some of noise, signals, rare, by commas")
    args = options.parse_args()
    parts = {
        "noise": ("Pure noise: leaves, balanced accuracy (R²) on fresh rows", noise_cases),
        "signals": ("Weak signals, and noise beside strong ones", signal_cases),
        "rare": (f"Rare classes; possible for one of them: {best_of_rare():.3f}", rare_cases),
    }
    for name, (title, cases) in parts.items():
        if not args.only or name in args.only.split(","):
            show(title, run(cases(args.rows), args.preset, args.draws, args.jobs), "outcome")


if __name__ == "__main__":
    main()
