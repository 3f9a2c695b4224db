"""C: one header of C99 and C++11, all of it `static inline`, for doubles down to 8-bit integers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from mbndt.emitters import base
from mbndt.emitters.base import TELLS, Artifact, Emitter
from mbndt.emitters.c.names import field_names, guard, macro_names
from mbndt.emitters.c.numbers import FLOAT_END, FLOAT_MAX, FUNCTIONS, NUMBERS, Format
from mbndt.emitters.c.options import COptions
from mbndt.emitters.c.plan import Choice, Diagram, End, Fork, Plan, plan
from mbndt.errors import OptionError, shown
from mbndt.rules import INT64_MIN, Feature, Label, Rules, Threshold
from mbndt.rules.values import label_text

if TYPE_CHECKING:
    from mbndt.interpreter import Predictions
    from mbndt.tables.table import Table

View: TypeAlias = dict[str, Any]

# C99 grants lines of 4095 characters, and a label's byte may take four.
LONGEST_STRING = 1000
LINE = 90

DEVIATIONS = {
    "2.3": "a type that is used nowhere checks that constants are double",
    "2.5": "a macro stands for each category, used in a split or not",
    "5.4": "long names of rules, features and categories are not cut to 63 letters",
    "7.2": "the addon's own stdint.h has an INT64_MIN that it takes for unsigned",
}


class C(COptions, Emitter):
    """Emit a header."""

    target = "c"
    variants = ({}, *({"number": name} for name in ("float", "int32", "int16", "int8")))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.name is not None and not (isinstance(self.name, str) and self.name.strip()):
            raise OptionError(f"name: got {shown(self.name)}, expected a name")
        if self.scale and not NUMBERS[self.number].high:
            fixed = [name for name, number in NUMBERS.items() if number.high]
            raise OptionError(f"scale: needs `number` {', '.join(fixed)}, got {self.number}")

    def report(self, artifact: Artifact) -> list[str]:
        """Return lines on what the header costs: comparisons, flash, RAM and stack.

        Raises `EngineMissing` where there is no compiler to measure with.
        """
        from mbndt.emitters.c.size_report import size_report

        return size_report(artifact, self._format(artifact.rules))

    def _format(self, rules: Rules) -> Format:
        return Format(NUMBERS[self.number], rules, self.scale)

    def emit(self, rules: Rules) -> Artifact:
        """Return the header's text."""
        form = self._format(rules)
        ident = base.identifier(rules.name if self.name is None else self.name)
        fields = field_names(rules, ident)
        words = _Words(form, ident, fields, macro_names(rules, ident, fields))
        notes = form.notes()
        answers = form.answers()
        functions = {kind: words.functions(Diagram(form, ends)) for kind, ends in answers.items()}
        classes = [_class(i, label) for i, label in enumerate(rules.target.classes)]
        text = (
            base.templates("c")
            .get_template("header.h.jinja")
            .render(
                rules=rules,
                form=form,
                ident=ident,
                upper=ident.upper(),
                guard=guard(ident, form),
                origin=base.provenance_line(rules),
                notes=notes,
                deviations=DEVIATIONS,
                fields=fields,
                macros=words.macros,
                functions=functions,
                told=[FUNCTIONS[name] for name in rules.outputs],
                tells=TELLS,
                asks_nan=words.asks_nan,
                below=words.below,
                divisor=form.results()[1],
                classes=classes,
                labels=_labels(classes),
                wrap=_wrap,
                comment=_comment,
                quoted=_quoted,
            )
        )
        return Artifact(ident, ".h", text, rules, tuple(notes))

    def engine(self) -> str:
        """Return the line in which the C compiler names itself."""
        from mbndt.emitters.c.run import call, compiler

        command = compiler()
        _, said = call([*command, "--version"])
        return (said.splitlines() or command)[0]

    def unheld(self) -> tuple[int | float, ...]:
        """Return the least integer, which stands for missing."""
        return (INT64_MIN,)

    def run(self, artifact: Artifact, table: Table) -> Predictions:
        """Answer the rows by a program around the header, compiled by `$CC`, cc, gcc or clang."""
        from mbndt.emitters.c.run import answers, execute, structs

        form = self._format(artifact.rules)
        rows, classes = structs(form, table), artifact.rules.target.classes
        driver = (
            base.templates("c")
            .get_template("driver.c.jinja")
            .render(
                ident=artifact.name,
                row_size=rows.dtype.itemsize,
                number=form.number,
                classes=len(classes),
                told=[FUNCTIONS[name] for name in artifact.rules.outputs],
            )
        )
        found = execute(artifact.text, driver, rows.tobytes())
        return answers(form, [label_text(label) for label in classes], found)

    def expected(self, rules: Rules, table: Table) -> Predictions:
        """Return the interpreter's answers to the rows as the number type stores them.

        The results are as the type holds them.
        """
        if self.number == "double":
            return super().expected(rules, table)
        import numpy as np

        from mbndt.emitters.c.run import as_stored, values_of
        from mbndt.interpreter import Predictions, predict

        form = self._format(rules)
        found = predict(rules, as_stored(form, table))
        results, divisor = form.results()
        numbers = {name: np.array(rows, np.float64)[found.leaf] for name, rows in results.items()}
        if rules.task == "regression":
            return Predictions(found.leaf, values_of(numbers["value"], divisor))
        outputs = {name: rows / divisor for name, rows in numbers.items()}
        return Predictions(found.leaf, found.prediction, outputs)


