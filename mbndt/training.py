"""The training loop: batches, leaf budget, early stopping, restarts. No model mathematics.

Restarts run as one batch of networks on the same mini-batches. The leaf budget's penalty has a
gradient only while it is violated, so it is computed only then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from sklearn.model_selection import train_test_split
from torch import Tensor

from mbndt.encoding import Floats
from mbndt.errors import OptionError, nearest, shown
from mbndt.network import (
    Parameters,
    Routing,
    Shape,
    TrainedNetwork,
    effective_leaves,
    forward,
    gradients,
    initial,
    outputs_of,
)

Codes = npt.NDArray[np.int64]
# Called with the stage's name, the epoch, the epochs at most, and the best monitored score.
Progress = Callable[[str, int, int, float], None]


@dataclass(frozen=True)
class Settings:
    """The settings of a training run; the defaults are the paper's recommended preset.

    `tau` is the temperature of the soft bins on the score scale; the four rates are Adam's;
    `leaf_budget` is the target K of effective leaves.
    """

    depth: int = 4
    branching: int = 3
    leaf_budget: float = 36.0
    restarts: int = 5
    seed: int = 0
    device: str = "cpu"
    tau: float = 0.30716
    rate_selector: float = 0.010145
    rate_threshold: float = 0.009401
    rate_leaf: float = 0.020192
    rate_mask: float = 0.011648
    first_epochs: int = 40
    first_patience: int = 8
    epochs: int = 500
    patience: int = 25

    def __post_init__(self) -> None:
        for option, low, high in (
            ("depth", 1, 4), ("branching", 2, 16), ("restarts", 1, 1000), ("seed", 0, 2**31),
        ):  # fmt: skip
            if type(getattr(self, option)) is not int or not low <= getattr(self, option) <= high:
                raise OptionError(f"--{option}: got {shown(getattr(self, option))},"
                                  f" expected {low} to {high}")  # fmt: skip
        if not isinstance(self.leaf_budget, (int, float)) or not 1 <= self.leaf_budget < np.inf:
            raise OptionError(f"--leaf-budget: got {self.leaf_budget}, expected at least 1")
        if self.device not in ("cpu", "cuda"):
            raise OptionError(f"--device: got {shown(self.device)}, expected 'cpu' or 'cuda'")
        if self.device == "cuda" and not torch.cuda.is_available():
            raise OptionError("--device: got 'cuda', but torch finds no such device here")


PRESETS = {
    "paper": Settings(),
    "default": Settings(branching=4),
    "fast": Settings(restarts=2, first_epochs=15, epochs=60, patience=8),
}


def preset(name: str, **changes: Any) -> Settings:
    """Return a preset's settings with changes; raises `OptionError` that names the option."""
    if name not in PRESETS:
        raise OptionError(f"--preset: got {shown(name)}{nearest(name, PRESETS)}")
    return replace(PRESETS[name], **changes)


class Loss(Protocol):
    """A loss over the outputs of leaves; `outputs` is the number K that it asks of a leaf."""

    outputs: int

    def value_and_delta(self, output: Tensor, row: Tensor) -> tuple[Tensor, Tensor]:
        """Return the loss [R] and its derivative [R, n, K] at outputs [R, n, K] of rows [n]."""

    def score(self, output: Tensor, row: Tensor) -> Tensor:
        """Return what the second stage monitors, [R]; more is better."""


class BalancedLogistic:
    """Two classes: mean of w_y BCE(v, y) with w_c = n / (2 n_c), one logit v a leaf."""

    outputs = 1

    def __init__(self, codes: Codes, train: npt.NDArray[np.intp], device: str) -> None:
        """Take all rows' classes [n], 0 or 1; the weights come from the rows of `train`."""
        counts = np.maximum(np.bincount(codes[train], minlength=2), 1)
        self.classes = torch.tensor(codes, dtype=torch.float32, device=device)
        self.weights = torch.tensor(
            (len(train) / (2 * counts))[codes], dtype=torch.float32, device=device
        )

    def value_and_delta(self, output: Tensor, row: Tensor) -> tuple[Tensor, Tensor]:
        """Return the mean weighted logistic loss and its derivative."""
        y, w, v = self.classes[row], self.weights[row], output[..., 0]
        loss = torch.nn.functional.softplus(torch.where(y > 0.5, -v, v))
        return (w * loss).mean(-1), ((w / len(row)) * (torch.sigmoid(v) - y))[..., None]

    def score(self, output: Tensor, row: Tensor) -> Tensor:
        """Return the balanced accuracy, [R]."""
        y = self.classes[row] > 0.5
        right = ((output[..., 0] >= 0) == y).float()
        hits = [right[:, side].mean(-1) for side in (y, ~y) if side.any()]
        return torch.stack(hits).mean(0)


