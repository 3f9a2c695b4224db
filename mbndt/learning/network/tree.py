"""The differentiable multi-branch tree: the paper's equations, forward and backward by hand.

Letters in comments: R restarts (a batch of independent networks), N = (B^D - 1) / (B - 1) nodes
in heap order (child b of node j is jB + b + 1), B branches, D depth, L = B^D leaves, F scores,
K outputs of a leaf, n rows. With hard straight-through routing the class loss has a gradient only
at the D nodes of a row's own path, so `gradients` computes just those; the tests check it against
automatic differentiation of a plain second implementation in double precision.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TypeAlias

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import softplus

from mbndt.learning.network.frozen import Shape, TrainedNetwork

CLAMP = 12.0
STEPS = 5  # of Newton, to the last digits of float32 for some thousand features
Parameters: TypeAlias = dict[str, Tensor]


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
    """Return the exact 1.5-entmax over the last axis (Peters et al. 2019).

    w = relu(z - theta)^2 with z = (phi - max) / 2 and theta such that w sums to 1.
    """
    return _root_of_entmax(phi) ** 2


def _root_of_entmax(phi: Tensor) -> Tensor:
    """Return s = relu(z - theta), by Newton's steps on |s| = 1.

    |s| is convex and falls in theta, so steps from below rise to the root; the start is below it
    by Jensen's inequality.
    """
    count = phi.shape[-1]
    z = (phi - phi.amax(-1, keepdim=True)) / 2
    theta = (z.mean(-1, keepdim=True) - 1 / math.sqrt(count)).clamp_(min=-1)
    for _ in range(STEPS):
        s = (z - theta).clamp_(min=0)
        length = torch.linalg.vector_norm(s, dim=-1, keepdim=True)
        theta.addcdiv_(length * (length - 1), s.sum(-1, keepdim=True))
    return (z - theta).clamp_(min=0)


def thresholds(params: Parameters) -> Tensor:
    """Return the ordered thresholds t_jk = c_j + sum of softplus(d_ji) over i <= k, [R, N, B-1]."""
    return params["base"][..., None] + softplus(params["gaps"]).cumsum(-1)


def node_values(params: Parameters) -> Tensor:
    """Return the thresholds and masks of all nodes, [2B-1, R, N]."""
    return torch.cat([thresholds(params), torch.sigmoid(params["masks"])], -1).permute(2, 0, 1)


def bounds(params: Parameters, nodes: Tensor, tau: float) -> Tensor:
    """Return the scores from which on a branch above k wins, k = 0..B-2, [B-1, R, N].

    They ascend in k, given the nodes' thresholds and masks [2B-1, R, N].

    Over a rising score the winner of argmax_b g_b M_b never falls. With x = exp((u - t_i) / tau),
    h_b = exp(-width of bin b / tau) and A = exp((t_(j-1) - t_i) / tau), bin j beats bin i < j where
    M_i (1 - h_i) (1 + x h_j / A) (A + x) < M_j (1 - h_j) (1 + x) (h_i + x), a quadratic in x.
    """
    size = params["gaps"].shape[-1]
    t, masks = nodes[:size], nodes[size:]
    log_h = torch.full_like(masks, -torch.inf)  # the outer bins have no end
    log_h[1:-1] = (softplus(params["gaps"][..., 1:]) / -tau).permute(2, 0, 1)
    h = log_h.exp()
    share = (masks * -log_h.expm1_()).clamp_(min=1e-30)  # M (1 - h)
    p, h_i = share[:-1, None], h[:-1, None]
    q, h_j = share[1:], h[1:]
    away = ((t - t[:, None]) / tau).clamp_(max=40).exp_()  # A, [i, j-1, R, N]
    linear = p * (1 + h_j) - q * (1 + h_i)
    # Where j always wins (never wins), the constant (square) would be below 0, and x is 0 (inf).
    constant = (p * away - q * h_i).clamp_(min=0)
    square = (q - p * h_j / away).clamp_(min=0)
    x = (linear + (linear * linear + 4 * square * constant).sqrt_()) / (2 * square)
    crossing = t[:, None] + tau * x.log_()
    # Above k: some j > k beats every i <= k.
    return torch.stack([crossing[: k + 1, k:].amax(0).amin(0) for k in range(size)])


@dataclass(frozen=True)
class Routing:
    """What a forward pass leaves for the backward pass and for the reports.

    `nodes` [2B-1, R, N] are the thresholds and masks M of each node; `score` u [R, N, n] its
    selected score; `reach` [R, N, n] the leaf, as a whole number of the parameters' dtype, that a
    row at that node comes to; `leaf` [R, n] the row's leaf.
    """

    nodes: Tensor
    score: Tensor
    reach: Tensor
    leaf: Tensor


def selected(params: Parameters, columns: Tensor) -> Tensor:
    """Return the selected scores u_j(x) [R, N, n] of columns [F, n].

    Those of the first feature of greatest logit.
    """
    chosen = params["selector"].argmax(-1)
    return columns.index_select(0, chosen.flatten()).view(*chosen.shape, -1)


def forward(params: Parameters, shape: Shape, tau: float, columns: Tensor) -> Routing:
    """Route rows, given as score columns [F, n], hard through every network."""
    u = selected(params, columns)
    restarts, _, rows = u.shape
    nodes = node_values(params)
    ends = bounds(params, nodes, tau)[..., None]
    # Zeros and ones of a float dtype: as booleans, comparison and choice are many times slower.
    above = torch.ge(u, ends, out=u.new_empty(len(ends), *u.shape))
    reach = torch.empty_like(u)
    for depth in reversed(range(shape.depth)):
        level = shape.level(depth)
        width = level.stop - level.start
        if depth == shape.depth - 1:
            first = torch.arange(width, dtype=u.dtype, device=u.device)[:, None] * shape.branching
            torch.add(first, above[:, :, level].sum(0), out=reach[:, level])
            continue
        children = reach[:, shape.level(depth + 1)].view(restarts, width, -1, rows)
        found = children[:, :, 0]
        for b in range(1, shape.branching):
            found = torch.lerp(found, children[:, :, b], above[b - 1, :, level])
        reach[:, level] = found
    return Routing(nodes, u, reach, reach[:, 0].long())


@dataclass(frozen=True)
class _Bins:
    """The masked bins at thresholds t [B-1, ...] and masks M [B, ...] of scores u [...]."""

    away: Tensor  # (t - u) / tau
    below: Tensor  # S, the logistic cdf at each threshold
    mask: Tensor
    joint: Tensor  # g M
    total: Tensor
    tau: float

    @classmethod
    def of(cls, t: Tensor, mask: Tensor, u: Tensor, tau: float) -> _Bins:
        away = (t - u) / tau
        below = torch.sigmoid(away.clamp(-CLAMP, CLAMP))
        end = torch.zeros_like(below[:1])
        joint = (torch.cat([below, end + 1]) - torch.cat([end, below])) * mask
        return cls(away, below, mask, joint, joint.sum(0) + 1e-12, tau)

    def back(self, gate: Tensor) -> tuple[Tensor, Tensor]:
        """Return dL/dt [B-1, ...] and dL/dM M [B, ...] from dL/dg~ [B, ...], g~ = g M / total."""
        centred = (gate - (gate * self.joint).sum(0) / self.total) / self.total
        d_bins = centred * self.mask
        slope = (self.below - self.below * self.below) / self.tau
        slope *= torch.lt(self.away.abs(), CLAMP, out=torch.empty_like(slope))
        return (d_bins[:-1] - d_bins[1:]) * slope, centred * self.joint


@dataclass(frozen=True)
class Soft:
    """The soft routing of all rows through all nodes.

    `masses` are m [R, B^d, n] of each level's nodes, leaves last, and `effective` is n_eff = 1 /
    sum_l r_l^2 [R] of the leaves' mean masses r.
    """

    bins: _Bins
    masses: list[Tensor]
    share: Tensor  # r, [R, L]
    effective: Tensor


def soften(params: Parameters, shape: Shape, tau: float, u: Tensor) -> Soft:
    """Route rows of selected scores u [R, N, n] softly."""
    nodes = node_values(params)[..., None]
    bins = _Bins.of(nodes[: shape.branching - 1], nodes[shape.branching - 1 :], u, tau)
    gates = bins.joint / bins.total
    masses = [torch.ones_like(u[:, :1])]
    for depth in range(shape.depth):
        level = gates[:, :, shape.level(depth)]
        masses.append(torch.stack([masses[-1] * gate for gate in level], 2).flatten(1, 2))
    share = masses[-1].mean(-1)
    share = share / share.sum(-1, keepdim=True)
    return Soft(bins, masses, share, 1 / (share * share).sum(-1))


def _soft_gates(shape: Shape, soft: Soft, d_log: Tensor) -> Tensor:
    """Return dLoss/dg~ [B, R, N, n] from dLoss/d(log n_eff) [R]."""
    rows = soft.masses[0].shape[-1]
    # By a row's mass of leaf l, less what is common to all leaves, as that adds to nothing.
    value = (soft.share * (-2 / rows * d_log * soft.effective)[:, None])[..., None]
    gates = torch.empty_like(soft.bins.joint)
    for depth in reversed(range(shape.depth)):
        level, mass = shape.level(depth), soft.masses[depth]
        children = value.view(len(value), mass.shape[1], shape.branching, -1).permute(2, 0, 1, 3)
        torch.mul(children, mass, out=gates[:, :, level])
        value = (children * soft.bins.joint[:, :, level]).sum(0) / soft.bins.total[:, level]
    return gates


def gradients(
    params: Parameters,
    shape: Shape,
    tau: float,
    columns: Tensor,
    routing: Routing,
    delta: Tensor,
    soft: Soft | None = None,
    d_log: Tensor | None = None,
) -> Parameters:
    """Return dLoss/dparameter, given delta [R, n, K] = dLoss/d(output of the row's leaf).

    For a loss that has the number of effective leaves too, `d_log` [R] is dLoss/d(log n_eff).

    The gate of a path node has gradient delta . V_b for every branch b, where V_b is the output of
    the leaf that the row would reach by branch b (paper, hard straight-through routing).
    """
    restarts, rows = delta.shape[:2]
    branching, outputs = shape.branching, params["leaves"].shape[-1]
    path, leaves = _paths(shape, routing)  # [R, D, n], [R, D, B, n]

    index = leaves.flatten(1)[..., None].expand(-1, -1, outputs)
    values = params["leaves"].gather(1, index).view(restarts, shape.depth, branching, rows, outputs)
    gate = (values * delta[:, None, None]).sum(-1).permute(2, 0, 1, 3)  # [B, R, D, n]

    nodes = routing.nodes
    place = path.view(1, restarts, -1).expand(len(nodes), -1, -1)
    at_path = nodes.gather(2, place).view(-1, *path.shape)
    u = routing.score.gather(1, path)
    bins = _Bins.of(at_path[: branching - 1], at_path[branching - 1 :], u, tau)
    d_cut, d_mask = bins.back(gate)  # [B-1, R, D, n], [B, R, D, n]
    by_path = torch.cat([d_cut, d_mask]).flatten(2)
    by_node = torch.zeros_like(nodes).scatter_add_(2, place, by_path)
    d_score = torch.zeros_like(routing.score).scatter_(1, path, -d_cut.sum(0))
    if soft is not None and d_log is not None:
        d_cut, d_mask = soft.bins.back(_soft_gates(shape, soft, d_log))
        by_node += torch.cat([d_cut.sum(-1), d_mask.sum(-1)])
        d_score -= d_cut.sum(0)

    by_node = by_node.permute(1, 2, 0)
    # A gap moves its own threshold and all above it, the base moves all.
    d_gaps = by_node[..., : branching - 1].flip(-1).cumsum(-1).flip(-1)
    d_leaves = torch.zeros_like(params["leaves"])
    d_leaves.scatter_add_(1, routing.leaf[..., None].expand_as(delta), delta)
    return {
        "selector": _through_selector(params["selector"], d_score @ columns.T),
        "base": d_gaps[..., 0],
        "gaps": d_gaps * torch.sigmoid(params["gaps"]),
        "masks": by_node[..., branching - 1 :] * torch.sigmoid(-params["masks"]),
        "leaves": d_leaves,
    }


def _paths(shape: Shape, routing: Routing) -> tuple[Tensor, Tensor]:
    """Return the path nodes [R, D, n] and the leaves behind each of their branches [R, D, B, n]."""
    leaf = routing.leaf[:, None]
    depths = range(shape.depth)
    below = [[shape.branching ** (shape.depth - depth)] for depth in depths]
    start = [[shape.level(depth).start] for depth in depths]
    path = leaf // leaf.new_tensor(below) + leaf.new_tensor(start)
    branches = torch.arange(1, shape.branching + 1, device=leaf.device)[:, None]
    children = (path[:, :, None] * shape.branching + branches).flatten(1, 2)  # [R, D*B, n]
    behind, last = children[:, : -shape.branching], children[:, -shape.branching :]
    leaves = torch.cat([routing.reach.gather(1, behind).long(), last - shape.nodes], 1)
    return path, leaves.view(*path.shape[:2], shape.branching, -1)


def _through_selector(phi: Tensor, gradient: Tensor) -> Tensor:
    """Return s*g - s*(sum s*g / sum s) with s = sqrt(entmax(phi)).

    Straight through the one-hot choice, then the Jacobian of entmax.
    """
    s = _root_of_entmax(phi)
    weighted = s * gradient
    return weighted - s * (weighted.sum(-1, keepdim=True) / s.sum(-1, keepdim=True))


def outputs_of(params: Parameters, routing: Routing) -> Tensor:
    """Return the output of each row's leaf, [R, n, K]."""
    index = routing.leaf[..., None].expand(-1, -1, params["leaves"].shape[-1])
    return params["leaves"].gather(1, index)


def freeze(params: Parameters, shape: Shape, tau: float, restart: int = 0) -> TrainedNetwork:
    """Return one restart's network at rest."""
    one = {name: value[restart].detach().cpu().double() for name, value in params.items()}
    return TrainedNetwork(
        shape,
        tau,
        one["selector"].argmax(-1).numpy(),
        thresholds(one).numpy(),
        softplus(one["gaps"]).numpy(),
        one["masks"].numpy(),
        one["leaves"].numpy(),
    )
