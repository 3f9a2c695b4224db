"""The printed sheet: what it says, that it says it exactly, and that it can be followed."""

import dataclasses
import re
import subprocess
import sys
import unicodedata
from html.parser import HTMLParser
from pathlib import Path

import hypothesis
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from strategies import (
    HOSTILE_TEXTS,
    chain,
    many_intervals,
    regression,
    rule_trees,
    single_leaf,
)  # fmt: skip

from mbndt.emitters import emit, emitter
from mbndt.emitters.protocol import Protocol
from mbndt.emitters.protocol_reader import (
    OTHER,
    Sheet,
    number_text,
    quoted,
    read_sheet,
    unquoted,
)  # fmt: skip
from mbndt.errors import OptionError
from mbndt.interpreter import leaf_of, predict
from mbndt.rules import (
    Feature,
    FeatureType,
    Group,
    Interval,
    Leaf,
    NumericSplit,
    Rules,
    SetSplit,
    Target,
    TargetType,
)  # fmt: skip
from mbndt.table import Table, parse_csv
from mbndt.verify import boundary_rows, check

EXAMPLE = Path(__file__).parent / "data" / "example.rules.json"
LABELS = Target("y", TargetType.STRING, ("no", "yes"))
NO, YES = (1.0, 0.0), (0.0, 1.0)
slowly = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
formats = pytest.mark.parametrize("kind", ["md", "html"])


def example() -> Rules:
    return Rules.from_json(EXAMPLE.read_bytes())


def sheet_text(rules: Rules, kind: str = "md") -> str:
    return emit(rules, "protocol", format=kind).text


def read(rules: Rules, kind: str = "md") -> Sheet:
    return read_sheet(sheet_text(rules, kind), html=kind == "html")


def assert_followed(rules: Rules, rows: int = 200) -> None:
    for options in Protocol.variants:
        found = check(rules, "protocol", options, [boundary_rows(rules, rows)])
        assert found.engine
        assert found.rows >= rows
        assert found.mismatches == 0, found


def two_way(feature: Feature, *cuts: float, missing: int = 1) -> Rules:
    """Return a split whose intervals go to "no" and "yes" in turn."""
    parts = tuple(Interval(cut, i % 2) for i, cut in enumerate([*cuts, None]))
    split = NumericSplit(feature.name, parts, missing, (Leaf(0, NO), Leaf(1, YES)))
    return Rules("r", LABELS, (feature,), split)


def step_lines(rules: Rules, number: int) -> list[str]:
    """Return the printed rows of a step."""
    part = sheet_text(rules).split(f"### Step {number}: ")[1].split("\n#")[0]
    return [line for line in part.splitlines() if line.startswith("|")][2:]


# Followed on paper, the sheet gives the interpreter's answer


@slowly
@given(rule_trees())
def test_a_person_who_follows_the_sheet_gets_the_interpreters_answer(rules):
    assert_followed(rules)


@slowly
@given(rule_trees(hostile=True))
def test_hostile_names_and_texts_mislead_nobody(rules):
    assert_followed(rules)


@pytest.mark.parametrize(
    "rules", [example(), chain(50), many_intervals(64), single_leaf(), regression()],
    ids=lambda rules: rules.name,
)  # fmt: skip
def test_extreme_rules_can_be_followed(rules):
    assert_followed(rules, 1000)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 40])
def test_any_number_of_classes_is_read_back_from_its_tables(count):
    classes = tuple(f"class {i}" for i in range(count))
    values = tuple(tuple((1 + i * k) / sum(1 + i * j for j in range(count)) for k in range(count))
                   for i in range(2))  # fmt: skip
    split = NumericSplit("x", (Interval(0.5, 1), Interval(None, 0)), 1,
                         (Leaf(0, values[0]), Leaf(1, values[1])))  # fmt: skip
    rules = Rules("r", Target("y", TargetType.STRING, classes),
                  (Feature("x", FeatureType.FLOAT64),), split)  # fmt: skip
    assert_followed(rules)
    heads = re.findall(r"Probability of “(class \d+)”", sheet_text(rules))
    assert tuple(heads) == classes


