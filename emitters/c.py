"""C: one header of C99 and C++11, all of it `static inline`, for doubles down to 8-bit integers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from mbndt.emitters import base
from mbndt.emitters.base import Arm, Artifact, Emitter, Range
from mbndt.emitters.c_numbers import FLOAT_END, FLOAT_MAX, NUMBERS, Format
from mbndt.errors import OptionError, TargetError, shown
from mbndt.rules import Feature, FeatureType, Label, Leaf, Node, NumericSplit, Rules, Threshold

if TYPE_CHECKING:
    from mbndt.interpreter import Predictions
    from mbndt.table import Table

View: TypeAlias = dict[str, Any]

# C99 grants 127 levels of blocks, of which each `else if` takes one; names of 63 letters; lines of
# 4095 characters, where a label's byte may take four. Compilers are slow on huge functions.
NESTING = 8
NESTING_OF_BIG = 4
BIG = 1000
LONGEST_CHAIN = 8
LONGEST_NAME = 56
LONGEST_STRING = 1000
MAX_CATEGORIES = 2**15
LINE = 90

# Words that headers before this one may have defined as macros, or that it needs as types.
TAKEN_FIELDS = frozenset(
    "int8_t int16_t int32_t int64_t uint8_t uint16_t linux unix i386 errno complex imaginary"  # noqa: SIM905
    " noreturn near far interface small".split()
)
TAKEN_MACROS = frozenset(
    f"{sign}INT_{kind}{bits}_{end}"
    for sign in ("", "U")
    for kind in ("FAST", "LEAST")
    for bits in (8, 16, 32, 64)
    for end in ("MIN", "MAX")
) | {"SIG_ATOMIC_MIN", "SIG_ATOMIC_MAX"}
DEVIATIONS = {
    "2.5": "a macro stands for each category, used in a split or not",
    "5.4": "long names of rules, features and categories are not cut to 63 letters",
    "7.2": "the addon's own stdint.h has an INT64_MIN that it takes for unsigned",
}


@dataclass(frozen=True)
class C(Emitter):
    """Emit a header. `number` is the type of numbers; `scale` holds texts `FEATURE=K` for the
    fixed-point types, where a stored integer i stands for the double nearest to i/K.
    """

    number: str = "double"
    scale: Sequence[str] = ()

    target = "c"
    keeps_least_integer = True
    variants = ({}, {"number": "float"}, {"number": "int32"})

    def __post_init__(self) -> None:
        base.choose("number", self.number, NUMBERS)
        if self.scale and not NUMBERS[self.number].high:
            fixed = [name for name, number in NUMBERS.items() if number.high]
            raise OptionError(f"--scale: needs --number {', '.join(fixed)}, got {self.number}")

    def _format(self, rules: Rules) -> Format:
        return Format(NUMBERS[self.number], rules, self.scale)

    def emit(self, rules: Rules) -> Artifact:
        """Return the header's text."""
        form, ident = self._format(rules), base.identifier(rules.name)
        fields = _field_names(rules, ident)
        tree = _Tree(form, ident, fields, _macro_names(rules, ident, fields))
        results, divisor = form.results()
        notes = form.notes()
        text = base.templates("c").get_template("header.h.jinja").render(
            rules=rules, form=form, ident=ident, upper=ident.upper(), guard=_guard(ident, form),
            origin=base.provenance_line(rules), notes=notes, deviations=DEVIATIONS,
            fields=fields, macros=tree.macros, functions=tree.functions(), searched=tree.searched,
            floating=any(form.type(feature) in ("double", "float") for feature in rules.used),
            results=results, divisor=divisor, least_type=_least_type,
            literals=lambda values: [form.literal(value) for value in values],
            classes=[_class(i, label) for i, label in enumerate(rules.target.classes)],
            wrap=_wrap, either=_either, comment=_comment, quoted=_quoted,
        )  # fmt: skip
        return Artifact(ident, ".h", text, rules, tuple(notes))

    def engine(self) -> str:
        """Return the line in which the C compiler names itself."""
        from mbndt.emitters.c_run import call, compiler

        command = compiler()
        _, said = call([*command, "--version"])
        return (said.splitlines() or command)[0]

    def run(self, artifact: Artifact, table: Table) -> Predictions:
        """Answer the rows by a program around the header, compiled by `$CC`, cc, gcc or clang."""
        from mbndt.emitters.c_run import answers, execute, structs

        form = self._format(artifact.rules)
        rows, classes = structs(form, table), artifact.rules.target.classes
        driver = base.templates("c").get_template("driver.c.jinja").render(
            ident=artifact.name, row_size=rows.dtype.itemsize, number=form.number,
            classes=len(classes),
        )  # fmt: skip
        found = execute(artifact.text, driver, rows.tobytes())
        return answers(form, [_label_text(label) for label in classes], found)

    def expected(self, rules: Rules, table: Table) -> Predictions:
        """Return the interpreter's answers to the rows as the number type stores them, with
        results as the type holds them.
        """
        if self.number == "double":
            return super().expected(rules, table)
        import numpy as np

        from mbndt.emitters.c_run import as_stored
        from mbndt.interpreter import Predictions, predict

        form = self._format(rules)
        found = predict(rules, as_stored(form, table))
        results, divisor = form.results()
        rows = np.array(results, np.float64)[found.leaf] / divisor
        if rules.task == "regression":
            return Predictions(found.leaf, rows[:, 0].tolist(), None)
        return Predictions(found.leaf, found.prediction, rows)


