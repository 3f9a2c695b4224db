"""How many rows of a table were among others, told by a sketch of those."""

import base64

import numpy as np
import pytest

from mbndt.measures.overlap import MOST, share_seen, sketch


def rows(draw, n):
    return draw.integers(0, 2**64, n, dtype=np.uint64)


@pytest.mark.parametrize("old", [40, 500, 3 * MOST])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.8, 1.0])
def test_the_share_is_at_most_what_it_is_and_not_far_from_it(old, share):
    draw = np.random.default_rng(1)
    held = near = 0
    for _ in range(60):
        learned = rows(draw, old)
        n = 4 * old if old < 100 else old
        seen = draw.choice(learned, int(share * n))
        least, _ = share_seen(sketch(learned), np.concatenate([seen, rows(draw, n - len(seen))]))
        held += least <= share + 1e-9
        near += least >= share - 0.3
    assert held >= 54
    assert near >= 54


def test_rows_as_alike_as_those_learned_from_do_not_count_as_seen():
    draw = np.random.default_rng(2)
    kinds = rows(draw, 300)
    found = [
        share_seen(sketch(draw.choice(kinds, 200)), draw.choice(kinds, 200)) for _ in range(50)
    ]
    assert sum(least > 0.05 for least, _ in found) <= 3
    assert all(repeated > 0.3 for _, repeated in found)


def test_a_sketch_is_small_and_tells_next_to_nothing_of_one_row():
    draw = np.random.default_rng(3)
    made = sketch(rows(draw, 100 * MOST))
    assert len(made["bits"]) < 2000
    bits = np.unpackbits(np.frombuffer(base64.b64decode(made["bits"]), np.uint8))
    assert 0.3 < bits.mean() < 0.5


def test_few_and_no_rows_have_a_sketch_too():
    draw = np.random.default_rng(4)
    for n in (0, 1, 2):
        learned = rows(draw, n)
        assert share_seen(sketch(learned), learned) is None or n
    assert share_seen(sketch(rows(draw, 9)), rows(draw, 0)) is None
