"""The number types of C headers: what each holds of thresholds, scales, values and results."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction

from mbndt.errors import OptionError, TargetError, nearest, shown
from mbndt.rules import INT64_MIN, Feature, FeatureType, NumericSplit, Rules, Threshold
from mbndt.rules.cuts import double_cut
from mbndt.rules.values import float32_above, to_float32


@dataclass(frozen=True)
class Number:
    """A number type: the C types of number fields, probabilities and values.

    Fixed-point types hold -`high` to `high` and `missing`, one less; floating types say under
    which evaluation methods a compiler doesn't take literals as they are written (`inexact`).
    """

    field: str
    proba: str
    value: str
    inexact: str = ""
    high: int = 0
    missing: str = ""


LONG_DOUBLE = "(__FLT_EVAL_METHOD__ < 0) || (__FLT_EVAL_METHOD__ == 2)"
NUMBERS = {
    "double": Number("double", "double", "double", LONG_DOUBLE),
    "float": Number("float", "float", "float", f"{LONG_DOUBLE} || (__FLT_EVAL_METHOD__ == 1)"),
    "int32": Number("int32_t", "uint16_t", "int32_t", high=2**31 - 1, missing="INT32_MIN"),
    "int16": Number("int16_t", "uint16_t", "int32_t", high=2**15 - 1, missing="INT16_MIN"),
    "int8": Number("int8_t", "uint16_t", "int32_t", high=2**7 - 1, missing="INT8_MIN"),
}
PARTS = 65535
MAX_VALUE = 2**31 - 1
NO_VALUE = -(2**31)
# The function that gives each output.
FUNCTIONS = {"risk": "risk", "score": "score", "probability": "proba"}
MAX_SCALE = 2**31 - 1
MAX_DIGITS = 9
MAX_NOTES = 20
MAX_CATEGORIES = 2**15
FEW_CLASSES = 4
FLOAT_MAX = 3.4028234663852886e38
# The float after FLOAT_MAX, if there were one: as a cut, only infinity lies above it.
FLOAT_END = 2.0**128


@dataclass(frozen=True)
class Format:
    """How a number type holds rules. `given` holds texts `FEATURE=K` with scales for fixed-point
    types; `scales` then has a scale for each number feature, chosen where none is given.

    Raises `OptionError` for a wrong scale.
    """

    number: Number
    rules: Rules
    given: Sequence[str] = ()
    scales: dict[str, int] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        if self.number.high:
            given = self._given_scales()
            for feature in self.rules.features:
                if feature.type.numeric:
                    scale = given.get(feature.name) or self._chosen_scale(feature)
                    self.scales[feature.name] = scale

    def type(self, feature: Feature) -> str:
        """Return the C type of a feature's field."""
        match feature.type:
            case FeatureType.BOOLEAN:
                return "int8_t"
            case FeatureType.CATEGORY:
                return "int16_t"
            case FeatureType.INTEGER if self.number.field == "double":
                return "int64_t"
            case _:
                return self.number.field

    def least(self, feature: Feature) -> int | None:
        """Return the number that stands for a missing one; None where NaN does."""
        if self.number.high:
            return -self.number.high - 1
        return INT64_MIN if self.type(feature) == "int64_t" else None

    def cut(self, feature: Feature, threshold: Threshold) -> Threshold:
        """Return c such that `x < c` on the type's numbers decides `value < threshold`.

        Raises `TargetError` where a fixed-point type has no such number.
        """
        if self.number.high:
            return self._fixed_cut(feature, threshold, self.scales[feature.name])
        if self.number.field == "double":
            return double_cut(feature, threshold)
        if feature.type == FeatureType.INTEGER:
            return float32_above(double_cut(feature, threshold))
        return min(float32_above(threshold), FLOAT_END)

    def _fixed_cut(self, feature: Feature, threshold: Threshold, scale: int) -> int:
        """Return the least integer i whose double i/scale is not below the threshold."""
        cut, high = double_cut(feature, threshold), self.number.high
        found = high + 1 if math.isinf(cut) else math.ceil(Fraction(cut) * scale)
        while -high < found <= high and (found - 1) / scale >= cut:
            found -= 1
        # Numbers past the ends are stored as the ends, so a cut must lie between them.
        if not -high < found <= high:
            raise TargetError(
                f"threshold {threshold!r} of {shown(feature.name)}: not in {1 - high} to {high} of"
                f" {self.number.field} at scale {scale}"
            )
        return found

    def _given_scales(self) -> dict[str, int]:
        found: dict[str, int] = {}
        known = [feature.name for feature in self.rules.features if feature.type.numeric]
        for text in [self.given] if isinstance(self.given, str) else self.given:
            name, equals, digits = str(text).rpartition("=")
            if not equals:
                raise OptionError(f"scale: got {shown(text)}, expected FEATURE=K")
            if name not in known:
                choices = nearest(name, known)
                raise OptionError(f"scale: {shown(name)} is not a numeric feature{choices}")
            if name in found:
                raise OptionError(f"scale: {shown(name)} stands twice")
            if not re.fullmatch("[0-9]{1,10}", digits) or not 1 <= int(digits) <= MAX_SCALE:
                raise OptionError(
                    f"scale: got {shown(digits)} for {shown(name)}, expected a whole number"
                    f" from 1 to {MAX_SCALE}"
                )
            found[name] = int(digits)
        return found

    def _chosen_scale(self, feature: Feature) -> int:
        """Return the power of ten by which a feature's thresholds become whole numbers.

        It is the least that holds each threshold exactly, or else the greatest that keeps all of
        them in range; 1 where none does.
        """
        if feature.type == FeatureType.INTEGER:
            return 1
        thresholds = self.rules.thresholds(feature)
        scale = _decimal_scale(thresholds)
        while scale > 1:
            try:
                for threshold in thresholds:
                    self._fixed_cut(feature, threshold, scale)
                break
            except TargetError:
                scale //= 10
        return scale

    def notes(self) -> list[str]:
        """Return what the user should know of scales and of intervals.

        Scales are named that are chosen or too coarse, and intervals that no number of the type
        reaches.
        """
        found = [] if not self.number.high else self._scale_notes()
        dropped = list(dict.fromkeys(self._dropped()))
        if len(dropped) > MAX_NOTES:
            more = f"{len(dropped) - MAX_NOTES} more intervals are dropped"
            dropped = [*dropped[:MAX_NOTES], more]
        return found + dropped

    def _scale_notes(self) -> list[str]:
        given, found = self._given_scales(), []
        for feature in self.rules.used:
            if feature.type not in (FeatureType.FLOAT64, FeatureType.FLOAT32):
                continue
            name, scale = shown(feature.name), self.scales[feature.name]
            if feature.name not in given:
                found.append(f"scale {scale} of {name} is chosen from its thresholds")
            thresholds = self.rules.thresholds(feature)
            moved = [(t, s) for t in thresholds if (s := self.cut(feature, t) / scale) != t]
            if moved:
                found.append(
                    f"scale {scale} of {name} is too coarse for {len(moved)} of its"
                    f" {len(thresholds)} thresholds: {moved[0][0]!r} becomes {moved[0][1]!r}"
                )
        if self.rules.task == "regression":
            values, scale = self._values()
            pairs = zip(self.rules.leaves, values, strict=True)
            rounded = sum(value / scale != leaf.value for leaf, (value,) in pairs if not leaf.stops)
            coarse = f" and too coarse for {rounded} of them" if rounded else ""
            found.append(f"scale {scale} of the leaf values is chosen from them{coarse}")
        return found

    def _dropped(self) -> Iterable[str]:
        for split in self.rules.splits:
            if not isinstance(split, NumericSplit):
                continue
            feature = self.rules.feature[split.feature]
            low: Threshold = -math.inf
            start: Threshold = -math.inf
            for part in split.intervals:
                end = math.inf if part.below is None else part.below
                high = math.inf if part.below is None else self.cut(feature, end)
                if high <= low:
                    yield (
                        f"{shown(feature.name)}: no number of its type lies from {start!r} to"
                        f" below {end!r}, so this interval is dropped"
                    )
                low, start = max(low, high), end

    def results(self) -> tuple[dict[str, list[list[float]]], int]:
        """Return each output's numbers, or the value, by leaf, and their divisor.

        Where there is no answer they are NaN, or in integer types 0, and the value the least one.
        Raises `TargetError` for a value out of range.
        """
        if self.rules.task == "regression":
            rows, divisor = self._values()
            return {"value": rows}, divisor
        classes = len(self.rules.target.classes)
        nothing: list[float] = [0] * classes if self.number.high else [math.nan] * classes
        found = {
            name: [nothing if row is None else self._shares(row) for row in rows]
            for name, rows in self.rules.outputs.items()
        }
        return found, PARTS if self.number.high else 1

    def _shares(self, row: Sequence[float]) -> list[float]:
        if self.number.high:
            return _parts(row)
        return [*row] if self.number.field == "double" else _rounded(row)

    def _values(self) -> tuple[list[list[float]], int]:
        """Return each leaf's value as a number of the type, and their divisor."""
        labels = [self.rules.label(leaf) for leaf in self.rules.leaves]
        rows = [[math.nan if label is None else float(label)] for label in labels]
        if self.number.field == "double":
            return rows, 1
        known = [value for (value,) in rows if value == value]
        largest = max(known, key=abs)
        scale = _decimal_scale(known)
        while scale > 1 and abs(round(Fraction(largest) * scale)) > MAX_VALUE:
            scale //= 10
        near = round(largest) if self.number.high else to_float32(largest)
        if abs(near) > (MAX_VALUE if self.number.high else FLOAT_MAX):
            raise TargetError(f"leaf value {largest!r}: out of the range of {self.number.value}")
        if not self.number.high:
            return [_rounded(row) for row in rows], 1
        fixed = [NO_VALUE if v != v else round(Fraction(v) * scale) for (v,) in rows]
        return [[value] for value in fixed], scale

    def answers(self) -> dict[str, list[Hashable]]:
        """Return what each function of a header answers, by leaf.

        Numbers are literals, those of outputs with their classes and, where they are cleared
        first, without zeros.
        """
        results, leaves = self.results()[0], self.rules.leaves
        found: dict[str, list[Hashable]] = {"leaf": [leaf.leaf for leaf in leaves]}
        if self.rules.task == "regression":
            told = [value for (value,) in results["value"]]
            listed = ["INT32_MIN" if v == NO_VALUE else self.literal(v) for v in told]
            return {**found, "value": [*listed]}
        found["class"] = [-1 if leaf.stops else leaf.class_index for leaf in leaves]
        dropped = self.zero if self.clears else ""
        for name, rows in results.items():
            shares = [enumerate(map(self.literal, row)) for row in rows]
            found[FUNCTIONS[name]] = [
                tuple(one for one in row if one[1] != dropped) for row in shares
            ]
        return found

    @property
    def clears(self) -> bool:
        """Tell whether all probabilities are cleared before the answer's are set.

        It is shorter where there are many.
        """
        return len(self.rules.target.classes) > FEW_CLASSES

    @property
    def zero(self) -> str:
        """Return the literal of a probability of zero."""
        return self.literal(0 if self.number.high else 0.0)

    def literal(self, value: Threshold) -> str:
        """Return the shortest literal that reads back as a number of the type."""
        if isinstance(value, int):
            return str(value)
        if value != value:  # without the macro of math.h
            return "(0.0 / 0.0)" if self.number.field == "double" else "(0.0f / 0.0f)"
        return repr(value) if self.number.field == "double" else _float_literal(value)


