"""Evaluates one expression with JAX and with jitney, and says how the outcomes differ.

In: the text of an expression such as `jnp.sum(x, axis=1)` and the arrays it names. Out: nothing, or
an AssertionError. An outcome is a tree of arrays (values, dtype, weak type, shape) or an error
(its class). The module is imported without JAX; JAX is imported by the first comparison.
"""

from __future__ import annotations

import functools
import os
import re
import warnings
import zlib

import ml_dtypes
import numpy as np
import pytest

SAMPLES = int(os.environ.get("JITNEY_DIFFERENTIAL", "1"))

FLOATS = ("float32", "float16", "bfloat16")
INTEGERS = ("int32", "int8", "uint8", "uint32", "int16")
COMPLEX = ("complex64",)
GROUPS = {
    "float": FLOATS, "int": INTEGERS, "f32": ("float32",), "bool": ("bool",),
    "real": ("float32", "int32", *FLOATS[1:], *INTEGERS[1:]),
    "inexact": ("float32", *COMPLEX, *FLOATS[1:]),
    "any": ("float32", "int32", "bool", *COMPLEX, *FLOATS[1:], *INTEGERS[1:]),
}  # fmt: skip
TOLERANCE = {"float32": 3e-5, "float16": 4e-3, "bfloat16": 3e-2, "complex64": 1e-4}
_ALIASES = {"JaxRuntimeError": "XlaRuntimeError"}


def dtype_named(name):
    return np.dtype(getattr(ml_dtypes, name, name))


def seed_of(*parts) -> int:
    return zlib.crc32(repr(parts).encode())


def pick(options, count, *key):
    """`count` of the options (all of them if there are fewer), always the same for a key."""
    options = list(options)
    count = count * SAMPLES
    if count >= len(options):
        return options
    order = np.random.default_rng(seed_of(*key)).permutation(len(options))
    return [options[i] for i in sorted(order[:count])]


def random_array(shape, dtype, seed):
    rng = np.random.default_rng(seed)
    dtype = dtype_named(dtype)
    if dtype.kind == "b":
        return rng.random(shape) > 0.5
    if dtype.kind == "u":
        return rng.integers(0, 9, shape).astype(dtype)
    if dtype.kind == "i":
        return rng.integers(-5, 9, shape).astype(dtype)
    values = rng.normal(size=shape) * 1.5
    if dtype.kind == "c":
        values = values + 1j * rng.normal(size=shape)
    return values.astype(dtype)


def pool(dtype, other, seed):
    """The arrays expressions may name."""
    def make(shape, kind=dtype, k=0):
        return random_array(shape, kind, seed + k)

    positive = np.abs(make((3, 4), k=1).astype(np.complex64)).astype(dtype_named(dtype)) \
        if dtype != "bool" else make((3, 4), k=1)
    return {
        "x": make((3, 4)), "y": make((3, 4), k=2), "z": make((3, 4), other, 3),
        "p": positive, "w": make((4,), k=4), "v": make((7,), k=5), "u": make((5,), k=13),
        "m": make((4, 4), k=6), "t": make((2, 3, 4), k=7), "s": make((), k=8), "e": make((0, 3)),
        "i": np.random.default_rng(seed).integers(0, 3, (5,)).astype(np.int32),
        "j": np.random.default_rng(seed + 1).integers(-3, 3, (3, 1)).astype(np.int32),
        "b": make((3, 4), "bool", 9), "q": make((3, 4), "float32", 10),
        "n": np.random.default_rng(seed).integers(0, 9, (3, 4)).astype(np.int32),
    }  # fmt: skip


@functools.cache
def modules(name):
    """The names an expression may use."""
    if name == "jax":
        import jax
        import jax.scipy as scipy
    else:
        import jitney as jax
        import jitney.scipy as scipy
    return {"jax": jax, "jnp": jax.numpy, "lax": jax.lax, "nn": jax.nn, "jsp": scipy,
            "random": jax.random, "np": np, "bf16": ml_dtypes.bfloat16}


class Outcome:
    """A list of arrays or an error."""

    def __init__(self, leaves=None, structure="", error=None):
        self.leaves, self.structure, self.error = leaves, structure, error


def evaluate(name, text, arrays, jit) -> Outcome:
    """The outcome of an expression with one of the packages."""
    known = modules(name)
    jax = known["jax"]
    code = compile(text, "<expression>", "eval")

    def function(**given):
        return eval(code, {**known, **given})

    used = {k: v for k, v in arrays.items() if k in code.co_names or _is_inner(code, k)}
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            if jit:
                result = jax.jit(function)(**used)
            else:
                result = function(**{k: jax.numpy.asarray(v) for k, v in used.items()})
            leaves, tree = jax.tree_util.tree_flatten(result)
            return Outcome([_leaf(x) for x in leaves], str(tree))
    except Exception as error:
        return Outcome(error=error)


