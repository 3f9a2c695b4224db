"""Proof by running: each target in its own engine, compared row by row with the interpreter.

Rows come from the rules alone (`boundary_rows`): every threshold and one ulp either side, missing
and infinite values, unseen categories, on every path so that deep splits are reached; and from
the user's table where one is given.
"""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal, assert_never

import numpy as np
import numpy.typing as npt

from mbndt.emitters import TARGETS, Artifact, Emitter, emitter, emitter_class
from mbndt.errors import EngineFailed, EngineMissing, OptionError, TargetError, shown
from mbndt.interpreter import Predictions, branches, leaf_ids
from mbndt.rules import (
    INT64_MAX,
    Feature,
    FeatureType,
    Leaf,
    Node,
    NumericSplit,
    Rules,
    Threshold,
)
from mbndt.rules.csv_rows import with_point
from mbndt.rules.values import float32_above
from mbndt.tables.table import Table

SIDES = (-math.inf, math.inf)

Pools = Mapping[str, list[object]]

# INT64_MIN itself is what C and ONNX keep for a missing integer.
INTEGER_ENDS = (-INT64_MAX, -1, 0, 1, 2**53 - 1, 2**53, 2**53 + 1, INT64_MAX - 1, INT64_MAX)
FLOAT_ENDS = (
    -math.inf,
    -1.7976931348623157e308,
    -1e300,
    -1.0,
    -5e-324,
    -0.0,
    0.0,
    5e-324,
    1.0,
    3.4028234663852886e38,
    3.4028235677973366e38,
    1e300,
    1.7976931348623157e308,
    math.inf,
)


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
        own = f"{changed} values of {table.source} that can't be there ({listed}) made the next"
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
    """Return a table whose values a target's inputs can hold, the others made the next that they
    can, and the number of these.
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
    """Tell for each row [n] whether leaf, label with its type, or a probability's bits differ.

    Raises `EngineFailed` where the numbers of rows or classes differ.
    """
    if not len(got.leaf) == len(got.prediction) == len(expected.leaf):
        raise EngineFailed(f"{len(got.leaf)} answers, expected {len(expected.leaf)}")
    wrong: npt.NDArray[np.bool_] = got.leaf != expected.leaf
    # By their text, which tells types and -0.0 from 0.0.
    labels = zip(got.prediction, expected.prediction, strict=True)
    wrong |= np.fromiter((repr(a) != repr(b) for a, b in labels), np.bool_)
    if expected.probabilities is not None:
        if got.probabilities is None:
            raise EngineFailed("no probabilities")
        if got.probabilities.shape != expected.probabilities.shape:
            raise EngineFailed(
                f"probabilities of shape {got.probabilities.shape},"
                f" expected {expected.probabilities.shape}"
            )
        bits = [
            np.ascontiguousarray(p).view(np.int64)
            for p in (got.probabilities, expected.probabilities)
        ]
        wrong |= np.any(bits[0] != bits[1], axis=1)
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
    if found.probabilities is not None:
        text += f", probabilities {found.probabilities[at].tolist()}"
    return text


def boundary_rows(rules: Rules, rows: int, seed: int = 0) -> Table:
    """Return at least `rows` rows that visit every reachable branch at its ends.

    At each split that some input reaches, one row for each value that is special there, other
    features drawn from the values that lead to this split; one row for each leaf that some input
    reaches; then random mixes of special values.
    """
    draw = random.Random(seed)
    pools: Pools = {
        feature.name: special_values(feature, rules.thresholds(feature)) for feature in rules.used
    }
    found = list(_rows_at_splits(rules, pools, draw))
    while len(found) < rows:
        found.append({name: draw.choice(pool) for name, pool in pools.items()})
    columns: dict[str, list[object]] = {
        feature.name: [row.get(feature.name) for row in found] for feature in rules.features
    }
    return Table(Table.of(columns).columns, len(found), source="boundary rows")


def _rows_at_splits(rules: Rules, pools: Pools, draw: random.Random) -> Iterator[dict[str, object]]:
    work: list[tuple[Node, Pools]] = [(rules.root, pools)]
    while work:
        node, pools = work.pop()
        if isinstance(node, Leaf):
            # A leaf between no thresholds of its own split would be met by chance only.
            yield {name: draw.choice(pool) for name, pool in pools.items()}
            continue
        feature = rules.feature[node.feature]
        own = node.thresholds if isinstance(node, NumericSplit) else ()
        for value in special_values(feature, own):
            yield {name: draw.choice(pool) for name, pool in pools.items()} | {node.feature: value}
        # The pool holds a value of every region, so a child that it can't reach can't be reached.
        pool = pools[node.feature]
        column = Table.of({feature.name: pool}).typed(feature)
        taken = branches(rules, node, column)
        for i, child in enumerate(node.children):
            left = [value for value, to in zip(pool, taken.tolist(), strict=True) if to == i]
            if left:
                work.append((child, {**pools, node.feature: left}))


def special_values(feature: Feature, thresholds: Collection[Threshold]) -> list[object]:
    """Return raw values of a feature that meet both sides of the thresholds, every category, and
    the edges of the type; None stands for missing.
    """
    match feature.type:
        case FeatureType.BOOLEAN:
            return [False, True, None]
        case FeatureType.CATEGORY:
            return [*_category_specials(feature), "", None]
        case FeatureType.INTEGER:
            near = {math.ceil(t) + step for t in thresholds for step in (-1, 0, 1)}
            whole = {x for x in near if abs(x) <= INT64_MAX} | set(INTEGER_ENDS)
            return [*sorted(whole), None]
        case FeatureType.FLOAT64:
            ends = [float(t) for t in thresholds]
        case FeatureType.FLOAT32:
            ends = [end for t in thresholds for end in (float(t), *_float32_ends(float(t)))]
        case _:
            assert_never(feature.type)
    beside = [math.nextafter(end, way) for end in ends for way in SIDES]
    # By text, as -0.0 equals 0.0 and both are to be there.
    return [*{repr(x): x for x in [*FLOAT_ENDS, *ends, *beside]}.values(), None]


def _category_specials(feature: Feature) -> list[str]:
    """Return the categories, and texts beside them that a folding comparison would confuse."""
    beside = [
        text
        for category in feature.categories[:8]
        for text in (f"{category} ", f" {category}", category.swapcase(), f"{category}\u0301")
    ]
    return list(dict.fromkeys([*feature.categories, "never seen", *beside]))


def _float32_ends(t: float) -> list[float]:
    """Return the float32 numbers around t and the doubles between them where rounding turns."""
    near = np.float32(float32_above(t))
    with np.errstate(over="ignore", under="ignore"):
        below, above = (float(np.nextafter(near, np.float32(side))) for side in SIDES)
    ends = [below, float(near), above]
    # Numbers round to infinity as if it were the next power of two.
    whole = [math.copysign(2.0**128, x) if math.isinf(x) else x for x in ends]
    return [*ends, *((low + high) / 2 for low, high in pairwise(whole))]
