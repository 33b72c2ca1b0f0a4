"""Gradients and Jacobians: `grad`, `value_and_grad`, `jacfwd`, `jacrev`, `hessian`.

In: a function and which of its arguments to differentiate in. Out: a function of the same
arguments that returns the derivative, shaped as those arguments (and the result).
Invariant: outside `jit`, the function runs on its actual values: Python may look at them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jitney import lax
from jitney.api.jvp_vjp import as_primal, as_result, check_callable, jvp, vjp
from jitney.api.vmap import vmap
from jitney.base import dtypes, source
from jitney.base.pytree import tree_flatten, tree_map, tree_transpose
from jitney.core.avals import get_aval
from jitney.lax.nary import constant


class _Selected:
    """`fun` as a function of the chosen arguments only."""

    def __init__(self, fun: Callable, args: tuple, kwargs: dict, argnums: Any):
        self.fun, self.args, self.kwargs = fun, args, kwargs
        self.single = not isinstance(argnums, tuple)
        self.numbers = _positions(argnums, len(args))
        self.chosen = tuple(args[i] for i in self.numbers)
        if hasattr(fun, "__name__"):
            self.__name__ = fun.__name__

    def __call__(self, *chosen: Any) -> Any:
        args = list(self.args)
        for i, value in zip(self.numbers, chosen):
            args[i] = value
        return self.fun(*args, **self.kwargs)

    def result(self, tree: tuple) -> Any:
        return tree[0] if self.single else tuple(tree)


def _argnums(argnums: Any) -> Any:
    """An int, or a tuple of ints."""
    if isinstance(argnums, (tuple, list)):
        return tuple(int(n) for n in argnums)
    if not hasattr(argnums, "__index__"):
        raise TypeError(f"argnums must be an int or a sequence of ints, got {argnums!r}")
    return argnums.__index__()


def _positions(argnums: Any, count: int) -> tuple[int, ...]:
    numbers = argnums if isinstance(argnums, tuple) else (argnums,)
    least = max(max(numbers, default=-1) + 1, -min(numbers, default=0))
    if count < least:
        raise TypeError(
            f"differentiating with respect to argnums={argnums} requires at least {least} "
            f"positional arguments to be passed by the caller, but got only {count} positional "
            "arguments.")
    return tuple(n % count for n in numbers)


def _named_after(fun: Callable, what: str) -> Callable:
    """Give a wrapper the name and signature of `fun`."""
    def wrap(wrapper: Callable) -> Callable:
        if hasattr(fun, "__name__"):
            functools.update_wrapper(wrapper, fun)
        wrapper.__doc__ = f"{what} of {source.function_name(fun)}, with the same arguments."
        return wrapper
    return wrap


# --- gradients ---------------------------------------------------------------------------------


def grad(fun: Callable, argnums: int | Sequence[int] = 0, has_aux: bool = False,
         holomorphic: bool = False, allow_int: bool = False,
         reduce_axes: Sequence = ()) -> Callable:
    """The gradient of a scalar function with respect to its arguments `argnums`.

    >>> grad(lambda x: x ** 3)(2.0)
    Array(12., dtype=float32, weak_type=True)
    """
    with_value = value_and_grad(fun, argnums, has_aux, holomorphic, allow_int, reduce_axes)

    @_named_after(fun, "The gradient")
    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, found = with_value(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return gradient


def value_and_grad(fun: Callable, argnums: int | Sequence[int] = 0, has_aux: bool = False,
                   holomorphic: bool = False, allow_int: bool = False,
                   reduce_axes: Sequence = ()) -> Callable:
    """The value of a scalar function together with its gradient (see `grad`)."""
    check_callable(fun)
    argnums = _argnums(argnums)
    if reduce_axes:
        raise NotImplementedError("reduce_axes argument is deprecated")

    @_named_after(fun, "The value and gradient")
    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        chosen = _Selected(fun, args, kwargs, argnums)
        for leaf in tree_flatten(chosen.chosen)[0]:
            _check_input("grad", leaf, holomorphic, allow_int)
        parts = vjp(chosen, *chosen.chosen, has_aux=has_aux)
        value, pull = parts[:2]
        _check_scalar(value)
        _check_output("grad", value, holomorphic)
        found = chosen.result(pull(constant(value, 1)))
        return ((value, parts[2]) if has_aux else value), found

    return value_and_gradient


def _check_input(name: str, x: Any, holomorphic: bool, allow_int: bool) -> None:
    dtype = get_aval(as_primal(x)).dtype
    if holomorphic:
        if not dtypes.is_complex(dtype):
            raise TypeError(f"{name} with holomorphic=True requires inputs with complex dtype, "
                            f"but got {dtype.name}.")
    elif dtypes.is_extended(dtype) or not dtypes.is_inexact(dtype):
        if not allow_int:
            raise TypeError(
                f"{name} requires real- or complex-valued inputs (input dtype that is a sub-dtype "
                f"of np.inexact), but got {dtype.name}. If you want to use Boolean- or "
                "integer-valued inputs, use vjp or set allow_int to True.")


def _check_scalar(value: Any) -> None:
    leaves, tree = tree_flatten(value)
    if tree != _LEAF:
        raise TypeError(f"Gradient only defined for scalar-output functions. Output was {value}.")
    shape = get_aval(leaves[0]).shape
    if shape:
        raise TypeError("Gradient only defined for scalar-output functions. Output had shape: "
                        f"{shape}.")


_LEAF = tree_flatten(0)[1]


def _check_output(name: str, x: Any, holomorphic: bool) -> None:
    dtype = get_aval(x).dtype
    if holomorphic:
        if not dtypes.is_complex(dtype):
            raise TypeError(f"{name} with holomorphic=True requires outputs with complex dtype, "
                            f"but got {dtype.name}.")
    elif dtypes.is_complex(dtype):
        raise TypeError(
            f"{name} requires real-valued outputs (output dtype that is a sub-dtype of "
            f"np.floating), but got {dtype.name}. For holomorphic differentiation, pass "
            "holomorphic=True. For differentiation of non-holomorphic functions involving complex "
            "outputs, use jax.vjp directly.")
    elif not dtypes.is_inexact(dtype):
        raise TypeError(
            f"{name} requires real-valued outputs (output dtype that is a sub-dtype of "
            f"np.floating), but got {dtype.name}. For differentiation of functions with integer "
            "outputs, use jax.vjp directly.")


# --- Jacobians ---------------------------------------------------------------------------------


def jacfwd(fun: Callable, argnums: int | Sequence[int] = 0, has_aux: bool = False,
           holomorphic: bool = False) -> Callable:
    """The Jacobian, column by column in forward mode (good for few inputs)."""
    check_callable(fun)
    argnums = _argnums(argnums)

    @_named_after(fun, "The Jacobian")
    def jacobian_of(*args: Any, **kwargs: Any) -> Any:
        chosen = _Selected(fun, args, kwargs, argnums)
        for leaf in tree_flatten(chosen.chosen)[0]:
            _check_forward_input(leaf, holomorphic)
        out_axes = (None, -1, None) if has_aux else (None, -1)
        found = vmap(lambda t: jvp(chosen, chosen.chosen, t, has_aux=has_aux),
                     out_axes=out_axes)(_standard_basis(chosen.chosen))
        value, columns = found[:2]
        for leaf in tree_flatten(value)[0]:
            _check_jacobian_output("jacfwd", leaf, holomorphic)
        example = chosen.chosen[0] if chosen.single else chosen.chosen
        jacobian = tree_map(lambda column: _unravel(example, -1, column), columns)
        return (jacobian, found[2]) if has_aux else jacobian

    return jacobian_of


def jacrev(fun: Callable, argnums: int | Sequence[int] = 0, has_aux: bool = False,
           holomorphic: bool = False, allow_int: bool = False) -> Callable:
    """The Jacobian, row by row in reverse mode (good for few outputs)."""
    check_callable(fun)
    argnums = _argnums(argnums)

    @_named_after(fun, "The Jacobian")
    def jacobian_of(*args: Any, **kwargs: Any) -> Any:
        chosen = _Selected(fun, args, kwargs, argnums)
        for leaf in tree_flatten(chosen.chosen)[0]:
            _check_input("jacrev", leaf, holomorphic, allow_int)
        parts = vjp(chosen, *chosen.chosen, has_aux=has_aux)
        value, pull = parts[:2]
        for leaf in tree_flatten(value)[0]:
            _check_jacobian_output("jacrev", leaf, holomorphic)
        rows = chosen.result(vmap(pull)(_standard_basis(value)))
        split = tree_map(lambda row: _unravel(value, 0, row), rows)
        example = chosen.chosen[0] if chosen.single else chosen.chosen
        jacobian = tree_transpose(tree_flatten(example)[1], tree_flatten(value)[1], split)
        return (jacobian, parts[2]) if has_aux else jacobian

    return jacobian_of


jacobian = jacrev


def hessian(fun: Callable, argnums: int | Sequence[int] = 0, has_aux: bool = False,
            holomorphic: bool = False) -> Callable:
    """The matrix of second derivatives: forward mode over reverse mode."""
    return jacfwd(jacrev(fun, argnums, has_aux, holomorphic), argnums, has_aux, holomorphic)


def _check_forward_input(x: Any, holomorphic: bool) -> None:
    dtype = get_aval(as_primal(x)).dtype
    if holomorphic:
        if not dtypes.is_complex(dtype):
            raise TypeError("jacfwd with holomorphic=True requires inputs with complex dtype, but "
                            f"got {dtype.name}.")
    elif not dtypes.is_inexact(dtype) or dtypes.is_complex(dtype):
        raise TypeError(
            "jacfwd requires real-valued inputs (input dtype that is a sub-dtype of np.floating), "
            f"but got {dtype.name}. For holomorphic differentiation, pass holomorphic=True. For "
            "differentiation of non-holomorphic functions involving complex inputs or integer "
            "inputs, use jax.jvp directly.")


def _check_jacobian_output(name: str, x: Any, holomorphic: bool) -> None:
    _check_output(name, x, holomorphic)


def _standard_basis(tree: Any) -> Any:
    """All unit directions of a tree at once: one leading axis."""
    leaves = tree_flatten(tree)[0]
    count = sum(get_aval(x).size for x in leaves)
    dtype = dtypes.result_type(*leaves) if leaves else np.float32
    return _unravel(tree, 1, _identity_matrix(count, dtype))


def _identity_matrix(count: int, dtype: Any) -> Any:
    rows = lax.broadcasted_iota(np.int32, (count, count), 0)
    columns = lax.broadcasted_iota(np.int32, (count, count), 1)
    return lax.convert_element_type(lax.eq(rows, columns), dtype)


def _unravel(tree: Any, axis: int, x: Any) -> Any:
    """One axis of an array cut up and reshaped like the leaves of a tree."""
    leaves, structure = tree_flatten(tree)
    shape = get_aval(x).shape
    axis %= len(shape)
    avals = [get_aval(leaf) for leaf in leaves]
    sizes = [a.size for a in avals]
    parts = lax.split(x, sizes, axis=axis) if len(sizes) > 1 else [x]
    out = []
    for part, aval in zip(parts, avals):
        want = (*shape[:axis], *aval.shape, *shape[axis + 1:])
        part = part if get_aval(part).shape == want else lax.reshape(part, want)
        dtype = aval.dtype if axis == 1 and get_aval(part).dtype != aval.dtype else None
        if dtype is not None and dtypes.is_inexact(dtype) and shape[0] == sum(sizes):
            part = lax.convert_element_type(part, dtype)
        out.append(as_result(part))
    return structure.unflatten(out)
