"""Complex numbers and their parts: real, imag, complex, conj, abs, sign.

In: real or complex numbers. Out: parts, or complex numbers made of parts.
Invariant: cotangents follow JAX's convention: for real f, grad is the conjugate of the gradient.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jitney.base import dtypes
from jitney.core.avals import get_aval
from jitney.lax import compare
from jitney.lax.arithmetic import div, mul, neg
from jitney.lax.cast import convert_element_type
from jitney.lax.nary import (
    COMPLEX,
    FLOATING,
    NUMBER,
    SIGNED,
    binary,
    constant,
    filled,
    small_as_wide,
    transpose_each,
    unary,
)
from jitney.lax.select import select
from jitney.lax.shape import linear
from jitney.transforms.jvp import Zero, define_jvp, define_linear, define_zero_jvp

_PART = {np.dtype(np.complex64): np.dtype(np.float32),
         np.dtype(np.complex128): np.dtype(np.float64)}
_WHOLE = {part: whole for whole, part in _PART.items()}


def _part_type(dtype: Any, weak: bool) -> tuple[Any, bool]:
    return _PART.get(dtype, dtype), weak


def _whole_type(dtype: Any, weak: bool) -> tuple[Any, bool]:
    return _WHOLE.get(dtype, dtype), weak


# --- real, imag, complex, conj ---------------------------------------------------------------


def real(x):
    """The real part of a complex number."""
    return real_p.bind(x)


real_p = unary("real", COMPLEX, np.real, _part_type)


def _zero_part(ct: Any) -> Any:
    return constant(ct, 0)


linear(real_p, lambda ct, x: [complex(ct, _zero_part(ct))])


def imag(x):
    """The imaginary part of a complex number."""
    return imag_p.bind(x)


imag_p = unary("imag", COMPLEX, np.imag, _part_type)
linear(imag_p, lambda ct, x: [complex(_zero_part(ct), neg(ct))])


def complex(x, y):
    """x + i·y of two real numbers."""
    return complex_p.bind(x, y)


def _complex_reference(x, y):
    x, y = np.broadcast_arrays(x, y)
    out = np.empty(x.shape, _WHOLE[x.dtype])
    out.real, out.imag = x, y
    return out


complex_p = binary("complex", (np.float32, np.float64), _complex_reference, _whole_type)
define_linear(complex_p)
transpose_each(complex_p, lambda ct, x, y: real(ct), lambda ct, x, y: imag(neg(ct)))


def conj(x):
    """The complex conjugate; a real number as a complex one."""
    return conj_p.bind(x, input_dtype=get_aval(x).dtype)


def _conj_reference(x, *, input_dtype):
    return np.conj(x).astype(_WHOLE.get(x.dtype, x.dtype))


conj_p = unary("conj", (np.float32, *COMPLEX, np.float64), _conj_reference, _whole_type)


def _conj_transpose(ct, x, *, input_dtype):
    return [conj(ct) if dtypes.is_complex(input_dtype) else real(ct)]


linear(conj_p, _conj_transpose)

# --- abs, sign -------------------------------------------------------------------------------


def abs(x):
    """The absolute value, or modulus; the least signed integer stays."""
    return abs_p.bind(x)


abs_p = unary("abs", (*FLOATING, *COMPLEX, *SIGNED), small_as_wide(np.abs), _part_type)


def _abs_reference(x):
    if dtypes.is_complex(x.dtype):
        return np.hypot(x.real, x.imag)
    return small_as_wide(np.abs)(x)


abs_p.def_reference(_abs_reference)


def _abs_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    out = abs_p.bind(x)
    if type(t) is Zero:
        return out, Zero.from_primal_value(out)
    if not dtypes.is_complex(get_aval(x).dtype):
        return out, select(compare.ge(x, constant(x, 0)), t, neg(t))
    # d|x| = Re(conj(x)/|x| dx), taken as 0 at 0.
    conjugate = conj(x)
    modulus = convert_element_type(out, get_aval(x).dtype)
    safe = select(compare.eq(modulus, constant(modulus, 0)), filled(modulus, 1), modulus)
    return out, real(mul(t, div(conjugate, safe)))


define_jvp(abs_p, _abs_jvp)


def sign(x):
    """-1, 0 or 1; x/|x| of a complex number; NaN stays."""
    return sign_p.bind(x)


def _sign_reference(x):
    if dtypes.is_complex(x.dtype):
        modulus = np.hypot(x.real, x.imag)
        return np.where(modulus == 0, x * 0, x / np.where(modulus == 0, 1, modulus)).astype(x.dtype)
    if dtypes.is_floating(x.dtype):
        return small_as_wide(lambda a: np.where(a == 0, a, np.sign(a)))(x)
    return small_as_wide(np.sign)(x)


sign_p = unary("sign", NUMBER, _sign_reference)
define_zero_jvp(sign_p)

__all__ = [
    "abs", "abs_p", "complex", "complex_p", "conj", "conj_p", "imag", "imag_p", "real", "real_p",
    "sign", "sign_p",
]
