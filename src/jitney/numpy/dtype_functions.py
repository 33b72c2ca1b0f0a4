"""Questions about dtypes: finfo, iinfo, promotion, subtypes, kinds; and text of arrays.

In: dtypes or values. Out: dtypes, booleans, limits.
Invariant: promotion is the lattice of `base.dtypes`, canonical for the present mode.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from jitney.base import dtypes

iinfo = ml_dtypes.iinfo
can_cast = np.can_cast
array_repr, array_str = np.array_repr, np.array_str
save, savez = np.save, np.savez
ComplexWarning = np.exceptions.ComplexWarning
pi, e, inf, nan, euler_gamma, newaxis = np.pi, np.e, np.inf, np.nan, np.euler_gamma, None


class finfo(ml_dtypes.finfo):
    """Limits of a floating dtype, also of an array's.

    Those of float32 are Python floats, as the array API standard asks; those of float64 are floats
    anyway, and those of narrower types numbers of that type.
    """

    def __new__(cls, dtype):
        found = ml_dtypes.finfo(dtype)
        return _FLOAT32_LIMITS if found.dtype == np.float32 else found


_FIELDS = """bits dtype eps epsneg iexp machep max maxexp min minexp negep nexp nmant precision
resolution smallest_normal smallest_subnormal tiny""".split()


def _float32_limits() -> finfo:
    """An instance of a class with these fields: some of NumPy's are properties of the class."""
    source = ml_dtypes.finfo(np.float32)
    fields = {name: getattr(source, name) for name in _FIELDS}
    fields = {n: float(v) if isinstance(v, np.floating) else v for n, v in fields.items()}
    texts = {"__repr__": lambda _: repr(source), "__str__": lambda _: str(source)}
    return object.__new__(type("finfo", (finfo,), {**fields, **texts}))


_FLOAT32_LIMITS = _float32_limits()


def promote_types(a, b):
    """The dtype two dtypes combine to."""
    return dtypes.promote_types(a, b)


def result_type(*args):
    """The dtype that combining the arguments (values or dtypes) gives."""
    return dtypes.result_type(*args)


def issubdtype(arg1, arg2):
    """Whether a dtype is of a kind."""
    return dtypes.issubdtype(_plain(arg1), _plain(arg2))


def _plain(spec: Any) -> Any:
    """The NumPy scalar type or dtype a scalar maker stands for."""
    if isinstance(spec, type) and isinstance(getattr(spec, "dtype", None), np.dtype):
        return spec.dtype
    return spec


_KINDS = {
    "bool": (np.bool_,), "signed integer": (np.signedinteger,),
    "unsigned integer": (np.unsignedinteger,), "integral": (np.integer,),
    "real floating": (np.floating,), "complex floating": (np.complexfloating,),
    "numeric": (np.integer, np.floating, np.complexfloating),
}


def isdtype(dtype, kind):
    """Whether a dtype is one of the given kinds or dtypes."""
    wanted = dtypes.dtype_of_spec(_plain(dtype))
    for one in kind if isinstance(kind, tuple) else (kind,):
        if isinstance(one, str) and one in _KINDS:
            if any(dtypes.issubdtype(wanted, k) for k in _KINDS[one]):
                return True
            continue
        if isinstance(one, str) and one not in _KINDS:
            try:
                given = np.dtype(one)
            except TypeError as error:
                raise ValueError(f"Unrecognized {kind=} expected one of {list(_KINDS)}, or a "
                                 "compatible input for jnp.dtype()") from error
        else:
            given = dtypes.dtype_of_spec(_plain(one))
        if given == wanted:
            return True
    return False


def iscomplexobj(x):
    """Whether the value's type is complex."""
    if x is None:
        return False
    try:
        found = dtypes.dtype(x)
    except (TypeError, AttributeError):
        found = np.asarray(x).dtype
    return dtypes.is_complex(found)


def isrealobj(x):
    """Whether the value's type is not complex."""
    return not iscomplexobj(x)


def printoptions(*args, **kwargs):
    """Context manager: how arrays are shown inside the block."""
    return np.printoptions(*args, **kwargs)


def set_printoptions(*args, **kwargs):
    """Set how arrays are shown."""
    np.set_printoptions(*args, **kwargs)


def get_printoptions():
    """How arrays are shown."""
    return np.get_printoptions()



dtype = np.dtype
