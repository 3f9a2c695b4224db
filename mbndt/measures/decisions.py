"""What acting from some risk on finds, misses, and does needlessly.

Net benefit counts what is found, less what is needless at the odds of the risk to act at (Vickers
and Elkin, Medical Decision Making 26, 2006).
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from mbndt.arrays import Flags, Floats


def points(event: Flags, risk: Floats, levels: Floats | None = None) -> list[dict[str, Any]]:
    """Return what acting at each of some levels and above does, rising.

    They are the distinct risks [n] unless others are given.
    """
    every = np.unique(risk if levels is None else levels)
    return [_point(event, risk, t) for t in every.tolist()]


def _point(event: Flags, risk: Floats, t: float) -> dict[str, Any]:
    acts = risk >= t
    found, needless = int(np.sum(acts & event)), int(np.sum(acts & ~event))
    return {
        "act_at": t,
        "found": found,
        "missed": int(event.sum()) - found,
        "needless": needless,
        "spared": int(np.sum(~event)) - needless,
        "net_benefit": _net_benefit(found, needless, len(event), t),
    }


def _net_benefit(found: int, needless: int, rows: int, t: float) -> float | None:
    return (found - needless * t / (1 - t)) / rows if t < 1 else None


def net_benefits(event: Flags, acts: Flags, t: float) -> tuple[float, float]:
    """Return the net benefit of acting on some rows [n] at risk t, and that of acting on all."""
    rows, odds = len(event), t / (1 - t)
    own = (np.sum(acts & event) - odds * np.sum(acts & ~event)) / rows
    every = (event.sum() - odds * np.sum(~event)) / rows
    return float(own), float(every)


def useful(event: Flags, risk: Floats) -> list[float] | None:
    """Return the widest range of risks at which acting by them beats acting on all and on none.

    None where there is no such range. Between two neighbouring risks the same rows are acted on, so
    net benefit beyond all and none is linear in the odds, and its ends are solved for.
    """
    best: list[float] | None = None
    here: list[float] | None = None
    steps = [0.0, *np.unique(risk).tolist(), 1.0]
    for low, high in itertools.pairwise(steps):
        part = _better(event, risk >= high, low, high)
        if part is None:
            here = None
            continue
        here = [here[0], part[1]] if here is not None and here[1] == part[0] else part
        if best is None or here[1] - here[0] > best[1] - best[0]:
            best = [*here]
    return best


def _better(event: Flags, acts: Flags, low: float, high: float) -> list[float] | None:
    """Return the part of risks (low, high] at which acting on some rows beats all and none."""
    found, needless = np.sum(acts & event), np.sum(acts & ~event)
    missed, spared = np.sum(~acts & event), np.sum(~acts & ~event)
    # Better than none where odds < found / needless, than all where odds > missed / spared.
    top = found / (found + needless) if found + needless else 0.0
    bottom = missed / (missed + spared) if missed + spared else 1.0
    part = [max(low, float(bottom)), min(high, float(top))]
    return part if part[0] < part[1] else None