class _Tree:
    """What the template shows of the nodes, cut into functions that call each other."""

    def __init__(
        self, form: Format, ident: str, fields: Mapping[str, str],
        macros: Mapping[tuple[str, str], str],
    ) -> None:  # fmt: skip
        self.form, self.ident, self.fields, self.macros = form, ident, fields, macros
        self.rules = form.rules
        big = len(self.rules.leaves) > BIG
        self.tops = base.pieces(self.rules.root, NESTING_OF_BIG if big else NESTING)
        self.called = [self.rules.root]
        self.searched: dict[str, str] = {}
        self.tables = 0

    def functions(self) -> list[View]:
        """Return the functions that some input reaches, each before those that call it."""
        found = []
        for number, node in enumerate(self.called):  # which grows meanwhile
            found.append({"number": number, "body": self.view(node, top=True)})
        return found[::-1]

    def view(self, node: Node, *, top: bool = False) -> View:
        """Return the view of a node; a split with one way out is passed over."""
        if isinstance(node, Leaf):
            return {"leaf": node.leaf}
        if not top and id(node) in self.tops:
            self.called.append(node)
            return {"call": len(self.called) - 1}
        arms = base.arms(self.rules, node, self.form.cut)
        if len(arms) == 1:
            return self.view(arms[0].child)
        feature = self.rules.feature[node.feature]
        if feature.type == FeatureType.CATEGORY:
            return self.switch(feature, arms)
        if isinstance(node, NumericSplit):
            ranges = base.ranges(self.rules, node, self.form.cut)
            if len(ranges) > LONGEST_CHAIN and not self.is_end(ranges[-1].low):
                return self.search(feature, node, ranges)
        return {"arms": [{"tests": self.tests(feature, arm), "child": self.view(arm.child)}
                         for arm in arms]}  # fmt: skip

    def switch(self, feature: Feature, arms: Iterable[Arm]) -> View:
        """Return the view of a category split; the last arm is the default."""
        cases = []
        for arm in arms:
            labels = ["-1"] if arm.missing else []
            labels += [self.macros[feature.name, str(value)] for value in arm.values]
            cases.append({"labels": [] if arm.rest else labels, "child": self.view(arm.child)})
        return {"value": f"x->{self.fields[feature.name]}", "cases": cases}

    def search(self, feature: Feature, split: NumericSplit, ranges: Sequence[Range]) -> View:
        """Return the view of a split with many intervals: a table, searched by halving."""
        kind = self.form.type(feature)
        self.searched[kind] = self.missing(feature, "value")
        self.tables += 1
        number = self.tables
        ends = [*(part.to for part in ranges), split.missing]
        order = list(dict.fromkeys(ends))
        cases: list[View] = [
            {"labels": [str(i)], "child": self.view(split.children[to])}
            for i, to in enumerate(order)
        ]
        cases[-1]["labels"] = []
        return {
            "value": f"x->{self.fields[feature.name]}", "number": number, "type": kind,
            "cuts": [self.literal(part.high) for part in ranges if part.high is not None],
            "ways": [str(order.index(to)) for to in ends], "way_type": _least_type(len(order)),
            "cases": cases,
        }  # fmt: skip

    def tests(self, feature: Feature, arm: Arm) -> list[str]:
        """Return the tests of which one must hold; none for the last arm."""
        if arm.rest:
            return []
        value = f"x->{self.fields[feature.name]}"
        found = [self.missing(feature, value)] if arm.missing else []
        found += [self.between(value, part) for part in arm.ranges]
        found += [f"{value} == {int(one)}" for one in arm.values]
        return found if len(found) == 1 else [f"({t})" if " " in t else t for t in found]

    def missing(self, feature: Feature, value: str) -> str:
        """Return the test for a missing value."""
        if not feature.type.numeric:
            return f"{value} == -1"
        if self.form.number.high:
            return f"{value} == {self.ident.upper()}_MISSING"
        if self.form.type(feature) == "int64_t":
            return f"{value} == INT64_MIN"
        return f"{self.ident}_missing({value})"

    def between(self, value: str, part: Range) -> str:
        """Return the test for an interval."""
        found = []
        if part.low is not None:
            word = ">" if self.is_end(part.low) else ">="
            found.append(f"{value} {word} {self.literal(part.low)}")
        if part.high is not None:
            word = "<=" if self.is_end(part.high) else "<"
            found.append(f"{value} {word} {self.literal(part.high)}")
        return found[0] if len(found) == 1 else f"({found[0]}) && ({found[1]})"

    def is_end(self, cut: Threshold | None) -> bool:
        """Tell whether only infinity lies above a cut, which no float literal can say."""
        return self.form.number.field == "float" and cut == FLOAT_END

    def literal(self, cut: Threshold) -> str:
        """Return a cut as a literal."""
        return self.form.literal(FLOAT_MAX if self.is_end(cut) else cut)


