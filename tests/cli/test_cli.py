"""The command line as users meet it: files in, artefacts out, every mistake one line and exit 2."""

import csv
import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import EXAMPLE
from drawn_tables import mixed_table

from mbndt import __version__, load
from mbndt.cli import main as cli
from mbndt.cli.report import predictions_csv
from mbndt.interpreter import leaf_ids

ROWS = "respiratory rate,lactate,on oxygen,AVPU\n8,1.5,true,alert\n9.0,,,\n,2.15,0,pain\n"


@pytest.fixture
def run(monkeypatch, capsysbinary):
    """Run the command line in process; return exit code, stdout and stderr."""

    def call(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["mbndt", *map(str, words)])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        out, err = capsysbinary.readouterr()
        return stop.value.code, out.decode(), err.decode()

    return call


def write_csv(path: Path, rows: int = 120, seed: int = 0) -> Path:
    table = mixed_table(rows, seed)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(table.columns)
        writer.writerows(zip(*(list(c) for c in table.columns.values()), strict=True))
    return path


@pytest.fixture
def rows_csv(tmp_path):
    (tmp_path / "rows.csv").write_text(ROWS)
    return tmp_path / "rows.csv"


def failed(outcome: tuple[int, str, str], *words: str) -> None:
    code, out, err = outcome
    assert code == 2
    assert out == ""
    assert err.startswith("mbndt: error: ")
    assert err.count("\n") == 1
    assert len(err) <= 2001
    for word in words:
        assert word in err


def test_train_compile_predict_verify_show_hang_together(run, tmp_path):
    data = write_csv(tmp_path / "data.csv", rows=200)
    model = tmp_path / "model.pt"
    code, out, err = run("train", data, "--target", "y", "-o", model, "--preset", "fast")
    assert (code, err) == (0, "")
    assert "held out 40 rows: balanced accuracy" in out
    code, out, _ = run("predict", model, data)
    assert code == 0
    assert out == predictions_csv(load(model), load(model).predict(mixed_table(200)))
    module = tmp_path / "module.py"
    assert run("compile", model, "--target", "python", "-o", module) == (0, "", "")
    text = data.read_bytes()
    alone = subprocess.run([sys.executable, "-I", module], input=text, capture_output=True)
    assert alone.stdout.decode() == out
    report = tmp_path / "report.json"
    code, out, err = run(
        "verify", model, "--data", data, "--target", "python", "--rows", 300, "--json", report
    )
    assert code == 0
    (check,) = json.loads(report.read_text())["checks"]
    assert check["mismatches"] == 0
    assert check["rows"] >= 500
    code, out, _ = run("show", model)
    assert code == 0
    assert "leaf 0" in out


def test_the_python_module_answers_a_csv_as_predict_does(run, tmp_path, rows_csv):
    out_path = tmp_path / "p.csv"
    assert run("predict", EXAMPLE, rows_csv, "-o", out_path) == (0, "", "")
    assert out_path.read_text() == (
        "prediction,leaf,probability_0,probability_1,probability_2\n"
        "intensive care,4,0.0,0.375,0.625\nhome,0,0.75,0.25,0.0\nward,2,0.0,0.5,0.5\n"
    )


def test_no_rows_in_header_only_out(run, tmp_path):
    (tmp_path / "none.csv").write_text(ROWS.splitlines()[0] + "\n")
    code, out, _ = run("predict", EXAMPLE, tmp_path / "none.csv")
    assert (code, out) == (0, "prediction,leaf,probability_0,probability_1,probability_2\n")