@pytest.mark.parametrize("words", [
    ("missing", "not listed above", "below 9", "go to step 2", "yes", "yes (true)", "9 to 20"),
    ("Result R0: “a”", "a” or “b", "“", "”", "any number", "\\u{41}", "A", "NOT STATED"),
    ("a", "a ", " a", "A", "é", "e\u0301", "a\u200b", "a  b", "a b", "a\u00a0b"),
])  # fmt: skip
def test_categories_that_look_like_the_sheets_words_stay_categories(words):
    groups = tuple(Group((word,), i) for i, word in enumerate(words[:-1]))
    leaves = tuple(Leaf(i, float(i)) for i in range(len(words) + 1))
    split = SetSplit("c", groups, len(words), leaves, len(words) - 1)
    feature = Feature("c", FeatureType.CATEGORY, words, label="Step 1: go to step 7? (input Z)")
    rules = Rules("Results", Target("Inputs", TargetType.FLOAT64), (feature,), split)
    assert_followed(rules)
    answers = read(rules).steps[1].answers
    assert [answer.values for answer in answers if answer.values] == [(w,) for w in words[:-1]]


def test_the_reader_knows_only_the_paper():
    rules = example()
    artifact = emit(rules, "protocol", format="md")
    changed = dataclasses.replace(artifact, rules=single_leaf(), content=artifact.text.replace(
        "2.15", "3"))  # fmt: skip
    rows = {"respiratory rate": [22, 22], "lactate": [2.5, 3.0], "on oxygen": [None] * 2,
            "AVPU": [None] * 2}  # fmt: skip
    tool = emitter("protocol", format="md")
    assert tool.run(artifact, Table.of(rows)).leaf.tolist() == [2, 2]
    assert tool.run(changed, Table.of(rows)).leaf.tolist() == [1, 2]


def test_the_reader_takes_a_csvs_texts_and_a_table_without_rows():
    rules, tool = example(), emitter("protocol", format="md")
    head = "AVPU,lactate,on oxygen,respiratory rate\n"
    table = parse_csv(head + "alert,,TRUE,9\nALERT,2.15,0,25.0\n,nan,1,21\nvoice,2.1,,8\n")
    artifact = tool.emit(rules)
    found = tool.run(artifact, table)
    assert found.leaf.tolist() == predict(rules, table).leaf.tolist() == [0, 5, 1, 4]
    assert tool.run(artifact, parse_csv(head)).probabilities.shape == (0, 3)


def follow_all_rates(text: str) -> None:
    sheet = read_sheet(text)
    for rate in range(9, 25):
        sheet.leaf({"respiratory rate": rate, "lactate": 0.0})


@pytest.mark.parametrize(("before", "after"), [
    ("| 9 to 20 |", "| 9 to 21 |"),                     # 21 fits two rows
    ("| 9 to 20 |", "| 10 to 20 |"),                    # 9 fits none
    ("| 9 to 20 |", "| about 9 to 20 |"),
    ("| 9 to 20 | Result R0: “home”", "| 9 to 20 | Result R0: “ward”"),
    ("| 21 to 24 | go to step 4", "| 21 to 24 | go to step 1"),
    ("| below 2.15 |", "| 0 to 2 |"),                   # only whole numbers end like this
])  # fmt: skip
def test_the_reader_refuses_a_sheet_with_a_gap_an_overlap_or_a_loop(before, after):
    text = sheet_text(example())
    assert before in text
    with pytest.raises(ValueError, match=r"step|read"):
        follow_all_rates(text.replace(before, after, 1))


# What it says


def test_each_step_says_all_values_that_lead_to_one_place_in_one_row():
    rules = example()
    assert step_lines(rules, 1) == [
        "| below 9, or 25 or more | go to step 2 |",
        "| 9 to 20 | Result R0: “home” |",
        "| 21 to 24 | go to step 4 |",
        "| missing | go to step 4 |",
    ]
    assert step_lines(rules, 2) == [
        "| “alert” or “voice” | go to step 3 |",
        "| “pain” or “unresponsive” | Result R5: “intensive care” |",
        "| not listed above | Result R5: “intensive care” |",
        "| missing | Result R5: “intensive care” |",
    ]
    assert step_lines(rules, 3) == [
        "| no (false) | Result R3: “ward” |",
        "| yes (true) | Result R4: “intensive care” |",
        "| missing | Result R4: “intensive care” |",
    ]
    assert step_lines(rules, 4) == [
        "| below 2.15 | Result R1: “ward” |",
        "| 2.15 or more | Result R2: “ward” |",
        "| missing | Result R1: “ward” |",
    ]


