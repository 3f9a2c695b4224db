"""The command line: each command a few lines that call the library.

Every error that a user can cause is one line on stderr, `mbndt: error: …`, and exit 2.
"""

from __future__ import annotations

import io
import os
import re
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from mbndt._version import __version__
from mbndt.cli.learn import refine, train, tune
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
    note,
    read,
    write,
)
from mbndt.cli.sheet import round_, sheet_template
from mbndt.errors import DataWarning, MbndtError, OptionError
from mbndt.extras import lacking

if TYPE_CHECKING:
    from mbndt.rules import Rules

MESSAGE_LIMIT = 2000

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="A compiler for decision rules that people can follow and machines can run.",
)


def main() -> NoReturn:
    """Run the command line and exit: 0 done, 1 mismatch, 2 an error of the user's, 130 stopped."""
    if sys.stdout is None:  # closed by the caller
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    elif isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    warnings.simplefilter("always", DataWarning)
    warnings.showwarning = _warned(warnings.showwarning)
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()
    except MbndtError as error:
        code = _failed(with_dashes(str(error), first=isinstance(error, OptionError)))
    except ModuleNotFoundError as error:
        if (message := lacking(error)) is None:
            raise
        code = _failed(with_dashes(message))
    except typer.Abort:
        code = 130
    except BrokenPipeError:  # the reader of our output went away
        code = _let_go(0)
    except OSError as error:
        code = _let_go(_failed(f"stdout: can't be written: {error.strerror or error}"))
    except Exception as error:
        # What typer raises for wrong options, whichever release of click it stands on.
        if not hasattr(error, "format_message"):
            raise
        code = _failed(error.format_message())
    sys.exit(code if isinstance(code, int) else 0)


def with_dashes(message: str, *, first: bool = False) -> str:
    """Return a message of the library with its parameters as the options that they are here: those
    in backquotes, and that before the first colon.
    """
    commands = typer.main.get_command(app).commands.values()  # type: ignore[attr-defined]
    options = {
        param.opts[0].removeprefix("--").replace("-", "_"): param.opts[0]
        for command in commands
        for param in command.params
        if param.opts[0].startswith("--")
    }
    start, colon, rest = message.partition(":")
    if first and colon and start in options:
        message = f"{options[start]}:{rest}"
    return re.sub(r"`(\w+)`", lambda found: options.get(found[1], found[0]), message)


