"""Readers of rules and of model files meet damaged and hostile input: they read it right, or refuse
it in one line with an error of ours, within bounds of memory and time."""

import io
import json
import struct
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from strategies import rule_trees, texts

from mbndt import load
from mbndt.checkpoint import RECORD
from mbndt.errors import MbndtError, RulesError
from mbndt.rules import Rules

TEXT = (Path(__file__).parent / "data" / "example.rules.json").read_text()
HUGE = [
    "1e999",
    "-1e400",
    "9" * 400,
    "9" * 5000,
    "1e-999999999",
    "1e-" + "9" * 30,
    "-0.0",
    "1E+2",
    "0." + "9" * 10_000,
    "1" + "0" * 4000 + "e-4000",
    "9223372036854775808",
    "NaN",
    "-Infinity",
    "01",
    "1.",
    ".5",
    "0x10",
]
OTHERS = ["null", "true", "[]", "{}", '""', "0", "-1", "2.5", '"a"', "[null]", '{"a": 1}', *HUGE]
CODES = ["utf-16", "utf-32", "utf-8-sig", "utf-7", "latin-1", "cp037"]


def spans(text: str) -> list[tuple[int, int]]:
    """Return where each value and each key with its value stand in a JSON text."""
    found, scan = [], json.JSONDecoder().raw_decode
    for start in range(len(text)):
        if start == 0 or text[start - 1] in ' [{,:"\n':
            try:
                value, end = scan(text, start)
            except ValueError:
                continue
            found.append((start, end))
            if isinstance(value, str) and text[end : end + 2] == ": ":
                found.append((start, scan(text, end + 2)[1]))
    return found


SPANS = spans(TEXT)


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """Draw the example with some of its values and members taken out, doubled, or replaced."""
    text = TEXT
    for start, end in draw(st.lists(st.sampled_from(SPANS), min_size=1, max_size=3)):
        part = text[start:end]
        nested = draw(st.sampled_from([3, 99, 101, 400, 1500, 4000, 10_000]))
        new = draw(
            st.sampled_from(
                [
                    "",
                    f"{part}, {part}",
                    f"[{part}]",
                    "[" * nested + part + "]" * nested,
                    '{"a": ' * nested + part + "}" * nested,
                    '"' + "a" * 70_000 + '"',
                ]
            )
            | st.sampled_from(OTHERS)
            | st.sampled_from(SPANS).map(lambda span: TEXT[slice(*span)])
            | texts(True).map(json.dumps)
        )
        text = text[:start] + new + text[end:]
    return text


def read_or_refused(content: str | bytes) -> None:
    """Read rules that come back the same, or meet one line of an error of ours, soon."""
    start = time.process_time()
    try:
        rules = Rules.from_json(content)
    except RulesError as error:
        assert len(str(error).splitlines()) == 1
        assert len(str(error)) < 10_000
    else:
        assert Rules.from_json(rules.to_json()) == rules
        assert json.dumps(dict(rules.provenance))
    assert time.process_time() - start < 5


@settings(max_examples=400)
@given(damaged())
def test_damaged_rules_are_read_or_refused(text):
    read_or_refused(text)


@given(damaged(), st.sampled_from(CODES), st.integers(0, 200))
def test_rules_in_other_encodings_are_read_or_refused(text, encoding, at):
    content = text.encode(encoding, "ignore")
    read_or_refused(content)
    read_or_refused(content[:at] + b"\xef\xbb\xbf" + content[at:])


