"""Branches of a few cheap operations are computed and selected; others stay branches."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import lax
from jitney.lower import control_flow


def text_of(fun, *args):
    return jitney.jit(fun).lower(*args).compile().as_text()


def branches_in(monkeypatch, fun, *args):
    """How many conditionals of a program are selections, and how many stay branches."""
    found = []
    decide = control_flow.are_cheap
    monkeypatch.setattr(
        control_flow, "are_cheap", lambda graphs: (found.append(decide(graphs)), found[-1])[1]
    )
    jitney.jit(fun).lower(*args).compile()
    return found.count(True), found.count(False)


def same(fun, *args):
    """Compiled, and step by step."""
    found = jitney.jit(fun)(*args)
    with jitney.disable_jit():
        wanted = fun(*args)
    for f, w in zip(jitney.tree.leaves(found), jitney.tree.leaves(wanted), strict=True):
        np.testing.assert_array_equal(f, w)
        assert f.dtype == w.dtype


@pytest.mark.parametrize("index", [-3, 0, 1, 2, 9])
def test_the_index_says_which(index):
    def fun(i, x, z, flag):
        return lax.switch(i, [
            lambda x, z, flag: (x, z + 1, flag, jnp.int8(1)),
            lambda x, z, flag: (x * 2, z * 1j, ~flag, jnp.int8(2)),
            lambda x, z, flag: (jnp.where(x > 1, x, -x), z, flag | True, jnp.int8(3)),
        ], x, z, flag)  # fmt: skip

    same(fun, index, jnp.arange(4.0), jnp.complex64(2 + 1j), jnp.bool_(False))


def test_what_the_other_branch_gives_does_not_matter():
    def fun(flag, x, i):
        return lax.cond(flag, lambda x, i: (x / 0 * 0, x[i]), lambda x, i: (x, x[0]), x, i)

    for flag in (True, False):
        same(fun, flag, jnp.arange(5.0), 3)
    whole = jitney.jit(lambda p, x: lax.cond(p, lambda x: x // 0, lambda x: x % 3, x))
    assert int(whole(False, 7)) == 1


def test_cheap_branches_on_single_numbers_are_selections(monkeypatch):
    args = (True, 1.5)
    cheap = lambda p, x: lax.cond(p, lambda x: x * 2 + 1, lambda x: -x, x)
    assert branches_in(monkeypatch, cheap, *args) == (1, 0)
    assert "branch" not in text_of(cheap, *args)


@pytest.mark.parametrize("costly", [
    lambda x: jnp.exp(jnp.sin(jnp.exp(jnp.sin(jnp.cos(x))))),
    lambda x: lax.fori_loop(0, 10, lambda i, c: c * 0.5, x),
    lambda x: jnp.sum(jnp.sin(jnp.arange(100) * x)),
    lambda x: jitney.pure_callback(lambda x: x, jitney.ShapeDtypeStruct((), jnp.float32), x),
])  # fmt: skip
def test_costly_branches_stay(monkeypatch, costly):
    fun = lambda p, x: lax.cond(p, costly, lambda x: -x, x)
    assert branches_in(monkeypatch, fun, True, jnp.float32(1.5)) == (0, 1)
    np.testing.assert_allclose(jitney.jit(fun)(False, jnp.float32(1.5)), -1.5)
    np.testing.assert_allclose(jitney.jit(fun)(True, jnp.float32(1.5)), costly(1.5), rtol=1e-6)


def test_large_arrays_stay_branches(monkeypatch):
    fun = lambda p, x: lax.cond(p, lambda x: x, lambda x: -x, x)
    assert branches_in(monkeypatch, fun, True, jnp.ones(1000)) == (0, 1)


def test_effects_stay_branches():
    seen = []

    def tell(x):
        jitney.debug.callback(lambda x: seen.append(float(x)), x)
        return x

    fun = jitney.jit(lambda p, x: lax.cond(p, tell, lambda x: x + 1, x))
    assert float(fun(False, 2.0)) == 3
    jitney.effects_barrier()
    assert seen == []
    assert float(fun(True, 2.0)) == 2
    jitney.effects_barrier()
    assert seen == [2.0]


def test_a_loop_whose_body_branches_is_one_kernel():
    def step(c, x):
        return lax.cond(x > 0, lambda c: c * 0.5 + x, lambda c: c - 1, c), c

    x = jnp.asarray(np.random.default_rng(0).standard_normal(50), jnp.float32)
    fun = lambda c, x: lax.scan(step, c, x)
    assert text_of(fun, 0.0, x).count("] kernel ") == 1
    wanted = np.float32(0)
    for v in np.asarray(x):
        wanted = np.float32(wanted * np.float32(0.5) + v) if v > 0 else np.float32(wanted - 1)
    np.testing.assert_allclose(jitney.jit(fun)(0.0, x)[0], wanted, rtol=1e-5)


def test_derivatives_and_batches():
    fun = lambda x: lax.cond(x > 1, lambda x: x * x, lambda x: 3 * x, x)
    assert float(jitney.jit(jitney.grad(fun))(2.0)) == 4
    assert float(jitney.jit(jitney.grad(fun))(0.5)) == 3
    xs = jnp.asarray([0.0, 1.0, 2.0, jnp.nan])
    np.testing.assert_array_equal(jitney.jit(jitney.vmap(fun))(xs), [0, 3, 4, np.nan])
