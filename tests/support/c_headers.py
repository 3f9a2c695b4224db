"""C headers, compiled by the compilers that are here."""

import shutil
import subprocess

from mbndt.emitters import emitter
from mbndt.rules import (
    Feature,
    FeatureType,
    Interval,
    Leaf,
    NumericSplit,
    Rules,
    Target,
    TargetType,
)
from mbndt.tables.table import Table

FLAGS = [
    "-Wall",
    "-Wextra",
    "-Wpedantic",
    "-Wconversion",
    "-Wdouble-promotion",
    "-Wfloat-equal",
    "-Werror",
]


COMMANDS = {
    "c": [["gcc", "-std=c99", "-Wmissing-prototypes"], ["clang", "-std=c99"]],
    "cpp": [["g++", "-std=c++11"], ["clang++", "-std=c++11"]],
}


def build(folder, headers, code="", language="c", flags=(), command=None):
    """Compile code that includes headers; return what the compiler says, "" for nothing."""
    for i, header in enumerate(headers):
        (folder / f"h{i}.h").write_text(header, "ascii")
    lines = [f'#include "h{i}.h"' for i in range(len(headers))]
    (folder / f"code.{language}").write_text("\n".join([*lines, code, ""]))
    end = ["-o", "program"] if "main(" in code else ["-fsyntax-only"]
    said = ""
    for start in [command] if command else COMMANDS[language]:
        if shutil.which(start[0]):
            full = [*start, *FLAGS, *flags, f"code.{language}", *end]
            said += subprocess.run(full, cwd=folder, capture_output=True, text=True).stderr
    return said


def printed(folder, headers, code):
    """Return the lines that a program prints."""
    main = "#include <stdio.h>\nint main(void)\n{\n" + code + "\nreturn 0;\n}"
    assert build(folder, headers, main) == ""
    found = subprocess.run([folder / "program"], capture_output=True, check=True).stdout
    return found.decode().split("\n")[:-1]


def one_split(intervals, type_=FeatureType.FLOAT64, missing=0, name="one split"):
    """Return rules of one split into as many leaves as there are intervals."""
    size = len(intervals) + 1
    parts = tuple(Interval(t, i) for i, t in enumerate([*intervals, None]))
    leaves = tuple(Leaf(i, (i / size, 1 - i / size)) for i in range(size))
    target = Target("y", TargetType.BOOLEAN, (True, False))
    return Rules(name, target, (Feature("x", type_),), NumericSplit("x", parts, missing, leaves))


def values(*numbers, type_=TargetType.FLOAT64):
    """Return a regression with the given leaves."""
    parts = tuple(Interval(float(i), i) for i in range(1, len(numbers)))
    leaves = tuple(Leaf(i, v) for i, v in enumerate(numbers))
    root = NumericSplit("x", (*parts, Interval(None, 0)), 0, leaves) if parts else leaves[0]
    return Rules("values", Target("y", type_), (Feature("x", FeatureType.FLOAT64),), root)


def leaves_in_c(rules, columns, **options):
    tool = emitter("c", **options)
    return tool.run(tool.emit(rules), Table.of(columns)).leaf.tolist()
