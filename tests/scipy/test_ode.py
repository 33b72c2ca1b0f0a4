"""`experimental.ode.odeint`: solutions against SciPy and formulas, derivatives, refusals."""

import numpy as np
import pytest
import scipy.integrate

import jitney
from jitney import numpy as jnp
from jitney.experimental import dopri5
from jitney.experimental.ode import odeint

TIMES = np.linspace(0.0, 2.0, 6)


@pytest.fixture
def double():
    with jitney.enable_x64(True):
        yield


def pendulum(y, t, length=1.0):
    return jnp.stack([y[1], -jnp.sin(y[0]) / length - 0.1 * t * y[1]])


def test_the_method_has_order_five():
    """Conditions of order for y' = 5 t^4 (quadrature), and the sums of every row."""
    weights, times = np.array(dopri5.STAGES[-1] + (0.0,)), np.array((0.0, *dopri5.TIMES))
    for power in range(5):
        np.testing.assert_allclose(weights @ times**power, 1 / (power + 1), rtol=1e-14)
    for time, row in zip(dopri5.TIMES, dopri5.STAGES, strict=True):
        np.testing.assert_allclose(sum(row), time, rtol=1e-13)
    assert abs(sum(dopri5.ERROR)) < 1e-15 and abs(sum(dopri5.DENSE)) < 1e-13


