"""Columns of long rows are written sixteen at a time, transposed in registers."""

import os
import subprocess
import sys

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney.backend.host import highest_level
from jitney.testing.stages import check_all_stages

RNG = np.random.default_rng(0)
DTYPES = ["float32", "float64", "float16", "int8", "int32", "uint64", "bool", "complex64"]


def kernels(program, *args) -> str:
    return jitney.jit(program).lower(*args).compile().as_text()


def parts_of(widths, rows, dtype):
    given = [RNG.integers(-50, 50, (rows, w)) for w in widths]
    return [g % 2 == 0 if dtype == "bool" else g.astype(dtype) for g in given]


def check(program, known, args):
    np.testing.assert_array_equal(np.asarray(jitney.jit(program)(*args)), known(*args))


@pytest.mark.parametrize("rows", [31, 32, 33, 200, 1027, 3000])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("widths", [[1] * 17, [2] * 24, [3, 5, 1, 8, 2], [1, 2, 40, 3, 4]])
def test_narrow_parts(widths, dtype, rows):
    """Of all dtypes, for whole vectors and parts of them, with wide parts between."""
    with jitney.enable_x64(True):
        parts = parts_of(widths, rows, dtype)
        check(lambda *a: jnp.concatenate(a, 1), lambda *a: np.concatenate(a, 1), parts)


def test_equal_groups_of_at_most_sixteen():
    parts = parts_of([2] * 17, 3000, "float32")
    text = kernels(lambda *a: jnp.concatenate(a, 1), *parts)
    assert text.count("] kernel") == 3 and text.count("..]=") == 3
    assert kernels(lambda *a: jnp.stack(a, 1), *[p[:, 0] for p in parts]).count("..]=") == 2


def test_what_computes_parts_is_done_in_the_same_kernels():
    def program(x):
        return jnp.concatenate([x, x * x, jnp.maximum(x, 0) + 1], axis=-1)

    x = RNG.normal(size=(3000, 6)).astype(np.float32)
    check_all_stages(program, x[:64])
    want = np.concatenate([x, x * x, np.maximum(x, 0) + 1], -1)
    np.testing.assert_array_equal(jitney.jit(program)(x), want)
    text = kernels(program, x)
    assert text.count("] kernel") == text.count("..]=") == 2


def test_batches_and_axes_behind():
    """Rows of several axes; parts whose last axes are whole."""
    x = RNG.normal(size=(7, 40, 6, 4)).astype(np.float32)
    cuts = [x[:, ::2, :1], x[:, ::2, 3:5], x[:, 1::2, 2:3], x[:, ::2]]
    check(lambda *a: jnp.concatenate(a, 2), lambda *a: np.concatenate(a, 2), cuts)
    turned = x.transpose(3, 1, 0, 2)
    check(lambda x: jnp.concatenate([x[..., k:] for k in range(6)], -1),
          lambda x: np.concatenate([x[..., k:] for k in range(6)], -1), [turned])


def test_pairs_in_rows_of_several_axes():
    """The parts of complex numbers whose rows do not follow one another."""
    x = (RNG.normal(size=(600, 9, 2)) + 1j * RNG.normal(size=(600, 9, 2))).astype(np.complex64)
    for axis in (1, 2):
        check(lambda x: jnp.repeat(x, 9, axis), lambda x: np.repeat(x, 9, axis), [x])  # noqa: B023


@pytest.mark.parametrize("count", [5, 12, 40])
def test_windows(count):
    """Parts that lie one element beside one another."""
    x = RNG.normal(size=3100 + count).astype(np.float32)
    want = np.stack([x[k : k + 3000] for k in range(count)], -1)
    got = jitney.jit(lambda x: jnp.stack([x[k : k + 3000] for k in range(count)], -1))(x)
    np.testing.assert_array_equal(got, want)


def test_parts_of_parts_with_fewer_rows():
    a, b, c, d = parts_of([2, 2, 3, 2], 1000, "float32")

    def joined(np, a, b, c, d):
        first, last = np.concatenate([a[:500], b[500:]]), np.concatenate([d[300:], a[:300]])
        return np.concatenate([first, c, last] * 4, 1)

    check(lambda *x: joined(jnp, *x), lambda *x: joined(np, *x), [a, b, c, d])


def test_costly_parts_and_sums_have_kernels_of_their_own():
    def program(x):
        return jnp.concatenate([x / x.sum(1, keepdims=True), x, x * 2, x + 1], 1)

    x = RNG.random(size=(500, 5)).astype(np.float32)
    want = np.concatenate([x / x.sum(1, keepdims=True), x, x * 2, x + 1], 1)
    np.testing.assert_allclose(jitney.jit(program)(x), want, rtol=1e-6)


def test_derivatives_and_loops():
    def joined(x):
        return jnp.concatenate([x, x * x, x * 3], 1)

    x = RNG.normal(size=(400, 7)).astype(np.float32)
    got = jitney.jit(jitney.grad(lambda x: (joined(x) ** 2).sum()))(x)
    np.testing.assert_allclose(got, 2 * x + 4 * x**3 + 18 * x, rtol=1e-5)
    turns = jitney.lax.fori_loop(0, 3, lambda i, s: joined(s[:, 7:14]) * 0.5, joined(x))
    state = np.concatenate([x, x * x, x * 3], 1)
    for _ in range(3):
        part = state[:, 7:14]
        state = np.concatenate([part, part * part, part * 3], 1) * np.float32(0.5)
    np.testing.assert_allclose(turns, state, rtol=1e-5)


def test_part_of_a_larger_array():
    """Rows of the result that are parts of longer ones."""
    parts = parts_of([2] * 10, 300, "float32")

    def program(y, *a):
        return jnp.concatenate([y, jnp.concatenate(a, 1), y], 0)

    y = RNG.normal(size=(5, 20)).astype(np.float32)
    check(program, lambda y, *a: np.concatenate([y, np.concatenate(a, 1), y], 0), [y, *parts])


@pytest.mark.parametrize("target", ["x86-64", "x86-64-v3", "x86-64-v4"])
def test_other_machines(target):
    if target == "x86-64-v4" != highest_level():
        pytest.skip("this processor cannot run it")
    command = [sys.executable, "-m", "pytest", "-q", "-x", __file__, "-k",
               "narrow or batches or larger"]
    done = subprocess.run(command, env={**os.environ, "JITNEY_TARGET": target},
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]
