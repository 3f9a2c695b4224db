"""JavaScript: one ES module without dependencies, for Node, browsers and the sheet's page."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from mbndt.emitters.base import TELLS, Artifact, Emitter, identifier, provenance_line, templates
from mbndt.emitters.javascript.options import JavaScriptOptions
from mbndt.emitters.nested import Branch, functions
from mbndt.rules import Label, Rules, Split, TargetType
from mbndt.rules.cuts import Range, arms, written_cut

if TYPE_CHECKING:
    from mbndt.interpreter import Predictions
    from mbndt.tables.table import Table

SAFE = 2**53 - 1  # the largest whole number that is told apart from its neighbours


# The function that gives each output.
FUNCTIONS = {"risk": "risk", "score": "score", "probability": "predictProba"}


def literal(value: str | bool | int | float | None) -> str:
    """Return a literal in ASCII that can end neither a comment nor a script element.

    >>> "<" in literal("</script>"), literal(2**53), literal(0.1), literal(True)
    (False, '9007199254740992n', '0.1', 'true')
    """
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > SAFE:
        return f"{value}n"
    return json.dumps(value).replace("<", "\\u003c")


class JavaScript(JavaScriptOptions, Emitter):
    """Emit a module with `leaf`, `predict`, the outputs, `FEATURES` and `CLASSES`."""

    target = "javascript"

    def emit(self, rules: Rules) -> Artifact:
        """Return the module's text."""
        labels = [rules.label(leaf) for leaf in rules.leaves]
        kind = rules.target.type
        text = (
            templates("javascript")
            .get_template("module.mjs.jinja")
            .render(
                rules=rules,
                origin=provenance_line(rules),
                literal=literal,
                kinds=sorted({feature.type.value for feature in rules.used}),
                functions=functions(rules, partial(_branches, rules)),
                names=[literal(feature.name) for feature in rules.features],
                classes=_literals(rules.target.classes, kind),
                answers=_literals(labels, kind),
                told=FUNCTIONS,
                tells=TELLS,
            )
        )
        return Artifact(identifier(rules.name), ".mjs", text, rules)

    def engine(self) -> str:
        """Return Node's version; raises `EngineMissing` where there is none."""
        from mbndt.emitters.node import node_version

        return node_version()

    def run(self, artifact: Artifact, table: Table) -> Predictions:
        """Answer the rows by calling the module's functions in Node."""
        from mbndt.emitters.javascript.run import run

        return run(artifact, table, FUNCTIONS)


def _branches(rules: Rules, split: Split) -> Iterator[Branch]:
    """Yield a split's branches, with tests of the value `x`."""
    # The module rounds float32 values itself.
    for arm in arms(rules, split, written_cut):
        tests = ["x === null"] if arm.missing else []
        tests += map(_within, arm.ranges)
        choices = [literal(value) for value in arm.values]
        if len(choices) > 1:
            tests.append(f"[{', '.join(choices)}].includes(x)")
        else:
            tests += [f"x === {choice}" for choice in choices]
        yield Branch(" || ".join(tests), arm.child)


def _within(part: Range) -> str:
    low, high = (None if end is None else literal(end) for end in (part.low, part.high))
    if low is None:
        return f"x < {high}"
    return f"x >= {low}" if high is None else f"({low} <= x && x < {high})"


def _literals(values: Sequence[Label | float | None], kind: TargetType) -> list[str]:
    """Return literals of one type: if one is a bigint, all are; but null."""
    listed = [literal(value) for value in values]
    large = kind == TargetType.INTEGER and any(text.endswith("n") for text in listed)
    if not large:
        return listed
    return [text if text == "null" else f"{text.rstrip('n')}n" for text in listed]
