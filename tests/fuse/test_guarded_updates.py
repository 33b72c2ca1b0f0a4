"""Updates kept only where a predicate holds touch what they write, not the whole array."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import lax
from jitney.testing.stages import check_all_stages

X = np.random.default_rng(0).normal(size=(6, 40)).astype(np.float32)
V = np.random.default_rng(1).normal(size=(6,)).astype(np.float32)
I = np.int32([3, -1, 40, 39, 0, 7])


def rows_written(x, v):
    """Lanes that stop at different turns, each writing one element of its row a turn."""

    def lane(row, v):
        def body(s):
            n, row = s
            return n + 1, row.at[n].set(v * n).at[n + 1].add(1.0)

        return lax.while_loop(lambda s: (s[0] < 30) & (s[0] < 10 * jnp.abs(v)), body, (0, row))[1]

    return jitney.vmap(lane)(x, v)


PROGRAMS = {
    "scalar predicate": lambda x, v: jnp.where(v[0] > 0, x.at[:, 3].set(v), x),
    "other side": lambda x, v: jnp.where(v[0] > 0, x, x.at[2, 3:9].multiply(2)),
    "elements": lambda x, v: jnp.where(x > 0, x.at[1:3, 5:7].set(9.0), x),
    "lanes": lambda x, v: jnp.where(v[:, None] > 0, x.at[jnp.arange(6), I].set(v), x),
    "lanes added": lambda x, v: jnp.where(v[:, None] > 0, x, x.at[jnp.arange(6), I].add(v)),
    "columns": lambda x, v: jnp.where(x[0] > 0, x.at[jnp.arange(6), I].set(v), x),
    "chain": lambda x, v: jnp.where(v[0] < 9, x.at[1].set(0.0).at[:, 1].set(x[1, 2]), x),
    "used twice": lambda x, v: (y := x.at[2].set(x[3]), jnp.where(v[:, None] > 0, y, x)),
    "a loop of lanes": rows_written,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_answer_at_every_stage(name):
    check_all_stages(PROGRAMS[name], X, V)


def test_lanes_against_a_loop_in_python():
    want = X.copy()
    for row, v in zip(want, V, strict=True):
        n = 0
        while n < 30 and n < 10 * abs(v):
            row[n] = v * np.float32(n)
            row[n + 1] += 1
            n += 1
    np.testing.assert_allclose(jitney.jit(rows_written)(X, V), want, rtol=1e-6)


def test_a_turn_copies_no_array():
    """In a loop of lanes every kernel is as long as there are lanes."""
    text = jitney.jit(rows_written).lower(X, V).compile().as_text()
    sizes = [line.split("[")[1] for line in text.splitlines() if "    sizes" in line]
    assert sizes and not any(s.startswith(("240", "6, 40")) for s in sizes), text
