"""Distributions and summaries of samples against SciPy."""

from importlib.util import find_spec

import numpy as np
import pytest
import scipy.stats

import jitney
from jitney.scipy import stats

X = np.float32([-7.0, -2.0, -0.5, 0.3, 0.5, 1.0, 1.7, 4.0, 9.0])
Q = np.float32([0.05, 0.3, 0.5, 0.9])
K = np.array([-1, 0, 1, 2, 3, 5, 9])

# parameters of each distribution
PARAMETERS = {
    "norm": (), "beta": (2.0, 0.7), "gamma": (1.7,), "chi2": (3.0,), "cauchy": (), "expon": (),
    "uniform": (), "laplace": (), "logistic": (), "gumbel_l": (), "gumbel_r": (), "pareto": (1.5,),
    "t": (2.5,), "truncnorm": (-1.0, 2.0), "gennorm": (1.5,), "vonmises": (2.0,),
    "wrapcauchy": (0.4,), "bernoulli": (0.3,), "binom": (5, 0.3), "betabinom": (5, 0.6, 0.7),
    "nbinom": (2.0, 0.3), "geom": (0.3,), "poisson": (2.5,),
}
NAMES = ("logpdf", "pdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf", "logpmf", "pmf")
CASES = [(d, f) for d in PARAMETERS for f in NAMES if hasattr(getattr(stats, d), f)]
ONLY_ON_ITS_CIRCLE = {"vonmises", "wrapcauchy"}


@pytest.mark.parametrize("distribution, name", CASES)
def test_distributions(distribution, name):
    points = Q if name in ("ppf", "isf") else X
    if distribution in ("bernoulli", "binom", "betabinom", "nbinom", "geom", "poisson"):
        points = Q if name in ("ppf", "isf") else K
    if distribution in ONLY_ON_ITS_CIRCLE:
        points = np.float32([0.1, 0.5, 1.7, 3.0])
    parameters = PARAMETERS[distribution]
    ours = getattr(getattr(stats, distribution), name)(points, *parameters)
    theirs = getattr(scipy.stats, distribution)
    with np.errstate(all="ignore"):
        wanted = getattr(theirs, name)(points.astype(np.float64), *parameters)
    assert ours.dtype == np.float32
    np.testing.assert_allclose(ours, wanted.astype(np.float32), rtol=3e-5, atol=1e-6)


@pytest.mark.parametrize("distribution", ["norm", "gamma", "cauchy", "truncnorm", "pareto"])
def test_location_and_scale(distribution):
    parameters = PARAMETERS[distribution]
    ours = getattr(stats, distribution).logpdf(X, *parameters, loc=0.5, scale=2.0)
    theirs = getattr(scipy.stats, distribution).logpdf(X.astype(np.float64), *parameters, 0.5, 2.0)
    np.testing.assert_allclose(ours, theirs, rtol=3e-5)


def test_tails_keep_their_digits():
    x = np.float32([-30.0, -1e4])
    np.testing.assert_allclose(stats.norm.logcdf(x), scipy.stats.norm.logcdf(x), rtol=1e-5)
    np.testing.assert_allclose(stats.cauchy.cdf(x), scipy.stats.cauchy.cdf(x), rtol=1e-5)
    far = np.float32([10.5, 11.0])
    np.testing.assert_allclose(stats.truncnorm.logpdf(far, 10.0, 12.0),
                               scipy.stats.truncnorm.logpdf(far, 10.0, 12.0), rtol=1e-4)


def test_entropy_of_poisson():
    mu = np.array([0.0, 1.0, 50.0, 99.0, 101.0, 1000.0])
    np.testing.assert_allclose(stats.poisson.entropy(mu), scipy.stats.poisson.entropy(mu),
                               rtol=2e-5)


def test_several_variables():
    p, x = np.float32([0.2, 0.3, 0.5]), np.array([1, 2, 3])
    np.testing.assert_allclose(stats.multinomial.logpmf(x, 6, p),
                               scipy.stats.multinomial.logpmf(x, 6, [0.2, 0.3, 0.5]), rtol=1e-5)
    assert stats.multinomial.pmf(x, 7, p) == 0
    alpha = np.float32([1.0, 2.0, 3.0])
    wanted = scipy.stats.dirichlet.logpdf([0.2, 0.3, 0.5], alpha)
    np.testing.assert_allclose(stats.dirichlet.logpdf(p, alpha), wanted, rtol=1e-5)
    np.testing.assert_allclose(stats.dirichlet.logpdf(p[:2], alpha), wanted, rtol=1e-5)
    assert np.isneginf(stats.dirichlet.logpdf(np.float32([0.2, 0.3, 0.9]), alpha))
    with pytest.raises(NotImplementedError, match="allow_singular"):
        stats.multivariate_normal.logpdf(1.0, 0.0, 2.0, allow_singular=True)


A = np.float32([[1, 2, 2, 0], [3, 2, 1, 0], [3, 3, 1, 5]])


@pytest.mark.parametrize("axis", [0, 1, None])
@pytest.mark.parametrize("keepdims", [True, False])
def test_mode_and_standard_error(axis, keepdims):
    ours = stats.mode(A, axis=axis, keepdims=keepdims)
    wanted = scipy.stats.mode(A, axis=axis, keepdims=keepdims)
    np.testing.assert_array_equal(ours.mode, wanted.mode)
    np.testing.assert_array_equal(ours.count, wanted.count)
    np.testing.assert_allclose(stats.sem(A, axis=axis, keepdims=keepdims),
                               scipy.stats.sem(A, axis=axis, keepdims=keepdims), rtol=1e-6)


@pytest.mark.parametrize("axis", [0, 1, None])
@pytest.mark.parametrize("method", ["average", "min", "max", "dense", "ordinal"])
def test_ranks(axis, method):
    wanted = scipy.stats.rankdata(A, method, axis=axis)
    np.testing.assert_array_equal(stats.rankdata(A, method, axis=axis), wanted)


@pytest.mark.skipif(find_spec("jitney.numpy.linalg") is None, reason="no linear algebra")
def test_kernel_density():
    data = np.random.default_rng(0).normal(size=(2, 20)).astype(np.float32)
    ours, theirs = stats.gaussian_kde(data), scipy.stats.gaussian_kde(data)
    np.testing.assert_allclose(ours.logpdf(data[:, :5]), theirs.logpdf(data[:, :5]), rtol=1e-4)
    np.testing.assert_allclose(jitney.jit(lambda k, x: k.pdf(x))(ours, data[:, :5]),
                               theirs.pdf(data[:, :5]), rtol=1e-4)
    ours, theirs = (s.gaussian_kde(data[0], "silverman") for s in (stats, scipy.stats))
    np.testing.assert_allclose(ours.integrate_box_1d(-1, 1), theirs.integrate_box_1d(-1, 1),
                               rtol=1e-4)