@pytest.mark.parametrize(("kind", "cuts", "said"), [
    ("integer", (9, 21), ["below 9, or 21 or more", "9 to 20"]),
    ("integer", (8.5, 9.5), ["below 9, or 10 or more", "9"]),
    # No whole number is between the first two, so both sides join.
    ("integer", (8.2, 8.7, 30), ["below 30", "30 or more"]),
    ("integer", (-(2**63), 2**63), ["any number"]),
    ("integer", (-1e300, 2**53 + 1, 1e300), ["below 9007199254740993", "9007199254740993 or more"]),
    ("float64", (2.15, 6.5), ["below 2.15, or 6.5 or more", "2.15 to below 6.5"]),
    ("float64", (-0.0, 4.0, 1e-5), ["below 0, or 0.00001 to below 4", "0 to below 0.00001, or 4 or"
                                    " more"]),
    ("float64", (0.1 + 0.2, 1e300), ["below 0.30000000000000004, or 1e+300 or more",
                                     "0.30000000000000004 to below 1e+300"]),
])  # fmt: skip
def test_intervals_read_as_people_say_them_with_every_digit(kind, cuts, said):
    rules = two_way(Feature("x", FeatureType(kind)), *sorted(cuts))
    printed = [line.split(" | ")[0][2:] for line in step_lines(rules, 1)]
    assert printed == [*said, "missing"]


@formats
def test_a_step_asks_about_the_label_in_its_unit_and_names_its_input(kind):
    text = sheet_text(example(), kind)
    assert "Step 4: What is Serum lactate, in mmol/L? (input B)" in text
    assert "Step 3: Yes or no: on oxygen? (input C)" in text
    assert "Step 2: Which category: AVPU? (input D)" in text


def test_inputs_with_one_label_are_told_apart_by_name():
    inputs = (Feature("a", FeatureType.FLOAT64, label="b"), Feature("b", FeatureType.FLOAT64),
              Feature("c", FeatureType.FLOAT64, label="same"),
              Feature("d", FeatureType.FLOAT64, label="same"))  # fmt: skip
    node = Leaf(4, 4.0)
    for i in (3, 2, 1, 0):
        node = NumericSplit(inputs[i].name, (Interval(0.0, 0), Interval(None, 1)), 0,
                            (Leaf(i, float(i)), node))  # fmt: skip
    text = sheet_text(Rules("r", Target("y", TargetType.FLOAT64), inputs, node))
    assert re.findall(r"What is (.)\?", text) == ["a", "b", "c", "d"]


@formats
def test_results_are_printed_in_percent_and_exactly_with_counts_and_a_flag(kind):
    text = sheet_text(example(), kind)
    assert "12.5 % (0.125), 2 rows" in text
    assert text.count("fewer than 20 rows") == 3
    assert text.count("a tie: the first of the classes counts") == 1
    assert "NOT STATED" in text
    bare = sheet_text(two_way(Feature("x", FeatureType.FLOAT64), 1.0))
    assert "| R0 | “no” | 100 % | NOT STATED |  |" in bare
    assert "| R0 | “no” | 100 % (1) | 0 % (0) |" in bare


@pytest.mark.parametrize(("p", "said"), [
    (0.0, "0 % (0)"), (1.0, "100 % (1)"), (1 / 3, "33.3 % (0.3333333333333333)"),
    (1e-9, "below 0.1 % (0.000000001)"), (1 - 1e-9, "above 99.9 % (0.999999999)"),
])  # fmt: skip
def test_a_rounded_percentage_never_turns_little_into_none(p, said):
    assert said in sheet_text(Rules("r", LABELS, (), Leaf(0, (p, 1.0 - p))))


def test_a_float32_input_says_where_an_end_itself_falls_below():
    text = sheet_text(two_way(Feature("x", FeatureType.FLOAT32), 0.1, 0.7))
    assert "Take care: 0.7 itself becomes 0.699999988079071, which is below 0.7." in text
    assert "Take care: 0.1 " not in text
    assert "number, rounded to float32" in text
    assert "float32" not in sheet_text(two_way(Feature("x", FeatureType.FLOAT64), 0.1, 0.7))


