"""Figures by group of rows: of each value of some columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mbndt.arrays import Flags
from mbndt.errors import OptionError, shown
from mbndt.rules.standing import LEAST_ROWS
from mbndt.rules.values import label_text
from mbndt.tables.table import distinct
from mbndt.tables.target import missing_rows
from mbndt.validation.answers import Answered

MOST = 20  # values of a column
NOT_KNOWN = "not known"


def groups(found: Answered, by: Sequence[str]) -> list[dict[str, Any]]:
    """Return the figures of each value of each column; `small` are those of too few rows.

    Raises `OptionError` for a column of more than `MOST` values.
    """
    return [
        {
            "by": name,
            "value": value,
            "all_rows": int(rows.sum()),
            "small": bool(rows.sum() < LEAST_ROWS),
            "performance": found.performance(rows),
        }
        for name in by
        for value, rows in _parts(found, name)
    ]


def _parts(found: Answered, name: str) -> list[tuple[str, Flags]]:
    """Return a column's values as texts, and the rows [n] of each; those without one last."""
    missing = missing_rows(found.table, name)
    cells, codes = distinct(found.table.column(name))
    present: dict[str, list[int]] = {}
    for code in np.unique(codes[~missing]).tolist():
        present.setdefault(label_text(cells[code]), []).append(code)
    if len(present) > MOST:
        raise OptionError(
            f"by: column {shown(name)} has {len(present)} different values, expected at most"
            f" {MOST}; make groups of them"
        )
    parts = [(text, np.isin(codes, own) & ~missing) for text, own in sorted(present.items())]
    return [*parts, (NOT_KNOWN, missing)] if missing.any() else parts
