"""Fits the parameters of a damped pendulum through an adaptive solver, by reverse mode.

    python examples/pendulum.py [--quick] [--output pendulum.png]

The solver is Bogacki and Shampine's pair of orders 3 and 2 with step-size control: a `while_loop`
whose number of steps depends on the data. The gradient goes backwards through it. From noisy
angles the fit finds length, friction and starting angle; out: their values, and a picture of the
data, the fit, and the way there.
"""

import argparse
from pathlib import Path

import numpy as np

import jitney
import jitney.numpy as jnp
from jitney import lax

TRUE = {"length": 1.3, "friction": 0.25, "angle": 1.2}
GUESS = {"length": 1.0, "friction": 0.1, "angle": 1.0}
GRAVITY = 9.81


def slope(state, parameters):
    """d(angle, speed)/dt."""
    angle, speed = state
    return jnp.stack([speed, -GRAVITY / parameters["length"] * jnp.sin(angle)
                      - parameters["friction"] * speed])


def step_of_order_three(state, parameters, first, h):
    """(state after h, slope there, error estimate): Bogacki and Shampine (1989)."""
    second = slope(state + h / 2 * first, parameters)
    third = slope(state + 3 * h / 4 * second, parameters)
    after = state + h * (2 * first + 3 * second + 4 * third) / 9
    last = slope(after, parameters)
    error = h * (-5 * first / 72 + second / 12 + third / 9 - last / 8)
    return after, last, error


def advanced(state, parameters, begin, end, tolerance):
    """The state at `end`, by as many steps as the tolerance asks for."""
    def unfinished(carry):
        return carry[0] < end

    def attempt(carry):
        t, state, first, h = carry
        h_here = jnp.minimum(h, end - t)
        after, last, error = step_of_order_three(state, parameters, first, h_here)
        size = jnp.sqrt(jnp.mean((error / (tolerance * (1.0 + jnp.abs(state)))) ** 2) + 1e-20)
        accepted = size <= 1.0
        # The choice of step sizes is no part of the solution: nothing is differentiated through it.
        factor = lax.stop_gradient(jnp.clip(0.9 * size ** (-1 / 3), 0.2, 5.0))
        # the last step ends at `end` itself, whatever rounding would make of t + h
        reached = jnp.where(h >= end - t, end, t + h_here)
        return (jnp.where(accepted, reached, t), jnp.where(accepted, after, state),
                jnp.where(accepted, last, first), h_here * factor)

    start = (begin, state, slope(state, parameters), lax.stop_gradient((end - begin) / 2))
    return lax.while_loop(unfinished, attempt, start)[1]


def angles(parameters, times, tolerance=1e-5):
    """The pendulum's angle at each of the times, released at rest at time 0."""
    def to_next(carry, until):
        state, since = carry
        state = advanced(state, parameters, since, until, tolerance)
        return (state, until), state[0]

    start = jnp.stack([parameters["angle"], jnp.zeros_like(parameters["angle"])])
    return lax.scan(to_next, (start, jnp.zeros_like(times[0])), times)[1]


def loss_of(parameters, times, measured):
    """Mean squared distance to the measured angles."""
    return jnp.mean((angles(parameters, times) - measured) ** 2)


@jitney.jit
def descent_step(parameters, velocity, times, measured, rate=0.05, momentum=0.9):
    """Gradient descent with momentum: (parameters, velocity, loss)."""
    loss, gradient = jitney.value_and_grad(loss_of)(parameters, times, measured)
    velocity = jitney.tree.map(lambda v, g: momentum * v - rate * g, velocity, gradient)
    return jitney.tree.map(jnp.add, parameters, velocity), velocity, loss


def measurements(count=60, noise=0.03, seed=0):
    """(times, noisy angles) of the true pendulum."""
    times = np.linspace(0.1, 6.0, count)
    random = np.random.default_rng(seed)
    clean = np.asarray(angles(jitney.tree.map(jnp.asarray, TRUE), times))
    return times, clean + noise * random.standard_normal(count)


def fit(times, measured, steps):
    """(parameters, losses, all parameters on the way)."""
    parameters = jitney.tree.map(lambda x: jnp.asarray(x, times.dtype), GUESS)
    velocity = jitney.tree.map(jnp.zeros_like, parameters)
    losses, path = [], []
    for _ in range(steps):
        path.append({k: float(v) for k, v in parameters.items()})
        parameters, velocity, loss = descent_step(parameters, velocity, times, measured)
        losses.append(float(loss))
    return parameters, losses, path


def draw(parameters, losses, path, times, measured, output):
    """Data and fit; loss; parameters on the way."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (top, left, right) = pyplot.subplots(3, 1, figsize=(7, 9), layout="constrained")
    fine = np.linspace(0.01, 6.0, 300)
    top.plot(times, measured, ".", color="black", label="measured")
    guess = jitney.tree.map(jnp.asarray, GUESS)
    top.plot(fine, angles(guess, fine), ":", color="gray", label="first guess")
    top.plot(fine, angles(parameters, fine), color="tab:red", label="fit")
    top.set(xlabel="time / s", ylabel="angle", ylim=(-1.3, 1.7))
    top.legend(loc="upper center", ncols=3)
    left.semilogy(losses)
    left.set(xlabel="step", ylabel="mean squared error")
    for i, (name, value) in enumerate(TRUE.items()):
        right.plot([p[name] for p in path], color=f"C{i}", label=name)
        right.axhline(value, color=f"C{i}", linestyle=":")
    right.set(xlabel="step", ylabel="parameters (dotted: true)")
    right.legend()
    figure.savefig(output, dpi=110)


def main(arguments=None):
    """Fits, draws, and returns the parameters."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--quick", action="store_true", help="forty steps on fewer data only")
    parser.add_argument("--output", type=Path, default=Path("pendulum.png"))
    options = parser.parse_args(arguments)
    with jitney.enable_x64(True):
        times, measured = measurements(20 if options.quick else 60)
        parameters, losses, path = fit(times, measured, 40 if options.quick else options.steps)
        draw(parameters, losses, path, times, measured, options.output)
        found = {k: float(v) for k, v in parameters.items()}
    for name, value in found.items():
        print(f"{name:10} {value:8.4f}   true {TRUE[name]:6.2f}   first guess {GUESS[name]:6.2f}")
    print(f"loss {losses[0]:.5f} -> {losses[-1]:.5f}, picture {options.output}")
    return found, losses


if __name__ == "__main__":
    main()
