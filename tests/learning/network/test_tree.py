"""The hand-written network against a plain second implementation with automatic differentiation."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mbndt.learning.network.encoding import GRID
from mbndt.learning.network.frozen import Shape
from mbndt.learning.network.tree import (
    CLAMP,
    bounds,
    entmax15,
    forward,
    freeze,
    gradients,
    initial,
    node_values,
    outputs_of,
    selected,
    soften,
    thresholds,
)

TAU = 0.3


def plain_entmax15(phi):
    """The 1.5-entmax of a vector by bisection on its threshold."""
    z = (phi - phi.max()) / 2
    low, high = z.min() - 1, z.max()
    for _ in range(200):
        theta = (low + high) / 2
        if ((z - theta).clamp(min=0) ** 2).sum() > 1:
            low = theta
        else:
            high = theta
    return (z - theta).clamp(min=0) ** 2


class StraightThrough(torch.autograd.Function):
    """One-hot of the argmax forward, identity backward."""

    @staticmethod
    def forward(ctx, x):
        return torch.zeros_like(x).scatter(-1, x.argmax(-1, keepdim=True), 1.0)

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class Selector(torch.autograd.Function):
    """One-hot of the entmax forward; straight through and the entmax Jacobian backward."""

    @staticmethod
    def forward(ctx, phi):
        w = plain_entmax15(phi)
        ctx.save_for_backward(w)
        return torch.zeros_like(w).scatter(0, w.argmax(0, keepdim=True), 1.0)

    @staticmethod
    def backward(ctx, gradient):
        (w,) = ctx.saved_tensors
        s = w.sqrt()
        jacobian = torch.diag(s) - torch.outer(s, s) / s.sum()
        return jacobian @ gradient


def plain_output(params, shape, x, soft=False):
    """Return the outputs of one network [n, K] (or leaf masses), node by node and row by row."""
    B = shape.branching

    def gates(j):
        u = x @ Selector.apply(params["selector"][j])
        t, total = [], params["base"][j]
        for k in range(B - 1):
            total = total + torch.log1p(torch.exp(params["gaps"][j, k]))
            t.append(total)
        s = [torch.sigmoid(((tk - u) / TAU).clamp(-CLAMP, CLAMP)) for tk in t]
        g = [s[0], *(s[k] - s[k - 1] for k in range(1, B - 1)), 1 - s[-1]]
        g = torch.stack(g, -1) * torch.sigmoid(params["masks"][j])
        g = g / (g.sum(-1, keepdim=True) + 1e-12)
        if soft:
            g = g.clamp(min=1e-12)
            return g / g.sum(-1, keepdim=True)
        return StraightThrough.apply(g)

    def value(j, depth, leaf):
        if depth == shape.depth:
            return params["leaves"][leaf].expand(len(x), -1)
        gate = gates(j)
        parts = [gate[:, b, None] * value(j * B + b + 1, depth + 1, leaf * B + b) for b in range(B)]
        return sum(parts)

    def masses(j, depth):
        if depth == shape.depth:
            return [torch.ones(len(x), dtype=x.dtype)]
        gate = gates(j)
        return [gate[:, b] * m for b in range(B) for m in masses(j * B + b + 1, depth + 1)]

    return torch.stack(masses(0, 0), -1) if soft else value(0, 0, 0)


def drawn(shape, restarts, seed):
    """Return parameters and rows far enough from the start to exercise everything."""
    torch.manual_seed(seed)
    params = {k: v.double() for k, v in initial(shape, restarts, seed).items()}
    params["selector"] += 0.4 * torch.randn_like(params["selector"])
    params["base"] += 0.5 * torch.randn_like(params["base"])
    params["gaps"] += 0.5 * torch.randn_like(params["gaps"])
    params["gaps"][..., 0] = -1.0
    params["masks"] += torch.randn_like(params["masks"])
    params["leaves"] = torch.randn_like(params["leaves"])
    return params, torch.randn(40, shape.scores, dtype=torch.float64)


SHAPES = [Shape(1, 2, 3), Shape(2, 3, 5), Shape(3, 4, 4, outputs=3), Shape(4, 3, 7), Shape(2, 6, 1)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_outputs_and_gradients_are_those_of_the_plain_network(shape):
    params, x = drawn(shape, 2, seed=shape.depth)
    delta = torch.randn(2, len(x), shape.outputs, dtype=torch.float64)
    columns = x.T.contiguous()
    routing = forward(params, shape, TAU, columns)
    found = gradients(params, shape, TAU, columns, routing, delta)
    outputs = outputs_of(params, routing)
    for r in range(2):
        one = {name: value[r].clone().requires_grad_() for name, value in params.items()}
        plain = plain_output(one, shape, x)
        assert torch.allclose(outputs[r], plain, atol=1e-12)
        (plain * delta[r]).sum().backward()
        for name, value in one.items():
            expected = torch.zeros_like(value) if value.grad is None else value.grad
            assert torch.allclose(found[name][r], expected, atol=1e-9), name
            assert expected.abs().sum() > 0 or shape.scores == 1, name


@pytest.mark.parametrize("shape", SHAPES[:4], ids=str)
def test_effective_leaves_and_their_gradients_are_those_of_the_plain_network(shape):
    params, x = drawn(shape, 2, seed=7)
    columns = x.T.contiguous()
    routing = forward(params, shape, TAU, columns)
    soft = soften(params, shape, TAU, selected(params, columns))
    d_log = torch.tensor([0.7, -1.3], dtype=torch.float64)
    nothing = torch.zeros(2, len(x), shape.outputs, dtype=torch.float64)
    found = gradients(params, shape, TAU, columns, routing, nothing, soft, d_log)
    for r in range(2):
        one = {name: value[r].clone().requires_grad_() for name, value in params.items()}
        share = plain_output(one, shape, x, soft=True).mean(0)
        share = share / share.sum()
        expected = 1 / (share**2).sum()
        assert torch.isclose(soft.effective[r], expected)
        (expected.log() * d_log[r]).backward()
        for name in ("selector", "base", "gaps", "masks"):
            assert torch.allclose(found[name][r], one[name].grad, rtol=1e-5, atol=1e-8), name
        assert not found["leaves"].any()


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=12))
def test_entmax_by_sorting_is_entmax_by_bisection(logits):
    phi = torch.tensor(logits, dtype=torch.float64)
    assert torch.allclose(entmax15(phi), plain_entmax15(phi), atol=1e-7)
    assert torch.isclose(entmax15(phi).sum(), torch.tensor(1.0, dtype=torch.float64))


def test_the_start_is_the_papers():
    params = initial(Shape(4, 3, 10), 5, 0)
    assert torch.allclose(thresholds(params), torch.tensor([-0.4307, 0.4307]), atol=1e-4)
    assert params["selector"].std() == pytest.approx(0.03, rel=0.1)
    assert torch.all(params["masks"] == 3)
    four = initial(Shape(2, 4, 10), 1, 0)
    assert torch.allclose(thresholds(four), torch.tensor([-0.6745, 0.0, 0.6745]), atol=1e-4)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_at_rest_a_network_routes_as_in_training(shape):
    params, x = drawn(shape, 2, seed=3)
    routing = forward(params, shape, TAU, x.T)
    everything = np.ones((shape.nodes, shape.branching), bool)
    for r in range(2):
        network = freeze(params, shape, TAU, r)
        hits, leaf = network.route(x.numpy(), everything)
        assert np.array_equal(leaf, routing.leaf[r].numpy())
        assert hits[0].sum() == len(x)


@given(
    st.integers(0, 10**6),
    st.integers(2, 7),
    st.sampled_from([0.02, 0.08, 0.3, 1.2]),
    st.sampled_from([0.2, 1.0, 4.0, 30.0]),
    st.sampled_from([0.0, -6.0, -20.0, 5.0]),
)
def test_bounds_are_where_the_branch_at_rest_changes(seed, branching, tau, masks, gaps):
    shape = Shape(1, branching, 1)
    params, _ = drawn(shape, 1, seed)
    params["masks"] *= masks
    params["gaps"] += gaps
    params["gaps"][..., 0] = np.log(np.expm1(1e-6))
    network = freeze(params, shape, tau)
    found = bounds(params, node_values(params), tau)[:, 0, 0].numpy()
    assert np.all(found[1:] >= found[:-1])
    score = np.linspace(-5.2, 5.2, 2001)
    score = score[np.abs(score[:, None] - found).min(1) > 1e-5]
    expected = network.branch(0, score, np.ones(branching, bool))
    assert np.array_equal((score[:, None] >= found).sum(1), expected)


@given(st.integers(0, 10**6), st.integers(2, 6), st.data())
def test_score_intervals_are_where_the_branch_changes(seed, branching, data):
    shape = Shape(1, branching, 1)
    params, _ = drawn(shape, 1, seed)
    params["masks"] *= data.draw(st.sampled_from([0.5, 1.0, 4.0]))
    network = freeze(params, shape, data.draw(st.sampled_from([0.08, 0.3, 1.2])))
    alive = np.array(data.draw(st.lists(st.booleans(), min_size=branching, max_size=branching)))
    alive[data.draw(st.integers(0, branching - 1))] = True
    intervals = network.intervals(0, alive)
    ends = [end for end, _ in intervals[:-1]]
    assert ends == sorted(ends)
    grid = np.arange(-5.2, 5.2, 0.003)
    near = [end + step * GRID for end in ends for step in range(-4, 5)]
    score = np.round(np.array([*grid, *near]) / GRID) * GRID
    place = np.searchsorted(np.array(ends), score, side="right")
    expected = np.array([branch for _, branch in intervals])[place]
    assert np.array_equal(network.branch(0, score, alive), expected)
