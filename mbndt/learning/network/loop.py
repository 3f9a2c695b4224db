"""The training loop: batches, leaf budget, early stopping, restarts. No model mathematics.

Restarts run as one batch of networks on the same mini-batches. The leaf budget's penalty has a
gradient only while it is violated, so it is computed only then.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from sklearn.model_selection import train_test_split
from torch import Tensor

from mbndt.arrays import Floats, Indices, Ints
from mbndt.learning.network.frozen import Shape, TrainedNetwork
from mbndt.learning.network.losses import Loss
from mbndt.learning.network.tree import (
    Parameters,
    Soft,
    forward,
    freeze,
    gradients,
    initial,
    outputs_of,
    selected,
    soften,
)
from mbndt.learning.settings import Settings

# Called with the stage's name, the epoch, the epochs at most, and the best monitored score.
Progress = Callable[[str, int, int, float], None]


@dataclass(frozen=True)
class Trained:
    """The outcome of training: the winner's network, the history, and every restart's best state.

    The history has one record an epoch; the states are those at the end of the first stage, in
    order of validation loss.
    """

    network: TrainedNetwork
    history: list[dict[str, Any]] = field(default_factory=list)
    restarts: tuple[TrainedNetwork, ...] = ()


def train(
    scores: Floats,
    loss_of: Callable[[Indices, str], Loss],
    strata: Ints | None,
    settings: Settings,
    progress: Progress | None = None,
) -> Trained:
    """Train on score rows [n, F]; a stratified fifth of them stops the training early.

    `loss_of` makes the loss from the indices of the training part; `strata` [n] are the classes to
    stratify by. The restart with the least validation loss goes on to the second stage, whose best
    epoch is returned.
    """
    with _one_thread():
        fit, stop = _early_stopping_split(np.arange(len(scores)), strata, settings.seed)
        run = _Run(scores, loss_of(fit, settings.device), fit, stop, settings, progress)
        params = initial(run.shape, settings.restarts, settings.seed)
        params = {name: value.to(settings.device) for name, value in params.items()}
        best, score = run.stage(
            params, "restarts", settings.first_epochs, settings.first_patience, "loss"
        )
        order = score.argsort(descending=True, stable=True).tolist()
        restarts = tuple(freeze(best, run.shape, settings.tau, r) for r in order)
        if settings.epochs == 0:
            return Trained(restarts[0], run.history, restarts)
        params = {name: value[order[:1]] for name, value in best.items()}
        best, _ = run.stage(
            params, "training", settings.epochs, settings.patience, settings.monitor
        )
        network = freeze(best, run.shape, settings.tau)
        return Trained(network, run.history, restarts)


def _early_stopping_split(rows: Indices, strata: Ints | None, seed: int) -> tuple[Indices, Indices]:
    """Split row indices [m] into those that train and those that stop the training."""
    common = np.ones(len(rows), np.bool_)
    classes, stratify = 1, None
    if strata is not None:
        # A class of one row can only train.
        common = np.bincount(strata[rows])[strata[rows]] >= 2
        stratify = strata[rows][common]
        classes = len(np.unique(stratify))
    few = common.sum() < 10 or (strata is not None and classes < 2)
    if few:
        return rows, rows  # too few rows to hold any back
    fifth = max(classes, round(int(common.sum()) / 5))
    fit, stop = train_test_split(
        rows[common], test_size=fifth, random_state=seed + 777, stratify=stratify
    )
    return np.sort(np.concatenate([fit, rows[~common]])), np.sort(stop)


def batch_size(rows: int) -> int:
    """Return the mini-batch size for n training rows (paper, not tuned)."""
    target = 256 if rows < 10_000 else 512 if rows < 100_000 else 1024
    return min(max(16, min(target, rows // 12)), rows)


class _Run:
    """The data of one run on its device, and the stages over it."""

    CELLS = 2_000_000  # rows times branches of all nodes that are routed at a time in validation

    def __init__(
        self,
        scores: Floats,
        loss: Loss,
        fit: Indices,
        stop: Indices,
        settings: Settings,
        progress: Progress | None,
    ) -> None:
        device = settings.device
        # Scores lie on a grid that float32 holds exactly. [F, n], as nodes pick whole columns.
        self.columns = torch.tensor(scores.T, dtype=torch.float32, device=device).contiguous()
        self.loss = loss
        self.fit = torch.tensor(fit, device=device)
        self.stop = torch.tensor(stop, device=device)
        self.settings = settings
        self.shape = Shape(settings.depth, settings.branching, scores.shape[1], loss.outputs)
        block = max(1, self.CELLS // (self.shape.nodes * settings.branching))
        self.stop_columns = torch.split(self.columns[:, self.stop], block, 1)
        self.shuffle = torch.Generator().manual_seed(settings.seed + 1)
        self.progress = progress
        self.history: list[dict[str, Any]] = []

    @torch.inference_mode()
    def stage(
        self, params: Parameters, name: str, epochs: int, patience: int, monitor: str
    ) -> tuple[Parameters, Tensor]:
        """Run epochs until every restart has failed to improve `patience` times in a row.

        Returns each restart's best parameters and what was monitored at them [R], more being
        better.

        A restart that has stopped leaves the batch.
        """
        s = self.settings
        adam = _Adam(
            params,
            {
                "selector": s.rate_selector,
                "base": s.rate_threshold,
                "gaps": s.rate_threshold,
                "masks": s.rate_mask,
                "leaves": s.rate_leaf,
            },
        )
        restarts = len(params["base"])
        budget = _LeafBudget(self, restarts)
        best = {key: value.clone() for key, value in params.items()}
        best_score = torch.full((restarts,), -torch.inf)
        last = torch.zeros(2, restarts)
        failed = torch.zeros(restarts, dtype=torch.long)
        here = torch.arange(restarts)  # the restarts still in the batch
        for epoch in range(1, epochs + 1):
            self._epoch(adam, budget)
            last[:, here] = self._validate(adam.params)
            monitored = last[1, here] if monitor == "score" else -last[0, here]
            better = monitored > best_score[here]
            for key, value in adam.params.items():
                best[key][here[better]] = value[better]
            best_score[here[better]] = monitored[better]
            failed[here] = torch.where(better, 0, failed[here] + 1)
            self._report(name, epoch, epochs, last, budget, best_score)
            running = failed[here] < patience
            if not running.any():
                break
            if not running.all():
                here = here[running]
                adam.keep(running)
                budget.keep(running)
        return best, best_score

    def _epoch(self, adam: _Adam, budget: _LeafBudget) -> None:
        order = self.fit[torch.randperm(len(self.fit), generator=self.shuffle)]
        columns = self.columns[:, order]
        size = batch_size(len(order))
        budget.look(adam.params, columns[:, :size])
        for start in range(0, len(order), size):
            rows = order[start : start + size]
            batch = columns[:, start : start + size]
            routing = forward(adam.params, self.shape, self.settings.tau, batch)
            _, delta = self.loss.value_and_delta(outputs_of(adam.params, routing), rows)
            soft, d_log = budget.penalty(adam.params, routing.score)
            adam.step(
                gradients(
                    adam.params, self.shape, self.settings.tau, batch, routing, delta, soft, d_log
                )
            )
        budget.end_epoch()

    def _validate(self, params: Parameters) -> Tensor:
        """Return the loss and the score of the rows that stop the training, [2, R]."""
        output = torch.cat(
            [
                outputs_of(params, forward(params, self.shape, self.settings.tau, columns))
                for columns in self.stop_columns
            ],
            1,
        )
        loss, _ = self.loss.value_and_delta(output, self.stop)
        return torch.stack([loss, self.loss.score(output, self.stop)]).cpu()

    def _report(
        self, name: str, epoch: int, epochs: int, last: Tensor, budget: _LeafBudget, best: Tensor
    ) -> None:
        loss, score = ([round(x, 6) for x in each] for each in last.tolist())
        self.history.append(
            {
                "stage": name,
                "epoch": epoch,
                "loss": loss,
                "score": score,
                "effective_leaves": round(budget.effective, 3),
            }
        )
        if self.progress:
            self.progress(name, epoch, epochs, float(best.max()))


class _Adam:
    """Adam (Kingma and Ba) with its usual constants over one flat vector, `params` its views."""

    def __init__(self, params: Parameters, rates: dict[str, float]) -> None:
        self.shapes = {key: value.shape[1:] for key, value in params.items()}
        self.flat = self._flat(params)
        self.rate = self._flat({k: torch.full_like(v, rates[k]) for k, v in params.items()})
        self.mean, self.square = torch.zeros_like(self.flat), torch.zeros_like(self.flat)
        self.params = self._views(self.flat)
        self.steps = 0

    def _flat(self, params: Parameters) -> Tensor:
        return torch.cat([params[key].flatten() for key in self.shapes])

    def _views(self, flat: Tensor) -> Parameters:
        sizes = [shape.numel() for shape in self.shapes.values()]
        parts = torch.split(flat, [size * (len(flat) // sum(sizes)) for size in sizes])
        return {
            key: part.view(-1, *shape)
            for (key, shape), part in zip(self.shapes.items(), parts, strict=True)
        }

    def step(self, gradient: Parameters) -> None:
        """Change the parameters in place."""
        g = self._flat(gradient)
        self.steps += 1
        self.mean.lerp_(g, 1 - 0.9)
        self.square.mul_(0.999).addcmul_(g, g, value=1 - 0.999)
        root = self.square.sqrt().div_((1 - 0.999**self.steps) ** 0.5).add_(1e-8)
        self.flat.addcdiv_(self.mean * self.rate, root, value=-1 / (1 - 0.9**self.steps))

    def keep(self, running: Tensor) -> None:
        """Keep only the restarts that are `running` [R]."""
        for name in ("flat", "rate", "mean", "square"):
            views = self._views(getattr(self, name))
            setattr(self, name, self._flat({k: v[running] for k, v in views.items()}))
        self.params = self._views(self.flat)


class _LeafBudget:
    """The augmented Lagrangian of the leaf budget, for each restart (paper).

    It is mu V + rho/2 V^2 with V = relu(log n_eff - log K).
    """

    RHO, RATE, DECAY = 0.03, 0.003, 0.5

    def __init__(self, run: _Run, restarts: int) -> None:
        self.run = run
        self.mu = torch.zeros(restarts, device=run.settings.device)
        self.average: Tensor | None = None
        self.violation = self.mu
        self.violated = False
        self.effective = 0.0

    def _excess(self, leaves: Tensor) -> Tensor:
        return (torch.log(leaves) - math.log(self.run.settings.leaf_budget)).clamp(min=0)

    def look(self, params: Parameters, batch: Tensor) -> None:
        """Measure the violation on an epoch's first batch."""
        u = selected(params, batch)
        leaves = soften(params, self.run.shape, self.run.settings.tau, u).effective
        self.effective = float(leaves.mean())
        self.violation = self._excess(leaves)
        self.violated = bool(self.violation.any())

    def penalty(self, params: Parameters, u: Tensor) -> tuple[Soft | None, Tensor | None]:
        """Return a batch's soft routing and the penalty's derivative by log n_eff [R].

        None while the budget is kept.
        """
        if not self.violated:
            return None, None
        soft = soften(params, self.run.shape, self.run.settings.tau, u)
        excess = self._excess(soft.effective)
        return soft, (self.mu + self.RHO * excess) * (excess > 0)

    def end_epoch(self) -> None:
        """Take the dual step on the smoothed violation."""
        before = self.violation if self.average is None else self.average
        self.average = self.DECAY * before + (1 - self.DECAY) * self.violation
        self.mu = (self.mu + self.RATE * self.average).clamp(min=0)

    def keep(self, running: Tensor) -> None:
        """Keep only the restarts that are `running` [R]."""
        self.mu = self.mu[running]
        self.average = None if self.average is None else self.average[running]


@contextmanager
def _one_thread() -> Iterator[None]:
    """Run torch on one thread: the tensors are small, and sums stay in one order."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
