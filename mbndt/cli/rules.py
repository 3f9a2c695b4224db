"""The commands that use rules as they are: predict, show, schema."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from mbndt.cli.options import (
    Data,
    Decimal,
    Encoding,
    Missing,
    Model,
    Output,
    Query,
    Quiet,
    Separator,
    option,
    read,
    write,
)
from mbndt.errors import OptionError


def predict(
    model: Model,
    data: Data,
    output: Output = None,
    query: Query = None,
    separator: Separator = None,
    decimal: Decimal = None,
    missing: Missing = None,
    encoding: Encoding = None,
    quiet: Quiet = False,
) -> None:
    """Answer each row of a table; writes CSV."""
    from mbndt.checkpoint import load
    from mbndt.cli.report import predictions_csv

    rules = load(model)
    table = read(data, query, separator, decimal, missing, encoding, rules)
    write(predictions_csv(rules, rules.predict(table)), output)


def show(
    model: Model,
    metrics: Annotated[
        bool,
        option("--metrics", help="also print how much the rules ask for, and what is redundant"),
    ] = False,
    data: Annotated[
        Path | None,
        option(help="with --metrics: table whose rows may lack values", metavar="FILE"),
    ] = None,
    query: Query = None,
    separator: Separator = None,
    decimal: Decimal = None,
    missing: Missing = None,
    encoding: Encoding = None,
    quiet: Quiet = False,
) -> None:
    """Print the rules as an outline, with their size."""
    from mbndt.checkpoint import load
    from mbndt.cli.report import metric_lines, print_rules

    if data and not metrics:
        raise OptionError("data: only with `metrics`")
    rules = load(model)
    table = read(data, query, separator, decimal, missing, encoding, rules) if data else None
    lines = metric_lines(rules, table) if metrics else []
    if not quiet:
        print_rules(rules)
        print("\n".join(lines), end="\n" * bool(lines))


def schema(output: Output = None) -> None:
    """Print the JSON Schema of the rules format."""
    from mbndt.rules.json import schema as rules_schema

    write(rules_schema(), output)
