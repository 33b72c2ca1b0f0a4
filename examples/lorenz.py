"""A million trajectories of the Lorenz system, by `vmap` of a `scan`.

    python examples/lorenz.py [--quick] [--output lorenz.png]

Every trajectory starts at a slightly different point near (1, 1, 1) and is followed with the
classical Runge-Kutta method. Out: a picture of where all of them are at four times: a point cloud
that is stretched and folded until it covers the attractor.
"""

import argparse
import functools
import time
from pathlib import Path

import numpy as np

import jitney
import jitney.numpy as jnp
from jitney import lax

SIGMA, RHO, BETA = 10.0, 28.0, 8.0 / 3.0
STEP = 0.01
SHOWN = (8.0, 12.0, 16.0, 30.0)       # times of the pictures


def slope(state):
    """dx/dt of the Lorenz equations (1963); state is (x, y, z)."""
    x, y, z = state
    return SIGMA * (y - x), x * (RHO - z) - y, x * y - BETA * z


def moved(state, direction, step):
    return tuple(s + step * d for s, d in zip(state, direction))


def runge_kutta(state, step):
    """One step of the classical method of order four."""
    k1 = slope(state)
    k2 = slope(moved(state, k1, step / 2))
    k3 = slope(moved(state, k2, step / 2))
    k4 = slope(moved(state, k3, step))
    mean = tuple((a + 2 * b + 2 * c + d) / 6 for a, b, c, d in zip(k1, k2, k3, k4))
    return moved(state, mean, step)


def trajectory_end(start, steps):
    """Where a point (3,) is after so many steps."""
    end, _ = lax.scan(lambda state, _: (runge_kutta(state, STEP), None),
                      (start[0], start[1], start[2]), length=steps)
    return jnp.stack(end)


@functools.partial(jitney.jit, static_argnames="steps")
def all_ends(starts, steps):
    """`trajectory_end` of every row of (n, 3)."""
    return jitney.vmap(lambda start: trajectory_end(start, steps))(starts)


def clouds(count, seed=0):
    """The points (count, 3) at each of the times shown, and the seconds it took."""
    key = jitney.random.key(seed)
    points = 1.0 + 0.1 * jitney.random.normal(key, (count, 3))
    found, done, began = [], 0.0, time.perf_counter()
    for until in SHOWN:
        points = all_ends(points, round((until - done) / STEP))
        found.append(np.asarray(points))
        done = until
    return found, time.perf_counter() - began


def draw(found, path):
    """Densities of the points in the x-z plane."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.colors import LogNorm

    figure, axes = pyplot.subplots(2, 2, figsize=(8, 8), layout="constrained", sharex=True,
                                   sharey=True)
    figure.suptitle(f"{len(found[0]):,} trajectories of the Lorenz system")
    edges = np.linspace(-25, 25, 301), np.linspace(0, 52, 301)
    for ax, points, t in zip(axes.flat, found, SHOWN):
        density, _, _ = np.histogram2d(points[:, 0], points[:, 2], bins=edges)
        ax.set_facecolor("black")
        ax.pcolormesh(*edges, np.ma.masked_equal(density.T, 0), norm=LogNorm(), cmap="inferno")
        ax.set(title=f"t = {t:g}")
    for ax in axes[1]:
        ax.set_xlabel("x")
    for ax in axes[:, 0]:
        ax.set_ylabel("z")
    figure.savefig(path, dpi=110)


def main(arguments=None):
    """Computes and draws; returns the points at the last time."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--quick", action="store_true", help="twenty thousand trajectories only")
    parser.add_argument("--output", type=Path, default=Path("lorenz.png"))
    options = parser.parse_args(arguments)
    count = 20_000 if options.quick else options.count
    found, seconds = clouds(count)
    steps = count * round(SHOWN[-1] / STEP)
    draw(found, options.output)
    print(f"{count:,} trajectories, {steps:,} steps in {seconds:.1f} s "
          f"({seconds / steps * 1e9:.2f} ns a step), picture {options.output}")
    return found[-1]


if __name__ == "__main__":
    main()