def _least_type(count: int) -> str:
    """Return the smallest C type that holds 0 to count - 1."""
    return "uint8_t" if count <= 2**8 else "uint16_t" if count <= 2**16 else "int32_t"


def _unique(names: Iterable[str], taken: Iterable[str]) -> list[str]:
    """Return names with a number after those that are taken already."""
    used, tries, found = set(taken), Counter[str](), []
    for name in names:
        one = name
        while one in used:
            tries[name] += 1
            one = f"{name.rstrip('_')}_{tries[name] + 1}"
        used.add(one)
        found.append(one)
    return found


def _field_names(rules: Rules, ident: str) -> dict[str, str]:
    names = [base.identifier(feature.name)[:LONGEST_NAME] for feature in rules.features]
    unique = _unique(names, TAKEN_FIELDS | {f"{ident}_input"})
    return {feature.name: name for feature, name in zip(rules.features, unique, strict=True)}


def _macro_names(rules: Rules, ident: str, fields: Mapping[str, str]) -> dict[tuple[str, str], str]:
    keys, names = [], []
    for feature in rules.features:
        if len(feature.categories) > MAX_CATEGORIES:
            raise TargetError(
                f"{shown(feature.name)}: {len(feature.categories)} categories, expected at most"
                f" {MAX_CATEGORIES}"
            )
        for category in feature.categories:
            keys.append((feature.name, category))
            name = re.sub("_+", "_", f"{fields[feature.name]}_{_word(category)}").rstrip("_")
            names.append(f"{ident}_{name}".upper())
    taken = {f"{ident.upper()}_MISSING", f"{ident.upper()}_VALUE_SCALE"}
    return dict(zip(keys, _unique(names, TAKEN_MACROS | taken), strict=True))


def _word(text: str) -> str:
    """Return a text as the end of a macro's name, where digits and keywords need no letter."""
    word = base.identifier(text)
    plain = word.removeprefix("m_")
    return (plain if plain and base.identifier(plain) == word else word)[:LONGEST_NAME]


def _guard(ident: str, form: Format) -> str:
    """Return the include guard: another header of the same name must clash, not be skipped."""
    import hashlib

    content = repr((form.rules.fingerprint, form.number.field, form.scales))
    return f"{ident}_{hashlib.sha256(content.encode()).hexdigest()[:8]}_H".upper()


def _class(number: int, label: Label) -> View:
    """Return the view of a class: a string literal, or characters where it is too long for one."""
    data = _label_text(label).encode()
    if len(data) <= LONGEST_STRING:
        return {"number": number, "text": _string(data), "characters": []}
    return {"number": number, "characters": [f"'\\x{byte:02x}'" for byte in [*data, 0]]}


def _label_text(label: Label) -> str:
    return str(label).lower() if isinstance(label, bool) else str(label)


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


def _either(tests: Sequence[str], indent: int) -> str:
    """Return a condition that holds where one test does, on one line if it is short."""
    short = " || ".join(tests)
    pad = "    " * (indent + 1)
    return short if len(short) + len(pad) <= LINE else f"\n{pad}|| ".join(tests)


def _wrap(items: Sequence[str], indent: int, start: str = "", end: str = "") -> str:
    """Return items between `start` and `end` as lines of a table, or one line if they are short."""
    pad = "    " * indent
    short = pad + start + ", ".join(items) + end
    if len(short) <= LINE:
        return short
    if start:
        return f"{pad}{start}\n{_wrap(items, indent + 1)}\n{pad}{end}"
    count = max(1, (LINE - len(pad)) // (max(map(len, items)) + 2))
    lines = (", ".join(items[i : i + count]) for i in range(0, len(items), count))
    return pad + f",\n{pad}".join(lines)
