"""What the package offers: its names, their signatures, and nothing else at the top."""

import json
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import EXAMPLE
from drawn_tables import mixed_table

import mbndt
from mbndt import DataError, OptionError, Rules, errors, load
from mbndt.api import learn, save, verify

ROOT = Path(__file__).parent.parent
HEAVY = ("duckdb", "numpy", "onnx", "pandas", "rich", "scipy", "sklearn", "sqlglot", "torch")


def python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_names_are_sorted_and_each_can_be_imported():
    assert mbndt.__all__ == sorted(set(mbndt.__all__))
    assert all(getattr(mbndt, name) for name in mbndt.__all__)


def test_nothing_else_is_public_at_the_top():
    assert json.loads(python("import json, mbndt; print(json.dumps(dir(mbndt)))")) == mbndt.__all__
    with pytest.raises(AttributeError, match="no attribute 'lern'"):
        mbndt.lern  # noqa: B018


def kind_of_ours(kind: object) -> bool:
    return isinstance(kind, type) and kind.__module__ == "mbndt.errors"


def test_every_error_is_public():
    kinds = {name for name, kind in vars(errors).items() if kind_of_ours(kind)}
    assert kinds <= set(mbndt.__all__)


def test_no_module_has_the_name_of_a_function():
    modules = {module.name for module in pkgutil.iter_modules(mbndt.__path__)}
    assert modules.isdisjoint(mbndt.__all__)


@pytest.mark.parametrize("first", ["Check", "load", "learn", "verify"])
def test_names_stay_what_they_are_in_whatever_order_they_are_asked_for(first):
    code = f"import mbndt; mbndt.{first}; mbndt.Check; print(mbndt.verify.__module__)"
    assert python(code).strip() == "mbndt.api"


def test_to_import_the_package_imports_nothing_heavy():
    loaded = python("import mbndt, sys; print(*sys.modules)").split()
    assert not set(HEAVY) & set(loaded)
    loaded = python("import mbndt, sys; mbndt.Rules, mbndt.verify; print(*sys.modules)").split()
    assert not {"torch", "pandas", "sklearn"} & set(loaded)


def test_each_name_is_documented():
    page = (ROOT / "docs" / "api.md").read_text()
    documented = re.findall(r"^::: mbndt\.(?:api\.)?(\w+)$", page, re.MULTILINE)
    assert sorted(documented) == [name for name in mbndt.__all__ if name != "__version__"]
    for name in documented:
        assert getattr(mbndt, name).__doc__, name


