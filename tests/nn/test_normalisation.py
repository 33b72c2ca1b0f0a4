"""Softmax, log-sum-exp, standardisation, one-hot encoding."""

import numpy as np
import pytest
import scipy.special

import jitney
from jitney import nn
from jitney import numpy as jnp

X = np.random.default_rng(0).normal(size=(4, 6)).astype(np.float32) * 5
WHERE = np.random.default_rng(1).random((4, 6)) > 0.3
AXES = [-1, 0, (0, 1), None]


@pytest.mark.parametrize("axis", AXES)
def test_softmax(axis):
    np.testing.assert_allclose(nn.softmax(X, axis=axis), scipy.special.softmax(X, axis), rtol=2e-6)
    np.testing.assert_allclose(nn.log_softmax(X, axis=axis), scipy.special.log_softmax(X, axis),
                               rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("keepdims", [True, False])
def test_logsumexp(axis, keepdims):
    ours = nn.logsumexp(X, axis=axis, keepdims=keepdims)
    wanted = scipy.special.logsumexp(X, axis=axis, keepdims=keepdims)
    np.testing.assert_allclose(ours, wanted, rtol=2e-6)
    ours = nn.logmeanexp(X, axis=axis, keepdims=keepdims)
    count = X.size if axis in (None, (0, 1)) else X.shape[axis]
    np.testing.assert_allclose(ours, wanted - np.log(count), rtol=2e-6)


def test_logsumexp_with_weights_and_signs():
    ours, sign = nn.logsumexp(X, axis=1, b=-np.abs(X), return_sign=True)
    wanted, wanted_sign = scipy.special.logsumexp(X, axis=1, b=-np.abs(X), return_sign=True)
    np.testing.assert_allclose(ours, wanted, rtol=2e-6, atol=1e-6)
    np.testing.assert_array_equal(sign, wanted_sign)
    assert np.isnan(nn.logsumexp(jnp.array([1.0, 2.0]), b=jnp.array([-1.0, -1.0])))


@pytest.mark.parametrize("x, wanted", [([-np.inf, -np.inf], -np.inf), ([np.inf, 1], np.inf),
                                       ([], -np.inf)])
def test_logsumexp_of_infinities(x, wanted):
    assert nn.logsumexp(np.float32(x)) == wanted


def test_masked_elements_do_not_count():
    x = np.where(WHERE, X, np.inf)
    ours = np.asarray(nn.softmax(x, where=WHERE))
    wanted = np.exp(np.where(WHERE, X, -np.inf))
    np.testing.assert_allclose(ours, wanted / wanted.sum(-1, keepdims=True), rtol=2e-6)
    np.testing.assert_allclose(nn.logsumexp(x, axis=1, where=WHERE), np.log(wanted.sum(1)),
                               rtol=2e-6)
    assert np.all(np.isneginf(np.asarray(nn.log_softmax(x, where=WHERE))[~WHERE]))


@pytest.mark.parametrize("algorithm", ["fast", "stable"])
def test_standardize(algorithm):
    ours = nn.standardize(X, algorithm=algorithm)
    wanted = (X - X.mean(-1, keepdims=True)) / np.sqrt(X.var(-1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(ours, wanted, rtol=2e-5, atol=1e-5)
    with pytest.raises(ValueError, match="Unknown algorithm"):
        nn.standardize(X, algorithm="slow")


def test_one_hot():
    np.testing.assert_array_equal(nn.one_hot([2, 0, -1, 5], 3),
                                  [[0, 0, 1], [1, 0, 0], [0, 0, 0], [0, 0, 0]])
    x = np.arange(6).reshape(2, 3)
    np.testing.assert_array_equal(nn.one_hot(x, 6, axis=0, dtype=np.int8),
                                  np.moveaxis(np.eye(6)[x], -1, 0))
    with pytest.raises(jitney.errors.ConcretizationTypeError, match="num_classes"):
        jitney.jit(lambda n: nn.one_hot(jnp.arange(3), n))(3)


def test_text_of_softmax():
    assert str(jitney.make_jaxpr(nn.softmax)(jnp.ones((2, 4)))) == """\
{ lambda ; a:f32[2,4]. let
    b:f32[2] = reduce_max[axes=(1,)] a
    c:f32[2] = max -inf:f32[] b
    d:f32[2,1] = broadcast_in_dim[broadcast_dimensions=(0,)] c
    e:f32[2,1] = stop_gradient d
    f:f32[2,4] = sub a e
    g:f32[2,4] = exp f
    h:f32[2] = reduce_sum[axes=(1,) out_sharding=None] g
    i:f32[2,1] = broadcast_in_dim[broadcast_dimensions=(0,)] h
    j:f32[2,4] = div g i
  in (j,) }"""
