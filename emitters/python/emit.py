"""Python: one module, standard library only, that an auditor can read from top to bottom."""

from __future__ import annotations

import inspect
import platform
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from mbndt.emitters.base import TELLS, Artifact, Emitter, identifier, provenance_line, templates
from mbndt.emitters.nested import Branch, functions
from mbndt.emitters.python.options import PythonOptions
from mbndt.rules import Feature, FeatureType, NumericSplit, Rules, Split, csv_rows
from mbndt.rules.cuts import Range, arms, ranges
from mbndt.tables.csv_format import known_marks

if TYPE_CHECKING:
    from mbndt.interpreter import Predictions
    from mbndt.tables.table import Table

# A test of each type for values that aren't plain: the careful reader takes them, and turns a
# missing one into NaN, None or the empty text.
NUMBER = ("type({x}) is not float", "_number")
STRANGE = {
    FeatureType.FLOAT64: NUMBER,
    FeatureType.FLOAT32: NUMBER,
    FeatureType.INTEGER: ("type({x}) is not int or {x}.bit_length() > 63", "_integer"),
    FeatureType.BOOLEAN: ("type({x}) is not bool", "_boolean"),
    FeatureType.CATEGORY: ("type({x}) is not str", "_category"),
}
# The function that gives each output; the risk is there as `predict_proba` too.
FUNCTIONS = {"risk": "risk", "score": "score", "probability": "predict_proba"}
# Names in the module's functions that no feature may take.
TAKEN = frozenset({"row", "lacking", "type", "dict", "str"})
LONGEST_NAME = 40
# Where the part of `csv_rows` begins that every module holds.
READING = "# --- the part that compiled modules hold\n"


class Python(PythonOptions, Emitter):
    """Emit a module with `predict`, `predict_proba`, `leaf`, `FEATURES` and `CLASSES`."""

    target = "python"

    def emit(self, rules: Rules) -> Artifact:
        """Return the module's text."""
        variables = _variables(rules)
        template = templates("python").get_template("module.py.jinja")
        text = template.render(
            rules=rules,
            origin=provenance_line(rules),
            literal=ascii,
            types=sorted({feature.type.value for feature in rules.used}),
            reads={feature.name: _reading(feature, variables) for feature in rules.used},
            functions=functions(rules, partial(_branches, rules, variables)),
            labels=[rules.label(leaf) for leaf in rules.leaves],
            told=FUNCTIONS,
            tells=TELLS,
            marks=ascii([*known_marks(rules)]),
            reading=inspect.getsource(csv_rows).split(READING, 1)[1],
        )
        return Artifact(identifier(rules.name), ".py", text, rules)

    def engine(self) -> str:
        """Return the running Python's name and version."""
        return f"{platform.python_implementation()} {platform.python_version()}"

    def run(self, artifact: Artifact, table: Table) -> Predictions:
        """Answer the rows by calling the module's functions."""
        from mbndt.emitters.python.run import run

        return run(artifact, table, FUNCTIONS)


def _variables(rules: Rules) -> dict[str, str]:
    """Return a variable for each feature that some split tests."""
    found: dict[str, str] = {}
    taken = set(TAKEN)
    for number, feature in enumerate(rules.used):
        name = identifier(feature.name)[:LONGEST_NAME]
        while name in taken:
            name = f"{name}_{number}"
        taken.add(name)
        found[feature.name] = name
    return found


def _branches(rules: Rules, variables: Mapping[str, str], split: Split) -> Iterator[Branch]:
    """Yield a split's branches, with tests of its feature's variable."""
    x = variables[split.feature]
    if isinstance(split, NumericSplit):
        yield from _numeric_branches(split, ranges(rules, split), x)
        return
    missing = "" if rules.feature[split.feature].type == FeatureType.CATEGORY else None
    for arm in arms(rules, split):
        values = [*arm.values, missing] if arm.missing else arm.values
        note = "or missing" if arm.rest and arm.missing else ""
        yield Branch(_is_one_of(x, values), arm.child, note)


def _reading(feature: Feature, variables: Mapping[str, str]) -> tuple[str, str, str]:
    """Return a feature's variable, the test for what isn't plain, and the reader of that."""
    x, (strange, reader) = variables[feature.name], STRANGE[feature.type]
    return x, strange.format(x=x), reader


def _numeric_branches(split: NumericSplit, parts: Sequence[Range], x: str) -> Iterator[Branch]:
    """Yield the branches of ranges. As no comparison holds for NaN, the child for missing values
    comes last and needs no test.
    """
    done: set[int] = set()
    for to in dict.fromkeys(part.to for part in parts):
        if to != split.missing:
            own = [i for i, part in enumerate(parts) if part.to == to]
            # Where all that lies below a range went to earlier branches, its end alone decides.
            lows = [None if {part.to for part in parts[:i]} <= done else parts[i].low for i in own]
            tests = [_between(x, low, parts[i]) for low, i in zip(lows, own, strict=True)]
            yield Branch(" or ".join(tests), split.children[to])
            done.add(to)
    note = "or missing" if len(done) < len({part.to for part in parts}) else "missing"
    yield Branch("", split.children[split.missing], note)


def _between(x: str, low: float | None, part: Range) -> str:
    if part.high is None:
        # NaN equals nothing, itself included.
        return f"{x} == {x}" if part.low is None else f"{x} >= {part.low!r}"
    return f"{x} < {part.high!r}" if low is None else f"{low!r} <= {x} < {part.high!r}"


def _is_one_of(x: str, values: Sequence[str | bool | None]) -> str:
    if len(values) > 1:
        return f"{x} in {{{', '.join(map(ascii, values))}}}"
    return "".join(f"{x} {'==' if isinstance(v, str) else 'is'} {v!a}" for v in values)
