"""The commands that learn: train, tune, refine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mbndt.cli.fields import BASIC, LEARNING, settings_options, with_options
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
    check_outputs,
    note,
    option,
    read,
    write,
)
from mbndt.errors import OptionError, nearest, shown
from mbndt.learning.settings import PRESETS

if TYPE_CHECKING:
    from mbndt.learning.model import Model as LearnedModel
    from mbndt.tables.table import Table

ROWS, SEARCH = "Columns and rows", "Search"
AIM, EVIDENCE = "What answers are for", "How well the rules do"

TargetColumn = Annotated[str, option("--target", help="name of the column to predict")]
Weights = Annotated[
    str | None, option(help="name of a column of row weights, which is then no feature", panel=ROWS)
]
Compact = Annotated[
    bool, option("--compact", help="fewer leaves: triples the price of an interval", panel=LEARNING)
]
Preset = Annotated[
    str,
    option(
        help="settings to start from: paper is the published method, fast has fewer starts",
        choices=[*PRESETS],
        default="default",
    ),
]
Exclude = Annotated[
    list[str] | None,
    option(help="column to leave out; can be given several times", metavar="COLUMN", panel=ROWS),
]
SchemaFile = Annotated[
    Path | None,
    option("--schema", help="JSON or TOML file that declares what columns are", panel=ROWS),
]
Task = Annotated[
    str,
    option(
        help="what is learned; auto takes numbers with fractions, or of more than 20 different"
        " values, for a regression",
        choices=("classification", "regression", "auto"),
        default="auto",
        panel=ROWS,
    ),
]
Refits = Annotated[
    int | None,
    option(
        help="times that the rules are learned again, each time without a part of the rows, which"
        " then tell how the rules do; 0 for none",
        default="5, or 2 beyond 10,000 rows",
        panel=EVIDENCE,
    ),
]
Holdout = Annotated[
    float,
    option(
        help="instead of refits: fraction of rows that learning leaves out, and that tell how the"
        " rules do",
        default="none",
        panel=EVIDENCE,
    ),
]
TuneHoldout = Annotated[
    float,
    option(
        help="fraction of rows that learning leaves out, and that tell how the rules do",
        default=0.2,
        panel=EVIDENCE,
    ),
]
Event = Annotated[
    str | None,
    option(
        help="class whose finding counts, as that of a disease",
        default="the rarer of two",
        metavar="CLASS",
        panel=AIM,
    ),
]
ActAt = Annotated[
    float | None,
    option(
        "--act-at",
        help="least risk of the event at which it is the answer; unless costs say it",
        default="classes weigh equally",
        metavar="RISK",
        panel=AIM,
    ),
]
Cost = Annotated[
    str | None,
    option(
        help="what errors cost: missed=10,false=1, or TRUTH>ANSWER=COST,…, or a CSV file with a row"
        " a true class and a column an answer",
        metavar="COSTS",
        panel=AIM,
    ),
]
Prevalence = Annotated[
    str | None,
    option(
        help="share of the event, or of each class (A=0.2,B=0.8), where the rules will be used",
        default="that of the table",
        metavar="SHARE",
        panel=AIM,
    ),
]
Monotone = Annotated[
    str | None,
    option(
        help="numeric columns along which, all else equal, the risk of the event (or the number)"
        " never falls: age=+, or never rises: bmi=-",
        metavar="COLUMN=+,…",
        panel=AIM,
    ),
]
DropMissing = Annotated[
    bool,
    option("--drop-missing-target", help="leave out rows that lack a target value", panel=ROWS),
]
Report = Annotated[Path | None, option(help="file to write all figures to, as JSON")]
ModelFile = Annotated[
    Path, option("-o", "--output-file", help="model file to write", default="model.pt")
]


@with_options(settings_options(BASIC))
def train(
    data: Data,
    target: TargetColumn,
    output: ModelFile = Path("model.pt"),
    compact: Compact = False,
    preset: Preset = "default",
    task: Task = "auto",
    weights: Weights = None,
    event: Event = None,
    act_at: ActAt = None,
    cost: Cost = None,
    prevalence: Prevalence = None,
    monotone: Monotone = None,
    refits: Refits = None,
    holdout: Holdout = 0.0,
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
    **given: Any,
) -> None:
    """Learn rules that predict a column of a table from its other columns."""
    from mbndt.cli.aim import read_aim
    from mbndt.learning import settings
    from mbndt.tables.schema import Schema

    check_outputs(data, output, report)
    chosen = settings.preset(preset, compact=compact, **given)
    aim = read_aim(event, act_at, cost, prevalence, monotone)
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
            refits=refits,
            holdout=holdout,
            aim=aim,
            drop_missing_target=drop_missing_target,
            progress=progress,
        )
    _deliver(model, output, report, target, missing, quiet)


@with_options(settings_options(("seed", "class_weight", "min_rows", "min_events")))
def tune(
    data: Data,
    target: TargetColumn,
    minutes: Annotated[float, option(help="time for the search, in minutes")],
    output: ModelFile = Path("model.pt"),
    folds: Annotated[
        int, option(help="number of folds of the cross-validation", default=5, panel=SEARCH)
    ] = 5,
    trials: Annotated[
        int | None, option(help="most settings to try", default="no limit", panel=SEARCH)
    ] = None,
    storage: Annotated[
        str | None,
        option(
            help="file or Optuna URL that keeps the study, so that it can go on later and in"
            " several processes",
            default="none",
            panel=SEARCH,
        ),
    ] = None,
    study: Annotated[
        str | None,
        option(help="name of the study in the storage", default="the target", panel=SEARCH),
    ] = None,
    preset: Preset = "default",
    task: Task = "auto",
    weights: Weights = None,
    event: Event = None,
    act_at: ActAt = None,
    cost: Cost = None,
    prevalence: Prevalence = None,
    monotone: Monotone = None,
    holdout: TuneHoldout = 0.2,
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
    **given: Any,
) -> None:
    """Search for the settings that suit a table best, and learn rules with them.

    Ctrl-C ends the search early, and learns with the best settings so far.
    """
    from mbndt.cli.aim import read_aim
    from mbndt.learning import settings
    from mbndt.tables.schema import Schema

    check_outputs(data, output, report)
    chosen = settings.preset(preset, **given)
    aim = read_aim(event, act_at, cost, prevalence, monotone)
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
            aim=aim,
            drop_missing_target=drop_missing_target,
            progress=progress,
        )
    if not quiet:
        note(f"the best of {found.trials} trials is no. {found.best}, score {found.score:.4f}")
    _deliver(found.model, output, report, target, missing, quiet)


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


def _learning_table(
    table: Table, data: Path, target: str, exclude: list[str] | None, weights: str | None
) -> tuple[Table, Any]:
    """Return the table to learn from, without excluded columns, and its rows' weights."""
    from mbndt.tables.target import read_weights

    named: dict[str, list[Any]] = {
        "target": [target],
        "exclude": exclude or [],
        "weights": [weights],
    }
    for parameter, names in named.items():
        for name in names:
            if name is not None and name not in table:
                raise OptionError(
                    f"{parameter}: {data} has no column {shown(name)}{nearest(name, table.columns)}"
                )
            if name == target and parameter != "target":
                raise OptionError(f"{parameter}: {shown(target)} is the target")
    weight = None if weights is None else read_weights(table, weights)
    dropped = {*(exclude or []), *([weights] if weights is not None else [])}
    return table.without([*dropped]), weight


