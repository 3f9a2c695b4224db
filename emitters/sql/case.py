"""The CASE that sends a row to its leaf, nested or as a list of path conditions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from mbndt.emitters.sql.dialects import Dialect, one_of
from mbndt.rules import FeatureType, Leaf, Node, NumericSplit, Rules, Split, TargetType, walk
from mbndt.rules.cuts import Arm, Range, arms, ranges

if TYPE_CHECKING:
    from mbndt.emitters.sql.dialects import Expr

# Engines limit the depth of an expression, to 1,000 at the least; longer chains are halved.
MAX_CHAIN = 256


def quoted(name: str) -> exp.Identifier:
    """Return a name that the dialect takes as it is."""
    return exp.Identifier(this=name, quoted=True)


def column(name: str, table: str | None = None) -> exp.Column:
    """Return a column, of a table where one is named."""
    return exp.Column(this=quoted(name), table=None if table is None else quoted(table))


LABELS = {
    TargetType.STRING: "TEXT",
    TargetType.INTEGER: "BIGINT",
    TargetType.BOOLEAN: "BOOLEAN",
}


def type_of(rules: Rules, output: int) -> str:
    """Return the type of an output, by its place among them."""
    if output == 1:
        return "BIGINT"
    # A regression's value is a double, whatever the column was that it learned from.
    return "DOUBLE" if output or not rules.target.classes else LABELS[rules.target.type]


@dataclass(frozen=True)
class Writer:
    """Write what rules say in the words of a dialect, with columns of `table`."""

    words: Dialect
    rules: Rules
    prefix: str
    table: str | None
    columns: Mapping[str, str]  # each feature's
    typed: bool = False  # whether the columns have the types that the rules declare for sure

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        """Return the names of the columns that a select adds."""
        names = ("prediction", "leaf", *self.rules.output_columns)
        return tuple(self.prefix + name for name in names)

    def answer(self, leaf: Leaf, output: int) -> Expr:
        """Return what a leaf gives for one of the outputs, by its place among them."""
        if output == 1:
            return self.words.say(leaf.leaf)
        told = self._told[output - 2][leaf.leaf] if output else self.rules.label(leaf)
        if told is None:
            return self._nothing(output)
        # A regression over whole numbers has values that are none.
        return self.words.say(told if self.rules.target.classes else float(told))

    def _nothing(self, output: int) -> Expr:
        """Return the NULL that stands for no answer."""
        if not self.words.typed_null:
            return exp.Null()
        return exp.cast(exp.Null(), type_of(self.rules, output))

    @cached_property
    def _told(self) -> list[Sequence[float | None]]:
        return [*self.rules.output_columns.values()]

    def answers(self) -> list[list[Expr]]:
        """Return the outputs of each leaf."""
        places = range(len(self.outputs))
        return [[self.answer(leaf, k) for k in places] for leaf in self.rules.leaves]

    def route(self, output: int) -> Expr:
        """Return the CASE that sends a row to its leaf, and gives one of the outputs there."""
        tree = self._tree(output)
        tests = [
            test
            for feature in ([] if self.typed else self.rules.used)
            for test in self.words.mistyped(feature.type, self.column(feature.name))
        ]
        if not tests or not isinstance(tree, exp.Case):
            return tree
        wrong = exp.If(this=_chain(exp.or_, tests), true=self._refused(output))
        return _case([wrong, *tree.args["ifs"]], tree.args["default"])

    def _tree(self, output: int) -> Expr:
        if self.rules.depth <= self.words.nesting:
            return self._nested(self.rules.root, output)
        *tested, (last, _) = self._paths()
        ways = [
            exp.If(this=_chain(exp.and_, tests), true=self._answer(leaf, output))
            for leaf, tests in tested
        ]
        return _case(ways, self._answer(last, output))

    def _answer(self, leaf: Leaf | None, output: int) -> Expr:
        return self._refused(output) if leaf is None else self.answer(leaf, output)

    def _refused(self, output: int) -> Expr:
        """Return the answer to a value that is none of its feature's type.

        It is NULL or, where the test itself raises and NULL would change the column's type, any.
        """
        any_ = next(leaf for leaf in self.rules.leaves if not leaf.stops)
        return self.answer(any_, output) if self.words.raises else exp.Null()

    def _nested(self, node: Node, output: int) -> Expr:
        if isinstance(node, Leaf):
            return self.answer(node, output)
        *tested, last = arms(self.rules, node)
        ways = [
            exp.If(this=self.test(node.feature, arm), true=self._nested(arm.child, output))
            for arm in tested
        ]
        unfit = [exp.If(this=test, true=self._refused(output)) for test in self.unfit(node.feature)]
        # What is equal to a text needs no test for what is none.
        category = self.rules.feature[node.feature].type == FeatureType.CATEGORY
        ways = [*ways, *unfit] if category else [*unfit, *ways]
        return _case(ways, self._nested(last.child, output))

    def _paths(self) -> list[tuple[Leaf | None, list[Expr]]]:
        """Return each leaf with its tests, in the order in which a row has to try them.

        None stands for the answer to a value that is none of its feature's type.

        At the turn of a split's last child all rows of its other children are taken, so it needs
        no test. The largest child comes last: no path has more tests than log2 of the leaves.
        """
        found: list[tuple[Leaf | None, list[Expr]]] = []
        sizes = _leaves_below(self.rules.root)
        stack: list[tuple[Node, list[Expr]]] = [(self.rules.root, [])]
        while stack:
            node, tests = stack.pop()
            if isinstance(node, Leaf):
                found.append((node, [test.copy() for test in tests]))
                continue
            for test in self.unfit(node.feature):
                found.append((None, [*(test.copy() for test in tests), test]))
            last, others = self._largest_last(node, sizes)
            stack.append((last, tests))
            stack.extend((child, [*tests, test]) for child, test in reversed(others))
        return found

    def _largest_last(
        self, split: Split, sizes: dict[int, int]
    ) -> tuple[Node, list[tuple[Node, Expr]]]:
        steps = arms(self.rules, split)
        last = max(steps, key=lambda arm: (sizes[id(arm.child)], arm.rest))
        parts = ranges(self.rules, split) if isinstance(split, NumericSplit) else ()
        others = []
        for arm in steps:
            if arm is not last:
                # Lower ends are no longer settled by the arms before.
                own = tuple(part for part in parts if split.children[part.to] is arm.child)
                test = self.test(split.feature, replace(arm, ranges=own), last)
                others.append((arm.child, test))
        return last.child, others

    def column(self, feature: str) -> exp.Column:
        """Return the column of a feature."""
        return column(self.columns[feature], self.table)

    def unfit(self, name: str) -> list[Expr]:
        """Return the test for a value that is none of a feature's type."""
        feature = self.rules.feature[name]
        return [] if self.typed else self.words.unfit(feature.type, self.column(name))

    def test(self, name: str, arm: Arm, last: Arm | None = None) -> Expr:
        """Return the condition on which a row takes an arm, before `last` takes the rest.

        Without `last` the arm is one that `arms` wants tested, after those before it.
        """
        feature, x = self.rules.feature[name], self.column(name)
        tests: list[Expr] = []
        # Of integers too: engines and frames hold those with gaps as doubles.
        gaps = self.words.gaps and feature.type == FeatureType.BOOLEAN
        is_nan = self.words.is_nan(x) if feature.type.numeric or gaps else []
        if arm.missing:
            tests += [exp.Is(this=x, expression=exp.Null()), *is_nan]
        # Engines take NaN to be above all numbers; here no arm before has taken it.
        open_to_nan = last is not None and last.missing
        for part in arm.ranges:
            ends = part.high is None or (self.words.nan_below and part.low is None)
            numbers = [exp.not_(test.copy()) for test in is_nan] if open_to_nan and ends else []
            bounds = [*self._within(x, part), *numbers]
            # All numbers, in a dialect without NaN: only a missing value is left to the last arm.
            bounds = bounds or [exp.not_(exp.Is(this=x.copy(), expression=exp.Null()))]
            tests.append(exp.and_(*bounds, copy=False))
        if feature.type == FeatureType.BOOLEAN and arm.values:
            tests.append(one_of(x.copy(), [self.words.say(value) for value in arm.values]))
        if feature.type == FeatureType.CATEGORY:
            rest = last if last is not None and arm.rest else None
            found = self.words.is_text(x, _texts(rest or arm), feature.categories)
            tests.append(exp.not_(found) if rest else found)
        return _chain(exp.or_, tests)

    def _within(self, x: Expr, part: Range) -> list[Expr]:
        tests: list[Expr] = []
        if part.low is not None:
            tests.append(exp.GTE(this=self.words.as_number(x), expression=self.words.say(part.low)))
        if part.high is not None:
            tests.append(exp.LT(this=self.words.as_number(x), expression=self.words.say(part.high)))
        return tests


def _case(ways: list[exp.If], rest: Expr) -> Expr:
    return exp.Case(ifs=ways, default=rest) if ways else rest


def _texts(arm: Arm) -> list[str]:
    return [*([""] if arm.missing else []), *map(str, arm.values)]


def _leaves_below(root: Node) -> dict[int, int]:
    """Return the number of leaves below each node, by its id()."""
    found: dict[int, int] = {}
    for _, _, node in reversed(list(walk(root))):
        inner = () if isinstance(node, Leaf) else node.children
        found[id(node)] = sum(found[id(child)] for child in inner) or 1
    return found


def _chain(join: Any, tests: Sequence[Expr]) -> Expr:
    """Join tests by AND or OR."""
    if len(tests) > MAX_CHAIN:
        middle = len(tests) // 2
        tests = [_chain(join, tests[:middle]), _chain(join, tests[middle:])]
        tests = [exp.Paren(this=test) for test in tests]
    found: Expr = join(*tests, copy=False)
    return found
