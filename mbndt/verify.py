"""Proof by running: each target in its own engine, compared row by row with the interpreter.

Rows come from the rules alone (`boundary_rows`): every threshold and one ulp either side, missing
and infinite values, unseen categories, on every path so that deep splits are reached; and from
the user's table where one is given.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from mbndt.emitters import TARGETS, emitter, emitter_class
from mbndt.errors import EngineMissing, OptionError, TargetError, shown
from mbndt.interpreter import Predictions, branches
from mbndt.rules import INT64_MAX, Feature, FeatureType, Leaf, Node, NumericSplit, Rules
from mbndt.table import Table
from mbndt.values import to_float32

Pools = Mapping[str, list[object]]

# INT64_MIN itself is what C and ONNX keep for a missing integer.
INTEGER_ENDS = (-INT64_MAX, -1, 0, 1, 2**53 - 1, 2**53, 2**53 + 1, INT64_MAX - 1, INT64_MAX)
FLOAT_ENDS = (
    -math.inf, -1.7976931348623157e308, -1e300, -1.0, -5e-324, -0.0, 0.0, 5e-324, 1.0,
    3.4028234663852886e38, 3.4028235677973366e38, 1e300, 1.7976931348623157e308, math.inf,
)  # fmt: skip


@dataclass(frozen=True)
class Check:
    """The outcome for one target: rows compared, mismatches, and the first differing row.

    `engine` is None and `note` says why where the target could not be run.
    """

    target: str
    options: Mapping[str, object]
    engine: str | None
    rows: int = 0
    mismatches: int = 0
    first: Mapping[str, str] | None = None
    note: str = ""

    @property
    def title(self) -> str:
        """Return the target with the options that set it apart."""
        return " ".join([self.target, *(str(value) for value in self.options.values())])


@dataclass
class _Tally:
    rows: int = 0
    mismatches: int = 0
    first: dict[str, str] | None = field(default=None)


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
        raise OptionError(f"--rows: got {rows}, expected at least 1")
    tables = [boundary_rows(rules, rows, seed)]
    if table is not None and table.rows:
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
    try:
        engine = tool.engine()
        artifact = tool.emit(rules)
        tally = _Tally()
        for table in tables:
            _compare(tool.expected(rules, table), tool.run(artifact, table), rules, table, tally)
    except EngineMissing as error:
        return Check(target, options, None, note=f"not run: {error}")
    except TargetError as error:
        return Check(target, options, None, note=f"refused: {error}")
    return Check(target, options, engine, tally.rows, tally.mismatches, tally.first)


def _compare(
    expected: Predictions, got: Predictions, rules: Rules, table: Table, tally: _Tally
) -> None:
    assert len(got.leaf) == len(expected.leaf) == table.rows
    wrong = got.leaf != expected.leaf
    wrong |= np.fromiter(
        (type(a) is not type(b) or a != b
         for a, b in zip(got.prediction, expected.prediction, strict=True)),
        np.bool_, table.rows,
    )  # fmt: skip
    if expected.probabilities is not None:
        assert got.probabilities is not None
        wrong |= np.any(got.probabilities != expected.probabilities, axis=1)
    tally.rows += table.rows
    tally.mismatches += int(wrong.sum())
    if tally.first is None and wrong.any():
        at = int(np.argmax(wrong))
        row = next(iter(table.take(np.array([at])).records(rules.used)), {})
        tally.first = {
            "row": ", ".join(f"{shown(name)}: {shown(value)}" for name, value in row.items()),
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
    features drawn from the values that lead to this split; then random mixes of special values.
    """
    draw = random.Random(seed)
    pools: Pools = {feature.name: special_values(rules, feature) for feature in rules.used}
    found = list(_rows_at_splits(rules, pools, draw))
    while len(found) < rows:
        found.append({name: draw.choice(pool) for name, pool in pools.items()})
    columns: dict[str, list[object]] = {
        feature.name: [row.get(feature.name) for row in found] for feature in rules.features
    }
    return Table.of(columns) if columns else Table({}, len(found))


def _rows_at_splits(
    rules: Rules, pools: Pools, draw: random.Random
) -> Iterator[dict[str, object]]:
    work: list[tuple[Node, Pools]] = [(rules.root, pools)]
    while work:
        node, pools = work.pop()
        if isinstance(node, Leaf):
            continue
        own = pools[node.feature]
        for value in own:
            yield {name: draw.choice(pool) for name, pool in pools.items()} | {node.feature: value}
        feature = rules.feature[node.feature]
        column = Table.of({feature.name: own}).typed(feature)
        taken = branches(rules, node, column, np.arange(len(own)))
        for i, child in enumerate(node.children):
            left = [value for value, to in zip(own, taken.tolist(), strict=True) if to == i]
            if left:
                work.append((child, {**pools, node.feature: left}))


def special_values(rules: Rules, feature: Feature) -> list[object]:
    """Return raw values of a feature that meet every interval's ends, every group, and the edges
    of the type; None stands for missing."""
    if feature.type == FeatureType.BOOLEAN:
        return [False, True, None]
    if feature.type == FeatureType.CATEGORY:
        return [*_category_specials(feature), "", None]
    thresholds = sorted({
        part.below
        for split in rules.splits
        if isinstance(split, NumericSplit) and split.feature == feature.name
        for part in split.intervals
        if part.below is not None
    })  # fmt: skip
    if feature.type == FeatureType.INTEGER:
        near = {math.ceil(t) + step for t in thresholds for step in (-1, 0, 1)}
        whole = {x for x in near if abs(x) <= INT64_MAX} | set(INTEGER_ENDS)
        return [*sorted(whole), None]
    found = list(FLOAT_ENDS)
    for t in map(float, thresholds):
        ends = [t] if feature.type == FeatureType.FLOAT64 else [t, *_float32_ends(t)]
        for end in ends:
            found += [math.nextafter(end, -math.inf), end, math.nextafter(end, math.inf)]
    return [*dict.fromkeys(found), None]


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
    near = to_float32(t)
    if math.isinf(near):
        return [math.copysign(3.4028235677973366e38, near)]
    below, above = np.nextafter(np.float32(near), np.float32([-np.inf, np.inf])).tolist()
    middles = [(side + near) / 2 for side in (below, above) if math.isfinite(side)]
    return [below, near, above, *middles]
