"""The commands that hold rules against the truth."""

import csv
import json
import subprocess
import sys

import duckdb
import pytest
from command_line import caller, failed, write_csv

import mbndt
from mbndt.rules.standing import validation_status


@pytest.fixture
def call(monkeypatch, capsysbinary):
    return caller(monkeypatch, capsysbinary)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("validation")
    write_csv(path / "rows.csv", 300, 0)
    write_csv(path / "other.csv", 200, 7)
    model = mbndt.learn(path / "rows.csv", "y", restarts=0, greedy=1, depth=2, refits=0)
    mbndt.save(model, path / "model.pt")
    return path


def test_the_trade_off_is_listed_with_the_sentence_on_its_use(call, folder):
    code, out, err = call("points", folder / "model.pt", "--data", folder / "other.csv")
    assert (code, err) == (0, "")
    first, head, *lines, last = out.splitlines()
    assert first.startswith("200 rows, ")
    heads = ["act at risk", "found", "missed", "needless", "spared", "net benefit"]
    assert head.split() == " ".join(heads).split()
    rules = mbndt.load(folder / "model.pt")
    assert len(lines) == len({end.risk[rules.event] for end in rules.leaves})
    assert last.startswith("Better than treating all or none from ")


def test_a_validation_is_printed_reported_and_kept_with_the_rules(call, folder, tmp_path):
    words = ["--by", "pair,flag", "--by", "colour", "--on", "Hospital B", "--date", "2026-01-02"]
    files = ["-o", tmp_path / "v.pt", "--report", tmp_path / "v.json"]
    given = ["validate", folder / "model.pt", "--data", folder / "other.csv", "--target", "y"]
    code, out, err = call(*given, *words, *files)
    assert code == 0
    assert out.startswith("VALIDATED on Hospital B: 200 rows")
    assert "note: " in err
    told = json.loads((tmp_path / "v.json").read_text())
    assert [told["on"], told["date"], told["kind"]] == ["Hospital B", "2026-01-02", "external"]
    assert {group["by"] for group in told["groups"]} == {"pair", "flag", "colour"}
    rules = mbndt.load(tmp_path / "v.pt")
    assert validation_status(rules) == "VALIDATED on Hospital B"
    assert validation_status(mbndt.load(folder / "model.pt")) == "DRAFT"
    (block,) = rules.provenance["validation"]
    assert block["performance"] == told["performance"]
    assert block["data"]["sha256"] == told["data"]["sha256"] != None  # noqa: E711
    torch = pytest.importorskip("torch")
    kept = [torch.load(p, weights_only=True) for p in (folder / "model.pt", tmp_path / "v.pt")]
    assert kept[0]["settings"] == kept[1]["settings"]


def test_a_report_is_a_page_too_and_quiet_prints_nothing(call, folder, tmp_path):
    given = ["validate", folder / "model.pt", "--data", folder / "other.csv", "--quiet"]
    code, out, _ = call(*given, "--report", tmp_path / "v.html")
    assert (code, out) == (0, "")
    assert "VALIDATED INTERNALLY" in (tmp_path / "v.html").read_text()


def test_the_very_rows_of_the_training_are_refused_and_nothing_is_written(call, folder, tmp_path):
    given = ["validate", folder / "model.pt", "--data", folder / "rows.csv"]
    failed(call(*given, "-o", tmp_path / "v.pt"), "learned from these very rows")
    assert not (tmp_path / "v.pt").exists()


def deployed(folder, path):
    text = mbndt.load(folder / "model.pt").compile("sql", as_="view", view="a", table="t")
    with duckdb.connect(str(path)) as base:
        base.execute(f"CREATE TABLE t AS SELECT * FROM '{folder / 'other.csv'}'")
        base.execute(text)
        base.execute("CREATE TABLE wrong AS SELECT * FROM a")
        base.execute("UPDATE wrong SET leaf = 0")


