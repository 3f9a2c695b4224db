"""A split's answers in words: "below 9, or 25 or more", "“alert” or “voice”, or not listed"."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mbndt.errors import shown
from mbndt.rules.cuts import Range, ranges, written_cut
from mbndt.rules.nodes import Feature, FeatureType, Node, NumericSplit, Split
from mbndt.rules.rules import Rules
from mbndt.rules.values import Value, label_text


@dataclass(frozen=True)
class Answer:
    """One way out of a split: what a value must be, in words, and the child it leads to."""

    text: str
    child: Node


def answers(rules: Rules, split: Split) -> list[Answer]:
    """Return a split's ways out, one a child, in the order in which they are first named."""
    said: dict[int, list[str]] = {}
    if isinstance(split, NumericSplit):
        for part in ranges(rules, split, written_cut):
            said.setdefault(part.to, []).append(range_text(part))
    else:
        for group in split.groups:
            said.setdefault(group.to, []).extend(value_text(value) for value in group.values)
        if split.unseen is not None:
            said.setdefault(split.unseen, []).append("not listed")
    said.setdefault(split.missing, []).append("missing")
    return [Answer(", or ".join(texts), split.children[to]) for to, texts in said.items()]


def value_text(value: str | bool) -> str:
    """Return a category in quotes, or a boolean in a CSV's words."""
    return label_text(value) if isinstance(value, bool) else shown(value, 200)


def range_text(part: Range) -> str:
    """Return a range in words; whole numbers name both ends.

    >>> range_text(Range(9, 21, 0)), range_text(Range(2.15, None, 0))
    ('9 to 20', '2.15 or more')
    """
    if part.low is None:
        return "any value" if part.high is None else f"below {part.high!r}"
    if part.high is None:
        return f"{part.low!r} or more"
    if isinstance(part.high, int):
        return f"{part.low} to {part.high - 1}" if part.low < part.high - 1 else f"{part.low}"
    return f"{part.low!r} to below {part.high!r}"


def cells_text(feature: Feature, cells: Sequence[Value], mask: int) -> str:
    """Return in words what a mask of a feature's cells takes in; missing values are the last cell.

    >>> dose = Feature("dose", FeatureType.INTEGER)
    >>> cells_text(dose, (8, 9, 21, None), 0b1101)
    'below 9, or 21 or more, or missing'
    """
    chosen = [i for i in range(len(cells)) if mask >> i & 1]
    last = len(cells) - 1
    known = [i for i in chosen if i < last]
    if feature.type.numeric:
        said = [range_text(part) for part in _runs(cells[:-1], known)]
    else:
        unseen = last - 1 if feature.type == FeatureType.CATEGORY else last
        texts = [value_text(cells[i]) for i in known if i < unseen]  # type: ignore[arg-type]
        said = [*texts, *["not listed"] * (unseen in known)]
        said = ["any value"] if len(known) == last else said
    return ", or ".join([*said, *["missing"] * (last in chosen)])


def _runs(cells: Sequence[Value], known: Sequence[int]) -> Iterator[Range]:
    """Yield the ranges that neighbouring cells make up."""
    for i in known:
        if i - 1 in known:
            continue
        end = next(j for j in range(i + 1, len(cells) + 1) if j not in known)
        low, high = (None if i == 0 else cells[i]), (None if end == len(cells) else cells[end])
        yield Range(low, high, 0)  # type: ignore[arg-type]
