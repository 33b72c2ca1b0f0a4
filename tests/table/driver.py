"""What is tried with each row: reference = jit = eager, vmap = loop, grad = difference quotient.

In: rows. Out: nothing, or an AssertionError that says which call with which dtype fails, and in
what. The module needs no JAX.
"""

from __future__ import annotations

import functools
import re
import types
import warnings
import zlib

import ml_dtypes
import numpy as np
import references
import scipy
from arrays import FIXED, batch, dtype_named, pool, wide
from rows import Row

import jitney

TOLERANCE = {"float64": 1e-9, "complex128": 1e-9, "float32": 2e-5, "complex64": 5e-5,
             "float16": 6e-3, "bfloat16": 5e-2}  # fmt: skip
_NAME = re.compile(r"(?<![\w.])[a-z]+\b")


@functools.cache
def namespace(package: str) -> dict:
    """The names that expressions may use, of `jitney` or `jax`."""
    import importlib

    find = lambda name: importlib.import_module(f"{package}.{name}")
    for name in ("scipy.stats", "scipy.signal", "scipy.special", "scipy.linalg", "scipy.fft",
                 "scipy.optimize", "scipy.interpolate", "scipy.ndimage", "scipy.integrate",
                 "scipy.cluster.vq", "scipy.sparse.linalg", "experimental.ode", "image", "ops",
                 "nn.initializers", "flatten_util", "dlpack", "test_util", "dtypes", "tree",
                 "tree_util"):  # fmt: skip
        find(name)
    jax = importlib.import_module(package)
    return {"jax": jax, "jnp": jax.numpy, "lax": jax.lax, "nn": jax.nn, "jsp": jax.scipy,
            "random": jax.random, "np": np, "sp": scipy, "ref": references,
            "bf16": ml_dtypes.bfloat16}  # fmt: skip


_WIDE = {**dict(np=np, sp=scipy, ref=references)}


@functools.cache
def names_in(text: str) -> tuple[str, ...]:
    """The arrays that an expression takes, in order of their first use."""
    found = _outer_names(compile(text, "<row>", "eval"))
    return tuple(n for n in dict.fromkeys(_NAME.findall(text)) if n in found)


def _outer_names(code: types.CodeType) -> set:
    """Names that an expression takes from outside (not arguments of functions inside it)."""
    inner = [_outer_names(c) for c in code.co_consts if isinstance(c, types.CodeType)]
    return (set(code.co_names).union(*inner) & set(pool("float32")))


@functools.cache
def function(package: str, text: str):
    """The expression as a function of its arrays."""
    return eval(f"lambda {', '.join(names_in(text))}: {text}", dict(namespace(package)))


def choice(*parts) -> int:
    return zlib.crc32(repr(parts).encode())


def dtypes_for(row: Row, k: int) -> tuple[str, ...]:
    """All dtypes for the first call of a row, two for each further one."""
    if k == 0 or len(row.dtypes) < 3:
        return row.dtypes
    start = choice(row.texts[k]) % len(row.dtypes)
    return tuple((row.dtypes * 2)[start:start + 2])


# --- comparison --------------------------------------------------------------------------------


def leaves(x) -> list:
    return [np.asarray(a) for a in jitney.tree.leaves(x)]


def plain(x) -> list:
    """The arrays of what NumPy or SciPy returned."""
    if isinstance(x, (list, tuple)):
        return [a for part in x for a in plain(part)]
    return [] if x is None else [np.asarray(x)]


def same(found: np.ndarray, wanted: np.ndarray, tolerance: float, what: str) -> None:
    """Equal up to the tolerance, relative to the greatest magnitude where numbers may cancel."""
    assert found.shape == wanted.shape, f"{what}: shape {found.shape}, not {wanted.shape}"
    with np.errstate(all="ignore"):
        wanted = wanted.astype(found.dtype)
    if found.dtype.kind in "biu":
        np.testing.assert_array_equal(found, wanted, what)
        return
    a, b = (x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)
            for x in (found, wanted))  # fmt: skip
    scale = max(1.0, float(np.abs(b[np.isfinite(b)]).max(initial=0.0)))
    np.testing.assert_allclose(a, b, tolerance, tolerance * min(scale, 10.0), err_msg=what)


def tolerance_of(row: Row, dtype: np.dtype) -> float:
    usual = TOLERANCE.get(dtype.name, 1e-5)
    return usual * max(1.0, row.tolerance / TOLERANCE["float32"])


# --- checks ------------------------------------------------------------------------------------


