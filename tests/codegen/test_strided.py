"""Columns of short rows: whole vectors are read, each once, however many columns are picked."""

import re

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.backend.host import host_target


def loads_of(fun, x):
    """How many vectors each loop of the kernel reads, the whole ones' first."""
    text = jax.explain(fun, x, rounds=1).as_text("llvm")
    bodies = re.findall(r"(?m)^\S+\.body\S*:\n((?:  .*\n)+)", text)
    found = [len(re.findall(r"= load <\d+ x float>|= call .*masked\.load", b)) for b in bodies]
    return [count for count in found if count]


@pytest.mark.parametrize("columns", [3, 5, 6])
def test_vectors_are_read_once(columns):
    """As many as a row has elements, of each of the vectors that go side by side."""
    if host_target().avx512 or not host_target().avx2:
        pytest.skip("counts what is written for AVX2")
    x = jnp.ones((1000, columns))
    whole, *tail = loads_of(lambda x: x / jnp.sqrt((x * x).sum(1, keepdims=True)), x)
    assert whole % columns == 0 and whole <= 4 * columns
    assert all(count <= columns for count in tail)


@pytest.mark.parametrize("rows", [1, 7, 8, 31, 32, 100])
@pytest.mark.parametrize("columns", [2, 3, 4, 5, 7, 8])
def test_columns_are_numpys(rows, columns):
    x = np.random.default_rng(rows).normal(size=(rows, columns)).astype(np.float32)
    for step in (1, -1):
        picked = jax.jit(lambda x, s=step: [x[:, ::s][:, c] + 1 for c in range(columns)])(x)
        for c, found in enumerate(picked):
            np.testing.assert_array_equal(found, x[:, ::step][:, c] + 1)
    found = jax.jit(lambda x: x.at[:, 0].set(x[:, -1] * 2).at[:, -1].add(x[:, 0]))(x)
    wanted = x.copy()
    wanted[:, 0] = x[:, -1] * 2
    wanted[:, -1] += x[:, 0]
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
