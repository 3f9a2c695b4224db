"""The command line, called in this process."""

import csv
import sys
from pathlib import Path

import pytest
from drawn_tables import mixed_table

from mbndt.cli import main as cli


def caller(monkeypatch, capsysbinary):
    """Return what runs the command line, and gives its exit code, stdout and stderr."""

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


def failed(outcome: tuple[int, str, str], *words: str) -> None:
    code, out, err = outcome
    assert code == 2
    assert out == ""
    assert err.startswith("mbndt: error: ")
    assert err.count("\n") == 1
    assert len(err) <= 2001
    for word in words:
        assert word in err