@dataclass(frozen=True)
class Trained:
    """The winner of the restarts: the network, its history (one record an epoch), best scores."""

    network: TrainedNetwork
    history: list[dict[str, Any]] = field(default_factory=list)


def train(
    scores: Floats,
    loss_of: Callable[[npt.NDArray[np.intp], str], Loss],
    strata: Codes | None,
    settings: Settings,
    progress: Progress | None = None,
) -> Trained:
    """Train on score rows [n, F]; a stratified fifth of them stops the training early.

    `loss_of` makes the loss from the indices of the training part; `strata` [n] are the classes to
    stratify by. The restart with the least validation loss goes on to the second stage, which
    monitors the loss's score, and whose best epoch is returned.
    """
    with _one_thread():
        fit, stop = _early_stopping_split(len(scores), strata, settings.seed)
        run = _Run(scores, loss_of(fit, settings.device), fit, stop, settings, progress)
        params = initial(run.shape, settings.restarts, settings.seed)
        params = {name: value.to(settings.device) for name, value in params.items()}
        best, score = run.stage(
            params, "restarts", settings.first_epochs, settings.first_patience, _by_loss
        )
        winner = int(score.argmax())
        params = {name: value[winner : winner + 1].clone() for name, value in best.items()}
        best, _ = run.stage(params, "training", settings.epochs, settings.patience, _by_score)
        return Trained(TrainedNetwork.of(best, run.shape, settings.tau), run.history)


