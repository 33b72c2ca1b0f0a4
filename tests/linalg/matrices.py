"""Test matrices and comparisons."""

import numpy as np

import jitney as jax
import jitney.numpy as jnp

DTYPES = ("float32", "float64", "complex64", "complex128")
TOLERANCE = {"float32": 3e-4, "complex64": 3e-4, "float64": 1e-10, "complex128": 1e-10}


def random(shape, dtype="float64", seed=0):
    rng = np.random.default_rng([seed, *shape])
    values = rng.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.normal(size=shape)
    return values.astype(dtype)


def adjoint(x):
    return np.swapaxes(np.asarray(x).conj(), -1, -2)


def positive(shape, dtype="float64", seed=0):
    a = random(shape, dtype, seed)
    n = shape[-1]
    return (a @ adjoint(a) + n * np.eye(n)).astype(dtype)


def same(found, wanted, factor=1.0):
    """Equal dtypes and shapes, and values to the accuracy of the dtype."""
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.dtype == wanted.dtype and found.shape == wanted.shape, (
        found.dtype, wanted.dtype, found.shape, wanted.shape)
    tolerance = factor * TOLERANCE.get(found.dtype.name, 0)
    scale = max(1.0, np.abs(wanted).max(initial=0))
    np.testing.assert_allclose(found, wanted, tolerance, tolerance * scale)


def leaves(tree):
    return [np.asarray(x) for x in jax.tree_util.tree_leaves(tree)]


def _inexact(arrays):
    return [x for x in arrays if x.dtype.kind in "fc"]


def check_derivatives(function, *args, step=1e-6, tolerance=1e-5):
    """jvp against central differences, vjp (compiled) against jvp, vmap against a loop."""
    tangents = [random(a.shape, a.dtype, 9 + i) for i, a in enumerate(args)]
    out, dot = jax.jvp(function, args, tuple(tangents))
    plus, minus = (leaves(function(*[a + s * t for a, t in zip(args, tangents, strict=True)]))
                   for s in (step, -step))
    for a, b, d in zip(_inexact(plus), _inexact(minus), _inexact(leaves(dot)), strict=True):
        slope = (a - b) / (2 * step)
        np.testing.assert_allclose(d, slope, tolerance, tolerance * max(1, np.abs(slope).max()))
    weights = [random(x.shape, x.dtype, 5) for x in _inexact(leaves(out))]

    def total(*xs):
        values = [v for v in jax.tree_util.tree_leaves(function(*xs)) if v.dtype.kind in "fc"]
        return sum(jnp.sum(jnp.real(v * w.conj())) for v, w in zip(values, weights, strict=True))

    gradients = jax.jit(jax.grad(total, argnums=tuple(range(len(args)))))(*args)
    forward = sum(np.sum(np.real(w.conj() * d))
                  for w, d in zip(weights, _inexact(leaves(dot)), strict=True))
    backward = sum(np.sum(np.real(np.asarray(g) * t))
                   for g, t in zip(gradients, tangents, strict=True))
    np.testing.assert_allclose(backward, forward, 1e-7, 1e-7 * max(1, abs(forward)))
    check_batching(function, *[np.stack([a, a + 0.1 * t])
                               for a, t in zip(args, tangents, strict=True)])


def check_batching(function, *batches):
    together = leaves(jax.vmap(function)(*batches))
    each = [leaves(function(*[b[i] for b in batches])) for i in range(len(batches[0]))]
    for k, found in enumerate(together):
        np.testing.assert_allclose(found, np.stack([e[k] for e in each]), 1e-8, 1e-8)
