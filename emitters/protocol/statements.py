"""What people state about a decision sheet, beside what the rules know: read, checked, templated.

Nothing here changes an answer. What is not stated stays empty, and the sheet says so.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from mbndt.emitters.protocol.text import said
from mbndt.emitters.protocol.units import OtherUnit, other_units
from mbndt.emitters.protocol.words import languages
from mbndt.errors import OptionError, nearest, shown
from mbndt.files import read_plain
from mbndt.options import choose
from mbndt.rules import INT64_MAX, Feature, FeatureType, Rules, SetSplit
from mbndt.rules.stopping import LEAST_ROWS
from mbndt.rules.values import label_text

MAX_DECIMALS = 15
PATTERNS = ("plain", "stripes", "dots", "grid", "dark")
Limits = tuple[float, float]
# What a label beside a code can't hold, as the sheet's own words stand between and around codes.
RESERVED = frozenset("“”(),:;")


@dataclass(frozen=True)
class Missing:
    """What to do where a feature can't be measured; with `stop` the sheet then has no answer."""

    text: str = ""
    stop: bool = False


@dataclass(frozen=True)
class InputStatement:
    """What people state about a feature.

    That is how it is called and measured, `range` [least, greatest] of plausible values, the
    `decimals` to record, what to do if it can't be measured, what coded `values` stand for, and
    units that it may come in too.
    """

    label: str = ""
    unit: str = ""
    description: str = ""
    measured: str = ""
    range: Limits | None = None
    decimals: int | None = None
    missing: Missing = Missing()
    values: Mapping[str, str] = field(default_factory=dict)
    other_units: tuple[OtherUnit, ...] = ()


@dataclass(frozen=True)
class OutcomeStatement:
    """What to do about an outcome, its `pattern` where colour is lost, its `label` if coded."""

    action: str = ""
    pattern: str = ""
    label: str = ""


@dataclass(frozen=True)
class Statements:
    """What people state about a sheet. `language` is that of its own words, by default English.
    `validation` is a remark: no text makes a sheet valid.
    A missing or unlisted value that fewer than `least_rows` training rows had there gets no answer.
    Outcomes go by the class as text.
    """

    title: str = ""
    language: str = ""
    population: str = ""
    setting: str = ""
    skill: str = ""
    exclusions: tuple[str, ...] = ()
    outcome: str = ""
    horizon: str = ""
    author: str = ""
    contact: str = ""
    version: str = ""
    date: str = ""
    review_date: str = ""
    supersedes: str = ""
    data: str = ""
    sites: str = ""
    harms: str = ""
    limits: str = ""
    validation: str = ""
    references: tuple[str, ...] = ()
    least_rows: int = LEAST_ROWS
    features: Mapping[str, InputStatement] = field(default_factory=dict)
    outcomes: Mapping[str, OutcomeStatement] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path, rules: Rules) -> Statements:
        """Read a TOML or JSON file; raises `OptionError` that names the file and the key."""
        return cls.of(read_plain(path, "sheet"), rules, f"sheet: {path}")

    @classmethod
    def of(cls, found: object, rules: Rules, source: str = "sheet") -> Statements:
        """Take plain values about rules; raises `OptionError` that starts with `source`."""
        values = _checked(cls, found, source)
        inputs = _tables(found, "features", list(rules.feature), source)
        if values.get("language"):
            choose(f"{source}: language", values["language"], languages())
        if "least_rows" in values:
            values["least_rows"] = _least_rows(values["least_rows"], f"{source}: least_rows")
        labels = [label_text(label) for label in rules.target.classes]
        outcomes = _tables(found, "outcomes", labels, source)
        stated = cls(
            **values,
            features={
                name: _input(entry, rules.feature[name], f"{source}: features: {shown(name)}")
                for name, entry in inputs.items()
            },
            outcomes={
                name: _outcome(entry, f"{source}: outcomes: {shown(name)}")
                for name, entry in outcomes.items()
            },
        )
        _check_patterns(stated, source)
        return stated

    def decimals(self) -> dict[str, int]:
        """Return the decimals stated, by feature."""
        stated = {name: entry.decimals for name, entry in self.features.items()}
        return {name: decimals for name, decimals in stated.items() if decimals is not None}

    def stop_words(self) -> dict[str, str]:
        """Return by feature what people say of a value without which the sheet stops."""
        stated = {name: entry.missing for name, entry in self.features.items()}
        return {
            name: said(entry.text) for name, entry in stated.items() if entry.stop and entry.text
        }

    def feature(self, feature: Feature) -> InputStatement:
        """Return what is known of a feature; a statement goes before what the rules say."""
        stated = self.features.get(feature.name, InputStatement())
        return InputStatement(
            stated.label or feature.label,
            stated.unit or feature.unit,
            stated.description or feature.description,
            stated.measured,
            stated.range,
            stated.decimals,
            stated.missing,
            stated.values,
            stated.other_units,
        )

    def label(self, outcome: str) -> str:
        """Return what a class, as text, is called; nothing where nobody stated it."""
        return self.outcomes.get(outcome, OutcomeStatement()).label


