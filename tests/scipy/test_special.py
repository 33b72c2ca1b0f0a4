"""Special functions against SciPy, in both precisions."""

import numpy as np
import pytest
import scipy.special

import jitney
from jitney import numpy as jnp
from jitney.scipy import special

REAL = [-30.0, -9.5, -5.0, -2.5, -1.0, -0.3, -1e-3, 0.0, 1e-3, 0.2, 0.5, 0.9, 1.0, 1.5, 2.0, 3.0,
        4.5, 8.0, 20.0, 60.0]
POSITIVE = [x for x in REAL if x > 0]
UNIT = [0.0, 1e-20, 1e-5, 0.01, 0.13, 0.3, 0.5, 0.7, 0.86, 0.9, 0.99, 1.0]
PAIRS = [(a, b) for a in POSITIVE[::2] for b in POSITIVE[1:-1:2]]

# name -> (points, relative tolerance in epsilons of float32, of float64)
ONE = {
    "erf": (REAL, 4, 4), "erfc": (REAL, 8, 400), "erfinv": (UNIT, 8, 50), "ndtr": (REAL, 90, 400),
    "log_ndtr": (REAL, 60, 9e5), "ndtri": (UNIT, 8, 20), "erfcx": (REAL, 200, 600),
    "dawsn": (REAL, 8, 30), "expit": (REAL, 8, 8), "logit": (UNIT, 8, 8), "entr": (REAL, 8, 8),
    "exp1": (POSITIVE, 60, 60), "expi": (REAL, 60, 60), "spence": (POSITIVE, 20, 20),
    "i0": (REAL, 40, 40), "i0e": (REAL, 20, 20), "i1": (REAL, 40, 40), "i1e": (REAL, 20, 20),
    "gammaln": (POSITIVE, 30, 30), "digamma": (POSITIVE, 20, 20),
}
TWO = {
    "betaln": 60, "xlogy": 8, "xlog1py": 8, "kl_div": 100, "rel_entr": 60, "boxcox": 60,
    "boxcox1p": 60, "owens_t": 300, "gammainc": 3000, "gammaincc": 30000,
}


def compare(ours, wanted, dtype, epsilons):
    assert ours.dtype == dtype
    tolerance = epsilons * np.finfo(dtype).eps
    np.testing.assert_allclose(ours, wanted, rtol=tolerance, atol=tolerance)


@pytest.fixture(params=[np.float32, np.float64])
def dtype(request):
    with jitney.enable_x64(request.param == np.float64):
        yield request.param


@pytest.mark.parametrize("name", ONE)
def test_functions_of_one_number(name, dtype):
    points, single, double = ONE[name]
    x = np.array(points, dtype)
    with np.errstate(all="ignore"):
        wanted = getattr(scipy.special, name)(x.astype(np.float64)).astype(dtype)
    compare(getattr(special, name)(x), wanted, dtype, single if dtype == np.float32 else double)


@pytest.mark.parametrize("name", TWO)
def test_functions_of_two_numbers(name, dtype):
    x, y = np.array(PAIRS, dtype).T
    wanted = getattr(scipy.special, name)(x.astype(np.float64), y.astype(np.float64))
    compare(getattr(special, name)(x, y), wanted.astype(dtype), dtype, TWO[name])


def test_integrals_in_pairs(dtype):
    x = np.array([-8, -3, -0.4, 0.1, 1, 1.7, 4, 4.5, 9, 30], dtype)
    for ours, wanted in zip(special.fresnel(x), scipy.special.fresnel(x.astype(np.float64))):
        compare(ours, wanted.astype(dtype), dtype, 60)
    with np.errstate(all="ignore"):
        wanted = scipy.special.sici(np.abs(x).astype(np.float64))
    for ours, w in zip(special.sici(np.abs(x)), wanted):
        compare(ours, w.astype(dtype), dtype, 60)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 10, 60])
