"""The losses and the training loop."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.metrics import balanced_accuracy_score, mean_squared_error
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from mbndt.errors import OptionError
from mbndt.learning.network.loop import train
from mbndt.learning.network.losses import GREATEST_TARGET, make_loss
from mbndt.learning.settings import Settings, preset

ROWS, TRAIN = 60, np.arange(40)
SMALL = Settings(depth=2, restarts=2, first_epochs=6, epochs=10)


def drawn(classes, seed=0):
    """Return a target [n], weights [n] with zeros among them, and outputs [2, n, K] in doubles."""
    draw = np.random.default_rng(seed)
    target = draw.integers(0, classes, ROWS) if classes else 100 + 7 * draw.normal(size=ROWS)
    weights = draw.uniform(0, 3, ROWS) * (draw.random(ROWS) > 0.2)
    outputs = torch.tensor(draw.normal(size=(2, ROWS, classes if classes > 2 else 1)))
    return target, weights, outputs


def balance(target, weights, classes):
    """Return n / (C n_c) of each row, counted in weight over the training rows."""
    totals = np.array([weights[TRAIN][target[TRAIN] == c].sum() for c in range(classes)])
    return weights[TRAIN].sum() / (classes * totals[target])


def textbook(target, weights, output, classes, balanced):
    """Return the mean loss of outputs [n, K] of all rows, by torch's own losses."""
    sample = weights / weights[TRAIN].mean()
    if classes == 0:
        mean = np.average(target[TRAIN], weights=weights[TRAIN])
        sd = np.sqrt(np.average((target[TRAIN] - mean) ** 2, weights=weights[TRAIN]))
        each = (output[:, 0] - torch.tensor((target - mean) / sd)) ** 2
    elif classes == 2:
        y = torch.tensor(target, dtype=torch.float64)
        each = binary_cross_entropy_with_logits(output[:, 0], y, reduction="none")
    else:
        each = cross_entropy(output, torch.tensor(target), reduction="none")
    if classes and balanced:
        sample = sample * balance(target, weights, classes)
    return (torch.tensor(sample) * each).mean()


