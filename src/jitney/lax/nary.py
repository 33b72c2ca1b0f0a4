"""What all elementwise primitives share: how they are made, their type rule, their batching.

In: a name, the kinds of numbers accepted, a NumPy function. Out: a `Primitive` with type rule,
reference and batching attached; its derivative is stated where it is defined.

Operands have one dtype and one rank; scalars go with everything, and axes of size 1 are repeated.
Invariant: the result is weakly typed exactly when every operand is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jitney.base import dtypes
from jitney.core.avals import ShapedArray, get_aval, to_array
from jitney.core.primitive import Primitive
from jitney.lax.shape import broadcast_in_dim, full_like, reshape, shape_of, sum_over
from jitney.transforms.jvp import Zero, instantiate_zeros
from jitney.transforms.transpose import define_transpose, is_undefined_primal
from jitney.transforms.vmap import define_batch, move_dimension

# --- kinds of numbers ------------------------------------------------------------------------

INTEGER = (np.integer,)
SIGNED = (np.signedinteger,)
FLOATING = (np.floating,)
COMPLEX = (np.complexfloating,)
BOOLEAN = (np.bool_,)
INEXACT = FLOATING + COMPLEX
NUMBER = INTEGER + INEXACT
REAL = INTEGER + FLOATING
BITS = INTEGER + BOOLEAN
ORDERED = REAL + BOOLEAN
ANY: tuple = ()


def members_of(kinds: tuple) -> frozenset:
    """The dtypes of these kinds."""
    return frozenset(d for d in dtypes.supported if d != dtypes.float0
                     and any(dtypes.issubdtype(d, k) for k in kinds))


def kinds_text(kinds: tuple) -> str:
    return ", ".join("bool" if k is np.bool_ else k.__name__ for k in kinds)


# --- type rules ------------------------------------------------------------------------------

_HAS_NUMPY_NAMESAKE = {
    "add", "sub", "mul", "div", "rem", "pow", "max", "min", "atan2", "nextafter", "eq", "ne", "lt",
    "le", "gt", "ge", "and", "or", "xor", "shift_left", "shift_right_arithmetic",
}
_NUMPY_NAMES = {
    "sub": "subtract", "mul": "multiply", "div": "divide", "rem": "remainder", "pow": "power",
    "max": "maximum", "min": "minimum", "atan2": "arctan2", "eq": "equal", "ne": "not_equal",
    "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal",
    "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "shift_left": "left_shift",
    "shift_right_arithmetic": "right_shift",
}


def dtype_mismatch_text(name: str, found: Sequence[Any]) -> str:
    """What to say when operands differ in dtype."""
    text = (f"lax.{name} requires arguments to have the same dtypes, got "
            f"{', '.join(map(str, found))}.")
    if name in _HAS_NUMPY_NAMESAKE:
        return (f"{text} (Tip: jnp.{_NUMPY_NAMES.get(name, name)} is a similar function that does "
                "automatic type promotion on inputs).")
    return f"{text} Convert them with lax.convert_element_type."


def require_same_dtypes(name: str, avals: Sequence[ShapedArray]) -> Any:
    """The common dtype; TypeError when there is none."""
    first = avals[0].dtype
    for a in avals:
        if a.dtype != first:
            raise TypeError(dtype_mismatch_text(name, [a.dtype for a in avals]))
    return first


def common_shape(name: str, avals: Sequence[ShapedArray]) -> tuple[int, ...]:
    """The shape scalars and arrays of one rank (with sizes equal or 1) combine to."""
    shapes = [a.shape for a in avals if a.shape]
    if not shapes:
        return ()
    first = shapes[0]
    if all(s == first for s in shapes):
        return first
    if len({len(s) for s in shapes}) != 1:
        raise TypeError(
            f"{name}: arrays must have the same number of dimensions, got "
            f"{', '.join(str(s) for s in shapes)}. lax functions do not add axes: use "
            "lax.expand_dims, or the function of jax.numpy, which aligns shapes from the right.")
    result = []
    for sizes in zip(*shapes, strict=True):
        wide = {n for n in sizes if n != 1}
        if len(wide) > 1:
            raise TypeError(
                f"{name} got incompatible shapes for broadcasting: "
                f"{', '.join(map(str, shapes))}. Sizes of an axis must be equal, or 1.")
        result.append(wide.pop() if wide else 1)
    return tuple(result)


def _unary_type(name: str, kinds: tuple, result: Callable | None) -> Callable:
    allowed, text = members_of(kinds), kinds_text(kinds)

    def rule(x, **params):
        if x.dtype not in allowed:
            raise TypeError(f"{name} does not accept dtype {x.dtype}. Accepted dtypes are "
                            f"subtypes of {text}.{_conversion_tip(x.dtype, allowed)}")
        if result is None:
            return x
        return ShapedArray(x.shape, *result(x.dtype, x.weak_type))

    return rule


def _conversion_tip(dtype: Any, allowed: frozenset) -> str:
    if dtypes.is_extended(dtype):
        return " Random keys have no arithmetic; jax.random.key_data gives their content."
    if dtypes.is_complex(dtype):
        return " Apply it to lax.real(x) and lax.imag(x)."
    wanted = next((name for name in ("int32", "float32") if np.dtype(name) in allowed), "complex64")
    return (f" Convert with lax.convert_element_type(x, '{wanted}'); functions of jax.numpy do so "
            "by themselves.")


def _nary_type(name: str, kinds: Sequence[tuple], result: Callable | None) -> Callable:
    allowed = [members_of(k) if k else None for k in kinds]

    def rule(*avals, **params):
        for i, (x, accepted) in enumerate(zip(avals, allowed, strict=True)):
            if accepted is not None and x.dtype not in accepted:
                raise TypeError(
                    f"{name} does not accept dtype {x.dtype} at position {i}. Accepted dtypes at "
                    f"position {i} are subtypes of {kinds_text(kinds[i])}."
                    f"{_conversion_tip(x.dtype, accepted)}")
        dtype = require_same_dtypes(name, avals)
        shape = common_shape(name, avals)
        weak = all(x.weak_type for x in avals)
        if result is not None:
            dtype, weak = result(dtype, weak)
        return ShapedArray(shape, dtype, weak)

    return rule


# --- making primitives -----------------------------------------------------------------------


def unary(name: str, accepts: tuple, reference: Callable, result: Callable | None = None,
          **attributes: Any) -> Primitive:
    """An elementwise primitive of one operand.

    `result(dtype, weak) -> (dtype, weak)` where the result's type differs from the operand's.
    """
    primitive = Primitive(name, kind="elementwise", **attributes)
    primitive.def_abstract(_unary_type(name, accepts, result))
    primitive.def_reference(reference)
    define_batch(primitive, _unary_batch_rule(primitive))
    return primitive


def nary(name: str, accepts: Sequence[tuple], reference: Callable,
         result: Callable | None = None, **attributes: Any) -> Primitive:
    """An elementwise primitive of several operands of one dtype."""
    primitive = Primitive(name, kind="elementwise", **attributes)
    primitive.def_abstract(_nary_type(name, accepts, result))
    primitive.def_reference(reference)
    batch_broadcasting(primitive)
    return primitive


def binary(name: str, accepts: tuple, reference: Callable, result: Callable | None = None,
           **attributes: Any) -> Primitive:
    """An elementwise primitive of two operands of one dtype."""
    return nary(name, (accepts, accepts), reference, result, **attributes)


def hide_none(primitive: Primitive, *names: str) -> None:
    """Do not print these parameters when they are None."""
    primitive.def_print(lambda params, eqn: {
        k: v for k, v in params.items() if v is not None or k not in names})


def to_boolean(dtype: Any, weak: bool) -> tuple[Any, bool]:
    """Result type of predicates: bool, weak if the operands are, as in JAX."""
    return np.dtype(np.bool_), weak


# --- batching --------------------------------------------------------------------------------


def _unary_batch_rule(primitive: Primitive) -> Callable:
    def rule(args, dims, **params):
        return primitive.bind(args[0], **params), dims[0]

    return rule


def batch_broadcasting(primitive: Primitive) -> None:
    """Batch an elementwise primitive whose operands may be scalars or have axes of size 1.

    Operands batched alike stay as they are; otherwise the batch goes to the front, and operands
    without one get an axis of size 1 there (scalars none).
    """

    def rule(args, dims, **params):
        shapes = [shape_of(a) for a in args]
        batched = [(s, d) for s, d in zip(shapes, dims, strict=True) if d is not None]
        first = batched[0]
        if all(pair == first for pair in batched) and all(
                d is not None or not s for s, d in zip(shapes, dims, strict=True)):
            return primitive.bind(*args, **params), first[1]
        rank = max(len(s) - (d is not None) for s, d in zip(shapes, dims, strict=True))
        moved = [_batch_in_front(a, d, rank) for a, d in zip(args, dims, strict=True)]
        return primitive.bind(*moved, **params), 0

    define_batch(primitive, rule)


def _batch_in_front(x: Any, dim: int | None, rank: int) -> Any:
    shape = shape_of(x)
    if dim is None:
        return broadcast_in_dim(x, (1, *shape), range(1, len(shape) + 1)) if shape else x
    x = move_dimension(x, dim, 0)
    missing = rank - (len(shape) - 1)
    if missing == 0:
        return x
    sizes = shape_of(x)
    spread = (sizes[0], *(1,) * missing, *sizes[1:])
    return broadcast_in_dim(x, spread, (0, *range(1 + missing, len(spread))))


# --- pieces of derivative rules ----------------------------------------------------------------


def constant(x: Any, value: float) -> Any:
    """`value` as a scalar of exactly the type of `x` (a literal in a traced program)."""
    aval = get_aval(x)
    if not aval.weak_type:
        return aval.dtype.type(value)
    kind = dtypes.scalar_type_of(aval.dtype)
    if dtypes.python_scalar_dtype(kind) == aval.dtype:
        return kind(value)
    return to_array(aval.dtype.type(value), ShapedArray((), aval.dtype, True))


def filled(x: Any, value: float) -> Any:
    """`value` with the shape and type of `x`."""
    return full_like(x, value) if shape_of(x) else constant(x, value)


def broadcast_to(x: Any, shape: tuple[int, ...]) -> Any:
    """A scalar, or an array with axes of size 1, repeated to `shape`."""
    if shape_of(x) == shape:
        return x
    dims = range(len(shape)) if shape_of(x) else ()
    return broadcast_in_dim(x, shape, dims)


def unbroadcast(ct: Any, aval: ShapedArray) -> Any:
    """Sum a cotangent over what the operand was repeated along."""
    if type(ct) is Zero:
        return Zero(aval)
    shape = shape_of(ct)
    if shape == aval.shape:
        return ct
    if not aval.shape:
        return sum_over(ct, tuple(range(len(shape))))
    axes = tuple(i for i, (n, m) in enumerate(zip(shape, aval.shape, strict=True)) if n != m)
    return reshape(sum_over(ct, axes), aval.shape)


def transpose_each(primitive: Primitive, *each: Callable | None) -> None:
    """One rule an operand, `(ct, *operands, **params)`; shapes and symbolic zeros are seen to."""

    def rule(ct, *operands, **params):
        out = []
        for x, partial in zip(operands, each, strict=True):
            if not is_undefined_primal(x):
                out.append(None)
            elif type(ct) is Zero:
                out.append(Zero(x.aval))
            elif partial is None:
                raise NotImplementedError(f"{primitive} is not linear in this operand")
            else:
                out.append(unbroadcast(partial(ct, *operands, **params), x.aval))
        return out

    define_transpose(primitive, rule)


def instantiated(*tangents: Any) -> list:
    """Tangents as arrays, symbolic zeros included."""
    return [instantiate_zeros(t) for t in tangents]


# --- pieces of references ----------------------------------------------------------------------

_WIDER = {
    **{d: np.float32 for d in members_of(FLOATING)},
    np.dtype(np.float32): np.float64, np.dtype(np.float64): np.float64,
    np.dtype(np.complex64): np.complex128, np.dtype(np.complex128): np.complex128,
    **{np.dtype(d): np.int32 for d in members_of(INTEGER) if d.kind not in "iu"},
}


def widened(function: Callable) -> Callable:
    """A reference that computes in the next wider type and rounds once."""

    def reference(*args, **params):
        dtype = args[0].dtype
        wide = _WIDER.get(dtype, dtype)
        return np.asarray(function(*[a.astype(wide) for a in args])).astype(dtype)

    return reference


def small_as_wide(function: Callable) -> Callable:
    """A reference that widens only the types NumPy has no arithmetic for."""

    def reference(*args, **params):
        dtype = args[0].dtype
        if dtype.kind in "biufc" and dtype.itemsize > (2 if dtype.kind == "f" else 0):
            return function(*args)
        wide = _WIDER.get(dtype, dtype)
        return np.asarray(function(*[a.astype(wide) for a in args])).astype(dtype)

    return reference