def test_a_pendulum(double):
    y0 = np.array([1.0, 0.5])
    ours = odeint(pendulum, y0, TIMES, 0.7)
    wanted = scipy.integrate.odeint(lambda y, t: np.asarray(pendulum(y, t, 0.7)), y0, TIMES,
                                    rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(ours, wanted, atol=2e-7)
    np.testing.assert_array_equal(ours[0], y0)
    coarse = odeint(pendulum, y0, TIMES, 0.7, rtol=1e-3, atol=1e-3)
    assert 1e-7 < np.abs(coarse - ours).max() < 1e-2
    short = odeint(pendulum, y0, TIMES, 0.7, rtol=1e-3, atol=1e-3, hmax=0.02)
    assert np.abs(short - ours).max() < 1e-6


def test_values_between_steps(double):
    """One long step holds many times: its polynomial has order 4."""
    times = np.linspace(0, 1, 50)
    ours = odeint(lambda y, t: -y, np.ones(1), times, rtol=1e-6, atol=1e-6)[:, 0]
    np.testing.assert_allclose(ours, np.exp(-times), rtol=1e-5)


@pytest.mark.parametrize("dtype, tolerance", [("float16", 1e-3), ("float32", 1e-5),
                                              ("complex64", 1e-5)])
def test_dtypes(dtype, tolerance):
    rate = 1j if dtype == "complex64" else 1.0
    ours = odeint(lambda y, t: rate * y, np.ones(3, dtype), TIMES.astype(np.float32))
    assert ours.dtype == dtype and ours.shape == (6, 3)
    np.testing.assert_allclose(ours[:, 1], np.exp(rate * TIMES), rtol=tolerance * 8)


def test_trees():
    def right_side(y, t, rate):
        return {"a": rate["r"] * y["a"], "b": jnp.cos(t)}

    start = {"a": np.ones((2, 1), np.float32), "b": 0.0}
    found = odeint(right_side, start, jnp.asarray(TIMES), {"r": -1.0})
    assert found["a"].shape == (6, 2, 1) and found["b"].shape == (6,)
    np.testing.assert_allclose(found["a"][:, 1, 0], np.exp(-TIMES), rtol=1e-5)
    np.testing.assert_allclose(found["b"], np.sin(TIMES), atol=1e-5)
    loose = odeint(lambda y, t: (-y[0], -y[1]), np.float32([1, 2]), jnp.asarray(TIMES))
    np.testing.assert_allclose(loose[:, 1], 2 * np.exp(-TIMES), rtol=1e-5)


def test_times(double):
    def solve(times):
        return odeint(lambda y, t: -y, np.ones(1), np.asarray(times))[:, 0]

    np.testing.assert_allclose(solve([0.0, 1, 1, 2]), np.exp([-0.0, -1, -1, -2]), rtol=1e-6)
    np.testing.assert_allclose(solve([2.0, 1, 0]), np.exp([0.0, 1, 2]), rtol=1e-6)
    np.testing.assert_array_equal(solve([3.0]), [1.0])
    empty = odeint(lambda y, t: -y, np.ones((0, 2)), TIMES)
    assert empty.shape == (6, 0, 2)


def test_what_is_not_reached_is_nan(double):
    def growing(y, t):
        return y**2  # 1 / (1 - t)

    found = odeint(growing, np.ones(()), np.array([0.0, 0.5, 1.5, 2.0]), mxstep=500)
    np.testing.assert_allclose(found[:2], [1.0, 2.0], rtol=1e-6)
    assert np.isnan(found[2:]).all()
    assert np.isnan(odeint(pendulum, np.ones(2), TIMES, mxstep=1)[1:]).all()
    assert np.isnan(odeint(lambda y, t: y * np.nan, np.ones(2), TIMES)[1:]).all()
    unordered = jitney.jit(lambda t: odeint(pendulum, jnp.ones(2), t))(np.array([0.0, 2, 1, 3]))
    assert np.isnan(unordered[2]).all() and not np.isnan(unordered[3]).any()


# --- derivatives ---------------------------------------------------------------------------------


def test_derivatives(double):
    """Against differences, by the state, the times, and an argument."""
    y0, length = np.array([1.0, 0.5]), np.array(0.7)
    weights = np.random.default_rng(0).normal(size=(6, 2))

    def loss(y0, times, length):
        return (weights * odeint(pendulum, y0, times, length, rtol=1e-11, atol=1e-11)).sum()

    loss = jitney.jit(loss)
    found = jitney.jit(jitney.grad(loss, (0, 1, 2)))(y0, TIMES, length)
    for k, given in enumerate((y0, TIMES, length)):
        for i in np.ndindex(given.shape):
            step = np.zeros(given.shape)
            step[i] = 1e-5
            ends = []
            for sign in (1, -1):
                arguments = [y0, TIMES, length]
                arguments[k] = given + sign * step
                ends.append(loss(*arguments))
            np.testing.assert_allclose(found[k][i], (ends[0] - ends[1]) / 2e-5, rtol=1e-5,
                                       atol=1e-7)


def test_derivatives_by_closures_trees_and_integers(double):
    def loss(rate):
        by_closure = odeint(lambda y, t, n: {"a": -rate * n * y["a"]}, {"a": np.ones(2)}, TIMES, 2)
        return by_closure["a"].sum()

    wanted = (-2 * TIMES * np.exp(-2 * 0.3 * TIMES)).sum() * 2
    np.testing.assert_allclose(jitney.grad(loss)(0.3), wanted, rtol=1e-6)
    by_tree = jitney.grad(lambda r: odeint(lambda y, t, r: -r["r"] * y, np.ones(1), TIMES, r).sum())
    np.testing.assert_allclose(by_tree({"r": 0.5})["r"], (-TIMES * np.exp(-0.5 * TIMES)).sum(),
                               rtol=1e-6)


def test_second_derivatives(double):
    """d²/dr² of exp(-r t)."""
    def loss(rate):
        return odeint(lambda y, t, r: -r * y, np.ones(1), TIMES, rate).sum()

    found = jitney.grad(jitney.grad(loss))(0.5)
    np.testing.assert_allclose(found, (TIMES**2 * np.exp(-0.5 * TIMES)).sum(), rtol=1e-5)


def test_complex_derivatives(double):
    def loss(z):
        return jnp.abs(odeint(lambda y, t: 1j * y * y, z, TIMES)).sum()

    z = np.array([1.0 + 0.1j])
    found = jitney.grad(loss)(z)[0]
    across = (loss(z + 1e-5) - loss(z - 1e-5)) / 2e-5
    along = (loss(z + 1e-5j) - loss(z - 1e-5j)) / 2e-5
    np.testing.assert_allclose(found, across - 1j * along, rtol=1e-5)


def test_vmap():
    starts = np.float32([[1, 0.5], [0.2, -1]])
    lengths = np.float32([0.7, 2.0])
    times = TIMES.astype(np.float32)
    found = jitney.vmap(lambda y, a: odeint(pendulum, y, times, a))(starts, lengths)
    for i in range(2):
        np.testing.assert_allclose(found[i], odeint(pendulum, starts[i], times, lengths[i]),
                                   atol=2e-5)


def test_no_forward_mode():
    with pytest.raises(TypeError, match="forward-mode"):
        jitney.jvp(lambda y: odeint(pendulum, y, jnp.asarray(TIMES)), (jnp.ones(2),),
                   (jnp.ones(2),))


@pytest.mark.parametrize("change, error, text", [
    ({"func": 3}, TypeError, "callable"),
    ({"y0": np.ones(2, int)}, TypeError, "floating or complex dtype, got int32"),
    ({"t": np.arange(3)}, TypeError, "array of floats"),
    ({"t": [0.0, 1.0]}, TypeError, "array of floats"),
    ({"t": np.ones((1, 2))}, ValueError, "vector"),
    ({"t": np.ones(0)}, ValueError, "at least one"),
    ({"t": np.array([0.0, 2.0, 1.0])}, ValueError, "ascending or descending"),
    ({"func": lambda y, t: y[:1]}, TypeError, "as many numbers as y0 has, 2, got 1"),
    ({"func": lambda y, t: 1j * y}, TypeError, "make y0 complex"),
    ({"rtol": "x"}, TypeError, "rtol must be a number"),
    ({"hmax": np.ones(2)}, TypeError, "hmax must be a number"),
])
def test_errors(change, error, text):
    given = {"func": pendulum, "y0": np.ones(2), "t": TIMES, **change}
    with pytest.raises(error, match=text):
        odeint(**given)


def test_arguments_are_arrays():
    with pytest.raises(TypeError, match="arrays or scalars"):
        odeint(pendulum, np.ones(2), TIMES, "long")
    with pytest.raises(TypeError, match="rtol must be a number known"):
        jitney.jit(lambda r: odeint(pendulum, np.ones(2), TIMES, rtol=r))(0.1)
