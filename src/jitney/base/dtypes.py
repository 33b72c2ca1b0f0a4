"""Data types: names, canonical widths, and the promotion lattice with weak types.

In: anything that names a dtype (NumPy dtypes and scalar types, Python scalar types, strings,
ml_dtypes types, extended dtypes). Out: `np.dtype` objects (or extended dtypes, as they are).

Weak types are the types of Python scalars: `int`, `float` and `complex` stand for them in the
lattice, between the concrete types they give way to.
Invariant: `canonicalize_dtype` is the only place that knows about 32- against 64-bit mode.
"""

from __future__ import annotations

import functools
from typing import Any

import ml_dtypes
import numpy as np

from jitney.base import config

# --- extended dtypes -------------------------------------------------------------------------


class extended(np.generic):
    """Scalar class of dtypes NumPy does not know (random keys, …)."""


class prng_key(extended):
    """Scalar class of the dtypes of typed random keys."""


class ExtendedDType:
    """Base of dtypes with a representation of their own: `.type`, `.name`, `.itemsize`.

    `physical_dtype` and `physical_shape` say how one element is stored.
    """

    _is_extended_dtype = True
    type: type = extended
    name: str = "extended"
    itemsize: int = 0
    physical_dtype: np.dtype = np.dtype(np.uint32)
    physical_shape: tuple[int, ...] = ()


def is_extended(dtype: Any) -> bool:
    return getattr(dtype, "_is_extended_dtype", False) is True


# --- the known types -------------------------------------------------------------------------

bfloat16 = ml_dtypes.bfloat16
float0 = np.dtype([("float0", np.void, 0)])

_SMALL_FLOATS = tuple(np.dtype(getattr(ml_dtypes, name)) for name in (
    "float4_e2m1fn", "float8_e3m4", "float8_e4m3", "float8_e8m0fnu", "float8_e4m3b11fnuz",
    "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"))
_SMALL_SIGNED = tuple(np.dtype(t) for t in (ml_dtypes.int2, ml_dtypes.int4))
_SMALL_UNSIGNED = tuple(np.dtype(t) for t in (ml_dtypes.uint2, ml_dtypes.uint4))
_SMALL_INTS = _SMALL_SIGNED + _SMALL_UNSIGNED
_BFLOAT16 = np.dtype(bfloat16)
_BOOL = np.dtype(np.bool_)
_SIGNED = tuple(np.dtype(f"int{b}") for b in (8, 16, 32, 64))
_UNSIGNED = tuple(np.dtype(f"uint{b}") for b in (8, 16, 32, 64))
_FLOATS = (np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64))
_COMPLEX = (np.dtype(np.complex64), np.dtype(np.complex128))
_CUSTOM_FLOATS = frozenset((*_SMALL_FLOATS, _BFLOAT16))
_CUSTOM_INTS = frozenset(_SMALL_INTS)
_FLOATING = frozenset((*_FLOATS, *_CUSTOM_FLOATS))
_INTEGRAL = frozenset((*_SIGNED, *_UNSIGNED, *_SMALL_INTS))

supported = frozenset((_BOOL, *_INTEGRAL, *_FLOATING, *_COMPLEX, float0))

_NARROW = {
    np.dtype("int64"): np.dtype("int32"), np.dtype("uint64"): np.dtype("uint32"),
    np.dtype("float64"): np.dtype("float32"), np.dtype("complex128"): np.dtype("complex64"),
}
_SHORT = {"bfloat16": "bf16", "bool": "bool", "float0": "float0"}
_PYTHON_SCALARS = {bool: np.dtype("bool"), int: np.dtype("int64"),
                   float: np.dtype("float64"), complex: np.dtype("complex128")}
python_scalar_types = (bool, int, float, complex)


@functools.lru_cache(maxsize=512)
def _as_dtype(spec: Any) -> np.dtype:
    found = _PYTHON_SCALARS.get(spec)
    if found is not None:
        return found
    if isinstance(spec, str):
        if spec == "float0":
            return float0
        named = getattr(ml_dtypes, spec, None)
        if isinstance(named, type):
            return np.dtype(named)
    return np.dtype(spec)


def dtype_of_spec(spec: Any) -> Any:
    """The `np.dtype` (or extended dtype) a specification names, at its own width."""
    if isinstance(spec, np.dtype) or is_extended(spec):
        return spec
    if spec is None:
        raise TypeError("None is not a dtype here; state one")
    try:
        return _as_dtype(spec)
    except TypeError:
        inner = getattr(spec, "dtype", None)     # jnp.float32 and other scalar makers
        if isinstance(inner, np.dtype) or is_extended(inner):
            return inner
        raise TypeError(f"{spec!r} is not a dtype") from None


