"""The commands that use rules as they are: predict, show, schema."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
    against: Annotated[
        tuple[Path, Path] | None,
        option(
            "--check",
            help="tell whether a decision sheet (MODEL is its HTML, PDF, Markdown or text) is that"
            " of this model and this file of statements, - for none; exit 1 where it is not",
            metavar="MODEL STATEMENTS",
        ),
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
    if against is not None:
        _check(model, *against, quiet=quiet)
        return
    rules = load(model)
    table = read(data, query, separator, decimal, missing, encoding, rules) if data else None
    lines = metric_lines(rules, table) if metrics else []
    if not quiet:
        print_rules(rules)
        print("\n".join(lines), end="\n" * bool(lines))


def _check(sheet: Path, model: Path, statements: Path, *, quiet: bool) -> None:
    """Print whether a sheet is that of a model and statements; exits with 1 where it is not."""
    from mbndt.checkpoint import load
    from mbndt.emitters.protocol.check import differences

    found = differences(sheet, load(model), None if str(statements) == "-" else statements)
    if not quiet:
        print("\n".join(found) if found else f"{sheet}: the sheet of these rules and statements")
    if found:
        raise typer.Exit(1)


def schema(output: Output = None) -> None:
    """Print the JSON Schema of the rules format."""
    from mbndt.rules.json import schema as rules_schema

    write(rules_schema(), output)