@with_options(
    settings_options(
        ("depth", "branching", "seed", "class_weight", "penalty", "min_rows", "min_events"),
        depth="4, or that of the rules if greater",
        branching="6",
    )
)
def refine(
    model: Model,
    data: Data,
    target: TargetColumn,
    output: Output = None,
    compact: Compact = False,
    weights: Weights = None,
    query: Query = None,
    separator: Separator = None,
    decimal: Decimal = None,
    missing: Missing = None,
    encoding: Encoding = None,
    quiet: Quiet = False,
    **given: Any,
) -> None:
    """Improve rules by exact re-splits over a table.

    Their error on it plus the price of their intervals can only fall, unless leaves lack rows that
    are asked for. Writes rules as JSON, or a model file for -o FILE.pt.
    """
    from mbndt.checkpoint import load, model_bytes
    from mbndt.cli.report import refined_line
    from mbndt.learning import settings
    from mbndt.learning.model import Model
    from mbndt.learning.refine.refine import refine_rules
    from mbndt.tables.csv_format import with_marks

    check_outputs(data, output)
    chosen = settings.preset("default", compact=compact, **given)
    rules = load(model)
    table = read(data, query, separator, decimal, missing, encoding, rules)
    table, weight = _learning_table(table, data, target, None, weights)
    found = refine_rules(rules, table, target, chosen, weight)
    found = replace(found, rules=with_marks(found.rules, missing or []))
    binary = output is not None and output.suffix == ".pt"
    write(model_bytes(Model(found.rules, chosen)) if binary else found.rules.to_json(), output)
    if not quiet:
        note(refined_line(rules, found))
