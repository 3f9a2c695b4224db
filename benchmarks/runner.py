"""Runs of methods on sets and splits, each in a process of its own, kept in a CSV file."""

from __future__ import annotations

import argparse
import csv
import hashlib
import io
import json
import os
import resource
import sys
from collections.abc import Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import mbndt
from benchmarks import data
from benchmarks.figures import FIGURES
from benchmarks.methods import Method, fitted, ours

COLUMNS = (
    "set",
    "split",
    "method",
    "fingerprint",
    "code",
    "rows",
    *FIGURES,
    "peak_mb",
    "note",
    "options",
)
TEXTS = ("set", "method", "fingerprint", "code", "note", "options")
SPLITS = [0, 1, 2, 3, 4]

Record = dict[str, Any]


@dataclass(frozen=True)
class Run:
    """One fit: a method with its options on a set's split."""

    key: str
    split: int
    name: str
    method: Method

    @property
    def fingerprint(self) -> str:
        """Return a digest of what the method is run with."""
        text = json.dumps([self.method.run.__name__, self.method.options], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    @property
    def identity(self) -> tuple[str, int, str]:
        """Return what tells this run from others in the file of results, by whatever name."""
        return self.key, self.split, self.fingerprint


def parser(description: str | None, out: str) -> argparse.ArgumentParser:
    """Return a parser of the options that all benchmarks share."""
    made = argparse.ArgumentParser(description=description)
    made.add_argument("--data", type=Path, help="folder with MANIFEST.csv and the data sets")
    made.add_argument("--sets", default="all", help="ids as 55,27, or small, all, sklearn, bands")
    made.add_argument("--splits", default=SPLITS, type=_numbers, help="as 0,1,2")
    made.add_argument("--jobs", type=int, default=1, help="processes, one thread each")
    made.add_argument("--out", type=Path, default=Path(out))
    return made


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def run_all(
    keys: Iterable[str],
    splits: Iterable[int],
    methods: Mapping[str, Method],
    folder: Path | None,
    out: Path,
    jobs: int,
) -> list[Record]:
    """Run what the results in `out` lack; return the records of all."""
    keys, splits = list(keys), list(splits)
    out.mkdir(parents=True, exist_ok=True)
    file = out / "results.csv"
    sizes = _sizes(keys, folder)
    todo = []
    for name, method in methods.items():
        if not method.available:
            say(f"skipped: {name}: the package {method.package} is not installed")
            continue
        for key in keys:
            if sizes[key] > method.most:
                say(f"skipped: {name} on {data.name_of(key)}: over {method.most:,} rows")
            else:
                todo += [Run(key, split, name, fitted(method, key)) for split in splits]
    code()  # of now: what is changed while runs go on is not theirs
    records = _run(file, [run for run in todo if run.method.like is None], folder, jobs)
    leaves = {(r["set"], r["split"], r["method"]): int(r["leaves"]) for r in records}
    like = []
    for run in (run for run in todo if run.method.like is not None):
        count = leaves.get((run.key, run.split, run.method.like))
        if count is None:
            say(f"skipped: {run.name} on {data.name_of(run.key)}: {run.method.like} has not run")
            continue
        options = {**run.method.options, "max_leaf_nodes": max(2, count)}
        like.append(Run(run.key, run.split, run.name, Method(run.method.run, options)))
    records += _run(file, like, folder, jobs)
    older = sum(record["code"] not in ("", code()) for record in records)
    if older:
        say(f"{older} results are of other code of mbndt than today's: another --out runs anew")
    return records


@cache
def code() -> str:
    """Return a digest of the learner's code."""
    texts = [file.read_bytes() for file in sorted(Path(mbndt.__file__).parent.rglob("*.py"))]
    return hashlib.sha256(b"".join(texts)).hexdigest()[:12]


def _sizes(keys: list[str], folder: Path | None) -> dict[str, int]:
    entries = data.manifest(folder) if folder else {}
    return {key: int(entries[key]["rows"]) if key in entries else 0 for key in keys}


def _run(file: Path, runs: list[Run], folder: Path | None, jobs: int) -> list[Record]:
    known = {(r["set"], r["split"], r["fingerprint"]): r for r in _read(file)}
    missing = [run for run in runs if run.identity not in known]
    # A process a run, so that its peak of memory is the run's; forked where all is imported.
    context = get_context("forkserver")
    context.set_forkserver_preload(["benchmarks.methods"])
    with ProcessPoolExecutor(jobs, context, max_tasks_per_child=1) as pool:
        futures = {pool.submit(_record, run, folder): run for run in missing}
        for count, future in enumerate(as_completed(futures), 1):
            run = futures[future]
            where = f"{run.name} on {data.name_of(run.key)}, split {run.split}"
            try:
                record = future.result()
            except Exception as error:  # one run's failure leaves the others
                say(f"failed: {where}: {type(error).__name__}: {error}")
                continue
            record["code"] = code() if run.method.run is ours else ""
            _append(file, record)
            known[run.identity] = record
            say(
                f"{count}/{len(missing)} {where}: {record['score']:.4f},"
                f" {record['cpu_seconds']:.2f} s {record['note']}"
            )
    return [{**known[run.identity], "method": run.name} for run in runs if run.identity in known]


def _record(run: Run, folder: Path | None) -> Record:
    train, test = data.parts(run.key, run.split, folder)
    figures = run.method.run(train, test, run.split, **run.method.options)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # Linux counts in KiB, macOS in bytes.
    peak_mb = peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)
    return {
        "set": run.key,
        "split": run.split,
        "method": run.name,
        "fingerprint": run.fingerprint,
        "rows": train.n_rows + test.n_rows,
        "peak_mb": round(peak_mb),
        "options": json.dumps(run.method.options, sort_keys=True),
        **figures,
    }


def _append(file: Path, record: Record) -> None:
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    if not file.exists():
        writer.writeheader()
    writer.writerow(record)
    # One write, so that a line is there as a whole or not at all.
    handle = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(handle, text.getvalue().encode())
    finally:
        os.close(handle)


def _read(file: Path) -> list[Record]:
    if not file.exists():
        return []
    with file.open(newline="") as lines:
        return [_typed(row) for row in csv.DictReader(lines)]


def _typed(row: dict[str, str]) -> Record:
    return {
        name: int(text) if name == "split" else text if name in TEXTS else float(text)
        for name, text in row.items()
    }


def say(text: str) -> None:
    """Tell about progress."""
    print(text, file=sys.stderr, flush=True)
