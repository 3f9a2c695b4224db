"""Which sheet it is: its stamp, its fingerprint, and whether it is that of a model."""

import subprocess
import sys
from dataclasses import replace

import pytest
from mixed_rules import STATED, mixed_rules
from sheets import sheet_text
from unseen import performance_of, with_evidence

from mbndt.emitters import emit
from mbndt.emitters.protocol import identity
from mbndt.emitters.protocol.check import differences
from mbndt.emitters.protocol.identity import Identity
from mbndt.emitters.protocol.statements import Statements
from mbndt.errors import OptionError

DRAFT = "DRAFT - NOT VALIDATED"


def block(of, kind="external", **more):
    found = {
        "rules": of.fingerprint,
        "kind": kind,
        "on": "Leeds",
        "date": "2026-10-01",
        "data": {"rows": 400, "sha256": "0" * 64},
        "performance": performance_of([[20, 5, 0, 0]] + [[2, 5, 0, 0]] * 3),
    }
    return found | more


def validated(rules, *blocks):
    return replace(rules, provenance={**rules.provenance, "validation": [*blocks]})


# The stamp


@pytest.mark.parametrize("said", ["pending", "0", "internal only", "400 rows of 2025, Leeds"])
@pytest.mark.parametrize("kind", ["md", "html", "txt"])
def test_no_text_lifts_the_stamp_and_the_remark_is_printed_as_one(kind, said):
    text = " ".join(sheet_text(mixed_rules(), kind, sheet={"validation": said}).split())
    assert DRAFT in text
    assert "It has not been validated." in text
    assert "Remark of its makers on validation, unchecked" in text
    assert said in text


@pytest.mark.parametrize("kind", ["md", "html", "txt"])
def test_a_validation_of_these_very_rules_lifts_the_stamp(kind):
    rules = with_evidence(mixed_rules())
    for found, stamp in (
        (validated(rules, block(rules)), "VALIDATED on Leeds"),
        (validated(rules, block(rules, "internal")), "VALIDATED INTERNALLY"),
        (validated(rules, block(rules), block(rules, "internal")), "VALIDATED on Leeds"),
    ):
        text = sheet_text(found, kind)
        assert stamp in text
        assert "DRAFT" not in text
        assert "It has not been validated" not in text
        assert "46 cases" in text


@pytest.mark.parametrize(
    "change",
    [
        {"rules": "0" * 64},
        {"kind": "text"},
        {"on": " "},
        {"on": 5},
        {"performance": "good"},
        {"performance": performance_of([[2, 0, 0, 0], [1, 0, 0, 0]])},
    ],
    ids=str,
)
def test_an_unsound_block_or_one_of_other_rules_lifts_nothing(change):
    rules = mixed_rules()
    assert DRAFT not in sheet_text(validated(rules, block(rules)))
    assert DRAFT in sheet_text(validated(rules, block(rules, **change)))


def test_rules_that_change_lose_their_validation():
    done = validated(mixed_rules(), block(mixed_rules()))
    assert DRAFT in sheet_text(replace(done, name="another"))


@pytest.mark.parametrize("change", [{"date": 5}, {"data": None}, {"on": None, "kind": "internal"}])
def test_a_block_that_leaves_things_open_says_so(change):
    rules = mixed_rules()
    found = block(rules, **change)
    assert "46 cases" in sheet_text(validated(rules, found))


# Dates


@pytest.mark.parametrize(
    ("review", "today", "overdue"),
    [
        ("2026-11-29", "2026-11-30", True),
        ("2026-11-30", "2026-11-30", False),
        ("2025-01-01", None, True),  # before the sheet's own date
        ("2027-01-01", None, False),
        ("some day", "2026-11-30", False),
    ],
)
def test_a_review_date_in_the_past_shows_by_the_date_given_and_no_clock(review, today, overdue):
    stated = {"date": "2026-01-01", "review_date": review}
    text = sheet_text(mixed_rules(), sheet=stated, date=today)
    assert (f"{review} - OVERDUE" in text) is overdue


def test_a_date_that_is_none_is_refused():
    with pytest.raises(OptionError, match=r"date: got 'soon', expected a day such as 2026-"):
        emit(mixed_rules(), "protocol", date="soon")


# The fingerprint


def of(sheet, rules=None):
    rules = rules or mixed_rules()
    return Identity.of(rules, Statements.of({"least_rows": 0, **sheet}, rules))


def test_swapped_actions_another_word_or_other_rules_make_another_fingerprint():
    swapped = {"home": {"action": "Call the outreach team now"}}
    sheets = [
        {},
        STATED,
        STATED | {"title": "another"},
        STATED | {"outcomes": {**STATED["outcomes"], **swapped}},
    ]
    assert len({of(sheet).mark for sheet in sheets}) == len(sheets)
    other = replace(mixed_rules(), name="another")
    assert of({}, other).mark != of({}).mark
    assert of({}, other).statements == of({}).statements


