"""Seeded tables with every type of column, gaps and rare categories, and a target to learn."""

import numpy as np

from mbndt.tables.table import Table

CODES = tuple(f"code {i}" for i in range(14))


def mixed_table(rows: int = 300, seed: int = 0) -> Table:
    """Return a table with numbers, whole numbers, booleans, and categories of three sizes."""
    draw = np.random.default_rng(seed)
    x = draw.normal(50, 20, rows).round(1)
    n = draw.integers(0, 30, rows)
    flag = draw.random(rows) < 0.4
    colour = draw.choice(["red", "green", "blue", "grey"], rows, p=[0.4, 0.3, 0.2, 0.1])
    pair = draw.choice(["left", "right"], rows)
    code = draw.choice(CODES, rows)
    signal = (x > 55) & (n > 8) | (colour == "red") & flag
    y = np.where(draw.random(rows) < 0.1, ~signal, signal)

    def gaps(values: np.ndarray, share: float) -> list[object]:
        missing = draw.random(rows) < share
        return [None if m else v for v, m in zip(values.tolist(), missing, strict=True)]

    return Table.of(
        {
            "x": gaps(x, 0.1),
            "single": draw.normal(size=rows).astype(np.float32),
            "n": gaps(n, 0.05),
            "flag": gaps(flag, 0.1),
            "colour": gaps(colour, 0.1),
            "pair": gaps(pair, 0.1),
            "code": gaps(code, 0.05),
            "y": np.where(y, "yes", "no").astype(object),
        }
    )
