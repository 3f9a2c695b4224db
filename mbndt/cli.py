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
    from mbndt.model import Model as LearnedModel
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
TargetColumn = Annotated[str, typer.Option("--target", help="the column to predict")]
Weights = Annotated[str | None, typer.Option(help="a column with the rows' weights")]
ClassWeight = Annotated[str | None, typer.Option(help="balanced or none")]
Penalty = Annotated[
    float | None, typer.Option(help="price of an interval, in rows (by the labels' noise)")
]
Compact = Annotated[bool, typer.Option("--compact", help="fewer leaves: three times the price")]
Preset = Annotated[
    str, typer.Option(help="default; paper (its networks, pruned); fast (fewer starts)")
]
Exclude = Annotated[list[str] | None, typer.Option(help="a column to leave out")]
SchemaFile = Annotated[Path | None, typer.Option("--schema", help="JSON or TOML: what columns are")]
Task = Annotated[
    str,
    typer.Option(
        help="classification, regression or auto: numbers with fractions or over 20 values"
    ),
]
Holdout = Annotated[float, typer.Option(help="share of rows kept for the figures")]
DropMissing = Annotated[
    bool, typer.Option("--drop-missing-target", help="leave out rows without one")
]
Report = Annotated[Path | None, typer.Option(help="write all figures as JSON")]
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
    target: TargetColumn,
    output: Annotated[Path, typer.Option("-o", "--output-file")] = Path("model.pt"),
    depth: Annotated[int | None, typer.Option(help="splits on a path, at most (4)")] = None,
    branching: Annotated[
        int | None, typer.Option(help="branches of a split, at most (6; paper 3)")
    ] = None,
    leaf_budget: Annotated[
        float | None, typer.Option(help="the network's effective leaves (36)")
    ] = None,
    restarts: Annotated[
        int | None, typer.Option(help="networks to start from (2; paper 5)")
    ] = None,
    refine: Annotated[
        bool | None, typer.Option(help="re-split exactly after pruning (paper: no)")
    ] = None,
    penalty: Penalty = None,
    compact: Compact = False,
    preset: Preset = "default",
    seed: int = 0,
    task: Task = "auto",
    weights: Weights = None,
    class_weight: ClassWeight = None,
    monitor: Annotated[str | None, typer.Option(help="preset paper stops by score or loss")] = None,
    holdout: Holdout = 0.2,
    exclude: Exclude = None,
    schema: SchemaFile = None,
    drop_missing_target: DropMissing = False,
    device: Annotated[str | None, typer.Option(help="cpu or cuda")] = None,
    report: Report = None,
    query: Query = None,
    quiet: Quiet = False,
) -> None:
    """Learn rules for a column of a table, and write model.pt."""
    from mbndt import settings
    from mbndt.schema import Schema

    _check_outputs(data, output, report)
    chosen = settings.preset(preset, **_given(
        depth=depth, branching=branching, leaf_budget=leaf_budget, restarts=restarts, seed=seed,
        refine=refine, penalty=penalty, compact=compact, class_weight=class_weight,
        monitor=monitor, device=device,
    ))  # fmt: skip
    declared = Schema.read(schema) if schema else None
    table, weight = _learning_table(data, query, target, exclude, weights)
    from mbndt.model import learn
    from mbndt.report import progress_bar

    with progress_bar(quiet) as progress:
        model = learn(
            table, target, chosen, schema=declared, task=task, weights=weight, holdout=holdout,
            drop_missing_target=drop_missing_target, progress=progress,
        )  # fmt: skip
    _deliver(model, output, report, target, quiet)