T = TypeVar("T")


def _checked(kind: type[Any], found: object, source: str) -> dict[str, Any]:
    """Return the texts among plain values; raises `OptionError` for an unknown key, or no text."""
    if not isinstance(found, dict):
        raise OptionError(f"{source}: expected a table of keys, got {shown(found)}")
    known = {entry.name: entry for entry in fields(kind)}
    values: dict[str, Any] = {}
    for key, value in found.items():
        if key not in known:
            raise OptionError(f"{source}: unknown key {shown(key)}{nearest(str(key), known)}")
        if known[key].type == "str":
            values[key] = _text(value, f"{source}: {key}")
        elif key == "least_rows":
            values[key] = value
        elif known[key].type == "tuple[str, ...]":
            if not isinstance(value, list):
                raise OptionError(f"{source}: {key}: expected a list of texts, got {shown(value)}")
            values[key] = tuple(_text(item, f"{source}: {key}") for item in value)
    return values


def _text(value: object, source: str) -> str:
    # TOML has dates.
    text = value.isoformat() if hasattr(value, "isoformat") else value
    if not isinstance(text, str) or "\0" in text or any("\ud800" <= c <= "\udfff" for c in text):
        raise OptionError(f"{source}: expected a text, got {shown(value)}")
    return " ".join(text.split())


def _tables(found: object, key: str, known: list[str], source: str) -> dict[str, Any]:
    assert isinstance(found, dict)
    tables = found.get(key, {})
    if not isinstance(tables, dict):
        raise OptionError(f"{source}: {key}: expected a table for each, got {shown(tables)}")
    for name in tables:
        if name not in known:
            raise OptionError(f"{source}: {key}: unknown {shown(name)}{nearest(name, known)}")
    return tables


def _input(entry: object, feature: Feature, source: str) -> InputStatement:
    values = _checked(InputStatement, entry, source)
    assert isinstance(entry, dict)
    if "range" in entry:
        values["range"] = _range(entry["range"], f"{source}: range")
    if "decimals" in entry:
        values["decimals"] = _decimals(entry["decimals"], f"{source}: decimals")
    if "values" in entry:
        values["values"] = _values(entry["values"], feature, f"{source}: values")
    if "missing" in entry:
        values["missing"] = _missing(entry["missing"], f"{source}: missing")
    if "other_units" in entry:
        own = values.get("unit") or " ".join(feature.unit.split())
        values["other_units"] = other_units(entry["other_units"], own, f"{source}: other_units")
    for key in {"range", "decimals", "other_units"} & values.keys():
        if not feature.type.numeric:
            raise OptionError(f"{source}: {key}: only for numbers, got a {feature.type}")
    return InputStatement(**values)


