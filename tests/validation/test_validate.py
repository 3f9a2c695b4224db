"""A validation's figures, recounted row by row and by scikit-learn."""

import hashlib
import json
from datetime import date

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import mean_absolute_error, r2_score, roc_auc_score, root_mean_squared_error
from validated import FAST, learned, others, regression

import mbndt
from mbndt import DataError, DataWarning, OptionError, Rules
from mbndt.interpreter import leaf_of
from mbndt.rules import Leaf
from mbndt.rules.standing import validation_status
from mbndt.tables.table import Table

pytestmark = pytest.mark.filterwarnings("ignore::mbndt.DataWarning")


def test_figures_are_those_of_a_recount():
    rules, table = learned(), others()
    found = mbndt.validate(rules, table).performance
    event = rules.target.classes[rules.event]
    rows = [*table.records(rules.used)]
    ends = [rules.leaves[leaf_of(rules, row)] for row in rows]
    truth = [y == event for y in table.columns["y"]]
    told = [rules.label(end) == event for end in ends]
    risk = [end.risk[rules.event] for end in ends]
    hit = sum(a and b for a, b in zip(truth, told, strict=True))
    assert found["rows"] == 200
    assert found["sensitivity"][0] == hit / sum(truth)
    assert found["ppv"][0] == hit / sum(told)
    assert found["auc"][0] == pytest.approx(roc_auc_score(truth, risk))
    assert found["calibration"]["expected"] == pytest.approx(np.mean(risk))
    for point in found["points"]:
        t = point["act_at"]
        acts = [r >= t for r in risk]
        true = sum(a and b for a, b in zip(truth, acts, strict=True))
        needless = sum(acts) - true
        assert (point["found"], point["needless"]) == (true, needless)
        assert point["net_benefit"] == pytest.approx((true - needless * t / (1 - t)) / 200)


def test_groups_are_those_of_their_rows_alone():
    rules, table = learned(), others()
    groups = mbndt.validate(rules, table, by=["pair", "flag"]).groups
    assert [(g["by"], g["value"]) for g in groups] == [
        *(("pair", value) for value in ("left", "right", "not known")),
        *(("flag", value) for value in ("false", "true", "not known")),
    ]
    texts = {"None": "not known", "True": "true", "False": "false"}
    for group in groups:
        cells = [texts.get(str(cell), str(cell)) for cell in table.columns[group["by"]]]
        own = np.array(cells) == group["value"]
        assert group["all_rows"] == own.sum()
        assert group["small"] == (own.sum() < 20)
        alone = mbndt.validate(rules, table.take(own)).performance
        assert group["performance"] == alone
    assert {g["small"] for g in groups} == {False, True}


def test_missing_outside_and_unlisted_values_are_counted():
    table = others()
    x = [*map(float, np.full(200, 50.0))]
    x[:30], x[30:40], x[40:45] = [None] * 30, [1e6] * 10, [-1e6] * 5
    colours = ["violet"] * 20 + ["red"] * 180
    rules = mbndt.learn(mixed(), "y", exclude=["n", "code"], **FAST).rules
    found = mbndt.validate(
        rules, Table.of({**table.columns, "x": np.array(x, object), "colour": colours})
    )
    by_name = {entry["name"]: entry for entry in found.inputs}
    assert by_name["x"]["missing"][0] == 30 / 200
    assert by_name["x"]["outside"][0] == 15 / 170
    assert by_name["x"]["drift"] == "much"
    assert by_name["colour"]["unlisted"][0] == 0.1
    assert any("outside of" in remark for remark in found.remarks)
    assert any("unknown to the rules" in remark for remark in found.remarks)


def mixed() -> Table:
    """Return rows of which both x and colour are needed."""
    draw = np.random.default_rng(3)
    x, colour = draw.normal(50, 20, 400).round(1), draw.choice(["red", "blue"], 400)
    y = np.where((x > 55) ^ (colour == "red"), "yes", "no").astype(object)
    some = {"x": x, "colour": colour.astype(object), "n": x, "code": x}
    return Table.of({**some, "y": y})


def test_nothing_has_moved_in_rows_of_the_same_source_and_leaves_are_counted():
    rules = learned()
    found = mbndt.validate(rules, others(2000, 11))
    assert {entry["drift"] for entry in found.inputs} <= {"none", "little"}
    assert found.leaves["drift"] in ("none", "little")
    reached = [leaf_of(rules, row) for row in others(2000, 11).records(rules.used)]
    for entry in found.leaves["leaves"]:
        assert entry["rows"] == reached.count(entry["leaf"])
        assert entry["training_rows"] == rules.leaves[entry["leaf"]].size


