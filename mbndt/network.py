"""The differentiable multi-branch tree: the paper's equations, forward and backward by hand.

Letters in comments: R restarts (a batch of independent networks), N = (B^D - 1) / (B - 1) nodes
in heap order (child b of node j is jB + b + 1), B branches, D depth, L = B^D leaves, F scores,
K outputs of a leaf, n rows. With hard straight-through routing the class loss has a gradient only
at the D nodes of a row's own path, so `gradients` computes just those; the tests check it against
automatic differentiation of a plain second implementation in double precision.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.functional import softplus

from mbndt.encoding import GRID, SCORE_END, Floats, least

CLAMP = 12.0
Parameters: TypeAlias = dict[str, Tensor]
Mask: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Shape:
    """The sizes of a network: `depth` D, `branching` B, `scores` F, `outputs` K of a leaf."""

    depth: int
    branching: int
    scores: int
    outputs: int = 1

    @property
    def leaves(self) -> int:
        """Return L = B^D."""
        return int(self.branching**self.depth)

    @property
    def nodes(self) -> int:
        """Return N, the number of splits."""
        return (self.leaves - 1) // (self.branching - 1)

    def level(self, depth: int) -> slice:
        """Return the nodes of one level in heap order."""
        start = (self.branching**depth - 1) // (self.branching - 1)
        return slice(start, start + self.branching**depth)


def initial(shape: Shape, restarts: int, seed: int) -> Parameters:
    """Draw the parameters of `restarts` networks.

    selector phi [R, N, F] ~ N(0, 0.03^2); thresholds at the normal quantiles k/B in every node, as
    base c [R, N] and gaps d [R, N, B-1] (the first gap is softplus^-1 of 1e-6, in effect frozen);
    masks m [R, N, B] = 3; leaves v [R, L, K] ~ N(0, 0.01^2).
    """
    draw = torch.Generator().manual_seed(seed)
    size = (restarts, shape.nodes)
    cuts = [NormalDist().inv_cdf(k / shape.branching) for k in range(1, shape.branching)]
    widths = torch.tensor([1e-6, *np.diff(cuts)], dtype=torch.float32)
    gaps = torch.log(torch.expm1(widths) + 1e-6)
    return {
        "selector": 0.03 * torch.randn(*size, shape.scores, generator=draw),
        "base": torch.full(size, cuts[0]),
        "gaps": gaps.repeat(*size, 1),
        "masks": torch.full((*size, shape.branching), 3.0),
        "leaves": 0.01 * torch.randn(restarts, shape.leaves, shape.outputs, generator=draw),
    }


def entmax15(phi: Tensor) -> Tensor:
    """Return the exact 1.5-entmax over the last axis (Peters et al. 2019, by sorting).

    w = relu(z - theta)^2 with z = (phi - max) / 2 and theta such that w sums to 1.
    """
    z = (phi - phi.amax(-1, keepdim=True)) / 2
    ordered = z.sort(dim=-1, descending=True).values
    k = torch.arange(1, phi.shape[-1] + 1, dtype=phi.dtype, device=phi.device)
    mean = ordered.cumsum(-1) / k
    mean_square = (ordered**2).cumsum(-1) / k
    delta = (1 - k * (mean_square - mean**2)) / k
    theta = mean - delta.clamp(min=0).sqrt()
    support = (theta <= ordered).sum(-1, keepdim=True)
    return (z - theta.gather(-1, support - 1)).clamp(min=0) ** 2


def thresholds(params: Parameters) -> Tensor:
    """Return the ordered thresholds t_jk = c_j + sum of softplus(d_ji) over i <= k, [R, N, B-1]."""
    return params["base"][..., None] + softplus(params["gaps"]).cumsum(-1)


@dataclass(frozen=True)
class Routing:
    """What a forward pass leaves for the backward pass and for the reports.

    `below` [B-1, R, N, n] is the clamped logistic cdf at each threshold; `inside` the same where
    the clamp has a gradient; `masks` M [R, N, B]; `branch` [R, N, n] the hard choice of each node;
    `reach` [R, N, n] the leaf that a row at that node comes to; `leaf` [R, n] the row's leaf.
    """

    below: Tensor
    inside: Tensor
    masks: Tensor
    branch: Tensor
    reach: Tensor
    leaf: Tensor


def forward(params: Parameters, shape: Shape, tau: float, columns: Tensor) -> Routing:
    """Route rows, given as score columns [F, n], hard through every network."""
    restarts, nodes = params["base"].shape
    rows = columns.shape[1]
    # The selected score u_j(x), with the first feature of greatest logit.
    chosen = params["selector"].argmax(-1)
    u = columns.index_select(0, chosen.flatten()).view(restarts, nodes, rows)
    t = thresholds(params).permute(2, 0, 1)[..., None]
    away = (t - u) / tau
    below = torch.sigmoid(away.clamp(-CLAMP, CLAMP))
    masks = torch.sigmoid(params["masks"])
    # argmax_b of g_b M_b; the normaliser is common to all branches.
    best = below[0] * masks[..., 0, None]
    branch = torch.zeros(restarts, nodes, rows, dtype=torch.long, device=columns.device)
    for b in range(1, shape.branching):
        upper = 1 - below[b - 1] if b == shape.branching - 1 else below[b] - below[b - 1]
        masked = upper * masks[..., b, None]
        better = masked > best
        best = torch.maximum(best, masked)
        branch.masked_fill_(better, b)
    reach = torch.empty_like(branch)
    for depth in reversed(range(shape.depth)):
        level = shape.level(depth)
        width = level.stop - level.start
        if depth == shape.depth - 1:
            first = torch.arange(width, device=columns.device)[:, None] * shape.branching
            reach[:, level] = first + branch[:, level]
        else:
            children = reach[:, shape.level(depth + 1)].view(restarts, width, -1, rows)
            reach[:, level] = children.gather(2, branch[:, level, None]).squeeze(2)
    return Routing(below, away.abs() < CLAMP, masks, branch, reach, reach[:, 0])


def gradients(
    params: Parameters, shape: Shape, tau: float, columns: Tensor, routing: Routing, delta: Tensor
) -> Parameters:
    """Return dLoss/dparameter, given delta [R, n, K] = dLoss/d(output of the row's leaf).

    The gate of a path node has gradient delta . V_b for every branch b, where V_b is the output of
    the leaf that the row would reach by branch b (paper, hard straight-through routing).
    """
    restarts, nodes = params["base"].shape
    branching, rows = shape.branching, columns.shape[1]
    path, leaves = _paths(shape, routing)  # [R, D, n], [R, B, D, n]
    place = path.flatten(1)  # [R, D*n]: the path nodes, level by level

    outputs = params["leaves"].shape[-1]
    index = leaves.flatten(1)[..., None].expand(-1, -1, outputs)
    values = params["leaves"].gather(1, index).view(restarts, branching, shape.depth, rows, outputs)
    gate = (values * delta[:, None, None]).sum(-1).flatten(2)  # dL/dgate, [R, B, D*n]

    masks = routing.masks.permute(0, 2, 1).gather(2, place[:, None].expand(-1, branching, -1))
    at_path = path[None].expand(branching - 1, -1, -1, -1)
    below = routing.below.gather(2, at_path).flatten(2)  # [B-1, R, D*n]
    inside = routing.inside.gather(2, at_path).flatten(2)
    bins = torch.cat([below[:1], below.diff(dim=0), 1 - below[-1:]]).transpose(0, 1)
    total = (bins * masks).sum(1, keepdim=True) + 1e-12
    # g~ = g M / total: the derivative of a normalised product.
    centred = (gate - (gate * bins * masks).sum(1, keepdim=True) / total) / total
    d_mask = centred * bins * masks * (1 - masks)
    d_bins = centred * masks
    slope = below * (1 - below) / tau * inside
    d_cut = (d_bins[:, :-1] - d_bins[:, 1:]) * slope.transpose(0, 1)  # [R, B-1, D*n]

    def by_node(x: Tensor) -> Tensor:  # [R, c, D*n] -> [R, N, c]
        zero = x.new_zeros(restarts, x.shape[1], nodes)
        return zero.scatter_add(2, place[:, None].expand_as(x), x).transpose(1, 2)

    d_threshold = by_node(d_cut)  # [R, N, B-1]
    # A gap moves its own threshold and all above it.
    d_gaps = d_threshold.flip(-1).cumsum(-1).flip(-1)
    d_score = columns.new_zeros(restarts, nodes, rows)
    d_score.scatter_(1, path, -d_cut.sum(1).view(restarts, shape.depth, rows))
    d_leaves = torch.zeros_like(params["leaves"])
    d_leaves.scatter_add_(1, routing.leaf[..., None].expand_as(delta), delta)
    return {
        "selector": _through_entmax(params["selector"], d_score @ columns.T),
        "base": d_threshold.sum(-1),
        "gaps": d_gaps * torch.sigmoid(params["gaps"]),
        "masks": by_node(d_mask),
        "leaves": d_leaves,
    }


def _paths(shape: Shape, routing: Routing) -> tuple[Tensor, Tensor]:
    """Return the path nodes [R, D, n] and the leaves behind each of their branches [R, B, D, n]."""
    branches = torch.arange(shape.branching, device=routing.leaf.device)[:, None]
    place = torch.zeros_like(routing.leaf)
    path, leaves = [], []
    for depth in range(shape.depth):
        level = shape.level(depth)
        path.append(level.start + place)
        children = place[:, None] * shape.branching + branches  # [R, B, n] within the next level
        last = depth == shape.depth - 1
        next_level = shape.level(depth + 1)
        leaves.append(children if last else routing.reach[:, next_level].gather(1, children))
        step = routing.branch[:, level].gather(1, place[:, None]).squeeze(1)
        place = place * shape.branching + step
    return torch.stack(path, 1), torch.stack(leaves, 2)


def _through_entmax(phi: Tensor, gradient: Tensor) -> Tensor:
    """Return s*g - s*(sum s*g / sum s) with s = sqrt(entmax(phi)): straight through the one-hot
    choice, then the Jacobian of entmax.
    """
    s = entmax15(phi).sqrt()
    weighted = s * gradient
    return weighted - s * (weighted.sum(-1, keepdim=True) / s.sum(-1, keepdim=True))


def outputs_of(params: Parameters, routing: Routing) -> Tensor:
    """Return the output of each row's leaf, [R, n, K]."""
    index = routing.leaf[..., None].expand(-1, -1, params["leaves"].shape[-1])
    return params["leaves"].gather(1, index)


def effective_leaves(params: Parameters, shape: Shape, tau: float, columns: Tensor) -> Tensor:
    """Return n_eff = 1 / sum_l r_l^2 of the soft leaf masses r_l, [R]; differentiable.

    r_l is the batch mean of the product of masked bins along the path to leaf l.
    """
    weights = entmax15(params["selector"])
    one_hot = torch.zeros_like(weights).scatter(-1, weights.argmax(-1, keepdim=True), 1.0)
    selector = one_hot + weights - weights.detach()
    u = selector @ columns  # [R, N, n]
    t = thresholds(params)[..., None]
    below = torch.sigmoid(((t - u[..., None, :]) / tau).clamp(-CLAMP, CLAMP))  # [R, N, B-1, n]
    bins = torch.cat([below[..., :1, :], below.diff(dim=-2), 1 - below[..., -1:, :]], dim=-2)
    masked = bins * torch.sigmoid(params["masks"])[..., None]
    masked = (masked / (masked.sum(-2, keepdim=True) + 1e-12)).clamp(min=1e-12)
    masked = masked / masked.sum(-2, keepdim=True)
    mass = torch.ones_like(u[:, :1])
    for depth in range(shape.depth):
        level = shape.level(depth)
        mass = (mass[..., None, :] * masked[:, level]).flatten(1, 2)
    share = mass.mean(-1)
    share = share / share.sum(-1, keepdim=True)
    return 1 / (share**2).sum(-1)


@dataclass(frozen=True)
class TrainedNetwork:
    """One trained network at rest, in double precision, and the hard routing that is its meaning.

    Routing compares log(g_b M_b) without the clamp of training: a logistic location family has a
    monotone likelihood ratio, so over a rising score the winning branch never falls.
    """

    shape: Shape
    tau: float
    chosen: npt.NDArray[np.int64]  # [N], the score column that each node reads
    cuts: Floats  # [N, B-1]
    widths: Floats  # [N, B-1], softplus of the gaps: widths[:, k] lies below cuts[:, k]
    masks: Floats  # [N, B], the logits
    leaves: Floats  # [L, K]

    @classmethod
    def of(cls, params: Parameters, shape: Shape, tau: float, restart: int = 0) -> TrainedNetwork:
        """Freeze one restart's parameters."""
        one = {name: value[restart].detach().cpu().double() for name, value in params.items()}
        return cls(
            shape, tau,
            one["selector"].argmax(-1).numpy(),
            thresholds(one).numpy(),
            softplus(one["gaps"]).numpy(),
            one["masks"].numpy(),
            one["leaves"].numpy(),
        )  # fmt: skip

    def branch(self, node: int, score: Floats, alive: Mask) -> npt.NDArray[np.intp]:
        """Return the branch that rows of given scores [n] take at a node, among the branches that
        are `alive` [B]; ties go to the first.
        """
        away = (self.cuts[node][:, None] - score) / self.tau
        found = -np.logaddexp(0, -self.masks[node])[:, None] + np.zeros(len(score))
        found[:-1] += -np.logaddexp(0, -away)
        found[1:] += -np.logaddexp(0, away)
        with np.errstate(divide="ignore"):
            # g_b = s(b) s(-a) (1 - e^(a-b)) for the ends a < b of a bin: the last factor is
            # the same for all scores.
            found[1:-1] += np.log(-np.expm1(-self.widths[node][1:] / self.tau))[:, None]
        found[~alive] = -np.inf
        best: npt.NDArray[np.intp] = np.argmax(found, axis=0)
        return best

    def route(self, scores: Floats, alive: Mask) -> tuple[Floats, npt.NDArray[np.int64]]:
        """Return how often each branch is taken [N, B] and each row's leaf [n], for scores [n, F]
        and the branches that are `alive` [N, B].
        """
        hits = np.zeros(alive.shape)
        place = np.zeros(len(scores), np.int64)
        for depth in range(self.shape.depth):
            level = self.shape.level(depth)
            step = np.zeros(len(scores), np.int64)
            for here in np.unique(place):
                node = level.start + int(here)
                rows = np.flatnonzero(place == here)
                step[rows] = self.branch(node, scores[rows, self.chosen[node]], alive[node])
                hits[node] = np.bincount(step[rows], minlength=self.shape.branching)
            place = place * self.shape.branching + step
        return hits, place

    def intervals(self, node: int, alive: Mask) -> list[tuple[float | None, int]]:
        """Return the ordered score intervals of a node as (end, branch), the last end None.

        Ends are exact on the grid of scores: the first score of the next interval, found by
        bisection on `branch` itself.
        """
        end = int(np.ceil(SCORE_END / GRID))

        def branch_at(places: list[int]) -> npt.NDArray[np.intp]:
            return self.branch(node, np.array(places) * GRID, alive)

        found: list[tuple[float | None, int]] = []
        low, last = -end, int(branch_at([end])[0])
        while (here := int(branch_at([low])[0])) < last:
            low = least(low, end, lambda places, here=here: branch_at(places) > here)  # type: ignore[misc]
            found.append((low * GRID, here))
        return [*found, (None, here)]
