"""Arguments of array functions: what is accepted, and to which dtype and rank it is promoted.

In: whatever the user passed. Out: values `lax` accepts, of one dtype, ranks aligned.
Invariant: Python scalars stay scalars (they become literals of a jaxpr), lists are refused.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from jitney import lax
from jitney.base import config, dtypes, errors
from jitney.core import avals
from jitney.core.trace import Tracer

_PYTHON_SCALARS = (bool, int, float, complex)


# --- what is accepted ------------------------------------------------------------------------


def is_arraylike(x: Any) -> bool:
    """Whether `x` is an array, tracer, NumPy value, Python number, or converts itself."""
    return avals.valid_array_type(x) or hasattr(x, "__jax_array__")


def check_arraylike(name: str, *args: Any) -> None:
    """Refuse lists, None, strings and foreign objects with a TypeError."""
    for position, x in enumerate(args):
        if not is_arraylike(x):
            if isinstance(x, (np.ndarray, np.generic)):
                raise TypeError(f"{name} requires arrays of a numeric dtype, got dtype {x.dtype} "
                                f"at position {position}.")
            raise TypeError(f"{name} requires ndarray or scalar arguments, got {type(x)} at "
                            f"position {position}.")


def unwrapped(x: Any) -> Any:
    """`x`, or what its `__jax_array__` gives."""
    if avals.is_value(x):
        return x
    convert_itself = getattr(x, "__jax_array__", None)
    return convert_itself() if convert_itself is not None else x


def arraylike(name: str, *args: Any) -> Any:
    """Checked arguments, `__jax_array__` objects converted; one value or a tuple."""
    check_arraylike(name, *args)
    values = tuple(unwrapped(x) for x in args)
    return values[0] if len(values) == 1 else values


def as_value(x: Any) -> Any:
    """An array or tracer, from any accepted argument."""
    return x if isinstance(x, (avals.Array, Tracer)) else avals.to_array(x)


def array_arguments(name: str, *args: Any) -> Any:
    """Checked arguments as arrays or tracers; one value or a tuple."""
    for x in args:
        if type(x) is not avals.Array:
            break
    else:
        return args[0] if len(args) == 1 else args
    check_arraylike(name, *args)
    values = tuple(as_value(unwrapped(x)) for x in args)
    return values[0] if len(values) == 1 else values


def no_out(name: str, out: Any) -> None:
    if out is not None:
        raise NotImplementedError(f"The 'out' argument to jnp.{name} is not supported.")


# --- types -----------------------------------------------------------------------------------


def check_flag(name: str, argument: str, value: Any) -> None:
    """Refuse what is neither True nor False, for options that nothing else would look at."""
    if not isinstance(value, (bool, int, np.bool_)):
        raise TypeError(f"{name}: {argument} takes True or False, not {value!r}")


def dtype_of(x: Any) -> Any:
    return avals.get_aval(x).dtype


def shape_of(x: Any) -> tuple[int, ...]:
    found = getattr(x, "shape", None)
    return found if isinstance(found, tuple) else np.shape(x)


def _spec(x: Any) -> tuple[Any, bool]:
    aval = avals.get_aval(x)
    return aval.dtype, aval.weak_type


def requested_dtype(dtype: Any, name: str = "astype") -> Any:
    """The canonical dtype a user asked for, with a warning where 64 bits are refused."""
    if dtype is None:
        return None
    wanted = dtypes.dtype_of_spec(dtype)
    found = dtypes.canonicalize_dtype(wanted, allow_extended_dtype=True)
    if found != wanted and dtype not in _PYTHON_SCALARS:
        warnings.warn(
            f"Explicitly requested dtype {wanted.name} requested in {name} is not available, and "
            f"will be truncated to dtype {found.name}. To enable more dtypes, set the "
            "jax_enable_x64 configuration option or the JAX_ENABLE_X64 shell environment "
            "variable.", stacklevel=3)
    return found


def concrete_or_error(x: Any, context: str = "") -> Any:
    """The value behind `x`, now; ConcretizationTypeError when it is being traced."""
    if isinstance(x, Tracer):
        value = x._concrete()
        if value is None:
            raise errors.ConcretizationTypeError(x, context)
        return value
    return x


def is_concrete(x: Any) -> bool:
    return not isinstance(x, Tracer) or x._concrete() is not None


def static_int(x: Any, context: str = "") -> int:
    return operator.index(concrete_or_error(x, context))


# --- conversion ------------------------------------------------------------------------------


def convert_with_weak_type(x: Any, dtype: Any, weak: bool) -> Any:
    """`lax.convert_element_type` to a canonical dtype, with a given weak type."""
    return lax.convert_element_type_p.bind(x, new_dtype=dtype, weak_type=weak, sharding=None)


def convert(x: Any, dtype: Any, weak: bool = False) -> Any:
    """`x` in this canonical dtype; Python and NumPy scalars are converted on the spot."""
    kind = type(x)
    if kind in _PYTHON_SCALARS:
        if not weak:
            return _number(x, dtype)
        if dtypes.is_inexact(dtype) and kind in (bool, int):
            x, kind = float(x), float
        if dtypes.is_complex(dtype):
            x, kind = complex(x), complex
        if dtypes.python_scalar_dtype(kind) == dtype and kind is not bool:
            return x
        return convert_with_weak_type(x, dtype, weak)
    if isinstance(x, np.generic) and not weak:
        return np.asarray(x).astype(dtype)[()]
    aval = avals.get_aval(x)
    if aval.dtype == dtype and aval.weak_type == weak:
        return x
    return convert_with_weak_type(x, dtype, weak)


def strong(x: Any) -> Any:
    """`x` with a strong type."""
    return convert(x, dtype_of(x))


def _number(x: Any, dtype: Any) -> Any:
    if dtypes.is_inexact(dtype) or type(x) in (bool, int):
        return np.asarray(x, dtype=dtype)[()]
    return np.asarray(x).astype(dtype)[()]


def promote_dtypes(*args: Any) -> list[Any]:
    """The arguments in their common dtype, by the promotion lattice with weak types."""
    if len(args) == 1:
        return list(args)
    specs = [_spec(x) for x in args]
    dtype, weak = dtypes.promote(tuple(specs))
    return [convert(x, dtype, weak) for x in args]


def promote_dtypes_inexact(*args: Any) -> list[Any]:
    """As `promote_dtypes`, integers and booleans becoming floating."""
    return _promoted_to(args, dtypes.to_inexact_dtype)


def promote_dtypes_numeric(*args: Any) -> list[Any]:
    """As `promote_dtypes`, booleans becoming integers."""
    return _promoted_to(args, _numeric)


def _numeric(dtype: Any) -> Any:
    return np.dtype(np.int32) if dtype == np.bool_ else dtype


def promote_dtypes_complex(*args: Any) -> list[Any]:
    return _promoted_to(args, dtypes.to_complex_dtype)


def _promoted_to(args: Sequence[Any], adjusted: Any) -> list[Any]:
    dtype, weak = dtypes.promote(tuple(_spec(x) for x in args))
    wanted = dtypes.canonicalize_dtype(adjusted(dtype))
    return [convert(x, wanted, weak) for x in args]


def promote_shapes(name: str, *args: Any) -> list[Any]:
    """Ranks aligned by leading axes of length one; scalars are left alone."""
    shapes = [shape_of(x) for x in args]
    ranks = {len(s) for s in shapes}
    if len(ranks) == 1 and len(set(shapes)) == 1:
        return list(args)
    nonscalar = {r for r in ranks if r}
    if len(set(s for s in shapes if s)) > 1:
        broadcast_shapes_or_error(name, shapes)
    if len(nonscalar) < 2:
        return list(args)
    if config.numpy_rank_promotion.value != "allow":
        _report_rank_promotion(name, shapes)
    rank = max(nonscalar)
    return [lax.broadcast_to_rank(x, rank) if s and len(s) != rank else x
            for x, s in zip(args, shapes)]


def _report_rank_promotion(name: str, shapes: Sequence[tuple[int, ...]]) -> None:
    listed = ", ".join(str(s) for s in shapes)
    if config.numpy_rank_promotion.value == "raise":
        raise ValueError(f"Operands could not be broadcast together for {name} on shapes {listed} "
                         "and with the config option jax_numpy_rank_promotion='raise'. For more "
                         "information, see the documentation of rank promotion.")
    warnings.warn(f"Following NumPy automatic rank promotion for {name} on shapes {listed}. Set "
                  "the jax_numpy_rank_promotion config option to 'allow' to disable this warning.",
                  stacklevel=4)


def broadcast_shapes_or_error(name: str, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The common shape; a TypeError for shapes of one rank, as of `lax`, else a ValueError."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        if len({len(s) for s in shapes}) == 1 and name != "where":
            listed = ", ".join(str(s) for s in shapes)
            text = f"{name} got incompatible shapes for broadcasting: {listed}."
            raise TypeError(text) from None
        raise ValueError(f"Incompatible shapes for broadcasting: shapes={list(shapes)}, in {name}"
                         ) from None


def promote_args(name: str, *args: Any) -> list[Any]:
    """Checked, of one dtype, ranks aligned."""
    return promote_shapes(name, *promote_dtypes(*_checked(name, args)))


def promote_args_inexact(name: str, *args: Any) -> list[Any]:
    return promote_shapes(name, *promote_dtypes_inexact(*_checked(name, args)))


def promote_args_numeric(name: str, *args: Any) -> list[Any]:
    return promote_shapes(name, *promote_dtypes_numeric(*_checked(name, args)))


def _checked(name: str, args: Sequence[Any]) -> Sequence[Any]:
    for x in args:
        if type(x) not in _PYTHON_SCALARS and not isinstance(x, Tracer):
            check_arraylike(name, *args)
            return tuple(unwrapped(a) for a in args)
    return args


# --- axes ------------------------------------------------------------------------------------


def canonical_axis(axis: Any, rank: int) -> int:
    """A non-negative axis; AxisError (a ValueError and an IndexError) when out of bounds."""
    number = operator.index(axis)
    if not -rank <= number < rank:
        raise np.exceptions.AxisError(number, rank)
    return number + rank if number < 0 else number


def canonical_axes(axis: Any, rank: int, name: str = "axis") -> tuple[int, ...]:
    """Axes given as None (all), one integer, or a sequence, without repetition."""
    if axis is None:
        return tuple(range(rank))
    if isinstance(axis, (tuple, list)) or (isinstance(axis, np.ndarray) and axis.ndim):
        found = tuple(canonical_axis(a, rank) for a in axis)
        if len(set(found)) != len(found):
            raise ValueError(f"duplicate value in '{name}': {tuple(axis)}")
        return found
    return (canonical_axis(axis, rank),)


def static_axis(axis: Any) -> Any:
    """An axis argument in a form that can be part of a cache key."""
    return tuple(axis) if isinstance(axis, (list, np.ndarray)) and np.ndim(axis) else axis


def static_shape(shape: Any) -> Any:
    """A shape argument in a form that can be part of a cache key."""
    if type(shape) is int:
        return shape
    if type(shape) is tuple:
        for n in shape:
            if type(n) is not int:
                return canonical_shape(shape)
        return shape
    return canonical_shape(shape)


def canonical_shape(shape: Any, context: str = "") -> tuple[int, ...]:
    """A shape given as an integer or a sequence of integers."""
    if isinstance(shape, Tracer):
        shape = np.asarray(concrete_or_error(shape, context or "Shapes must be concrete."))
    try:
        return (operator.index(shape),)
    except TypeError:
        pass
    try:
        return tuple(operator.index(n) for n in shape)
    except TypeError:
        given = tuple(shape) if isinstance(shape, (list, tuple)) else (shape,)
        hint = ("\nIf using `jit`, try using `static_argnums` or applying `jit` to smaller "
                "subfunctions." if any(isinstance(n, Tracer) for n in given) else "")
        raise TypeError("Shapes must be 1D sequences of concrete values of integer type, got "
                        f"{given}.{hint}\n{errors.origins_of(given)}".rstrip()) from None