def _is_inner(code, name) -> bool:
    """Whether a function inside the expression mentions a name."""
    inner = [c for c in code.co_consts if hasattr(c, "co_names")]
    return any(name in c.co_names or _is_inner(c, name) for c in inner)


def _leaf(x):
    weak = getattr(x, "weak_type", None)
    return (np.asarray(x), bool(weak)) if hasattr(x, "dtype") else (x, None)


def check(text, arrays, jit=False, tolerance=None, weak=True) -> None:
    """Both packages must do the same."""
    want = evaluate("jax", text, arrays, jit)
    got = evaluate("jitney", text, arrays, jit)
    if want.error is not None or got.error is not None:
        _skip_missing(got.error)
        _same_error(got.error, want.error)
        return
    assert got.structure == want.structure, f"structure {got.structure}, not {want.structure}"
    for k, ((a, weak_a), (b, weak_b)) in enumerate(zip(got.leaves, want.leaves, strict=True)):
        if not isinstance(b, np.ndarray):
            assert type(a) is type(b) and a == b, f"result {k} is {a!r}, not {b!r}"
            continue
        assert a.dtype == b.dtype, f"result {k} is {a.dtype}, not {b.dtype}"
        assert a.shape == b.shape, f"result {k} has shape {a.shape}, not {b.shape}"
        if weak:
            assert weak_a == weak_b, f"result {k} has weak_type {weak_a}, not {weak_b}"
        same_values(a, b, tolerance, k)


def _skip_missing(error) -> None:
    """Families that are not there yet are not differences."""
    missing = isinstance(error, (ModuleNotFoundError, AttributeError))
    if missing and re.search(r"jitney\.\w+(\.|' has no attribute ')(linalg|fft)", str(error)):
        pytest.skip(str(error))


def _same_error(got, want) -> None:
    if want is None:
        raise AssertionError(f"raised {type(got).__name__}: {got}; JAX gives a result") from got
    assert got is not None, f"no error; JAX raises {type(want).__name__}: {str(want)[:200]}"
    a, b = type(got).__name__, type(want).__name__
    a, b = _ALIASES.get(a, a), _ALIASES.get(b, b)
    if a == "AxisError":                     # an IndexError for the array API, a ValueError as well
        a = next((c.__name__ for c in type(got).__mro__ if c.__name__ == b), a)
    same = a == b or {a, b} <= {"TypeError", "ValueError"} and str(got)[:20] == str(want)[:20]
    assert same, f"{a}: {str(got)[:200]}; JAX raises {b}: {str(want)[:200]}"


def same_values(a, b, tolerance=None, k=0) -> None:
    """Equal, or as near as floating-point functions have to be."""
    if a.dtype.kind in "iub" or a.size == 0:
        np.testing.assert_array_equal(a, b, f"result {k}")
        return
    tolerance = tolerance or TOLERANCE.get(a.dtype.name, 1e-6)
    wide = np.complex128 if a.dtype.kind == "c" else np.float64
    a, b = a.astype(wide), b.astype(wide)
    finite = np.abs(b[np.isfinite(b)])
    scale = finite.max(initial=0.0)
    if tolerance < 1e-3:  # sums of numbers near 1 may cancel; of 16-bit numbers all sums may
        scale = min(scale, 1.0)
    np.testing.assert_allclose(a, b, tolerance, tolerance * scale, err_msg=f"result {k}")


def exactly(text, arrays, jit=False) -> None:
    """The same bits."""
    want = evaluate("jax", text, arrays, jit)
    got = evaluate("jitney", text, arrays, jit)
    if want.error is not None or got.error is not None:
        _same_error(got.error, want.error)
        return
    for (a, _), (b, _) in zip(got.leaves, want.leaves, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_array_equal(a.reshape(-1).view(np.uint8), b.reshape(-1).view(np.uint8))


def cases(table, count):
    """(expression, dtype, other dtype, jit) samples of a table {group: text of expressions}."""
    everything = ("float32", "int32", "bool", "complex64", "float16", "bfloat16", "uint8", "int8")
    found = []
    for group, text in table.items():
        for line in filter(None, map(str.strip, text.splitlines())):
            for dtype in pick(GROUPS[group], count, group, line):
                other = pick(everything, 1, line, dtype)[0] if "z" in line else "float32"
                found.append((line, dtype, other, seed_of(line, dtype) % 2 == 0))
    return found


def name_of(case) -> str:
    line, dtype, other, jit = case
    return f"{line}-{dtype}{'-' + other if 'z' in line else ''}{'-jit' if jit else ''}"