def _rounded(row: Sequence[float]) -> list[float]:
    return [to_float32(value) for value in row]


def _parts(row: Sequence[float]) -> list[float]:
    """Return probabilities as whole parts that sum to `PARTS`, by the largest remainder."""
    quotas = [Fraction(p) * PARTS for p in row]
    parts = [math.floor(quota) for quota in quotas]
    order = sorted(range(len(row)), key=lambda c: parts[c] - quotas[c])
    for c in order[: PARTS - sum(parts)]:
        parts[c] += 1
    return list(parts)


def _decimal_scale(numbers: Iterable[float]) -> int:
    """Return the least power of ten, up to `MAX_DIGITS`, that makes numbers whole as printed."""
    exponents = (Decimal(repr(float(x))).normalize().as_tuple().exponent for x in numbers)
    digits = max((-int(exponent) for exponent in exponents), default=0)
    return int(10 ** min(max(digits, 0), MAX_DIGITS))


def _float_literal(value: float) -> str:
    above = min(float32_above(math.nextafter(value, math.inf)), FLOAT_END)
    below = max(-float32_above(math.nextafter(-value, math.inf)), -FLOAT_END)
    for digits in range(1, 10):
        text = f"{value:.{digits}g}"
        # Strictly between the midpoints, so that it doesn't matter how a compiler breaks ties.
        if (below + value) / 2 < Decimal(text) < (value + above) / 2:
            break
    return f"{text}f" if "." in text or "e" in text else f"{text}.0f"
