"""What bears a result out: its risk, and the cases that learning did not see, leaf by leaf."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mbndt.emitters.protocol import sound
from mbndt.emitters.protocol.grammar import range_text, value_text
from mbndt.emitters.protocol.text import brief, not_stated
from mbndt.emitters.protocol.words import say
from mbndt.rules import Leaf, Rules

HELD_OUT, CROSS_FITTED = "held out", "cross-fitted"
SEEN_AS = {HELD_OUT: "cases_held_out", CROSS_FITTED: "cases_cross_fitted"}  # keys of messages


@dataclass(frozen=True)
class Unseen:
    """The evidence of provenance by leaf id; what isn't sound is left out.

    `counts` are unseen cases by class, `intervals` those of the chance of each class (95 %), of a
    regression that of the mean; `spread` (a regression) is the number, mean and standard deviation
    of unseen cases.
    """

    rules: Rules
    kind: str
    counts: dict[int, list[int]]
    intervals: dict[int, list[sound.Ends | None]]
    spread: dict[int, tuple[int, float | None, float | None]]

    @classmethod
    def of(cls, rules: Rules) -> Unseen:
        """Return what is sound in the evidence of the rules' provenance."""
        facts = sound.mapping(rules.provenance.get("evidence"))
        kind = facts.get("kind")
        if not isinstance(kind, str) or kind not in SEEN_AS:
            return cls(rules, "", {}, {}, {})
        n, classes = len(rules.leaves), len(rules.target.classes)
        listed = dict(enumerate(_rows(facts.get("leaves"), n)))
        around = dict(enumerate(_rows(facts.get("intervals"), n)))
        counts = {i: sound.counts(row, classes) for i, row in listed.items()}
        return cls(
            rules,
            kind,
            {i: row for i, row in counts.items() if row is not None and classes},
            {i: [sound.ends(pair) for pair in _rows(row, classes)] for i, row in around.items()}
            if classes
            else {i: [sound.ends(row, -sound.MOST, sound.MOST)] for i, row in around.items()},
            {i: found for i, row in listed.items() if (found := _spread(row)) and not classes},
        )

    @property
    def head(self) -> list[str]:
        """Return the heads of `cells`."""
        cases = say(SEEN_AS.get(self.kind, "cases_held_out"))
        if self.rules.task == "regression":
            return [cases, say("their_mean"), say("their_spread")]
        event = self.rules.event
        if event is None:
            return [say("head_chance", answer=say("the_answer")), cases]
        return [say("head_risk", answer=value_text(self.rules.target.classes[event])), cases]

    def cells(self, leaf: Leaf) -> list[str]:
        """Return a result's risk with its interval, and the unseen cases; a regression's cases."""
        if self.rules.task == "regression":
            n, mean, std = self.spread.get(leaf.leaf, (None, None, None))
            numbers = [not_stated() if x is None else brief(x) for x in (mean, std)]
            (around,) = self.intervals.get(leaf.leaf) or [None]
            if mean is not None and around is not None:
                numbers[0] += f" ({range_text(*map(brief, around))})"
            return [not_stated() if n is None else str(n), *numbers]
        return [self.risk(leaf), self.cases(leaf)]

    def risk(self, leaf: Leaf) -> str:
        """Return the risk of a result in words: `about 5 in 100 (2 to 13)`."""
        if leaf.risk is None:
            return not_stated()
        told = self._told(leaf)
        around = self.intervals.get(leaf.leaf)
        return frequency(leaf.risk[told], around[told] if around else None)

    def cases(self, leaf: Leaf) -> str:
        """Return how many of the unseen cases had what the risk is of: `3 of 61`."""
        counts = self.counts.get(leaf.leaf)
        if counts is None or leaf.stops:
            return not_stated()
        if not any(counts):
            return say("no_cases")
        return say("of", part=counts[self._told(leaf)], all=sum(counts))

    def size(self, leaf: Leaf) -> int | None:
        """Return how many cases a result rests on: unseen ones, else those of training."""
        if leaf.leaf in self.counts:
            return sum(self.counts[leaf.leaf])
        return self.spread[leaf.leaf][0] if leaf.leaf in self.spread else leaf.size

    def brief(self, leaf: Leaf) -> str:
        """Return the risk and the cases as an end box of the drawing shows them, if known."""
        if leaf.risk is None or leaf.leaf not in self.counts:
            return ""
        risk = self.risk(leaf).removeprefix(say("about", frequency=""))
        return f"{risk}; {self.cases(leaf)}"

    def _told(self, leaf: Leaf) -> int:
        event = self.rules.event
        return leaf.class_index if event is None else event


def frequency(share: float, around: sound.Ends | None) -> str:
    """Return a chance as people count it.

    >>> frequency(0.052, (0.02, 0.131))
    'about 5 in 100 (2 to 13)'
    >>> frequency(0.0004, None)
    'below 1 in 1000 (interval NOT STATED)'
    """
    of = 1000 if 0 < share < 0.01 or 0.99 < share < 1 else 100
    if around is None:
        ends = no_interval()
    else:
        ends = range_text(*(f"{of * end:.0f}" for end in around))
    if 0 < share < 0.001:
        return say("frequency_below", of=of, ends=ends)
    if 0.999 < share < 1:
        return say("frequency_above", of=of, ends=ends)
    counted = say("frequency", n=f"{of * share:.0f}", of=of, ends=ends)
    return say("about", frequency=counted)


def no_interval() -> str:
    """Return what stands in place of an interval that isn't known."""
    return say("no_interval", not_stated=not_stated())


def _rows(value: object, length: int) -> Sequence[Any]:
    fits = isinstance(value, (list, tuple)) and len(value) == length
    return value if fits else ()  # type: ignore[return-value]


def _spread(row: object) -> tuple[int, float | None, float | None] | None:
    facts = sound.mapping(row)
    n, mean, std = (facts.get(key) for key in ("n", "mean", "std"))
    if not sound.is_count(n):
        return None
    known = sound.is_number(std) and std >= 0
    return n, float(mean) if sound.is_number(mean) else None, float(std) if known else None  # type: ignore[arg-type]
