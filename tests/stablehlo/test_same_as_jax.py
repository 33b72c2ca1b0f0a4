"""For programs both libraries trace alike, the text is JAX's, character by character."""

import importlib

import numpy as np
import pytest

import jitney
from jitney.stablehlo import module_text

pytestmark = pytest.mark.jax
jax = pytest.importorskip("jax")

V = np.arange(4, dtype=np.float32)
M = np.arange(20, dtype=np.float32).reshape(4, 5)
I = np.array([0, 2, 1], np.int32)
CONSTANT = np.array([1.5, -0.7310586, np.inf, 1e-20, 12345.678, 3e38], np.float32)


def f_text(api, body, args, **options) -> str:
    jnp, lax = (importlib.import_module(f"{api.__name__}.{m}") for m in ("numpy", "lax"))

    def f(*xs):
        return body(jnp, lax, *xs)

    traced = api.jit(f, **options).trace(*args)
    if api is jax:
        return traced.lower().as_text()
    return module_text(traced.jaxpr, name="f", donated=traced.donate_argnums,
                       out_tree=traced.out_tree)


CASES = {
    "arithmetic": (lambda jnp, lax, x, y: (x / y - jnp.exp(y)) * (jnp.sin(x / y) + 2), (1.0, 1.0)),
    "elementwise": (lambda jnp, lax, x: [
        lax.exp2(x), lax.sign(x), lax.integer_pow(x, 5), lax.square(x), lax.round(x),
        lax.reduce_precision(x, 5, 10), lax.bitcast_convert_type(x, np.int32), lax.erfc(x),
        lax.lgamma(x), lax.nextafter(x, x), lax.is_finite(x), lax.clamp(0.0, x, 1.0),
        lax.convert_element_type(x, bool), lax.pow(x, 2)], (V,)),
    "unsigned": (lambda jnp, lax, x: [lax.sign(x), lax.population_count(x), x == x,
                                      lax.convert_element_type(x, "float32")],
                 (V.astype(np.uint32),)),
    "complex": (lambda jnp, lax, z: [lax.sign(z), lax.conj(z), lax.max(z, z), lax.abs(z),
                                     lax.real(z), lax.asin(z), lax.integer_pow(z, -2)],
                (V.astype(np.complex64),)),
    "shapes": (lambda jnp, lax, x: [
        lax.reshape(x, (2, 2)), lax.rev(x, (0,)), lax.pad(x, 0.0, ((1, 2, 3),)),
        lax.slice(x, (0,), (4,), (2,)), lax.concatenate([x, x], 0), lax.tile(x, (2,)),
        lax.iota("float32", 3), lax.optimization_barrier(x), lax.full((2, 0), 1.0),
        lax.dynamic_slice(x, (1,), (2,)), lax.expand_dims(x, (0,))], (V,)),
    "constants": (lambda jnp, lax, x: [x + CONSTANT, lax.full((2,), np.float32(0.1)) * x[:2],
                                       x * np.float32(np.nan), x[:2] + np.int32(7)],
                  (CONSTANT,)),
    "reductions": (lambda jnp, lax, x: [
        lax.reduce_sum(x, (0, 1)), lax.reduce_max(x, (0,)),
        lax.reduce(x, 0.0, lambda p, q: p * 2 + q, (0,)), lax.reduce_and(x > 0, (1,))], (M,)),
    "contractions": (lambda jnp, lax, x: [
        lax.dot_general(x, x, (((1,), (1,)), ((0,), (0,)))),
        lax.dot_general(x, x, (((1,), (1,)), ((), ())), precision="highest"),
        lax.dot_general(x, x, (((1,), (1,)), ((), ())), precision="BF16_BF16_F32")], (M,)),
    "convolution": (lambda jnp, lax, x, k: lax.conv_general_dilated(
        x, k, (1, 2), "SAME", rhs_dilation=(2, 1)),
        (np.ones((2, 3, 8, 8), np.float32), np.ones((4, 3, 3, 3), np.float32))),
    "gather": (lambda jnp, lax, x, i: lax.gather(
        x, i, lax.GatherDimensionNumbers((1,), (0,), (0,)), (1, 5)), (M, I[:, None])),
    "scatter": (lambda jnp, lax, x, i, u: lax.scatter_add(
        x, i, u, lax.ScatterDimensionNumbers((1,), (0,), (0,))), (M, I[:, None], M[:3])),
    "sort": (lambda jnp, lax, x: lax.sort(x), (V,)),
    "sort_keys": (lambda jnp, lax, z, i: lax.sort((z, i), num_keys=2),
                  (V.astype(np.complex64), V.astype(np.int32))),
    "top_k": (lambda jnp, lax, x: lax.top_k(x, 2), (V,)),
    "select_n": (lambda jnp, lax, w, x: lax.select_n(w, x, x, x, x), (I, V[:3])),
    "while": (lambda jnp, lax, x: lax.while_loop(
        lambda c: c[0] < 10, lambda c: (c[0] + 1, c[1] * x), (0, x)), (2.0,)),
    "fori_loop": (lambda jnp, lax, n, x: lax.fori_loop(0, n, lambda i, c: c * x + i, x), (3, V)),
    "cond": (lambda jnp, lax, x: lax.cond(x.sum() > 0, jnp.sin, lambda x: x * 2, x), (V,)),
    "switch": (lambda jnp, lax, i, x: lax.switch(i, [jnp.sin, jnp.cos], x), (2, 2.0)),
    "keywords": (lambda jnp, lax, x: {"b": [x, x + 1], "a": (jnp.sin(x),)}, (V,)),
}
DONATED = (lambda jnp, lax, a, b: (a[:2], b + 1), (V, V.astype(np.int32)))


@pytest.mark.parametrize("name", CASES)
def test_text_is_that_of_jax(name):
    body, args = CASES[name]
    assert f_text(jitney, body, args) == f_text(jax, body, args)


@pytest.mark.filterwarnings("ignore:Some donated buffers")
def test_donated_arguments_are_marked_as_by_jax():
    body, args = DONATED
    options = {"donate_argnums": (0, 1)}
    assert f_text(jitney, body, args, **options) == f_text(jax, body, args, **options)


def test_names_of_functions():
    def text(api):
        def g(x):
            return x * 2

        g.__name__ = "a-b.c d<e>"
        inner = api.jit(g)
        return api.jit(lambda x: inner(inner(x))).lower(1.0).as_text()

    assert text(jitney) == text(jax)
