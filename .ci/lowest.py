"""Print the lowest releases that pyproject.toml allows, as pip's requirements.

Only of what a user installs: torch's older releases bring gigabytes of CUDA, so it stays as in
constraints.txt, as do the tools of the tests.
"""

import re
import sys
import tomllib
from pathlib import Path

PATTERN = re.compile(r"([A-Za-z0-9_.\-]+(?:\[[a-z,]+\])?)>=([0-9.]+)")
EXTRAS = ("refine", "pdf", "tune")
AS_PINNED = ("torch", "pytest", "pytest-xdist", "hypothesis", "jsonschema", "onnxruntime", "pypdf")


def main() -> None:
    """Print a requirement a line."""
    root = Path(__file__).parent.parent
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    listed = [*project["dependencies"]]
    for extra in EXTRAS:
        listed += project["optional-dependencies"][extra]
    lowest = [PATTERN.fullmatch(entry) for entry in listed if not entry.startswith("mbndt[")]
    if None in lowest:
        sys.exit(f"pyproject.toml: expected NAME>=RELEASE alone in {listed}")
    print("\n".join(f"{found[1]}=={found[2]}" for found in lowest if found))
    pins = (root / "constraints.txt").read_text().splitlines()
    print("\n".join(pin for pin in pins if pin.split("==")[0].lower() in AS_PINNED))


main()
