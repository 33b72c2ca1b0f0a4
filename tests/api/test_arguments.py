"""Arguments without effect are checked; those with one have it."""

import re

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import lax, nn, random

KEY = random.key(0)
X = np.arange(4.0, dtype=np.float32)


@pytest.mark.parametrize("call", [
    lambda out: jnp.zeros(4, out_sharding=out),
    lambda out: jnp.full(4, 1.0, out_sharding=out),
    lambda out: jnp.array([1.0], out_sharding=out),
    lambda out: jnp.arange(4, out_sharding=out),
    lambda out: jnp.ones_like(X, out_sharding=out),
    lambda out: jnp.ravel(X, out_sharding=out),
    lambda out: jnp.asarray(X).reshape(2, 2, out_sharding=out),
    lambda out: jnp.repeat(X, 2, out_sharding=out),
    lambda out: jnp.dot(X, X, out_sharding=out),
    lambda out: jnp.tensordot(X, X, 1, out_sharding=out),
    lambda out: jnp.einsum("i,i", X, X, out_sharding=out),
    lambda out: jnp.percentile(X, 50.0, out_sharding=out),
    lambda out: jnp.bincount(np.arange(3), length=3, out_sharding=out),
    lambda out: jnp.asarray(X).at[0].get(out_sharding=out),
    lambda out: jnp.asarray(X).at[0].set(1.0, out_sharding=out),
    lambda out: lax.broadcast(X, (2,), out_sharding=out),
    lambda out: lax.reduce(X, np.float32(0), lax.add, (0,), out_sharding=out),
    lambda out: random.normal(KEY, (4,), out_sharding=out),
    lambda out: random.gamma(KEY, 1.0, (4,), out_sharding=out),
    lambda out: random.permutation(KEY, 4, out_sharding=out),
    lambda out: nn.initializers.zeros(KEY, (4,), out_sharding=out),
    lambda out: nn.initializers.he_normal()(KEY, (4, 4), out_sharding=out),
])  # fmt: skip
def test_layouts_of_results_are_checked(call):
    call(None)
    for wrong in ("cpu", 3, jitney.devices()[0]):
        with pytest.raises(TypeError, match="only supports instances of `NamedSharding`"):
            call(wrong)


@pytest.mark.parametrize("call", [
    lambda device: jnp.zeros(4, device=device),
    lambda device: jnp.full_like(X, 2.0, device=device),
    lambda device: jnp.asarray(X, device=device),
    lambda device: jnp.linspace(0, 1, 4, device=device),
    lambda device: jnp.eye(4, device=device),
    lambda device: jnp.asarray(X).astype(int, device=device),
    lambda device: jnp.from_dlpack(X, device=device),
])  # fmt: skip
def test_devices_place_results(call):
    device = jitney.devices()[0]
    assert call(device).devices() == {device}
    np.testing.assert_array_equal(call(device), call(None))
    with pytest.raises(ValueError, match="Only one of `device` or `out_sharding`"):
        jnp.zeros(4, device=device, out_sharding=3)


@pytest.mark.parametrize("options,error", [
    (3, TypeError), ({3: 1}, TypeError), ({"xla_x": [1]}, TypeError),
    ({"fast": True}, jitney.errors.JaxRuntimeError),
])  # fmt: skip
def test_compiler_options_are_checked(options, error):
    with pytest.raises(error, match="option"):
        jitney.jit(lambda x: x, compiler_options=options)
    with pytest.raises(error, match="option"):
        jitney.jit(lambda x: x).lower(X).compile(options)


def test_options_of_xla_are_accepted():
    fast = {"xla_cpu_enable_fast_math": True, "optimization_level": 1}
    f = jitney.jit(lambda x: x + 1, compiler_options=fast)
    np.testing.assert_array_equal(f(X), X + 1)
    np.testing.assert_array_equal(f.lower(X).compile(fast)(X), X + 1)


def test_unknown_options_of_stages():
    traced = jitney.jit(lambda x: x + 1).trace(X)
    with pytest.raises(TypeError, match="unexpected keyword"):
        traced.lower(platform="cpu")
    with pytest.raises(ValueError, match="only .'cpu',. exists"):
        traced.lower(lowering_platforms=("cuda",))
    with pytest.raises(TypeError, match="unexpected keyword"):
        traced.lower().compile(options={})
    with pytest.raises(NotImplementedError, match="device_put"):
        traced.lower().compile(device_assignment=jitney.devices())
    with pytest.raises(NotImplementedError, match="only the dialects"):
        traced.lower().as_text("kernels", debug_info=True)
    with pytest.raises(TypeError, match="unexpected keyword"):
        traced.jaxpr.pretty_print(colour=True)
    with pytest.raises(TypeError, match="unexpected keyword"):
        traced.in_avals[0][0].update(size=3)


