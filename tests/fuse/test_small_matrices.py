"""Many small matrices, one in each lane: as NumPy's, of any size, number and type."""

from functools import partial

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.testing.stages import check_all_stages

COUNTS = [1, 17, 64, 100, 1025]
SHAPES = [(2, 3), (3, 3), (4, 4), (3, 5), (6, 6), (8, 8), (2, 8), (8, 2), (12, 12), (16, 9)]
DTYPES = ["float32", "float64", "int32", "int8", "uint16", "bfloat16", "complex64"]
PRODUCTS = {
    "times vector": lambda np, a: np.einsum("nij,nj->ni", a, a[:, 0]),
    "vector times": lambda np, a: np.einsum("nij,ni->nj", a, a[:, :, 0]),
    "square": lambda np, a: np.matmul(a, a.transpose(0, 2, 1)),
    "turned": lambda np, a: a.transpose(0, 2, 1) + a[:, :1, :1],
    "columns": lambda np, a: a.sum(1),
    "rows": lambda np, a: a.sum(2),
    "greatest": lambda np, a: a - a.max(1, keepdims=True),
    "corner": lambda np, a: a[:, -1, 0] * a[:, 0, -1],
    "running": lambda np, a: np.cumsum(a, 1),
    "joined": lambda np, a: np.concatenate([a[:, :1], a[:, -1:] + a[:, :1]], 1),
    "side by side": lambda np, a: np.concatenate([a, a[:, ::-1]], 2),
    "stacked": lambda np, a: np.stack([a[:, 0], a[:, 1] + a[:, 0]], 1),
    "bordered": lambda np, a: np.pad(a, ((0, 0), (0, 1), (1, 0))),
}


def numbers(shape, dtype):
    x = np.random.default_rng(sum(shape)).integers(-4, 5, shape)
    return jnp.asarray(abs(x) if dtype[0] == "u" else x).astype(dtype)


def text(fun, *arguments) -> str:
    return jax.explain(fun, *arguments, rounds=1).as_text("kernels")


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_products(name, dtype):
    if dtype == "complex64" and name == "greatest":
        pytest.skip("complex numbers are not ordered like this")
    fun = jax.jit(partial(PRODUCTS[name], jnp))
    with jax.enable_x64(True):
        for number, shape in enumerate(SHAPES):
            for count in COUNTS[number % 2 :: 2]:
                x = numbers((count, *shape), dtype)
                wide = {"complex64": "complex128", "bfloat16": "float64"}.get(dtype, "int64")
                expected = PRODUCTS[name](np, np.asarray(x).astype(wide))
                if dtype not in ("bfloat16", "complex64"):
                    expected = expected.astype(dtype)  # sums of short integers wrap
                found = np.asarray(fun(x)).astype(expected.dtype)
                np.testing.assert_allclose(found, expected, rtol=0.02 if dtype[0] == "b" else 1e-6)


@pytest.mark.parametrize("shape", [(3, 3), (4, 4), (2, 7)])
def test_functions(shape):
    x = jnp.asarray(np.random.default_rng(0).standard_normal((1000, *shape)).astype("float32"))
    plain = np.asarray(x).astype("float64")
    shifted = np.exp(plain - plain.max(1, keepdims=True))
    for fun, expected in (
        (lambda x: jax.nn.softmax(x, 1), shifted / shifted.sum(1, keepdims=True)),
        (lambda x: x.var(1), plain.var(1)),
        (lambda x: x / jnp.linalg.norm(x, axis=(1, 2), keepdims=True),
         plain / np.linalg.norm(plain, axis=(1, 2), keepdims=True)),
        (lambda x: jnp.linalg.det(x @ x.transpose(0, 2, 1) + jnp.eye(shape[0])),
         np.linalg.det(plain @ plain.transpose(0, 2, 1) + np.eye(shape[0]))),
    ):
        np.testing.assert_allclose(jax.jit(fun)(x), expected, rtol=2e-4)


@pytest.mark.parametrize("count", [200, 5000])
def test_views_at_the_end(count):
    """Matrices that end where an array does, and some elements of them: nothing behind is read; of
    others beside them in the array: rows of their own."""
    x = numbers((count, 4, 4), "float32")
    for fun in (
        lambda np, x: x[1:, 1:, 1:] * x[:-1, :3, :3],
        lambda np, x: x[1:, :2, :2] + x[:-1, :2, :2],
        lambda np, x: x[2:, 3] + x[:-2, 0] * x[1:-1, 1],
        lambda np, x: x[::2].sum(2),
        lambda np, x: x[::-1, 0] + x[:, 3],
        lambda np, x: np.matmul(x[3:], x[:-3]),
    ):
        np.testing.assert_array_equal(jax.jit(partial(fun, jnp))(x), fun(np, np.asarray(x)))


def test_gradient():
    x = numbers((300, 4, 4), "float32")
    loss = lambda a: (jnp.einsum("nij,njk->nik", a, a)[:, 0] ** 2).sum()
    found, plain = jax.jit(jax.grad(loss))(x), np.asarray(x).astype("float64")
    outer = 2 * (plain @ plain)[:, :1]
    first = np.zeros_like(plain)
    first[:, :1] = outer @ plain.transpose(0, 2, 1)
    expected = first + plain.transpose(0, 2, 1)[:, :, :1] @ outer
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-3)


def test_one_kernel_without_loops_over_elements():
    square = text(lambda a: a @ a, numbers((5000, 4, 4), "float32"))
    assert square.count("rows v0<s0 lane") == 1, square
    # one product each is no matter of matrices; a few large ones are
    times_vector = partial(PRODUCTS["times vector"], jnp)
    assert "contraction" not in text(times_vector, numbers((900, 6, 6), "float32"))
    assert "contraction" in text(lambda a: a @ a, numbers((900, 8, 8), "float32"))


def test_parts_of_small_matrices_are_one_kernel():
    x = numbers((5000, 4, 4), "float32")
    for fun in (lambda a: jnp.cumsum(a, 1), lambda a: jnp.stack([a[:, 0], a[:, 1] + 1], 1)):
        assert text(fun, x).count("rows v0<s0 lane") == 1, text(fun, x)


def test_number_of_matrices_is_no_part_of_the_kernel():
    fun = lambda a: a @ a
    one, other = (text(fun, numbers((n, 3, 3), "float32")) for n in (3000, 5003))
    without_sizes = lambda t: [line for line in t.splitlines() if "sizes" not in line]
    assert without_sizes(one) == without_sizes(other)


def turned(angle, points):
    """Points in a plane through two axes, turned around the third."""
    c, s = jnp.cos(angle), jnp.sin(angle)
    return points @ jnp.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]]).T


@pytest.mark.parametrize("count", [1, 7, 100, 3000])
def test_a_matrix_made_of_numbers_is_made_once(count):
    points = np.random.default_rng(count).normal(size=(count, 3)).astype(np.float32)
    head, *kernels = text(turned, np.float32(0.3), points).split("] kernel")
    if count >= 16:  # nine numbers are stored, not their products with all points
        assert "=cos " in kernels[0] and "=cos " not in kernels[-1]
        assert int(head.split("workspace ")[1].split()[0]) <= 64
    check_all_stages(turned, np.float32(0.3), points)
    check_all_stages(jax.grad(lambda a, p: (turned(a, p) ** 3).sum()), np.float32(0.3), points)
