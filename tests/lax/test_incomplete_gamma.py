"""P(a, x) and Q(a, x) against numbers of 50 digits and SciPy's, about borders between series."""

import warnings

import numpy as np
import pytest
import scipy.special

import jitney as jax
import jitney.numpy as jnp
from jitney import _native

# (a, x, P, Q), computed by mpmath 1.3 with 50 digits (mpmath.gammainc, regularized)
EXACT = (
    (1e-10, 1e-12, 0.99999999729461946, 2.7053805414514844e-9),
    (1e-10, 0.5, 0.99999999994402264, 5.5977359480549881e-11),
    (0.001, 1.09, 0.99981074823879725, 0.00018925176120275282),
    (0.3, 0.2, 0.65750672426972174, 0.34249327573027826),
    (0.5, 0.5, 0.6826894921370859, 0.3173105078629141),
    (0.5, 0.6, 0.72667832170770185, 0.27332167829229815),
    (0.9, 1.05, 0.69214101206478297, 0.30785898793521703),
    (0.9, 1.2, 0.73723128207466199, 0.26276871792533801),
    (1.0, 1.0, 0.63212055882855768, 0.36787944117144232),
    (1.5, 2.4, 0.81295825109509234, 0.18704174890490766),
    (1.5, 2.6, 0.84227554960333712, 0.15772445039666288),
    (3.0, 40.0, 0.99999999999999643, 3.5728659287002263e-15),
    (9.5, 2.0, 0.00010634036562701505, 0.99989365963437298),
    (9.99, 11.5, 0.71227468159917601, 0.28772531840082399),
    (10.0, 11.5, 0.71120546045132874, 0.28879453954867126),
    (10.0, 740.0, 1.0, 7.7752235526249612e-302),
    (2.5, 750.0, 1.0, 2.9441678569072373e-322),
    (50.0, 20.0, 1.2458926079719379e-8, 0.99999998754107392),
    (100.0, 161.0, 0.99999990260837421, 9.7391625785895156e-8),
    (150.0, 151.5, 0.55932849049771844, 0.44067150950228156),
    (199.9, 199.0, 0.48398138743735129, 0.51601861256264871),
    (200.0, 199.0, 0.48115858808787206, 0.51884141191212794),
    (200.0, 141.0, 1.6815829222044984e-6, 0.9999983184170778),
    (200.0, 139.0, 6.9199965088754597e-7, 0.99999930800034911),
    (200.0, 259.0, 0.9999393479925813, 6.0652007418701012e-5),
    (200.0, 261.0, 0.99996290198836851, 3.7098011631493214e-5),
    (250.0, 400.0, 0.99999999999999968, 3.1770076592385689e-16),
    (1000.0, 800.0, 5.5014197761792281e-12, 0.99999999999449858),
    (1000.0, 1200.0, 0.99999999871183939, 1.2881606086281433e-9),
    (12345.0, 12000.0, 0.00086962446713733356, 0.99913037553286267),
    (1000000.0, 1003000.0, 0.99863825935378241, 0.0013617406462175915),
)


def _both(a, x, dtype=np.float64):
    a, x = (np.asarray(v).astype(dtype) for v in (a, x))
    special = jax.scipy.special
    return (np.asarray(jax.jit(f)(a, x)) for f in (special.gammainc, special.gammaincc))


@pytest.fixture(autouse=True)
def wide():
    with jax.enable_x64(True):
        yield


def test_exact_numbers():
    a, x, lower, upper = np.array(EXACT).T
    p, q = _both(a, x)
    np.testing.assert_allclose(p, lower, rtol=1e-13, atol=1e-300)
    np.testing.assert_allclose(q, upper, rtol=1e-13, atol=1e-300)
    p, q = _both(a, x, np.float32)
    a, x = a.astype("f4").astype("f8"), x.astype("f4").astype("f8")
    np.testing.assert_allclose(p, scipy.special.gammainc(a, x), rtol=1.2e-7, atol=1e-37)
    np.testing.assert_allclose(q, scipy.special.gammaincc(a, x), rtol=1.2e-7, atol=1e-37)


@pytest.mark.parametrize("low, high", [(-12, 0), (-2, 1.5), (1.5, 3), (3, 4)])
def test_as_scipy(low, high):
    """SciPy's own error is 1e-12 about a = 1000, and grows from there: its series stop early."""
    rng = np.random.default_rng(0)
    a = 10 ** rng.uniform(low, high, 4000)
    for x in (a * rng.uniform(0.5, 1.6, a.size), a + np.sqrt(a) * rng.uniform(-3, 6, a.size),
              rng.uniform(0, 2, a.size), rng.uniform(0, 300, a.size)):  # fmt: skip
        x = np.abs(x)
        p, q = _both(a, x)
        np.testing.assert_allclose(p, scipy.special.gammainc(a, x), rtol=2e-11, atol=1e-12)
        np.testing.assert_allclose(q, scipy.special.gammaincc(a, x), rtol=2e-11, atol=1e-12)
        np.testing.assert_allclose(p + q, 1, rtol=3e-15)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_ends(dtype):
    """Zero, infinity, negative numbers and NaN, as SciPy has them."""
    values = [0.0, -0.0, 1.0, 0.5, 300.0, -1.0, np.inf, -np.inf, np.nan]
    a, x = (v.ravel() for v in np.meshgrid(values, values))
    p, q = _both(a, x, dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want = scipy.special.gammainc(a, x), scipy.special.gammaincc(a, x)
    tolerance = {"rtol": 2e-3 if dtype == np.float16 else 1e-6, "atol": 1e-7}
    np.testing.assert_allclose(p.astype("f8"), want[0], **tolerance)
    np.testing.assert_allclose(q.astype("f8"), want[1], **tolerance)
    assert p.dtype == q.dtype == dtype


def test_the_greatest_and_least_numbers():
    for a, x, lower in (
        (1e300, 1e300, 0.5), (1e-300, 1e-300, 1.0), (5e-324, 1.0, 1.0), (1.0, 1e308, 1.0),
        (1e10, 1e10, 0.5000013298076014), (1e308, 1.0, 0.0), (10.5, 1e308, 1.0), (1e5, 1e300, 1.0),
    ):  # fmt: skip
        p, q = _both([a], [x])
        np.testing.assert_allclose((p[0], q[0]), (lower, 1 - lower), rtol=1e-12, atol=1e-290)


def test_equal_bits_by_any_threads():
    rng = np.random.default_rng(1)
    a, x = rng.uniform(0.1, 300, 20_001), rng.uniform(0, 400, 20_001)
    found = []
    for threads in (1, 2, 3):
        _native.set_num_threads(threads)
        try:
            found.append([v.tobytes() for v in _both(a, x)])
        finally:
            _native.set_num_threads(0)
    assert found[0] == found[1] == found[2]


def test_scalars_broadcast_and_empty_arrays():
    out = jnp.asarray(jax.jit(jax.scipy.special.gammaincc)(1.5, jnp.ones((3, 4))))
    np.testing.assert_allclose(out, np.full((3, 4), scipy.special.gammaincc(1.5, 1.0)), rtol=1e-13)
    assert jax.jit(jax.scipy.special.gammainc)(jnp.ones((0, 2)), 1.0).shape == (0, 2)