def test_a_regression_is_validated_by_its_errors():
    rules, table = regression()
    found = mbndt.validate(rules, table).performance
    told = rules.predict(table).prediction
    truth = table.columns["single"].astype(np.float64)
    assert found["r2"] == pytest.approx(r2_score(truth, told))
    assert found["mae"] == pytest.approx(mean_absolute_error(truth, told))
    assert found["rmse"][0] == pytest.approx(root_mean_squared_error(truth, told))


def test_only_a_validation_lifts_the_stamp_and_the_record_adds_up():
    rules = learned()
    first = mbndt.validate(rules, others(), date="2026-01-02")
    assert first.status == validation_status(first.validated) == "VALIDATED INTERNALLY"
    second = mbndt.validate(first.validated, others(seed=8), on="  Hospital\n B ")
    assert second.status == "VALIDATED on Hospital B"
    blocks = second.validated.provenance["validation"]
    assert [block["kind"] for block in blocks] == ["internal", "external"]
    assert blocks[0]["date"] == "2026-01-02"
    assert blocks[1]["date"] == date.today().isoformat()
    assert {block["rules"] for block in blocks} == {rules.fingerprint}
    assert second.validated.fingerprint == rules.fingerprint
    assert Rules.from_json(second.validated.to_json()) == second.validated


def test_few_rows_lift_no_stamp():
    with pytest.warns(DataWarning, match="lift no stamp"):
        found = mbndt.validate(learned(), others().take(np.arange(19)))
    assert found.status == "DRAFT"


def test_data_of_a_file_are_named_by_their_bytes(tmp_path):
    path = tmp_path / "rows.csv"
    pd.DataFrame({n: list(c) for n, c in others().columns.items()}).to_csv(path, index=False)
    found = mbndt.validate(learned(), path)
    assert found.data["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert found.data["digest"] == mbndt.validate(learned(), others()).data["digest"]
    assert json.loads(json.dumps(found.as_dict(), allow_nan=False)) == found.as_dict()


def test_rows_without_the_truth_are_left_out_and_counted():
    table = others()
    y = np.array(table.columns["y"], object)
    y[:10] = None
    with pytest.warns(DataWarning, match="10 rows without a value of 'y'"):
        found = mbndt.validate(learned(), Table.of({**table.columns, "y": y}))
    assert (found.data["rows"], found.data["without_target"]) == (190, 10)


def test_rows_that_get_no_answer_are_counted_and_told_by_no_figure():
    rules, table = learned(), others()
    stopping = rules.with_leaves(lambda end: Leaf(0, None) if end.leaf == 0 else end)
    whole, found = (mbndt.validate(each, table) for each in (rules, stopping))
    at_stop = whole.leaves["leaves"][0]["rows"]
    assert found.performance["unanswered"] == at_stop > 0
    assert found.performance["rows"] == 200 - at_stop
    assert f"{at_stop} rows got no answer" in found.to_html()


@pytest.mark.parametrize(
    "wrong, match",
    [
        ({"target": "Y"}, "^target: data has no column 'Y'; did you mean 'y'"),
        ({"by": ["pear"]}, "^by: data has no column 'pear'; did you mean 'pair'"),
        ({"by": "x"}, "^by: column 'x' has .* different values, expected at most 20"),
        ({"on": " "}, "^on: got nothing"),
        ({"date": "2 May"}, "^date: got '2 May', expected YYYY-MM-DD"),
    ],
)
def test_wrong_arguments_are_named(wrong, match):
    with pytest.raises(OptionError, match=match):
        mbndt.validate(learned(), others(), **wrong)


def test_a_class_that_the_rules_do_not_know_is_refused():
    table = others()
    y = ["maybe", *table.columns["y"][1:]]
    with pytest.raises(DataError, match="row 1: got 'maybe', expected one of the classes"):
        mbndt.validate(learned(), Table.of({**table.columns, "y": y}))


@pytest.mark.parametrize(
    "aim, at", [({"act_at": 0.2}, 0.2), ({"cost": {"missed": 3, "false": 1}}, 0.25), ({}, None)]
)
def test_answers_are_weighed_at_the_operating_point_that_was_stated(aim, at):
    rules, table = mbndt.learn(others(300, 0), "y", **FAST, **aim).rules, others()
    found = mbndt.validate(rules, table, by=["pair"])
    told = found.performance.get("operating point")
    if at is None:
        assert told is None
        return
    event = rules.target.classes[rules.event]
    answers, truth = rules.predict(table).prediction, table.columns["y"]
    pairs = [*zip(answers, truth, strict=True)]
    hits = pairs.count((event, event))
    needless = answers.count(event) - hits
    assert told["act_at"] == at
    assert told["net_benefit"][0] == pytest.approx((hits - needless * at / (1 - at)) / 200)
    assert all(group["performance"]["operating point"]["act_at"] == at for group in found.groups)
    assert f"net benefit at {100 * at:.1f} %" in found.to_html()
