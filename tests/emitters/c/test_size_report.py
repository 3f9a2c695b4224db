"""What a C header costs, counted a second way."""

import re
import shutil

import pytest
from strategies import chain, many_intervals, regression
from test_c_embedded import numbers, small_rules

from mbndt.emitters import emit, emitter
from mbndt.emitters.c import size_report
from mbndt.emitters.c.numbers import NUMBERS, Format
from mbndt.emitters.c.plan import Diagram
from mbndt.emitters.c.size_report import cores

pytestmark = pytest.mark.skipif(
    not shutil.which("gcc"), reason="gcc isn't installed: apt-get install gcc"
)


def comparisons_in(text, function):
    """Return the greatest number of comparisons on a way through a function of a header."""
    head = rf"^static inline \w+ {function}\(.*?^{{(.*?)^}}"
    body = re.search(head, text, re.MULTILINE | re.DOTALL)
    asked, most = {}, 0  # how many are asked on the way here, by level of blocks
    for line in body[1].splitlines():
        level = (len(line) - len(line.lstrip())) // 4
        asked = {
            k: count
            for k, count in asked.items()
            if k < level or (line.strip()[:1] == "}" and k == level)
        }
        if test := re.search(r"if \((.*)\) {", line):
            double = any(word in test[1] for word in ("&&", "||", "_below("))
            asked[level] = asked.get(level, 0) + 1 + double
        elif called := re.search(r"(\w+_\d+)\(x", line):
            most = max(most, comparisons_in(text, called[1]) + sum(asked.values()))
        most = max(most, sum(asked.values()))
    return most


@pytest.mark.parametrize("number", ["double", "float", "int8"])
def test_the_comparisons_of_the_report_are_those_of_the_longest_way(number):
    for rules in (small_rules(), numbers(), many_intervals(), chain(30)):
        form, artifact = Format(NUMBERS[number], rules), emit(rules, "c", number=number)
        for kind, ends in form.answers().items():
            found = Diagram(form, ends).comparisons()
            assert comparisons_in(artifact.text, f"{artifact.name}_{kind}") == found


def test_the_report_names_cores_compilers_and_costs():
    tool = emitter("c", number="int16")
    first, *others = tool.report(tool.emit(small_rules()))
    assert re.fullmatch(r"comparisons at most: leaf \d+, class \d+, proba \d+", first)
    assert len(others) == len(cores())
    for found, line in zip(cores(), others, strict=True):
        kinds = ("leaf", "class", "proba", "label")
        costs = ", ".join(rf"{kind} \d+/\d+/\d+" for kind in kinds)
        title = f"{found.name}, bytes of flash/RAM/stack at -Os: "
        assert re.fullmatch(rf"{title}{costs} \({re.escape(found.version)}\)", line)


def test_without_a_cross_compiler_the_report_is_of_this_machine(monkeypatch):
    monkeypatch.setattr(size_report, "_located", lambda command: ())
    tool = emitter("c")
    lines = tool.report(tool.emit(regression()))
    assert [line.split(",")[0] for line in lines[1:]] == ["this machine"]
    assert re.search(r"value \d+/0/\d+ \(", lines[1])


def test_a_core_that_cannot_hold_the_numbers_says_why():
    tool = emitter("c")
    lines = tool.report(tool.emit(regression()))
    refused = [line for line in lines if line.startswith("AVR")]
    assert len(refused) == sum(one.name == "AVR" for one in cores())
    for line in refused:
        assert "thresholds need a double of 64 bits" in line


def test_the_stack_of_a_report_is_that_of_the_deepest_chain_of_calls():
    artifact = emit(chain(40), "c")
    names = re.findall(r"^static inline int (deep_leaf\w*)\(", artifact.text, re.MULTILINE)
    assert len(names) > 3
    own = dict.fromkeys(names, 8) | {"called": 100}
    found = size_report._stack(artifact, "leaf", own)
    bodies = {n: artifact.text.split(f" {n}(const")[1].split("\n}")[0] for n in names}

    def deepest(name):
        return 8 + max((deepest(n) for n in names if f"{n}(x)" in bodies[name]), default=0)

    assert found == 100 + deepest("deep_leaf")
