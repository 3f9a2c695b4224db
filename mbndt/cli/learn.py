"""The commands that learn: train, tune, refine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
    note,
    read,
    write,
)
from mbndt.errors import OptionError, nearest, shown

if TYPE_CHECKING:
    from mbndt.learning.model import Model as LearnedModel
    from mbndt.tables.table import Table

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
    separator: Separator = None,
    decimal: Decimal = None,
    missing: Missing = None,
    encoding: Encoding = None,
    quiet: Quiet = False,
) -> None:
    """Learn rules for a column of a table, and write model.pt."""
    from mbndt.learning import settings
    from mbndt.tables.schema import Schema

    _check_outputs(data, output, report)
    chosen = settings.preset(
        preset,
        **_given(
            depth=depth,
            branching=branching,
            leaf_budget=leaf_budget,
            restarts=restarts,
            seed=seed,
            refine=refine,
            penalty=penalty,
            compact=compact,
            class_weight=class_weight,
            monitor=monitor,
            device=device,
        ),
    )
    declared = Schema.read(schema) if schema else None
    table = read(data, query, separator, decimal, missing, encoding)
    table, weight = _learning_table(table, data, target, exclude, weights)
    from mbndt.cli.report import progress_bar
    from mbndt.learning.pipeline import learn

    with progress_bar(quiet) as progress:
        model = learn(
            table,
            target,
            chosen,
            schema=declared,
            task=task,
            weights=weight,
            holdout=holdout,
            drop_missing_target=drop_missing_target,
            progress=progress,
        )
    _deliver(model, output, report, target, missing, quiet)


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
    separator: Separator = None,
    decimal: Decimal = None,
    missing: Missing = None,
    encoding: Encoding = None,
    quiet: Quiet = False,
) -> None:
    """Search for the settings that suit a table, and learn with the best; Ctrl-C ends it."""
    from mbndt.learning import settings
    from mbndt.tables.schema import Schema

    _check_outputs(data, output, report)
    chosen = settings.preset(preset, **_given(seed=seed, class_weight=class_weight))
    declared = Schema.read(schema) if schema else None
    table = read(data, query, separator, decimal, missing, encoding)
    table, weight = _learning_table(table, data, target, exclude, weights)
    from mbndt.cli.report import progress_bar
    from mbndt.learning.tuning import tune as search

    with progress_bar(quiet) as progress:
        found = search(
            table,
            target,
            chosen,
            minutes=minutes,
            trials=trials,
            folds=folds,
            storage=storage,
            study=study,
            schema=declared,
            task=task,
            weights=weight,
            holdout=holdout,
            drop_missing_target=drop_missing_target,
            progress=progress,
        )
    if not quiet:
        note(f"the best of {found.trials} trials is no. {found.best}, score {found.score:.4f}")
    _deliver(found.model, output, report, target, missing, quiet)


def _check_outputs(data: Path, *paths: Path | None) -> None:
    """Refuse, before the long part, outputs that can't be written or would overwrite each other."""
    from mbndt.files import check_writable

    taken = {data.resolve()}
    for path in paths:
        if path is not None and str(path) != "-":
            check_writable(path)
            if path.resolve() in taken:
                raise OptionError(f"{path}: would be overwritten; give another name")
            taken.add(path.resolve())


def _deliver(
    model: LearnedModel,
    output: Path,
    report: Path | None,
    target: str,
    missing: list[str] | None,
    quiet: bool,
) -> None:
    """Write a model and its report, and print its figures."""
    from mbndt.checkpoint import model_bytes
    from mbndt.cli.report import model_json, print_model
    from mbndt.tables.csv_format import with_marks

    model = replace(model, rules=with_marks(model.rules, missing or []))
    write(model_bytes(model), output)
    if report:
        write(model_json(model), report)
    if quiet:
        return
    if model.dropped:
        note(f"{model.dropped} rows without a value of {shown(target)} were left out")
    if "-" not in (str(output), str(report)):
        print_model(model, output)


def _given(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _learning_table(
    table: Table, data: Path, target: str, exclude: list[str] | None, weights: str | None
) -> tuple[Table, Any]:
    """Return the table to learn from, without excluded columns, and its rows' weights."""
    from mbndt.tables.target import read_weights

    named: dict[str, list[Any]] = {
        "--target": [target],
        "--exclude": exclude or [],
        "--weights": [weights],
    }
    for option, names in named.items():
        for name in names:
            if name is not None and name not in table:
                raise OptionError(
                    f"{option}: {data} has no column {shown(name)}{nearest(name, table.columns)}"
                )
            if name == target and option != "--target":
                raise OptionError(f"{option}: {shown(target)} is the target")
    weight = None if weights is None else read_weights(table, weights)
    dropped = {*(exclude or []), *([weights] if weights is not None else [])}
    return table.without([*dropped]), weight


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
    separator: Separator = None,
    decimal: Decimal = None,
    missing: Missing = None,
    encoding: Encoding = None,
    quiet: Quiet = False,
) -> None:
    """Re-split rules exactly over a table: their error there plus the price of their intervals can
    only fall. Writes rules JSON, or a model file for -o FILE.pt.
    """
    from mbndt.checkpoint import load, model_bytes
    from mbndt.cli.report import refined_line
    from mbndt.learning import settings
    from mbndt.learning.model import Model
    from mbndt.learning.refine.refine import refine_rules
    from mbndt.tables.csv_format import with_marks

    _check_outputs(data, output)
    chosen = settings.preset(
        "default",
        **_given(
            depth=depth,
            branching=branching,
            penalty=penalty,
            compact=compact,
            class_weight=class_weight,
            seed=seed,
        ),
    )
    rules = load(model)
    table = read(data, query, separator, decimal, missing, encoding, rules)
    table, weight = _learning_table(table, data, target, None, weights)
    found = refine_rules(rules, table, target, chosen, weight)
    found = replace(found, rules=with_marks(found.rules, missing or []))
    binary = output is not None and output.suffix == ".pt"
    write(model_bytes(Model(found.rules, chosen)) if binary else found.rules.to_json(), output)
    if not quiet:
        note(refined_line(rules, found))