class _Words:
    """What the template shows of the nodes: functions, each the body of nested questions."""

    def __init__(
        self,
        form: Format,
        ident: str,
        fields: Mapping[str, str],
        macros: Mapping[tuple[str, str], str],
    ) -> None:
        self.form, self.ident, self.fields, self.macros = form, ident, fields, macros
        self.rules = form.rules
        # What the questions need besides: the test for NaN, and that for integers, by their type.
        self.asks_nan, self.below = False, ""

    def functions(self, diagram: Diagram) -> list[View]:
        """Return the functions of a diagram, each before those that call it.

        The one to call from without has number 0.
        """
        own = diagram.functions()
        number = {place: i for i, place in enumerate(reversed(own))}

        def body(place: int) -> View:
            match diagram.steps[place]:
                case End(answer):
                    return {"answer": answer}
                case Choice(feature, asks):
                    asked = self.rules.feature[feature]
                    return _arms(asks, lambda fork: self.question(asked, fork), end)

        def end(place: int) -> View:
            return {"call": number[place]} if place in number else body(place)

        return [{"number": number[place], "body": body(place)} for place in own]

    def question(self, feature: Feature, fork: Fork) -> str:
        """Return the condition that asks a fork's question about a feature."""
        value = f"x->{self.fields[feature.name]}"
        match fork.asks:
            case "nan":
                self.asks_nan = True
                return f"{self.ident}_missing({value})"
            case "equal":
                return f"{value} == {self.number(feature, fork.low)}"
            case "below" | "from":
                return self.side(feature, value, fork.low, below=fork.asks == "below")
        inside = fork.asks == "within"
        if feature.type.numeric and fork.low - 1 == self.form.least(feature):
            self.below = self.form.type(feature)
            return f"{self.ident}_below({value}, {self.number(feature, fork.high)})"
        sides = (
            self.side(feature, value, fork.low, below=not inside),
            self.side(feature, value, fork.high, below=inside),
        )
        return f" {'&&' if inside else '||'} ".join(f"({side})" for side in sides)

    def side(self, feature: Feature, value: str, cut: Threshold, *, below: bool) -> str:
        """Return the condition that a value is below a cut, or not below it.

        Numbers at the end of their type, and codes, are compared with the one under the cut where
        that one has a name or a literal and the cut has none.
        """
        if not feature.type.numeric:
            if cut > 0 and feature.categories and (below or cut == len(feature.categories)):
                return f"{value} {'<=' if below else '>'} {self.number(feature, cut - 1)}"
            if cut <= 0:
                return f"{value} {'<' if below else '>='} {cut}"
        elif cut - 1 == self.form.least(feature):
            return f"{value} {'==' if below else '!='} {self.number(feature, cut - 1)}"
        elif self.form.number.field == "float" and cut == FLOAT_END:
            return f"{value} {'<=' if below else '>'} {self.form.literal(FLOAT_MAX)}"
        return f"{value} {'<' if below else '>='} {self.number(feature, cut)}"

    def number(self, feature: Feature, value: Threshold) -> str:
        """Return a number of a feature's type, or a code: by its name, where it has one."""
        if feature.categories:
            return self.macros[feature.name, feature.categories[int(value)]] if value >= 0 else "-1"
        if feature.type.numeric and value == self.form.least(feature):
            return f"{self.ident.upper()}_MISSING" if self.form.number.high else "INT64_MIN"
        return self.form.literal(value)


def _class(number: int, label: Label) -> View:
    """Return the view of a class: a string literal, or characters where it is too long for one."""
    data = label_text(label).encode()
    if len(data) <= LONGEST_STRING:
        return {"number": number, "text": _string(data)}
    return {"number": number, "characters": [f"'\\x{byte:02x}'" for byte in [*data, 0]]}


def _string(data: bytes) -> str:
    """Return a string literal of ASCII. What follows an escape is escaped too, as a letter could be
    another digit of it (and clang distrusts literals in pieces); question marks are escaped, as two
    of them start a trigraph.
    """
    found, escaped = "", False
    for byte in data:
        escaped = escaped or not 32 <= byte < 127
        found += f"\\x{byte:02x}" if escaped else re.sub(r'(["\\?])', r"\\\1", chr(byte))
    return f'"{found}"'


def _quoted(*texts: str) -> str:
    """Return texts as they stand in a comment, cut where they are long."""
    return _comment(", ".join(shown(text) for text in texts if text))


def _comment(text: str) -> str:
    """Return a line of ASCII that can't end or open a comment and holds no trigraph."""
    plain = text.encode("ascii", "backslashreplace").decode()
    return re.sub(r"(?<=[*/?])(?=[*/?])", " ", plain)


def _arms(found: Plan, ask: Callable[[Fork], str], end: Callable[[int], View]) -> View:
    """Return the view of a plan: the view of its end, or arms with a test each but the last."""
    if isinstance(found, int):
        return end(found)
    yes, no = _arms(found.yes, ask, end), _arms(found.no, ask, end)
    otherwise = {"test": "", "body": no}
    return {"arms": [{"test": ask(found), "body": yes}, *no.get("arms", [otherwise])]}


def _labels(classes: Sequence[View]) -> View:
    """Return the view that finds the label of class c; what is no class has the empty one."""
    count = len(classes)
    texts = [*(one.get("text", f"label_{i}") for i, one in enumerate(classes)), '""']
    found = plan(range(count + 1), [count, *range(count), count])

    def ask(fork: Fork) -> str:
        return f"c {'==' if fork.asks == 'equal' else '<'} {fork.low}"

    return _arms(found, ask, lambda place: {"answer": texts[place]})


def _wrap(items: Sequence[str], indent: int) -> str:
    """Return items as lines of a table."""
    pad = "    " * indent
    count = (LINE - len(pad)) // (max(map(len, items)) + 2)
    lines = (", ".join(items[i : i + count]) for i in range(0, len(items), count))
    return pad + f",\n{pad}".join(lines)
