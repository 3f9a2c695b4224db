"""The commands that learn: train, tune and refine, on tables good and bad."""

import json
import re

import pytest
from command_line import caller, failed, write_csv
from conftest import EXAMPLE

from mbndt import load
from mbndt.rules.monotone import zigzags

TRAIN = ["train", "DATA", "--target", "y", "-o", "OUT"]


BAD_TABLES = {
    "constant target": ("x,y\n1,a\n2,a\n", "'y' is constant"),
    "one row": ("x,y\n1,a\n", "expected at least 2"),
    "no rows": ("x,y\n", "expected at least 2"),
    "empty file": ("", "empty"),
    "a column twice": ("x,x,y\n1,2,a\n", "duplicate column 'x'"),
    "ragged row": ("x,y\n1,a\n2\n", "row 2 has 1 cells"),
    "missing target": ("x,y\n1,a\n2,\n3,b\n", "row 2"),
    "target column gone": ("x,z\n1,a\n", "no column 'y'"),
    "stray text": ("x,y\n" + "1,a\n2,b\n" * 9 + "high,a\n", "row 19: got 'high'"),
    "constant number": ("x,y\n1,0.5\n2,0.5\n", "'y' is constant"),
    "nameless column": (",y\n1.5,a\n2,b\n", "no name"),
    "not text": (b"x,y\n1,\xff\n", "UTF-8"),
    "a target too large": ("x,y\n1,0.5\n2,1e200\n", "row 2"),
}


@pytest.fixture
def run(monkeypatch, capsysbinary):
    return caller(monkeypatch, capsysbinary)


@pytest.mark.parametrize("content, message", BAD_TABLES.values(), ids=BAD_TABLES)
def test_a_table_that_train_cant_use(run, tmp_path, content, message):
    data, out = tmp_path / "data.csv", tmp_path / "model.pt"
    data.write_bytes(content if isinstance(content, bytes) else content.encode())
    words = [{"DATA": data, "OUT": out}.get(word, word) for word in TRAIN]
    failed(run(*words), message)
    assert [entry.name for entry in tmp_path.iterdir()] == ["data.csv"]


def test_missing_targets_are_dropped_on_request_and_told(run, tmp_path):
    data = tmp_path / "data.csv"
    data.write_text("x,t\n1,1\n2,nan\n3,0\n4,\n5,0\n")
    words = ["train", data, "--target", "t", "--refits", 0, "--preset", "fast", "-o"]
    failed(run(*words, tmp_path / "m.pt"), "column 't' is missing in row 2, 4")
    code, _, err = run(*words, tmp_path / "m.pt", "--drop-missing-target")
    assert (code, err) == (0, "mbndt: note: 2 rows without a value of 't' were left out\n")


def test_quiet_keeps_notes_to_itself_and_an_error_stays_one_line(run, tmp_path):
    words = ["compile", EXAMPLE, "--target", "c", "--number", "int32"]
    _, _, err = run(*words, "-o", tmp_path / "r.h")
    assert err.startswith("mbndt: note: ")
    assert run(*words, "-o", tmp_path / "r.h", "--quiet") == (0, "", "")
    failed(run(*words, "-o", tmp_path / "none" / "r.h"), "none/r.h")


def test_a_schema_that_is_wrong_is_told_before_the_training(run, tmp_path):
    data = write_csv(tmp_path / "data.csv")
    schema = tmp_path / "schema.json"
    for text, message in (
        ('{"features": [{"name": "x", "type": "flot64"}]}', "did you mean 'float64'"),
        ('{"features": [{"name": "colour", "categories": ["", "a"]}]}', "schema: feature 'colour'"),
        ('{"features": ' + "[" * 100_000, "schema.json"),
        ('{"target": {"name": "z"}}', "target.name"),
    ):
        schema.write_text(text)
        words = ["train", data, "--target", "y", "--schema", schema, "-o", tmp_path / "m.pt"]
        failed(run(*words), message)


