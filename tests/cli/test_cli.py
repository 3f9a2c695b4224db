"""The command line as users meet it: files in, artefacts out, every mistake one line and exit 2."""

import json
import subprocess
import sys
from dataclasses import replace

import pytest
from command_line import caller, failed, write_csv
from conftest import EXAMPLE
from drawn_tables import mixed_table

from mbndt import __version__, load
from mbndt.cli.report import predictions_csv
from mbndt.interpreter import leaf_ids

ROWS = "respiratory rate,lactate,on oxygen,AVPU\n8,1.5,true,alert\n9.0,,,\n,2.15,0,pain\n"


@pytest.fixture
def run(monkeypatch, capsysbinary):
    return caller(monkeypatch, capsysbinary)


@pytest.fixture
def rows_csv(tmp_path):
    (tmp_path / "rows.csv").write_text(ROWS)
    return tmp_path / "rows.csv"


def test_train_compile_predict_verify_show_hang_together(run, tmp_path):
    data = write_csv(tmp_path / "data.csv", rows=200)
    model = tmp_path / "model.pt"
    code, out, err = run("train", data, "--target", "y", "-o", model, "--preset", "fast")
    assert (code, err) == (0, "")
    assert "200 rows, each told by rules of the other 4 of 5 parts: balanced accuracy" in out
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
        (["show"], "MODEL"),
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


def test_a_dash_is_stdout_for_every_output(tmp_path, rows_csv):
    done = shell("cd {f}; {mbndt} predict {m} {r} -o -", f=tmp_path, m=EXAMPLE, r=rows_csv)
    assert done.stdout.startswith("prediction,leaf,")
    command = "cd {f}; {mbndt} verify {m} --target python --rows 9 --json -"
    done = shell(command, f=tmp_path, m=EXAMPLE)
    assert json.loads(done.stdout)["checks"][0]["outcome"] == "agrees"
    done = shell("cd {f}; {mbndt} compile {m} --target onnx -o - | wc -c", f=tmp_path, m=EXAMPLE)
    assert int(done.stdout) > 100
    assert [entry.name for entry in tmp_path.iterdir()] == ["rows.csv"]


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