def test_a_leaf_that_nothing_reaches_is_left_out_and_named():
    leaves = (Leaf(0, NO), Leaf(1, YES), Leaf(2, NO))
    parts = (Interval(8.2, 0), Interval(8.7, 1), Interval(None, 2))
    rules = Rules("r", LABELS, (Feature("n", FeatureType.INTEGER),),
                  NumericSplit("n", parts, 0, leaves))  # fmt: skip
    artifact = emit(rules, "protocol", format="md")
    assert artifact.notes == ("leaf 1 is on no path and not on the sheet",)
    assert "On no path, so left out: leaf 1." in artifact.text
    assert list(read(rules).results) == [0, 2]


@slowly
@given(rule_trees(depth=5))
def test_steps_lead_forward_and_the_first_that_leads_on_leads_to_the_next(rules):
    for step in read(rules).steps.values():
        onward = [answer.step for answer in step.answers if answer.step is not None]
        assert all(number > step.number for number in onward)
        assert not onward or onward[0] == step.number + 1


@slowly
@given(rule_trees(depth=5))
def test_worked_examples_end_where_the_interpreter_ends(rules):
    text, sheet = sheet_text(rules), read(rules)
    parts = text.split("## Worked examples")
    assert (len(parts) == 2) == bool(sheet.steps)
    for part in parts[1:]:
        for walk in re.findall(r"(?:\| Step \d.*\n)+", part):
            cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in
                     walk.splitlines()]  # fmt: skip
            row = dict.fromkeys((feature.name for feature in rules.used), None)
            for step, _, value, _, _ in cells:
                feature = sheet.inputs[sheet.steps[int(step[5:])].letter]
                row[feature.name] = said_value(feature, value)
            end = re.fullmatch(r"Result R(\d+): .*", cells[-1][-1])
            assert end
            assert int(end[1]) == leaf_of(rules, row)


def said_value(feature: Feature, text: str) -> object:
    match feature.type:
        case _ if text == "missing":
            return None
        case FeatureType.CATEGORY:
            return text.strip("“”")
        case FeatureType.BOOLEAN:
            return text == "yes (true)"
        case FeatureType.INTEGER:
            return int(text)
        case _:
            return float(text)


def test_one_worked_example_lies_exactly_on_a_boundary():
    part = sheet_text(example()).split("A value exactly on a boundary")[1]
    assert "| Step 1 | respiratory rate | 9 | 9 to 20 | Result R0: “home” |" in part
    inner = NumericSplit("x", (Interval(1.5, 0), Interval(None, 1)), 0, (Leaf(1, NO), Leaf(2, YES)))
    root = SetSplit("flag", (Group((False,), 0), Group((True,), 1)), 0, (Leaf(0, NO), inner))
    rules = Rules("r", LABELS, (Feature("x", FeatureType.FLOAT64),
                                Feature("flag", FeatureType.BOOLEAN)), root)  # fmt: skip
    assert "| Step 2 | x | 1.5 | 1.5 or more | Result R2: “yes” |" in sheet_text(rules)


@formats
def test_the_sheet_says_what_it_is_and_where_it_comes_from(kind):
    rules = example()
    text = sheet_text(rules, kind)
    short = f"In short: {rules.fingerprint[:12]}"
    for said in ("DRAFT - NOT VALIDATED", "not a medical device", rules.fingerprint, short,
                 "invented numbers, for tests only"):  # fmt: skip
        assert said in text
    assert text == sheet_text(rules, kind)


# Texts and numbers can be read back


@given(st.one_of(st.sampled_from(HOSTILE_TEXTS), st.text(st.characters(exclude_categories=["Cs"]))))
@hypothesis.example("e\u0301")
@hypothesis.example("\u212b")
def test_a_quoted_text_is_visible_and_reads_back(text):
    said = quoted(text)
    assert unquoted(said) == text
    assert said.isprintable()
    # Two ways to write one letter never look the same in print.
    assert unicodedata.is_normalized("NFC", said)
    assert "  " not in said


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_reads_back_exactly(x):
    assert float(number_text(x)) == x
    assert len(number_text(x)) <= 24


