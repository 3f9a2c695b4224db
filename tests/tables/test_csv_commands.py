"""CSV texts on the command line and in emitted modules: read as the library reads them."""

import csv
import io
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from csv_texts import MARKS, dialects
from hypothesis import given
from hypothesis import strategies as st
from strategies import chain, rule_trees

from mbndt.checkpoint import load
from mbndt.cli.report import predictions_csv
from mbndt.emitters import emit
from mbndt.errors import DataError
from mbndt.interpreter import predict
from mbndt.rules import FeatureType
from mbndt.rules.csv_rows import csv_rows
from mbndt.tables.csv_files import parse_csv
from mbndt.tables.csv_format import CsvFormat, known_marks

DATA = Path(__file__).parents[1] / "data"


def mbndt(*words: object, data: bytes) -> subprocess.CompletedProcess:
    command = [sys.executable, "-c", "from mbndt.cli.main import main; main()", *map(str, words)]
    return subprocess.run(command, input=data, capture_output=True, timeout=300)


ROWS = "respiratory rate,lactate,on oxygen,AVPU,y\n" + "".join(
    f"{8 + i % 30},{i % 7}.5,{'true' if i % 3 else 'false'},alert,{'home' if i % 2 else 'ward'}\n"
    for i in range(60)
)
EXAMPLE = DATA / "example.rules.json"


@pytest.mark.parametrize(
    "words",
    [
        ["train", "-", "--target", "y", "-o", "OUT", "--preset", "fast"],
        [
            "tune",
            "-",
            "--target",
            "y",
            "-o",
            "OUT",
            "--minutes",
            "1",
            "--trials",
            "1",
            "--folds",
            "2",
            "--preset",
            "fast",
        ],
        ["refine", EXAMPLE, "-", "--target", "y"],
        ["predict", EXAMPLE, "-"],
        ["verify", EXAMPLE, "--data", "-", "--target", "python", "--rows", "10"],
        ["round", EXAMPLE, "--decimals", "0", "--data", "-"],
        ["show", EXAMPLE, "--metrics", "--data", "-"],
    ],
    ids=lambda words: words[0],
)
def test_a_dash_is_stdin_for_each_command(tmp_path, words):
    words = [tmp_path / "m.pt" if word == "OUT" else word for word in words]
    (tmp_path / "rows.csv").write_text(ROWS)
    done = mbndt(*words, data=ROWS.encode())
    assert done.returncode == 0, done.stderr
    if words[0] not in ("train", "tune", "refine"):  # they take longer
        again = [tmp_path / "rows.csv" if word == "-" else word for word in words]
        assert mbndt(*again, data=b"").stdout == done.stdout
    wrong = mbndt(*words, data=ROWS.encode("utf-16"))
    assert (wrong.returncode, wrong.stdout) == (2, b"")
    assert wrong.stderr.startswith(b"mbndt: error: stdin: UTF-16 text")
    assert wrong.stderr.count(b"\n") == 1


def test_reading_options_hold_on_the_command_line(tmp_path):
    text = ROWS.replace(",", ";").replace(".5", ",5").replace(";0,5;", ";XX;")
    done = mbndt(
        "predict",
        EXAMPLE,
        "-",
        "--separator",
        ";",
        "--decimal",
        ",",
        "--missing",
        "XX",
        "--encoding",
        "utf-16",
        data=text.encode("utf-16"),
    )
    plain = mbndt("predict", EXAMPLE, "-", data=ROWS.replace(",0.5,", ",,").encode())
    assert (done.stdout, done.stderr) == (plain.stdout, b"")
    assert done.returncode == 0


def test_marks_that_were_named_in_training_hold_wherever_the_rules_go(tmp_path):
    rows = "".join(
        f"{-9 if i % 3 else i},{'k' if i % 2 else '--'},{i % 3 > 0}\n" for i in range(90)
    )
    data = ("x,c,y\n" + rows).encode()
    words = [
        "train",
        "-",
        "--target",
        "y",
        "-o",
        tmp_path / "m.pt",
        "--preset",
        "fast",
        "--missing",
        "-9",
        "--missing",
        "--",
    ]
    done = mbndt(*words, data=data)
    assert done.returncode == 0, done.stderr
    rules = load(tmp_path / "m.pt")
    assert known_marks(rules) == ("-9", "--")
    (x,) = rules.used
    assert x.name == "x"
    plain = parse_csv(data.decode(), form=CsvFormat(missing=("-9",)))
    expected = predictions_csv(rules, predict(rules, plain))
    assert mbndt("predict", tmp_path / "m.pt", "-", data=data).stdout.decode() == expected
    assert expected != predictions_csv(rules, predict(rules, parse_csv(data.decode())))
    (tmp_path / "m.py").write_text(emit(rules, "python").text)
    script = subprocess.run([sys.executable, tmp_path / "m.py"], input=data, capture_output=True)
    assert script.stdout.decode() == expected