@pytest.mark.parametrize("balanced", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("classes", [0, 2, 3, 7])
def test_a_loss_and_its_derivative_are_the_textbooks(classes, weighted, balanced):
    target, weights, outputs = drawn(classes)
    weights = weights if weighted else np.ones(ROWS)
    loss = make_loss(target, classes, weights if weighted else None, balanced=balanced)(
        TRAIN, "cpu"
    )
    assert loss.outputs == outputs.shape[-1]
    value, delta = loss.value_and_delta(outputs, torch.arange(ROWS))
    for r in range(2):
        free = outputs[r].clone().requires_grad_()
        expected = textbook(target, weights, free, classes, balanced)
        expected.backward()
        assert value[r].item() == pytest.approx(expected.item(), rel=1e-5)
        assert torch.allclose(delta[r], free.grad, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("classes", [0, 2, 3])
def test_a_score_is_that_of_scikit_learn(classes):
    target, weights, outputs = drawn(classes, seed=1)
    loss = make_loss(target, classes, weights)(TRAIN, "cpu")
    rows = np.arange(40, ROWS)
    found = loss.score(outputs[:, rows], torch.tensor(rows))
    for r in range(2):
        output = outputs[r, rows].numpy()
        if classes:
            got = output.argmax(-1) if classes > 2 else output[:, 0] >= 0
            expected = balanced_accuracy_score(target[rows], got, sample_weight=weights[rows])
        else:
            y = torch.tensor(target[rows])
            raw = loss.raw(output[:, 0])
            expected = -mean_squared_error(y, raw, sample_weight=weights[rows])
            expected /= (loss.sd * loss.unit) ** 2
        assert found[r].item() == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("classes", [0, 2, 3])
@pytest.mark.parametrize(
    "zero", ["all", "a class", "training", "stopping", "others", "scarce", "huge"]
)
def test_weights_of_zero_or_extreme_ones_break_nothing(classes, zero):
    target, _, outputs = drawn(classes)
    weights = {
        "all": np.zeros(ROWS),
        "a class": np.where(target == 0, 0.0, 1.0),
        "training": np.where(np.arange(ROWS) < 40, 0.0, 1.0),
        "stopping": np.where(np.arange(ROWS) < 40, 1.0, 0.0),
        "others": np.where(np.arange(ROWS) == 3, 1e308, 1e-320),
        "scarce": np.where((target == 0) & (np.arange(ROWS) < 40), 1e-320, 1.0),
        "huge": np.full(ROWS, 1e308),
    }[zero]
    loss = make_loss(target, classes, weights)(TRAIN, "cpu")
    for rows in (np.arange(40), np.arange(40, ROWS)):
        value, delta = loss.value_and_delta(outputs[:, rows], torch.tensor(rows))
        score = loss.score(outputs[:, rows], torch.tensor(rows))
        assert all(torch.isfinite(x).all() for x in (value, delta, score))
    x = np.random.default_rng(0).normal(size=(ROWS, 3))
    short = replace(SMALL, first_epochs=2, epochs=2)
    trained = train(x, make_loss(target, classes, weights), target if classes else None, short)
    assert np.isfinite(trained.network.leaves).all()


def test_rows_of_weight_zero_count_for_nothing():
    target, weights, outputs = drawn(3)
    loss = make_loss(target, 3, weights)(TRAIN, "cpu")
    other = np.where(weights == 0, (target + 1) % 3, target)
    same = make_loss(other, 3, weights)(TRAIN, "cpu")
    rows = torch.arange(ROWS)
    for a, b in zip(
        loss.value_and_delta(outputs, rows), same.value_and_delta(outputs, rows), strict=True
    ):
        assert torch.equal(a, b)
    assert torch.equal(loss.score(outputs, rows), same.score(outputs, rows))


@pytest.mark.parametrize(
    "values", [[5.0] * ROWS, [1e308, -1e308] * 30, [1e-320, 0] * 30, [0, 1] * 20 + [1e308] * 20]
)
def test_any_numbers_standardise_to_finite_ones(values):
    loss = make_loss(np.array(values), 0)(TRAIN, "cpu")
    assert torch.isfinite(loss.target).all()
    assert loss.target.abs().max() <= GREATEST_TARGET
    back = loss.raw(loss.target[TRAIN].numpy().astype(np.float64))
    assert np.allclose(back, np.array(values)[TRAIN], rtol=1e-6)
    assert np.isfinite(loss.raw(np.array([1e300]))).all()


def signal(rows=600):
    x = np.random.default_rng(4).normal(size=(rows, 4))
    return x, np.where(x[:, 0] > 0.3, 2.0, 0.0) + np.where(x[:, 1] > -0.5, 1.0, 0.0)


def test_regression_trains():
    x, y = signal()
    y = 1e6 * y
    made = make_loss(y, 0)
    trained = train(x, made, None, SMALL)
    _, leaf = trained.network.route(x, np.ones((4, 3), bool))
    raw = made(np.arange(len(y)), "cpu").raw(trained.network.leaves[leaf, 0])
    assert 1 - np.mean((raw - y) ** 2) / np.var(y) > 0.5


def test_three_classes_train():
    x, y = signal()
    y = np.minimum(y, 2).astype(np.int64)
    trained = train(x, make_loss(y, 3), y, SMALL)
    assert trained.network.leaves.shape == (9, 3)
    _, leaf = trained.network.route(x, np.ones((4, 3), bool))
    assert balanced_accuracy_score(y, trained.network.leaves[leaf].argmax(-1)) > 0.8


def test_the_restarts_come_best_first_and_without_epochs_the_first_wins():
    x, y = signal()
    y = (y > 1).astype(np.int64)
    seen = []
    made = make_loss(y, 2)
    trained = train(
        x,
        lambda rows, device: seen.append(rows) or made(rows, device),
        y,
        replace(SMALL, restarts=4, epochs=0),
    )
    assert len(trained.restarts) == 4
    assert trained.network is trained.restarts[0]
    assert {record["stage"] for record in trained.history} == {"restarts"}
    best = np.min([record["loss"] for record in trained.history], axis=0)
    assert not np.array_equal(best, sorted(best)), "a case in which the order matters"
    stop = torch.tensor(np.setdiff1d(np.arange(len(y)), seen[0]))
    outputs = []
    for network in trained.restarts:
        _, leaf = network.route(x, np.ones((4, 3), bool))
        outputs.append(torch.tensor(network.leaves[leaf], dtype=torch.float32))
    found, _ = made(seen[0], "cpu").value_and_delta(torch.stack(outputs)[:, stop], stop)
    assert found.numpy() == pytest.approx(sorted(best), abs=1e-5)
    alone = train(x, make_loss(y, 2), y, replace(SMALL, restarts=4, epochs=1))
    assert np.array_equal(alone.restarts[0].leaves, trained.restarts[0].leaves)
    assert not np.array_equal(alone.network.leaves, trained.network.leaves)


def test_a_restart_that_has_stopped_leaves_the_others_as_they_are():
    x, y = signal()
    y = (y > 1).astype(np.int64)
    few = replace(SMALL, restarts=3, first_epochs=25, first_patience=2, epochs=0)
    trained = train(x, make_loss(y, 2), y, few)
    losses = np.array([record["loss"] for record in trained.history])
    stopped = (losses[1:] == losses[:-1]).any(0)
    assert stopped.any()
    assert not stopped.all()
    patient = train(x, make_loss(y, 2), y, replace(few, first_patience=25))
    longer = np.array([record["loss"] for record in patient.history])[: len(losses)]
    assert np.allclose(longer[:, ~stopped], losses[:, ~stopped], rtol=1e-3)


def test_the_monitor_is_what_the_second_stage_keeps_the_best_of():
    x, y = signal(200)
    y = ((y > 1) ^ (np.random.default_rng(1).random(200) < 0.2)).astype(np.int64)
    for monitor, sign in (("score", 1), ("loss", -1)):
        seen = []
        settings = replace(SMALL, monitor=monitor, patience=3, epochs=40)
        trained = train(
            x,
            make_loss(y, 2),
            y,
            settings,
            lambda stage, epoch, most, best, seen=seen: seen.append((stage, best)),
        )
        values = [sign * r[monitor][0] for r in trained.history if r["stage"] == "training"]
        assert seen[-1] == ("training", pytest.approx(max(values), abs=1e-6))
        assert len(values) == int(np.argmax(values)) + 1 + 3


def test_a_class_of_one_row_only_trains():
    x, y = signal(100)
    y = np.minimum(y, 1).astype(np.int64)
    y[7] = 2
    seen = []
    train(
        x,
        lambda rows, device: seen.append(rows) or make_loss(y, 3)(rows, device),
        y,
        replace(SMALL, first_epochs=1, epochs=0),
    )
    assert 7 in seen[0]
    assert len(seen[0]) == 80


@pytest.mark.parametrize("classes", [0, 2, 3])
def test_the_same_seed_gives_the_same_parameters(classes):
    target, weights, _ = drawn(classes)
    x = np.random.default_rng(2).normal(size=(ROWS, 3))
    strata = target if classes else None
    one, two, other = (
        train(x, make_loss(target, classes, weights), strata, replace(SMALL, seed=seed)).network
        for seed in (5, 5, 6)
    )
    for name in ("chosen", "cuts", "masks", "leaves"):
        assert np.array_equal(getattr(one, name), getattr(two, name))
    assert not np.array_equal(one.leaves, other.leaves)


@pytest.mark.parametrize(
    "option, value",
    [
        ("monitor", "accuracy"),
        ("class_weight", "even"),
        ("sample", 1),
        ("sample", 2.5),
        ("epochs", -1),
        ("first_epochs", 0),
        ("patience", 0),
        ("first_patience", True),
        ("depth", 5),
        ("device", "tpu"),
    ],
)
def test_a_wrong_option_names_itself(option, value):
    with pytest.raises(OptionError, match=f"^{option}: got "):
        preset("paper", **{option: value})