def test_tune_finds_settings_and_writes_a_model(run, tmp_path):
    data, out = tmp_path / "data.csv", tmp_path / "model.pt"
    write_csv(data, 120)
    words = ["tune", data, "--target", "y", "--minutes", 1, "--trials", 2, "--folds", 2]
    words += ["--preset", "fast", "--report", tmp_path / "r.json", "-o", out]
    code, stdout, err = run(*words)
    assert code == 0, err
    assert "the best of 2 trials" in err
    assert "held out 24 rows" in stdout
    assert load(out).target.name == "y"
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["evidence"]["rows"] == 24
    assert report["rules"]["sha256"] == load(out).fingerprint


@pytest.mark.parametrize("suffix", [".json", ".pt"])
def test_refine_makes_rules_better_for_their_size(run, tmp_path, suffix):
    data, model, out = tmp_path / "data.csv", tmp_path / "m.pt", tmp_path / f"r{suffix}"
    write_csv(data, 200)
    assert (
        run("train", data, "--target", "y", "-o", model, "--preset", "paper", "--depth", 2)[0] == 0
    )
    code, _, err = run("refine", model, data, "--target", "y", "-o", out)
    assert code == 0, err
    before, after = load(model), load(out)
    assert f"{len(before.leaves)} leaves to {len(after.leaves)}" in err
    start, end = re.search(r"objective ([0-9.]+) refined to ([0-9.]+)", err).groups()
    assert float(end) <= float(start)
    assert after.provenance["refined from"] == before.fingerprint


def test_a_number_is_learned_as_a_regression(run, tmp_path):
    data, out = tmp_path / "data.csv", tmp_path / "model.pt"
    data.write_text("x,y\n" + "".join(f"{i},{i % 50 + 0.5}\n" for i in range(150)))
    code, stdout, err = run("train", data, "--target", "y", "-o", out, "--preset", "fast")
    assert code == 0, err
    assert "R squared" in stdout
    assert load(out).task == "regression"
    code, stdout, _ = run("predict", out, data)
    assert stdout.startswith("prediction,leaf\n")


def test_weights_are_a_column_that_is_not_learned_from(run, tmp_path):
    data, out = tmp_path / "data.csv", tmp_path / "model.pt"
    data.write_text("x,w,y\n" + "".join(f"{i},{i % 3},{'ab'[i % 2]}\n" for i in range(90)))
    words = ["train", data, "--target", "y", "-o", out, "--preset", "fast", "--weights", "w"]
    assert run(*words, "--refits", 0)[0] == 0
    rules = load(out)
    assert [feature.name for feature in rules.features] == ["x"]
    assert sum(leaf.size for leaf in rules.leaves) == 60  # those of weight zero say nothing
    failed(run(*words[:-1], "v"), "--weights", "no column 'v'")
    failed(run(*words[:-1], "y"), "--weights", "is the target")


def test_outputs_never_overwrite_each_other_or_the_data(run, tmp_path):
    data, out = write_csv(tmp_path / "data.csv"), tmp_path / "model.pt"
    before = data.read_bytes()
    words = ["train", data, "--target", "y", "--preset", "fast"]
    failed(run(*words, "-o", out, "--report", out), "would be overwritten")
    failed(run(*words, "-o", data), "would be overwritten")
    assert data.read_bytes() == before
    assert not out.exists()


def test_a_price_without_refining_is_refused(run, tmp_path):
    data = write_csv(tmp_path / "data.csv")
    words = ["train", data, "--target", "y", "-o", tmp_path / "m.pt"]
    failed(run(*words, "--no-refine", "--compact"), "--compact")
    failed(run(*words, "--preset", "paper", "--penalty", 3), "--penalty")


