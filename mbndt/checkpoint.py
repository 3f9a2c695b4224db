"""`model.pt`: weights and rules in one zip, and no pickle on the way to the rules.

The file is the zip that `torch.save` writes (tensors and plain values only, so that
`torch.load(weights_only=True)` reads it) with one more record, the rules' JSON, whose name ends in
`/mbndt/rules.json`. Everything but learning reads that record alone, with `zipfile`.
"""

from __future__ import annotations

import io
import pickle
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from mbndt.errors import CheckpointError, RulesError
from mbndt.files import write_whole
from mbndt.rules import Rules
from mbndt.rules.json import MAX_BYTES

if TYPE_CHECKING:
    from mbndt.learning.model import Model

RECORD = "/mbndt/rules.json"
FORMAT = "mbndt-model"


def load(path: str | Path) -> Rules:
    """Return the rules of a model file or of a rules JSON file, told apart by their content.

    Raises `CheckpointError` for a file that can't be read, `RulesError` for rules that break the
    contract; both name the file. Nothing in the file is executed.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            # A pipe is read once, and can't be searched for the parts of a zip.
            content = file if file.seekable() else io.BytesIO(file.read())
            if content.read(4) == b"PK\x03\x04":
                return Rules.from_json(_rules_record(path, content))
            size = content.seek(0, io.SEEK_END)
            if size > MAX_BYTES:
                raise CheckpointError(
                    f"{path}: {size} bytes, expected a model or rules of at most {MAX_BYTES}"
                )
            content.seek(0)
            return Rules.from_json(content.read())
    except OSError as error:
        raise CheckpointError(f"{path}: {error.strerror or error}") from None
    except RulesError as error:
        raise RulesError(f"{path}: {error}") from None


def _rules_record(path: Path, content: IO[bytes]) -> bytes:
    with _opened(path, content) as archive, archive.open(_rules_entry(path, archive)) as record:
        text = record.read(MAX_BYTES + 1)
    if len(text) > MAX_BYTES:
        raise CheckpointError(f"{path}: rules of more than {MAX_BYTES} bytes")
    return text


@contextmanager
def _opened(path: Path, content: IO[bytes]) -> Iterator[zipfile.ZipFile]:
    """Open a model file; whatever a damaged one raises becomes a `CheckpointError`."""
    try:
        with zipfile.ZipFile(content) as archive:
            yield archive
    except CheckpointError:
        raise
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        NotImplementedError,
        RuntimeError,
        UnicodeDecodeError,
        ValueError,
    ) as error:
        raise CheckpointError(f"{path}: damaged: {str(error) or 'cut off'}") from None


def _rules_entry(path: Path, archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    found = [entry for entry in archive.infolist() if entry.filename.endswith(RECORD)]
    if len(found) != 1:
        raise CheckpointError(
            f"{path}: {len(found)} records named *{RECORD}, expected one: not a model of mbndt"
        )
    if found[0].compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise CheckpointError(f"{path}: damaged: an unknown method of compression")
    return found[0]


def with_rules(path: Path, rules: Rules) -> bytes:
    """Return the content of a model file, or rules JSON, with other rules in the place of its own.

    For what came from a pipe, it is rules JSON. Raises `CheckpointError` for a damaged model file.
    """
    if not path.is_file():  # what came from a pipe is gone
        return rules.to_json().encode()
    memory = io.BytesIO()
    with path.open("rb") as file:
        if file.read(4) != b"PK\x03\x04":
            return rules.to_json().encode()
        with _opened(path, file) as old, zipfile.ZipFile(memory, "w") as new:
            own = _rules_entry(path, old)
            for entry in old.infolist():
                new.writestr(entry, rules.to_json() if entry is own else old.read(entry))
    return memory.getvalue()


def save(model: Model, path: str | Path) -> None:
    """Write a model file, whole or not at all; raises `OutputError` that names it."""
    write_whole(Path(path), model_bytes(model))


def model_bytes(model: Model) -> bytes:
    """Return the content of a model file; the same model gives the same bytes."""
    # Through memory, as torch names the zip's folder after the file it writes to.
    memory = io.BytesIO()
    if model.network is None:
        _save_plain(_plain(model), memory)
    else:
        import torch

        torch.save(_plain(model), memory)
    with zipfile.ZipFile(memory, "a") as archive:
        folder = archive.infolist()[0].filename.split("/")[0]
        # A ZipInfo of our own has a fixed date.
        archive.writestr(zipfile.ZipInfo(folder + RECORD), model.rules.to_json())
    return memory.getvalue()


def _save_plain(content: dict[str, Any], memory: io.BytesIO) -> None:
    """Write what `torch.save` writes of plain values, so that refining does without torch."""
    records = {
        "data.pkl": pickle.dumps(content, protocol=2),  # the one that torch reads
        "byteorder": b"little",
        "version": b"3\n",
    }
    with zipfile.ZipFile(memory, "w") as archive:
        for name, record in records.items():
            archive.writestr(zipfile.ZipInfo(f"archive/{name}"), record)


def _plain(model: Model) -> dict[str, Any]:
    """Return all of a model as tensors and plain values."""
    from mbndt._version import __version__

    network = model.network
    columns = model.encoder.columns if network and model.encoder else ()
    return {
        "format": FORMAT,
        "version": 1,
        "mbndt": __version__,
        "settings": asdict(model.settings),
        "weights": {} if network is None else _tensors(network),
        "encoder": [_column(c) for c in columns],
        "history": list(model.history),
        "evidence": dict(model.evidence),
        "moved": model.moved,
        "objective": model.objective,
        "starts": [list(pair) for pair in model.starts],
    }


def _tensors(network: Any) -> dict[str, Any]:
    import torch

    fields = ("chosen", "cuts", "widths", "masks", "leaves")
    return {name: torch.from_numpy(getattr(network, name)) for name in fields}


def _column(column: Any) -> dict[str, Any]:
    import torch

    found: dict[str, Any] = {"feature": column.feature.name}
    for name, value in vars(column).items():
        if name == "ranks":
            found["numbers"] = torch.from_numpy(value.numbers)
            found["scores"] = torch.from_numpy(value.scores)
        elif name != "feature":
            found[name] = value if isinstance(value, float) else torch.from_numpy(value)
    return found