def canonicalize_dtype(dtype: Any, allow_extended_dtype: bool = False) -> Any:
    """The dtype arrays of this kind have in the present mode: 64-bit types narrow unless x64 is on.

    >>> canonicalize_dtype("float64")
    dtype('float32')
    """
    dtype = dtype_of_spec(dtype)
    if is_extended(dtype):
        if not allow_extended_dtype:
            raise ValueError(f"{dtype} is an extended dtype; a plain one is needed here")
        return dtype
    if dtype not in supported:
        raise TypeError(f"dtype {dtype} is not a valid array type")
    if dtype in _NARROW and not config.enable_x64.value:
        return _NARROW[dtype]
    return dtype


def canonical_table() -> dict[np.dtype, np.dtype]:
    """Every supported dtype with its canonical one, in the present mode."""
    wide = config.enable_x64.value
    return {t: t if wide else _NARROW.get(t, t) for t in supported if t != float0}


def python_scalar_dtype(kind: type) -> np.dtype:
    """The dtype of a Python scalar of type `kind` in the present mode."""
    dtype: Any = _PYTHON_SCALARS[kind]
    return dtype if config.enable_x64.value else _NARROW.get(dtype, dtype)


def short_name(dtype: Any) -> str:
    """`f32`, `i8`, `bf16`, `key<fry>`…: the name used in jaxprs."""
    name = dtype.name if dtype != float0 else "float0"
    found = _SHORT.get(name)
    if found is None:
        found = name
        if not is_extended(dtype):
            for long, short in (("uint", "u"), ("int", "i"), ("float", "f"), ("complex", "c")):
                if name.startswith(long):
                    found = short + name[len(long):]
                    break
        _SHORT[name] = found
    return found


def itemsize_bits(dtype: Any) -> int:
    """Width of one element in bits: 4 for int4, 8 for bool."""
    dtype = dtype_of_spec(dtype)
    if dtype in _CUSTOM_INTS:
        return iinfo(dtype).bits
    if dtype == np.dtype(ml_dtypes.float4_e2m1fn):
        return 4
    return dtype.itemsize * 8


def finfo(dtype: Any):
    """Machine limits of a floating type (also bfloat16 and the 8-bit floats)."""
    if not isinstance(dtype, (type, str, np.dtype)) and hasattr(dtype, "dtype"):
        dtype = dtype.dtype
    return ml_dtypes.finfo(dtype_of_spec(dtype))


def iinfo(dtype: Any):
    """Machine limits of an integer type (also int4 and friends)."""
    if not isinstance(dtype, (type, str, np.dtype)) and hasattr(dtype, "dtype"):
        dtype = dtype.dtype
    return ml_dtypes.iinfo(dtype_of_spec(dtype))


# --- subtype tests ---------------------------------------------------------------------------


def _as_class_or_dtype(t: Any) -> Any:
    if isinstance(t, type):
        if t in _PYTHON_SCALARS:
            return _PYTHON_SCALARS[t]
        if issubclass(t, np.generic):
            return np.dtype(t) if t in _CONCRETE_CLASSES else t
        return np.dtype(t)
    return t if is_extended(t) else dtype_of_spec(t)


_CONCRETE_CLASSES = frozenset(t.type for t in supported if t != float0)


def issubdtype(a: Any, b: Any) -> bool:
    """Like `np.issubdtype`, and knows bfloat16, small integers, and extended dtypes.

    >>> issubdtype("bfloat16", np.floating), issubdtype("int4", np.signedinteger)
    (True, True)
    """
    key = (a, b)
    try:
        found = _subtype_memo.get(key)
    except TypeError:
        return _issubdtype(a, b)
    if found is None:
        found = _subtype_memo[key] = _issubdtype(a, b)
    return found


_subtype_memo: dict[tuple, bool] = {}
_ABSTRACT_OF_CUSTOM_INT = {
    **{t: np.signedinteger for t in _SMALL_SIGNED},
    **{t: np.unsignedinteger for t in _SMALL_UNSIGNED},
}


def _issubdtype(a: Any, b: Any) -> bool:
    a, b = _as_class_or_dtype(a), _as_class_or_dtype(b)
    if is_extended(a):
        if is_extended(b):
            return a == b
        return isinstance(b, type) and issubclass(a.type, b)
    if is_extended(b):
        return False
    if isinstance(b, np.dtype):
        return a == b if isinstance(a, np.dtype) else False
    if isinstance(a, np.dtype):
        if a in _CUSTOM_FLOATS:
            a = np.floating
        elif a in _CUSTOM_INTS:
            a = _ABSTRACT_OF_CUSTOM_INT[a]
        else:
            a = a.type
    return issubclass(a, b)


def is_floating(dtype: Any) -> bool:
    return dtype in _FLOATING


def is_integer(dtype: Any) -> bool:
    return dtype in _INTEGRAL


def is_complex(dtype: Any) -> bool:
    return dtype in _COMPLEX