# --- the Python target's script


@pytest.fixture(scope="module")
def scripts():
    """Return a way to run a compiled module's script without a process for each."""

    def run(rules, text: str, *words: str) -> tuple[str, str]:
        space: dict = {"__name__": "compiled"}
        exec(compile(emit(rules, "python").text, "compiled.py", "exec"), space)
        out, err = io.StringIO(newline=""), io.StringIO()
        space["sys"].argv, before = ["compiled.py", *words], sys.argv
        try:
            space["_script"](text, space["_options"](), out, err)
        finally:
            sys.argv = before
        return out.getvalue(), err.getvalue()

    return run


def cells_of(kind: FeatureType, decimal: str):
    """Return cells that mostly fit a column, now and then one that doesn't."""
    odd = st.sampled_from(["x", "1.234", "1,234", "2,5", "1.5"])
    if kind == FeatureType.CATEGORY:
        return st.sampled_from(["a", "b", "x", "NA", "1,5", "1.5", ""])
    if kind == FeatureType.BOOLEAN:
        return st.sampled_from(["t", "f", "true", "FALSE", "1", "0", "x", "", "NA", "\\N"])
    marks = st.sampled_from([*MARKS, "", " ", "x"])
    if kind == FeatureType.INTEGER:
        return st.integers(-200, 200).map(str) | marks
    number = st.floats(-200, 200).map(lambda x: f"{x:.2f}".replace(".", decimal))
    return st.integers(0, 9).flatmap(lambda i: odd if not i else marks if i < 3 else number)


@given(rule_trees(), dialects, st.data())
def test_a_script_answers_what_predict_answers(scripts, rules, dialect, data):
    names = [feature.name for feature in rules.features] or ["x"]
    kinds = [feature.type for feature in rules.features] or [FeatureType.CATEGORY]
    decimal = data.draw(st.sampled_from(".,"))
    row = st.tuples(*(cells_of(kind, decimal) for kind in kinds))
    rows = data.draw(st.lists(row, max_size=4))
    out = io.StringIO(newline="")
    csv.writer(out, **dialect).writerows([names, *rows])
    words = data.draw(st.sampled_from([(), ("--decimal", ","), ("--missing", "x")]))
    form = CsvFormat(decimal="," if "," in words else None, missing=("x",) if "x" in words else ())
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            table = parse_csv(out.getvalue(), form=form)
            expected = predictions_csv(rules, predict(rules, table))
        except DataError:
            with pytest.raises(ValueError, match=r"\w"):
                scripts(rules, out.getvalue(), *words)
            return
    found, said = scripts(rules, out.getvalue(), *words)
    assert found == expected
    assert said.count("warning") == len({str(w.message) for w in told})


def test_a_script_reads_one_column_and_options(tmp_path):
    path = tmp_path / "compiled.py"
    path.write_text(emit(chain(1), "python").text)
    name = chain(1).used[0].name

    def run(text: bytes, *words: str) -> subprocess.CompletedProcess:
        command = [sys.executable, "-I", path, *words]
        return subprocess.run(command, input=text, capture_output=True)

    done = run(f"{name}\n100.0625\n\nNA\n".encode())
    assert done.stdout.count(b"\n") == 4
    assert f"warning: column {name!r}: cells read as missing: 1 of 'NA'" in done.stderr.decode()
    first, second, third = done.stdout.splitlines()[1:]
    assert second == third != first
    words = ("--encoding", "utf-16", "--decimal", ",", "--separator", "|", "--missing", "-")
    same = run(f"{name}|z\n100,0625|1\n-|1\n".encode("utf-16"), *words)
    assert same.stdout.splitlines()[1:] == [first, second]
    assert same.stderr == b""


def test_the_reading_part_of_a_script_runs_on_the_oldest_python():
    source = emit(chain(1), "python").text
    assert "zip(*chunk)" in source
    assert [*csv_rows("x\n\n1\n", ",")] == [["x"], [""], ["1"]]
