"""The losses of training, over the outputs of leaves.

Indices may have weights; only their proportions matter, as they are scaled to a mean of 1 over the
training part. All means are over rows, so that rows of weight zero add nothing, and a batch of
them has loss zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import softplus

from mbndt.arrays import Array, Floats, Indices, Ints

# The greatest weight of a row and distance of a standardised target: both keep float32 finite.
GREATEST_WEIGHT = 1e6
GREATEST_TARGET = 1e3


class Loss(Protocol):
    """A loss over the outputs of leaves; `outputs` is the number K that it asks of a leaf."""

    outputs: int

    def value_and_delta(self, output: Tensor, row: Tensor) -> tuple[Tensor, Tensor]:
        """Return the loss [R] and its derivative [R, n, K] at outputs [R, n, K] of rows [n]."""

    def score(self, output: Tensor, row: Tensor) -> Tensor:
        """Return how good outputs [R, n, K] of rows [n] are, [R]; more is better."""


def make_loss(
    target: Array,
    classes: int,
    weights: Floats | None = None,
    *,
    balanced: bool = True,
) -> Callable[[Indices, str], Loss]:
    """Return what makes the loss from the training rows [m] and a device.

    `target` [n] has class indices below `classes`, or numbers where `classes` is 0; `weights` [n],
    not negative, default to 1; `balanced` says that each class weighs the same in all.
    """
    weights = np.ones(len(target)) if weights is None else weights

    def loss_of(train: Indices, device: str) -> Loss:
        if classes == 0:
            return SquaredError(target, weights, train, device)
        kind: type[Logistic | CrossEntropy] = Logistic if classes == 2 else CrossEntropy
        return kind(target, classes, weights, train, device, balanced=balanced)

    return loss_of


def _scaled(weights: Floats, train: Indices) -> Floats:
    """Return weights [n] scaled to a mean of 1 over the training rows, where any is above 0."""
    weights = weights / (weights.max(initial=0.0) or 1.0)
    return np.minimum(weights / (weights[train].mean() or 1.0), GREATEST_WEIGHT)


class _Classes:
    """What the losses of classes share: rows' classes [n] and weights [n], and their score.

    Balanced, w_i = s_i * n / (C n_c) with n and n_c counted in sample weights s over the training
    rows; a class without weight there has none anywhere.
    """

    def __init__(
        self,
        codes: Ints,
        classes: int,
        weights: Floats,
        train: Indices,
        device: str,
        *,
        balanced: bool,
    ) -> None:
        sample = _scaled(weights, train)
        w = sample
        if balanced:
            total = np.bincount(codes[train], sample[train], classes)[codes]
            with np.errstate(over="ignore"):
                # Divided first, as a sum may be too small to divide by.
                share = np.divide(sample, total, out=np.zeros(len(codes)), where=total > 0)
            w = np.minimum(share * (sample[train].sum() / classes), GREATEST_WEIGHT)
        self.classes = classes
        self.outputs = 1 if classes == 2 else classes
        self.codes = torch.tensor(codes, device=device)
        self.sample = torch.tensor(sample, dtype=torch.float32, device=device)
        self.weights = torch.tensor(w, dtype=torch.float32, device=device)

    def _balanced_accuracy(self, chosen: Tensor, row: Tensor) -> Tensor:
        """Return the weighted balanced accuracy [R] of chosen classes [R, n] of rows [n]."""
        codes = self.codes[row]
        mine = torch.nn.functional.one_hot(codes, self.classes) * self.sample[row, None]
        total = mine.sum(0)
        recall = ((chosen == codes).float() @ mine) / total.clamp(min=1e-30)
        present = (total > 0).float()
        return (recall * present).sum(-1) / present.sum().clamp(min=1)


class Logistic(_Classes):
    """Two classes: mean of w BCE(v, y), one logit v a leaf."""

    def value_and_delta(self, output: Tensor, row: Tensor) -> tuple[Tensor, Tensor]:
        """Return the mean weighted logistic loss and its derivative."""
        y, w, v = self.codes[row].to(output.dtype), self.weights[row], output[..., 0]
        # BCE(v, y) = softplus(v) - y v
        loss = w * (softplus(v) - y * v)
        return loss.mean(-1), ((w / len(row)) * (torch.sigmoid(v) - y))[..., None]

    def score(self, output: Tensor, row: Tensor) -> Tensor:
        """Return the balanced accuracy, [R]."""
        return self._balanced_accuracy((output[..., 0] >= 0).long(), row)


class CrossEntropy(_Classes):
    """C classes: mean of -w log softmax(v)_y, C logits v a leaf."""

    def value_and_delta(self, output: Tensor, row: Tensor) -> tuple[Tensor, Tensor]:
        """Return the mean weighted cross entropy and its derivative."""
        w, y = self.weights[row], self.codes[row]
        log_p = torch.log_softmax(output, -1)
        index = y[None, :, None].expand(len(output), -1, -1)
        loss = -log_p.gather(-1, index)[..., 0]
        delta = log_p.exp().scatter_add_(-1, index, -torch.ones_like(log_p[..., :1]))
        return (w * loss).mean(-1), (w / len(row))[:, None] * delta

    def score(self, output: Tensor, row: Tensor) -> Tensor:
        """Return the balanced accuracy, [R]."""
        return self._balanced_accuracy(output.argmax(-1), row)


class SquaredError:
    """Numbers: mean of w (v - y)^2, with one output v a leaf.

    y is the target less its mean over its standard deviation, both weighted and over the training
    rows.
    """

    outputs = 1

    def __init__(self, values: Floats, weights: Floats, train: Indices, device: str) -> None:
        sample = _scaled(weights, train)
        share = sample[train] / (sample[train].sum() or 1.0)
        # Within ±1 first, as squares of great or tiny numbers would leave the range of doubles.
        self.unit = float(np.abs(values[train]).max(initial=0.0)) or 1.0
        with np.errstate(over="ignore"):
            y = values / self.unit
            self.mean = float(share @ y[train])
            self.sd = float(np.sqrt(share @ (y[train] - self.mean) ** 2)) or 1.0
            y = np.clip((y - self.mean) / self.sd, -GREATEST_TARGET, GREATEST_TARGET)
        self.target = torch.tensor(y, dtype=torch.float32, device=device)
        self.weights = torch.tensor(sample, dtype=torch.float32, device=device)

    def raw(self, outputs: Floats) -> Floats:
        """Return outputs of leaves in the target's own units, clipped to the finite doubles."""
        with np.errstate(over="ignore"):
            found = (self.mean + self.sd * outputs) * self.unit
        return np.clip(found, -np.finfo(np.float64).max, np.finfo(np.float64).max)

    def value_and_delta(self, output: Tensor, row: Tensor) -> tuple[Tensor, Tensor]:
        """Return the mean weighted squared error of standardised targets and its derivative."""
        w, away = self.weights[row], output[..., 0] - self.target[row]
        return (w * away**2).mean(-1), ((2 * w / len(row)) * away)[..., None]

    def score(self, output: Tensor, row: Tensor) -> Tensor:
        """Return minus the weighted mean squared error of standardised targets, [R]."""
        w, away = self.weights[row], output[..., 0] - self.target[row]
        return -(w * away**2).sum(-1) / w.sum().clamp(min=1e-30)
