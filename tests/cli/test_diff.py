"""`mbndt diff`: what it prints of two rules, and how it exits."""

import json
from dataclasses import replace

import pytest
from command_line import caller, failed
from mixed_rules import STATED, mixed_rules

from mbndt.rules import Interval

HEADS = ["rows", "old", "new", "where"]


@pytest.fixture
def run(monkeypatch, capsysbinary):
    return caller(monkeypatch, capsysbinary)


@pytest.fixture
def files(tmp_path):
    """Return rules, the same with the first threshold moved, and a table of three rows."""
    rules = mixed_rules()
    first, second, *rest = rules.root.intervals
    moved = (Interval(first.below + 0.5, first.to), second, *rest)
    for name, intervals in (("old", rules.root.intervals), ("new", moved)):
        other = replace(rules, root=replace(rules.root, intervals=intervals))
        (tmp_path / f"{name}.json").write_text(other.to_json())
    return tmp_path / "old.json", tmp_path / "new.json"


def test_the_same_rules_differ_in_nothing(run, files):
    old, _ = files
    assert run("diff", old, old) == (0, "Every input gets the same answer.\n", "")


def test_a_moved_threshold_prints_where_the_answer_changes_and_exits_with_one(run, files):
    old, new = files
    code, out, err = run("diff", old, new)
    assert (code, err) == (1, "")
    assert out.startswith("The answer changes\n")
    assert "'lactate' 2.0 to below 2.5" in out
    code, out, _ = run("diff", old, new, "--json")
    found = json.loads(out)
    assert code == 1
    assert {entry["where"]["lactate"] for entry in found["answers"]} == {"2.0 to below 2.5"}
    assert all(entry["rows"] is None for entry in found["answers"])
    assert run("diff", old, new, "--quiet") == (1, "", "")


def test_rows_of_a_table_are_counted(run, files, tmp_path):
    old, new = files
    rules = mixed_rules()
    names = [feature.name for feature in rules.features]
    row = {"age": 40, "lactate": 2.2, "avpu": "alert", "sbp": 120, "rr": 15, "temp": 37.0}
    data = tmp_path / "rows.csv"
    lines = [{**row, "lactate": lactate} for lactate in (1.0, 2.2, 2.4, 2.5)]
    text = [",".join(str(line.get(name, "")) for name in names) for line in lines]
    data.write_text("\n".join([",".join(names), *text]) + "\n")
    _, out, _ = run("diff", old, new, "--data", data)
    title, heads, first, *_ = out.splitlines()
    assert title == "The answer changes: 2 of 4 rows"
    assert heads.split() == HEADS
    assert first.split()[0] == "2"


def test_changed_words_units_and_actions_are_told_of(run, files, tmp_path):
    old, _ = files
    other = {**STATED, "title": "Another", "outcomes": {"home": {"action": "Call somebody"}}}
    for name, stated in (("a", STATED), ("b", other)):
        (tmp_path / f"{name}.json").write_text(json.dumps(stated))
    code, out, _ = run("diff", old, old, "--sheets", tmp_path / "a.json", tmp_path / "b.json")
    assert code == 1
    assert out.splitlines()[1:] == [
        "title: 'Where to send an adult with suspected infection' becomes 'Another'",
        "outcomes: home: action: 'Discharge with advice' becomes 'Call somebody'",
        "outcomes: intensive care: action: 'Call the outreach team now' becomes nothing",
        "outcomes: intensive care: pattern: 'dark' becomes nothing",
    ]


def test_what_is_no_model_is_refused(run, files, tmp_path):
    failed(run("diff", files[0], tmp_path / "none.pt"), "none.pt")