def test_deployed_answers_are_compared_and_a_difference_exits_with_1(call, folder, tmp_path):
    deployed(folder, tmp_path / "base.duckdb")
    given = ["validate", folder / "model.pt", "--against", tmp_path / "base.duckdb", "--view"]
    code, out, err = call(*given, "a")
    assert (code, err) == (0, "")
    assert "200 rows, 0 differ" in out
    counts = [line.split() for line in out.splitlines()[2:]]
    _, predicted, _ = call("predict", folder / "model.pt", folder / "other.csv")
    leaves = [row["leaf"] for row in csv.DictReader(predicted.splitlines())]
    rules = mbndt.load(folder / "model.pt")
    for leaf, (_, number, rows) in zip(rules.leaves, counts, strict=False):
        assert (int(number), int(rows)) == (leaf.leaf, leaves.count(number))
    code, out, _ = call(*given, "wrong")
    assert code == 1
    assert "expected: " in out


@pytest.mark.parametrize(
    "words, said",
    [
        ([], "--data, --against: expected one of them"),
        (["--data", "a.csv", "--against", "b"], "--data, --against: expected one of them"),
        (["--against", "b"], "--against, --view: expected both or none"),
        (["--data", "a.csv", "--view", "b"], "--against, --view: expected both or none"),
        (["--data", "a.csv", "--prefix", "b"], "--prefix: only with `against`"),
        (["--data", "a.csv", "--report", "a.pdf"], "--report: got"),
        (["--data", "a.csv"], "a.csv: No such file"),
        (["--against", "b", "--view", "v"], "b: No such file"),
        (["--against", "oracle://x", "--view", "v"], "--against: got 'oracle'"),
    ],
)
def test_what_does_not_go_together_is_refused_in_a_line(call, folder, words, said):
    failed(call("validate", folder / "model.pt", *words), said.replace("`against`", "--against"))


@pytest.mark.parametrize("word", ["target", "by"])
def test_a_lacking_column_is_named_by_its_option(call, folder, word):
    given = ["validate", folder / "model.pt", "--data", folder / "other.csv"]
    failed(
        call(*given, f"--{word}", "pear"), f"--{word}: ", "no column 'pear'; did you mean 'pair'"
    )


def test_no_file_is_written_over_another(call, folder, tmp_path):
    given = ["validate", folder / "model.pt", "--data", folder / "other.csv"]
    failed(call(*given, "-o", folder / "other.csv"), "would be overwritten")
    twice = tmp_path / "one.json"
    failed(call(*given, "-o", twice, "--report", twice), "would be overwritten")
    assert not twice.exists()


def test_the_rules_alone_go_to_stdout(call, folder, tmp_path):
    mbndt.save(mbndt.load(folder / "model.pt"), tmp_path / "m.json")
    given = ["validate", tmp_path / "m.json", "--data", folder / "other.csv", "-o", "-"]
    code, out, _ = call(*given)
    assert code == 0
    assert mbndt.Rules.from_json(out).provenance["validation"]


def test_a_column_with_a_comma_in_its_name_makes_groups(call, folder, tmp_path):
    text = (folder / "other.csv").read_text().replace(",pair,", ',"pair,side",', 1)
    (tmp_path / "odd.csv").write_text(text)
    given = ["validate", folder / "model.pt", "--data", tmp_path / "odd.csv"]
    code, out, _ = call(*given, "--by", "pair,side")
    assert code == 0
    assert "pair,side: left" in out


def test_rules_are_validated_without_what_only_learning_needs(folder):
    rules = mbndt.load(folder / "model.pt").to_json()
    (folder / "bare.json").write_text(rules)
    code = (
        "import sys\n"
        "for name in ('torch', 'sklearn', 'scipy', 'pandas'): sys.modules[name] = None\n"
        "from mbndt.cli.main import main; main()"
    )
    words = ["validate", folder / "bare.json", "--data", folder / "other.csv"]
    files = ["--report", folder / "bare.html", "--quiet"]
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, words + files)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "VALIDATED INTERNALLY" in (folder / "bare.html").read_text()