def test_what_answers_are_for_is_read_from_options_and_files(run, tmp_path):
    data, out, costs = tmp_path / "data.csv", tmp_path / "m.json", tmp_path / "costs.csv"
    write_csv(data, 200)
    words = ["train", data, "--target", "y", "--preset", "fast", "--restarts", 0, "--refits", 0]
    words += ["-o", tmp_path / "m.pt"]
    assert run(*words, "--event", "yes", "--act-at", 0.05, "--prevalence", 0.02)[0] == 0
    rules = load(tmp_path / "m.pt")
    assert rules.target.event == "yes"
    assert rules.provenance["operating point"] == {"act_at": 0.05}
    assert rules.provenance["prevalence"] == 0.02
    costs.write_text("truth,no,yes\nno,,3\nyes,8,\n")
    assert run(*words, "--cost", costs)[0] == 0
    by_file = load(tmp_path / "m.pt")
    assert by_file.provenance["operating point"] == {
        "cost": {"no": {"yes": 3.0}, "yes": {"no": 8.0}}
    }
    assert run(*words, "--cost", "no>yes=3,yes>no=8", "--prevalence", "no=0.6,yes=0.4")[0] == 0
    rules = load(tmp_path / "m.pt")
    assert rules.provenance["prevalence"] == {"no": 0.6, "yes": 0.4}
    failed(run(*words, "--cost", "missd=3"), "--cost: unknown 'missd'", "'missed'")
    failed(run(*words, "--cost", out), "expected missed=10,false=1, or the name of a CSV file")
    failed(run(*words, "--act-at", 0.2, "--cost", "missed=3"), "--act-at, --cost: expected one")
    failed(run(*words, "--event", "maybe"), "--event: no class 'maybe'")
    failed(run(*words, "--prevalence", "x"), "--prevalence: got 'x', expected a number")
    failed(run(*words, "--holdout", 0.2, "--refits", 3), "--refits, --holdout: expected one")


def test_an_order_is_asked_for_kept_and_shown(run, tmp_path):
    data = write_csv(tmp_path / "data.csv", 300)
    words = ["--target", "y", "--preset", "fast", "--refits", 0, "-o", out := tmp_path / "m.pt"]
    code, said, _ = run("train", data, *words, "--monotone", "x=+,n=+", "--report", tmp_path / "r")
    assert code == 0
    assert "\nmonotone: x +, n + (for yes)\n" in said
    assert json.loads((tmp_path / "r").read_text())["monotone"] == {"x": "+", "n": "+"}
    assert "\nmonotone: x +, n + (for yes)\n" in run("show", out)[1]
    assert not any(zigzags(load(out), name) for name in "xn")
    for text, message in (
        ("x", "got 'x', expected NAME=+ or NAME=-"),
        ("x=+,x=-", "x: got + and -, expected one of them"),
        ("x=1", "x: got '1', expected + or -"),
        ("flag=+", "'flag' is of type boolean, expected a numeric feature"),
        ("xx=+", "no feature 'xx'; did you mean 'x'"),
    ):
        failed(run("train", data, *words, "--monotone", text), "monotone: " + message)


def test_rules_that_turn_are_told_of(run, tmp_path):
    path, parts = tmp_path / "rules.json", [{"below": 1, "to": 0}, {"below": 2, "to": 1}, {"to": 0}]
    ends = [{"leaf": 0, "value": 3.5}, {"leaf": 1, "value": 4.5}]
    document = {
        "format": "mbndt-rules",
        "version": 1,
        "name": "dose",
        "task": "regression",
        "target": {"name": "dose", "type": "float64"},
        "features": [{"name": "age", "type": "integer"}],
        "root": {"feature": "age", "intervals": parts, "missing": 0, "children": ends},
    }
    path.write_text(json.dumps(document))
    assert run("show", path)[1].splitlines()[2] == "not monotone: age"
    parts[2]["to"] = 1
    path.write_text(json.dumps(document))
    assert "monotone" not in run("show", path)[1]
