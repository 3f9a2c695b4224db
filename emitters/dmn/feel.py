"""FEEL, the language of a table's cells: names, texts, numbers and unary tests.

DMN 1.3, chapter 10. Literals are written as every engine reads them: numbers without exponents,
texts with nothing that isn't printed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import groupby

from mbndt.emitters.base import identifier, visible
from mbndt.errors import TargetError, shown
from mbndt.rules import Feature, FeatureType, TargetType, Threshold
from mbndt.rules.cuts import double_cut
from mbndt.rules.values import Value

EXACT = 2**53 - 1  # up to which engines that count in doubles tell whole numbers apart
TYPES = {
    FeatureType.BOOLEAN: "boolean",
    FeatureType.CATEGORY: "string",
    TargetType.BOOLEAN: "boolean",
    TargetType.STRING: "string",
}
# Words and functions of the language, by whose names no variable can go.
TAKEN = frozenset(
    """
    abs after all any append before between boolean ceiling coincides concatenate contains context
    count date day decimal distinct duration during else even ends every exp external extract
    false finishes flatten floor for function get if in includes index insert instance is item last
    list log lower mean median meets min max mode modulo month not now null number odd of or and
    overlaps partial product range remove replace return reverse round satisfies some sort split
    sqrt starts started stddev string sublist substring sum then time today true union upper week
    weekday year years
    """.split()  # noqa: SIM905
)


def names_of(texts: Iterable[str]) -> list[str]:
    """Return a variable's name for each text, all different.

    >>> names_of(["heart rate", "Heart rate", "date"])
    ['heart_rate', 'heart_rate_2', 'm_date']
    """
    found: dict[str, None] = {}
    for text in texts:
        word = identifier(text)
        word, number = f"m_{word}" if word in TAKEN else word, 1
        name = word
        while name in found:
            number += 1
            name = f"{word}_{number}"
        found[name] = None
    return list(found)


def literal(value: Value) -> str:
    r"""Return the literal of a value; raises `TargetError` for a number that engines confuse.

    >>> literal("a\n"), literal(True), literal(1e-7), literal(-2.0), literal(None)
    ('"a\\n"', 'true', '0.0000001', '-2', 'null')
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        # Six digits, as a digit that follows `\u0041` would be taken for a part of it.
        return f'"{visible(value.translate({34: chr(92) + chr(34), 92: chr(92) * 2}))}"'
    if isinstance(value, int):
        if abs(value) > EXACT:
            raise TargetError(
                f"dmn: got the whole number {value}, expected less than 2^53 either way,"
                " past which engines that count in doubles confuse it with others"
            )
        return str(value)
    text = format(Decimal(repr(value)), "f")
    # A long number without a point is read digit by digit, and not always to the nearest double.
    return text.removesuffix(".0") if abs(value) <= EXACT or "." in text else f"{text}.0"


def unary_tests(feature: Feature, cells: Sequence[Value], mask: int) -> str:
    """Return the tests that the values of a mask over a feature's cells pass, and no others.

    `cells` are those of `Space`: the missing value last, before it in a category the texts unseen
    in training. A text without characters is missing, as null is.
    """
    taken = [bool(mask >> i & 1) for i in range(len(cells))]
    *inner, missing = taken
    category = feature.type == FeatureType.CATEGORY
    gaps = ["null", '""'] if category else ["null"]
    if all(inner):
        return "-" if missing else f"not({', '.join(gaps)})"
    if feature.type.numeric:
        found = list(_ranges(feature, cells, inner))
    elif category and inner[-1]:
        # Texts that no one lists are let in by naming those that aren't.
        out = [literal(text) for text, own in zip(cells, inner, strict=False) if not own]
        return f"not({', '.join(out if missing else [*gaps, *out])})"
    else:
        found = [literal(value) for value, own in zip(cells, inner, strict=False) if own]
    return ", ".join([*gaps, *found] if missing else found)


def _ranges(feature: Feature, cells: Sequence[Value], taken: Sequence[bool]) -> Iterator[str]:
    """Yield the runs of cells that are taken, lower ends within and upper ends without."""
    place = 0
    for own, run in groupby(taken):
        start, place = place, place + len(list(run))
        if not own:
            continue
        low = _cut(feature, cells[start]) if start else None
        high = _cut(feature, cells[place]) if place < len(taken) else None
        if low is None:
            yield f"< {high}"
        else:
            yield f">= {low}" if high is None else f"[{low}..{high})"


def _cut(feature: Feature, value: Value) -> str:
    """Return the least double, or whole number, of the cell that begins with a value."""
    assert isinstance(value, float | int)
    cut: Threshold = double_cut(feature, value)
    try:
        return literal(cut + 0)
    except TargetError as error:
        raise TargetError(f"{error}, as a threshold of {shown(feature.name)}") from None
