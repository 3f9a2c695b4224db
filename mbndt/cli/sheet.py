"""The commands around the decision sheet: what to state, and thresholds that people can use."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from mbndt.cli.options import (
    Decimal,
    Encoding,
    Missing,
    Model,
    Output,
    Query,
    Quiet,
    Separator,
    note,
    option,
    read,
    write,
)
from mbndt.errors import OptionError, nearest, shown

if TYPE_CHECKING:
    from mbndt.rules import Rules


def sheet_template(model: Model, output: Output = None) -> None:
    """Write a TOML file in which to state what a decision sheet says about the rules."""
    from mbndt.checkpoint import load
    from mbndt.emitters.protocol.statements import template

    write(template(load(model)), output)


def round_(
    model: Model,
    output: Output = None,
    sheet: Annotated[
        Path | None, option(help="TOML or JSON file of the sheet, which states decimals")
    ] = None,
    decimals: Annotated[
        list[str] | None,
        option(
            help="decimals of a feature, or of all features that are not whole numbers; can be"
            " given several times",
            metavar="FEATURE=D|D",
        ),
    ] = None,
    data: Annotated[
        Path | None,
        option(help="training table, to count the rows that change leaf", metavar="FILE"),
    ] = None,
    query: Query = None,
    separator: Separator = None,
    decimal: Decimal = None,
    missing: Missing = None,
    encoding: Encoding = None,
    quiet: Quiet = False,
) -> None:
    """Round the thresholds of rules to the decimals that people measure with.

    Without --data, rounding is refused if a training row might change its leaf. Writes the kind of
    file that it reads: a model file, or rules as JSON.
    """
    from mbndt.checkpoint import load, with_rules
    from mbndt.cli.report import rounded_lines
    from mbndt.emitters.protocol.statements import Statements
    from mbndt.rounding import round_rules

    rules = load(model)
    wanted = {} if sheet is None else Statements.read(sheet, rules).decimals()
    wanted |= _decimals(decimals or [], rules)
    if not wanted:
        raise OptionError("no decimals are stated; state some by `sheet` or `decimals`")
    table = read(data, query, separator, decimal, missing, encoding, rules) if data else None
    found = round_rules(rules, wanted, table)
    write(with_rules(model, found.rules), output)
    if not quiet:
        for line in rounded_lines(found):
            note(line)


def _decimals(texts: list[str], rules: Rules) -> dict[str, int]:
    """Return what `FEATURE=D` and `D` say, the former before the latter."""
    from mbndt.emitters.protocol.statements import MAX_DECIMALS
    from mbndt.rules import FeatureType

    found: dict[str, int] = {}
    everywhere: int | None = None
    for text in texts:
        name, equals, number = text.rpartition("=")
        if not number.lstrip("-").isascii() or not number.lstrip("-").isdigit():
            raise OptionError(f"decimals: got {shown(text)}, expected FEATURE=D or D")
        if abs(int(number)) > MAX_DECIMALS:
            raise OptionError(f"decimals: got {number}, expected at most {MAX_DECIMALS}")
        if not equals:
            everywhere = int(number)
        elif name not in rules.feature or not rules.feature[name].type.numeric:
            numeric = [feature.name for feature in rules.features if feature.type.numeric]
            choices = nearest(name, numeric)
            raise OptionError(f"decimals: {shown(name)} is not a numeric feature{choices}")
        else:
            found[name] = int(number)
    if everywhere is not None:
        broken = (FeatureType.FLOAT64, FeatureType.FLOAT32)
        for feature in rules.used:
            if feature.type in broken:
                found.setdefault(feature.name, everywhere)
    return found
