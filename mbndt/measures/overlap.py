"""A small sketch of many rows, by which a later table tells how many of its rows were among them.

It has a bit for each of about twice as many places as rows, set where a row's hash leads, so that a
new row meets a set bit about two times of five: next to nothing is told of one row, much of many.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

import numpy as np

from mbndt.measures.confidence import wilson
from mbndt.tables.digest import Hashes

MOST = 4096  # rows that are sketched: of more, one in so many, by their hash
SHIFT = np.uint64(40)  # the places are told by other bits than the choice of rows


def sketch(hashes: Hashes) -> dict[str, Any]:
    """Return the sketch of rows by their hashes [n], as plain values."""
    one_in = max(1, -(-len(hashes) // MOST))
    kept = _chosen(hashes, one_in)
    places = max(8, -(-2 * len(kept) // 8) * 8)
    bits = np.zeros(places, np.bool_)
    bits[kept % np.uint64(places)] = True
    _, counts = np.unique(hashes, return_counts=True)
    return {
        "one in": one_in,
        "bits": base64.b64encode(np.packbits(bits).tobytes()).decode(),
        "repeated": float(counts[counts > 1].sum() / max(1, len(hashes))),
    }


def _chosen(hashes: Hashes, one_in: int) -> Hashes:
    return np.asarray(hashes[(hashes >> SHIFT) % np.uint64(one_in) == 0])


def share_seen(known: Mapping[str, Any], hashes: Hashes) -> tuple[float, float] | None:
    """Return how large a share of rows [n] was sketched, at least (95 %), and by mere chance.

    Chance is how many new rows would seem to be among the old ones: as many as old rows equal
    another, and those that meet a set bit. None for a sketch that can't be read, or too few rows.
    """
    try:
        packed = base64.b64decode(known["bits"], validate=True)
        one_in, repeated = int(known["one in"]), float(known["repeated"])
    except (KeyError, TypeError, ValueError, binascii.Error):
        return None
    if not packed or one_in < 1 or not 0 <= repeated <= 1:
        return None
    bits = np.unpackbits(np.frombuffer(packed, np.uint8)).astype(np.bool_)
    rows = _chosen(hashes, one_in)
    chance = repeated + (1 - repeated) * float(bits.mean())
    if not len(rows) or chance >= 1:
        return None
    met = int(bits[rows % np.uint64(len(bits))].sum())
    low, _ = wilson(met, len(rows))
    return max(0.0, (low - chance) / (1 - chance)), repeated
