"""Run C headers: rows as binary structs in, answers as bytes out, by the system's C compiler."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any, TypeAlias

from mbndt.emitters.c.numbers import NO_VALUE, Format
from mbndt.errors import EngineFailed, EngineMissing, TargetError, shown
from mbndt.rules import INT64_MAX, INT64_MIN, Feature, FeatureType, Label

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from mbndt.interpreter import Predictions
    from mbndt.tables.table import Column, Table

    Array: TypeAlias = npt.NDArray[Any]

COMPILERS = ("cc", "gcc", "clang")
DTYPES = {
    "double": "f8",
    "float": "f4",
    "int64_t": "i8",
    "int32_t": "i4",
    "int16_t": "i2",
    "int8_t": "i1",
    "uint16_t": "u2",
}
# Any number but -1 and the indexes of categories.
UNSEEN = -2


def compiler() -> list[str]:
    """Return the command of the C compiler; raises `EngineMissing` where there is none."""
    import os
    import shlex
    import shutil

    if given := shlex.split(os.environ.get("CC", "")):
        return given
    for name in COMPILERS:
        if shutil.which(name):
            return [name]
    raise EngineMissing("no C compiler: install gcc or clang, or name one in CC")


def call(command: list[str], folder: str | None = None) -> tuple[int, str]:
    """Return the status and the text of a compiler call; raises `EngineMissing` if it can't run."""
    import subprocess

    try:
        made = subprocess.run(
            command,
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except OSError as error:
        raise EngineMissing(f"C compiler {shown(command[0])}: {error.strerror}") from None
    return made.returncode, made.stdout.decode(errors="replace")


def execute(header: str, driver: str, rows: bytes) -> bytes:
    """Return what the driver writes about the rows."""
    import subprocess
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "rules.h").write_text(header, "ascii")
        (folder / "driver.c").write_text(driver, "ascii")
        (folder / "rows").write_bytes(rows)
        build = [*compiler(), "-std=c99", "-O1", "driver.c", "-o", "driver"]
        status, said = call(build, name)
        if status:
            raise EngineFailed(f"{build[0]} refuses the header: {said}")
        subprocess.run([str(folder / "driver")], cwd=folder, check=True)
        return (folder / "answers").read_bytes()


def structs(form: Format, table: Table) -> npt.NDArray[np.void]:
    """Return a table's rows as the structs that the header reads, [n].

    Features that the rules don't use are missing. Raises `DataError` for a table that doesn't fit,
    `TargetError` for an integer that C keeps for missing values.
    """
    import numpy as np

    from mbndt.tables.table import Column

    features = form.rules.features
    types = [(f"f{i}", DTYPES[form.type(feature)]) for i, feature in enumerate(features)]
    rows = np.zeros(table.n_rows, np.dtype(types or [("unused", "u1")], align=True))
    nothing = Column(np.zeros(table.n_rows, np.int64), np.ones(table.n_rows, np.bool_))
    for i, feature in enumerate(features):
        column = table.typed(feature) if feature in form.rules.used else nothing
        rows[f"f{i}"] = _stored(form, feature, column)
    return rows


def _stored(form: Format, feature: Feature, column: Column) -> Array:
    """Return a column as its C type stores it."""
    import numpy as np

    kind, values, missing = form.type(feature), column.values, column.missing
    sentinel = -1.0
    if feature.type == FeatureType.CATEGORY:
        values = np.where(values < 0, UNSEEN, values)
    elif form.number.high and feature.type.numeric:
        values, sentinel = _fixed(form, feature, column), -form.number.high - 1
    elif kind == "int64_t":
        sentinel = INT64_MIN
        if np.any(taken := (values == INT64_MIN) & ~missing):
            raise TargetError(
                f"column {shown(feature.name)}, row {int(np.argmax(taken)) + 1}: {INT64_MIN}"
                " stands for a missing value in C"
            )
    elif feature.type.numeric:
        sentinel = math.nan
    with np.errstate(over="ignore"):
        found: Array = values.astype(DTYPES[kind])
    found[missing] = sentinel
    return found


def _fixed(form: Format, feature: Feature, column: Column) -> Array:
    """Return numbers as integers at the feature's scale.

    Each is the greatest that stands for no more than the number, or the nearer end of the range.
    """
    import numpy as np

    scale, high = form.scales[feature.name], form.number.high
    if feature.type == FeatureType.INTEGER:
        end = high // scale
        whole: Array = np.clip(column.values, -end, end) * scale
        return whole
    kind = np.float32 if feature.type == FeatureType.FLOAT32 else np.float64
    near = np.clip(np.where(column.missing, 0.0, column.values), -high - 1.0, high + 1.0)
    found = np.floor(near * scale)
    found = np.where(((found + 1) / scale).astype(kind) <= near, found + 1, found)
    found = np.where((found / scale).astype(kind) > near, found - 1, found)
    fixed: Array = np.clip(found, -high, high)
    return fixed


def as_stored(form: Format, table: Table) -> Table:
    """Return the table of the values that the stored ones stand for."""
    from mbndt.tables.table import Table

    columns: dict[str, list[object]] = {}
    for feature in form.rules.used:
        if feature.type.numeric:
            stored = _stored(form, feature, table.typed(feature)).tolist()
            columns[feature.name] = [_meaning(form, feature, value) for value in stored]
        else:
            columns[feature.name] = [row[feature.name] for row in table.records([feature])]
    return Table.of(columns) if columns else Table({}, table.n_rows)


def _meaning(form: Format, feature: Feature, stored: float) -> float | None:
    if math.isnan(stored) or (form.number.high and stored < -form.number.high):
        return None
    scale = form.scales.get(feature.name, 1)
    if feature.type == FeatureType.INTEGER:
        return min(int(stored) // scale, INT64_MAX)
    return stored / scale


def answers(form: Format, texts: list[str], data: bytes) -> Predictions:
    """Return the answers that the driver wrote. `texts` are the labels as they should read; one
    that doesn't comes back as what it is, which equals no label.
    """
    import numpy as np

    from mbndt.interpreter import Predictions

    classes, offset = form.rules.target.classes, 0
    labels: list[Label | float | None] = []
    for label, text in zip(classes, texts, strict=True):
        size = int.from_bytes(data[offset : offset + 8], sys.byteorder)
        read = data[offset + 8 : offset + 8 + size]
        labels.append(label if read == text.encode() else repr(read))
        offset += 8 + size
    result = DTYPES[form.number.proba if classes else form.number.value]
    told = form.rules.outputs
    shape = (len(told) or 1, len(classes) or 1)
    kind = np.dtype([("leaf", "i4"), ("class", "i4"), ("results", result, shape)])
    found = np.frombuffer(data, kind, offset=offset)
    results = found["results"].astype(np.float64)
    leaf, divisor = found["leaf"].astype(np.int64), form.results()[1]
    if not classes:
        return Predictions(leaf, values_of(results[:, 0], divisor))
    outputs = {name: results[:, i] / divisor for i, name in enumerate(told)}
    # -1 is no class.
    return Predictions(leaf, [[*labels, None][c] for c in found["class"].tolist()], outputs)


def values_of(results: Array, divisor: int) -> list[Label | float | None]:
    """Return values [n] as they are in their unit; None where there is no answer."""
    numbers: list[float] = results[:, 0].tolist()
    return [None if x != x or x == NO_VALUE else x / divisor for x in numbers]