@slowly
@given(rule_trees(hostile=True))
def test_a_markdown_program_shows_the_same_sheet_as_the_page_and_no_text_becomes_markup(rules):
    page = MarkdownIt("commonmark", {"html": True}).enable("table").render(sheet_text(rules))
    assert read_sheet(page, html=True) == read(rules) == read(rules, "html")
    allowed = {"h1", "h2", "h3", "p", "strong", "ul", "li", "table", "thead", "tbody", "tr", "th",
               "td"}  # fmt: skip
    assert {tag for tag, _ in tags(page)} <= allowed
    known = {tag for tag, _ in tags(sheet_text(example(), "html"))}
    for tag, attributes in tags(sheet_text(rules, "html")):
        assert tag in known - {"script"}
        assert attributes.keys() <= {"lang", "charset", "name", "content", "class", "id", "scope",
                                     "href"}  # fmt: skip
        assert re.fullmatch(r"#step-\d+", attributes.get("href") or "#step-1")


@slowly
@given(rule_trees(hostile=True))
def test_the_sheet_states_every_name_and_category_exactly(rules):
    sheet = read(rules)
    assert [(f.name, f.type) for f in sheet.inputs.values()] == [
        (f.name, f.type) for f in rules.used
    ]
    said = {value for step in sheet.steps.values() for row in step.answers for value in row.values}
    assert said <= {False, True} | {c for f in rules.used for c in f.categories}
    assert all(result.answer in (*rules.target.classes, *map(rules.label, rules.leaves))
               for result in sheet.results.values())  # fmt: skip


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def tags(page: str) -> list[tuple[str, dict[str, str | None]]]:
    parser = _Tags()
    parser.feed(page)
    return parser.found


def test_links_and_short_codes_of_markdown_stay_plain_text():
    name = "www.x.org https://x.org a@b.c :smile: #1 @you $x$ ~~no~~ ![i](u) <b> &amp; **b**"
    rules = dataclasses.replace(single_leaf(), name=name)
    page = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    heading = page.render(sheet_text(rules)).split("</h1>")[0]
    assert not {tag for tag, _ in tags(heading)} & {"a", "b", "img", "s", "strong", "em"}
    first = sheet_text(rules).split("\n")[0]
    for sign in ("www\\.", "https\\://", "a\\@b", "\\:smile", "\\#1", "\\$x"):
        assert sign in first


def test_the_page_needs_no_network_and_prints_large_enough_in_black_on_white():
    page = sheet_text(example(), "html")
    assert page.startswith('<!DOCTYPE html>\n<html lang="en">')
    assert not re.search(r"https?:|url\(|@import|<script|<link|<img", page)
    sizes = [float(size) for size in re.findall(r"([\d.]+)pt", page)]
    assert sizes
    assert min(sizes) >= 10
    assert set(re.findall(r"#[0-9a-f]{3,6}\b", page.split("</style>")[0])) == {"#000", "#fff"}
    assert "break-inside: avoid" in page


# Options, cost


@pytest.mark.parametrize("kind", ["pdf", "txt", "htm", ""])
def test_a_format_that_is_not_there_is_refused_with_the_choices(kind):
    with pytest.raises(OptionError, match=r"--format: got .*(html|md)"):
        emitter("protocol", format=kind)


def test_a_sheet_is_made_without_numpy():
    code = (
        "import sys; from pathlib import Path; from mbndt.rules import Rules;"
        "from mbndt.emitters import emit;"
        f"rules = Rules.from_json(Path({str(EXAMPLE)!r}).read_bytes());"
        "emit(rules, 'protocol', format='html');"
        "print([name for name in ('numpy', 'duckdb', 'torch') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_value_that_no_row_lists_takes_the_row_for_those():
    feature = Feature("c", FeatureType.CATEGORY, ("a", "b"))
    split = SetSplit("c", (Group(("a",), 0),), 0, (Leaf(0, NO), Leaf(1, YES)), 1)
    sheet = read(Rules("r", LABELS, (feature,), split))
    assert [answer.parts for answer in sheet.steps[1].answers] == [["“a”"], [OTHER], ["missing"]]
    assert [sheet.leaf({"c": value}) for value in ("a", "b", "z", "", None)] == [0, 1, 1, 0, 0]
