"""A second opinion: whatever array-api-strict accepts gives the same types, shapes and values."""

import warnings
import zlib

import numpy as np
import pytest
from strict_table import LINES

import jitney.numpy as jnp

strict = pytest.importorskip("array_api_strict")
strict.set_array_api_strict_flags(api_version="2025.12")

SIGNED, UNSIGNED = ("int8", "int16", "int32", "int64"), ("uint8", "uint16", "uint32", "uint64")
REAL, COMPLEX = ("float32", "float64"), ("complex64", "complex128")
KINDS = {"all": ("bool", *SIGNED, *UNSIGNED, *REAL, *COMPLEX), "bool": ("bool",),
         "numeric": (*SIGNED, *UNSIGNED, *REAL, *COMPLEX), "real": (*SIGNED, *UNSIGNED, *REAL),
         "integer": SIGNED + UNSIGNED, "float": REAL + COMPLEX, "complex": COMPLEX,
         "real float": REAL, "integer bool": ("bool", *SIGNED, *UNSIGNED),
         "real integer bool": ("bool", *SIGNED, *UNSIGNED)}  # fmt: skip
SHAPES = [((), ()), ((3,), (3,)), ((2, 3), (3,)), ((0,), (1,)), ((2, 1, 3), (4, 1)),
          ((3, 0), (3, 1)), ((5, 5), ())]  # fmt: skip
SPECIAL = [0.0, -0.0, 1.0, np.inf, -np.inf, np.nan]


def sample(dtype, shape, rng, special):
    kind = np.dtype(dtype).kind
    if kind == "b":
        return rng.random(shape) > 0.5
    if kind in "iu":
        return rng.integers(-9 if kind == "i" else 0, 10, shape).astype(dtype)
    value = rng.standard_normal(shape) * 2
    if kind == "c":
        value = value + 1j * rng.standard_normal(shape)
    elif special:
        value = np.where(rng.random(shape) < 0.4, rng.choice(SPECIAL, shape), value)
    return np.asarray(value).astype(dtype)


def given(dtype, shapes, seed, special):
    """The variables of an expression, as NumPy values."""
    rng = np.random.default_rng(seed)
    x, y = (sample(dtype, s, rng, special) for s in shapes)
    square = sample(dtype, (2, 3, 3), rng, False) if np.dtype(dtype).kind in "fc" else x
    found = dict(x=x, y=y, b=rng.random(shapes[0]) > 0.5, i=np.array([0, 1, 0, -1]), s=square)
    found["h"] = square @ square.swapaxes(-1, -2).conj() + 0.5 * np.eye(3) \
        if np.dtype(dtype).kind in "fc" else x  # fmt: skip
    found["h"] = np.asarray(found["h"]).astype(dtype)
    number = {"b": True, "f": 1.5, "c": 2.5 - 1j}.get(np.dtype(dtype).kind, 2)
    return found, number


def read(xp, expression, values, number):
    names = {k: xp.asarray(v) for k, v in values.items()}
    return eval(expression, dict(xp=xp, one=number, **names))


def answer(expression, values, number):
    """What we give: a value, or an exception."""
    try:
        return plain(read(jnp, expression, values, number))
    except Exception as error:
        return error


def plain(value):
    """Results without a namespace: NumPy arrays, names of dtypes, numbers."""
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if type(value).__module__.startswith("array_api_strict") and hasattr(value, "shape"):
        return np.asarray(value)
    if isinstance(value, type(jnp.zeros(()))):
        return np.asarray(value)
    if isinstance(value, (bool, int, str)) or value is None:
        return value
    if isinstance(value, float):
        return float(value)
    return np.dtype(getattr(value, "_np_dtype", value)).name


def close(got, wanted):
    if isinstance(wanted, list):
        return isinstance(got, list) and len(got) == len(wanted) and all(map(close, got, wanted))
    if not isinstance(wanted, np.ndarray):
        return type(got) is type(wanted) and got == wanted
    if not isinstance(got, np.ndarray) or got.dtype != wanted.dtype or got.shape != wanted.shape:
        return False
    if wanted.dtype.kind not in "fc":
        return bool((got == wanted).all())
    wide = wanted.dtype in (np.float64, np.complex128)
    return np.allclose(got, wanted, equal_nan=True, rtol=1e-9 if wide else 1e-3,
                       atol=1e-10 if wide else 1e-4)  # fmt: skip


@pytest.mark.parametrize("category, kinds, expression", LINES,
                         ids=[f"{c}: {e} [{k}]" for c, k, e in LINES])  # fmt: skip
def test_as_strict(category, kinds, expression):
    wrong, tried = [], 0
    for dtype in KINDS[kinds]:
        for shapes in SHAPES:
            special = category in ("elementwise", "creation", "manipulation", "searching")
            values, number = given(dtype, shapes, zlib.crc32(expression.encode()), special)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    wanted = plain(read(strict, expression, values, number))
                except Exception:
                    continue
                tried += 1
                got = answer(expression, values, number)
            without_axes = isinstance(got, np.exceptions.AxisError) and shapes[0] == ()
            if not (without_axes or close(got, wanted)):
                wrong.append(f"{dtype}{list(shapes)}: {got!r}, not {wanted!r}, of {values!r}")
    assert tried, "array-api-strict refused it everywhere"
    assert not wrong, f"{len(wrong)} of {tried} differ: " + " ; ".join(wrong[:2])
