"""Python: one module, standard library only, that an auditor can read from top to bottom."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mbndt.emitters.base import (
    Artifact,
    Emitter,
    Range,
    arms,
    identifier,
    pieces,
    provenance_line,
    ranges,
    templates,
)
from mbndt.rules import FeatureType, Leaf, Node, NumericSplit, Rules, Split

if TYPE_CHECKING:
    from mbndt.interpreter import Predictions
    from mbndt.table import Table

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
# Names in the module's functions that no feature may take.
TAKEN = frozenset({"row", "lacking", "type", "dict", "str"})
LONGEST_NAME = 40
# Python refuses 100 levels of indentation; past this depth a subtree gets a function of its own.
NESTING = 16


@dataclass(frozen=True)
class Python(Emitter):
    """Emit a module with `predict`, `predict_proba`, `leaf`, `FEATURES` and `CLASSES`."""

    target = "python"

    def emit(self, rules: Rules) -> Artifact:
        """Return the module's text."""
        tops = pieces(rules.root, NESTING)
        view = _View(rules, _variables(rules), {key: i for i, key in enumerate(tops)})
        template = templates("python").get_template("module.py.jinja")
        text = template.render(
            rules=rules,
            origin=provenance_line(rules),
            literal=ascii,
            types=sorted({feature.type.value for feature in rules.used}),
            readers=[(feature.name, STRANGE[feature.type][1]) for feature in rules.used],
            pieces=[view.of(node, frozenset(), top=True) for node in tops.values()],
            labels=[rules.label(leaf) for leaf in rules.leaves],
        )
        return Artifact(identifier(rules.name), ".py", text, rules)

    def engine(self) -> str:
        """Return the running Python's name and version."""
        return f"{platform.python_implementation()} {platform.python_version()}"

    def run(self, artifact: Artifact, table: Table) -> Predictions:
        """Answer the rows by calling the module's functions."""
        import numpy as np

        from mbndt.interpreter import Predictions

        rules = artifact.rules
        module: dict[str, Any] = {"__name__": artifact.name}
        exec(compile(artifact.text, f"{artifact.name}.py", "exec"), module)
        rows = list(table.records(rules.used))
        probabilities = None
        if rules.task == "classification":
            listed = [module["predict_proba"](row) for row in rows]
            shape = (len(rows), len(rules.target.classes))
            probabilities = np.array(listed, np.float64).reshape(shape)
        leaf = np.array([module["leaf"](row) for row in rows], np.int64)
        return Predictions(leaf, [module["predict"](row) for row in rows], probabilities)


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


@dataclass(frozen=True)
class _View:
    """Shows nodes to the template, given the features' `variables`, and the `numbers` of the
    functions by the `id` of the node that begins each.
    """

    rules: Rules
    variables: dict[str, str]
    numbers: dict[int, int]

    def of(self, node: Node, known: frozenset[str], *, top: bool = False) -> dict[str, Any]:
        """Return what the template shows of a node where the `known` features are read already."""
        if isinstance(node, Leaf):
            return {"leaf": node.leaf}
        if not top and id(node) in self.numbers:
            return {"call": self.numbers[id(node)]}
        feature, x = self.rules.feature[node.feature], self.variables[node.feature]
        strange, reader = STRANGE[feature.type]
        known_below = known | {node.feature}
        return {
            "number": self.numbers.get(id(node)),
            "name": feature.name,
            "note": ", ".join(ascii(text)[1:-1] for text in (feature.label, feature.unit) if text),
            "variable": x,
            "known": node.feature in known,
            "strange": strange.format(x=x),
            "reader": reader,
            "branches": [
                {"test": test, "note": note, "child": self.of(child, known_below)}
                for test, note, child in _branches(self.rules, node, x)
            ],
        }


def _branches(rules: Rules, split: Split, x: str) -> Iterator[tuple[str, str, Node]]:
    """Yield a test of the variable `x`, a note and the child for each way out of a split, in the
    order of their tests; the last takes what is left.
    """
    if isinstance(split, NumericSplit):
        yield from _numeric_branches(split, ranges(rules, split), x)
        return
    missing = "" if rules.feature[split.feature].type == FeatureType.CATEGORY else None
    for arm in arms(rules, split):
        values = [*arm.values, missing] if arm.missing else arm.values
        yield _is_one_of(x, values), "or missing" if arm.rest and arm.missing else "", arm.child


def _numeric_branches(
    split: NumericSplit, parts: Sequence[Range], x: str
) -> Iterator[tuple[str, str, Node]]:
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
            yield " or ".join(tests), "", split.children[to]
            done.add(to)
    note = "or missing" if len(done) < len({part.to for part in parts}) else "missing"
    yield "", note, split.children[split.missing]


def _between(x: str, low: float | None, part: Range) -> str:
    if part.high is None:
        # NaN equals nothing, itself included.
        return f"{x} == {x}" if part.low is None else f"{x} >= {part.low!r}"
    return f"{x} < {part.high!r}" if low is None else f"{low!r} <= {x} < {part.high!r}"


def _is_one_of(x: str, values: Sequence[str | bool | None]) -> str:
    if len(values) > 1:
        return f"{x} in {{{', '.join(map(ascii, values))}}}"
    return "".join(f"{x} {'==' if isinstance(v, str) else 'is'} {v!a}" for v in values)
