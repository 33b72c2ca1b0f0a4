"""Rows that are gathered many times are reduced once, before."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp

PROGRAMS = {
    "means": lambda np, x, i: np.mean(x, 1)[i],
    "of what is computed": lambda np, x, i: np.sqrt(np.sum(abs(x), 1))[i] * 2,
    "less what is looked up": lambda np, x, i: x[i, 0] - (np.max(x, 1) + 1)[i],
    "places": lambda np, x, i: np.argmax(x, 1)[i],
    "turned": lambda np, x, i: np.sum(x, 1).T[:, i],
}


def arguments(rows, length, count):
    rng = np.random.default_rng(rows)
    return (rng.standard_normal((rows, length, 32)).astype("float32"),
            rng.integers(0, rows, count).astype("int32"))  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("sizes", [(3, 200, 700), (40, 50, 300), (5, 2, 9), (1, 64, 400)])
def test_against_numpy(sizes, name):
    x, i = arguments(*sizes)
    found = jitney.jit(lambda x, i: PROGRAMS[name](jnp, x, i))(x, i)
    np.testing.assert_allclose(found, PROGRAMS[name](np, x, i), rtol=1e-4, atol=1e-5)


def steps(name, *args) -> int:
    explained = jitney.explain(lambda x, i: PROGRAMS[name](jnp, x, i), *args, rounds=1)
    return explained.as_text("kernels").count("] kernel ")


@pytest.mark.parametrize("name", PROGRAMS)
def test_many_rows_are_gathered_of_results(name):
    assert steps(name, *arguments(3, 200, 700)) == 2


def test_few_rows_are_reduced_where_they_are_wanted():
    assert steps("means", *arguments(400, 50, 30)) == 1
