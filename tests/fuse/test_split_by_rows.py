"""Sums of all of what is spread, cut or compared with places: none of it is stored for them."""

import re
from typing import NamedTuple

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp

ROWS, COLUMNS = 512, 256


class Arrays(NamedTuple):
    x: jax.Array
    y: jax.Array
    row: jax.Array
    column: jax.Array
    cube: jax.Array
    images: jax.Array


def numbers(*shape):
    return jnp.asarray(np.random.default_rng(sum(shape)).standard_normal(shape), "float32")


ARRAYS = Arrays(numbers(ROWS, COLUMNS), numbers(ROWS, COLUMNS)[::-1], numbers(COLUMNS),
                numbers(ROWS), numbers(64, 40, 96), numbers(16, 24, 24, 32))  # fmt: skip
SUMS = {
    "a row": lambda a: (a.x * a.row).sum(),
    "a column": lambda a: (a.x * a.column[:, None]).sum(),
    "both": lambda a: jnp.exp(-jnp.abs(a.column[:, None] - a.row)).sum(),
    "squares": lambda a: ((a.x - a.row) ** 2).mean(),
    "differences down": lambda a: jnp.abs(a.x[1:] - a.x[:-1]).sum(),
    "differences along": lambda a: ((a.x[:, 1:] - a.x[:, :-1]) ** 2).sum(),
    "places": lambda a: (a.x * jnp.arange(256)).sum(),
    "a triangle": lambda a: jnp.tril(a.x).sum(),
    "a mask": lambda a: jnp.where(a.column[:, None] > 0, a.x, 0).sum(),
    "picked rows": lambda a: (a.x[jnp.arange(512)[::-1] // 2] * a.x).sum(),
    "the greatest": lambda a: (a.x - a.row).max(),
    "the product": lambda a: (1 + 1e-3 * a.x * a.row).prod(),
    "any": lambda a: (a.x > a.row + 5).any(),
    "all": lambda a: (a.x < a.row + 9).all(),
    "rolled": lambda a: (jnp.roll(a.x, 1, 1) * a.x).sum(),
    "reversed": lambda a: (a.x[::-1] * a.y).sum(),
    "channels": lambda a: ((a.cube - a.cube[0, 0]) ** 2).sum(),
    "the middle axis": lambda a: (a.cube * a.cube[0, :, :1]).sum(),
    "the first axis": lambda a: (a.cube * a.cube[:, :1, :1]).sum(),
    "two axes": lambda a: (a.cube * a.cube[:, :, :1]).sum(),
    "of few results": lambda a: ((a.images - a.images[0, 0, 0]) ** 2).sum((1, 2, 3)),
    "to channels": lambda a: (a.images * a.images[:, :1, :1]).sum((0, 1, 2)),
    "to channels by rows": lambda a: (a.images * a.images[0, :, :1]).mean((0, 1, 2)),
    "to channels, differences": lambda a: (a.images[:, 1:] - a.images[:, :-1]).sum((0, 1, 2)),
    "of a transpose": lambda a: (a.x[:256].T * a.y[:256]).sum(),
    "of what is padded": lambda a: (jnp.pad(a.x, 1) ** 2).sum(),
    "a short axis": lambda a: (a.x.reshape(-1, 8) * a.row[:8]).sum(),
    "of few long rows": lambda a: (a.x.reshape(4, -1) * a.x.reshape(4, -1)[:1]).sum(),
    "integers": lambda a: ((a.x * 100).astype("int32") * jnp.arange(256)).sum(),
    "bfloats": lambda a: jnp.float32(a.x.astype("bfloat16") * a.row.astype("bfloat16")).sum(),
}
STORED = {"of a transpose", "of what is padded", "rolled", "a short axis", "to channels by rows"}


def workspace(fun, *arguments) -> int:
    text = jax.jit(fun).lower(*arguments).compile().as_text()
    return int(re.search(r"workspace (\d+)", text)[1])


@pytest.mark.parametrize("name", SUMS)
def test_against_eager(name):
    with jax.disable_jit():
        want = SUMS[name](ARRAYS)
    np.testing.assert_allclose(jax.jit(SUMS[name])(ARRAYS), want, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("name", [name for name in SUMS if name not in STORED])
def test_nothing_as_large_is_stored(name):
    assert workspace(SUMS[name], ARRAYS) <= ARRAYS.x.nbytes // 4


@pytest.mark.parametrize("name", SUMS)
def test_any_number_of_threads(name):
    program, results = jax.jit(SUMS[name]), []
    for threads in (1, 2, 3):
        jax._native.set_num_threads(threads)
        results.append(np.asarray(program(ARRAYS)).tobytes())
    jax._native.set_num_threads(0)
    assert results[0] == results[1] == results[2]


def entropy(x, _):
    return -(jax.nn.softmax(x) * jax.nn.log_softmax(x)).sum()


def divergence(x, y):
    shares = jax.nn.softmax(y)
    return (shares * (jnp.log(shares) - jax.nn.log_softmax(x))).mean()


def of_layer_norm(x, y):
    centred = x - x.mean(-1, keepdims=True)
    return (centred * jax.lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * y).sum()


@pytest.mark.parametrize("loss", [entropy, divergence, of_layer_norm])
def test_losses_of_rows_and_their_gradients(loss):
    """No more than one array as large as the rows waits for another kernel."""
    x, y = ARRAYS[:2]
    both = jax.value_and_grad(loss)
    assert workspace(both, x, y) <= x.nbytes * 1.25
    value, gradient = jax.jit(both)(x, y)
    with jax.disable_jit():
        want, slope = both(x, y)
    np.testing.assert_allclose(value, want, rtol=1e-4)
    np.testing.assert_allclose(gradient, slope, rtol=1e-3, atol=1e-5)


def contrast(a, b):
    """Of rows of a product, whose gradient is an operand of others."""
    likeness = a @ b.T
    return (jax.nn.logsumexp(likeness, 1) - jnp.diag(likeness)).mean()


def test_a_gradient_that_a_product_reads():
    """It is made beside the sums of its rows."""
    a, b = numbers(300, 64), numbers(300, 64)[::-1]
    both = jax.value_and_grad(contrast)
    text = jax.jit(both).lower(a, b).compile().as_text()
    assert text.count("] kernel ") <= 2 and text.count("exp") <= text.count("] kernel ")
    value, gradient = jax.jit(both)(a, b)
    with jax.disable_jit():
        want, slope = both(a, b)
    np.testing.assert_allclose(value, want, rtol=1e-5)
    np.testing.assert_allclose(gradient, slope, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("shape", [(4096, 128), (1000, 100)])
def test_correlations_of_rows_of_a_transpose(shape):
    """Means down columns are summed in the order of memory."""
    x = numbers(*shape)
    text = jax.jit(lambda x: jnp.corrcoef(x.T)).lower(x).compile().as_text()
    assert "stage 1" not in text
    np.testing.assert_allclose(jax.jit(lambda x: jnp.corrcoef(x.T))(x), np.corrcoef(x.T),
                               rtol=1e-4, atol=1e-5)  # fmt: skip
