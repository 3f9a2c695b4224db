"""The decision sheet: numbered steps that a person follows by hand, on paper or on a screen.

`grammar` says how steps are written, and `paper` follows them back; the other modules own a block
each.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mbndt._version import __version__
from mbndt.emitters import base
from mbndt.emitters.base import Artifact, Emitter
from mbndt.emitters.protocol import font
from mbndt.emitters.protocol.drawing import drawing, ems
from mbndt.emitters.protocol.evidence import answer_table, evidence, provenance
from mbndt.emitters.protocol.examples import examples
from mbndt.emitters.protocol.form import field, script
from mbndt.emitters.protocol.grammar import STOPPED, TYPES, Sheet, either, quoted, value_text
from mbndt.emitters.protocol.identity import (
    NO_CODE,
    Identity,
    code,
    code_brought,
    identity,
    read_day,
    stamp,
)
from mbndt.emitters.protocol.inputs import Inputs, too_fine, unit_words
from mbndt.emitters.protocol.labels import Labels, spoken
from mbndt.emitters.protocol.layout import front
from mbndt.emitters.protocol.options import ProtocolOptions
from mbndt.emitters.protocol.results import (
    FEW_ROWS,
    answer_text,
    exact_tables,
    results,
    training_table,
)
from mbndt.emitters.protocol.statements import PATTERNS, InputStatement, Statements
from mbndt.emitters.protocol.steps import steps_of, ways
from mbndt.emitters.protocol.stops import stopped
from mbndt.emitters.protocol.text import markdown, not_stated, plain, said
from mbndt.emitters.protocol.unseen import Unseen
from mbndt.emitters.protocol.words import ENGLISH, decimal, language, languages, say, speaking
from mbndt.errors import OptionError, shown
from mbndt.rules import Rules
from mbndt.rules.standing import DRAFT, validation_status
from mbndt.rules.values import label_text

if TYPE_CHECKING:
    from jinja2 import Template

    from mbndt.interpreter import Predictions
    from mbndt.tables.table import Table

FORMATS = {"html": ".html", "md": ".md", "txt": ".txt", "pdf": ".pdf"}
READERS = {".html": "HTML", ".md": "Markdown"}


class Protocol(ProtocolOptions, Emitter):
    """Emit a sheet of numbered steps, results with what they rest on, and worked examples."""

    target = "protocol"
    variants = (
        {"format": "md"},
        {"format": "html"},
        *({"format": "md", "language": code} for code in languages() if code != ENGLISH),
    )

    def emit(self, rules: Rules) -> Artifact:
        """Return the sheet's text, or the bytes of a PDF.

        Raises `OptionError` for a wrong statement, `EngineMissing` for a PDF without WeasyPrint.
        """
        if self.date is not None and read_day(self.date) is None:
            raise OptionError(f"date: got {shown(self.date)}, expected a day such as 2026-11-30")
        stated = self._statements(rules)
        with speaking(stated.language):
            return self._emit(rules, stated)

    def _emit(self, rules: Rules, stated: Statements) -> Artifact:
        followed = stopped(rules, stated)
        sheet = steps_of(followed, stated.stop_words())
        reached = {answer.leaf for step in sheet.steps.values() for answer in step.answers}
        answering = [leaf for leaf in followed.leaves if not leaf.stops]
        leaves = [leaf for leaf in answering if leaf.leaf in reached] or answering
        unreached = [leaf.leaf for leaf in answering if leaf not in leaves]
        view = _view(rules, stated, sheet, self.date) | {"unreached": unreached}
        view["results"] = results(followed, leaves, ways(sheet), view["titles"], Unseen.of(rules))
        view["training"] = training_table(followed, leaves)
        view["changed"] = self._changed(followed, stated, view["titles"])
        view["exact"] = list(exact_tables(followed, leaves))
        asked = [rules.feature[entry.name] for entry in sheet.inputs.values()]
        view = spoken(view, Labels.of(rules, stated), asked, stated)
        kind = "html" if self.format == "pdf" else self.format
        form = script(followed, asked, view["titles"]) if self.format == "html" else ""

        def text(faces: str = "") -> str:
            return _template(kind).render(
                view,
                format=kind,
                paper=self.paper,
                interactive=self.format == "html",
                **front(view),
                escapes=r"\\u{" in repr(view),
                script=form,
                families=font.FAMILIES,
                faces=faces,
            )

        content: str | bytes = text()
        notes = [f"leaf {i} is on no path and not on the sheet" for i in unreached]
        notes += [*too_fine(rules, stated), *unit_words(rules, stated)]
        if kind == "html":
            notes += [NO_CODE] * (not code_brought())
            plain, faces = str(content), ""
            if font.brought():
                faces = font.faces(plain)
            content = text(faces)
            if self.format == "pdf":
                from mbndt.emitters.protocol.pdf import pdf

                content = pdf(content)
            else:
                notes += font.notes(plain)
        name = base.identifier(rules.name)
        return Artifact(name, FORMATS[self.format], content, rules, tuple(notes))

    def _changed(
        self, rules: Rules, stated: Statements, titles: Mapping[str, str]
    ) -> dict[str, Any] | None:
        if self.previous is None:
            return None
        from mbndt.emitters.protocol.changed import since

        before = self.previous
        if not isinstance(before, Rules):
            before = Rules.from_json(Path(before).read_bytes())
        return since(stopped(before, stated), rules, titles, Labels.of(rules, stated))

    def _statements(self, rules: Rules) -> Statements:
        if self.sheet is None or isinstance(self.sheet, Mapping):
            stated = Statements.of(dict(self.sheet or {}), rules)
        else:
            stated = Statements.read(Path(self.sheet), rules)
        return replace(stated, language=self.language or stated.language or ENGLISH)

    def engine(self) -> str:
        """Return the name of the reader that follows the sheet."""
        return f"paper reader ({READERS.get(FORMATS[self.format], 'none')})"

    def expected(self, rules: Rules, table: Table) -> Predictions:
        """Return the interpreter's answers on the rules that the sheet prints, with its stops.

        A stop has no number on paper.
        """
        import numpy as np

        from mbndt.interpreter import predict

        followed = stopped(rules, self._statements(rules))
        found = predict(followed, table)
        stops = np.array([leaf.stops for leaf in followed.leaves])
        return replace(found, leaf=np.where(stops[found.leaf], STOPPED, found.leaf))

    def run(self, artifact: Artifact, table: Table) -> Predictions:
        """Answer the rows by following the text of a Markdown or HTML sheet, and nothing else."""
        from mbndt.emitters.protocol import paper

        sheet = paper.read_sheet(artifact.text, html=artifact.suffix == ".html")
        return paper.answer_rows(sheet, table)


@cache
def _template(kind: str) -> Template:
    from mbndt.emitters.protocol.text import filled, underlined

    finalize = {"md": markdown}.get(kind)
    page = base.templates("protocol", autoescape=kind != "txt", finalize=finalize)
    page.filters |= {"filled": filled, "underlined": underlined, "ems": ems, "decimal": decimal}
    page.globals |= {"say": say, "language": language}
    return page.get_template("sheet.jinja")


def _view(rules: Rules, stated: Statements, sheet: Sheet, today: str | None) -> dict[str, Any]:
    """Return what every format shows, but for the results."""
    inputs = {letter: rules.feature[entry.name] for letter, entry in sheet.inputs.items()}
    known = {feature.name: stated.feature(feature) for feature in rules.features}
    titles = _titles(rules, known)
    asked = Inputs(rules, known, titles)
    places = {letter: i for i, letter in enumerate(inputs)}
    steps = [
        asked.step(step, inputs[step.letter]) | {"field": places[step.letter]}
        for step in sheet.steps.values()
    ]
    patterns = _patterns(rules, stated)
    mark, unseen = Identity.of(rules, stated), Unseen.of(rules)
    kinds = {leaf.leaf: leaf.class_index for leaf in rules.leaves if isinstance(leaf.value, tuple)}
    labels = Labels.of(rules, stated)
    translated = language() != ENGLISH
    ends = {
        leaf.leaf: (labels.answer(answer_text(rules, leaf)), unseen.brief(leaf))
        for leaf in rules.leaves
        if not leaf.stops
    }
    return {
        "title": said(stated.title) if stated.title else plain(rules.name),
        "stamp": stamp(rules),
        "draft": validation_status(rules) == DRAFT,
        "identity": [*identity(rules, stated, today), [say("fingerprint"), mark.mark]],
        "use": list(_use(rules, stated, labels)),
        "bounds": list(_bounds(stated)),
        "origin": say("made_by", version=__version__, fingerprint=rules.fingerprint),
        "mark": mark,
        "code": code(mark),
        "titles": titles,
        "inputs": [asked.row(*pair) for pair in inputs.items()],
        "columns": [
            [letter, quoted(entry.name), say(TYPES[entry.type])] for letter, entry in inputs.items()
        ],
        "fields": [field(asked, *pair) for pair in inputs.items()],
        "exclusions": [*map(said, stated.exclusions)],
        "unused": [quoted(entry.name) for entry in rules.features if entry not in inputs.values()],
        "steps": steps,
        "answers": answer_table(rules, stated),
        "patterns": patterns,
        "drawing": drawing(sheet, titles, ends, kinds),
        "evidence": evidence(rules, stated, labels),
        "audit": [
            [say("fingerprints"), ", ".join(mark.keys)],
            [say("fingerprint_of_both"), mark.sheet],
            *([[say("language"), f"{say('language_name')} ({language()})"]] * translated),
            *provenance(rules),
        ],
        "examples": list(
            examples(sheet, titles, {entry.name: asked.scale(entry) for entry in inputs.values()})
        ),
        "types": {entry.type.value for entry in inputs.values()},
        "few": FEW_ROWS,
    }


def _patterns(rules: Rules, stated: Statements) -> list[str]:
    """Return each class's pattern: what is stated, else the next that is left."""
    wanted = [stated.outcomes.get(label_text(label)) for label in rules.target.classes]
    own = [outcome.pattern if outcome else "" for outcome in wanted]
    left = itertools.cycle([pattern for pattern in PATTERNS if pattern not in own] or PATTERNS)
    return [pattern or next(left) for pattern in own]


