"""jit's in_shardings and out_shardings, and constraints inside programs."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import lax
from jitney.sharding import NamedSharding, SingleDeviceSharding
from jitney.sharding import PartitionSpec as P

A = np.arange(32.0, dtype="f4").reshape(4, 8)


def test_results_are_placed(grid):
    s, t = NamedSharding(grid, P("x")), NamedSharding(grid, P(None, "y"))
    run = jitney.jit(lambda a, b: {"p": a + 1, "q": (b, a @ b.T)}, in_shardings=(s, None),
                     out_shardings={"p": t, "q": s})
    for _ in range(2):
        out = run(A, A)
        assert out["p"].sharding == t and out["q"][0].sharding == out["q"][1].sharding == s
        np.testing.assert_array_equal(out["p"], A + 1)
    assert jitney.jit(jnp.sin, in_shardings=s)(A).sharding == s
    assert jitney.jit(jnp.sin, in_shardings=[s])(A).sharding == s
    one = SingleDeviceSharding(jitney.devices()[3])
    assert jitney.jit(jnp.sin, out_shardings=one)(A).device is jitney.devices()[3]
    assert jitney.jit(jnp.sin, device=jitney.devices()[4])(A).device is jitney.devices()[4]
    with jitney.set_mesh(grid):
        assert jitney.jit(jnp.sin, out_shardings=P("x"))(A).sharding == s
    static = jitney.jit(lambda n, a: a * n, static_argnums=0, in_shardings=s, out_shardings=t)
    assert static(2, A).sharding == t


def test_inside_other_programs(grid):
    s = NamedSharding(grid, P("x"))
    inner = jitney.jit(lambda a: a * 2, out_shardings=s)
    text = str(jitney.make_jaxpr(lambda a: inner(a) + 1)(A))
    assert "sharding_constraint[" in text
    out = jitney.jit(lambda a: inner(a) + 1)(A)
    assert out.sharding == s
    np.testing.assert_array_equal(jitney.grad(lambda a: inner(a).sum())(A), np.full_like(A, 2))


def test_errors(grid):
    s, t = NamedSharding(grid, P("x")), NamedSharding(grid, P("y"))
    with pytest.raises(ValueError, match="divisible by 2, but it is equal to 3"):
        jitney.jit(jnp.sin, in_shardings=s)(A[:3])
    with pytest.raises(ValueError, match="divisible by 4, but it is equal to 6"):
        jitney.jit(lambda a: a[:, :6].T, out_shardings=t)(A)
    with pytest.raises(ValueError, match="rank at least 2"):
        jitney.jit(jnp.sum, out_shardings=NamedSharding(grid, P("x", "y")))(A)
    with pytest.raises(ValueError, match="does not match the sharding on the respective arg"):
        jitney.jit(jnp.sin, in_shardings=s)(jitney.device_put(A, t))
    with pytest.raises(ValueError, match="different lengths"):
        jitney.jit(lambda a, b: a, in_shardings=(s,))(A, A)
    with pytest.raises(ValueError, match="different"):
        jitney.jit(lambda a: (a, a), out_shardings=(s,))(A)
    with pytest.raises(RuntimeError, match="mesh in context"):
        jitney.jit(jnp.sin, in_shardings=P("x"))(A)
    with pytest.raises(ValueError, match="kwargs"):
        jitney.jit(lambda a: a, in_shardings=s)(a=A)
    with pytest.raises(TypeError, match="PartitionSpec"):
        jitney.jit(jnp.sin, in_shardings="x")


def test_constraints(grid):
    s = NamedSharding(grid, P("x", "y"))

    def f(a):
        return lax.with_sharding_constraint(a * 2, s) + 1

    for g in (jitney.jit(f), f, jitney.jit(jitney.jit(f))):
        out = g(jnp.asarray(A))
        assert out.sharding == s
        np.testing.assert_array_equal(out, 2 * A + 1)
    np.testing.assert_array_equal(jitney.grad(lambda a: f(a).sum())(A), np.full_like(A, 2))
    np.testing.assert_array_equal(jitney.jvp(f, (A,), (A,))[1], 2 * A)
    stacked = jitney.jit(jitney.vmap(f))(np.stack([A, A, A]))
    assert stacked.sharding.spec == P(None, "x", "y")
    tree = lax.with_sharding_constraint({"a": A, "b": A[0]}, {"a": s, "b": None})
    assert tree["a"].sharding == s
    with jitney.set_mesh(grid):
        assert jitney.jit(lambda a: lax.with_sharding_constraint(a, P("y")))(A).sharding.spec == \
            P("y")
    with pytest.raises(RuntimeError, match="mesh in context"):
        jitney.jit(lambda a: lax.with_sharding_constraint(a, P("y")))(A)
    with pytest.raises(ValueError, match="divisible by 2, but it is equal to 3"):
        jitney.jit(f)(A[:3])
    with pytest.raises(ValueError, match="rank at least 2"):
        lax.with_sharding_constraint(A[0], s)
    text = str(jitney.make_jaxpr(f)(A))
    assert "sharding_constraint[" in text and f"sharding={s}" in text


def test_through_control_flow(grid):
    s = NamedSharding(grid, P("x"))
    x = jitney.device_put(A, s)

    def f(a):
        b = lax.fori_loop(0, 3, lambda i, c: c * 2, a)
        c = lax.scan(lambda c, _: (c + 1, None), b, None, length=2)[0]
        return lax.cond(c.sum() > 0, lambda v: v, lambda v: -v, c)

    out = jitney.jit(f)(x)
    assert out.sharding == s
    np.testing.assert_array_equal(out, 8 * A + 2)


def test_plain_arrays_stay_quick():
    """Calls without places become entries of the native dispatcher."""
    f = jitney.jit(lambda a: a + 1)
    f(jnp.ones(3))
    misses = f.misses
    for _ in range(3):
        f(jnp.ones(3))
    assert f.misses == misses


def test_compiled_programs(grid):
    s, t = NamedSharding(grid, P("x")), NamedSharding(grid, P(None, "y"))
    compiled = jitney.jit(lambda a, b: (a + 1, b * 2), in_shardings=(s, None),
                          out_shardings=(None, t)).lower(A, A).compile()
    assert compiled.input_shardings[0][0] == s and compiled.output_shardings == (s, t)
    first, second = compiled(A, A)
    assert first.sharding == s and second.sharding == t
    plain = jitney.jit(jnp.sin).lower(A).compile()
    assert plain.output_shardings == SingleDeviceSharding(jitney.devices()[0])
    assert plain(jitney.device_put(A, s)).sharding == s
    described = jitney.jit(jnp.sin).lower(jitney.ShapeDtypeStruct(A.shape, A.dtype, sharding=s))
    assert described.compile().output_shardings == s


def test_default_device():
    third = jitney.devices()[3]
    with jitney.default_device(third):
        x, y = jnp.ones(3) + 1, jnp.asarray(np.ones(3))
        assert x.devices() == y.devices() == {third} and not x.committed
    assert jnp.ones(3).devices() == {jitney.devices()[0]}
    other = jitney.device_put(jnp.ones(3), jitney.devices()[5])
    assert (x + other).device is jitney.devices()[5]
    with jitney.default_device("gpu"), pytest.raises((ValueError, RuntimeError)):
        jnp.sin(jnp.ones(3))


@pytest.mark.parametrize("outer, inner", [(lambda f: f, lambda f: f), (jitney.jit, jitney.jit)])
def test_examples_are_spread_over_a_named_axis(grid, outer, inner):
    s = NamedSharding(grid, P("y"))

    def double(a):
        return inner(lambda b: lax.with_sharding_constraint(b * 2, s))(a)

    spread = outer(jitney.vmap(double, spmd_axis_name="x"))(A)
    np.testing.assert_array_equal(spread, A * 2)
    assert spread.sharding.spec == P("x", "y")
    columns = outer(jitney.vmap(double, 1, 1, spmd_axis_name=("x",)))(A)
    assert columns.sharding.spec == P("y", "x")
    np.testing.assert_array_equal(outer(jitney.vmap(double))(A), A * 2)
    with pytest.raises(ValueError, match=r"\('y',\) cannot appear in with_sharding_constraint"):
        outer(jitney.vmap(double, spmd_axis_name="y"))(A)
