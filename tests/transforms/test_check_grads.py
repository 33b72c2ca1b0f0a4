"""test_util.check_grads accepts right derivatives and finds wrong ones; ravel_pytree."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney.flatten_util import ravel_pytree
from jitney.test_util import check_grads, check_jvp, check_vjp


@jitney.custom_jvp
def wrong(x):
    return jnp.sin(x)


wrong.defjvps(lambda t, out, x: 1.01 * t * jnp.cos(x))


@jitney.custom_vjp
def wrong_backwards(x):
    return jnp.sin(x)


wrong_backwards.defvjp(lambda x: (jnp.sin(x), x), lambda x, ct: (ct * jnp.cos(x) + 0.05,))


@jitney.custom_jvp
def wrong_at_second_order(x):
    return jnp.sin(x)


wrong_at_second_order.defjvps(
    lambda t, out, x: t * (jnp.cos(x) + jitney.lax.stop_gradient(x) - x))


@pytest.fixture
def double_precision():
    with jitney.enable_x64(True):
        yield


def test_right_derivatives_pass(double_precision):
    x = np.linspace(0.3, 1.7, 6).reshape(2, 3)
    check_grads(lambda x: jnp.tanh(x) * jnp.sum(x), (x,), order=3)
    check_grads(lambda p, n: {"a": p["w"] ** n, "n": n}, ({"w": x}, 3), order=2)
    check_grads(lambda x: x[:0], (x,), order=1)
    check_grads(jnp.sin, (0.4,), order=2, modes="rev", eps=1e-5)


def test_complex_derivatives_pass(double_precision):
    z = np.array([0.3 + 1.2j, -0.7 + 0.1j])
    check_grads(lambda z: jnp.exp(z) * z, (z,), order=2)
    check_grads(lambda z: jnp.conj(z) * z ** 2, (z,), order=2)
    check_grads(lambda z: (jnp.real(z), jnp.abs(z)), (z,), order=2)
    check_grads(lambda x: jnp.sum(jnp.exp(1j * x)), (np.array([0.2, 0.5]),), order=2)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_short_types(dtype):
    x = jnp.asarray([0.5, 1.25, -0.75], dtype)
    step = 1e-2 if dtype == "float32" else 0.25
    check_grads(lambda x: x * x, (x,), order=1, eps=step)


@pytest.mark.parametrize("mode", ["fwd", "rev"])
def test_wrong_derivatives_are_found(double_precision, mode):
    with pytest.raises(AssertionError, match="of the (jvp|vjp)"):
        check_grads(wrong, (np.array([0.3, 0.8]),), order=1, modes=mode)
    check_grads(wrong_at_second_order, (0.4,), order=1, modes=mode)
    with pytest.raises(AssertionError, match="(jvp|vjp) of (jvp|vjp) of f"):
        check_grads(wrong_at_second_order, (0.4,), order=2, modes=mode)


def test_a_wrong_backward_rule_is_found(double_precision):
    with pytest.raises(AssertionError, match="cotangents of the vjp"):
        check_grads(wrong_backwards, (0.3,), order=1, modes=("rev",))


def test_rules_given_by_hand(double_precision):
    check_jvp(jnp.sin, lambda p, t: (jnp.sin(p[0]), t[0] * jnp.cos(p[0])), (0.5,))
    with pytest.raises(AssertionError, match="mine"):
        check_jvp(jnp.sin, lambda p, t: (jnp.sin(p[0]), t[0]), (0.5,), err_msg="mine")
    check_vjp(jnp.sin, lambda x: (jnp.sin(x), lambda ct: (ct * jnp.cos(x),)), (0.5,))
    with pytest.raises(AssertionError, match="structure"):
        check_vjp(jnp.sin, lambda x: ((jnp.sin(x),), None), (0.5,))


@pytest.mark.parametrize("call, error, text", [
    (lambda: check_grads(jnp.sin, (1.0,), 1, modes=("forward",)), ValueError, "'fwd' and 'rev'"),
    (lambda: check_grads(jnp.sin, (1.0,), 0), TypeError, "positive integer"),
])
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call()


# --- ravel_pytree --------------------------------------------------------------------------------


@pytest.mark.parametrize("tree", [
    {"w": np.ones((2, 3), np.float32), "b": [np.float32(2.0), np.zeros((0, 4), np.float32)]},
    (np.arange(3, dtype=np.int32), np.ones(2, np.float32), None),
    [], np.float32(3.0), (np.array([True, False]), np.int8(3)),
], ids=["nested", "mixed", "empty", "scalar", "small"])
def test_ravel_pytree_comes_back(tree):
    flat, unravel = ravel_pytree(tree)
    assert flat.ndim == 1
    back = unravel(flat)
    assert jitney.tree_util.tree_structure(back) == jitney.tree_util.tree_structure(tree)
    for a, b in zip(jitney.tree_util.tree_leaves(back), jitney.tree_util.tree_leaves(tree)):
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_array_equal(a, b)


def test_ravel_pytree_under_transformations():
    tree = {"w": jnp.arange(3.0), "b": jnp.asarray(2.0)}
    grads = jitney.grad(lambda t: jnp.sum(ravel_pytree(t)[0] ** 2))(tree)
    np.testing.assert_allclose(grads["w"], [0.0, 2.0, 4.0])
    flat, unravel = ravel_pytree(tree)
    back = jitney.jit(jitney.grad(lambda v: jnp.sum(unravel(v)["w"]) * unravel(v)["b"]))(flat)
    np.testing.assert_allclose(back, [3.0, 2.0, 2.0, 2.0])
    rows = jitney.vmap(lambda x: ravel_pytree({"w": x, "b": x[0]})[0])(jnp.ones((5, 3)))
    assert rows.shape == (5, 4)
    with pytest.raises(ValueError, match="expected shape"):
        unravel(jnp.zeros(5))
