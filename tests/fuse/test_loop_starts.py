"""Loops whose state begins with one number: it is not written before the loop."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney import lax
from jitney.testing.stages import check_all_stages

U = jnp.linspace(-1.0, 1.0, 1003)


def kernels(fun, *arguments) -> list[str]:
    text = jax.explain(fun, *arguments, rounds=1).as_text("kernels")
    return [line for line in text.splitlines() if "] kernel " in line]


def repeated(first):
    return lambda u: lax.fori_loop(0, 3, lambda i, c: c * 0.5 + u, first(u))


@pytest.mark.parametrize("number", [0.0, -0.0, 1.0, 123.4567, np.inf, np.nan])
@pytest.mark.parametrize("shape", [(1003,), (3,), ()])
def test_one_kernel(number, shape):
    """In lanes, and in a loop of few numbers."""
    u = U[:3].reshape(shape) if shape == (3,) else U[0] if shape == () else U
    fun = repeated(lambda u: jnp.full_like(u, number))
    want = np.full(shape, number, np.float32)
    for _ in range(3):
        want = want * np.float32(0.5) + np.asarray(u)
    np.testing.assert_allclose(jax.jit(fun)(u), want, rtol=2e-6)
    assert len(kernels(fun, u)) == 1


@pytest.mark.parametrize("number", [0.0, 123.4567])
@pytest.mark.parametrize("size", [5, 40])
def test_one_answer_at_every_stage(number, size):
    check_all_stages(repeated(lambda u: jnp.full_like(u, number)), np.asarray(U[:size]))


def test_the_number_is_a_parameter():
    """Programs that differ in it share a kernel, and each begins with its own."""
    found = [jax.jit(repeated(lambda u, n=n: jnp.full_like(u, n)))(U)[0] for n in (77.5, 991.25)]
    assert [float(x) for x in found] == [77.5 / 8 - 1.75, 991.25 / 8 - 1.75]


def test_no_turn_at_all():
    fun = jax.jit(lambda u: lax.fori_loop(0, 0, lambda i, c: c + u, jnp.full_like(u, -0.0)))
    assert np.signbit(fun(U)).all()


def test_what_is_computed_or_given_is_written():
    for first in (lambda u: u + 1, lambda u: u, lambda u: jnp.arange(u.size, dtype=u.dtype)):
        fun, want = repeated(first), np.asarray(first(U))
        for _ in range(3):
            want = want * np.float32(0.5) + np.asarray(U)
        np.testing.assert_allclose(jax.jit(fun)(U), want, rtol=1e-5, atol=1e-6)


def test_parts_of_several_types():
    def fun(u):
        state = jnp.zeros_like(u), jnp.ones(u.shape, jnp.int32), u, jnp.zeros(u.shape, bool)
        return lax.fori_loop(
            0, 4, lambda i, c: (c[0] + c[2], c[1] * 3, c[2] * 0.5, ~c[3]), state
        )  # fmt: skip

    sums, powers, halves, flags = jax.jit(fun)(U)
    np.testing.assert_allclose(sums, np.asarray(U) * 1.875, rtol=1e-6)
    np.testing.assert_array_equal(powers, np.full(U.shape, 81))
    np.testing.assert_array_equal(halves, np.asarray(U) / 16)
    assert not flags.any()


def test_a_loop_that_is_called_again_goes_on():
    """A test that holds for longer than a call may take: the number is what the first call has."""
    def fun(n):
        turn = lambda c: (c[0] + 1, c[1] * -1)
        return lax.while_loop(lambda c: (c[0] < n) & (c[1] != 0), turn, (0, 1))

    assert "while" in jax.explain(fun, 3, rounds=1).as_text("kernels")
    assert [int(x) for x in jax.jit(fun)(3_000_001)] == [3_000_001, -1]


def test_nested_and_mapped():
    def inner(c):
        return lax.fori_loop(0, 3, lambda j, d: d * 0.5 + c, jnp.full_like(c, 2.0))

    fun = lambda x: lax.fori_loop(0, 4, lambda i, c: c + inner(c), x)
    np.testing.assert_allclose(jax.jit(fun)(U), fun(U), rtol=1e-6)
    scalar = lambda s: lax.fori_loop(0, 3, lambda i, c: c + s, jnp.full((5,), 77.125))
    want = 77.125 + 3 * np.asarray(U)[:, None] + np.zeros(5)
    np.testing.assert_allclose(jax.jit(jax.vmap(scalar))(U), want, rtol=1e-6)


def test_derivative():
    slope = jax.grad(lambda u: jnp.polyval(jnp.array([1.0, 2.0, 3.0]), u).sum())(U)
    np.testing.assert_allclose(slope, np.polyval([2.0, 2.0], np.asarray(U)), rtol=1e-5)