def test_another_factor_of_a_unit_makes_another_fingerprint():
    units = [[], [{"unit": "mg/dL", "factor": 0.111}], [{"unit": "mg/dL", "factor": 0.112}]]
    sheets = [{"features": {"lactate": {"other_units": other}}} for other in units]
    assert len({of(sheet).mark for sheet in sheets}) == len(sheets)


def test_what_is_left_empty_changes_no_fingerprint():
    assert of({"title": "", "exclusions": [], "features": {"age": {"unit": "years"}}}) == of({})


@pytest.mark.parametrize("kind", ["html", "md", "txt"])
def test_every_format_prints_and_carries_the_fingerprint(kind):
    text = sheet_text(mixed_rules(), kind, sheet=STATED)
    assert of(STATED).mark in text
    assert Identity.read(text.encode(), "x") == of(STATED)


def test_the_code_is_read_back_as_the_fingerprint():
    pytest.importorskip("segno", reason="no QR code: pip install 'mbndt[pdf]'")
    found = identity.code(of(STATED))
    assert found is not None
    assert found.text == f"MBNDT:{of(STATED).sheet.upper()}"
    assert f'<svg class="code" viewBox="0 0 {found.size} ' in sheet_text(
        mixed_rules(), "html", sheet=STATED
    )
    cv2 = pytest.importorskip("cv2", reason="no reader of QR codes")
    import numpy as np

    picture = np.full((found.size, found.size), 255, np.uint8)
    for bar in found.path.split("z")[:-1]:
        x, y, wide = map(int, bar[1:].split("v")[0].replace("h", " ").split())
        picture[y, x : x + wide] = 0
    read, *_ = cv2.QRCodeDetector().detectAndDecode(np.kron(picture, np.ones((8, 8), np.uint8)))
    assert read == found.text


def test_without_segno_there_is_no_code_and_a_note_says_what_to_install(monkeypatch):
    monkeypatch.setattr(identity, "code_brought", lambda: False)
    monkeypatch.setattr("mbndt.emitters.protocol.emit.code_brought", lambda: False)
    made = emit(mixed_rules(), "protocol", format="html")
    assert '<svg class="code"' not in made.text
    assert any("no QR code" in note and "mbndt[pdf]" in note for note in made.notes)


# Whether it is that of a model


@pytest.fixture
def files(tmp_path):
    rules = mixed_rules()
    (tmp_path / "rules.json").write_text(rules.to_json())
    (tmp_path / "same.json").write_text('{"title": "a", "outcomes": {"home": {"action": "b"}}}')
    (tmp_path / "other.json").write_text('{"title": "a", "outcomes": {"ward": {"action": "b"}}}')
    for kind in ("html", "md", "txt"):
        made = emit(rules, "protocol", format=kind, sheet=tmp_path / "same.json")
        (tmp_path / f"s.{kind}").write_text(made.text)
    return tmp_path


@pytest.mark.parametrize("kind", ["html", "md", "txt"])
def test_a_sheet_is_that_of_its_rules_and_statements_and_of_no_others(files, kind):
    rules, sheet = mixed_rules(), files / f"s.{kind}"
    assert differences(sheet, rules, files / "same.json") == []
    for other, statements, part in (
        (rules, files / "other.json", "statements"),
        (rules, None, "statements"),
        (replace(rules, name="another"), files / "same.json", "rules"),
    ):
        (line,) = differences(sheet, other, statements)
        assert line.startswith(f"{part}: the sheet has ")


@pytest.mark.parametrize(
    ("kind", "before", "after", "said"),
    [
        ("md", "| 9 to below 21 |", "| 9 to below 20 |", "steps: "),
        ("html", ">9 to below 21<", ">8 to below 21<", "steps: "),
        ("md", "| “home” | b |", "| “home” | c |", "actions: changed by hand"),
        ("html", ">b<", ">c<", "actions: changed by hand"),
        ("md", "### Step 3", "### Stop 3", "steps: "),
    ],
)
def test_a_sheet_that_was_changed_by_hand_is_found_out(files, kind, before, after, said):
    path = files / f"s.{kind}"
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after, 1))
    (line,) = differences(path, mixed_rules(), files / "same.json")
    assert line.startswith(said)


def test_what_is_no_sheet_is_refused(files):
    (files / "x.html").write_text("<p>hello</p>")
    with pytest.raises(OptionError, match=r"sheet: .*x.html: no fingerprint of a decision sheet"):
        differences(files / "x.html", mixed_rules(), None)
    with pytest.raises(OptionError, match=r"sheet: .*none\.html: No such file"):
        differences(files / "none.html", mixed_rules(), None)


def test_the_command_line_tells_by_its_exit(files):
    command = [sys.executable, "-m", "mbndt", "show", files / "s.html", "--check"]
    command.append(files / "rules.json")
    done = [
        subprocess.run([*command, files / name], capture_output=True, text=True)
        for name in ("same.json", "other.json")
    ]
    assert [run.returncode for run in done] == [0, 1]
    assert "the sheet of these rules and statements" in done[0].stdout
    assert done[1].stdout.startswith("statements: the sheet has ")
