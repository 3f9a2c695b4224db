"""The command line: each command a few lines that call the library.

Every error that a user can cause is one line on stderr, `mbndt: error: …`, and exit 2.
"""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from mbndt import __version__
from mbndt.errors import MbndtError, OptionError, nearest, shown

if TYPE_CHECKING:
    from mbndt.rules import Rules
    from mbndt.table import Table

MESSAGE_LIMIT = 2000

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="A compiler for decision rules that people can follow and machines can run.",
)

Model = Annotated[Path, typer.Argument(help="model.pt, or a rules JSON file")]
Data = Annotated[Path, typer.Argument(help="CSV (also .gz), Parquet, DuckDB or SQLite file")]
Query = Annotated[str | None, typer.Option(help="what to read from a DuckDB or SQLite file")]
Quiet = Annotated[bool, typer.Option("--quiet", help="print errors only")]
Output = Annotated[Path | None, typer.Option("-o", "--output-file", help="- is stdout")]


def main() -> NoReturn:
    """Run the command line and exit: 0 done, 1 mismatch, 2 an error of the user's, 130 stopped."""
    if sys.stdout is None:  # closed by the caller
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    elif isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()
    except MbndtError as error:
        code = _failed(str(error))
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


def _let_go(code: int) -> int:
    """Keep the interpreter from writing to a broken stdout once more at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def _failed(message: str) -> int:
    line = f"mbndt: error: {' '.join(message.split())}"
    if len(line) > MESSAGE_LIMIT:
        line = line[: MESSAGE_LIMIT - 3] + "..."
    print(line, file=sys.stderr)
    return 2


def _note(text: str) -> None:
    print(f"mbndt: note: {' '.join(text.split())}", file=sys.stderr)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"mbndt {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="print and exit")
    ] = False,
) -> None:
    pass


@app.command()
def train(
    data: Data,
    target: Annotated[str, typer.Option(help="the column to predict")],
    output: Annotated[Path, typer.Option("-o", "--output-file")] = Path("model.pt"),
    depth: Annotated[int | None, typer.Option(help="splits on a path, at most (4)")] = None,
    branching: Annotated[int | None, typer.Option(help="branches of a split, at most")] = None,
    leaf_budget: Annotated[float | None, typer.Option(help="effective leaves aimed at")] = None,
    restarts: Annotated[int | None, typer.Option(help="networks to choose from")] = None,
    preset: Annotated[str, typer.Option(help="default, paper or fast")] = "default",
    seed: int = 0,
    holdout: Annotated[float, typer.Option(help="share of rows kept for the figures")] = 0.2,
    exclude: Annotated[list[str] | None, typer.Option(help="a column to leave out")] = None,
    schema: Annotated[Path | None, typer.Option(help="JSON or TOML: what columns are")] = None,
    drop_missing_target: Annotated[bool, typer.Option("--drop-missing-target")] = False,
    device: Annotated[str | None, typer.Option(help="cpu or cuda")] = None,
    query: Query = None,
    quiet: Quiet = False,
) -> None:
    """Learn rules for a column of a table, and write model.pt."""
    from mbndt.schema import Schema
    from mbndt.table import Table
    from mbndt.writing import check_writable

    if str(output) != "-":
        check_writable(output)
    declared = Schema.read(schema) if schema else None
    table = Table.read(data, query)
    if target not in table:
        raise OptionError(f"--target: {data} has no column {shown(target)}"
                          f"{nearest(target, table.columns)}")  # fmt: skip
    if target in (exclude or []):
        raise OptionError(f"--exclude: {shown(target)} is the target")
    for name in exclude or []:
        if name not in table:
            raise OptionError(f"--exclude: {data} has no column {shown(name)}"
                              f"{nearest(name, table.columns)}")  # fmt: skip
    table = table.without(exclude or [])
    from mbndt import training
    from mbndt.checkpoint import model_bytes
    from mbndt.model import learn
    from mbndt.report import print_model, progress_bar

    options = {
        "depth": depth, "branching": branching, "leaf_budget": leaf_budget, "restarts": restarts,
        "device": device, "seed": seed,
    }  # fmt: skip
    chosen = {name: value for name, value in options.items() if value is not None}
    settings = training.preset(preset, **chosen)
    with progress_bar(quiet) as progress:
        model = learn(
            table, target, settings, schema=declared, holdout=holdout,
            drop_missing_target=drop_missing_target, progress=progress,
        )  # fmt: skip
    _write(model_bytes(model), output)
    if quiet:
        return
    if model.dropped:
        _note(f"{model.dropped} rows without a value of {shown(target)} were left out")
    if str(output) != "-":
        print_model(model, output)


@app.command("compile")
def compile_(
    model: Model,
    target: Annotated[str, typer.Option(help="python, sql, c, onnx or protocol")],
    output: Output = None,
    dialect: Annotated[str | None, typer.Option(help="sql: duckdb, sqlite, postgres, …")] = None,
    as_: Annotated[str | None, typer.Option("--as", help="sql: select, view, expression")] = None,
    table: Annotated[str | None, typer.Option(help="sql: the table's name")] = None,
    view: Annotated[str | None, typer.Option(help="sql: the view's name")] = None,
    output_column: Annotated[
        str | None, typer.Option("--output", help="sql expression: label, leaf, probability_K")
    ] = None,
    prefix: Annotated[str | None, typer.Option(help="sql, onnx: put before output names")] = None,
    number: Annotated[str | None, typer.Option(help="c, onnx: double, float, …")] = None,
    scale: Annotated[list[str] | None, typer.Option(help="c: FEATURE=K, fixed point")] = None,
    inputs: Annotated[str | None, typer.Option(help="onnx: columns or matrix")] = None,
    format: Annotated[str | None, typer.Option(help="protocol: html or md")] = None,  # noqa: A002
    quiet: Quiet = False,
) -> None:
    """Write the rules as an artefact of a target."""
    from mbndt.checkpoint import load
    from mbndt.emitters import emit

    options: dict[str, Any] = {
        "dialect": dialect, "as": as_, "table": table, "view": view, "output": output_column,
        "prefix": prefix, "number": number, "scale": tuple(scale) if scale else None,
        "inputs": inputs, "format": format,
    }  # fmt: skip
    chosen = {name: value for name, value in options.items() if value is not None}
    artifact = emit(load(model), target, **chosen)
    default = None if isinstance(artifact.content, str) else Path(artifact.name + artifact.suffix)
    _write(artifact.content, output or default)
    if quiet:
        return
    for note in artifact.notes:
        _note(note)
    if default and not output:
        print(default, file=sys.stderr)


def _write(content: str | bytes, path: Path | None) -> None:
    from mbndt.writing import write_whole

    if path is not None and str(path) != "-":
        write_whole(path, content)
        return
    sys.stdout.buffer.write(content.encode() if isinstance(content, str) else content)
    sys.stdout.buffer.flush()


@app.command()
def predict(
    model: Model, data: Data, output: Output = None, query: Query = None, quiet: Quiet = False
) -> None:
    """Answer the rows of a table, as a CSV."""
    from mbndt.checkpoint import load
    from mbndt.report import predictions_csv
    from mbndt.table import Table

    rules = load(model)
    _write(predictions_csv(rules, rules.predict(Table.read(data, query))), output)


@app.command()
def verify(
    model: Model,
    data: Annotated[Path | None, typer.Option(help="rows to compare besides our own")] = None,
    target: Annotated[list[str] | None, typer.Option(help="all, or some targets")] = None,
    rows: Annotated[int, typer.Option(help="boundary rows, at least")] = 5000,
    json: Annotated[Path | None, typer.Option(help="write a report")] = None,
    query: Query = None,
    quiet: Quiet = False,
) -> None:
    """Run each target in its own engine and compare it with the interpreter.

    Exits 1 if one differs or fails, or none could be run.
    """
    from mbndt.checkpoint import load
    from mbndt.emitters import TARGETS
    from mbndt.report import checks_json, print_checks
    from mbndt.table import Table
    from mbndt.verify import verify as run
    from mbndt.writing import check_writable

    chosen = [t for word in target or ["all"] for t in (TARGETS if word == "all" else [word])]
    if json and str(json) != "-":
        check_writable(json)
    rules: Rules = load(model)
    table: Table | None = Table.read(data, query) if data else None
    checks = run(rules, table, targets=list(dict.fromkeys(chosen)), rows=rows)
    if json:
        _write(checks_json(checks, rules), json)
    if not quiet and str(json) != "-":
        print_checks(checks)
    outcomes = {check.outcome for check in checks}
    if "agrees" not in outcomes or outcomes & {"differs", "failed"}:
        raise typer.Exit(1)


@app.command()
def show(model: Model, quiet: Quiet = False) -> None:
    """Print the rules as an outline, with their measures."""
    from mbndt.checkpoint import load
    from mbndt.report import print_rules

    rules = load(model)
    if not quiet:
        print_rules(rules)


if __name__ == "__main__":
    main()
