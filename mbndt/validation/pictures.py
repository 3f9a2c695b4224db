"""The two pictures of a report, as coordinates for its template: calibration and decision curve."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

SIDE = 300  # units of a picture's frame, whose origin is its lower left corner
STEPS = 200

Pairs = Iterable[tuple[float, float]]


def calibration_dots(performance: Mapping[str, Any]) -> list[dict[str, float]]:
    """Return a dot a group of similar risk: expected across, observed with its interval upwards."""
    return [
        {
            "x": group["expected"] * SIDE,
            **dict(zip(("y", "low", "high"), _up(group["observed"], 1.0, 0.0), strict=True)),
        }
        for group in performance["calibration"]["groups"]
    ]


def decision_curve(performance: Mapping[str, Any]) -> dict[str, Any]:
    """Return the lines of net benefit by the risk to act at, and the marks of the upward axis."""
    counts = performance["class_rows"]
    share = counts[performance["event"]] / sum(counts)
    top = max(share, 0.01) * 1.1
    bottom = -top / 4
    risks = np.arange(STEPS) / STEPS
    rules = [(t, _by_rules(performance["points"], sum(counts), t)) for t in risks.tolist()]
    every = [(t, share - (1 - share) * t / (1 - t)) for t in risks.tolist()]
    return {
        "rules": _line(rules, top, bottom),
        "all": _line(every, top, bottom),
        "none": _up([0.0], top, bottom)[0],
        "share": _up([share], top, bottom)[0],
        "prevalence": share,
    }


def _by_rules(points: Iterable[Mapping[str, Any]], rows: int, t: float) -> float:
    """Return the net benefit of acting by the rules at a risk: from the next of theirs on."""
    point = next((p for p in points if p["act_at"] >= t), None)
    if point is None:
        return 0.0
    return float((point["found"] - point["needless"] * t / (1 - t)) / rows)


def _line(pairs: Pairs, top: float, bottom: float) -> str:
    """Return the points of a line, up to where it leaves the frame."""
    kept = []
    for x, y in pairs:
        if y < bottom:
            break
        kept.append(f"{x * SIDE:.1f},{_up([y], top, bottom)[0]:.1f}")
    return " ".join(kept)


def _up(values: Iterable[float], top: float, bottom: float) -> list[float]:
    """Return heights as coordinates, which count downwards."""
    return [SIDE - (value - bottom) / (top - bottom) * SIDE for value in values]