@settings(max_examples=60)
@given(rule_trees(hostile=True, depth=2), st.data())
def test_drawn_rules_with_other_bytes_are_read_or_refused(rules, data):
    content = bytearray(rules.to_json(indent=None).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        new = data.draw(st.binary(max_size=2) | st.sampled_from([b'"', b"\\", b"\\ud800", b"1e9"]))
        content[at : at + data.draw(st.integers(0, 3))] = new
    read_or_refused(bytes(content))
    read_or_refused(bytes(content[: data.draw(st.integers(0, len(content)))]))


@pytest.mark.parametrize("opens, closes", [("[", "]"), ('{"a": ', "}")])
def test_a_provenance_is_nested_a_hundred_deep_and_no_deeper(opens, closes):
    for depth in (99, 101, 2000):
        nested = f'"provenance": {{"b": {opens * depth}1{closes * depth}, '
        text = TEXT.replace('"provenance": {', nested)
        assert text != TEXT
        if depth < 100:
            assert json.dumps(dict(Rules.from_json(text).provenance))
        else:
            with pytest.raises(RulesError, match="nested deeper than 100"):
                Rules.from_json(text)


def test_a_hostile_name_in_a_provenance_stays_on_one_line():
    text = TEXT.replace('"provenance": {', '"provenance": {"a\\nb": {"c": 1e999}, ')
    with pytest.raises(RulesError, match=r"^provenance\['a"):
        Rules.from_json(text)


BOMBS = {
    "numbers": "b'[' + b'0.1,' * 16_000_000 + b'1]'",
    "lists": "b'[' + b'[],' * 22_000_000 + b'1]'",
    "members": "b'[' + b'{},' * 22_000_000 + b'1]'",
    "a long key": "b'{\"' + b'ab' * 15_000_000 + b'\": 1}'",
    "a long number": "b'[0.' + b'1' * 60_000_000 + b']'",
    "depth": "b'[' * 60_000_000",
    "too many bytes": "b' ' * 70_000_000",
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_text_that_would_unfold_is_refused_within_a_gigabyte(bomb):
    limited = f"""if True:
        import resource
        from mbndt import Rules
        from mbndt.errors import RulesError
        resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))
        try:
            Rules.from_json({BOMBS[bomb]})
        except RulesError as error:
            assert len(str(error)) < 2000
        else:
            raise AssertionError
    """
    subprocess.run([sys.executable, "-c", limited], check=True, timeout=60)


RECORDS = [
    ("archive/data.pkl", b"(" * 200),
    ("archive" + RECORD, TEXT.encode()),
    ("archive/version", b"3\n"),
]
METHODS = [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
EXPECTED = Rules.from_json(TEXT)
# Fields of a zip's headers: the mark before each, its place after the mark, its size.
FIELDS = {
    "local": (b"PK\x03\x04", [(4, 2), (6, 2), (8, 2), (14, 4), (18, 4), (22, 4), (26, 2), (28, 2)]),
    "entry": (
        b"PK\x01\x02",
        [
            (6, 2),
            (8, 2),
            (10, 2),
            (16, 4),
            (20, 4),
            (24, 4),
            (28, 2),
            (30, 2),
            (32, 2),
            (34, 2),
            (42, 4),
        ],
    ),
    "end": (b"PK\x05\x06", [(4, 2), (6, 2), (8, 2), (10, 2), (12, 4), (16, 4), (20, 2)]),
}


def archive(records, method=zipfile.ZIP_STORED) -> bytes:
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", method) as made:
        for name, content in records:
            made.writestr(zipfile.ZipInfo(name), content, method)
    return memory.getvalue()


def loaded_or_refused(path, content: bytes, expected: Rules | None = EXPECTED) -> str:
    """Load the very rules, or meet one line of an error of ours that names the file."""
    path.write_bytes(content)
    try:
        assert load(path) == expected
    except MbndtError as error:
        assert "fuzzed.pt" in str(error)
        assert len(str(error).splitlines()) == 1
        return str(error)
    return ""


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzzed") / "fuzzed.pt"


@settings(max_examples=600)
@given(
    method=st.sampled_from(METHODS),
    part=st.sampled_from([(mark, *field) for mark, fields in FIELDS.values() for field in fields]),
    number=st.integers(0, 2),
    value=st.sampled_from([0, 1, 8, 12, 14, 99, 2**15, 2**16 - 1, 2**31, 2**32 - 1]),
)
def test_a_zip_with_a_wrong_field_is_loaded_or_refused(path, method, part, number, value):
    content, (mark, at, size) = archive(RECORDS, method), part
    place = [i for i in range(len(content)) if content.startswith(mark, i)]
    place = place[number % len(place)] + at
    new = (value % 2 ** (8 * size)).to_bytes(size, "little")
    loaded_or_refused(path, content[:place] + new + content[place + size :])


@given(st.sampled_from(METHODS), st.data())
def test_a_zip_with_other_bytes_is_loaded_or_refused(path, method, data):
    content = bytearray(archive(RECORDS, method))
    for _ in range(data.draw(st.integers(0, 5))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at : at + 1] = data.draw(st.binary(max_size=2))
    loaded_or_refused(path, bytes(content[: data.draw(st.integers(4, len(content)))]))


@pytest.mark.filterwarnings("ignore:Duplicate name")
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["archive", "..", "/", "a/../b", "C:\\", "archive\n", "é", ""]),
            st.sampled_from([RECORD, "/data.pkl", "/mbndt/rules.json/", "/mbndt/rules.json\n"]),
            st.sampled_from([TEXT.encode(), b"", b"\x80\x02}q\0.", b"{}", TEXT.encode()[:-9]]),
        ),
        max_size=4,
    ),
    st.sampled_from(METHODS[:2]),
)
def test_a_zip_of_other_records_is_loaded_or_refused(path, records, method):
    found = archive([(folder + name, content) for folder, name, content in records], method)
    count = sum(name == RECORD for _, name, _ in records)
    error = loaded_or_refused(path, found)
    if count != 1 and records:
        assert f"{count} records" in error


@pytest.mark.parametrize("method", METHODS[2:])
def test_other_methods_of_compression_are_refused(path, method):
    assert "compression" in loaded_or_refused(path, archive(RECORDS, method))


def test_an_encrypted_record_and_a_wrong_sum_are_refused(path):
    content = archive(RECORDS)
    flags = content.replace(b"PK\x01\x02\x14\x03\x14\0\0", b"PK\x01\x02\x14\x03\x14\0\x01")
    assert flags != content
    assert "encrypted" in loaded_or_refused(path, flags)
    assert "CRC" in loaded_or_refused(path, content.replace(b"lactate", b"lactase"))


@pytest.mark.parametrize("size, offset", [(2**64 - 1, 2**64 - 1), (9, 2**63), (2**63, 0)])
def test_places_past_the_end_of_a_file_are_refused(path, size, offset):
    content = archive([RECORDS[1]])
    at = content.index(b"PK\x01\x02")
    entry = bytearray(content[at:])
    extra = struct.pack("<HHQQQ", 1, 24, size, size, offset)
    entry[20:28], entry[42:46] = b"\xff" * 8, b"\xff" * 4
    entry[30:32] = struct.pack("<H", len(extra))
    name_end = 46 + len(RECORDS[1][0])
    entry[name_end:name_end] = extra
    end = entry.index(b"PK\x05\x06")
    entry[end + 12 : end + 16] = struct.pack("<I", end)
    loaded_or_refused(path, content[:at] + bytes(entry))


@given(st.binary(max_size=200))
@example(b"")
def test_a_zip_of_arbitrary_bytes_is_refused(path, content):
    assert loaded_or_refused(path, b"PK\x03\x04" + content)
    assert loaded_or_refused(path, content)
