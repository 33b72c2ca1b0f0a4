"""pmap: axes, static and keyword arguments, composition, what results know, errors."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import lax
from jitney.sharding import PartitionSpec as P

A = np.arange(24.0, dtype="f4").reshape(4, 6)


@pytest.mark.parametrize("in_axis", [0, 1, -1, -2])
@pytest.mark.parametrize("out_axis", [0, 1, -1])
def test_axes(in_axis, out_axis):
    f = jnp.sin
    x = A if in_axis in (0, -2) else A.T
    out = jitney.pmap(f, in_axes=in_axis, out_axes=out_axis)(x)
    want = jitney.vmap(f, in_axes=in_axis, out_axes=out_axis)(x)
    np.testing.assert_array_equal(out, want)


def test_trees_of_axes():
    def f(a, b, *, c):
        return {"s": a["u"] + b, "t": (a["v"], lax.psum(c, "i"))}

    a, b, c = {"u": A, "v": A.T}, A[0], np.arange(4.0)
    options = {"in_axes": ({"u": 0, "v": 1}, None), "out_axes": {"s": 1, "t": (0, None)}}
    got = jitney.pmap(f, "i", **options)(a, b, c=c)
    want = jitney.vmap(f, axis_name="i", **options)(a, b, c=c)
    jitney.tree_util.tree_map(np.testing.assert_array_equal, got, want)
    assert got["t"][1].sharding.spec == P() and got["s"].sharding.spec == P(None, "i")


def test_static_arguments():
    traces = []

    def f(n, x, name):
        traces.append((n, name))
        return x * n if name == "times" else x + n

    run = jitney.pmap(f, static_broadcasted_argnums=(0, 2))
    for _ in range(2):
        np.testing.assert_array_equal(run(3, A, "times"), 3 * A)
        np.testing.assert_array_equal(run(2, A, "plus"), A + 2)
    assert traces == [(3, "times"), (2, "plus")]
    last = jitney.pmap(lambda x, n: x * n, static_broadcasted_argnums=-1)
    np.testing.assert_array_equal(last(A, 3), 3 * A)
    axes = jitney.pmap(lambda n, x: x * n, in_axes=(None, 1), static_broadcasted_argnums=0)
    np.testing.assert_array_equal(axes(3, A.T), 3 * A)


def test_composition():
    def f(x):
        return lax.psum(jnp.sin(x), "i") * x

    run, want = jitney.pmap(f, "i"), jitney.vmap(f, axis_name="i")
    np.testing.assert_allclose(jitney.jit(run)(A), want(A), rtol=1e-6)
    np.testing.assert_allclose(jitney.vmap(run, in_axes=1)(A), jitney.vmap(want, in_axes=1)(A),
                               rtol=1e-6)
    gradient = jitney.grad(lambda x: run(x).sum())(A)
    np.testing.assert_allclose(gradient, jitney.grad(lambda x: want(x).sum())(A), rtol=1e-5,
                               atol=1e-5)
    inner = jitney.pmap(jitney.vmap(lambda x: lax.psum(x, ("i", "j")), axis_name="j"), "i")
    np.testing.assert_array_equal(inner(A), np.full_like(A, A.sum()))
    by_step = jitney.pmap(jitney.value_and_grad(lambda w, x: jnp.tanh(w * x).sum()),
                          in_axes=(None, 0))
    value, slope = by_step(jnp.float32(0.5), A)
    np.testing.assert_allclose(value, np.tanh(0.5 * A).sum(1), rtol=1e-5)
    np.testing.assert_allclose(slope, (A / np.cosh(0.5 * A) ** 2).sum(1), rtol=1e-4,
                               atol=1e-5)


def test_what_results_know():
    out = jitney.pmap(lambda x: x + 1, "batch")(A)
    assert out.sharding.spec == P("batch") and out.sharding.mesh.shape == {"batch": 4}
    assert out.devices() == set(jitney.devices()[:4]) and not out.is_fully_replicated
    for i, shard in enumerate(out.addressable_shards):
        assert shard.device is jitney.devices()[i] and shard.replica_id == 0
        assert shard.index == (slice(i, i + 1), slice(None))
        np.testing.assert_array_equal(shard.data, A[i:i + 1] + 1)
    again = jitney.pmap(lambda x: x * 2, "batch")(out)
    np.testing.assert_array_equal(again, 2 * A + 2)


def test_devices_and_sizes():
    chosen = jitney.devices()[4:6]
    out = jitney.pmap(lambda x: x, devices=chosen)(A[:2])
    assert out.devices() == set(chosen)
    with pytest.raises(ValueError, match="as many as `devices` lists"):
        jitney.pmap(lambda x: x, devices=chosen)(A)
    with pytest.raises(ValueError, match=r"number of devices, 8.*jax\.vmap"):
        jitney.pmap(lambda x: x)(np.zeros(9))
    with pytest.raises(ValueError, match="at least one element"):
        jitney.pmap(lambda x: x)(np.zeros((0, 2)))
    with pytest.raises(ValueError, match="axis_size 3"):
        jitney.pmap(lambda x: x, axis_size=3)(A)
    with pytest.raises(ValueError, match="inconsistent sizes"):
        jitney.pmap(lambda x, y: x)(A, A.T)
    with pytest.raises(ValueError, match="at least one argument"):
        jitney.pmap(lambda x: x, in_axes=None)(A)
    with pytest.raises(ValueError, match="rank should be at least 3"):
        jitney.pmap(lambda x: x, in_axes=2)(A)
    with pytest.raises(ValueError, match="out of bounds"):
        jitney.pmap(lambda x: x, out_axes=2)(A)
    with pytest.raises(ValueError, match="prefix|different"):
        jitney.pmap(lambda x: x, in_axes=((0, 0),))(A)
    with pytest.raises(ValueError, match="len\\(in_axes\\)=2"):
        jitney.pmap(lambda x: x, in_axes=(0, 0))(A)
    with pytest.raises(TypeError, match="in_axes"):
        jitney.pmap(lambda x: x, in_axes="i")
    with pytest.raises(TypeError):
        jitney.pmap(3)
    with pytest.raises(RuntimeError, match="Unknown backend"):
        jitney.pmap(lambda x: x, backend="tpu")
    with pytest.raises(ValueError, match="should match|mapped over already"):
        jitney.pmap(jitney.pmap(lambda x: x, "j"), "i")(A)


def test_donation_and_stages():
    x = jnp.asarray(A) + 0
    out = jitney.pmap(lambda v: v + 1, donate_argnums=0)(x)
    np.testing.assert_array_equal(out, A + 1)
    lowered = jitney.pmap(lambda v: v + 1).lower(A)
    np.testing.assert_array_equal(lowered.compile()(A), A + 1)


def test_debug_nans_and_disable_jit():
    run = jitney.pmap(lambda x: lax.psum(jnp.log(x), "i"), "i")
    with jitney.debug_nans(True), pytest.raises(FloatingPointError):
        run(np.float32([1, -1]))
    with jitney.disable_jit():
        out = jitney.pmap(lambda x: lax.psum(x, "i"), "i")(np.float32([1, 2]))
    np.testing.assert_array_equal(out, [3, 3])
