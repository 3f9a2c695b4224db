"""Worked examples of a decision sheet: invented rows, walked through step by step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

from mbndt.emitters.protocol.grammar import Answer, Sheet, value_text
from mbndt.rules import INT64_MAX, INT64_MIN, Feature, FeatureType, Threshold
from mbndt.rules.values import Value, read_value

Pools: TypeAlias = dict[str, list[Value]]


@dataclass(frozen=True)
class Scale:
    """Which numbers occur: from `low` to `high`, with so many decimals; None where not known."""

    low: Threshold | None = None
    high: Threshold | None = None
    decimals: int | None = None

    def has(self, x: Threshold) -> bool:
        """Tell whether a number occurs."""
        inside = (self.low is None or x >= self.low) and (self.high is None or x <= self.high)
        unit = None if self.decimals is None else Decimal(1).scaleb(-self.decimals)
        return inside and (unit is None or not Fraction(repr(x)) % Fraction(unit))


def examples(
    sheet: Sheet, titles: Mapping[str, str], scales: Mapping[str, Scale]
) -> Iterator[dict[str, Any]]:
    """Yield a row that takes many steps, and one exactly on a boundary, each walked through.

    Their numbers are such as occur by the `scales` of features; one that would need others is left
    out.
    """
    for edge in (False, True):
        pools = _narrowed(sheet, edge, scales) if sheet.steps else None
        if pools is None:
            continue
        row = {sheet.inputs[letter].name: pool[0] for letter, pool in pools.items()}
        walk = []
        for step, answer in sheet.follow(row):
            feature = sheet.inputs[step.letter]
            asked = [str(step.number), titles[feature.name], value_text(row[feature.name])]
            walk.append([*asked, _reason(answer, feature, row[feature.name]), answer.then])
        yield {"edge": edge, "walk": walk}


def _reason(answer: Answer, feature: Feature, raw: Value) -> str:
    """Return the one part of a row that the value fits."""
    value = read_value(feature.type, raw)
    if value is None:
        return Answer(missing=True).parts[0]
    own = [Answer(bounds=(bounds,)) for bounds in answer.bounds]
    own += [Answer(values=(known,)) for known in answer.values]
    return next((part.parts[0] for part in own if part.names(value)), Answer(other=True).parts[0])


def _narrowed(sheet: Sheet, edge: bool, scales: Mapping[str, Scale]) -> Pools | None:
    """Return candidate values by letter, narrowed to those that take one way from step 1.

    Where there is a choice the way takes known values and more steps; with `edge` it meets an end
    of an interval exactly (None where there is none on it).
    """
    pools = _pools(sheet, scales)
    cutting = {number for number, step in sheet.steps.items() if step.ends}
    for step in reversed([*sheet.steps.values()]):
        cutting |= {step.number for answer in step.answers if answer.step in cutting}
    number: int | None = 1
    while number is not None:
        step = sheet.steps[number]
        pool = pools[step.letter]
        if edge and (exact := [value for value in pool if value in step.ends]):
            pool, edge = [exact[0]], False
        kept: dict[Answer, list[Value]] = {}
        for value in pool:
            answer = step.pick(read_value(sheet.inputs[step.letter].type, value))
            kept.setdefault(answer, []).append(value)
        wanted = cutting if edge else sheet.steps.keys()
        answer = max(kept, key=lambda row: (kept[row][0] is not None, row.step in wanted))
        pools[step.letter], number = kept[answer], answer.step
    return None if edge else pools


def _pools(sheet: Sheet, scales: Mapping[str, Scale]) -> Pools:
    """Return candidate values of each input by letter: inside each interval, each end, missing."""
    ends: dict[str, set[Threshold]] = {letter: set() for letter in sheet.inputs}
    for step in sheet.steps.values():
        ends[step.letter] |= step.ends
    pools: Pools = {}
    for letter, feature in sheet.inputs.items():
        pools[letter] = [*feature.categories]
        if feature.type == FeatureType.BOOLEAN:
            pools[letter] = [False, True]
        elif feature.type.numeric:
            cuts = sorted(ends[letter])
            ends_of = zip([None, *cuts], [*cuts, None], strict=True)
            scale = scales.get(feature.name, Scale())
            inside = [_between(*_within(*pair, scale.low, scale.high)) for pair in ends_of]
            ends_seen = [end for end in (scale.low, scale.high) if end is not None]
            pools[letter] = [x for x in (*inside, *cuts, *ends_seen) if scale.has(x)]
        pools[letter].append(None)
    return pools


def _within(
    low: Threshold | None,
    high: Threshold | None,
    least: Threshold | None,
    greatest: Threshold | None,
) -> tuple[Threshold | None, Threshold | None]:
    """Return the part of an open interval that lies within a range, or all where none does."""
    if low is None and least is not None and (high is None or least < high):
        low = least
    if high is None and greatest is not None and (low is None or low < greatest):
        high = greatest
    return low, high


def _between(low: Threshold | None, high: Threshold | None) -> Threshold:
    """Return a short number of the interval, its lower end where there is none between."""
    if low is None and high is None:
        return 1
    if low is None:
        assert high is not None
        # Most measurements are above zero.
        low = 0 if high > 1 or (isinstance(high, float) and high > 0) else high - max(1, -high // 2)
    elif high is None:
        high = low + max(1, abs(low) // 2)
    assert high is not None
    if isinstance(low, int) and isinstance(high, int):
        return min(max((low + high) // 2, INT64_MIN), INT64_MAX)
    middle = low / 2 + high / 2
    short = (float(f"{middle:.{digits}g}") for digits in range(1, 18))
    return next((x for x in short if low < x < high), low)