def check_values(row: Row, k: int, dtype: str) -> None:
    """The reference, and for the first dtype also jitted = eager."""
    text, reference = row.texts[k], row.references[k]
    names, run = names_in(text), function("jitney", text)
    given = [pool(dtype)[n] for n in names]
    arrays = [jitney.numpy.asarray(x) for x in given]
    jitted = "nojit" not in row.flags
    result = (jitney.jit(run) if jitted else run)(*arrays)
    found = leaves(result)
    what = f"{text} of {dtype}"
    if jitted and dtype == row.dtypes[0]:
        eager = run(*arrays)
        assert jitney.tree.structure(eager) == jitney.tree.structure(result), what
        for a, b, x in zip(found, leaves(eager), jitney.tree.leaves(eager), strict=True):
            typed = hasattr(x, "dtype")  # numbers become arrays in jitted functions
            assert a.dtype == b.dtype or not typed, f"{what}: jitted {a.dtype}, eager {b.dtype}"
            same(a, b, 0.2 * tolerance_of(row, a.dtype), f"{what}: jitted and eager")
    if reference is None:
        return
    known = dict(_WIDE, bf16=ml_dtypes.bfloat16)
    for name in names_in(reference):
        x = pool(dtype)[name]
        known[name] = x if "same" in row.flags or name in FIXED else wide(x)
    with np.errstate(all="ignore"):
        wanted = plain(eval(reference, known))
    assert len(found) == len(wanted), f"{what}: {len(found)} results, not {len(wanted)}"
    low = TOLERANCE.get(dtype, 0.0)
    for a, b in zip(found, wanted, strict=True):
        same(a, b, max(tolerance_of(row, a.dtype), low), what)


def check_vmap(row: Row, k: int) -> None:
    """A batch against a loop over it; by turns all arguments are batched, or one along its last axis."""
    text, dtype = row.texts[k], row.dtypes[choice(row.texts[k]) % len(row.dtypes)]
    names, run = names_in(text), function("jitney", text)
    given = [pool(dtype)[n] for n in names]
    whole = choice(text) % 2 == 0
    dims = [0 if whole or n == 0 else None for n in range(len(names))]
    stacked = [batch(n, x) if d is not None else x
               for n, x, d in zip(names, given, dims, strict=True)]  # fmt: skip
    last = not whole
    arrays = [jitney.numpy.asarray(np.moveaxis(x, 0, -1) if d is not None and last else x)
              for x, d in zip(stacked, dims, strict=True)]  # fmt: skip
    axes = tuple(-1 if d is not None and last else d for d in dims)
    found = jitney.vmap(run, axes)(*arrays)
    for r in range(2):
        one = run(*(jitney.numpy.asarray(x[r] if d is not None else x)
                    for x, d in zip(stacked, dims, strict=True)))  # fmt: skip
        for a, b, x in zip(leaves(found), leaves(one), jitney.tree.leaves(one), strict=True):
            what = f"{text} of {dtype}: vmap with in_axes {axes}, example {r}"
            assert a.dtype == b.dtype or not hasattr(x, "dtype"), f"{what}: {a.dtype}, not {b.dtype}"
            same(a[r], b, 2 * tolerance_of(row, b.dtype), what)


def check_grad(row: Row, k: int) -> None:
    """jvp and grad in float64 against a difference quotient along one direction."""
    text = row.texts[k]
    names, run = names_in(text), function("jitney", text)
    moving = [n for n in names if n not in FIXED]
    rng = np.random.default_rng(choice(text))
    with jitney.enable_x64(True):
        jnp = jitney.numpy
        point = [jnp.asarray(pool("float64")[n]) for n in moving]
        fixed = {n: jnp.asarray(pool("float64")[n]) for n in names if n in FIXED}
        sides = [_direction(n, x.shape, rng) for n, x in zip(moving, point, strict=True)]

        def loss(*xs):
            known = {**dict(zip(moving, xs, strict=True)), **fixed}
            return weighted(jnp, run(*(known[n] for n in names)))

        step = 1e-5
        ahead, behind = (
            float(loss(*(jnp.asarray(np.asarray(x) + sign * step * d)
                         for x, d in zip(point, sides, strict=True))))
            for sign in (1, -1)
        )  # fmt: skip
        quotient = (ahead - behind) / (2 * step)
        forward = float(jitney.jvp(loss, point, [jnp.asarray(d) for d in sides])[1])
        slopes = jitney.grad(loss, tuple(range(len(point))))(*point)
        backward = sum(float((np.asarray(g) * d).sum()) for g, d in zip(slopes, sides, strict=True))
    bound = 1e-5 * (1 + abs(quotient)) * max(1.0, row.tolerance / TOLERANCE["float32"])
    assert abs(forward - quotient) <= bound, f"{text}: jvp {forward}, differences {quotient}"
    assert abs(backward - quotient) <= bound, f"{text}: grad {backward}, differences {quotient}"


def _direction(name: str, shape: tuple, rng) -> np.ndarray:
    side = rng.normal(size=shape)
    return side + side.T if name == "h" else side


def weighted(jnp, result):
    """A sum of all numbers in the result that carry derivatives, each with a weight of its own."""
    total = 0.0
    for q, x in enumerate(jitney.tree.leaves(result)):
        x = jnp.asarray(x)
        if jnp.issubdtype(x.dtype, jnp.complexfloating):
            x = x.real + 0.7 * x.imag
        if jnp.issubdtype(x.dtype, jnp.floating):
            total = total + jnp.sum(x * np.cos(np.arange(x.size) + q).reshape(x.shape))
    return total


def check(row: Row) -> None:
    """All checks that apply to a row."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k, text in enumerate(row.texts):
            for dtype in dtypes_for(row, k):
                check_values(row, k, dtype)
            names = names_in(text)
            if names and "novmap" not in row.flags:
                check_vmap(row, k)
            if "grad" in row.flags and not {"z", "e"} & set(names):
                check_grad(row, k)


__all__ = ["check", "dtype_named"]
