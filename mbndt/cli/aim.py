"""The options that say what answers are for, as texts of the command line."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from mbndt.errors import OptionError, shown
from mbndt.learning.aim import Aim


def read_aim(
    event: str | None,
    act_at: float | None,
    cost: str | None,
    prevalence: str | None,
    monotone: str | None,
) -> Aim:
    """Return what the options say; raises `OptionError` that names the one that can't be read."""
    return Aim(
        event,
        act_at,
        None if cost is None else _costs(cost),
        None if prevalence is None else _shares(prevalence),
        None if monotone is None else _signs(monotone),
    )


def _costs(text: str) -> dict[str, Any]:
    if "=" not in text:
        return _cost_file(Path(text))
    found: dict[str, Any] = {}
    for name, number in _pairs("cost", text):
        truth, arrow, answer = name.partition(">")
        if arrow:
            found.setdefault(truth, {})[answer] = number
        else:
            found[name] = number
    return found


def _cost_file(path: Path) -> dict[str, Any]:
    """Return the costs of a CSV file: a row a true class, a column an answer."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            header, *rows = [row for row in csv.reader(file) if row]
    except (OSError, ValueError):
        raise OptionError(
            f"cost: got {shown(str(path))}, expected missed=10,false=1, or the name of a CSV file"
        ) from None
    found: dict[str, Any] = {}
    for row in rows:
        if len(row) != len(header):
            raise OptionError(f"cost: {path}: {len(row)} cells, expected {len(header)}")
        found[row[0]] = {
            answer: _number("cost", cell)
            for answer, cell in zip(header[1:], row[1:], strict=True)
            if cell.strip()
        }
    return found


def _shares(text: str) -> float | dict[str, float]:
    return dict(_pairs("prevalence", text)) if "=" in text else _number("prevalence", text)


def _signs(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, sign in _parts("monotone", text, "NAME=+ or NAME=-"):
        if found.setdefault(name, sign) != sign:
            raise OptionError(f"monotone: {name}: got + and -, expected one of them")
    return found


def _pairs(option: str, text: str) -> list[tuple[str, float]]:
    return [(name, _number(option, value)) for name, value in _parts(option, text, "NAME=NUMBER")]


def _parts(option: str, text: str, expected: str) -> list[tuple[str, str]]:
    """Return names and values of NAME=VALUE,…; a name may hold `=`, the value can't."""
    found = []
    for part in text.split(","):
        name, equals, value = part.rpartition("=")
        if not equals or not name:
            raise OptionError(f"{option}: got {shown(part)}, expected {expected}")
        found.append((name.strip(), value.strip()))
    return found


def _number(option: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise OptionError(f"{option}: got {shown(text)}, expected a number") from None
