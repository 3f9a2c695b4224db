"""The installed package is `mbndt` alone, and works from any folder."""

import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest
from conftest import EXAMPLE

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Build sdist, then the wheel from the sdist, as an index would get them."""
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    assert len(list(folder.glob("*.tar.gz"))) == 1
    (found,) = folder.glob("*.whl")
    return found


def test_the_wheels_only_top_level_is_mbndt(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    tops = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    assert tops == {"mbndt"}
    for part in (
        "mbndt/emitters/base.py",
        "mbndt/templates/python/module.py.jinja",
        "mbndt/py.typed",
    ):
        assert part in names
    listed = {f"mbndt/emitters/{path.name}" for path in (ROOT / "emitters").glob("*.py")}
    listed |= {f"mbndt/{path.relative_to(ROOT)}" for path in ROOT.glob("templates/*/*")}
    assert listed <= set(names)


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
    done = subprocess.run([python, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "def predict(row):" in done.stdout
