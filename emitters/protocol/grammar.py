"""The grammar of the decision sheet: its steps and results, and its words for values."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeAlias

from mbndt.emitters.protocol.words import decimal, say
from mbndt.rules import Feature, FeatureType, Label, Threshold
from mbndt.rules.values import Value, read_value

# Keys of messages: the words for types and truth values, and the heads of columns of exact figures.
TYPES = {
    FeatureType.FLOAT64: "number",
    FeatureType.FLOAT32: "number_float32",
    FeatureType.INTEGER: "whole_number",
    FeatureType.BOOLEAN: "yes_or_no",
    FeatureType.CATEGORY: "category",
}
BOOLEANS = {False: "no_false", True: "yes_true"}
CHANCES = {"risk": "risk_of", "score": "score_of", "probability": "probability_of"}
STOPPED = -1  # in place of the number of a result

TEXT = r"“[^“”]*”"
_ESCAPE = re.compile(r"\\u\{([0-9a-f]+)\}")

Bounds: TypeAlias = tuple[Threshold | None, Threshold | None]


@dataclass(frozen=True)
class Answer:
    """One row of a step: all values that lead to one step, result (a leaf id) or stop.

    `bounds` are half-open `[low, high)`, None for an open end; `says` is the answer that stands
    beside a result, or the words of a stop, whose id is that of the first leaf it stands for.
    """

    step: int | None = None
    leaf: int | None = None
    stop: int | None = None
    bounds: tuple[Bounds, ...] = ()
    values: tuple[str | bool, ...] = ()
    missing: bool = False
    other: bool = False
    says: str = ""

    @property
    def parts(self) -> list[str]:
        """Return what fits, as it is printed, each interval by itself."""
        found = [*map(_bounds_text, self.bounds)]
        if self.values:
            found.append(either(map(value_text, self.values)))
        found += [say("not_listed")] * self.other + [say("not_known")] * self.missing
        return [*(f"{text}, {say('or')}" for text in found[:-1]), found[-1]]

    @property
    def then(self) -> str:
        """Return where it leads, as it is printed."""
        if self.step is not None:
            return say("go_to_step", number=self.step)
        return self.says if self.leaf is None else result_text(self.leaf, self.says)

    def names(self, value: Value) -> bool:
        """Tell whether this row names the value; a row for what isn't listed names nothing."""
        if value is None or isinstance(value, (str, bool)):
            return self.missing if value is None else value in self.values
        return any(
            (low is None or value >= low) and (high is None or value < high)
            for low, high in self.bounds
        )


@dataclass(frozen=True)
class Step:
    """One question: the letter of the input it asks for, and its answers."""

    number: int
    letter: str
    answers: tuple[Answer, ...]

    @property
    def ends(self) -> set[Threshold]:
        """Return the ends of its intervals."""
        return {low for answer in self.answers for low, _ in answer.bounds if low is not None}

    def pick(self, value: Value) -> Answer:
        """Return the one row that fits; raises `ValueError` where none or two do."""
        fits = [answer for answer in self.answers if answer.names(value)]
        if not fits and value is not None:
            fits = [answer for answer in self.answers if answer.other]
        if len(fits) != 1:
            raise ValueError(f"step {self.number}: {len(fits)} rows fit {value!r}")
        return fits[0]


@dataclass(frozen=True)
class Result:
    """A printed result: the answer, also `as_printed`, and what is told of each class, by index.

    The outputs are those of `Rules.outputs`; a regression has none.
    """

    answer: Label | float | None
    as_printed: str
    outputs: Mapping[str, tuple[float, ...]]


@dataclass(frozen=True)
class Sheet:
    """What a person takes from the paper: inputs by letter, steps and results by number."""

    inputs: Mapping[str, Feature]
    steps: Mapping[int, Step]
    results: Mapping[int, Result]

    def follow(self, row: Mapping[str, object]) -> Iterator[tuple[Step, Answer]]:
        """Yield the steps that a row of raw values takes, each with the answer that fits."""
        number = 1 if self.steps else None
        while number is not None:
            step = self.steps[number]
            feature = self.inputs[step.letter]
            answer = step.pick(read_value(feature.type, row[feature.name]))
            yield step, answer
            number = answer.step

    def leaf(self, row: Mapping[str, object]) -> int:
        """Return the number of the result that a row of raw values ends in, `STOPPED` for none."""
        route = list(self.follow(row))
        (leaf,) = {route[-1][1].leaf} if route else self.results
        return STOPPED if leaf is None else leaf


def quoted(text: str) -> str:
    r"""Return a text in quotes, from which it can be read back exactly.

    >>> print(quoted("two\nlines"))
    “two\u{a}lines”
    """
    return f"“{_escaped(text)}”"


def _escaped(text: str) -> str:
    r"""Write what print would hide as `\u{…}`: controls, odd blanks, quotes, look-alikes."""
    composed = unicodedata.normalize("NFC", text) == text
    last = len(text) - 1

    def safe(i: int, c: str) -> bool:
        if c == " ":
            return 0 < i < last and text[i - 1] != " "
        shown = c not in "\\“”" and unicodedata.category(c)[0] not in "CZ"
        return shown and (composed or c.isascii())

    return "".join(c if safe(i, c) else f"\\u{{{ord(c):x}}}" for i, c in enumerate(text))


def unquoted(text: str) -> str:
    r"""Return the text that a quoted text stands for.

    >>> unquoted(r"“a\u{a}b”")
    'a\nb'
    """
    return _ESCAPE.sub(lambda escape: chr(int(escape[1], 16)), match_of(TEXT, text)[0][1:-1])


def number_text(x: Threshold) -> str:
    """Return the shortest text that reads back as the same number, without exponent if short."""
    return decimal(digits(x))


def digits(x: Threshold) -> str:
    """Return the same text with a decimal point, whatever language is spoken, for programs."""
    if isinstance(x, int):
        return str(x)
    found = format(Decimal(repr(x)), "f").removesuffix(".0")
    return found if len(found) <= 20 else repr(x)


def value_text(value: Value) -> str:
    """Return a label or a value of an input as it stands on the sheet."""
    if value is None:
        return say("not_known")
    if isinstance(value, bool):
        return say(BOOLEANS[value])
    return quoted(value) if isinstance(value, str) else number_text(value)


def _bounds_text(bounds: Bounds) -> str:
    low, high = bounds
    if low is None:
        return say("any_number") if high is None else say("below", high=number_text(high))
    if high is None:
        return say("or_more", low=number_text(low))
    return say("to_below", low=number_text(low), high=number_text(high))


def range_text(low: str, high: str) -> str:
    """Return from where to where something is."""
    return say("range", low=low, high=high)


def either(texts: Iterable[str]) -> str:
    """Return texts of which one is meant."""
    return f" {say('or')} ".join(texts)


def result_text(leaf: int | str, answer: str) -> str:
    """Return a result with its answer, as it stands where a row leads to it."""
    return say("result_is", leaf=leaf, answer=answer)


def match_of(pattern: str | re.Pattern[str], text: str) -> re.Match[str]:
    """Return the match of a whole text; raises `ValueError` where there is none."""
    if found := re.fullmatch(pattern, text):
        return found
    raise ValueError(f"can't read {text!r}")
