"""The first sentence of every docstring fits its line, as editors and references show no more."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import mbndt

PACKAGE = Path(mbndt.__file__).parent
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def python_files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            yield from python_files(path)
        elif path.suffix == ".py":
            yield path


def first_lines(path: Path) -> Iterator[tuple[str, str]]:
    """Yield where each docstring of a file stands, and its first line."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, DOCUMENTED) and (text := ast.get_docstring(node)):
            name = getattr(node, "name", "module")
            yield f"{path.relative_to(PACKAGE)}: {name}", text.splitlines()[0]


def ends_its_sentence(line: str) -> bool:
    return re.search(r"[.?!…](\s|$)", line) is not None


def test_each_first_line_ends_its_sentence():
    running_over = [
        f"{where}: {line}"
        for path in python_files(PACKAGE)
        for where, line in first_lines(path)
        if not ends_its_sentence(line)
    ]
    assert not running_over, "\n".join(running_over)