def _use(rules: Rules, stated: Statements, labels: Labels) -> Iterator[list[str]]:
    """Yield what the sheet is for; what nobody stated stays visible."""
    target = rules.target
    classes = either(labels.answer(value_text(label)) for label in target.classes)
    answer = say("pair", name=plain(target.name), text=classes or say("a_number"))
    if target.unit:
        answer = say("in_unit", text=answer, unit=plain(target.unit))
    yield [say("outcome"), said(stated.outcome) if stated.outcome else plain(target.description)]
    yield [say("within"), said(stated.horizon)]
    yield [say("answer"), answer]
    yield [say("for_whom"), said(stated.population)]
    yield [say("setting"), said(stated.setting)]
    yield [say("skill"), said(stated.skill)]
    yield [say("exclusions"), "; ".join(map(said, stated.exclusions)) or not_stated()]


def _bounds(stated: Statements) -> Iterator[list[str]]:
    """Yield what the sheet can't do; a remark on validation is no more than that."""
    yield [say("harms"), said(stated.harms)]
    yield [say("limits"), said(stated.limits)]
    yield [say("references"), "; ".join(map(said, stated.references)) or not_stated()]
    if stated.validation:
        yield [say("remark"), said(stated.validation)]


def _titles(rules: Rules, known: Mapping[str, InputStatement]) -> dict[str, str]:
    """Return each feature's label, or its name where another goes by the same label."""
    count = Counter([entry.label for entry in known.values()] + [*rules.feature])
    return {
        name: plain(entry.label if entry.label and count[entry.label] == 1 else name)
        for name, entry in known.items()
    }
