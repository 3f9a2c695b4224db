"""The functions that the package offers, over paths, frames and plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mbndt.conformance.verify import Check
from mbndt.conformance.verify import verify as run_targets
from mbndt.emitters import TARGETS
from mbndt.errors import OptionError, nearest, shown
from mbndt.rules import Rules
from mbndt.tables.csv_format import CsvFormat, known_marks, with_marks
from mbndt.tables.files import read_table
from mbndt.tables.table import Table

if TYPE_CHECKING:
    from mbndt.learning.model import Model
    from mbndt.learning.network.loop import Progress
    from mbndt.validation.validate import Validation

__all__ = ["Check", "learn", "save", "validate", "verify"]


def learn(
    data: object,
    target: str,
    *,
    preset: str = "default",
    refits: int | None = None,
    holdout: float = 0.0,
    event: object = None,
    act_at: float | None = None,
    cost: Mapping[Any, Any] | None = None,
    prevalence: float | Mapping[Any, float] | None = None,
    monotone: Mapping[str, str] | None = None,
    task: str = "auto",
    weights: object = None,
    exclude: Sequence[str] = (),
    schema: str | Path | Mapping[str, Any] | None = None,
    drop_missing_target: bool = False,
    name: str | None = None,
    query: str | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    missing: Sequence[str] = (),
    encoding: str | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> Model:
    """Learn rules that tell a column of a table from its other columns, as `mbndt train` does.

    Parameters
    ----------
    data
        A path (CSV, also `.gz`; Parquet; a DuckDB or SQLite file), a pandas or polars frame, a
        mapping of columns, or a 2-D array.
    target
        The name of the column to predict.
    preset
        `default`, `paper` (its networks, pruned and not refined) or `fast` (fewer starts).
    refits
        How often the rules are learned again, each time without a part of the rows, which then tell
        how the rules do (`Model.evidence`): 5, or 2 beyond 10,000 rows, where None; 0 for never.
    holdout
        Instead of refits, the fraction of rows, stratified by class, that learning does not see and
        that tell how the rules do.
    event
        The class whose finding counts, as that of a disease; the rarer of two where None.
    act_at
        The least risk of the event at which it is the answer. Where neither this nor `cost` is
        stated, classes weigh equally.
    cost
        What errors cost: `{"missed": 10, "false": 1}`, or `{truth: {answer: cost}}`.
    prevalence
        The share of the event, or of each class, where the rules will be used; that of the rows
        where None.
    monotone
        Numeric features along which, all else equal, the score and the risk of the event, or a
        regression's value, never fall (`{"age": "+"}`) or never rise (`{"bmi": "-"}`); for two
        classes or a regression.
    task
        `classification`, `regression`, or `auto`: numbers with fractions, or with more than 20
        different values, are a regression.
    weights
        The name of a column of row weights, which is then no feature, or the weights themselves.
    exclude
        Names of columns to leave out.
    schema
        What columns are, where it can't be told from the values: a JSON or TOML file, or a mapping
        with `features` and `target`.
    drop_missing_target
        Leave out rows that lack a target instead of refusing them.
    name
        The name of the rules, from which targets make identifiers; the target's where None.
    query
        What to read from a DuckDB or SQLite file.
    separator, decimal, missing, encoding
        How a CSV is to be read where that can't be told from it: what separates its cells, the
        decimal mark, more texts that mean a missing value, and the encoding.
    progress
        Called with `(stage, epoch, epochs, best)` as learning goes on.
    **settings
        Settings of the learner: `depth`, `branching`, `compact`, `penalty`, `class_weight`,
        `seed`, …

    Raises
    ------
    DataError
        For a table that can't be learned from; it names the column and the row.
    OptionError
        For a wrong setting; it names the nearest valid choice.

    """
    from mbndt.learning import pipeline as model
    from mbndt.learning import settings as learner
    from mbndt.learning.aim import Aim

    chosen = learner.preset(preset, **settings)
    form = CsvFormat(separator, decimal, tuple(missing), encoding)
    table, row_weights = _without(_table(data, query, form), target, weights, exclude)
    found = model.learn(
        table,
        target,
        chosen,
        schema=_schema(schema),
        task=task,
        weights=row_weights,
        refits=refits,
        holdout=holdout,
        drop_missing_target=drop_missing_target,
        aim=Aim(event, act_at, cost, prevalence, monotone),
        progress=progress,
    )
    rules = with_marks(found.rules if name is None else replace(found.rules, name=name), missing)
    return replace(found, rules=rules)


def save(model: Model | Rules, path: str | Path) -> None:
    """Write a learned model, or rules alone, to a file, whole or not at all.

    A `Model` becomes a model file: the rules, the network and the history of learning. Rules become
    rules JSON, as does a model where the name ends in `.json`. `load` reads the rules of both.
    Raises `OptionError` for rules that would stand in a `.pt` file without their model,
    `OutputError` for a file that can't be written.
    """
    from mbndt.files import write_whole

    path = Path(path)
    if path.suffix.lower() == ".json" or isinstance(model, Rules):
        rules = model if isinstance(model, Rules) else model.rules
        if path.suffix.lower() == ".pt":
            other = shown(path.with_suffix(".json").name)
            raise OptionError(
                f"{path}: a model file holds more than rules; save the model, or name it {other}"
            )
        return write_whole(path, rules.to_json())
    from mbndt import checkpoint

    return checkpoint.save(model, path)


def verify(
    rules: Rules,
    data: object = None,
    *,
    targets: Sequence[str] | None = None,
    rows: int = 5000,
    seed: int = 0,
    query: str | None = None,
) -> list[Check]:
    """Run each target in its own engine and compare every answer with the interpreter's.

    Parameters
    ----------
    rules
        The rules to compile and run.
    data
        Rows to compare on, as of `learn`, besides the boundary rows that are made of the rules.
    targets
        Names of targets; all where None.
    rows
        The least number of boundary rows.
    seed
        What the boundary rows are drawn by.
    query
        What to read from a DuckDB or SQLite file.

    Returns
    -------
    list of Check
        One for each target and set of its options. A `Check` with the outcome `agrees` compared
        `rows` rows and saw no mismatch; others say why in `first` or `note`.

    Raises
    ------
    OptionError
        For an unknown target.
    DataError
        For a table that doesn't fit the rules.

    """
    table = None if data is None else _table(data, query)
    chosen = tuple(TARGETS if targets is None else targets)
    return run_targets(rules, table, targets=chosen, rows=rows, seed=seed)


def validate(
    rules: Rules,
    data: object,
    target: str | None = None,
    *,
    by: Sequence[str] = (),
    on: str | None = None,
    date: str | None = None,
    query: str | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    missing: Sequence[str] = (),
    encoding: str | None = None,
) -> Validation:
    """Hold rules against the truth of rows that they were not learned from.

    Parameters
    ----------
    rules
        The rules.
    data
        The rows, as of `learn`, with the rules' inputs and the truth.
    target
        The name of the column that has the truth; that of the rules' target where None.
    by
        Names of columns whose values make groups.
    on
        What the rows are of, if they come from elsewhere: "Hospital B, 2025".
    date
        The day of the validation, YYYY-MM-DD; today where None.
    query
        What to read from a DuckDB or SQLite file.
    separator, decimal, missing, encoding
        How a CSV is to be read, as of `learn`.

    Returns
    -------
    Validation
        Figures with 95 % intervals, also by group, and what has moved since the training. Its
        `validated` are the rules that state all this, which then are no draft.

    Raises
    ------
    DataError
        For the very rows that the rules were learned from, and for a table that doesn't fit.
    OptionError
        For a column that the table lacks.

    """
    from mbndt.files import sha256_of
    from mbndt.validation.validate import validate as run

    form = CsvFormat(separator, decimal, tuple(missing), encoding)
    table = _table(data, query, form, known_marks(rules))
    sha256 = sha256_of(Path(data)) if isinstance(data, (str, Path)) else None
    return run(rules, table, target, by=_listed(by), on=on, date=date, sha256=sha256)


def _listed(names: Sequence[str]) -> list[str]:
    return [names] if isinstance(names, str) else [*names]


def _table(
    data: object,
    query: str | None,
    form: CsvFormat | None = None,
    marks: tuple[str, ...] = (),
) -> Table:
    if isinstance(data, (str, Path)):
        return read_table(data, query, form, marks)
    if form not in (None, CsvFormat()):
        raise OptionError("separator, decimal, missing, encoding: only with the path of a CSV")
    if query is not None:
        raise OptionError("query: only with the path of a DuckDB or SQLite file")
    return Table.of(data)


def _schema(schema: str | Path | Mapping[str, Any] | None) -> Any:
    from mbndt.tables.schema import Schema

    if schema is None:
        return None
    if isinstance(schema, (str, Path)):
        return Schema.read(Path(schema))
    return Schema.of(dict(schema), "schema")


def _without(
    table: Table, target: str, weights: object, exclude: Sequence[str]
) -> tuple[Table, Any]:
    """Return a table without what is no feature, and its rows' weights."""
    from mbndt.learning.training_set import row_weights
    from mbndt.tables.target import read_weights

    if not isinstance(target, str):
        raise OptionError(
            f"target: got {type(target).__name__}, expected the name of a column;"
            " MBNDTClassifier and MBNDTRegressor take X and y"
        )
    column = weights if isinstance(weights, str) else None
    own = [column] if column is not None else []
    leave = _listed(exclude)
    for parameter, names in (("target", [target]), ("exclude", leave), ("weights", own)):
        for name in names:
            if name not in table:
                raise OptionError(
                    f"{parameter}: {table.source} has no column {shown(name)}"
                    f"{nearest(name, table.columns)}"
                )
            if name == target and parameter != "target":
                raise OptionError(f"{parameter}: {shown(target)} is the target")
    found = row_weights(table, weights) if column is None else read_weights(table, column)
    return table.without([*leave, *own]), found
