"""Model files: read by zipfile alone for rules, by torch without pickles, and never trusted."""

import pickle
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from drawn_tables import mixed_table
from hypothesis import given
from hypothesis import strategies as st

from mbndt import load
from mbndt.checkpoint import RECORD, save, with_rules
from mbndt.errors import CheckpointError, MbndtError, OutputError, RulesError
from mbndt.learning.pipeline import learn
from mbndt.learning.settings import preset


@pytest.fixture(scope="module")
def model():
    return learn(mixed_table(200), "y", preset("fast"), holdout=0.2)


@pytest.fixture(scope="module")
def path(model, tmp_path_factory):
    found = tmp_path_factory.mktemp("model") / "model.pt"
    save(model, found)
    return found


def test_the_rules_are_read_back_without_torch(model, path):
    assert load(path) == model.rules
    code = f"import sys, mbndt; mbndt.load({str(path)!r}); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_torch_reads_weights_encoder_settings_and_figures_without_pickles(model, path):
    found = torch.load(path, weights_only=True)
    assert torch.equal(found["weights"]["cuts"], torch.from_numpy(model.network.cuts))
    assert len(found["encoder"]) == len(model.encoder.columns)
    assert found["settings"]["branching"] == model.settings.branching
    assert found["evidence"] == model.evidence
    assert found["history"] == list(model.history)
    assert "rules" not in found  # they stand in a record of their own, once


def test_the_name_of_the_file_leaves_no_trace(model, path, tmp_path):
    save(model, tmp_path / "another name.bin")
    assert (tmp_path / "another name.bin").read_bytes() == path.read_bytes()


def test_a_rules_json_file_is_a_model_too(example, tmp_path):
    (tmp_path / "r.json").write_text(example.to_json())
    assert load(tmp_path / "r.json") == example


def test_other_rules_take_the_place_of_a_models_own_and_all_else_stays(model, path, tmp_path):
    other = replace(model.rules, name="another")
    (tmp_path / "other.pt").write_bytes(with_rules(path, other))
    assert load(tmp_path / "other.pt") == other
    old, new = (torch.load(p, weights_only=True) for p in (path, tmp_path / "other.pt"))
    for found in (old, new):
        found["weights"] = {name: found["weights"][name].tolist() for name in found["weights"]}
        found.pop("encoder")
    assert new == old
    assert with_rules(path, model.rules) == with_rules(path, model.rules)
    with zipfile.ZipFile(path) as before, zipfile.ZipFile(tmp_path / "other.pt") as after:
        assert before.namelist() == after.namelist()
        changed = [name for name in before.namelist() if before.read(name) != after.read(name)]
    assert [name.endswith(RECORD) for name in changed] == [True]


def test_rules_json_is_replaced_by_rules_json(example, tmp_path):
    (tmp_path / "r.json").write_text("anything")
    assert with_rules(tmp_path / "r.json", example).decode() == example.to_json()


@given(st.data())
def test_a_damaged_file_gives_our_own_error_or_the_same_rules(model, path, tmp_path_factory, data):
    content = bytearray(path.read_bytes())
    if data.draw(st.booleans()):
        content = content[: data.draw(st.integers(0, len(content) - 1))]
    else:
        for _ in range(data.draw(st.integers(1, 8))):
            at = data.draw(st.integers(0, len(content) - 1))
            content[at] = data.draw(st.integers(0, 255))
    broken = tmp_path_factory.mktemp("broken") / "model.pt"
    broken.write_bytes(content)
    try:
        assert load(broken) == model.rules
    except MbndtError as error:
        assert "model.pt" in str(error)


class Bomb:
    def __reduce__(self):
        return exec, ("raise SystemExit('executed')",)


def test_nothing_in_a_hostile_file_is_executed(path, tmp_path):
    hostile = tmp_path / "hostile.pt"
    hostile.write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(MbndtError, match=r"hostile\.pt"):
        load(hostile)
    with zipfile.ZipFile(hostile, "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps(Bomb()))
    with pytest.raises(CheckpointError, match="0 records"):
        load(hostile)
    with zipfile.ZipFile(hostile, "a") as archive:
        archive.writestr("archive" + RECORD, '{"format": 1}')
    with pytest.raises(RulesError, match=r"hostile\.pt"):
        load(hostile)


def test_two_rules_records_are_refused(path, tmp_path):
    twice = tmp_path / "twice.pt"
    twice.write_bytes(path.read_bytes())
    with zipfile.ZipFile(twice, "a") as archive:
        archive.writestr("other" + RECORD, "{}")
    with pytest.raises(CheckpointError, match="2 records"):
        load(twice)


def test_a_zip_bomb_is_not_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr("mbndt.checkpoint.MAX_BYTES", 1000)
    bomb = tmp_path / "bomb.pt"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive" + RECORD, b" " * 10**6)
    with pytest.raises(CheckpointError, match="more than 1000 bytes"):
        load(bomb)
    (tmp_path / "long.json").write_bytes(b" " * 2000)
    with pytest.raises(CheckpointError, match="2000 bytes"):
        load(tmp_path / "long.json")


def test_a_missing_file_and_a_folder_are_named(tmp_path):
    with pytest.raises(CheckpointError, match=r"none\.pt"):
        load(tmp_path / "none.pt")
    with pytest.raises(CheckpointError, match="directory"):
        load(tmp_path)


def test_a_file_that_cant_be_written_leaves_nothing(model, tmp_path):
    (tmp_path / "folder.pt").mkdir()
    for target in (tmp_path / "folder.pt", tmp_path / "none" / "model.pt"):
        with pytest.raises(OutputError, match="can't be written"):
            save(model, target)
    assert [entry.name for entry in tmp_path.iterdir()] == ["folder.pt"]


@pytest.mark.parametrize(
    "name, fingerprint",
    [
        ("model_0_1.pt", "f466cbab9f712201944d179014f3a511d5032cdf2d39827fe93550e1f0385287"),
        ("rules_0_1.json", "92ab8c36eec2c7dc099ca890df9d93b114cf65f15573de624d3be28dc13feb58"),
    ],
)
def test_files_of_the_first_release_are_read_on(name, fingerprint):
    rules = load(Path(__file__).parent / "data" / name)
    assert rules.fingerprint == fingerprint
    row = {"age": [70, 20], "lactate": [4.0, None], "ward": ["A", "new"]}
    if rules.task == "classification":
        assert rules.predict(row).prediction == ["admit", "home"]
    else:
        assert rules.predict(row).leaf.tolist() == [3, 0]
