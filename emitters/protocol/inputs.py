"""The inputs of a decision sheet: what to ask for, and which values the rules are made for."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from mbndt.emitters.protocol.evidence import seen, seen_range
from mbndt.emitters.protocol.examples import Scale
from mbndt.emitters.protocol.grammar import Step, either, number_text, quoted, range_text
from mbndt.emitters.protocol.statements import InputStatement, Statements
from mbndt.emitters.protocol.text import NOT_APPLICABLE, counted, not_stated, plain, said
from mbndt.emitters.protocol.units import conversions
from mbndt.emitters.protocol.words import say
from mbndt.errors import shown
from mbndt.rules import Feature, FeatureType, Rules, Threshold
from mbndt.rules.values import to_float32

Limits = tuple[Threshold, Threshold]


@dataclass(frozen=True)
class Inputs:
    """What is known of the features of some rules: statements and titles, by name."""

    rules: Rules
    known: Mapping[str, InputStatement]
    titles: Mapping[str, str]

    def limits(self, feature: Feature) -> Limits | None:
        """Return what a number is plausible within, else what training rows had."""
        if not feature.type.numeric:
            return None
        ends = self.known[feature.name].range or seen_range(self.rules, feature)
        if ends is None:
            return None
        if feature.type == FeatureType.INTEGER:
            return math.ceil(ends[0]), math.floor(ends[1])
        return float(ends[0]), float(ends[1])

    def scale(self, feature: Feature) -> Scale:
        """Return which numbers occur, as far as it is known."""
        low, high = self.limits(feature) or (None, None)
        return Scale(low, high, self._decimals(feature) if feature.type.numeric else None)

    def _decimals(self, feature: Feature) -> int | None:
        """Return the decimals that a number is recorded with: stated, else those of training."""
        stated = self.known[feature.name].decimals
        if feature.type == FeatureType.INTEGER:
            return min(stated or 0, 0)
        return _decimals_seen(self.rules, feature) if stated is None else stated

    def row(self, letter: str, feature: Feature) -> list[str]:
        """Return the cells of the table of inputs."""
        entry = self.known[feature.name]
        number = feature.type.numeric
        what = "; ".join(plain(text) for text in (entry.description, entry.measured) if text)
        unit = plain(entry.unit) if number or entry.unit else NOT_APPLICABLE
        return [
            letter,
            self.titles[feature.name],
            "; ".join(filter(None, (unit, conversions(entry.other_units)))),
            what or not_stated(),
            _plausible(feature, entry),
            seen(self.rules, feature),
            _if_missing(entry),
        ]

    def step(self, step: Step, feature: Feature) -> dict[str, Any]:
        """Return what a step's template shows."""
        single = feature.type == FeatureType.FLOAT32
        entry = self.known[feature.name]
        stops = any(row.missing and row.stop is not None for row in step.answers)
        missing = "" if stops else entry.missing.text
        return {
            "number": step.number,
            "letter": step.letter,
            "question": self._question(feature),
            "bounded": self.limits(feature) is not None,
            "missing": missing and say("unmeasured_do", text=said(missing)),
            "converted": self._converted(feature),
            "type": feature.type.value,
            "rows": [
                {
                    "parts": row.parts,
                    "then": row.then,
                    "step": row.step,
                    "leaf": row.leaf,
                    "stop": row.stop,
                }
                for row in step.answers
            ],
            # A value written exactly as such an end falls below it.
            "falling": [
                (number_text(end), number_text(to_float32(end)))
                for end in sorted(step.ends)
                if single and to_float32(end) < end
            ],
        }

    def _question(self, feature: Feature) -> str:
        """Return what is asked for, with the values that the rules are made for, if known.

        They are for people: the rows of the step say what the rules do with all others.
        """
        found, limits = self.titles[feature.name], self.limits(feature)
        unit = plain(self.known[feature.name].unit) if self.known[feature.name].unit else ""
        if limits is None:
            return say("in_unit", text=found, unit=unit) if unit else found
        return f"{found}, {range_text(*map(number_text, limits))} {unit}".rstrip()

    def _converted(self, feature: Feature) -> str:
        """Return what to do with a value in another unit, if one is stated."""
        units = conversions(self.known[feature.name].other_units)
        return f"{units[0].upper()}{units[1:]}." if units else ""


def _decimals_seen(rules: Rules, feature: Feature) -> int | None:
    """Return the decimals of the values that the provenance keeps: ends, and beside thresholds."""
    ends = seen_range(rules, feature)
    if ends is None:
        return None
    facts = rules.provenance["features"][feature.name]
    gaps = facts.get("gaps")
    beside = [end for gap in gaps if isinstance(gap, (list, tuple)) for end in gap] if gaps else []
    numbers = [x for x in (*ends, *beside) if isinstance(x, (int, float)) and math.isfinite(x)]
    return max(_decimals(x) for x in numbers)


def _decimals(x: float) -> int:
    exponent = Decimal(repr(x)).normalize().as_tuple().exponent
    assert isinstance(exponent, int)
    return max(-exponent, 0)


def _if_missing(entry: InputStatement) -> str:
    text = entry.missing.text
    if entry.missing.stop:
        return say("input_stops_own", own=said(text)) if text else say("input_stops")
    return said(text) if text else say("row_not_known")


def _plausible(feature: Feature, entry: InputStatement) -> str:
    if feature.type == FeatureType.BOOLEAN:
        return say("yes_or_no")
    if feature.type == FeatureType.CATEGORY:
        return either(map(quoted, feature.categories))
    found = [] if entry.range is None else [range_text(*map(number_text, entry.range))]
    if entry.decimals is not None:
        places = counted(entry.decimals, "decimals", "decimals_one")
        whole = say("decimals_none", n=10 ** -min(entry.decimals, 0))
        found.append(places if entry.decimals > 0 else whole)
    return ", ".join(found) or not_stated()


def too_fine(rules: Rules, stated: Statements) -> Iterator[str]:
    """Yield a note on each feature whose thresholds have more decimals than are recorded."""
    for name, decimals in stated.decimals().items():
        unit = Decimal(1).scaleb(-decimals)
        for threshold in rules.thresholds(rules.feature[name]):
            if Decimal(repr(threshold)) % unit:
                yield (
                    f"{shown(name)}: the threshold {threshold!r} is finer than what is recorded;"
                    " mbndt round rounds it in the rules"
                )
                break


def unit_words(rules: Rules, stated: Statements) -> Iterator[str]:
    """Yield a note on each feature whose unit is stated in other words than the rules'."""
    for name, entry in stated.features.items():
        own = " ".join(rules.feature[name].unit.split())
        if entry.unit and own and entry.unit != own:
            yield (
                f"{shown(name)}: the sheet says {shown(entry.unit)}, the rules {shown(own)};"
                " nothing is converted"
            )
