"""The commands around targets: compile, verify."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mbndt.cli.fields import target_options, with_options
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
from mbndt.emitters import TARGETS, emitter, strictly
from mbndt.rules.stopping import stopping

if TYPE_CHECKING:
    from mbndt.rules import Rules


StrictMissing = Annotated[
    bool,
    option(
        "--strict-missing",
        help="give no answer to a missing or unlisted value that fewer than 5 training rows had"
        " where it is asked for",
    ),
]


@with_options(target_options())
def compile_(
    model: Model,
    target: Annotated[str, option(help="language to write", choices=[*TARGETS])],
    output_file: Output = None,
    strict_missing: StrictMissing = False,
    report: Annotated[
        bool,
        option("--report", help="c: also tell flash, stack and comparisons that the header takes"),
    ] = False,
    quiet: Quiet = False,
    **given: Any,
) -> None:
    """Write the rules in the language of a target."""
    from mbndt.checkpoint import load

    if "previous" in given:
        given["previous"] = load(Path(given["previous"]))
    tool, rules = emitter(target, **given), load(model)
    artifact = strictly(tool, rules) if strict_missing else tool.emit(rules)
    notes = [*artifact.notes, *(tool.report(artifact) if report and not quiet else ())]
    default = None if isinstance(artifact.content, str) else Path(artifact.name + artifact.suffix)
    write(artifact.content, output_file or default)
    if quiet:
        return
    for text in notes:
        note(text)
    if default and not output_file:
        print(default, file=sys.stderr)


def verify(
    model: Model,
    data: Annotated[
        Path | None,
        option(help="table of extra rows to verify on", metavar="FILE"),
    ] = None,
    target: Annotated[
        list[str] | None,
        option(
            "--target",  # older releases of typer would name it by its metavar
            help="target to verify, or all; can be given several times",
            choices=["all", *TARGETS],
            default="all",
            metavar="TARGET",
        ),
    ] = None,
    strict_missing: StrictMissing = False,
    rows: Annotated[int, option(help="least number of boundary rows", default=5000)] = 5000,
    json: Annotated[Path | None, option(help="file to write the report to, as JSON")] = None,
    query: Query = None,
    separator: Separator = None,
    decimal: Decimal = None,
    missing: Missing = None,
    encoding: Encoding = None,
    quiet: Quiet = False,
) -> None:
    """Run each target in its own engine, and compare all answers with those of the rules.

    Exits with 1 if a target differs or fails, or if none could be run.
    """
    from mbndt.checkpoint import load
    from mbndt.cli.report import checks_json, print_checks
    from mbndt.conformance.verify import verify as run
    from mbndt.files import check_writable

    chosen = [t for word in target or ["all"] for t in (TARGETS if word == "all" else [word])]
    if json and str(json) != "-":
        check_writable(json)
    rules: Rules = stopping(load(model)) if strict_missing else load(model)
    table = read(data, query, separator, decimal, missing, encoding, rules) if data else None
    checks = run(rules, table, targets=list(dict.fromkeys(chosen)), rows=rows)
    if json:
        write(checks_json(checks, rules), json)
    if not quiet and str(json) != "-":
        print_checks(checks)
    outcomes = {check.outcome for check in checks}
    if "agrees" not in outcomes or outcomes & {"differs", "failed"}:
        raise typer.Exit(1)
