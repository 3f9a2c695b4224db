"""What differs between two rules: which inputs they answer differently, exactly, and what is asked.

No two leaves' boxes of one tree meet, so where a box of the old tree meets one of the new, every
input gets one old answer and one new. These pieces, put together where they answer alike, are all
that has changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from mbndt.arrays import Flags, Ints
from mbndt.errors import shown
from mbndt.rules import Feature, FeatureType, Label, Leaf, Rules
from mbndt.rules.boxes import Box, Space, answer
from mbndt.tables.table import Table

RISK_MOVED = 0.01  # what is told of a risk whose answer stays the same


@dataclass(frozen=True)
class Change:
    """Inputs by masks of cells, what the old rules answer there, and what the new ones do.

    A label (a number of a regression, None at a stop), and a risk of the event of the new rules, or
    where there is none of the answer; None where rules state none.
    """

    box: Box
    labels: tuple[Label | float | None, Label | float | None]
    risks: tuple[float | None, float | None]


@dataclass(frozen=True)
class Changes:
    """What differs: `answers` where the answer does, `risks` where it stays and the risk moves.

    `space` has the cells that the boxes are masks of.
    """

    old: Rules
    new: Rules
    space: Space
    answers: tuple[Change, ...]
    risks: tuple[Change, ...]

    @classmethod
    def between(cls, old: Rules, new: Rules) -> Changes:
        """Return what differs, the parts with the most conditions last.

        Raises `OptionError` where rules know a feature of one name by different types.
        """
        space = Space.of(old, new)
        answers: dict[object, list[Box]] = {}
        risks: dict[object, list[Box]] = {}
        parts: dict[object, Change] = {}
        for before, box in space.leaves(old.root, space.whole):
            for after, both in space.leaves(new.root, box):
                found = Change(
                    both, (old.label(before), new.label(after)), _risks(old, before, new, after)
                )
                alike = answer(old, before) == answer(new, after)
                if alike and not _moved(*found.risks):
                    continue
                key = (answer(old, before), answer(new, after), found.risks)
                parts.setdefault(key, found)
                (risks if alike else answers).setdefault(key, []).append(both)

        def merged(pieces: dict[object, list[Box]]) -> tuple[Change, ...]:
            found = [
                replace(parts[key], box=box) for key, boxes in pieces.items() for box in join(boxes)
            ]
            return tuple(sorted(found, key=lambda change: len(_bound(space, change.box))))

        return cls(old, new, space, merged(answers), merged(risks))

    def conditions(self, change: Change) -> dict[str, int]:
        """Return the masks of the features that tell a change's inputs from others."""
        return _bound(self.space, change.box)

    def feature(self, name: str) -> Feature:
        """Return a feature as the new rules know it, with all categories that either knows."""
        known = [rules.feature[name] for rules in (self.new, self.old) if name in rules.feature]
        if known[0].type != FeatureType.CATEGORY:
            return known[0]
        return replace(known[0], categories=self.space.cells[name][:-2])  # type: ignore[arg-type]

    def rows(self, table: Table) -> tuple[list[int], list[int]]:
        """Return how many rows of a table lie in each part of `answers`, and of `risks`.

        Raises `DataError` for a column that is missing, or a value of a wrong type.
        """
        cells = {name: self._cells(name, table) for name in self.space.cells}

        def count(change: Change) -> int:
            inside: Flags = np.ones(table.n_rows, np.bool_)
            for name, mask in self.conditions(change).items():
                taken = [bool(mask >> i & 1) for i in range(len(self.space.cells[name]))]
                inside &= np.array(taken)[cells[name]]
            return int(inside.sum())

        return [*map(count, self.answers)], [*map(count, self.risks)]

    def _cells(self, name: str, table: Table) -> Ints:
        """Return the cell of each row's value, [n]."""
        feature, cells = self.feature(name), self.space.cells[name]
        column, last = table.typed(feature), len(cells) - 1
        if feature.type.numeric:
            ends = np.array(cells[1:-1], column.values.dtype)
            found = np.searchsorted(ends, column.values, side="right")
        elif feature.type == FeatureType.BOOLEAN:
            found = column.values.astype(np.int64)
        else:
            known = len(feature.categories)
            found = np.where(column.values < 0, known, np.minimum(column.values, known))
        return np.where(column.missing, last, found)


def _risks(old: Rules, before: Leaf, new: Rules, after: Leaf) -> tuple[float | None, float | None]:
    """Return the old and the new risk of one class, where both know it."""
    event = new.event
    label = new.label(after) if event is None else new.target.classes[event]

    def risk(rules: Rules, leaf: Leaf) -> float | None:
        if leaf.risk is None:
            return None
        found = zip(rules.target.classes, leaf.risk, strict=True)
        return next((x for each, x in found if (type(each), each) == (type(label), label)), None)

    return risk(old, before), risk(new, after)


def _moved(before: float | None, after: float | None) -> bool:
    return before is not None and after is not None and abs(after - before) > RISK_MOVED


def _bound(space: Space, box: Box) -> dict[str, int]:
    return {name: mask for name, mask in box.items() if mask != space.whole[name]}


def join(boxes: Iterable[Box]) -> list[Box]:
    """Return disjoint boxes as fewer: those that differ in one feature alone become one."""
    found = [dict(box) for box in boxes]
    before = len(found) + 1
    while len(found) < before:
        before = len(found)
        for name in found[0]:
            masks: dict[tuple[int, ...], dict[str, int]] = {}
            for box in found:
                rest = tuple(mask for key, mask in box.items() if key != name)
                one = masks.setdefault(rest, {**box, name: 0})
                one[name] |= box[name]
            found = [*masks.values()]
    return [*found]


def told(old: Rules, new: Rules) -> Iterator[str]:
    """Yield what else differs, a line each: what is predicted, what is asked for and how."""
    for name in ("name", "type", "unit", "description"):
        yield from _moved_text(f"target {name}", *(getattr(r.target, name) for r in (old, new)))
    yield from _listed("class", old.target.classes, new.target.classes)
    yield from _moved_text("event", *(_event(rules) for rules in (old, new)))
    asked = [{feature.name: feature for feature in rules.used} for rules in (old, new)]
    yield from _listed("input", *asked)
    for name in [name for name in asked[0] if name in asked[1]]:
        before, after = (features[name] for features in asked)
        for part in ("label", "unit", "description"):
            texts = getattr(before, part), getattr(after, part)
            yield from _moved_text(f"input {shown(name)}: {part}", *texts)
        yield from _listed(f"input {shown(name)}: value", before.categories, after.categories)
    for fact in ("training rows", "prevalence", "operating point"):
        yield from _moved_text(fact, *(rules.provenance.get(fact) for rules in (old, new)))


def _event(rules: Rules) -> Label | None:
    return None if rules.event is None else rules.target.classes[rules.event]


def _moved_text(what: str, before: object, after: object) -> Iterator[str]:
    if (type(before), before) != (type(after), after):
        yield f"{what}: {_said(before)} becomes {_said(after)}"


def _said(value: object) -> str:
    return "none" if value in (None, "") else shown(value)


def _listed(what: str, before: Iterable[object], after: Iterable[object]) -> Iterator[str]:
    old, new = [*before], [*after]
    yield from (f"{what} {shown(each)} is gone" for each in old if each not in new)
    yield from (f"{what} {shown(each)} is new" for each in new if each not in old)
