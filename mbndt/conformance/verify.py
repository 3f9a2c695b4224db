"""Proof by running: each target in its own engine, compared row by row with the interpreter.

Rows come from the rules alone (`boundary_rows`), and from the user's table where one is given.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from mbndt.conformance.boundary import boundary_rows
from mbndt.emitters import TARGETS, Artifact, Emitter, emitter, emitter_class
from mbndt.errors import EngineFailed, EngineMissing, OptionError, TargetError, shown
from mbndt.interpreter import Predictions, leaf_ids
from mbndt.rules import (
    FeatureType,
    Rules,
)
from mbndt.rules.csv_rows import with_point
from mbndt.tables.table import Table


@dataclass(frozen=True)
class Check:
    """The outcome for one target: rows compared, mismatches, and the first differing row.

    `engine` is None where the target was not run; `note` says why, or what else is to be known.
    """

    target: str
    options: Mapping[str, object]
    outcome: Literal["agrees", "differs", "failed", "refused", "not run"]
    engine: str | None = None
    rows: int = 0
    mismatches: int = 0
    first: Mapping[str, str] | None = None
    note: str = ""

    @property
    def title(self) -> str:
        """Return the target with the options that set it apart."""
        return " ".join([self.target, *(str(value) for value in self.options.values())])


def verify(
    rules: Rules,
    table: Table | None = None,
    *,
    targets: Sequence[str] = tuple(TARGETS),
    rows: int = 5000,
    seed: int = 0,
) -> list[Check]:
    """Run targets on at least `rows` boundary rows and on `table`, and compare every answer.

    Raises `OptionError` for an unknown target, `DataError` for a table that doesn't fit.
    """
    if rows < 1:
        raise OptionError(f"rows: got {rows}, expected at least 1")
    tables = [boundary_rows(rules, rows, seed)]
    if table is not None and table.n_rows:
        leaf_ids(rules, table)  # a table that doesn't fit is the user's error, no target's
        tables.append(table)
    return [
        check(rules, target, options, tables)
        for target in targets
        for options in emitter_class(target).variants
    ]


def check(
    rules: Rules, target: str, options: Mapping[str, object], tables: Sequence[Table]
) -> Check:
    """Run one target with one set of options on the tables and compare it with the interpreter."""
    tool = emitter(target, **options)
    found = Check(target, options, "agrees")
    try:
        found = replace(found, engine=tool.engine())
        try:
            artifact = tool.emit(rules)
        except TargetError as error:
            return Check(target, options, "refused", note=str(error))
        for table in tables:
            found = _compared(found, rules, tool, artifact, table)
    except EngineMissing as error:
        return Check(target, options, "not run", note=str(error))
    except Exception as error:  # whatever an engine raises, the target has failed
        note = f"{type(error).__name__}: {' '.join(str(error).split())[:500]}"
        return replace(found, outcome="failed", note=note)
    return found


def _compared(found: Check, rules: Rules, tool: Emitter, artifact: Artifact, table: Table) -> Check:
    """Return what was found so far with the rows of one more table."""
    note = found.note
    table, changed = holdable(rules, tool, table)
    if changed:
        listed = ", ".join(map(str, tool.unheld()))
        values = "1 value" if changed == 1 else f"{changed:,} values"
        own = (
            f"{values} of {table.source} replaced by the nearest that a column there can hold,"
            f" as it cannot hold {listed}"
        )
        note = "; ".join(filter(None, (note, own)))
    expected, got = tool.expected(rules, table), tool.run(artifact, table)
    wrong = differences(expected, got)
    first = found.first
    if first is None and wrong.any():
        first = _first_difference(rules, table, expected, got, int(np.argmax(wrong)))
    return replace(
        found,
        outcome="agrees" if first is None else "differs",
        rows=found.rows + table.n_rows,
        mismatches=found.mismatches + int(wrong.sum()),
        first=first,
        note=note,
    )


def holdable(rules: Rules, tool: Emitter, table: Table) -> tuple[Table, int]:
    """Return a table whose values a target's inputs can hold, and the number of those changed.

    Those are made the next values that the inputs can hold.
    """
    columns, changed = dict(table.columns), 0
    for feature in rules.used:
        whole = feature.type == FeatureType.INTEGER
        unheld = [x for x in tool.unheld() if isinstance(x, int) == whole]
        if not unheld or not feature.type.numeric:
            continue
        # A float32 feature comes as the double before it is rounded.
        kind = feature.type if whole else FeatureType.FLOAT64
        column = table.typed(replace(feature, type=kind))
        places = np.flatnonzero(np.isin(column.values, unheld) & ~column.missing).tolist()
        if places:
            cells = list(table.column(feature.name))
            for place in places:
                cells[place] = _next_inwards(column.values[place].item(), table)
            columns[feature.name] = cells
            changed += len(places)
    return replace(table, columns=columns), changed


def _next_inwards(value: float, table: Table) -> object:
    """Return the number beside an end of its type, as a cell of its table."""
    near = value + 1 if isinstance(value, int) else math.nextafter(value, 0.0)
    return with_point(repr(near), table.decimal) if table.text else near


def differences(expected: Predictions, got: Predictions) -> npt.NDArray[np.bool_]:
    """Tell for each row [n] whether leaf, label with its type, or an output's bits differ.

    Raises `EngineFailed` where the numbers of rows or classes differ.
    """
    if not len(got.leaf) == len(got.prediction) == len(expected.leaf):
        raise EngineFailed(f"{len(got.leaf)} answers, expected {len(expected.leaf)}")
    wrong: npt.NDArray[np.bool_] = got.leaf != expected.leaf
    # By their text, which tells types and -0.0 from 0.0.
    labels = zip(got.prediction, expected.prediction, strict=True)
    wrong |= np.fromiter((repr(a) != repr(b) for a, b in labels), np.bool_)
    if [*got.outputs] != [*expected.outputs]:
        raise EngineFailed(f"outputs {[*got.outputs]}, expected {[*expected.outputs]}")
    for name, numbers in expected.outputs.items():
        found = got.outputs[name]
        if found.shape != numbers.shape:
            raise EngineFailed(f"{name} of shape {found.shape}, expected {numbers.shape}")
        # NaN has many bits, of which none means more than another.
        none = np.isnan(found) & np.isnan(numbers)
        bits = [np.ascontiguousarray(p).view(np.int64) for p in (found, numbers)]
        wrong |= np.any((bits[0] != bits[1]) & ~none, axis=1)
    return wrong


def _first_difference(
    rules: Rules, table: Table, expected: Predictions, got: Predictions, at: int
) -> dict[str, str]:
    row = next(iter(table.take(np.array([at])).records(rules.used)), {})
    number = at + 1 if table.row_numbers is None else int(table.row_numbers[at])
    cells = ", ".join(f"{shown(name)}: {shown(value)}" for name, value in row.items())
    return {
        "row": f"{table.source}, row {number}: {cells}",
        "expected": _answer(expected, at),
        "got": _answer(got, at),
    }


def _answer(found: Predictions, at: int) -> str:
    text = f"leaf {found.leaf[at]}, {shown(found.prediction[at])}"
    for name, numbers in found.outputs.items():
        text += f", {name} {numbers[at].tolist()}"
    return text
