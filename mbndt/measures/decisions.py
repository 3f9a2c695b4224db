"""What acting from some risk on finds, misses, and does needlessly.

Net benefit counts what is found, less what is needless at the odds of the risk to act at (Vickers
and Elkin, Medical Decision Making 26, 2006).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mbndt.arrays import Flags, Floats
from mbndt.measures.confidence import wilson


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
        "net_benefit_95": net_benefit_interval(found, needless, len(event), t),
    }


def _net_benefit(found: int, needless: int, rows: int, t: float) -> float | None:
    return (found - needless * t / (1 - t)) / rows if t < 1 else None


def net_benefit_interval(found: int, needless: int, rows: int, t: float) -> list[float] | None:
    """Return the 95 % interval of net benefit at risk t; None for t of 1.

    It joins Wilson's intervals of the two shares, which lean against each other as parts of the
    same rows (the method of variance estimates recovery, Zou and Donner 2008).
    """
    if t >= 1:
        return None
    odds, p, q = t / (1 - t), found / rows, needless / rows
    (p_low, p_high), (q_low, q_high) = wilson(found, rows), wilson(needless, rows)
    lean = math.sqrt(p * q / ((1 - p) * (1 - q))) if p < 1 and q < 1 else 0.0

    def half(a: float, b: float) -> float:
        return math.sqrt(a * a + b * b + 2 * lean * a * b)

    value = p - odds * q
    low = value - half(p - p_low, odds * (q_high - q))
    return [low, value + half(p_high - p, odds * (q - q_low))]


def of_answers(table: Sequence[Sequence[int]], event: int, t: float) -> dict[str, Any] | None:
    """Return the net benefit of acting on those told the event, and on all, at risk t.

    `table` counts truth x answer; None for no rows.
    """
    rows, found = sum(map(sum, table)), table[event][event]
    if not rows or t >= 1:
        return None
    needless, ill = sum(row[event] for row in table) - found, sum(table[event])
    value = _net_benefit(found, needless, rows, t)
    interval = net_benefit_interval(found, needless, rows, t)
    assert interval is not None
    every = _net_benefit(ill, rows - ill, rows, t)
    return {"act_at": t, "net_benefit": [value, *interval], "treat_all": every}


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
