"""What the tests of lax share: two ways to evaluate, and comparison in units of the last place."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import jitney
from jitney import _native, pipeline
from jitney.core import interpret
from jitney.core.avals import get_aval, numpy_value, to_array
from jitney.core.jaxpr import ClosedJaxpr
from jitney.core.staging import trace_flat
from jitney.lower.rules import LoweringError


def dtype_named(name: str) -> np.dtype:
    return np.dtype(getattr(ml_dtypes, name, name))


def leaves(x) -> list:
    return _native.tree_flatten(x)[0]


def by_reference(fun, *args) -> list[np.ndarray]:
    """The results by the NumPy references."""
    jaxpr, consts = trace_flat(lambda *xs: leaves(fun(*xs)), [get_aval(a) for a in args])
    return interpret.eval_reference(jaxpr, consts, *[numpy_value(a) for a in args])


def compiled(fun, *args) -> list[np.ndarray]:
    """The results of the compiled program, whatever back end eager code uses."""
    jaxpr, consts = trace_flat(lambda *xs: leaves(fun(*xs)), [get_aval(a) for a in args])
    try:
        executable = pipeline.compile_jaxpr(
            ClosedJaxpr(jaxpr, [to_array(c) for c in consts]), name="test",
            donated=(False,) * len(args))
    except LoweringError as error:
        pytest.skip(str(error).splitlines()[0])
    return [np.asarray(x) for x in executable.program.execute([to_array(a) for a in args])]


def text_of(fun, *args) -> str:
    """The jaxpr of a function of flat arguments."""
    return str(jitney.make_jaxpr(fun)(*args))


_EPSILON = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52,
            "complex64": 2.0**-23, "complex128": 2.0**-52}


def ulps(found: np.ndarray, expected: np.ndarray) -> float:
    """The greatest relative error in units of the type's epsilon; NaN and equal values agree."""
    assert found.shape == expected.shape, (found.shape, expected.shape)
    wide = np.complex128 if found.dtype.kind == "c" else np.float64
    a, b = found.astype(wide), expected.astype(found.dtype).astype(wide)
    with np.errstate(all="ignore"):
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        error = np.where(same, 0.0, np.abs(a - b) / np.maximum(np.abs(b), 1e-30))
    error = np.where(np.isnan(error), np.inf, error)
    return float(error.max(initial=0.0)) / _EPSILON[found.dtype.name]


def assert_close(found, expected, tolerance: float = 2.0) -> None:
    found, expected = np.asarray(found), np.asarray(expected)
    if found.dtype.name in _EPSILON:
        assert ulps(found, expected) <= tolerance, (found, expected)
    else:
        np.testing.assert_array_equal(found, expected)