@app.command()
def tune(
    data: Data,
    target: TargetColumn,
    minutes: Annotated[float, typer.Option(help="time for the search")],
    output: Annotated[Path, typer.Option("-o", "--output-file")] = Path("model.pt"),
    folds: Annotated[int, typer.Option(help="of the cross validation")] = 5,
    trials: Annotated[int | None, typer.Option(help="settings to try, at most")] = None,
    storage: Annotated[
        str | None,
        typer.Option(help="a file or Optuna URL: a study there goes on, and others may share it"),
    ] = None,
    study: Annotated[str | None, typer.Option(help="its name there (the target)")] = None,
    preset: Preset = "default",
    seed: int = 0,
    task: Task = "auto",
    weights: Weights = None,
    class_weight: ClassWeight = None,
    holdout: Holdout = 0.2,
    exclude: Exclude = None,
    schema: SchemaFile = None,
    drop_missing_target: DropMissing = False,
    report: Report = None,
    query: Query = None,
    quiet: Quiet = False,
) -> None:
    """Search for the settings that suit a table, and learn with the best; Ctrl-C ends it."""
    from mbndt import settings
    from mbndt.schema import Schema

    _check_outputs(data, output, report)
    chosen = settings.preset(preset, **_given(seed=seed, class_weight=class_weight))
    declared = Schema.read(schema) if schema else None
    table, weight = _learning_table(data, query, target, exclude, weights)
    try:
        from mbndt.tuning import tune as search
    except ModuleNotFoundError as error:
        raise OptionError(f"tune: needs {error.name}: pip install 'mbndt[tune]'") from None
    from mbndt.report import progress_bar

    with progress_bar(quiet) as progress:
        found = search(
            table, target, chosen, minutes=minutes, trials=trials, folds=folds, storage=storage,
            study=study, schema=declared, task=task, weights=weight, holdout=holdout,
            drop_missing_target=drop_missing_target, progress=progress,
        )  # fmt: skip
    if not quiet:
        _note(f"the best of {found.trials} trials is no. {found.best}, score {found.score:.4f}")
    _deliver(found.model, output, report, target, quiet)


def _check_outputs(data: Path, *paths: Path | None) -> None:
    """Refuse, before the long part, outputs that can't be written or would overwrite each other."""
    from mbndt.writing import check_writable

    taken = {data.resolve()}
    for path in paths:
        if path is not None and str(path) != "-":
            check_writable(path)
            if path.resolve() in taken:
                raise OptionError(f"{path}: would be overwritten; give another name")
            taken.add(path.resolve())


def _deliver(
    model: LearnedModel, output: Path, report: Path | None, target: str, quiet: bool
) -> None:
    """Write a model and its report, and print its figures."""
    from mbndt.checkpoint import model_bytes
    from mbndt.report import model_json, print_model

    _write(model_bytes(model), output)
    if report:
        _write(model_json(model), report)
    if quiet:
        return
    if model.dropped:
        _note(f"{model.dropped} rows without a value of {shown(target)} were left out")
    if "-" not in (str(output), str(report)):
        print_model(model, output)


def _given(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _learning_table(
    data: Path, query: str | None, target: str, exclude: list[str] | None, weights: str | None
) -> tuple[Table, Any]:
    """Return the table to learn from, without excluded columns, and its rows' weights."""
    from mbndt.schema import read_weights
    from mbndt.table import Table

    table = Table.read(data, query)
    named: dict[str, list[Any]] = {
        "--target": [target],
        "--exclude": exclude or [],
        "--weights": [weights],
    }
    for option, names in named.items():
        for name in names:
            if name is not None and name not in table:
                raise OptionError(f"{option}: {data} has no column {shown(name)}"
                                  f"{nearest(name, table.columns)}")  # fmt: skip
            if name == target and option != "--target":
                raise OptionError(f"{option}: {shown(target)} is the target")
    weight = None if weights is None else read_weights(table, weights)
    dropped = {*(exclude or []), *([weights] if weights is not None else [])}
    return table.without([*dropped]), weight


@app.command()
def refine(
    model: Model,
    data: Data,
    target: TargetColumn,
    output: Output = None,
    depth: Annotated[
        int | None, typer.Option(help="splits on a path, at most (4, or the rules' own)")
    ] = None,
    branching: Annotated[int | None, typer.Option(help="branches of a split, at most (6)")] = None,
    penalty: Penalty = None,
    compact: Compact = False,
    seed: int = 0,
    weights: Weights = None,
    class_weight: ClassWeight = None,
    query: Query = None,
    quiet: Quiet = False,
) -> None:
    """Re-split rules exactly over a table: their error there plus the price of their intervals can
    only fall. Writes rules JSON, or a model file for -o FILE.pt.
    """
    from mbndt import settings
    from mbndt.checkpoint import load, model_bytes
    from mbndt.model import Model
    from mbndt.refining import refine_rules
    from mbndt.report import refined_line

    _check_outputs(data, output)
    chosen = settings.preset("default", **_given(
        depth=depth, branching=branching, penalty=penalty, compact=compact,
        class_weight=class_weight, seed=seed,
    ))  # fmt: skip
    rules = load(model)
    table, weight = _learning_table(data, query, target, None, weights)
    found = refine_rules(rules, table, target, chosen, weight)
    binary = output is not None and output.suffix == ".pt"
    _write(model_bytes(Model(found.rules, chosen)) if binary else found.rules.to_json(), output)
    if not quiet:
        _note(refined_line(rules, found))


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
