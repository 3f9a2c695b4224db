"""Numbers as CQL holds them: whole ones of 32 bits, decimals of 8 places below 10^20 either way.

Clinical Quality Language 1.5, appendix B, types Integer and Decimal. Thresholds become the next
number that CQL holds and that isn't below, so `x < t` is decided exactly for every x that CQL
holds; what is told of a leaf is rounded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Decimal
from typing import TYPE_CHECKING

from mbndt.errors import TargetError, shown
from mbndt.rules import Feature, FeatureType, Rules, Threshold
from mbndt.rules.cuts import double_cut

if TYPE_CHECKING:
    from mbndt.tables.table import Table

PLACES = 8
STEP = Decimal(1).scaleb(-PLACES)
DECIMAL_END = 10**20
INTEGER_END = 2**31 - 1  # and the same below zero, as the literal of -2^31 doesn't read


def cut(feature: Feature, threshold: Threshold) -> Threshold:
    """Return c such that `x < c` decides `value < threshold` for each x that CQL holds.

    Raises `TargetError` for a threshold past the numbers of the feature's type.
    """
    found = double_cut(feature, threshold)
    whole = feature.type == FeatureType.INTEGER
    if abs(found) > INTEGER_END if whole else abs(found) >= DECIMAL_END:
        kind = "whole numbers end at 2^31" if whole else "decimals end at 10^20"
        name = shown(feature.name)
        raise TargetError(f"fhir: threshold {threshold!r} of {name}: CQL's {kind} either way")
    return found if whole else float(Decimal(repr(found)).quantize(STEP, ROUND_CEILING)) + 0.0


def rounded(value: float) -> float:
    """Return the nearest number of 8 places; raises `TargetError` for one past CQL's decimals.

    >>> rounded(2 / 3), rounded(-1e-9), rounded(1e19)
    (0.66666667, 0.0, 1e+19)
    """
    if abs(value) >= DECIMAL_END:
        raise TargetError(f"fhir: got {value!r} as an answer, CQL's decimals end at 10^20")
    return float(Decimal(repr(value)).quantize(STEP, ROUND_HALF_EVEN)) + 0.0


def whole(value: int, what: str) -> int:
    """Return a whole number; raises `TargetError` for one past CQL's, and says what it is."""
    if abs(value) > INTEGER_END:
        raise TargetError(
            f"fhir: got {value} as {what}, CQL's whole numbers end at 2^31 either way"
        )
    return value


def moved(rules: Rules) -> list[tuple[Feature, Threshold, Threshold]]:
    """Return the thresholds that CQL doesn't hold, with what stands for each.

    Raises `TargetError` where it can't tell two of them apart, as `cut` does.
    """
    found = []
    for feature in rules.used:
        if not feature.type.numeric:
            continue
        cuts: dict[Threshold, Threshold] = {}
        for threshold in rules.thresholds(feature):
            exact, own = double_cut(feature, threshold), cut(feature, threshold)
            if cuts.setdefault(own, exact) != exact:
                raise TargetError(
                    f"fhir: thresholds of {shown(feature.name)} near {threshold!r} are one in CQL's"
                    f" {PLACES} decimals: choose a smaller unit, or thresholds further apart"
                )
            if own != exact:
                found.append((feature, threshold, own))
    return found


def held(rules: Rules, table: Table) -> Table:
    """Return the rows as CQL holds them, in decimals of 8 places, where some threshold was moved.

    Where none was, any doubles are told apart as they should be.
    """
    if not moved(rules):
        return table
    from mbndt.tables.table import Table

    columns = {
        feature.name: _rounded_column(table, feature)
        if feature.type in (FeatureType.FLOAT64, FeatureType.FLOAT32)
        else [row[feature.name] for row in table.records([feature])]
        for feature in rules.used
    }
    return Table.of(columns)


def _rounded_column(table: Table, feature: Feature) -> list[float | None]:
    # A float32 feature comes as the double before it is rounded.
    return [
        None if value is None else round(value, PLACES)
        for value in numbers_of(table, replace(feature, type=FeatureType.FLOAT64))
    ]


def numbers_of(table: Table, feature: Feature) -> Iterator[float | None]:
    """Yield a column's numbers, None where they are missing."""
    column = table.typed(feature)
    for value, missing in zip(column.values.tolist(), column.missing.tolist(), strict=True):
        yield None if missing else value