def is_inexact(dtype: Any) -> bool:
    return dtype in _FLOATING or dtype in _COMPLEX


# --- promotion -------------------------------------------------------------------------------
# A directed graph: an edge from a type to each type it may become. The result of combining two
# types is the least type both can become; `int`, `float`, `complex` are the weak types.

_I8, _I16, _I32, _I64 = _SIGNED
_U8, _U16, _U32, _U64 = _UNSIGNED
_F16, _F32, _F64 = _FLOATS
_C64, _C128 = _COMPLEX

_EDGES: dict[Any, tuple] = {
    _BOOL: (int,),
    int: (_U8, _I8, *_SMALL_INTS),
    **{t: () for t in _SMALL_INTS},
    _U8: (_I16, _U16), _U16: (_I32, _U32), _U32: (_I64, _U64), _U64: (float,),
    _I8: (_I16,), _I16: (_I32,), _I32: (_I64,), _I64: (float,),
    float: (complex, _F16, _BFLOAT16, *_SMALL_FLOATS),
    **{t: () for t in _SMALL_FLOATS},
    _BFLOAT16: (_F32,), _F16: (_F32,), _F32: (_F64, _C64), _F64: (_C128,),
    complex: (_C64,), _C64: (_C128,), _C128: (),
}
_STRICT_EDGES: dict[Any, tuple] = {
    **{t: () for t in _EDGES if isinstance(t, np.dtype)},
    int: (_I8, _I16, _I32, _I64, _U8, _U16, _U32, _U64, *_SMALL_INTS, float),
    float: (_BFLOAT16, _F16, _F32, _F64, *_SMALL_FLOATS, complex),
    complex: (_C64, _C128),
    _BOOL: (),
}
_WEAK = {int, float, complex}


class TypePromotionError(ValueError):
    """No implicit promotion between the given dtypes."""


def _reachable(edges: dict) -> dict[Any, frozenset]:
    above: dict[Any, frozenset] = {}

    def visit(node):
        if node not in above:
            above[node] = frozenset({node}).union(*(visit(n) for n in edges[node]))
        return above[node]

    for node in edges:
        visit(node)
    return above


_ABOVE = {"standard": _reachable(_EDGES), "strict": _reachable(_STRICT_EDGES)}


@functools.lru_cache(maxsize=4096)
def _join(mode: str, nodes: frozenset) -> Any:
    above = _ABOVE[mode]
    common = frozenset.intersection(*(above[n] for n in nodes))
    least = [n for n in common if common <= above[n]]
    if len(least) == 1:
        return least[0]
    raise TypePromotionError(_promotion_message(mode, nodes))


def _promotion_message(mode: str, nodes: frozenset) -> str:
    names = tuple(sorted(n.__name__ if isinstance(n, type) else n.name for n in nodes))
    text = f"Input dtypes {names} have no available implicit dtype promotion path"
    if mode == "strict":
        return (text + " when jax_numpy_dtype_promotion=strict. Cast the inputs explicitly with "
                "x.astype(...), or set jax_numpy_dtype_promotion=standard.")
    if any(n in _CUSTOM_INTS for n in nodes):
        return (text + ". 1-bit, 2-bit and 4-bit integers are never promoted implicitly. Convert "
                "explicitly, e.g. x.astype('int32').")
    return (text + ". 8-bit floats are never promoted implicitly. Convert explicitly, e.g. "
            "x.astype('float32').")


def _mode() -> str:
    return config.numpy_dtype_promotion.value


def promote_nodes(nodes: frozenset) -> tuple[Any, bool]:
    """Join lattice nodes: (dtype at full width, whether it is weak)."""
    found = _join(_mode(), nodes)
    if found in _WEAK:
        return _PYTHON_SCALARS[found], True
    return found, False


def _node(dtype: Any, weak: bool) -> Any:
    if not weak:
        return dtype
    if dtype == _BOOL:
        return _BOOL
    if dtype in _INTEGRAL:
        return int
    return complex if dtype in _COMPLEX else float


def promote(specs: tuple[tuple[Any, bool], ...]) -> tuple[Any, bool]:
    """The (canonical dtype, weak type) of combining operands given as (dtype, weak) pairs.

    >>> promote(((np.dtype("int32"), False), (np.dtype("float32"), True)))
    (dtype('float32'), True)
    """
    return _promote(_mode(), config.enable_x64.value, tuple(specs))


