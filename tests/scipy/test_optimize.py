"""`scipy.optimize.minimize`: minima, steps against SciPy's conditions, statuses, derivatives."""

import numpy as np
import pytest
import scipy.optimize

import jitney
from jitney import numpy as jnp
from jitney.scipy.optimize import OptimizeResults, minimize
from jitney.scipy.optimize.line_search import Point, line_search


@pytest.fixture
def double():
    with jitney.enable_x64(True):
        yield


def rosenbrock(x):
    return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def himmelblau(x):
    return (x[0] ** 2 + x[1] - 11) ** 2 + (x[0] + x[1] ** 2 - 7) ** 2


def matyas(x):
    return 0.26 * (x[0] ** 2 + x[1] ** 2) - 0.48 * x[0] * x[1]


STARTS = [(rosenbrock, [-1.2, 1.0]), (rosenbrock, [1.3, 0.7, 0.8, 1.9, 1.2]),
          (himmelblau, [1.0, 1.0])]


@pytest.mark.parametrize("fun, x0", STARTS)
def test_minima(fun, x0, double):
    found = minimize(fun, np.array(x0), method="BFGS")
    wanted = scipy.optimize.minimize(lambda x: float(fun(x)), x0, method="BFGS",
                                     jac=lambda x: np.asarray(jitney.grad(fun)(x)))
    assert isinstance(found, OptimizeResults) and found.success and found.status == 0
    np.testing.assert_allclose(found.x, wanted.x, atol=1e-4)
    np.testing.assert_allclose(found.fun, fun(found.x))
    np.testing.assert_allclose(found.jac, jitney.grad(fun)(found.x), atol=1e-10)
    assert np.abs(found.jac).max() < 1e-5 and found.nfev == found.njev
    assert found.nfev <= 2 * wanted.nfev
    assert (np.linalg.eigvalsh(found.hess_inv) > 0).all()


@pytest.mark.parametrize("fun, x0", STARTS[1:])
def test_single_precision(fun, x0):
    found = minimize(fun, np.float32(x0), method="BFGS")
    assert found.x.dtype == found.fun.dtype == found.hess_inv.dtype == jnp.float32
    assert found.status.dtype == jnp.int32 and found.success.dtype == bool
    best = minimize(fun, np.float32(x0), method="bfgs", tol=0.0)
    np.testing.assert_allclose(found.fun, best.fun, atol=1e-6)


def test_steps_meet_wolfes_conditions(double):
    rng = np.random.default_rng(0)
    for _ in range(10):
        x = rng.normal(size=4)
        function = jitney.value_and_grad(rosenbrock)
        value, gradient = function(x)
        direction = -gradient * 10.0 ** rng.uniform(-4, 1)
        slope = float(gradient @ direction)
        start = Point(0.0, value, jnp.asarray(slope), gradient)
        found = line_search(function, x, direction, start, 1.0, 30)
        assert found.good
        after, steep = function(x + found.point.step * direction)
        assert after <= value + 1e-4 * found.point.step * slope
        assert abs(steep @ direction) <= 0.9 * abs(slope)
        np.testing.assert_allclose(found.point.value, after)


def test_limits(double):
    x0 = np.array([-1.2, 1.0])
    for steps in (0, 1, 3):
        found = minimize(rosenbrock, x0, method="BFGS", options={"maxiter": steps})
        assert found.nit == steps and found.status == 1 and not found.success
    assert minimize(matyas, np.zeros(2), method="BFGS").nit == 0
    endless = minimize(jnp.sum, x0, method="BFGS")
    assert endless.status == 5 and not endless.success and endless.fun < -100
    assert minimize(rosenbrock, x0, method="BFGS", tol=1e-1).nit \
        < minimize(rosenbrock, x0, method="BFGS").nit
    by_norm = minimize(rosenbrock, x0, method="BFGS", tol=1e-1, options={"norm": 2})
    assert np.linalg.norm(by_norm.jac) < 1e-1
    assert not minimize(lambda x: jnp.sum(jnp.log(x)), -x0[:1], method="BFGS").success
    assert minimize(jnp.sum, np.zeros(0), method="BFGS").success


def test_transformed(double):
    def at(shift):
        def fun(x, shift):
            return jnp.sum((x - shift) ** 2 * jnp.array([1.0, 3.0]) + 0.1 * (x - 1) ** 4)
        return minimize(fun, np.array([-1.2, 1.0]), (shift,), method="BFGS", tol=1e-9).x

    many = jitney.vmap(at)(np.array([1.501, 1.499]))
    np.testing.assert_allclose(many[0], jitney.jit(at)(1.501), atol=1e-8)
    slope = (many[0] - many[1]) / 0.002
    np.testing.assert_allclose(jitney.jvp(at, (1.5,), (1.0,))[1], slope, rtol=1e-3)
    np.testing.assert_allclose(jitney.grad(lambda s: at(s).sum())(1.5), slope.sum(), rtol=1e-3)


@pytest.mark.parametrize("x0, options, error, text", [
    (np.ones(2), {"method": "Newton-CG"}, ValueError, "not recognized"),
    (np.ones(2), {"method": "BFGS", "args": 3}, TypeError, "must be a tuple"),
    (np.ones(2), {"method": "BFGS", "options": {"foo": 1}}, TypeError, "foo"),
    (np.ones(2, int), {"method": "BFGS"}, TypeError, "real floating dtype, .* got int32"),
    (np.ones(2, complex), {"method": "BFGS"}, TypeError, "got complex64"),
    (np.ones((2, 2)), {"method": "BFGS"}, TypeError, "must be a vector"),
    ([1.0, 2.0], {"method": "BFGS"}, TypeError, "list"),
])
def test_errors(x0, options, error, text):
    with pytest.raises(error, match=text):
        minimize(rosenbrock, x0, **options)


def test_functions_give_numbers():
    with pytest.raises(TypeError, match="scalar-output"):
        minimize(lambda x: x**2, np.ones(2), method="BFGS")
    with pytest.raises(TypeError, match="method"):
        minimize(rosenbrock, np.ones(2))
