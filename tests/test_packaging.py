"""The installed package is `mbndt` alone, whole, and works from any folder.

`.ci/install.py` installs it as a user does, with pip, and runs its commands.
"""

import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest
from conftest import EXAMPLE

from mbndt.emitters.dmn.run import PACKAGES as DMN_PACKAGES
from mbndt.emitters.fhir.run import PACKAGES as FHIR_PACKAGES

ROOT = Path(__file__).parent.parent
FOLDERS = {"mbndt": "mbndt", "emitters": "mbndt/emitters", "templates": "mbndt/templates"}


def shipped():
    """Return the files that belong to the package, as their paths in it."""
    found = set()
    for folder, place in FOLDERS.items():
        for path in (ROOT / folder).rglob("*"):
            inner = path.relative_to(ROOT / folder)
            linked = folder == "mbndt" and inner.parts[0] in FOLDERS
            if path.is_file() and not linked and "__pycache__" not in inner.parts:
                found.add(f"{place}/{inner}")
    return found


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Build sdist, then the wheel from the sdist, as an index would get them."""
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    assert len(list(folder.glob("*.tar.gz"))) == 1
    (found,) = folder.glob("*.whl")
    return found


def test_every_folder_of_modules_is_named_as_a_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    packages = project["tool"]["setuptools"]["packages"]
    modules = [Path(path) for path in shipped() if path.endswith(".py")]
    folders = {".".join(path.parent.parts) for path in modules}
    assert sorted(packages) == sorted(folders | {"mbndt.templates"})
    assert all(f"{'/'.join(name.split('.'))}/__init__.py" in shipped() for name in folders)


def test_the_wheel_holds_all_of_the_package_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert names == shipped()
    kinds = {Path(name).suffix for name in names}
    assert kinds == {".py", ".typed", ".json", ".jinja", ".css", ".mjs", ".toml"}


def test_the_wheel_compiles_rules_in_a_clean_environment(wheel, tmp_path):
    venv.create(tmp_path / "env", with_pip=False)
    python = tmp_path / "env" / "bin" / "python"
    site = next((tmp_path / "env").glob("lib/python*/site-packages"))
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    # Dependencies come from this environment; mbndt itself must not.
    here = [path for path in sys.path if path.endswith("site-packages")]
    (site / "dependencies.pth").write_text("\n".join(here))
    code = f"""
import sys, mbndt
assert mbndt.__file__.startswith({str(site)!r}), mbndt.__file__
sys.argv = ["mbndt", "compile", {str(EXAMPLE)!r}, "--target", "python"]
from mbndt.cli.main import main
main()
"""
    done = subprocess.run([python, "-E", "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "def predict(row):" in done.stdout


def test_the_tests_of_all_engines_get_the_packages_of_npm_that_these_ask_for():
    script, page = ((ROOT / name).read_text() for name in (".ci/run", "docs/targets.md"))
    for name, version in (DMN_PACKAGES | FHIR_PACKAGES).items():
        assert f"{name}@{version}" in script
        assert f"{name}@{version}" in page