def _least_rows(value: object, source: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= INT64_MAX:
        return value
    raise OptionError(f"{source}: expected a whole number, 0 for no stops, got {shown(value)}")


def _missing(value: object, source: str) -> Missing:
    if not isinstance(value, dict):
        return Missing(_text(value, source))
    if set(value) != {"stop"}:
        raise OptionError(f'{source}: expected a text or {{stop = "…"}}, got {shown(value)}')
    return Missing(_text(value["stop"], f"{source}: stop"), stop=True)


def _range(value: object, source: str) -> Limits:
    """Return the least and greatest plausible value."""
    if (
        isinstance(value, list)
        and len(value) == 2
        and all(isinstance(end, (int, float)) and not isinstance(end, bool) for end in value)
        and abs(value[0]) < float("inf") > abs(value[1])
        and value[0] < value[1]
    ):
        return value[0], value[1]
    raise OptionError(f"{source}: expected [least, greatest], got {shown(value)}")


def _decimals(value: object, source: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= MAX_DECIMALS:
        return value
    raise OptionError(
        f"{source}: expected a whole number from {-MAX_DECIMALS} to {MAX_DECIMALS},"
        f" got {shown(value)}"
    )


def _values(found: object, feature: Feature, source: str) -> dict[str, str]:
    """Return the label of each code, by the code as text."""
    if not isinstance(found, dict):
        raise OptionError(f"{source}: expected a table of codes, got {shown(found)}")
    known = feature.categories or ("true", "false")
    for code in found:
        if feature.type.numeric and not re.fullmatch(r"-?[0-9]+", code):
            raise OptionError(f"{source}: got {shown(code)}, expected whole numbers")
        if not feature.type.numeric and code not in known:
            raise OptionError(f"{source}: unknown {shown(code)}{nearest(code, known)}")
    return {code: _label(text, f"{source}: {shown(code)}") for code, text in found.items()}


def _label(value: object, source: str) -> str:
    text = _text(value, source)
    if reserved := sorted(RESERVED & set(text)):
        signs = " ".join(reserved)
        raise OptionError(f"{source}: a label has none of the sheet's own signs, got {signs}")
    return text


def _outcome(entry: object, source: str) -> OutcomeStatement:
    found = OutcomeStatement(**_checked(OutcomeStatement, entry, source))
    _label(found.label, f"{source}: label")
    if found.pattern and found.pattern not in PATTERNS:
        raise OptionError(
            f"{source}: pattern: got {shown(found.pattern)}{nearest(found.pattern, PATTERNS)}"
        )
    return found


def _check_patterns(stated: Statements, source: str) -> None:
    seen: dict[str, str] = {}
    for name, outcome in stated.outcomes.items():
        twin = seen.setdefault(outcome.pattern, name) if outcome.pattern else name
        if twin != name:
            raise OptionError(
                f"{source}: outcomes: {shown(twin)} and {shown(name)} have one pattern"
            )


# The template


def template(rules: Rules) -> str:
    """Return the TOML file to fill in, with what the rules know; it reads back as it stands."""
    lines = [
        f"# What the decision sheet of {_toml(rules.name)} says beside its steps.",
        "# Fill in what you know; what stays empty is printed as NOT STATED.",
        "",
        *(f"{key} = {value}" for key, value in TOP.items()),
    ]
    for feature in rules.used:
        lines += ["", f"[features.{_toml(feature.name)}]", *_feature_lines(rules, feature)]
    for label in rules.target.classes:
        lines += ["", f"[outcomes.{_toml(label_text(label))}]"]
        lines += ['label = ""  # what the class is called', 'action = ""  # what to do']
        lines.append(f'pattern = ""  # one of {", ".join(PATTERNS)}')
    return "\n".join(lines) + "\n"


TOP = {
    "title": '""  # the decision, in a few words',
    "language": f'""  # of the sheet\'s own words: {", ".join(languages())}',
    "population": '""  # for whom',
    "setting": '""  # where and when it is used, by whom',
    "skill": '""  # what the user must have learned',
    "exclusions": '[]  # do not use if: ["age below 18", "pregnant"]',
    "outcome": '""  # what is predicted',
    "horizon": '""  # within what time',
    "author": '""  # who answers for the sheet',
    "contact": '""',
    "version": '""',
    "date": '""  # of this version: 2026-11-30',
    "review_date": '""  # 2027-06-30',
    "supersedes": '""  # which sheet or rule it takes the place of',
    "data": '""  # what it was learned from: source, first and last date',
    "sites": '""  # where these data come from',
    "harms": '""  # what a wrong answer can do',
    "limits": '""  # what it does not see, and what goes before it',
    "validation": '""  # a remark; only `mbndt validate` lifts the stamp DRAFT',
    "references": "[]  # what was published about it",
    "least_rows": f"{LEAST_ROWS}  # a value not known, or not listed, that fewer cases had stops",
}


def _feature_lines(rules: Rules, feature: Feature) -> list[str]:
    lines = [
        f"label = {_toml(feature.label)}",
        f"unit = {_toml(feature.unit)}",
        f"description = {_toml(feature.description)}",
        'measured = ""  # how and when',
        'missing = ""  # what to do if it cannot be measured; {stop = "…"}: no answer then',
        *_row_lines(rules, feature),
    ]
    codes = feature.categories or ("true", "false") * (feature.type == FeatureType.BOOLEAN)
    listed = ", ".join(f'{_toml(code)} = ""' for code in codes)
    if listed:
        lines.append(f"# values = {{{listed}}}  # what coded values stand for")
    if feature.type.numeric:
        lines.append("# range = [0, 100]  # least and greatest plausible value")
        lines.append(
            '# other_units = [{unit = "", factor = 0.1}]  # times factor: in the unit above'
        )
        if feature.type != FeatureType.INTEGER:
            lines.append("# decimals = 1  # as recorded; `mbndt round` rounds the thresholds to it")
    return lines


def _row_lines(rules: Rules, feature: Feature) -> list[str]:
    """Return how many training rows lacked a feature, or had what is not listed, at its splits."""
    splits = [split for split in rules.splits if split.feature == feature.name]
    lines = [f"# not known in {_rows(split.missing_rows for split in splits)}"]
    listed = [s.unseen_rows for s in splits if isinstance(s, SetSplit) and s.unseen is not None]
    return [*lines, f"# not listed in {_rows(listed)}"] if listed else lines


def _rows(counts: Iterable[int | None]) -> str:
    said = ", ".join("?" if rows is None else str(rows) for rows in counts)
    return f"{said} training rows, where it is asked for"


def _toml(text: str) -> str:
    """Return a TOML string: as JSON's, but for the characters that TOML wants escaped too."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
