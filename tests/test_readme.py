"""The README and the pages of docs/ say what really happens: their blocks are run and compared.

Run are blocks of `python`, and the lines of `console` blocks that start with `$ `; what a `console`
block prints stands in it, what a `python` block prints in the `text`, `sql` or other block right
behind it. A block with `title="file"` is written to that file. Pages start in the folder that the
quickstart leaves behind.

    python tests/test_readme.py          # writes what is printed today into the pages
"""

import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from warnings import catch_warnings, simplefilter

import pytest

ROOT = Path(__file__).parent.parent
START = "docs/quickstart.md"
PAGES = (
    "README.md",
    *(
        f"docs/{name}.md"
        for name in (
            "databases",
            "devices",
            "wards",
            "data-scientists",
            "rules-format",
            "validation",
        )
    ),
)
BLOCK = re.compile(r"^```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINES = 120


@dataclass(frozen=True)
class Spot:
    """What is run, by Python or the shell, what the page says that it prints, and where (None: it
    may print nothing).
    """

    code: str
    by_shell: bool
    said: str
    start: int | None = None
    end: int | None = None


def spots(page: str, folder: Path) -> Iterator[Spot]:
    """Yield what a page wants run, in its order; writes the files that it shows."""
    blocks = list(BLOCK.finditer(page))
    for i, block in enumerate(blocks):
        language, title, body = block.groups()
        if title:
            (folder / title).write_text(body)
        elif language == "python":
            after = blocks[i + 1] if i + 1 < len(blocks) else None
            shows = after and not page[block.end() : after.start()].strip() and not after[2]
            shows = shows and after[1] not in ("python", "console", "sh")
            place = after.span(3) if shows else (None, None)
            yield Spot(body, False, after[3] if shows else "", *place)
        elif language == "console":
            for call in re.finditer(r"^\$ ((?:.*\\\n)*.*\n)((?:(?!\$ ).*\n)*)", body, re.MULTILINE):
                start, end = (block.start(3) + place for place in call.span(2))
                yield Spot(call[1], True, call[2], start, end)


def printed(spot: Spot, folder: Path) -> str:
    """Return what a spot prints, errors and notes too."""
    said = by_shell(spot.code, folder) if spot.by_shell else by_python(spot.code, folder)
    return "".join(f"{line.rstrip()}\n" for line in said.splitlines())


def by_python(code: str, folder: Path) -> str:
    # Here and not in a process of its own, as torch takes long to import.
    with redirect_stdout(io.StringIO()) as out, chdir(folder), catch_warnings():
        simplefilter("error")
        exec(compile(code, "<page>", "exec"), {"__name__": "page"})
    return out.getvalue()


def by_shell(code: str, folder: Path) -> str:
    (folder / "bin").mkdir(exist_ok=True)
    for name, words in (("mbndt", "-m mbndt"), ("python", "")):
        program = folder / "bin" / name
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
        program.chmod(0o755)
    path = os.pathsep.join([str(folder / "bin"), os.environ["PATH"]])
    python = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run(
        ["bash", "-c", code],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        env={**os.environ, "PATH": path, "PYTHONPATH": python},
    ).stdout


def test_the_readme_fits_two_screens():
    assert len((ROOT / "README.md").read_text().splitlines()) <= LINES


@pytest.fixture(scope="module")
def started(tmp_path_factory):
    """Return the folder that the quickstart leaves behind, and what differed on its page."""
    folder = tmp_path_factory.mktemp("quickstart")
    return folder, differing(START, folder)


def differing(name: str, folder: Path) -> list[tuple[str, str, str]]:
    """Return commands of a page with what stands there and what they print, where these differ."""
    found = []
    for spot in spots((ROOT / name).read_text(), folder):
        if (now := printed(spot, folder)) != spot.said:
            found.append((spot.code, spot.said, now))
    return found


@pytest.mark.parametrize("name", [START, *PAGES])
def test_pages_print_what_they_say(name, started, tmp_path):
    folder, differs = started
    if name != START:
        shutil.copytree(folder, tmp_path / "run")
        differs = differing(name, tmp_path / "run")
    for command, said, now in differs:
        pytest.fail(
            f"{name}: {command}\nstands there as\n{said}\nbut prints\n{now}\n"
            "If that is right: python tests/test_readme.py"
        )


def renew(name: str, folder: Path) -> None:
    """Write what its commands print into a page."""
    page = (ROOT / name).read_text()
    changes = []
    for spot in spots(page, folder):
        now = printed(spot, folder)
        if spot.start is not None:
            changes.append((spot.start, spot.end, now))
        elif now:
            sys.exit(f"{name}: {spot.code}\nprints what has no place on the page:\n{now}")
    for start, end, now in reversed(changes):
        page = page[:start] + now + page[end:]
    (ROOT / name).write_text(page)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        start = Path(folder, "quickstart")
        start.mkdir()
        renew(START, start)
        for i, name in enumerate(PAGES):
            shutil.copytree(start, Path(folder, str(i)))
            renew(name, Path(folder, str(i)))


if __name__ == "__main__":
    main()