def test_the_package_runs_as_a_module():
    run = [sys.executable, "-m", "mbndt"]
    done = subprocess.run([*run, "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"mbndt {mbndt.__version__}\n")
    done = subprocess.run([*run, "show", "none.pt"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")


def test_the_schema_is_printed():
    done = subprocess.run([sys.executable, "-m", "mbndt", "schema"], capture_output=True)
    assert json.loads(done.stdout) == json.loads(
        (ROOT / "mbndt/rules/rules.schema.json").read_bytes()
    )


FAST = {"preset": "fast", "restarts": 0, "greedy": 1, "depth": 2}


@pytest.fixture(scope="module")
def frame():
    columns = mixed_table(200).columns
    return pd.DataFrame({name: list(column) for name, column in columns.items()})


@pytest.fixture(scope="module")
def model(frame):
    return learn(frame, "y", **FAST)


def test_paths_frames_and_mappings_are_learned_from_alike(frame, tmp_path):
    path, some = tmp_path / "rows.parquet", frame[["x", "colour", "y"]]
    some.to_parquet(path)
    found = [learn(data, "y", **FAST).rules for data in (some, dict(some.items()), path, str(path))]
    assert found == [found[0]] * 4


def test_all_rows_are_learned_from_and_cross_fitted_unless_told_otherwise(frame, model):
    assert model.evidence["kind"] == "cross-fitted"
    assert model.evidence["rows"] == len(frame) == model.rules.provenance["training rows"]
    assert learn(frame, "y", holdout=0.2, **FAST).evidence["rows"] == len(frame) // 5
    assert learn(frame, "y", refits=0, **FAST).evidence == {}
    with pytest.raises(OptionError, match="refits, holdout: expected one of them"):
        learn(frame, "y", refits=3, holdout=0.2, **FAST)


def test_the_library_and_the_command_line_learn_the_same_file(frame, tmp_path):
    data = tmp_path / "rows.csv"
    frame.to_csv(data, index=False)
    save(learn(data, "y", preset="fast", depth=2), tmp_path / "a.pt")
    words = ["train", data, "--target", "y", "--preset", "fast", "--depth", "2", "--quiet"]
    command = [sys.executable, "-m", "mbndt", *map(str, words), "-o", str(tmp_path / "b.pt")]
    subprocess.run(command, check=True)
    assert (tmp_path / "a.pt").read_bytes() == (tmp_path / "b.pt").read_bytes()


def test_a_name_changes_no_answer(frame, model):
    named = learn(frame, "y", name="first visit", **FAST).rules
    assert (named.name, named.root) == ("first visit", model.rules.root)


def test_weights_are_a_column_or_values(frame):
    weights = np.linspace(1, 2, len(frame))
    column = learn(frame.assign(w=weights), "y", weights="w", **FAST)
    assert "w" not in column.rules.feature
    assert learn(frame, "y", weights=weights, **FAST).rules == column.rules


def test_a_schema_is_a_file_or_a_mapping(frame, tmp_path):
    (tmp_path / "s.toml").write_text('[target]\ndescription = "seen"\n')
    for schema in (tmp_path / "s.toml", {"target": {"description": "seen"}}):
        assert learn(frame, "y", schema=schema, **FAST).rules.target.description == "seen"


@pytest.mark.parametrize(
    "wrong, match",
    [
        ({"target": "Y"}, "^target: data has no column 'Y'; did you mean 'y'"),
        ({"exclude": ["zz"]}, "^exclude: data has no column 'zz'"),
        ({"weights": "y"}, "^weights: 'y' is the target"),
        ({"query": "select 1"}, "^query: only with the path"),
        ({"target": [1, 2]}, "^target: got list, expected the name of a column"),
        ({"dept": 2}, "did you mean 'depth'"),
    ],
)
def test_wrong_arguments_are_named(frame, wrong, match):
    with pytest.raises(OptionError, match=match):
        learn(frame, **{"target": "y", **wrong})


def test_rules_are_saved_as_json_and_models_whole(model, tmp_path):
    for path in (tmp_path / "model.pt", tmp_path / "rules.json", str(tmp_path / "text.json")):
        save(model, path)
        assert load(path) == model.rules
    save(model.rules, tmp_path / "other.json")
    assert (tmp_path / "other.json").read_bytes() == (tmp_path / "rules.json").read_bytes()
    with pytest.raises(OptionError, match=r"more than rules; save the model, or name it 'x\.json'"):
        save(model.rules, tmp_path / "x.pt")
    assert not (tmp_path / "x.pt").exists()


def test_targets_are_verified_on_rows_of_ones_own(example, tmp_path):
    rows = "respiratory rate,lactate,on oxygen,AVPU\n8,1.5,true,alert\n9.0,,,\n"
    (tmp_path / "rows.csv").write_text(rows)
    (check,) = verify(example, tmp_path / "rows.csv", targets=["python"], rows=100)
    (alone,) = verify(example, targets=["python"], rows=100)
    assert (check.outcome, check.mismatches, check.rows - alone.rows) == ("agrees", 0, 2)
    with pytest.raises(DataError, match="no column"):
        verify(example, {"other": [1]}, targets=["python"])
    with pytest.raises(OptionError, match="did you mean 'python'"):
        verify(Rules.from_json(EXAMPLE.read_bytes()), targets=["pyton"])


def test_an_option_named_as_a_keyword_is_spelt_with_an_underscore(example):
    text = example.compile("sql", as_="expression", output="leaf")
    assert text == example.compile("sql", **{"as": "expression"}, output="leaf")
    for wrong in ("as__", "dialect_", "_"):
        with pytest.raises(OptionError, match="not an option of target 'sql'"):
            example.compile("sql", **{wrong: "select"})


def test_a_csv_is_read_in_python_as_it_is_said(tmp_path):
    rows = "".join(
        f"{i % 7},5;{'-9' if i % 5 == 0 else i % 7};{'ab'[i % 7 > 3]}\n" for i in range(60)
    )
    path = tmp_path / "data.csv"
    path.write_text("x;z;y\n" + rows)
    said = {"separator": ";", "decimal": ",", "missing": ["-9"]}
    with pytest.warns(mbndt.DataWarning):  # each column alone tells the outcome
        rules = mbndt.learn(path, "y", restarts=0, refits=0, **said).rules
    assert [feature.type for feature in rules.features] == ["float64", "integer"]
    assert rules.provenance["missing marks"] == ["-9"]
    with pytest.raises(mbndt.OptionError, match="only with the path of a CSV"):
        mbndt.learn({"x": [1, 2], "y": [0, 1]}, "y", decimal=",")