def test_expn(n, dtype):
    x = np.array([1e-3, 0.1, 0.5, 1.0, 1.1, 2.0, 10.0, 50.0], dtype)
    wanted = scipy.special.expn(n, x.astype(np.float64)).astype(dtype)
    compare(special.expn(n, x), wanted, dtype, 60)
    assert special.expn(3, dtype(0)) == dtype(0.5)


def test_gamma_functions():
    x = np.float32([0.0, -0.0, -1.0, -1.5, 5.0, 0.5, np.inf, np.nan])
    np.testing.assert_allclose(special.gamma(x), [np.inf, -np.inf, np.nan, 2.3632718, 24.0,
                                                  1.7724539, np.inf, np.nan], rtol=2e-6)
    np.testing.assert_array_equal(special.gammasgn(x), [1, -1, np.nan, 1, 1, 1, 1, np.nan])
    np.testing.assert_allclose(special.beta(2.0, 3.0), 1 / 12, rtol=1e-6)
    np.testing.assert_allclose(special.betainc(2.0, 3.0, np.float32([0.0, 0.3, 1.0])),
                               [0.0, 0.3483, 1.0], rtol=1e-5)
    np.testing.assert_allclose(special.multigammaln(5.0, 3), 9.140650, rtol=1e-6)
    np.testing.assert_allclose(special.polygamma(np.arange(4), 2.5),
                               [0.7031566, 0.4903577, -0.2362041, 0.2239058], rtol=2e-6)
    np.testing.assert_allclose(special.factorial(np.float32([-1, 0, 3, 5])), [0, 1, 6, 120],
                               rtol=2e-6)
    np.testing.assert_allclose(special.comb(np.float32([5, 10, 3]), np.float32([2, 3, 5])),
                               [10, 120, 0], rtol=5e-6)
    np.testing.assert_allclose(special.comb(5, 2, repetition=True), 15, rtol=5e-6)
    np.testing.assert_allclose(special.poch(2.5, 3.0), 39.375, rtol=2e-6)
    np.testing.assert_allclose(special.zeta(2.0, 1.0), np.pi**2 / 6, rtol=1e-6)


def test_functions_of_complex_numbers():
    z = np.complex64([1 + 1j, 0.3 - 2j, -1.5 + 0.5j, 10 + 3j, -7.2 - 0.1j])
    np.testing.assert_allclose(special.loggamma(z), scipy.special.loggamma(z), rtol=5e-6)
    np.testing.assert_allclose(special.wofz(z), scipy.special.wofz(z), rtol=2e-5)
    assert np.isnan(special.loggamma(-1.5))


def test_bernoulli_numbers():
    np.testing.assert_allclose(special.bernoulli(20), scipy.special.bernoulli(20), rtol=1e-6)
    assert special.bernoulli(0).tolist() == [1.0]


def test_bessel_functions_of_integer_order():
    z = np.float32([0.0, 0.5, 2.5, 5.0, 10.0])
    wanted = np.stack([scipy.special.jv(v, z) for v in range(4)])
    np.testing.assert_allclose(special.bessel_jn(z, v=3), wanted, rtol=1e-4, atol=1e-6)


def test_hypergeometric_functions():
    a, b, x = np.float32([1, 0.5, 0, 2, -2]), np.float32([2, 1.5, 1, 2, 3]), np.float32(
        [0.5, 10, 3, 30, 1])
    np.testing.assert_allclose(special.hyp1f1(a, b, x), scipy.special.hyp1f1(a, b, x), rtol=1e-5)
    c, y = np.float32([0.5, 10, 3, 1.5, 1]), np.float32([0.5, 0.1, 0.3, -0.7, 0.9])
    np.testing.assert_allclose(special.hyp2f1(a, b, c, y), scipy.special.hyp2f1(a, b, c, y),
                               rtol=1e-5)