def _let_go(code: int) -> int:
    """Keep the interpreter from writing to a broken stdout once more at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def _failed(message: str) -> int:
    _say("error", message)
    return 2


def _say(kind: str, message: str) -> None:
    line = f"mbndt: {kind}: {' '.join(message.split())}"
    if len(line) > MESSAGE_LIMIT:
        line = line[: MESSAGE_LIMIT - 3] + "..."
    print(line, file=sys.stderr)


def _warned(others: Callable[..., None]) -> Callable[..., None]:
    """Return a way to show warnings: our own as lines, once each; `others` as before."""
    told = set()

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if not issubclass(category, DataWarning):
            others(message, category, *place, **more)
        elif str(message) not in told:
            told.add(str(message))
            _say("warning", with_dashes(str(message)))

    return show


def _version(wanted: bool) -> None:
    if wanted:
        print(f"mbndt {__version__}")
        raise typer.Exit


for command in (train, tune, refine):
    app.command()(command)
app.command("round")(round_)
app.command("sheet-template")(sheet_template)


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="print and exit")
    ] = False,
) -> None:
    pass


@app.command("compile")
def compile_(
    model: Model,
    target: Annotated[str, typer.Option(help="python, sql, c, onnx, javascript or protocol")],
    output: Output = None,
    dialect: Annotated[str | None, typer.Option(help="sql: duckdb, sqlite, postgres, …")] = None,
    as_: Annotated[
        str | None, typer.Option("--as", help="sql: select, view, expression, function")
    ] = None,
    table: Annotated[str | None, typer.Option(help="sql: the table's name")] = None,
    view: Annotated[str | None, typer.Option(help="sql: the view's name")] = None,
    output_column: Annotated[
        str | None, typer.Option("--output", help="sql expression: label, leaf, probability_K")
    ] = None,
    prefix: Annotated[str | None, typer.Option(help="sql, onnx: put before output names")] = None,
    function: Annotated[str | None, typer.Option(help="sql: the function's name")] = None,
    number: Annotated[str | None, typer.Option(help="c, onnx: double, float, …")] = None,
    scale: Annotated[list[str] | None, typer.Option(help="c: FEATURE=K, fixed point")] = None,
    name: Annotated[
        str | None, typer.Option(help="c: name identifiers so, not as the rules")
    ] = None,
    names: Annotated[
        str | None, typer.Option(help="sql: columns are the features' names exact, lower or upper")
    ] = None,
    map_: Annotated[
        list[str] | None, typer.Option("--map", help="sql: FEATURE=COLUMN, where it is another")
    ] = None,
    report: Annotated[
        bool, typer.Option("--report", help="c: say flash, stack and comparisons")
    ] = False,
    inputs: Annotated[str | None, typer.Option(help="onnx: columns or matrix")] = None,
    format: Annotated[  # noqa: A002
        str | None, typer.Option(help="protocol: html, pdf, md or txt")
    ] = None,
    sheet: Annotated[
        Path | None,
        typer.Option(help="protocol: TOML or JSON of what you state, see sheet-template"),
    ] = None,
    paper: Annotated[str | None, typer.Option(help="protocol pdf: a4 or letter")] = None,
    quiet: Quiet = False,
) -> None:
    """Write the rules as an artefact of a target."""
    from mbndt.checkpoint import load
    from mbndt.emitters import emitter

    options: dict[str, Any] = {
        "dialect": dialect,
        "as": as_,
        "table": table,
        "view": view,
        "output": output_column,
        "function": function,
        "prefix": prefix,
        "number": number,
        "scale": tuple(scale) if scale else None,
        "name": name,
        "names": names,
        "map": tuple(map_) if map_ else None,
        "inputs": inputs,
        "format": format,
        "sheet": sheet,
        "paper": paper,
    }
    chosen = {name: value for name, value in options.items() if value is not None}
    tool = emitter(target, **chosen)
    artifact = tool.emit(load(model))
    notes = [*artifact.notes, *(tool.report(artifact) if report and not quiet else ())]
    default = None if isinstance(artifact.content, str) else Path(artifact.name + artifact.suffix)
    write(artifact.content, output or default)
    if quiet:
        return
    for text in notes:
        note(text)
    if default and not output:
        print(default, file=sys.stderr)


@app.command()
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
    """Answer the rows of a table, as a CSV."""
    from mbndt.checkpoint import load
    from mbndt.cli.report import predictions_csv

    rules = load(model)
    table = read(data, query, separator, decimal, missing, encoding, rules)
    write(predictions_csv(rules, rules.predict(table)), output)


@app.command()
def verify(
    model: Model,
    data: Annotated[Path | None, typer.Option(help="rows to compare besides our own")] = None,
    target: Annotated[list[str] | None, typer.Option(help="all, or some targets")] = None,
    rows: Annotated[int, typer.Option(help="boundary rows, at least")] = 5000,
    json: Annotated[Path | None, typer.Option(help="write a report")] = None,
    query: Query = None,
    separator: Separator = None,
    decimal: Decimal = None,
    missing: Missing = None,
    encoding: Encoding = None,
    quiet: Quiet = False,
) -> None:
    """Run each target in its own engine and compare it with the interpreter.

    Exits 1 if one differs or fails, or none could be run.
    """
    from mbndt.checkpoint import load
    from mbndt.cli.report import checks_json, print_checks
    from mbndt.conformance.verify import verify as run
    from mbndt.emitters import TARGETS
    from mbndt.files import check_writable

    chosen = [t for word in target or ["all"] for t in (TARGETS if word == "all" else [word])]
    if json and str(json) != "-":
        check_writable(json)
    rules: Rules = load(model)
    table = read(data, query, separator, decimal, missing, encoding, rules) if data else None
    checks = run(rules, table, targets=list(dict.fromkeys(chosen)), rows=rows)
    if json:
        write(checks_json(checks, rules), json)
    if not quiet and str(json) != "-":
        print_checks(checks)
    outcomes = {check.outcome for check in checks}
    if "agrees" not in outcomes or outcomes & {"differs", "failed"}:
        raise typer.Exit(1)


@app.command()
def schema(output: Output = None) -> None:
    """Print the JSON Schema of the rules format."""
    from mbndt.rules.json import schema as rules_schema

    write(rules_schema(), output)


@app.command()
def show(
    model: Model,
    metrics: Annotated[
        bool, typer.Option("--metrics", help="how much explanations ask, and what is redundant")
    ] = False,
    data: Annotated[
        Path | None, typer.Option(help="for --metrics: rows, of which some lack values")
    ] = None,
    query: Query = None,
    separator: Separator = None,
    decimal: Decimal = None,
    missing: Missing = None,
    encoding: Encoding = None,
    quiet: Quiet = False,
) -> None:
    """Print the rules as an outline, with their measures."""
    from mbndt.checkpoint import load
    from mbndt.cli.report import metric_lines, print_rules

    if data and not metrics:
        raise OptionError("--data: only with --metrics")
    rules = load(model)
    table = read(data, query, separator, decimal, missing, encoding, rules) if data else None
    lines = metric_lines(rules, table) if metrics else []
    if not quiet:
        print_rules(rules)
        print("\n".join(lines), end="\n" * bool(lines))


if __name__ == "__main__":
    main()
