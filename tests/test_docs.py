"""The site: whole, built strictly, and nothing in it fetched from elsewhere."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from mbndt.cli.main import app

ROOT = Path(__file__).parent.parent
COMMANDS = get_command(app).commands


@pytest.fixture(scope="module")
def reference():
    """Return the reference of the command line, a section a command."""
    spec = importlib.util.spec_from_file_location("hooks", ROOT / "docs" / "hooks.py")
    hooks = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hooks)
    page = hooks.on_page_markdown((ROOT / "docs" / "cli.md").read_text())
    assert hooks.MARK not in page
    sections = re.split(r"^## mbndt (.+)$", page, flags=re.MULTILINE)
    return dict(zip(sections[1::2], sections[2::2], strict=True))


def test_every_command_is_in_the_reference(reference):
    assert reference.keys() == COMMANDS.keys()


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_in_the_reference(name, reference):
    for parameter in COMMANDS[name].params:
        if parameter.param_type_name == "argument":
            assert f"| `{parameter.name.upper()}` | {parameter.help}" in reference[name]
            continue
        line = rf"^\| `[^`]*{re.escape(parameter.opts[-1])}[ `/][^|]*\|(.*)\|$"
        (said,) = re.findall(line, reference[name], re.MULTILINE)
        assert not parameter.help or parameter.help.split()[0] in said
        assert all(option in reference[name] for option in parameter.secondary_opts)


def test_every_page_is_in_the_navigation_and_the_readme_leads_to_pages_that_are_there():
    listed = re.findall(r": (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(path.name for path in ROOT.glob("docs/*.md"))
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"):
        for link in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            assert (ROOT / link).exists(), f"{page.name}: {link}"


def test_the_site_builds_strictly_and_fetches_nothing(tmp_path):
    pytest.importorskip("mkdocs", reason="mkdocs isn't installed: pip install 'mbndt[docs]'")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) > len(list(ROOT.glob("docs/*.md")))
    for page in pages:
        text = page.read_text()
        fetched = re.findall(r'<(?:script|img|link|iframe)[^>]*(?:src|href)="?(?:https?:)?//', text)
        assert not fetched, page.name
