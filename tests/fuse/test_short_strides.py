"""Short strides along the vector loop: whole vectors are read and written, elements picked."""

import os
import subprocess
import sys

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import lax
from jitney.testing.stages import check_all_stages

RNG = np.random.default_rng(0)
DTYPES = ["float32", "float64", "float16", "bfloat16", "int8", "int16", "int32", "int64", "bool"]


def columns(n, stride, dtype):
    """An array (n, stride) of small whole numbers."""
    return jnp.asarray(RNG.integers(-50, 50, (n, stride))).astype(dtype)


def of_columns(x):
    """Reads every column, writes one result a row."""
    parts = [x[:, k] for k in range(x.shape[1])]
    total = parts[0]
    for part in parts[1:]:
        total = jnp.where(part > total, part, total)
    return total


def mirrored(x):
    """Reads every column and writes every column."""
    return jnp.stack([x[:, k] for k in reversed(range(x.shape[1]))], axis=-1)


@pytest.mark.parametrize("stride", [2, 3, 4, 5])
@pytest.mark.parametrize("dtype", DTYPES)
def test_columns(dtype, stride):
    with jitney.enable_x64(True):
        for n in (2049, 3001):
            x = columns(n, stride, dtype)
            known = np.asarray(x)
            np.testing.assert_array_equal(jitney.jit(of_columns)(x), known.max(1))
            np.testing.assert_array_equal(jitney.jit(mirrored)(x), known[:, ::-1])


@pytest.mark.parametrize("stride", [2, 3, 4, 5])
@pytest.mark.parametrize("start", [0, 1, 3, 4, 7])
def test_steps_of_slices(start, stride):
    for n in (start + 3 * stride, 70 * stride, 2051 * stride, 2051 * stride + 1):
        x = jnp.asarray(RNG.normal(size=n).astype(np.float32))
        got = jitney.jit(lambda x: x[start::stride] + 1)(x)
        np.testing.assert_array_equal(got, np.asarray(x)[start::stride] + np.float32(1))


@pytest.mark.parametrize("parts", [2, 3, 4, 5, 8, 9, 16])
def test_one_kernel_writes_all_columns(parts):
    def program(x, y):
        return jnp.stack([x + k * y for k in range(parts)], axis=-1)

    x, y = RNG.normal(size=(2, 2500)).astype(np.float32)
    check_all_stages(program, x[:99], y[:99])
    want = np.stack([x + np.float32(k) * y for k in range(parts)], axis=-1)
    np.testing.assert_allclose(jitney.jit(program)(x, y), want, rtol=1e-5, atol=1e-6)
    text = jitney.jit(program).lower(x, y).compile().as_text()
    assert text.count("kernel") == 1, text


def test_rows_that_are_reduced_first():
    def program(x):
        e = jnp.exp(x - x.max(axis=1, keepdims=True))
        return jnp.stack([e / e.sum(axis=1, keepdims=True), x], axis=-1)

    x = RNG.normal(size=(70, 60)).astype(np.float32)
    check_all_stages(program, x, rtol=1e-5, atol=1e-6)


COMPLEX = {
    "product": lambda a, b: a * b, "quotient": lambda a, b: a / b, "sum": lambda a, b: a + b,
    "conjugate": lambda a, b: a.conj(), "modulus": lambda a, b: jnp.abs(a),
    "parts": lambda a, b: (a.real, b.imag), "made": lambda a, b: lax.complex(a.imag, b.real),
    "exp": lambda a, b: jnp.exp(a), "chosen": lambda a, b: jnp.where(a.real > 0, a, b),
    "turned": lambda a, b: a.T * 2, "scalar": lambda a, b: a * (1 + 2j),
    "some rows": lambda a, b: a[1::3] + b[: a[1::3].shape[0]],
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", COMPLEX)
def test_complex_arithmetic(name, dtype):
    with jitney.enable_x64(True):
        for shape in ((55, 55), (3, 7), (9, 301)):
            a, b = ((RNG.normal(size=shape) + 1j * RNG.normal(size=shape)).astype(dtype)
                    for _ in range(2))
            got = jitney.jit(COMPLEX[name])(a, b)
            want = COMPLEX[name](a, b) if name not in ("made", "modulus", "exp", "chosen") else {
                "made": lambda a, b: a.imag + 1j * b.real, "modulus": lambda a, b: abs(a),
                "exp": lambda a, b: np.exp(a), "chosen": lambda a, b: np.where(a.real > 0, a, b),
            }[name](a, b)
            tolerance = 1e-5 if dtype == "complex64" else 1e-13
            for g, w in zip(*((x if isinstance(x, tuple) else (x,)) for x in (got, want))):
                np.testing.assert_allclose(g, w, rtol=tolerance, atol=tolerance)


def test_donated_memory_is_written_in_place():
    turn = jitney.jit(lambda z: z * z + 1, donate_argnums=0)
    z = (RNG.normal(size=5001) + 1j * RNG.normal(size=5001)).astype(np.complex64)
    given = jnp.asarray(z.copy())
    np.testing.assert_allclose(turn(given), z * z + 1, rtol=1e-5)


def test_loops_over_complex_state():
    z = (RNG.normal(size=3001) + 1j * RNG.normal(size=3001)).astype(np.complex64) / 2
    got = jitney.jit(lambda z: lax.fori_loop(0, 5, lambda i, c: c * z + z.conj(), z))(z)
    want = z
    for _ in range(5):
        want = want * z + z.conj()
    np.testing.assert_allclose(got, want, rtol=2e-4, atol=1e-5)


@pytest.mark.parametrize("target", ["x86-64", "x86-64-v3"])
def test_narrower_machines(target):
    """The same, by vectors of 16 and of 32 bytes."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", __file__, "-k",
               "columns or steps or complex or loops"]
    done = subprocess.run(command, env={**os.environ, "JITNEY_TARGET": target},
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]


def test_elements_of_neighbouring_rows_come_in_the_same_vectors():
    """Their places differ by less than a step: the kernel's text says by how much."""
    def program(x):
        return jnp.cross(x[1:], x[:-1]) + x[2:, 1:2].sum()

    x = RNG.normal(size=(4000, 3)).astype(np.float32)
    check_all_stages(lambda x: jnp.cross(x[1:], x[:-1]), x[:40])
    text = jitney.jit(lambda x: jnp.cross(x[1:], x[:-1])).lower(x).compile().as_text()
    assert text.count("+1]") >= 2 and "+2]" in text
    want = np.cross(x[1:], x[:-1]) + x[2:, 1].sum()
    np.testing.assert_allclose(jitney.jit(program)(x), want, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("count", [3, 9, 16])
def test_products_of_neighbouring_small_matrices(count):
    side = {3: 2, 9: 3, 16: 4}[count]
    a = RNG.normal(size=(3001, side, side)).astype(np.float32)
    np.testing.assert_allclose(jitney.jit(lambda a: a[1:] @ a[:-1])(a), a[1:] @ a[:-1],
                               rtol=2e-4, atol=1e-5)


def test_neighbouring_rows_of_several_arrays():
    """Whose columns begin at different ones of the same rows."""
    x, y, z = RNG.normal(size=(3, 3001, 3)).astype(np.float32)

    def program(x, y, z):
        return x[1:, 1] * x[1:, 2] + y[1:, 0] * y[1:, 1] - z[1:, 2] * z[:-1, 2]

    for given in ((x, y, z), (y, x, z), (z, x, y)):
        want = program(*given)
        np.testing.assert_allclose(jitney.jit(program)(*given), want, rtol=1e-5, atol=1e-5)
