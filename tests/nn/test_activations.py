"""Activation functions: values and derivatives of JAX, derivatives at corners, programs."""

import numpy as np
import pytest

import jitney
from jitney import nn
from jitney import numpy as jnp

X = np.float32([-100, -3, -1, -0.25, 0, 0.5, 1, 2.5, 7, 100])

# values of jax.nn at X
ACTIVATIONS = {
    "relu": [0.0, 0.0, 0.0, 0.0, 0.0, 0.5, 1.0, 2.5, 7.0, 100.0],
    "relu6": [0.0, 0.0, 0.0, 0.0, 0.0, 0.5, 1.0, 2.5, 6.0, 6.0],
    "celu": [-1.0, -0.95021296, -0.63212055, -0.2211992, 0.0, 0.5, 1.0, 2.5, 7.0, 100.0],
    "elu": [-1.0, -0.95021296, -0.63212055, -0.2211992, 0.0, 0.5, 1.0, 2.5, 7.0, 100.0],
    "gelu": [-0.0, -0.0036373436, -0.15880796, -0.100324646, 0.0, 0.345714, 0.841192, 2.4849157,
     7.0, 100.0],
    "hard_sigmoid": [0.0, 0.0, 0.33333334, 0.45833334, 0.5, 0.5833334, 0.6666667, 0.9166667, 1.0,
     1.0],
    "hard_silu": [-0.0, -0.0, -0.33333334, -0.114583336, 0.0, 0.2916667, 0.6666667, 2.2916667,
     7.0, 100.0],
    "hard_tanh": [-1.0, -1.0, -1.0, -0.25, 0.0, 0.5, 1.0, 1.0, 1.0, 1.0],
    "leaky_relu": [-1.0, -0.03, -0.01, -0.0025, 0.0, 0.5, 1.0, 2.5, 7.0, 100.0],
    "log_sigmoid": [-100.0, -3.0485873, -1.3132617, -0.8259394, -0.6931472, -0.474077,
     -0.3132617, -0.078889735, -0.0009114665, -0.0],
    "mish": [-0.0, -0.14564745, -0.30340144, -0.12992696, 0.0, 0.37524524, 0.8650985, 2.4713924,
     6.999989, 100.0],
    "selu": [-1.7580993, -1.6705688, -1.1113307, -0.38889018, 0.0, 0.5253505, 1.050701,
     2.6267526, 7.354907, 105.0701],
    "sigmoid": [0.0, 0.047425874, 0.26894143, 0.4378235, 0.5, 0.62245935, 0.7310586, 0.9241418,
     0.999089, 1.0],
    "silu": [-0.0, -0.14227763, -0.26894143, -0.109455876, 0.0, 0.31122968, 0.7310586, 2.3103545,
     6.993623, 100.0],
    "soft_sign": [-0.990099, -0.75, -0.5, -0.2, 0.0, 0.33333334, 0.5, 0.71428573, 0.875,
     0.990099],
    "softplus": [0.0, 0.048587352, 0.3132617, 0.5759394, 0.6931472, 0.974077, 1.3132617,
     2.5788898, 7.000911, 100.0],
    "sparse_plus": [0.0, 0.0, 0.0, 0.140625, 0.25, 0.5625, 1.0, 2.5, 7.0, 100.0],
    "sparse_sigmoid": [0.0, 0.0, 0.0, 0.375, 0.5, 0.75, 1.0, 1.0, 1.0, 1.0],
    "squareplus": [0.0099983215, 0.30277562, 0.618034, 0.8827822, 1.0, 1.2807764, 1.618034,
     2.850781, 7.1400547, 100.009995],
}

# derivatives of jax.nn at X
DERIVATIVES = {
    "relu": [0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0],
    "relu6": [0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0],
    "elu": [0.0, 0.049787045, 0.36787945, 0.7788008, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0],
    "gelu": [0.0, -0.011583906, -0.08296407, 0.3046459, 0.5, 0.86736995, 1.082964, 1.0379517,
     1.0, 1.0],
    "log_sigmoid": [1.0, 0.95257413, 0.73105854, 0.5621765, 0.5, 0.37754068, 0.2689414,
     0.07585817, 0.0009110514, 0.0],
    "selu": [0.0, 0.08753057, 0.6467686, 1.3692092, 1.7580993, 1.050701, 1.050701, 1.050701,
     1.050701, 1.050701],
    "silu": [0.0, -0.08810411, 0.07232949, 0.37629, 0.5, 0.7399612, 0.92767054, 1.0994011,
     1.0054601, 1.0],
    "softplus": [0.0, 0.047425874, 0.2689414, 0.4378235, 0.5, 0.62245935, 0.73105854, 0.9241417,
     0.9990892, 1.0],
    "leaky_relu": [0.01, 0.01, 0.01, 0.01, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0],
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_values(name):
    np.testing.assert_allclose(getattr(nn, name)(X), ACTIVATIONS[name], rtol=2e-6, atol=3e-7)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_values_under_jit(name):
    f = getattr(nn, name)
    np.testing.assert_allclose(jitney.jit(lambda x: f(x))(X), f(X), rtol=1e-6)


@pytest.mark.skipif(not hasattr(jitney, "grad"), reason="no derivatives")
@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives(name):
    f = jitney.grad(lambda x: jnp.sum(getattr(nn, name)(x)))
    np.testing.assert_allclose(f(X), DERIVATIVES[name], rtol=2e-6, atol=3e-7)


def test_exact_gelu():
    wanted = [-0.0, -0.00404951, -0.15865526, -0.10032465, 0.0, 0.34573123, 0.84134477, 2.4844759,
              7.0, 100.0]
    np.testing.assert_allclose(nn.gelu(X, approximate=False), wanted, rtol=2e-4, atol=1e-6)


def test_gated_unit_and_its_refusal():
    np.testing.assert_allclose(nn.glu(jnp.arange(4.0)), [0.0, 0.95257413], rtol=1e-6)
    with pytest.raises(AssertionError, match="divisible by 2"):
        nn.glu(jnp.ones(3))


def test_log1mexp_loses_no_digits():
    x = np.float32([1e-6, 0.1, 1.0, 20.0])
    np.testing.assert_allclose(nn.log1mexp(x), np.log(-np.expm1(-x.astype(np.float64))), rtol=1e-6)


@pytest.mark.parametrize("name", ["relu", "gelu", "softmax", "silu"])
def test_lists_are_refused(name):
    with pytest.raises(TypeError, match="list"):
        getattr(nn, name)([1.0, 2.0])


def test_relu_is_a_custom_derivative_of_a_call():
    assert str(jitney.make_jaxpr(nn.relu)(jnp.ones(3))).startswith(
        "{ lambda ; a:f32[3]. let\n    b:f32[3] = custom_jvp_call[\n      name=relu\n")
