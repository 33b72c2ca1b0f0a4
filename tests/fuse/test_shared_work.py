"""What several arrays are made of is computed once, and found out in few partitions."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney import lax
from jitney.fuse.partition import Partition
from jitney.testing.stages import check_all_stages

KEY = jax.random.key(3)


def kernels(fun, *arguments) -> int:
    return jax.explain(fun, *arguments, rounds=1).as_text("kernels").count("] kernel")


def rounds_of_two(x, y, count):
    """Two words that go through rounds together, as those of random bits do."""
    for i in range(count):
        x = x + y
        y = ((y << (i % 13 + 3)) | (y >> (29 - i % 13))) ^ x
    return x, y


def split_often(x, y, levels):
    """Halves of both words give the next ones: each level is wanted at two places."""
    for _ in range(levels):
        x, y = rounds_of_two(x, y, 20)
        x, y = jnp.concatenate([x[1:], y[:1]]), jnp.concatenate([y[1:], x[:1]])
    return x * 2, y[::-1] + 1


@pytest.mark.parametrize("size", [2, 60, 500])
@pytest.mark.parametrize("levels", [1, 3, 10])
def test_words_of_one_level_are_one_kernel(size, levels):
    x, y = np.random.default_rng(size).integers(0, 2**32, (2, size), np.uint32)
    fun = lambda x, y: split_often(x, y, levels)
    assert kernels(fun, x, y) <= levels + 1
    for got, want in zip(jax.jit(fun)(x, y), fun(jnp.asarray(x), jnp.asarray(y)), strict=True):
        np.testing.assert_array_equal(got, want)


def test_all_stages_of_such_words():
    x, y = np.random.default_rng(1).integers(0, 2**32, (2, 70), np.uint32)
    check_all_stages(lambda x, y: split_often(x, y, 2), x, y)


@pytest.mark.parametrize(
    "most, draw",
    [
        (35, lambda k: jax.random.beta(k, 0.4, 0.4)),  # 139 with a kernel for each round
        (25, lambda k: jax.random.gamma(k, 0.4)),
        (25, lambda k: jax.random.dirichlet(k, jnp.ones(4), (10,))),  # 76
        (25, lambda k: jax.vmap(lambda k: jax.random.poisson(k, 3.0))(jax.random.split(k, 100))),
    ],
)
def test_random_numbers_take_few_kernels(most, draw):
    assert kernels(draw, KEY) <= most


def nested(depth, key, x):
    if depth == 0:
        draw = jax.vmap(lambda k: jax.random.poisson(k, 3.0))
        return x + draw(jax.random.split(key, 20)).sum()
    turn = lambda i, x: nested(depth - 1, jax.random.fold_in(key, i), x)
    return lax.fori_loop(0, 3, turn, x)


def test_bodies_of_nested_loops_are_not_partitioned_again_and_again(monkeypatch):
    """A body that takes two rounds was partitioned 30, 59, 119, 239 times at these depths."""
    runs, run = [], Partition.run
    monkeypatch.setattr(Partition, "run", lambda self: (runs.append(1), run(self))[1])
    counts = []
    for depth in (1, 2, 3, 4):
        runs.clear()
        jax.jit(lambda k, x, d=depth: nested(d, k, x)).lower(KEY, jnp.float32(0)).compile()
        counts.append(len(runs))
    assert counts[3] <= 3 * counts[0], counts