@functools.lru_cache(maxsize=8192)
def _promote(mode: str, wide: bool, specs: tuple) -> tuple[Any, bool]:
    if not specs:
        raise ValueError("at least one array or dtype is required")
    extended_ones = [d for d, _ in specs if is_extended(d)]
    if extended_ones:
        if all(d == extended_ones[0] for d, _ in specs):
            return extended_ones[0], False
        raise ValueError(f"cannot promote {extended_ones[0]} with other dtypes: "
                         f"{[str(d) for d, _ in specs]}")
    for dtype, _ in specs:
        if dtype not in supported or dtype == float0:
            if all(d == dtype for d, _ in specs):
                return dtype, False
            raise TypePromotionError(f"dtype {dtype} takes no part in promotion")
    if all(weak for _, weak in specs):                 # weak kinds keep their own width
        kinds = {_node(d, True) for d, _ in specs}
        found = _join("standard" if mode == "standard" else "strict", frozenset(kinds))
        dtypes_found = [d for d, _ in specs if _node(d, True) == found]
        if dtypes_found and all(d == dtypes_found[0] for d in dtypes_found):
            dtype = dtypes_found[0]
        else:
            dtype = found if isinstance(found, np.dtype) else _PYTHON_SCALARS[found]
        return _narrow(dtype, wide), dtype != _BOOL       # what promotion makes boolean is strong
    dtype = _join(mode, frozenset(_node(d, weak) for d, weak in specs))
    weak = dtype in _WEAK
    return _narrow(_PYTHON_SCALARS[dtype] if weak else dtype, wide), weak


def _narrow(dtype: np.dtype, wide: bool) -> np.dtype:
    return dtype if wide else _NARROW.get(dtype, dtype)


def promote_types(a: Any, b: Any) -> np.dtype:
    """The dtype two dtypes combine to; Python scalar types are weak."""
    return _promote(_mode(), True, (_spec_of(a), _spec_of(b)))[0]


def _spec_of(x: Any) -> tuple[Any, bool]:
    """(dtype, weak) of a value or a dtype specification."""
    if isinstance(x, type) and x in _PYTHON_SCALARS:
        return _PYTHON_SCALARS[x], x is not bool
    if isinstance(x, (bool, int, float, complex)) and type(x) in _PYTHON_SCALARS:
        return _PYTHON_SCALARS[type(x)], type(x) is not bool
    if isinstance(x, (str, np.dtype, type)) or is_extended(x):
        return dtype_of_spec(x), False
    dtype = getattr(x, "dtype", None)
    if dtype is None:
        return np.asarray(x).dtype, False
    aval = getattr(x, "aval", None)
    weak = getattr(aval if aval is not None else x, "weak_type", False)
    return dtype_of_spec(dtype), bool(weak)


def dtype(x: Any, *, canonicalize: bool = False) -> Any:
    """The dtype of a value or specification."""
    found = _spec_of(x)[0]
    return canonicalize_dtype(found, allow_extended_dtype=True) if canonicalize else found


def is_weakly_typed(x: Any) -> bool:
    return _spec_of(x)[1]


def result_type(*args: Any, return_weak_type_flag: bool = False) -> Any:
    """The dtype that combining the arguments (values or dtypes) gives.

    >>> result_type("int32", float)
    dtype('float32')
    """
    if not args:
        raise ValueError("at least one array or dtype is required")
    found, weak = promote(tuple(_spec_of(a) for a in args))
    return (found, weak) if return_weak_type_flag else found


def scalar_type_of(x: Any) -> type:
    """The Python scalar type (bool, int, float or complex) of a value's kind."""
    found = dtype(x)
    if found == _BOOL:
        return bool
    for members, kind in ((_INTEGRAL, int), (_FLOATING, float), (_COMPLEX, complex)):
        if found in members:
            return kind
    raise TypeError(f"no Python scalar type for {x!r} of dtype {found}")


def to_inexact_dtype(dtype: Any) -> np.dtype:
    """The floating type integers and booleans of this dtype are computed in."""
    dtype = dtype_of_spec(dtype)
    return _TO_INEXACT.get(dtype, dtype)


_TO_INEXACT: dict[Any, Any] = {
    _BOOL: _F32, _U8: _F32, _I8: _F32, _U16: _F32, _I16: _F32, _U32: _F32, _I32: _F32,
    _U64: _F64, _I64: _F64, **{t: _F32 for t in _SMALL_INTS},
}


def to_numeric_dtype(dtype: Any) -> np.dtype:
    """Booleans become int32; every other type stays."""
    dtype = dtype_of_spec(dtype)
    return _I32 if dtype == _BOOL else dtype


def to_complex_dtype(dtype: Any) -> np.dtype:
    """The complex type that holds values of this dtype."""
    dtype = to_inexact_dtype(dtype)
    return dtype if dtype in _COMPLEX else _C128 if dtype == _F64 else _C64


def to_floating_dtype(dtype: Any) -> np.dtype:
    """The real type of a complex dtype; integers become inexact."""
    dtype = to_inexact_dtype(dtype)
    parts: dict[Any, Any] = {_C64: _F32, _C128: _F64}
    return parts.get(dtype, dtype)
