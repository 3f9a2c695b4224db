"""Re-splits against brute force, and an objective that never rises."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mbndt.learning.refine.greedy import best_ahead, grow, least_impurity
from mbndt.learning.refine.problem import BinSplit, Classes, Numbers, Problem, extras, merged
from mbndt.learning.refine.resplit import improve, resplit


def drawn_problem(seed, *, numbers=False, missing=False, rows=24, axes=2, values=4, branching=3):
    draw = np.random.default_rng(seed)
    bins = draw.integers(0, values, (axes, rows)).astype(np.uint8)
    if missing:
        bins[draw.random(bins.shape) < 0.2] = values
    if numbers:
        goal = Numbers(draw.normal(size=rows).round(2), draw.integers(1, 4, rows).astype(float))
    else:
        goal = Classes(draw.dirichlet(np.ones(3), rows) * draw.integers(1, 4, (rows, 1)))
    return Problem(bins, (values + 1,) * axes, goal, draw.uniform(0, 2), branching, 3)


def drawn_tree(problem, draw, depth=2):
    leaf = float(draw.normal()) if isinstance(problem.goal, Numbers) else int(draw.integers(3))
    if depth == 0 or draw.random() < 0.2:
        return leaf
    axis = int(draw.integers(len(problem.sizes)))
    to = np.sort(draw.integers(0, problem.branching, problem.sizes[axis]))
    to[-1] = to[int(draw.integers(len(to) - 1))]
    children = tuple(drawn_tree(problem, draw, depth - 1) for _ in range(problem.branching))
    return BinSplit(axis, to, children)


def every_way(size, branching):
    """All cuts of `size` bins into at most `branching` runs, as lists of runs."""
    for count in range(branching):
        for ends in itertools.combinations(range(1, size), count):
            yield list(itertools.pairwise([0, *ends, size]))


def brute_force(problem, tree, rows):
    """The least objective of all single splits into the tree's subtrees and new leaves, no value
    missing: the loss of each run in each child, summed row by row.
    """
    subtrees = (
        [c for c in tree.children if isinstance(c, BinSplit)] if isinstance(tree, BinSplit) else []
    )
    goal = problem.goal
    best = np.inf
    for axis, size in enumerate(problem.sizes):
        for runs in every_way(size - 1, problem.branching):
            members = [
                rows[(problem.bins[axis, rows] >= a) & (problem.bins[axis, rows] < b)]
                for a, b in runs
            ]
            ways = []
            for here in members:
                leaf = goal.losses(goal.best(here), here).sum() if len(here) else 0.0
                ways.append(
                    [(leaf, None)]
                    + [(problem.losses(child, here).sum(), i) for i, child in enumerate(subtrees)]
                )
            for way in itertools.product(*ways):
                used = {i for _, i in way if i is not None}
                own = sum(extras(subtrees[i]) for i in used)
                value = sum(loss for loss, _ in way)
                best = min(best, value + problem.penalty * (len(runs) - 1 + own))
    return best


@pytest.mark.parametrize("numbers", [False, True], ids=["classes", "numbers"])
@pytest.mark.parametrize("seed", range(12))
def test_a_node_over_leaves_gets_the_best_split_of_all(seed, numbers):
    problem = drawn_problem(seed, numbers=numbers)
    leaf = 0.0 if numbers else 0
    found = resplit(problem, leaf, problem.index)
    assert problem.objective(found, problem.index) == pytest.approx(
        brute_force(problem, leaf, problem.index)
    )


@pytest.mark.parametrize("numbers", [False, True], ids=["classes", "numbers"])
@pytest.mark.parametrize("seed", range(12))
def test_a_node_over_subtrees_gets_the_best_split_of_all(seed, numbers):
    problem = replace(drawn_problem(seed, numbers=numbers), penalty=0.0)
    tree = drawn_tree(problem, np.random.default_rng(seed), depth=2)
    found = resplit(problem, tree, problem.index)
    assert problem.objective(found, problem.index) == pytest.approx(
        min(brute_force(problem, tree, problem.index), problem.objective(tree, problem.index))
    )


@given(st.integers(0, 10**6), st.booleans(), st.booleans())
def test_the_objective_never_rises(seed, numbers, missing):
    problem = drawn_problem(seed, numbers=numbers, missing=missing, axes=3)
    tree = drawn_tree(problem, np.random.default_rng(seed))
    before = problem.objective(tree, problem.index)
    for sweeps in (1, 2, 20):
        after = problem.objective(improve(problem, tree, sweeps), problem.index)
        assert after <= before + 1e-9
        before = after
    tidy = merged(problem, improve(problem, tree), problem.index)
    assert problem.objective(tidy, problem.index) <= before + 1e-9


@given(st.integers(0, 10**6), st.booleans())
def test_trees_keep_their_bounds(seed, numbers):
    problem = drawn_problem(seed, numbers=numbers, missing=True, axes=3)

    def depth(tree):
        if not isinstance(tree, BinSplit):
            return 0
        assert tree.to.min() == 0
        assert tree.to.max() == len(tree.children) - 1
        assert np.count_nonzero(np.diff(tree.to[:-1])) < problem.branching
        return 1 + max(depth(child) for child in tree.children)

    for start in (0, grow(problem, problem.index, 3, least_impurity)):
        tree = merged(problem, improve(problem, start), problem.index)
        assert depth(tree) <= problem.depth


@given(st.integers(0, 10**6), st.booleans())
def test_a_merged_tree_is_the_same_tree_without_idle_parts(seed, numbers):
    problem = drawn_problem(seed, numbers=numbers, missing=True)
    tree = drawn_tree(problem, np.random.default_rng(seed), depth=3)
    tidy = merged(problem, tree, problem.index)
    np.testing.assert_array_equal(
        problem.losses(tree, problem.index), problem.losses(tidy, problem.index)
    )

    def check(node, rows):
        assert len(rows)
        if isinstance(node, BinSplit):
            leaves = [c for c in node.children if not isinstance(c, BinSplit)]
            assert len(set(leaves)) == len(leaves)
            branch = problem.branch(node, rows)
            for i, child in enumerate(node.children):
                check(child, rows[branch == i])

    check(tidy, problem.index)


def test_equal_cuts_part_in_the_widest_gap():
    bins = np.array([[0, 1, 6, 7]], np.uint8)
    mass = np.array([[1.0, 0], [0, 0], [0, 0], [0, 1]])
    problem = Problem(bins, (9,), Classes(mass), 0.1, 2, 1)
    found = resplit(problem, 0, problem.index)
    assert found.to.tolist() == [0, 0, 0, 0, 1, 1, 1, 1, found.to[-1]]


def test_missing_values_go_where_they_cost_least():
    bins = np.array([[0, 0, 1, 1, 2, 2, 2]], np.uint8)
    mass = np.eye(2)[[0, 0, 1, 1, 1, 1, 0]]
    problem = Problem(bins, (3,), Classes(mass), 0.1, 2, 1)
    found = resplit(problem, 0, problem.index)
    assert [found.children[i] for i in found.to] == [0, 1, 1]


@pytest.mark.parametrize("numbers", [False, True], ids=["classes", "numbers"])
def test_looking_ahead_sees_a_parity_that_greedy_trees_miss(numbers):
    draw = np.random.default_rng(0)
    bins = draw.integers(0, 16, (3, 2000)).astype(np.uint8)
    odd = (bins[0] // 4 + bins[1] // 8) % 2
    goal = Numbers(odd - 0.5, np.ones(2000)) if numbers else Classes(np.eye(2)[odd])
    problem = Problem(bins, (17,) * 3, goal, 2.0, 4, 2)
    ahead = grow(problem, problem.index, 2, best_ahead)
    assert problem.losses(ahead, problem.index).sum() < 1e-6
    greedy = grow(problem, problem.index, 2, least_impurity)
    assert problem.losses(greedy, problem.index).sum() > 100


@pytest.mark.parametrize("numbers", [False, True], ids=["classes", "numbers"])
def test_an_interval_keeps_the_fewest_rows(numbers):
    for seed in range(8):
        problem = replace(
            drawn_problem(seed, numbers=numbers, rows=40, values=12), fewest=5, penalty=0.0
        )
        found = resplit(problem, problem.goal.best(problem.index), problem.index)
        if not isinstance(found, BinSplit):
            continue
        ordered = found.to[np.sort(problem.bins[found.axis])]
        runs = np.flatnonzero(np.diff(ordered)) + 1
        assert np.diff([0, *runs, 40]).min() >= 5


@given(st.integers(0, 10**6), st.booleans())
def test_an_improved_tree_cant_be_improved(seed, numbers):
    problem = drawn_problem(seed, numbers=numbers, axes=3, rows=60)
    tree = drawn_tree(problem, np.random.default_rng(seed), depth=3)
    once = improve(problem, tree, 100)
    again = improve(problem, once, 100)
    assert problem.objective(again, problem.index) == pytest.approx(
        problem.objective(once, problem.index)
    )
