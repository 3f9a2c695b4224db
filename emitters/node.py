"""Node and packages of npm, in which some targets run; where they are found, and how installed."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mbndt.errors import EngineFailed, EngineMissing
from mbndt.rules import Label, Rules, TargetType

if TYPE_CHECKING:
    from mbndt.interpreter import Predictions

# Node looks for packages beside the script that asks, so it is asked where this folder's stand;
# `createRequire` minds NODE_PATH too.
FIND = """
const { createRequire } = require("node:module");
const { pathToFileURL } = require("node:url");
const fs = require("node:fs"), path = require("node:path");
const found = JSON.parse(fs.readFileSync(0, "utf8")).map((name) => {
  let file;
  try {
    file = createRequire(path.join(process.cwd(), "x.js")).resolve(name);
  } catch {
    return null;
  }
  let folder = path.dirname(file);
  for (; ; folder = path.dirname(folder)) {
    const manifest = path.join(folder, "package.json");
    const own = fs.existsSync(manifest) ? JSON.parse(fs.readFileSync(manifest)) : {};
    if (own.name === name) return [pathToFileURL(file).href, own.version];
    if (folder === path.dirname(folder)) return null;
  }
});
console.log(JSON.stringify(found));
"""


@dataclass(frozen=True)
class Package:
    """A package of npm that is installed: its name, version, and the URL of its main module."""

    name: str
    version: str
    url: str

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


@cache
def node_version() -> str:
    """Return Node's version; raises `EngineMissing` where there is none."""
    return f"Node {run_node('--version').strip().removeprefix('v')}"


def run_node(*arguments: str, stdin: str = "", folder: str | None = None) -> str:
    """Return what Node prints; raises `EngineMissing` without Node, `EngineFailed` on an error."""
    node = shutil.which("node")
    if node is None:
        raise EngineMissing("no node on PATH: install Node.js 16.9 or later")
    done = subprocess.run(
        [node, *arguments], input=stdin.encode(), capture_output=True, cwd=folder, check=False
    )
    if done.returncode:
        raise EngineFailed(f"node: {done.stderr.decode(errors='replace').strip()[-500:]}")
    return done.stdout.decode()


def packages(wanted: Mapping[str, str]) -> list[Package]:
    """Return packages, by name with the version to install, from this folder's or NODE_PATH's.

    Another version that is installed is taken as it is. Raises `EngineMissing` with the command
    that installs those that lack.
    """
    return list(_packages(tuple(wanted.items()), Path.cwd()))


@cache
def _packages(wanted: tuple[tuple[str, str], ...], _folder: Path) -> tuple[Package, ...]:
    found = json.loads(run_node("-e", FIND, stdin=json.dumps([name for name, _ in wanted])))
    lacking = [pinned for pinned, entry in zip(wanted, found, strict=True) if entry is None]
    if lacking:
        names = " and ".join(name for name, _ in lacking)
        command = " ".join(f"{name}@{version}" for name, version in lacking)
        raise EngineMissing(
            f"no npm package {names} in node_modules here or in NODE_PATH: npm install {command}"
        )
    pairs = zip(wanted, found, strict=True)
    return tuple(Package(name, version, url) for (name, _), (url, version) in pairs)


def ask(driver: Path, installed: list[Package], question: Mapping[str, object]) -> Any:
    """Return a driver's answer, JSON for JSON; it is told the URLs of packages by their names."""
    urls = {package.name: package.url for package in installed}
    said = json.dumps({"packages": urls, **question}, allow_nan=False)
    return json.loads(run_node(str(driver), stdin=said))


def answers_of(rules: Rules, rows: Sequence[Mapping[str, Any]]) -> Predictions:
    """Return what rows of an engine say by name: prediction, leaf, and the blocks by class."""
    import numpy as np

    from mbndt.interpreter import Predictions

    whole = rules.target.type == TargetType.INTEGER and rules.task == "classification"
    blocks = {
        block: np.array(
            [[row[f"{block}_{i}"] for i in range(len(rules.target.classes))] for row in rows],
            np.float64,
        ).reshape(len(rows), len(rules.target.classes))
        for block in rules.outputs
    }
    leaf = np.array([row["leaf"] for row in rows], np.int64)
    labels = [_label(row["prediction"], whole) for row in rows]
    return Predictions(leaf, labels, blocks)


def _label(value: Any, whole: bool) -> Label | float | None:
    """Return a label as Python has it; JSON from JavaScript writes 2.0 as 2."""
    if isinstance(value, str | bool) or value is None:
        return value
    return int(value) if whole else float(value)
