"""Rules as nested comparisons in C, with no table and no `switch`.

Compilers make tables of a `switch` too, and a core whose flash isn't data memory (AVR) holds every
table in RAM.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from mbndt.emitters.c.numbers import Format
from mbndt.rules import Feature, FeatureType, Leaf, NumericSplit, SetSplit, Threshold, walk
from mbndt.rules.cuts import ranges

# C99 grants 127 levels of blocks, of which each `else if` takes one; a split takes up to 15.
# Compilers are slow on huge functions.
NESTING = 10
NESTING_OF_BIG = 5
BIG = 1000


@dataclass(frozen=True)
class Fork:
    """A question about where a value falls.

    It asks whether the value is below `low`, from `low` up, equal to it, within or beyond
    `[low, high)`, or NaN.
    """

    asks: Literal["below", "from", "equal", "within", "beyond", "nan"]
    low: Threshold
    high: Threshold
    yes: Plan
    no: Plan

    @property
    def comparisons(self) -> int:
        """Return the number of comparisons of the question at most."""
        return 2 if self.asks in ("within", "beyond") else 1


# What to ask and then to do: the number of a step, or a question first.
Plan: TypeAlias = int | Fork


def plan(cuts: Sequence[Threshold], ways: Sequence[int], nan: int | None = None) -> Plan:
    """Return the questions, halving at each, that send a value the way of its place among `cuts`.

    That is `ways[k]` where k of the rising `cuts` are not above it; NaN goes to the way `nan`
    (None: there is none). Every comparison with NaN is false, so they are put such that it falls
    where it belongs.
    """
    if nan is None:
        return _halved(cuts, ways, 0, len(cuts), None)
    if nan not in ways:
        return Fork("nan", 0, 0, nan, _halved(cuts, ways, 0, len(cuts), None))
    return _halved(cuts, ways, 0, len(cuts), ways.index(nan))


def _halved(
    cuts: Sequence[Threshold], ways: Sequence[int], first: int, last: int, fall: int | None
) -> Plan:
    """Return the plan for `ways[first:last + 1]`; NaN, if it comes here, goes to `ways[fall]`."""
    if first == last:
        return ways[first]
    low, high = cuts[first], cuts[last - 1]
    if last - first == 2 and ways[first] == ways[last]:
        inner, outer = ways[first + 1], ways[first]
        if fall == first + 1:
            return Fork("beyond", low, high, outer, inner)
        one = isinstance(low, int) and high == low + 1
        return Fork("equal" if one else "within", low, high, inner, outer)
    middle = (first + last + 1) // 2
    below = _halved(cuts, ways, first, middle - 1, fall)
    above = _halved(cuts, ways, middle, last, fall)
    if fall is not None and fall < middle:
        return Fork("from", cuts[middle - 1], cuts[middle - 1], above, below)
    return Fork("below", cuts[middle - 1], cuts[middle - 1], below, above)


@dataclass(frozen=True)
class End:
    """Give an answer."""

    answer: Hashable


@dataclass(frozen=True)
class Choice:
    """Look at a feature; the ends of its plan are the numbers of earlier steps."""

    feature: str
    plan: Plan


class Diagram:
    """The rules' steps for one kind of answer (`answers`, by leaf id).

    Equal ones are there only once, and each comes after those it leads to; splits that decide
    nothing about the answer are left out.
    """

    def __init__(self, form: Format, answers: Sequence[Hashable]) -> None:
        self.form, self.rules = form, form.rules
        self.steps: list[End | Choice] = []
        known: dict[End | Choice, int] = {}
        place: dict[int, int] = {}
        for _, _, node in reversed(list(walk(self.rules.root))):  # children first
            if isinstance(node, Leaf):
                step: End | Choice | int = End(answers[node.leaf])
            else:
                step = self._step(node, [place[id(child)] for child in node.children])
            if not isinstance(step, int):
                self.steps += [] if step in known else [step]
                step = known.setdefault(step, len(known))
            place[id(node)] = step
        self.root = place[id(self.rules.root)]

    def _step(self, split: NumericSplit | SetSplit, children: Sequence[int]) -> Choice | int:
        """Return the choice that a split stands for, or the one step that all of it leads to."""
        feature, nan = self.rules.feature[split.feature], None
        if isinstance(split, SetSplit):
            parts = _codes(feature, split)
        else:
            parts = [(r.high, r.to) for r in ranges(self.rules, split, self.form.cut)]
            least = self.form.least(feature)
            if least is None:
                nan = children[split.missing]
            else:
                parts = [(least + 1, split.missing), *parts]
        cuts, ways = _merged((high, children[to]) for high, to in parts)
        found = plan(cuts, ways, nan)
        return found if isinstance(found, int) else Choice(feature.name, found)

    def comparisons(self) -> int:
        """Return the greatest number of comparisons on the way to an answer."""
        most: list[int] = []
        for step in self.steps:
            most.append(0 if isinstance(step, End) else _most(step.plan, most))
        return most[self.root]

    def functions(self) -> list[int]:
        """Return the steps that are functions of their own, the root last.

        The others are those that more than one place leads to, and those too deep in another.
        """
        uses: Counter[int] = Counter()
        depth: dict[int, int] = {self.root: 0}
        limit = NESTING_OF_BIG if len(self.rules.leaves) > BIG else NESTING
        found = {self.root}
        for number in range(self.root, -1, -1):  # each step after those that lead to it
            step = self.steps[number]
            if number not in depth or isinstance(step, End):
                continue
            if uses[number] > 1 or depth[number] >= limit:
                found.add(number)
                depth[number] = 0
            for level, end in _ends(step.plan, depth[number]):
                uses[end] += 1
                depth[end] = level
        return sorted(found)


def _codes(feature: Feature, split: SetSplit) -> list[tuple[Threshold | None, int]]:
    """Return the ranges of a set's codes, as their ends and children.

    -1 is missing, then come the values by index; any other code of a category is unseen.
    """
    child = {value: group.to for group in split.groups for value in group.values}
    if feature.type == FeatureType.BOOLEAN:
        return [(0, split.missing), (1, child[False]), (None, child[True])]
    assert split.unseen is not None
    unseen = split.unseen
    known = [(i + 1, child.get(value, unseen)) for i, value in enumerate(feature.categories)]
    return [(-1, unseen), (0, split.missing), *known, (None, unseen)]


def _merged(
    parts: Iterable[tuple[Threshold | None, int]],
) -> tuple[list[Threshold], list[int]]:
    """Return cuts and ways of rising ranges; empty ones go, neighbours of one way are joined."""
    cuts: list[Threshold] = []
    ways: list[int] = []
    end: Threshold | None = None  # of the last range
    for high, way in parts:
        if end is not None and high is not None and high <= end:
            continue
        if ways and ways[-1] != way:
            assert end is not None
            cuts.append(end)
        if not ways or ways[-1] != way:
            ways.append(way)
        end = high
    return cuts, ways


def _ends(found: Plan, level: int) -> Iterator[tuple[int, int]]:
    """Yield `(level, step)` for the ends of a plan that starts at a level of blocks."""
    if isinstance(found, int):
        yield level, found
    else:
        yield from _ends(found.yes, level + 1)
        yield from _ends(found.no, level + 1)


def _most(found: Plan, most: Sequence[int]) -> int:
    """Return the greatest number of comparisons of a plan and of the steps after it."""
    if isinstance(found, int):
        return most[found]
    return found.comparisons + max(_most(found.yes, most), _most(found.no, most))
