"""Options stand once, in the dataclasses that have them: a new target is one folder and a line."""

import re
import subprocess
import sys
from dataclasses import fields

import pytest
from conftest import EXAMPLE
from sqlglot.dialects import DIALECTS as OF_SQLGLOT

from mbndt.cli.fields import BASIC
from mbndt.emitters import TARGETS, emitter_class, options_class
from mbndt.emitters.c.numbers import NUMBERS as C_NUMBERS
from mbndt.emitters.onnx.trees import NUMBERS as ONNX_NUMBERS
from mbndt.emitters.protocol.emit import FORMATS
from mbndt.emitters.sql.options import DIALECTS
from mbndt.learning.settings import Settings

TOY = {
    "__init__.py": "",
    "options.py": """
from dataclasses import dataclass
from mbndt.options import Options, option

@dataclass(frozen=True)
class ToyOptions(Options):
    colour: str = option("red", "colour of the toy", choices=("red", "blue"))
    number: str = option("one", "how many toys", choices=("one", "two"))
    lines: tuple = option((), "line to add", otherwise="none")
""",
    "emit.py": """
from mbndt.emitters.base import Artifact, Emitter
from mbndt.emitters.toy.options import ToyOptions

class Toy(ToyOptions, Emitter):
    target = "toy"

    def emit(self, rules):
        return Artifact("toy", ".toy", f"{self.number} {self.colour}", rules)

    def engine(self):
        return "toy"

    def run(self, artifact, table):
        raise NotImplementedError
""",
}
RUN = """
import sys
import mbndt.emitters
mbndt.emitters.__path__.append({folder!r})
mbndt.emitters.TARGETS["toy"] = "Toy"
from mbndt.cli.main import main
main()
"""


def test_a_new_target_with_options_is_one_folder_and_one_line(tmp_path):
    (tmp_path / "toy").mkdir()
    for name, text in TOY.items():
        (tmp_path / "toy" / name).write_text(text)

    def run(*words):
        code = RUN.format(folder=str(tmp_path))
        command = [sys.executable, "-c", code, *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True)

    compiled = run("compile", EXAMPLE, "--target", "toy", "--colour", "blue", "--number", "two")
    assert (compiled.returncode, compiled.stdout, compiled.stderr) == (0, "two blue", "")
    wrong = run("compile", EXAMPLE, "--target", "toy", "--colour", "bleu")
    assert wrong.stderr == "mbndt: error: --colour: got 'bleu'; did you mean 'blue'?\n"
    other = run("compile", EXAMPLE, "--target", "c", "--colour", "red")
    assert "--colour: not an option of target 'c'" in other.stderr
    said = " ".join(run("compile", "--help").stdout.replace("│", " ").split())
    assert "Options of toy" in said
    assert "colour of the toy; one of red, blue [default: red]" in said
    assert "Options of c and onnx and toy" in said


def options_of(command):
    from typer.main import get_command

    from mbndt.cli.main import app

    params = get_command(app).commands[command].params
    return {param.opts[0]: param for param in params}


def test_each_field_of_each_target_is_an_option():
    shown = options_of("compile")
    for target in TARGETS:
        assert issubclass(emitter_class(target), options_class(target))
        for entry in fields(options_class(target)):
            assert entry.metadata["help"] in re.sub("--(names)", r"`\1`", shown[word(entry)].help)
            assert all(choice in shown[word(entry)].help for choice in entry.metadata["choices"])


def test_each_basic_setting_is_an_option_of_train():
    shown = options_of("train")
    assert {word(entry) for entry in fields(Settings) if entry.name in BASIC} <= set(shown)
    assert "[default: 6; paper: 3]" in shown["--branching"].help
    assert "[default: yes; paper: no]" in shown["--refine"].help


def word(entry):
    return "--" + entry.name.removesuffix("_").replace("_", "-")


@pytest.mark.parametrize("kind", [Settings, *map(options_class, TARGETS)])
def test_each_option_says_what_it_is_for(kind):
    for entry in fields(kind):
        assert entry.metadata["help"]
        no_default = entry.default in (None, (), "")
        assert bool(entry.metadata["otherwise"]) == no_default


def test_choices_are_those_that_there_is_code_for():
    of = {(t, f.name): f.metadata["choices"] for t in TARGETS for f in fields(options_class(t))}
    assert of["c", "number"] == (*C_NUMBERS,)
    assert of["onnx", "number"] == (*ONNX_NUMBERS,)
    assert set(of["protocol", "format"]) == set(FORMATS)
    known = {name.lower() for name in OF_SQLGLOT} - {"dax", "prql"} | {"datafusion"}
    assert set(DIALECTS) == known


@pytest.mark.parametrize("words", [["compile", "--help"], ["compile", EXAMPLE, "--target", "c"]])
def test_options_of_targets_load_nothing_heavy(words):
    code = (
        "import sys; from mbndt.cli.main import app; app(sys.argv[1:], standalone_mode=False);"
        " print(*sys.modules, file=sys.stderr)"
    )
    command = [sys.executable, "-c", code, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    heavy = {"sqlglot", "onnx", "numpy", "torch", "pandas", "sklearn", "weasyprint"}
    if "--help" in words:
        heavy.add("jinja2")
    assert not heavy & set(done.stderr.split())