def test_texts_with_source_lines():
    lowered = jitney.jit(lambda x: lax.sin(x)).lower(X)
    file = re.escape(__file__)
    assert re.search(rf'stablehlo.sine .* loc\("sin"\("{file}":\d+:0\)\)', lowered.as_text(
        debug_info=True))
    assert "loc(" not in lowered.as_text()
    assert re.search(rf"sin a  # {file}:\d+ ", lowered.as_text("jaxpr", debug_info=True))


def test_options_of_printing():
    jaxpr = jitney.make_jaxpr(lambda x: lax.sin(x))(X)
    assert jaxpr.pretty_print(print_shapes=False) == "{ lambda ; a. let b = sin a in (b,) }"
    assert "sin[accuracy=None]" in jaxpr.pretty_print(custom_pp_eqn_rules=False)
    assert ") : {  } }" in jaxpr.pretty_print(print_effects=True)
    assert jaxpr.pretty_print(width=30).count("\n") > str(jaxpr).count("\n")
    for option in ("name_stack", "use_color"):
        with pytest.raises(NotImplementedError, match=option):
            jaxpr.pretty_print(**{option: True})


def test_live_arrays():
    def lives(array):
        return any(a is array for a in jitney.live_arrays("cpu"))

    x = jnp.asarray(X) + 1
    assert lives(x) and any(a is x for a in jitney.devices()[0].live_buffers())
    y = x + 1
    assert lives(y)
    y.delete()
    assert lives(x) and not lives(y)
    number = id(x)
    del x
    assert number not in map(id, jitney.live_arrays())
    with pytest.raises(RuntimeError, match="Unknown backend"):
        jitney.live_arrays("tpu")


def test_hints_are_checked():
    for call in (lambda: jitney.vmap(lax.sin, spmd_axis_name=["a"]),
                 lambda: jitney.vmap(lax.sin, sum_match="yes"),
                 lambda: jnp.unique(X, sorted="no"),
                 lambda: jnp.isin(X, X, assume_unique="no"),
                 lambda: jnp.from_dlpack(X, copy="no"),
                 lambda: jnp.histogram_bin_edges(X, weights=["a"]),
                 lambda: lax.scan(lambda c, x: (c, x), 0, X, _split_transpose="no"),
                 lambda: jitney.custom_vjp(lax.sin).defvjp(lax.sin, lax.sin, optimize_remat="x")):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(NotImplementedError, match="reduce_axes"):
        jitney.linear_transpose(lax.neg, X, reduce_axes=("a",))
    with pytest.raises(ValueError, match="unroll"):
        random.multinomial(KEY, 3, np.array([0.5, 0.5]), unroll=-1)
    with pytest.raises(ValueError, match="copy=False"):
        jnp.from_dlpack(X, copy=False)


def test_copies_of_arrays_through_dlpack():
    x = jnp.asarray(X)
    shared, copied = jnp.from_dlpack(x, copy=False), jnp.from_dlpack(x, copy=True)
    assert shared.unsafe_buffer_pointer() == x.unsafe_buffer_pointer()
    assert copied.unsafe_buffer_pointer() != x.unsafe_buffer_pointer()
    np.testing.assert_array_equal(copied, x)


@pytest.mark.parametrize("unroll", [1, 2, True])
def test_unrolled_multinomial_is_the_same(unroll):
    p = np.array([0.2, 0.3, 0.5], np.float32)
    np.testing.assert_array_equal(random.multinomial(KEY, 10, p, unroll=unroll),
                                  random.multinomial(KEY, 10, p))


def test_layouts_need_a_mesh():
    P, Mesh = jitney.sharding.PartitionSpec, jitney.sharding.Mesh
    mesh = Mesh(np.array(jitney.devices()[:1]), ("x",))
    with pytest.raises(ValueError, match="mesh"):
        random.normal(KEY, (4,), out_sharding=P("x"))
    for layout in (jitney.sharding.NamedSharding(mesh, P("x")),):
        assert jnp.zeros(4, out_sharding=layout).sharding == layout
        np.testing.assert_array_equal(jnp.ravel(X, out_sharding=layout), X)


@pytest.mark.parametrize("name", ["in_shardings", "out_shardings"])
def test_shardings_of_jit_are_checked(name):
    with pytest.raises(TypeError, match=f"{name} leaf specifications"):
        jitney.jit(lambda x: x, **{name: (None, "x")})
