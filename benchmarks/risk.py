"""Measure whether what rules say of a leaf holds for rows that they have not seen.

Rules are learned from a few hundred rows of a large set; its other rows tell the truth of each
leaf. Of each way to state the chance of the second class: its mean absolute error over the leaves,
and of each way to state an interval: the share of leaves whose truth it holds, and its mean width.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.data import choose, name_of, whole
from benchmarks.report import show
from mbndt.arrays import Floats, Ints
from mbndt.interpreter import route
from mbndt.learning.fit import fit
from mbndt.learning.holdout import hold_out
from mbndt.learning.risk import at_prevalence, intervals
from mbndt.learning.settings import preset
from mbndt.learning.training_set import TrainingSet
from mbndt.learning.unseen import held_out
from mbndt.measures.confidence import wilson
from mbndt.rules import Rules

SETS = ("1120", "1461", "151", "1590", "1219", "162")
OTHERS = 18_000
TRAINING, RISK = "training share", "risk"
LEAST = 30  # of the other rows, for a leaf's truth to be told


@dataclass(frozen=True)
class Leaves:
    """The leaves of one fit whose truth is told: the error of each estimate, each interval."""

    key: str
    errors: dict[str, Floats]
    ends: dict[str, Floats]  # [m, 2], NaN where there is none
    truth: Floats


def shares(data: TrainingSet, leaf: Ints, count: int) -> tuple[Floats, Floats]:
    """Return the rows of each leaf [L], and the share of the second class among them."""
    assert data.codes is not None
    rows = np.bincount(leaf, minlength=count).astype(np.float64)
    hits = np.bincount(leaf, data.codes == 1, count)
    return rows, hits / np.maximum(rows, 1)


def measure(task: tuple[str, int], rows: int, holdout: float, folder: Path) -> Leaves:
    """Learn from some rows of a set, and tell its leaves' truth from others."""
    key, draw = task
    every = whole(key, folder)
    order = np.random.default_rng(draw).permutation(every.n_rows)[: rows + OTHERS]
    data, others = every.take(np.sort(order[:rows])), every.take(np.sort(order[rows:]))
    among, held = hold_out(data, holdout, draw)
    learned_from = data.take(among)
    rules = fit(learned_from, preset("default", seed=draw)).rules
    count = len(rules.leaves)
    size, truth = shares(others, route(rules, others.typed, others.n_rows), count)
    own = route(rules, learned_from.typed, learned_from.n_rows)
    n, share = shares(learned_from, own, count)
    hits = np.round(share * n)
    ends = {
        TRAINING: np.array([wilson(int(h), int(m)) for h, m in zip(hits, n, strict=True)]),
        RISK: np.array(intervals(rules, n))[:, 1],
    }
    if len(held):
        found = held_out(rules, data.take(held))["intervals"]
        ends["held-out rows"] = np.array([[np.nan] * 2 if e is None else e[1] for e in found])
    told = size >= LEAST
    counts = np.array(rules.provenance["class rows"], np.float64)
    said = {
        "score": score(rules)[:, 1],
        "score by class rows": at_prevalence(score(rules), np.ones(2), counts)[:, 1],
        TRAINING: share,
        RISK: risk(rules),
    }
    errors = {name: np.abs(chance - truth)[told] for name, chance in said.items()}
    return Leaves(key, errors, {name: e[told] for name, e in ends.items()}, truth[told])


def score(rules: Rules) -> Floats:
    """Return the scores of both classes, [L, 2]."""
    return np.array([leaf.value for leaf in rules.leaves], np.float64)


def risk(rules: Rules) -> Floats:
    """Return the risks of the second class, [L]."""
    return np.array([leaf.risk for leaf in rules.leaves], np.float64)[:, 1]


def summed_up(found: list[Leaves]) -> pd.DataFrame:
    """Return a row for each way to say it: the mean error, and what its intervals hold."""
    lines: dict[str, dict[str, str]] = {}
    for name in found[0].errors | found[0].ends:
        line = lines[name] = {}
        if name in found[0].errors:
            line["error"] = f"{np.concatenate([part.errors[name] for part in found]).mean():.3f}"
        if name not in found[0].ends:
            continue
        ends = np.concatenate([part.ends[name] for part in found])
        truth = np.concatenate([part.truth for part in found])
        known = ~np.isnan(ends[:, 0])
        low, high, truth = ends[known, 0], ends[known, 1], truth[known]
        line["holds the truth"] = f"{np.mean((low <= truth) & (truth <= high)):.1%}"
        line["truth below"] = f"{np.mean(truth < low):.1%}"
        line["truth above"] = f"{np.mean(truth > high):.1%}"
        line["width"] = f"{np.mean(high - low):.3f}"
        line["leaves"] = f"{known.sum()}"
    return pd.DataFrame.from_dict(lines, "index").fillna("")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    options.add_argument("--sets", default=",".join(SETS), help="OpenML ids, by commas")
    options.add_argument("--rows", type=int, default=600)
    options.add_argument("--holdout", type=float, default=0.0)
    options.add_argument("--draws", type=int, default=6)
    options.add_argument("--jobs", type=int, default=1)
    args = options.parse_args()
    keys, absent = choose(args.sets, args.data)
    if absent:
        print(f"absent: {', '.join(absent)}")
    tasks = [(key, draw) for key in keys for draw in range(args.draws)]
    work = partial(measure, rows=args.rows, holdout=args.holdout, folder=args.data)
    with ProcessPoolExecutor(args.jobs) as pool:
        found = list(pool.map(work, tasks))
    title = f"{len(tasks)} fits of {args.rows} rows"
    show(title, summed_up(found), "stated by")
    for key in keys:
        show(name_of(key), summed_up([part for part in found if part.key == key]), "stated by")


if __name__ == "__main__":
    main()