def test_spherical_harmonics():
    n, m = np.array([2, 3, 1]), np.array([-1, 0, 1])
    theta, phi = np.float32([0.3, 0.4, 1.0]), np.float32([0.7, 0.1, -2.0])
    np.testing.assert_allclose(special.sph_harm_y(n, m, theta, phi),
                               scipy.special.sph_harm_y(n, m, theta, phi), rtol=5e-6)


@pytest.mark.skipif(not hasattr(jitney, "grad"), reason="no derivatives")
@pytest.mark.parametrize("function, at", [
    (special.logit, 0.3), (special.log_ndtr, -3.0), (special.entr, 0.4), (special.expi, 1.5),
    (special.ndtr, 0.5), (special.ndtri, 0.3), (special.dawsn, 1.0), (special.erfcx, 0.5),
    (special.gammaln, 1.5), (lambda x: special.expn(3, x), 1.5),
    (lambda x: special.sici(x)[1], 1.5), (lambda x: special.fresnel(x)[0], 1.5),
    (lambda x: special.xlogy(x, 2 * x), 0.7), (lambda x: special.owens_t(x, 2.0), 0.4),
    (lambda x: special.poch(x, 2.5), 1.5), (lambda x: special.rel_entr(x, 2.0), 1.5)])
def test_derivatives(function, at):
    with jitney.enable_x64(True):
        step = 1e-5
        slope = (function(at + step) - function(at - step)) / (2 * step)
        np.testing.assert_allclose(jitney.grad(function)(at), slope, rtol=1e-7)


@pytest.mark.parametrize("make, error", [
    (lambda: special.polygamma(1.5, 2.0), ValueError),
    (lambda: special.zeta(2.0), NotImplementedError),
    (lambda: special.factorial(3, exact=True), NotImplementedError),
    (lambda: special.ndtr(1), TypeError), (lambda: special.digamma([1.0]), TypeError),
    (lambda: special.sici(1j), ValueError), (lambda: special.bernoulli(-1), ValueError),
    (lambda: special.log_ndtr(1.0, series_order=31), ValueError),
])
def test_what_is_refused(make, error):
    with pytest.raises(error):
        make()


def test_a_function_is_one_program():
    x = jnp.linspace(0.1, 3.0, 50)
    for name in ("ndtri", "expi", "spence", "dawsn", "betaln"):
        f = getattr(special, name)
        args = (x, x) if name == "betaln" else (x,)
        np.testing.assert_allclose(jitney.jit(lambda *a, f=f: f(*a))(*args), f(*args), rtol=1e-6)


@pytest.mark.parametrize("a", [0.01, 0.3, 1.0, 7.5, 90.0, 2500.0, 4e5, 1e7])
def test_samples_of_the_gamma_distribution_move_with_its_shape(a):
    """As quantiles do; of large shapes the density underflows, not its quotient."""
    share = np.array([0.02, 0.3, 0.5, 0.9, 0.999])
    step = 1e-5 * a
    ends = [scipy.special.gammaincinv(a + s, share) for s in (-step, step)]
    with jitney.enable_x64(True):
        x = scipy.special.gammaincinv(a, share)
        found = jitney.jit(jitney.lax.random_gamma_grad)(np.full_like(x, a), x)
        np.testing.assert_allclose(found, (ends[1] - ends[0]) / (2 * step), rtol=2e-4)


def test_zeta_and_polygamma_from_end_to_end():
    with jitney.enable_x64(True):
        s, q = np.meshgrid([1.0001, 1.5, 2, 3, 7, 20.5, 40, 150], [1e-3, 0.4, 1, 2.5, 9, 30, 1e6])
        np.testing.assert_allclose(
            jitney.jit(jitney.lax.zeta)(s, q), scipy.special.zeta(s, q), rtol=1e-13
        )
        m, x = np.meshgrid(np.arange(12.0), [1e-3, 0.4, 1, 2.5, 9, 30, 1e6])
        np.testing.assert_allclose(
            jitney.jit(jitney.lax.polygamma)(m, x),
            scipy.special.polygamma(m.astype(int), x), rtol=1e-12, atol=1e-300,
        )  # fmt: skip
