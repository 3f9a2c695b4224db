"""Other units that a number may come in, and the words and numbers that convert them."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from mbndt.emitters.protocol.grammar import number_text
from mbndt.emitters.protocol.text import plain
from mbndt.emitters.protocol.words import say
from mbndt.errors import OptionError, shown

MOST = 10**9  # factors beyond it, or below one to it, convert no measurement


@dataclass(frozen=True)
class OtherUnit:
    """A unit; a value in it times `factor` is the value in the unit of the rules."""

    unit: str
    factor: Decimal

    @property
    def conversion(self) -> str:
        """Return what to do with a value, in words: `divide by 10`, `multiply by 18.02`."""
        exact = 1 / Fraction(self.factor)
        if exact.denominator == 1 and exact != 1:
            return say("divide", factor=exact.numerator)
        return say("multiply", factor=number_text(float(self.factor)))


def other_units(value: object, own: str, source: str) -> tuple[OtherUnit, ...]:
    """Return what a list of `{unit, factor}` states about a number in its `own` unit.

    Raises `OptionError` that starts with `source`.
    """
    form = '[{unit = "g/L", factor = 0.1}], where factor turns a value into the unit of the rules'
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise OptionError(f"{source}: expected a list, {form}; got {shown(value)}")
    found: list[OtherUnit] = []
    for item in value:
        if set(item) != {"unit", "factor"} or not isinstance(item["unit"], str):
            raise OptionError(f"{source}: expected {form}; got {shown(item)}")
        unit = " ".join(item["unit"].split())
        if not own:
            raise OptionError(
                f"{source}: state the feature's `unit` too; it is what {unit} becomes"
            )
        if not unit or unit in (own, *(other.unit for other in found)):
            raise OptionError(f"{source}: got {shown(unit)}, expected a unit not named before")
        found.append(OtherUnit(unit, _factor(item["factor"], f"{source}: {shown(unit)}: factor")))
    return tuple(found)


def _factor(value: Any, source: str) -> Decimal:
    known = isinstance(value, (int, float)) and not isinstance(value, bool)
    if known and 1 / MOST <= value <= MOST and value != 1:
        return Decimal(repr(value))  # the decimal that was written
    raise OptionError(f"{source}: got {shown(value)}, expected a number above 0 other than 1")


def conversions(units: tuple[OtherUnit, ...]) -> str:
    """Return the conversions in words: `in g/L: divide by 10`; nothing where there are none."""
    return "; ".join(
        say("conversion", unit=plain(other.unit), how=other.conversion) for other in units
    )
