"""Functions that say themselves how they are batched."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney.custom_batching import custom_vmap, sequential_vmap


def sine_product():
    """sin(x) y, which as a batch pretends to be cos(x) y; and what its rule saw."""
    seen = []

    @custom_vmap
    def f(x, y=2.0):
        return jnp.sin(x) * y

    @f.def_vmap
    def rule(axis_size, in_batched, xs, ys):
        seen.append((axis_size, in_batched))
        return jnp.cos(xs) * ys, True

    return f, seen


X = jnp.arange(3.0)


def test_rule_replaces_batching():
    f, seen = sine_product()
    assert f(1.0, 2.0) == jitney.jit(f)(1.0, y=2.0) == f(x=1.0) and not seen
    np.testing.assert_allclose(jitney.vmap(f)(X, X + 1), np.cos(X) * (X + 1), rtol=1e-6)
    np.testing.assert_allclose(jitney.vmap(f, (0, None))(X, 2.0), np.cos(X) * 2, rtol=1e-6)
    np.testing.assert_allclose(jitney.jit(jitney.vmap(f))(X), np.cos(X) * 2, rtol=1e-6)
    assert seen == [(3, [True, True]), (3, [True, False]), (3, [True, False])]
    ys = jnp.ones((2, 3))
    got = jitney.vmap(f, (None, 1), out_axes=1)(jnp.ones(2), ys)
    np.testing.assert_allclose(got, np.full((2, 3), np.cos(1.0)), rtol=1e-6)


def test_nested_batches_and_loops():
    f, seen = sine_product()
    both = jitney.vmap(jitney.vmap(f))(jnp.ones((2, 3)), jnp.ones((2, 3)))
    np.testing.assert_allclose(both, np.full((2, 3), np.cos(1.0)), rtol=1e-6)
    assert seen == [(3, [True, True])]
    looped = lambda x: jitney.lax.fori_loop(0, 3, lambda i, y: f(y, 1.0), x)
    np.testing.assert_allclose(jitney.jit(looped)(1.0), np.sin(np.sin(np.sin(1.0))), rtol=1e-6)
    np.testing.assert_allclose(jitney.vmap(looped)(X), np.cos(np.cos(np.cos(X))), rtol=1e-6)


def test_forward_mode():
    f, _ = sine_product()
    out, tangent = jitney.jvp(f, (1.0, 2.0), (1.0, 0.0))
    np.testing.assert_allclose([out, tangent], [2 * np.sin(1.0), 2 * np.cos(1.0)], rtol=1e-6)
    push = lambda x, t: jitney.jvp(f, (x, 2.0), (t, 1.0))
    for dims, t in [((0, None), 1.0), ((0, 0), X), ((None, 0), X)]:
        x = X if dims[0] == 0 else jnp.float32(0.5)
        out, tangent = jitney.vmap(push, dims)(x, t)
        np.testing.assert_allclose(out, np.broadcast_to(2 * np.cos(x), 3), rtol=1e-6)
        want = -2 * np.sin(x) * t + np.cos(x)
        np.testing.assert_allclose(tangent, np.broadcast_to(want, 3), rtol=1e-5, atol=1e-6)
    out, tangent = jitney.jvp(jitney.vmap(f), (X, X), (jnp.ones(3), jnp.zeros(3)))
    np.testing.assert_allclose(tangent, -np.sin(X) * X, rtol=1e-6)


def test_reverse_mode_is_refused_and_the_way_out():
    f, _ = sine_product()
    with pytest.raises(ValueError, match="does not support reverse-mode.*custom_vjp"):
        jitney.grad(f)(1.0, 2.0)
    got = jitney.grad(lambda x: jnp.sum(jitney.vmap(f)(x, x)))(X)
    np.testing.assert_allclose(got, np.cos(X) - X * np.sin(X), rtol=1e-6)

    g = jitney.custom_vjp(f)
    g.defvjp(lambda x, y: (f(x, y), (x, y)), lambda r, ct: (ct * r[1] * jnp.cos(r[0]), ct))
    assert jitney.grad(g)(0.0, 3.0) == 3.0
    np.testing.assert_allclose(jitney.vmap(g)(X, X), np.cos(X) * X, rtol=1e-6)


def test_trees_and_unbatched_results():
    @custom_vmap
    def f(tree):
        return {"sum": tree["a"] + tree["b"], "b": tree["b"]}

    @f.def_vmap
    def rule(axis_size, in_batched, tree):
        assert in_batched == [{"a": True, "b": False}]
        return {"sum": tree["a"] * 10, "b": tree["b"]}, {"sum": True, "b": False}

    out = jitney.vmap(lambda a: f({"a": a, "b": jnp.float32(7)}), out_axes={"sum": 0, "b": None})(X)
    assert out["b"] == 7 and out["sum"].tolist() == [0, 10, 20]
    integers = jitney.jvp(lambda x: f({"a": x, "b": 3})["sum"], (1.0,), (1.0,))
    assert [float(v) for v in integers] == [4, 1]


def test_captured_values():
    weights = jnp.arange(4.0)
    f = custom_vmap(lambda x: x * weights)
    f.def_vmap(lambda size, batched, x: (x[:, None] * weights + 1, True))
    np.testing.assert_array_equal(jitney.jit(jitney.vmap(f))(X), X[:, None] * weights + 1)

    def outer(c, x):
        g = custom_vmap(lambda v: v * c)
        g.def_vmap(lambda size, batched, v: (v * 2, True))
        return g(x)
    assert jitney.jit(jitney.vmap(outer, (None, 0)))(3.0, X).tolist() == [0, 2, 4]
    with pytest.raises(ValueError, match="uses a value from outside that is batched"):
        jitney.vmap(outer)(X, X)


def test_sequential(capsys):
    @sequential_vmap
    def f(x, y):
        jitney.debug.print("{}", x)
        return x + y, {"y": y}

    out, more = jitney.jit(jitney.vmap(f, (0, None)))(jnp.arange(3), 2)
    assert out.tolist() == [2, 3, 4] and more["y"].tolist() == [2, 2, 2]
    assert capsys.readouterr().out == "0\n1\n2\n"
    text = str(jitney.make_jaxpr(jitney.vmap(f))(jnp.arange(3), jnp.arange(3)))
    assert "scan[" in text and "custom_vmap_call" in text
    grid = jitney.vmap(jitney.vmap(f, (0, None)), (None, 0))(jnp.arange(2), jnp.arange(3))[0]
    assert grid.tolist() == [[0, 1], [1, 2], [2, 3]]
    assert jitney.vmap(f, (0, None))(jnp.zeros((0, 2)), 1.0)[0].shape == (0, 2)


def test_bad_rules():
    f = custom_vmap(lambda x: (x, x))
    run = jitney.vmap(f)
    with pytest.raises(AttributeError, match="No batching rule defined for custom_vmap function"):
        run(X)
    for rule, message in [
        (lambda n, b, x: x, r"must return a pair \(out, out_batched\)"),
        (lambda n, b, x: (x, x, True), r"must return a pair"),
        (lambda n, b, x: (x, True), "does not match that of original"),
        (lambda n, b, x: ((x, x), True), "batching specification returned by .* do not match"),
        (lambda n, b, x: ((x, x[:2]), (True, True)), r"returned float32\[2\] .* for each of the 3"),
        (lambda n, b, x: ((x, x), (True, False)), r"returned float32\[3\] where .*float32\[\]"),
    ]:
        f.def_vmap(rule)
        with pytest.raises(ValueError, match=message):
            run(X)
    with pytest.raises(TypeError, match="could not be resolved to positional-only"):
        f(1, 2)
    with pytest.raises(TypeError, match="not a valid JAX type"):
        f("x")
    with pytest.raises(TypeError):
        custom_vmap(3)


def test_stablehlo_and_reference():
    f, _ = sine_product()
    assert "stablehlo.sine" in jitney.jit(f).lower(1.0, 2.0).as_text()
