"""Whether risks come true: over all rows, and in groups of rows of similar risk."""

from __future__ import annotations

from typing import Any

import numpy as np

from mbndt.arrays import Flags, Floats
from mbndt.measures.confidence import wilson

GROUPS, LEAST = 10, 10  # at most so many groups, of at least so many rows


def calibration(event: Flags, risk: Floats) -> dict[str, Any]:
    """Return the mean risk [n] beside the share of events, over all rows and by groups of risk.

    Rows of one risk are never parted, as those of a leaf share theirs.
    """
    return {
        "expected": float(risk.mean()),
        "observed": share(int(event.sum()), len(event)),
        "groups": [
            {
                "expected": float(risk[rows].mean()),
                "observed": share(int(event[rows].sum()), int(rows.sum())),
                "rows": int(rows.sum()),
            }
            for rows in _groups(risk)
        ],
    }


def _groups(risk: Floats) -> list[Flags]:
    levels, counts = np.unique(risk, return_counts=True)
    most = max(LEAST, len(risk) / GROUPS)
    found: list[Flags] = []
    first, rows = 0, 0
    for i, count in enumerate(counts.tolist()):
        rows += count
        left = len(risk) - counts[: i + 1].sum()
        if i == len(levels) - 1 or (rows >= most and left >= LEAST):
            found.append((risk >= levels[first]) & (risk <= levels[i]))
            first, rows = i + 1, 0
    return found


def share(hits: int, n: int) -> list[float] | None:
    """Return a share with its 95 % interval (Wilson's); None of nothing."""
    return [hits / n, *wilson(hits, n)] if n else None
