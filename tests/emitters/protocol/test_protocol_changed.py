"""What the sheet says of the rules that it takes the place of."""

from dataclasses import replace

import pytest
from mixed_rules import mixed_rules
from sheets import sheet_text

from mbndt.measures.changes import Changes
from mbndt.rules import Interval


def moved(by):
    """Return rules whose first threshold is moved."""
    rules = mixed_rules()
    first, *rest = rules.root.intervals
    cuts = (Interval(first.below + by, first.to), *rest)
    return replace(rules, root=replace(rules.root, intervals=cuts))


def rows(text):
    part = text.split("## What changed")[1].split("\n## ")[0]
    return [line.split(" | ") for line in part.splitlines() if line.startswith("| ")][1:]


@pytest.fixture
def old(tmp_path):
    path = tmp_path / "old.json"
    path.write_text(mixed_rules().to_json())
    return path


def test_a_sheet_says_where_the_rules_before_gave_other_answers(old):
    new = moved(0.5)
    text = sheet_text(new, previous=str(old))
    assert mixed_rules().fingerprint[:12] in text
    found = rows(text)
    assert found
    assert all("Serum lactate: 2 to below 2.5" in where for where, _, _ in found)
    assert all(before != now.removesuffix(" |") for _, before, now in found)
    assert len(found) == min(8, len(Changes.between(mixed_rules(), new).answers))


def test_it_says_so_where_every_case_gets_the_same_answer(old):
    text = sheet_text(mixed_rules(), previous=str(old))
    mark = mixed_rules().fingerprint[:12]
    assert f"Every case gets the answer that the rules {mark} gave." in text


def test_it_says_nothing_where_nothing_was_given():
    assert "What changed" not in sheet_text(mixed_rules())
