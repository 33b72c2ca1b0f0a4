"""Derivatives checked against difference quotients, by the names in `jax.test_util`.

In: a function, arguments (trees), and how often to differentiate. Out: nothing, or an
AssertionError that says which derivative differs. Each derivative is looked at along one random
direction, so that the cost does not grow with the sizes of arguments and results.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jitney.api.jvp_vjp import jvp, vjp
from jitney.base import dtypes
from jitney.base.pytree import tree_flatten, tree_map, tree_structure
from jitney.core.avals import get_aval, numpy_value

EPS = 1e-4
_TOLERANCES = {"bfloat16": 1e-1, "float16": 1e-2, "float32": 2e-3, "float64": 1e-5,
               "complex64": 1e-3, "complex128": 1e-5}


def check_grads(f: Callable, args: Sequence[Any], order: int,
                modes: Sequence[str] = ("fwd", "rev"), atol: float | None = None,
                rtol: float | None = None, eps: float | None = None) -> None:
    """Check the derivatives of `f` at `args` up to `order`, by the modes named.

    `eps` is the step of the difference quotient (1e-4), `atol` and `rtol` the tolerances (by the
    results' dtypes). Integer arguments are held fixed. AssertionError where a derivative is wrong;
    ValueError for an unknown mode, TypeError for an `order` that is not a positive integer.

    >>> check_grads(lambda x: x ** 3, (2.0,), order=2, atol=1e-1, rtol=1e-1)
    """
    modes = (modes,) if isinstance(modes, str) else tuple(modes)
    unknown = [m for m in modes if m not in ("fwd", "rev")]
    if unknown:
        raise ValueError(f"modes are 'fwd' and 'rev', got {unknown[0]!r}")
    if not isinstance(order, int) or isinstance(order, bool) or order < 1:
        raise TypeError(f"order must be a positive integer, got {order!r}")
    _check(f, tuple(args), order, modes, atol, rtol, EPS if eps is None else eps, "")


def _check(f: Callable, args: tuple, order: int, modes: tuple, atol: Any, rtol: Any, eps: float,
           path: str) -> None:
    if "fwd" in modes:
        here = f"{path}jvp of "
        check_jvp(f, functools.partial(jvp, f), args, atol, rtol, eps, f"({here}f)")
        if order > 1:
            directions = _random_tangents(args, order)
            push = lambda *xs: jvp(f, xs, directions)[1]
            _check(push, args, order - 1, modes, atol, rtol, eps, here)
    if "rev" in modes:
        here = f"{path}vjp of "
        check_vjp(f, functools.partial(vjp, f), args, atol, rtol, eps, f"({here}f)")
        if order > 1:
            weights = _random_tangents(f(*args), order)
            pull = lambda *xs: _floating(vjp(f, *xs)[1](weights))
            _check(pull, args, order - 1, modes, atol, rtol, eps, here)


def check_jvp(f: Callable, f_jvp: Callable, args: Sequence[Any], atol: float | None = None,
              rtol: float | None = None, eps: float = EPS, err_msg: str = "") -> None:
    """Check `f_jvp(args, tangents)` (like `functools.partial(jvp, f)`) against a difference
    quotient of `f`; AssertionError where values or tangents differ."""
    args = tuple(args)
    tangents = _random_tangents(args, 1)
    out, dots = f_jvp(args, tangents)
    expected = f(*args)
    _check_structures(out, expected, "values", err_msg)
    _compare(out, expected, atol, rtol, f"values of the jvp {err_msg}")
    _compare(dots, _quotient(f, args, tangents, eps), atol, rtol, f"tangents of the jvp {err_msg}")


def check_vjp(f: Callable, f_vjp: Callable, args: Sequence[Any], atol: float | None = None,
              rtol: float | None = None, eps: float = EPS, err_msg: str = "") -> None:
    """Check `f_vjp(*args)` (like `functools.partial(vjp, f)`) against a difference quotient of
    `f`: <ct, J v> = <J^T ct, v>; AssertionError where values or pairings differ."""
    args = tuple(args)
    out, pull = f_vjp(*args)
    expected = f(*args)
    _check_structures(out, expected, "values", err_msg)
    _compare(out, expected, atol, rtol, f"values of the vjp {err_msg}")
    tangents, weights = _random_tangents(args, 2), _random_tangents(out, 3)
    back = pull(weights)
    forward = _quotient(f, args, tangents, eps)
    kinds = [_dtype(x) for x in tree_flatten((args, out))[0]]
    tolerance = max([_TOLERANCES[str(d)] for d in kinds if str(d) in _TOLERANCES], default=1e-5)
    np.testing.assert_allclose(
        _pairing(back, tangents), _pairing(weights, forward),
        atol=tolerance if atol is None else atol, rtol=tolerance if rtol is None else rtol,
        err_msg=f"cotangents of the vjp {err_msg}")


# --- pieces ------------------------------------------------------------------------------------


def _dtype(x: Any) -> Any:
    return get_aval(x).dtype


def _wide(x: Any) -> np.ndarray:
    """The value in double precision."""
    wide = np.complex128 if dtypes.is_complex(_dtype(x)) else np.float64
    return np.asarray(numpy_value(x)).astype(wide)


def _random_tangents(tree: Any, seed: int) -> Any:
    """Normal numbers like the leaves; float0 for those that carry no derivative."""
    random = np.random.RandomState(seed)

    def tangent(x):
        aval = get_aval(x)
        if not dtypes.is_inexact(aval.dtype):
            return np.zeros(aval.shape, dtypes.float0)
        values = random.randn(*aval.shape)
        if dtypes.is_complex(aval.dtype):
            values = values + 1j * random.randn(*aval.shape)
        return np.asarray(values).astype(aval.dtype)

    return tree_map(tangent, tree)


def _moved(args: tuple, tangents: tuple, step: float) -> tuple:
    def move(x, t):
        if not dtypes.is_inexact(_dtype(x)):
            return x
        return (_wide(x) + step * _wide(t)).astype(_dtype(x))

    return tree_map(move, args, tangents)


def _quotient(f: Callable, args: tuple, tangents: tuple, eps: float) -> Any:
    """(f(x + eps v) - f(x - eps v)) / (2 eps), in double precision; float0 for integer results."""
    def divide(a, b):
        if not dtypes.is_inexact(_dtype(a)):
            return np.zeros(get_aval(a).shape, dtypes.float0)
        return (_wide(a) - _wide(b)) / (2 * eps)

    return tree_map(divide, f(*_moved(args, tangents, eps)), f(*_moved(args, tangents, -eps)))


def _pairing(a: Any, b: Any) -> float:
    """Re sum a b over all leaves with derivatives (linear in both: JAX's cotangents of complex
    numbers are not conjugated)."""
    pairs = zip(tree_flatten(a)[0], tree_flatten(b)[0], strict=True)
    return float(sum(np.real(np.sum(_wide(x) * _wide(y))) for x, y in pairs
                     if _dtype(x) != dtypes.float0 and _dtype(y) != dtypes.float0))


def _floating(tree: Any) -> list:
    """The leaves that carry derivatives."""
    return [x for x in tree_flatten(tree)[0] if _dtype(x) != dtypes.float0]


def _check_structures(found: Any, expected: Any, what: str, message: str) -> None:
    a, b = tree_structure(found), tree_structure(expected)
    if a != b:
        raise AssertionError(f"{what} differ in structure {message}: {a} and {b}")


def _compare(found: Any, expected: Any, atol: Any, rtol: Any, message: str) -> None:
    for x, y in zip(tree_flatten(found)[0], tree_flatten(expected)[0], strict=True):
        if _dtype(x) == dtypes.float0 or dtypes.is_extended(_dtype(x)):
            continue
        tolerance = _TOLERANCES.get(str(_dtype(x)), 0.0)
        np.testing.assert_allclose(
            _wide(x), _wide(y), atol=tolerance if atol is None else atol,
            rtol=tolerance if rtol is None else rtol, err_msg=message)


__all__ = ["check_grads", "check_jvp", "check_vjp"]
