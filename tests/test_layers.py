"""The walls of the house (`docs/architecture.md`): imports go down, never up or round."""

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import mbndt

PACKAGE = Path(mbndt.__file__).parent
# From the ground up: a room may look into its own and those before it.
ROOMS = [
    "_version",
    "errors",
    "extras",
    "arrays",
    "options",
    "files",
    "rules",
    "tables",
    "interpreter",
    "measures",
    "emitters",
    "importers",
    "learning",
    "conformance",
    "validation",
    "rounding",
    "checkpoint",
    "spark",
    "estimator",
    "api",
    "cli",
]
# The public names, and the methods of `Rules` that lead out of it.
MAY_LOOK_UP = {"mbndt", "mbndt.__main__", "mbndt.rules.doors"}


def modules() -> dict[str, Path]:
    found = {}
    for path in _files(PACKAGE):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        found[".".join(["mbndt", *(part for part in parts if part != "__init__")])] = path
    return found


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            yield from _files(path)
        elif path.suffix == ".py":
            yield path


def imports(path: Path, known: dict[str, Path]) -> set[str]:
    """Return the package's modules that a file imports, anywhere but for type checkers alone."""
    found = set()
    work: list[ast.AST] = [ast.parse(path.read_text())]
    while work:
        node = work.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("mbndt"):
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in known else node.module for name in inner}
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name in known}
        work.extend(ast.iter_child_nodes(node))
    return found


def graph() -> dict[str, set[str]]:
    known = modules()
    return {name: imports(path, known) - {name} for name, path in known.items()}


def room(module: str) -> str:
    return module.split(".")[1] if "." in module else module


def test_every_room_is_drawn():
    drawn = {*ROOMS, "mbndt", "__main__", "templates"}
    assert {room(name) for name in modules()} <= drawn


def test_no_room_looks_up():
    up = [
        f"{name} -> {other}"
        for name, others in graph().items()
        if name not in MAY_LOOK_UP
        for other in sorted(others)
        if other != "mbndt" and ROOMS.index(room(other)) > ROOMS.index(room(name))
    ]
    assert not up


def test_no_file_imports_itself_round_a_circle():
    edges = {name: others for name, others in graph().items() if name not in MAY_LOOK_UP}
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        raise AssertionError(" -> ".join(error.args[1])) from None
