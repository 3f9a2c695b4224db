"""Files of every kind, from a disk or a pipe: read, or named with a way out."""

import bz2
import gzip
import io
import json
import lzma
import os
import pickle
import sqlite3
import threading
import zipfile
from pathlib import Path

import duckdb
import pandas as pd
import pytest

from mbndt.checkpoint import load, with_rules
from mbndt.errors import DataError, OptionError
from mbndt.tables.csv_format import CsvFormat
from mbndt.tables.files import read_table
from mbndt.tables.table import Table

DATA = Path(__file__).parents[1] / "data"


def _zipped(name: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(name, "x")
    return out.getvalue()


TEXT = "x,y\n1,é\n"
FOREIGN = {
    "UTF-16": TEXT.encode("utf-16"),
    "UTF-32": TEXT.encode("utf-32"),
    "UTF-16 text": TEXT.encode("utf-16-be"),
    "an Excel workbook": _zipped("xl/workbook.xml"),
    "a zip archive": _zipped("t.csv"),
    "xz": lzma.compress(b"x,y"),
    "bzip2": bz2.compress(b"x,y"),
    "zstd": b"\x28\xb5\x2f\xfd\x04",
    "gzip twice": gzip.compress(gzip.compress(b"x,y\n")),
    "an old Office file": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
    "ORC": b"ORC\x11",
    "an Arrow": b"ARROW1\0\0",
    "a Feather": b"FEA1",
    "HDF5": b"\x89HDF\r\n\x1a\n",
    "a pickle": pickle.dumps(pd.DataFrame({"x": [1]})),
    "NumPy": b"\x93NUMPY\x01",
    "JSON": json.dumps([{"x": 1}]).encode(),
    "JSON;": b' {\n "x": 1}',
    "HTML": b"<!DOCTYPE html><p>log in</p>",
    "XML": b'<?xml version="1.0"?>',
    "a PDF": b"%PDF-1.7",
    "SPSS": b"$FL2@(#)",
    "Stata": b"<stata_dta>",
    "a binary": b"x,y\n\0\0\n",
    "an R": gzip.compress(b"RDX3\nX\n"),
    "Parquet, compressed": gzip.compress(b"PAR1"),
    "PyTorch|model of mbndt": (DATA / "model_0_1.pt").read_bytes(),
}


@pytest.mark.parametrize("what", FOREIGN)
def test_what_is_no_csv_is_named_with_a_way_out(tmp_path, what):
    path = tmp_path / "data.csv"
    path.write_bytes(FOREIGN[what])
    with pytest.raises(DataError, match=f"data.csv: .*({what})") as told:
        read_table(path)
    assert "\n" not in str(told.value)


def test_another_encoding_is_never_guessed_but_can_be_named(tmp_path):
    path = tmp_path / "data.csv"
    path.write_bytes("x,y\n1,a\n2,Müller\n".encode("cp1252"))
    with pytest.raises(
        DataError, match=r"not UTF-8 text at byte 11, line 3; if '2,Müller'.*cp1252"
    ):
        read_table(path)
    assert read_table(path, form=CsvFormat(encoding="cp1252")).column("y")[1] == "Müller"
    path.write_bytes(TEXT.encode("utf-16"))
    assert list(read_table(path, form=CsvFormat(encoding="utf-16")).column("y")) == ["é"]


def test_options_of_a_csv_are_refused_elsewhere(tmp_path):
    duckdb.sql("SELECT 1 AS x").write_parquet(str(tmp_path / "t.parquet"))
    with pytest.raises(OptionError, match=r"^missing: is for CSV, and .* is Parquet"):
        read_table(tmp_path / "t.parquet", form=CsvFormat(missing=("NA",)))


def through_fifo(tmp_path: Path, data: bytes, query: str | None = None) -> Table:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(data,), daemon=True)
    writer.start()
    try:
        return read_table(path, query)
    finally:
        writer.join(5)


BIG = "x,y\n" + "".join(f"{i},{i}\n" for i in range(100_000))


@pytest.mark.parametrize("packed", [str.encode, lambda text: gzip.compress(text.encode())])
def test_a_pipe_loses_no_row(tmp_path, packed):
    table = through_fifo(tmp_path, packed(BIG))
    assert table.n_rows == 100_000
    assert table.column("x")[0] == "0"


@pytest.mark.parametrize("kind", ["parquet", "duckdb", "sqlite"])
def test_a_file_that_needs_a_place_is_read_from_a_pipe_and_leaves_nothing(
    tmp_path, kind, monkeypatch
):
    path, query = tmp_path / f"t.{kind}", "SELECT * FROM t"
    if kind == "parquet":
        duckdb.sql("SELECT range AS x FROM range(30000)").write_parquet(str(path))
        query = None
    elif kind == "duckdb":
        with duckdb.connect(str(path)) as base:
            base.execute("CREATE TABLE t AS SELECT range AS x FROM range(30000)")
    else:
        with sqlite3.connect(path) as base:
            base.execute(
                "CREATE TABLE t AS WITH RECURSIVE r(x) AS (SELECT 0 UNION ALL SELECT"
                " x + 1 FROM r WHERE x < 29999) SELECT x FROM r"
            )
        base.close()
    spool = tmp_path / "spool"
    spool.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(spool))
    table = through_fifo(tmp_path, path.read_bytes(), query)
    assert (table.n_rows, table.source) == (30_000, str(tmp_path / "pipe"))
    (tmp_path / "pipe").unlink()
    with pytest.raises(DataError) as told:
        through_fifo(tmp_path, path.read_bytes()[:400], query)
    assert str(spool) not in str(told.value)
    assert not [*spool.iterdir()]


@pytest.mark.parametrize("name", ["model_0_1.pt", "rules_0_1.json", "example.rules.json"])
def test_a_model_comes_from_a_pipe_as_from_a_file(tmp_path, name):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    data = (DATA / name).read_bytes()
    threading.Thread(target=path.write_bytes, args=(data,), daemon=True).start()
    rules = load(path)
    assert rules == load(DATA / name)
    assert with_rules(path, rules) == rules.to_json().encode()
