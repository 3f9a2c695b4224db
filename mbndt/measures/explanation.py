"""Measures of rules: their size, what an answer asks of a reader, what gaps leave open."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np

from mbndt.arrays import Ints
from mbndt.rules import Feature, Leaf, NumericSplit, Rules, walk
from mbndt.rules.boxes import Reason, Space, answer, reasons
from mbndt.rules.values import read_value
from mbndt.tables.table import Table


def path_lengths(rules: Rules) -> Ints:
    """Return each leaf's splits on its path, [L], of those with two or more children."""
    splits_at = {"root": 0}
    found = []
    for path, _, node in walk(rules.root):
        above = splits_at.pop(path)
        if isinstance(node, Leaf):
            found.append(above)
            continue
        for i in range(len(node.children)):
            splits_at[f"{path}.children[{i}]"] = above + (len(node.children) > 1)
    return np.array(found, np.int64)


def sizes(rules: Rules) -> Mapping[str, int]:
    """Return counts that say how large rules are: leaves, splits, thresholds, features used."""
    return {
        "leaves": len(rules.leaves),
        "splits": len(rules.splits),
        "thresholds": sum(len(s.thresholds) for s in rules.splits if isinstance(s, NumericSplit)),
        "features used": len(rules.used),
    }


def explanations(rules: Rules) -> Mapping[str, float]:
    """Return how much an answer's reason asks of a reader, over the leaves that inputs reach.

    `explanation size` counts the features that bind a leaf's inputs (Souza, Cicalese, Laber and
    Molinaro, NeurIPS 2022), `conditions` the ends of their intervals (a set counts 1), `enough`
    the features that suffice; a path is redundant if those are fewer (Izza, Ignatiev and
    Marques-Silva, JAIR 75, 2022). Means weigh leaves by their training rows where all record them.
    """
    space = Space.of(rules)
    found = reasons(rules, space)
    counts = [reason.leaf.size for reason in found]
    known = [count for count in counts if count is not None]
    weights: list[int] = known if len(known) == len(counts) and any(known) else [1] * len(counts)

    def mean(values: Iterable[float]) -> float:
        return math.fsum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights)

    literals = sum(len(reason.box) for reason in found)
    dropped = literals - sum(len(reason.enough) for reason in found)
    redundant = [float(len(reason.enough) < len(reason.box)) for reason in found]
    return {
        "explanation size": mean(len(reason.box) for reason in found),
        "largest explanation": max(len(reason.box) for reason in found),
        "conditions": mean(_conditions(rules, space, reason) for reason in found),
        "enough": mean(len(reason.enough) for reason in found),
        "redundant paths": sum(redundant) / len(redundant),
        "redundant paths by rows": mean(redundant),
        "removable conditions": dropped / literals if literals else 0.0,
    }


def _conditions(rules: Rules, space: Space, reason: Reason) -> int:
    """Return the number of interval ends, and of sets, that say a leaf's box."""
    total = 0
    for name, mask in reason.box.items():
        if not rules.feature[name].type.numeric:
            total += 1
            continue
        # Cells ascend, with the missing one last: an end stands wherever the next bit differs.
        cells = len(space.cells[name]) - 1
        total += sum((mask >> i & 1) != (mask >> i + 1 & 1) for i in range(cells - 1))
    return total


def answered_share(rules: Rules, table: Table) -> tuple[int, float]:
    """Return how many of n rows lack a value that the rules use, and the share that is answered.

    Of the latter all leaves agree to which some measured values would lead (McTavish and others,
    ICML 2025).

    The share is 1.0 where no row lacks one. Raises `DataError` as prediction does.
    """
    space = Space.of(rules)
    columns = {feature.name: table.typed(feature) for feature in rules.used}
    gaps = np.any([c.missing for c in columns.values()], axis=0) if columns else np.zeros(0, bool)
    rows = table.take(gaps)
    patterns: dict[tuple[int, ...], bool] = {}
    agreed = 0
    for row in rows.records(rules.used):
        masks = tuple(_compatible(space, f, row[f.name]) for f in rules.used)
        if masks not in patterns:
            box = dict(zip(columns, masks, strict=True))
            patterns[masks] = len({answer(rules, e) for e, _ in space.leaves(rules.root, box)}) == 1
        agreed += patterns[masks]
    return rows.n_rows, agreed / rows.n_rows if rows.n_rows else 1.0


def _compatible(space: Space, feature: Feature, raw: object) -> int:
    """Return the mask of the cells in which a value may lie: its own, or any if it is missing."""
    value = read_value(feature.type, raw)
    return space.whole[feature.name] >> 1 if value is None else space.cell(feature, value)