def _early_stopping_split(
    rows: int, strata: Codes | None, seed: int
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    everything = np.arange(rows)
    classes = 1 if strata is None else len(np.unique(strata))
    if rows < 10 or (strata is not None and np.bincount(strata).min() < 2):
        return everything, everything  # too few rows to hold any back
    fifth = max(classes, round(rows / 5))
    fit, stop = train_test_split(
        everything, test_size=fifth, random_state=seed + 777, stratify=strata
    )
    return np.sort(fit), np.sort(stop)


def batch_size(rows: int) -> int:
    """Return the mini-batch size for n training rows (paper, not tuned)."""
    target = 256 if rows < 10_000 else 512 if rows < 100_000 else 1024
    return min(max(16, min(target, rows // 12)), rows)


def _by_loss(loss: Tensor, score: Tensor) -> Tensor:
    return -loss


def _by_score(loss: Tensor, score: Tensor) -> Tensor:
    return score


class _Run:
    """The data of one run on its device, and the stages over it."""

    def __init__(
        self, scores: Floats, loss: Loss, fit: npt.NDArray[np.intp], stop: npt.NDArray[np.intp],
        settings: Settings, progress: Progress | None,
    ) -> None:  # fmt: skip
        device = settings.device
        # Scores lie on a grid that float32 holds exactly. [F, n], as nodes pick whole columns.
        self.columns = torch.tensor(scores.T, dtype=torch.float32, device=device).contiguous()
        self.loss = loss
        self.fit = torch.tensor(fit, device=device)
        self.stop = torch.tensor(stop, device=device)
        self.stop_columns = self.columns[:, self.stop].contiguous()
        self.settings = settings
        self.shape = Shape(settings.depth, settings.branching, scores.shape[1], loss.outputs)
        self.shuffle = torch.Generator().manual_seed(settings.seed + 1)
        self.progress = progress
        self.history: list[dict[str, Any]] = []

    @torch.no_grad()
    def stage(
        self, params: Parameters, name: str, epochs: int, patience: int,
        monitor: Callable[[Tensor, Tensor], Tensor],
    ) -> tuple[Parameters, Tensor]:  # fmt: skip
        """Run epochs until every restart has failed to improve `patience` times in a row; return
        each restart's best parameters and monitored score [R].
        """
        s = self.settings
        rates = {
            "selector": s.rate_selector, "base": s.rate_threshold, "gaps": s.rate_threshold,
            "masks": s.rate_mask, "leaves": s.rate_leaf,
        }  # fmt: skip
        optimizer = torch.optim.Adam(
            [{"params": [params[key]], "lr": rate} for key, rate in rates.items()], fused=True
        )
        budget = _LeafBudget(self)
        restarts = len(params["base"])
        best_score = torch.full((restarts,), -torch.inf)
        best = {key: value.clone() for key, value in params.items()}
        failed = torch.zeros(restarts, dtype=torch.long)
        for epoch in range(1, epochs + 1):
            self._epoch(params, optimizer, budget)
            loss, score = self._validate(params)
            running = failed < patience
            monitored = monitor(loss, score)
            better = running & (monitored > best_score)
            for key, value in params.items():
                best[key][better] = value[better]
            best_score = torch.where(better, monitored, best_score)
            failed = torch.where(better, 0, failed + running)
            self._report(name, epoch, epochs, loss, score, budget, best_score)
            if not (failed < patience).any():
                break
        return best, best_score

    def _epoch(
        self, params: Parameters, optimizer: torch.optim.Optimizer, budget: _LeafBudget
    ) -> None:
        order = self.fit[torch.randperm(len(self.fit), generator=self.shuffle)]
        columns = self.columns[:, order]
        size = batch_size(len(order))
        budget.look(params, columns[:, :size])
        for start in range(0, len(order), size):
            rows = order[start : start + size]
            batch = columns[:, start : start + size]
            routing = forward(params, self.shape, self.settings.tau, batch)
            _, delta = self.loss.value_and_delta(outputs_of(params, routing), rows)
            found = gradients(params, self.shape, self.settings.tau, batch, routing, delta)
            budget.add(found, params, batch)
            for key, value in params.items():
                value.grad = found[key]
            optimizer.step()
        budget.end_epoch()

    def _validate(self, params: Parameters) -> tuple[Tensor, Tensor]:
        routing: Routing = forward(params, self.shape, self.settings.tau, self.stop_columns)
        output = outputs_of(params, routing)
        loss, _ = self.loss.value_and_delta(output, self.stop)
        return loss.cpu(), self.loss.score(output, self.stop).cpu()

    def _report(
        self, name: str, epoch: int, epochs: int, loss: Tensor, score: Tensor,
        budget: _LeafBudget, best: Tensor,
    ) -> None:  # fmt: skip
        self.history.append({
            "stage": name, "epoch": epoch, "loss": [round(float(x), 6) for x in loss],
            "score": [round(float(x), 6) for x in score],
            "effective_leaves": round(budget.effective, 3),
        })  # fmt: skip
        if self.progress:
            self.progress(name, epoch, epochs, float(best.max()))


class _LeafBudget:
    """The augmented Lagrangian mu V + rho/2 V^2 with V = relu(log n_eff - log K) (paper)."""

    RHO, RATE, DECAY = 0.03, 0.003, 0.5

    def __init__(self, run: _Run) -> None:
        self.run = run
        self.mu = 0.0
        self.average: float | None = None
        self.violation = 0.0
        self.effective = 0.0

    def look(self, params: Parameters, batch: Tensor) -> None:
        """Measure the violation, the mean over restarts, on an epoch's first batch."""
        leaves = effective_leaves(params, self.run.shape, self.run.settings.tau, batch)
        self.effective = float(leaves.mean())
        excess = torch.log(leaves) - np.log(self.run.settings.leaf_budget)
        self.violation = float(excess.clamp(min=0).mean())

    def add(self, found: Parameters, params: Parameters, batch: Tensor) -> None:
        """Add the penalty's gradient to `found`, while the budget is violated."""
        if self.violation == 0.0:
            return
        with torch.enable_grad():
            free = {k: v.detach().requires_grad_() for k, v in params.items() if k != "leaves"}
            leaves = effective_leaves(free, self.run.shape, self.run.settings.tau, batch)
            excess = (torch.log(leaves) - np.log(self.run.settings.leaf_budget)).clamp(min=0)
            penalty = (self.mu * excess + 0.5 * self.RHO * excess**2).sum()
            for key, value in zip(
                free, torch.autograd.grad(penalty, list(free.values())), strict=True
            ):
                found[key] = found[key] + value

    def end_epoch(self) -> None:
        """Take the dual step on the smoothed violation."""
        before = self.violation if self.average is None else self.average
        self.average = self.DECAY * before + (1 - self.DECAY) * self.violation
        self.mu = max(0.0, self.mu + self.RATE * self.average)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Run torch on one thread: the tensors are small, and sums stay in one order."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
