"""Functions of this package under grad and vmap: against differences, and against a Python loop."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp

grad, vmap = getattr(jitney, "grad", None), getattr(jitney, "vmap", None)
RNG = np.random.RandomState(3)
X = RNG.randn(3, 4).astype("float32")
G = RNG.randn(3, 4).astype("float32")

SMOOTH = {
    "sinc": lambda x: jnp.sinc(x), "hypot": lambda x: jnp.hypot(x, G),
    "logaddexp": lambda x: jnp.logaddexp(x, G), "logaddexp2": lambda x: jnp.logaddexp2(x, G),
    "remainder": lambda x: jnp.remainder(x, 1.7), "power": lambda x: jnp.abs(x) ** 1.5,
    "cube": lambda x: x**3, "where": lambda x: jnp.where(x > 0, x * x, x),
    "clip": lambda x: jnp.clip(x, -0.5, 0.5) * G, "cumsum": lambda x: jnp.cumsum(x, axis=1) * G,
    "cumprod": lambda x: jnp.cumprod(x, axis=1) * G, "var": lambda x: jnp.var(x, axis=0),
    "std": lambda x: jnp.std(x, axis=1), "mean": lambda x: jnp.mean(x, where=G > 0),
    "max": lambda x: jnp.max(x, axis=0), "prod": lambda x: jnp.prod(x, axis=1),
    "median": lambda x: jnp.median(x, axis=1), "quantile": lambda x: jnp.quantile(x, 0.3),
    "sort": lambda x: jnp.sort(x) * G, "index": lambda x: x[1] * G[0],
    "set": lambda x: x.at[1].set(G[0]) * G, "add": lambda x: x.at[0].add(2 * x[1]) * G,
    "matmul": lambda x: x @ G.T, "einsum": lambda x: jnp.einsum("ij,kj,k->i", x, x, G[:, 0]),
    "kron": lambda x: jnp.kron(x, G), "trace": lambda x: jnp.trace(x),
    "tril": lambda x: jnp.tril(x) * G,
    "reflect": lambda x: jnp.pad(x, 2, mode="reflect") ** 2, "roll": lambda x: jnp.roll(x, 1) * G,
    "concatenate": lambda x: jnp.concatenate([x, G * x]) ** 2,
    "stack": lambda x: jnp.stack([x, x]) ** 2,
    "gradient": lambda x: jnp.gradient(x)[0] ** 2,
    "convolve": lambda x: jnp.convolve(x[0], G[0]) ** 2,
    "cov": lambda x: jnp.cov(x), "linspace": lambda x: jnp.linspace(x, 2.0, 5) ** 2,
    "i0": lambda x: jnp.i0(x), "fortran": lambda x: x.reshape((4, 3), order="F") * G.T,
}


@pytest.mark.skipif(grad is None, reason="grad is not in this build")
@pytest.mark.parametrize("name", list(SMOOTH))
def test_gradient_against_differences(name):
    def loss(x):
        return jnp.sum(SMOOTH[name](x))

    slope = np.asarray(grad(loss)(jnp.asarray(X)), "float64")
    direction = RNG.randn(3, 4)
    step = 1e-2
    ahead, behind = (float(loss(jnp.asarray((X + s * step * direction).astype("float32"))))
                     for s in (1, -1))
    measured = (ahead - behind) / (2 * step)
    found = float((slope * direction).sum())
    kinked = name in ("clip", "max", "median", "quantile", "sort", "where")
    tolerance = 0.3 if kinked else 0.03
    assert abs(found - measured) <= tolerance * (1 + abs(measured) + np.abs(slope).max())


@pytest.mark.skipif(grad is None, reason="grad is not in this build")
def test_derivatives_at_singular_points():
    assert float(grad(jnp.sinc)(0.0)) == 0
    assert np.isfinite(float(grad(lambda x: jnp.logaddexp(x, -jnp.inf))(1.0)))
    def root(x):
        return jnp.where(x > 0, jnp.sqrt(jnp.where(x > 0, x, 1.0)), 0.0)

    assert float(grad(root)(0.0)) == 0


MAPPED = {
    "sort": jnp.sort, "argsort": jnp.argsort, "cumsum": jnp.cumsum, "max": lambda x: x.max(axis=0),
    "index": lambda x: x[1], "set": lambda x: x.at[0].set(1.0), "take": lambda x: jnp.take(x, 2),
    "where": lambda x: jnp.where(x > 0, x, 0), "matmul": lambda x: x @ x.T,
    "median": lambda x: jnp.median(x, axis=0), "nonzero": lambda x: jnp.nonzero(x > 0, size=5),
    "unique": lambda x: jnp.unique(jnp.round(x), size=4), "roll": lambda x: jnp.roll(x, 2),
    "pad": lambda x: jnp.pad(x, 1), "diag": lambda x: jnp.diag(x[:, 0]),
    "kron": lambda x: jnp.kron(x, x),
    "std": lambda x: jnp.std(x), "lexsort": lambda x: jnp.lexsort((x, -x)),
    "searchsorted": lambda x: jnp.searchsorted(jnp.arange(4.0), x),
    "partition": lambda x: jnp.partition(x, 1), "bincount": lambda x: jnp.bincount(
        jnp.abs(x).astype(int).ravel(), length=3),
}


@pytest.mark.skipif(vmap is None, reason="vmap is not in this build")
@pytest.mark.parametrize("name", list(MAPPED))
def test_vmap_against_a_loop(name):
    batch = jnp.stack([jnp.asarray(X), jnp.asarray(G)])
    found = vmap(MAPPED[name])(batch)
    wanted = [MAPPED[name](row) for row in (jnp.asarray(X), jnp.asarray(G))]
    if isinstance(found, tuple):
        wanted = tuple(zip(*wanted))
    else:
        found, wanted = (found,), (wanted,)
    for f, w in zip(found, wanted):
        np.testing.assert_allclose(np.asarray(f), np.stack([np.asarray(x) for x in w]), rtol=1e-5,
                                   atol=1e-6)
