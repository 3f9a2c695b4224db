"""The commands that hold rules against the truth: points, validate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from mbndt.cli.options import (
    Decimal,
    Encoding,
    Missing,
    Model,
    Query,
    Quiet,
    Separator,
    check_outputs,
    note,
    option,
    read,
    write,
)
from mbndt.errors import OptionError, shown

if TYPE_CHECKING:
    from mbndt.rules import Rules
    from mbndt.validation.validate import Validation

DATA, DEPLOYED = "The rows", "Where the rules run"

Truth = Annotated[
    str | None,
    option("--target", help="name of the column that has the truth", default="the rules' target"),
]


def points(
    model: Model,
    data: Annotated[Path, option(help="table with the truth", metavar="FILE")],
    target: Truth = None,
    query: Query = None,
    separator: Separator = None,
    decimal: Decimal = None,
    missing: Missing = None,
    encoding: Encoding = None,
    quiet: Quiet = False,
) -> None:
    """List what acting from each risk on finds, misses, and does needlessly.

    The rows should be other ones than those learned from, whose figures flatter.
    """
    from mbndt.checkpoint import load
    from mbndt.cli.validated import print_points
    from mbndt.validation.points import trade_off

    rules = load(model)
    table = read(data, query, separator, decimal, missing, encoding, rules)
    print_points(trade_off(rules, table, target))


def validate(
    model: Model,
    data: Annotated[
        Path | None, option(help="table with the truth", metavar="FILE", panel=DATA)
    ] = None,
    target: Truth = None,
    by: Annotated[
        list[str] | None,
        option(
            help="columns whose values make groups; several with commas, or several times",
            metavar="COLUMN,…",
            panel=DATA,
        ),
    ] = None,
    on: Annotated[
        str | None,
        option(
            help="what the rows are of, as 'Hospital B, 2025', if they come from elsewhere",
            default="rows of the same place",
            panel=DATA,
        ),
    ] = None,
    date: Annotated[
        str | None, option(help="day of the validation, YYYY-MM-DD", default="today", panel=DATA)
    ] = None,
    output: Annotated[
        Path | None,
        option("-o", "--output-file", help="file to write the rules with their validation to"),
    ] = None,
    report: Annotated[
        Path | None, option(help="file to write the report to, .html or .json")
    ] = None,
    against: Annotated[
        str | None,
        option(
            help="DuckDB or SQLite file, or postgres://…, in which the rules run",
            metavar="FILE|URL",
            panel=DEPLOYED,
        ),
    ] = None,
    view: Annotated[
        str | None,
        option(help="view or table there that has the answers", metavar="NAME", panel=DEPLOYED),
    ] = None,
    prefix: Annotated[
        str,
        option(help="text before the answers' names there", default="none", panel=DEPLOYED),
    ] = "",
    query: Query = None,
    separator: Separator = None,
    decimal: Decimal = None,
    missing: Missing = None,
    encoding: Encoding = None,
    quiet: Quiet = False,
) -> None:
    """Hold rules against the truth of other rows, or answers where they run against the rules.

    With --data: figures with intervals, by group too, and what has moved since the training; the
    rules written by -o count as validated. With --against: exits with 1 if an answer differs.
    """
    if (data is None) == (against is None):
        raise OptionError("data, against: expected one of them")
    if (against is None) != (view is None):
        raise OptionError("against, view: expected both or none")
    from mbndt.checkpoint import load

    rules = load(model)
    if against is not None and view is not None:
        _against(rules, against, view, prefix, quiet)
        return
    assert data is not None
    if prefix:
        raise OptionError("prefix: only with `against`")
    from mbndt.checkpoint import with_rules
    from mbndt.files import sha256_of
    from mbndt.validation.validate import validate as run

    check_outputs(data, output, report)
    if report is not None and report.suffix.lower() not in (".html", ".json"):
        raise OptionError(f"report: got {shown(str(report))}, expected a name in .html or .json")
    table = read(data, query, separator, decimal, missing, encoding, rules)
    parts = ([text] if text in table else text.split(",") for text in by or [])
    columns = [name for part in parts for name in part]
    found = run(rules, table, target, by=columns, on=on, date=date, sha256=sha256_of(data))
    if report is not None:
        write(_report(found, report), report)
    if output is not None:
        write(with_rules(model, found.validated), output)
    if not quiet and str(output) != "-":
        from mbndt.cli.validated import print_validation

        print_validation(found)
        if output is not None:
            note(f"{output}: {found.status}")


def _report(found: Validation, path: Path) -> str:
    import json

    if path.suffix.lower() == ".html":
        return found.to_html()
    return json.dumps(found.as_dict(), indent=1, allow_nan=False) + "\n"


def _against(rules: Rules, against: str, view: str, prefix: str, quiet: bool) -> None:
    import typer

    from mbndt.cli.validated import print_deployed
    from mbndt.validation.deployed import compare

    found = compare(rules, against, view, prefix)
    if not quiet:
        print_deployed(rules, found)
    if found.mismatches:
        raise typer.Exit(1)
