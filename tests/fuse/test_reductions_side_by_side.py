"""Reductions that are parts of one array: stored where they belong, together where they can be."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp

TOGETHER = {
    "sums and sums of squares": lambda x: jnp.stack([x.sum(1), (x * x).sum(1)], -1),
    "three of columns": lambda x: jnp.stack([x.max(0), x.min(0), x.sum(0)], 1),
    "one after the other": lambda x: jnp.concatenate([x.sum(1), (x + 1).sum(1)]),
    "with something else": lambda x: jnp.stack([x.sum(1), x[:, 0], x.max(1)], -1),
}
APART = {
    "along other axes": lambda x: jnp.concatenate([x.sum(0), x.sum(1)]),
    "along other axes, and both": lambda x: jnp.concatenate([x.sum(0), x.max(1), x.sum()[None]]),
    "of other rows": lambda x: jnp.concatenate([x[1:].sum(1), x.sum(1), x[:, :-1].sum(1)]),
    "two and one": lambda x: jnp.concatenate([x.sum(1), x.max(1), x[:, 1:].sum(1)]),
    "five": lambda x: jnp.stack([x.sum(1), x.max(1), x.min(1), x.prod(1), (x * x).sum(1)]),
    "nine": lambda x: jnp.concatenate([(x + k).max(1) for k in range(9)]),
    "places": lambda x: jnp.concatenate([jnp.argmax(x, 1), jnp.argmin(x, 0)]),
    "of products": lambda x: jnp.concatenate([(x @ x.T).sum(0), (x.T @ x).sum(0)]),
    "of one row": lambda x: jnp.concatenate([x[0].sum()[None], x[:, 0].sum()[None], x.max(0)]),
}
KERNELS = {"sums and sums of squares": 1, "three of columns": 1, "one after the other": 1}
OF_ONE_ANOTHER = {
    "computed from the other": lambda x: jnp.stack([jnp.sin(x.sum(1)), x.sum(1)], -1),
    "twice it": lambda x: jnp.stack([x.sum(1) * 2, x.sum(1)]),
    "twice it among three": lambda x: jnp.concatenate([x.sum(1) * 2, x.sum(1), x.max(1)]),
    "the same again": lambda x: jnp.stack([x.max(1), x.sum(1), x.max(1)], 1),
    "differences": lambda x: jnp.concatenate([x.sum(1)[1:] - x.sum(1)[:-1], x.sum(1)]),
    "a routine's": lambda x: jnp.stack([jnp.sort(x.sum(1)), x.sum(1), jnp.cumsum(x.max(1))], 1),
    "of rows less the other": lambda x: jnp.stack([(x - x.max(1, keepdims=True)).sum(1), x.max(1)]),
    "shares": lambda x: jnp.concatenate([x / x.sum(1, keepdims=True), x.sum(1, keepdims=True)], 1),
}


@pytest.mark.parametrize("shape", [(5000, 300), (40, 9), (7, 5000), (1, 1)])
@pytest.mark.parametrize("name", [*TOGETHER, *APART, *OF_ONE_ANOTHER])
def test_against_eager(name, shape):
    x = np.random.default_rng(0).integers(1, 9, shape).astype("float32")
    fun = (TOGETHER | APART | OF_ONE_ANOTHER)[name]
    for f in (fun, lambda x: (fun(x), x.sum(1) + 1), lambda x: fun(x) * 2):
        found = jitney.jit(f)(x)
        with jitney.disable_jit():
            wanted = f(x)
        pairs = zip(jitney.tree.leaves(found), jitney.tree.leaves(wanted), strict=True)
        for a, b in pairs:
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("name", KERNELS)
def test_one_kernel_reads_the_array(name):
    text = jitney.jit(TOGETHER[name]).lower(jnp.ones((300, 200))).compile().as_text()
    sums = [p for p in text.split("\n[")[1:] if "sum:" in p or "max:" in p or "min:" in p]
    assert len(sums) == KERNELS[name]


@pytest.mark.parametrize("shape", [(1, 2, 0), (0, 3), (0,)])
def test_of_empty_arrays(shape):
    def fun(x):
        line, rows = (x * 2).reshape(0), x.reshape(3, 0)
        parts = [line.sum(), rows.sum(1).prod(), line.max(initial=3), (line > 0).all()]
        return jnp.stack(parts), jnp.concatenate([rows.sum(1), rows.min(1, initial=7), line])

    x = jnp.ones(shape)
    for a, b in zip(jitney.jit(fun)(x), ([0, 0, 3, 1], [0, 0, 0, 7, 7, 7]), strict=True):
        np.testing.assert_array_equal(a, b)


def test_of_different_shapes():
    """Parts of one shape that are views of arrays of others."""
    def fun(x):
        a, b = jnp.sin(x), jnp.cos(x).T
        return jnp.concatenate([a.reshape(-1), b.reshape(-1), x.reshape(-1)])

    x = np.arange(6.0, dtype="float32").reshape(2, 3)
    wanted = np.concatenate([np.sin(x).ravel(), np.cos(x).T.ravel(), x.ravel()])
    np.testing.assert_allclose(jitney.jit(fun)(x), wanted, rtol=1e-6)