def test_text_goes_to_stdout_and_binary_to_a_file_named_by_the_rules(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = run("compile", EXAMPLE, "--target", "python")
    assert (code, err) == (0, "")
    assert "def predict(row):" in out
    code, out, err = run("compile", EXAMPLE, "--target", "onnx")
    assert (code, out, err) == (0, "", "early_warning.onnx\n")
    assert (tmp_path / "early_warning.onnx").stat().st_size > 100


def test_a_mismatch_gives_exit_1_and_the_first_row(run, monkeypatch):
    from mbndt.emitters.python.emit import Python

    emit = Python.emit

    def wrong(self, rules):
        artifact = emit(self, rules)
        assert "lactate >= 2.15" in artifact.text
        return replace(artifact, content=artifact.text.replace("e >= 2.15", "e > 2.15"))

    monkeypatch.setattr(Python, "emit", wrong)
    code, out, _ = run("verify", EXAMPLE, "--target", "python", "--rows", 100)
    assert code == 1
    assert "'lactate': 2.15" in out
    assert "expected: leaf 2" in out
    assert "got: leaf 1" in out


COMMANDS = (
    "train",
    "tune",
    "refine",
    "compile",
    "predict",
    "verify",
    "show",
    "round",
    "schema",
    "sheet-template",
)


def test_version_and_help_exit_0(run):
    assert run("--version") == (0, f"mbndt {__version__}\n", "")
    code, out, _ = run("--help")
    assert code == 0
    assert all(command in out for command in COMMANDS)


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


@pytest.mark.parametrize("content, message", BAD_TABLES.values(), ids=BAD_TABLES)
def test_a_table_that_train_cant_use(run, tmp_path, content, message):
    data, out = tmp_path / "data.csv", tmp_path / "model.pt"
    data.write_bytes(content if isinstance(content, bytes) else content.encode())
    words = [{"DATA": data, "OUT": out}.get(word, word) for word in TRAIN]
    failed(run(*words), message)
    assert [entry.name for entry in tmp_path.iterdir()] == ["data.csv"]


@pytest.mark.parametrize(
    "words, message",
    [
        (["train", "none.csv", "--target", "y"], "none.csv: No such file"),
        (["train", "DATA", "--target", "Y"], "did you mean 'y'"),
        (["train", "DATA", "--target", "y", "-o", "none/m.pt"], "none/m.pt: can't be written"),
        (["train", "DATA", "--target", "y", "-o", "."], "is a folder"),
        (["train", "DATA", "--target", "y", "--depth", "9"], "--depth"),
        (["train", "DATA", "--target", "y", "--depth", "x"], "depth"),
        (["train", "DATA", "--target", "y", "--preset", "slow"], "--preset"),
        (["train", "DATA", "--target", "y", "--exclude", "q"], "no column 'q'"),
        (["train", "DATA", "--target", "y", "--exclude", "y"], "is the target"),
        (["train", "DATA", "--target", "y", "--schema", "none.json"], "none.json"),
        (["train", "DATA", "--target", "y", "--holdout", "1"], "--holdout"),
        (["train", "DATA", "--target", "y", "--query", "SELECT 1"], "--query"),
        (["train", "DATA"], "--target"),
        (["compile", "MODEL"], "--target"),
        (["compile", "MODEL", "--target", "sqll"], "did you mean 'sql'"),
        (["compile", "MODEL", "--target", "python", "--dialect", "duckdb"], "--dialect"),
        (["compile", "MODEL", "--target", "sql", "--dialect", "duckdbb"], "duckdb"),
        (["compile", "MODEL", "--target", "sql", "--as", "macro"], "--as"),
        (["compile", "MODEL", "--target", "python", "-o", "none/m.py"], "none/m.py"),
        (["compile", "none.pt", "--target", "python"], "none.pt"),
        (["compile", "DATA", "--target", "python"], "data.csv"),
        (["compile", "MODEL", "--target", "python", "--colour"], "--colour"),
        (["predict", "MODEL", "none.csv"], "none.csv"),
        (["predict", "MODEL", "DATA"], "no column 'respiratory rate'"),
        (["predict", "MODEL", "BAD"], "column 'lactate', row 1: got 'high', expected a number"),
        (["predict", "MODEL", "ROWS", "-o", "none/p.csv"], "none/p.csv"),
        (["verify", "MODEL", "--target", "ruby"], "--target"),
        (["verify", "MODEL", "--rows", "0"], "--rows"),
        (["verify", "MODEL", "--data", "BAD", "--target", "python"], "row 1"),
        (["verify", "MODEL", "--json", "none/r.json"], "none/r.json"),
        (["show", "none.pt"], "none.pt"),
        (["show"], "model"),
        (["show", "MODEL", "--data", "ROWS"], "--data: only with --metrics"),
        (["round", "MODEL"], "no decimals are stated"),
        (["round", "MODEL", "--decimals", "0"], "--data"),
        (["round", "MODEL", "--decimals", "x"], "--decimals: got 'x'"),
        (["round", "MODEL", "--decimals", "lactat=1"], "did you mean 'lactate'"),
        (["round", "MODEL", "--decimals", "AVPU=1"], "'AVPU' is not a numeric feature"),
        (["round", "MODEL", "--decimals", "lactate=16"], "at most 15"),
        (["round", "MODEL", "--decimals", "lactate=1", "--data", "BAD"], "row 1: got 'high'"),
        (["round", "MODEL", "--sheet", "none.toml"], "--sheet: none.toml"),
        (["round", "none.pt", "--decimals", "1"], "none.pt"),
        (["sheet-template", "none.pt"], "none.pt"),
        (["sheet-template", "MODEL", "-o", "none/s.toml"], "none/s.toml"),
        (["compile", "MODEL", "--target", "protocol", "--sheet", "none.toml"], "none.toml"),
        (["compile", "MODEL", "--target", "protocol", "--paper", "a5"], "--paper: got 'a5'"),
        (["compile", "MODEL", "--target", "c", "--sheet", "s.toml"], "--sheet"),
        (["learn"], "learn"),
    ],
)
def test_a_wrong_call_is_one_line_and_exit_2(run, tmp_path, rows_csv, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    data = write_csv(tmp_path / "data.csv")
    (tmp_path / "bad.csv").write_text(ROWS.replace("1.5", "high"))
    named = {"DATA": data, "MODEL": EXAMPLE, "ROWS": rows_csv, "BAD": tmp_path / "bad.csv"}
    before = sorted(tmp_path.iterdir())
    failed(run(*(named.get(word, word) for word in words)), message)
    assert sorted(tmp_path.iterdir()) == before


def test_progress_and_notes_stay_off_a_pipe(tmp_path):
    data = write_csv(tmp_path / "data.csv")
    words = ["train", data, "--target", "y", "-o", tmp_path / "m.pt", "--preset", "fast", "--quiet"]
    done = subprocess.run([sys.executable, "-m", "mbndt.cli.main", *words], capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


HEAVY = ("torch", "pandas", "sklearn", "onnx", "numpy", "sqlglot", "duckdb", "onnxruntime")
NEEDED = {"python": (), "c": (), "protocol": (), "sql": ("sqlglot",), "onnx": ("onnx", "numpy")}


@pytest.mark.parametrize("target, needed", NEEDED.items())
def test_compile_loads_no_more_than_its_target_needs(target, needed, tmp_path):
    words = ["mbndt", "compile", str(EXAMPLE), "--target", target, "-o", str(tmp_path / "a")]
    code = f"""
import sys
sys.argv = {words!r}
from mbndt.cli import main as cli
try:
    cli.main()
finally:
    print(*[name for name in {HEAVY!r} if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) <= set(needed)


@pytest.mark.parametrize("command", [["show", EXAMPLE], ["predict", EXAMPLE, "ROWS"]])
def test_show_and_predict_load_no_learner(command, rows_csv):
    words = ["mbndt", *(str(rows_csv if word == "ROWS" else word) for word in command)]
    code = f"""
import sys
sys.argv = {words!r}
from mbndt.cli import main as cli
try:
    cli.main()
finally:
    assert not {{"torch", "pandas", "sklearn", "onnx"}} & set(sys.modules), sorted(sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def shell(command: str, **words: object) -> subprocess.CompletedProcess:
    """Run a bash command, `mbndt` standing for this command line."""
    text = command.format(mbndt=f"{sys.executable} -m mbndt.cli.main", **words)
    return subprocess.run(["bash", "-c", text], capture_output=True, text=True)


@pytest.mark.parametrize("words", ["show {m}", "verify {m} --target python --rows 9"])
def test_a_reader_that_goes_away_is_no_mismatch(words):
    command = "set -o pipefail; {mbndt} " + words + " | true"
    done = shell(command, m=EXAMPLE)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("words", ["show {m}", "compile {m} --target python", "--version"])
def test_a_full_stdout_is_one_line_and_exit_2(words):
    done = shell("{mbndt} " + words + " > /dev/full", m=EXAMPLE)
    assert done.returncode == 2
    assert done.stderr == "mbndt: error: stdout: can't be written: No space left on device\n"


def test_a_closed_stdout_and_an_ascii_one_are_borne(tmp_path, example):
    assert shell("{mbndt} show {m} >&-", m=EXAMPLE).returncode == 0
    odd = replace(example, name="é \x1b[2J\nx")
    (tmp_path / "odd.json").write_text(odd.to_json(), "utf-8")
    done = shell("PYTHONIOENCODING=ascii {mbndt} show {m}", m=tmp_path / "odd.json")
    assert done.returncode == 0
    assert done.stdout.startswith("é \\x1b[2J\\nx: classification of outcome\n")


def test_a_compiler_that_fails_is_told_and_exit_1(run, monkeypatch):
    monkeypatch.setenv("CC", "false")
    code, out, _ = run("verify", EXAMPLE, "--target", "c", "--target", "python", "--rows", 5)
    assert code == 1
    assert "c: failed: EngineFailed: false refuses the header" in out
    assert "CPython" in out


def test_nothing_run_is_no_success(run, monkeypatch):
    monkeypatch.setenv("CC", "/nonexistent")
    code, out, _ = run("verify", EXAMPLE, "--target", "c", "--rows", 5)
    assert code == 1
    assert "not run" in out


def test_missing_targets_are_dropped_on_request_and_told(run, tmp_path):
    data = tmp_path / "data.csv"
    data.write_text("x,t\n1,1\n2,nan\n3,0\n4,\n5,0\n")
    words = ["train", data, "--target", "t", "--holdout", 0, "--preset", "fast", "-o"]
    failed(run(*words, tmp_path / "m.pt"), "column 't' is missing in row 2, 4")
    code, _, err = run(*words, tmp_path / "m.pt", "--drop-missing-target")
    assert (code, err) == (0, "mbndt: note: 2 rows without a value of 't' were left out\n")


def test_a_dash_is_stdout_for_every_output(tmp_path, rows_csv):
    done = shell("cd {f}; {mbndt} predict {m} {r} -o -", f=tmp_path, m=EXAMPLE, r=rows_csv)
    assert done.stdout.startswith("prediction,leaf,")
    command = "cd {f}; {mbndt} verify {m} --target python --rows 9 --json -"
    done = shell(command, f=tmp_path, m=EXAMPLE)
    assert json.loads(done.stdout)["checks"][0]["outcome"] == "agrees"
    done = shell("cd {f}; {mbndt} compile {m} --target onnx -o - | wc -c", f=tmp_path, m=EXAMPLE)
    assert int(done.stdout) > 100
    assert [entry.name for entry in tmp_path.iterdir()] == ["rows.csv"]


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
    assert report["held out"]["rows"] == 24
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
    assert run(*words, "--holdout", 0)[0] == 0
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


# The decision sheet


def test_a_template_is_filled_in_and_stands_on_the_sheet(run, tmp_path):
    sheet, out = tmp_path / "s.toml", tmp_path / "s.md"
    assert run("sheet-template", EXAMPLE, "-o", sheet) == (0, "", "")
    words = ["compile", EXAMPLE, "--target", "protocol", "--format", "md", "--sheet", sheet]
    code, bare, _ = run(*words)
    assert code == 0
    assert "| Author | NOT STATED |" in bare
    sheet.write_text(sheet.read_text().replace('author = ""', 'author = "B. Example"'))
    assert run(*words, "-o", out) == (0, "", "")
    assert "| Author | B. Example |" in out.read_text()
    sheet.write_text('titel = "x"')
    failed(run(*words), "s.toml: unknown key 'titel'; did you mean 'title'")


@pytest.mark.parametrize("suffix", [".json", ".pt"])
def test_round_writes_what_it_reads_with_thresholds_at_the_stated_decimals(run, tmp_path, suffix):
    data, model = write_csv(tmp_path / "data.csv", 200), tmp_path / f"m{suffix}"
    out, sheet = tmp_path / f"r{suffix}", tmp_path / "s.toml"
    assert run("train", data, "--target", "y", "-o", tmp_path / "m.pt", "--preset", "fast")[0] == 0
    before = load(tmp_path / "m.pt")
    if suffix == ".json":
        model.write_text(before.to_json(), "utf-8")
    broken = [f for f in before.used if f.type in ("float64", "float32")]
    assert broken
    sheet.write_text(
        "".join(f"[features.{json.dumps(feature.name)}]\ndecimals = 0\n" for feature in broken)
    )
    code, _, err = run("round", model, "--sheet", sheet, "--data", data, "-o", out)
    assert code == 0, err
    after = load(out)
    assert all(t == int(t) for feature in broken for t in after.thresholds(feature))
    moved = leaf_ids(before, mixed_table(200)) != leaf_ids(after, mixed_table(200))
    assert f"mbndt: note: {moved.sum()} of 200 rows change leaf; balanced accuracy 0." in err
    assert after.provenance["rounded from"] == before.fingerprint
    assert (out.read_bytes()[:2] == b"PK") == (suffix == ".pt")
    words = ["round", model, "--sheet", sheet, "--data", data, "-o", out]
    assert run(*words, "--quiet") == (0, "", "")


def test_round_takes_decimals_for_all_numbers_that_are_not_whole(run):
    code, out, err = run("round", EXAMPLE, "--decimals", 2)
    assert (code, json.loads(out)["root"]) == (0, json.loads(EXAMPLE.read_bytes())["root"])
    assert err == (
        "mbndt: note: no training row changes leaf: each threshold stays between the"
        " same two values\n"
    )
    failed(run("round", EXAMPLE, "--decimals", 1), "1 thresholds", "'lactate': 2.15 to 2.1")
    failed(run("round", EXAMPLE, "--decimals", "lactate=1", "--decimals", 2), "2.15 to 2.1")


def test_show_metrics_tells_what_reasons_ask_for_and_what_gaps_leave_answered(run, rows_csv):
    code, out, _ = run("show", EXAMPLE, "--metrics", "--data", rows_csv)
    assert code == 0
    for said in (
        "leaf 0",
        "features tested for an answer (mean): ",
        "fraction of paths that test more than is needed: ",
        "features tested for an answer (most): 3",
        "rows that lack a value in use: 2 of 3, of which ",
    ):
        assert said in out
    assert "features tested" not in run("show", EXAMPLE)[1]


@pytest.mark.parametrize("words", [[], ["-h"], ["--help"]])
def test_the_program_by_itself_prints_its_help(run, words):
    code, out, err = run(*words)
    assert (code, err) == (0, "")
    assert all(command in out for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_tells_an_example_and_one_form_of_defaults(run, command):
    code, out, _ = run(command, "-h")
    said = " ".join(out.replace("│", " ").split())
    assert code == 0
    assert f"Example: mbndt {command}" in said
    assert "(default" not in said
    assert "\\" not in said
