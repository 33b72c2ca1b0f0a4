"""`jnp.ufunc`: elementwise functions with reduce, accumulate, at, outer and reduceat.

In: a jitted elementwise function. Out: the same object with these methods: a `ufunc` *is* a
jitted function, so calling it costs no more than calling any other.
Invariant: where a native reduction or scan exists (sum, cumsum, scatter-add…) it is used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jitney import lax
from jitney.api.custom_derivatives import custom_jvp
from jitney.api.jit import jit
from jitney.base import dtypes
from jitney.numpy import indexing, reductions
from jitney.numpy.jitted import named, traced_call
from jitney.numpy.manipulation import moveaxis, ravel
from jitney.numpy.promotion import (
    array_arguments,
    canonical_axes,
    canonical_axis,
    convert,
    dtype_of,
    no_out,
    promote_args,
    promote_args_inexact,
    requested_dtype,
    shape_of,
)
from jitney.numpy.replay import ElementwiseFunction
from jitney.numpy.ufuncs import constant, multiply_values, truth
from jitney.numpy.vectorization import vectorize
from jitney.numpy.where import where_value


class ufunc(ElementwiseFunction):
    """An elementwise function with NumPy's ufunc methods.

    `ufunc(func, nin, nout)` makes one from a function of scalars.
    """

    def __init__(self, func, /, nin, nout, *, name=None, nargs=None, identity=None, call=None,
                 reduce=None, accumulate=None, at=None, reduceat=None):
        made = jit(call or vectorize(func), inline=True)
        self.__dict__.update(made.__dict__)
        self.__dict__.update(
            func=func, nin=nin, nout=nout, nargs=nin if nargs is None else nargs,
            identity=identity, __name__=name or func.__name__, __doc__=func.__doc__,
            _own_reduce=reduce, _own_accumulate=accumulate, _own_at=at, _own_reduceat=reduceat)

    def __repr__(self):
        return f"<jnp.ufunc '{self.__name__}'>"

    def __hash__(self):
        return id(self)

    def __eq__(self, other):
        return self is other

    def __reduce__(self):
        return self.__name__

    def _binary(self, method: str) -> None:
        if self.nin != 2 or self.nout != 1:
            raise ValueError(f"{method} only supported for binary ufuncs with a single output; got "
                             f"nin={self.nin}, nout={self.nout}")

    def reduce(self, a, axis=0, dtype=None, out=None, keepdims=False, initial=None, where=None):
        """Combine all elements along axes (axis 0 when none is given, all with axis=None)."""
        self._binary("reduce")
        no_out(f"{self.__name__}.reduce", out)
        if initial is not None and shape_of(initial) != ():
            raise ValueError("initial must be a scalar")
        if where is not None and self.identity is None and initial is None and (
                self._own_reduce is None):
            raise ValueError(f"reduction operation {self.__name__} does not have an identity, so "
                             "to use a where mask one has to specify 'initial'.")
        axis = tuple(axis) if isinstance(axis, list) else axis
        return reduce(self, a, axis=axis, dtype=dtype, keepdims=keepdims, initial=initial,
                      where=where)

    def accumulate(self, a, axis=0, dtype=None, out=None):
        """The results of combining the elements up to each one."""
        self._binary("accumulate")
        no_out(f"{self.__name__}.accumulate", out)
        return accumulate(self, a, axis=axis, dtype=dtype)

    def at(self, a, indices, b=None, /, *, inplace=True):
        """`a` with the function applied at indices (pass inplace=False)."""
        if inplace:
            raise NotImplementedError(
                "Because JAX arrays are immutable, jnp.ufunc.at() cannot operate inplace like "
                "np.ufunc.at(). Instead, you can pass inplace=False and capture the result; e.g. "
                ">>> arr = jnp.add.at(arr, ind, val, inplace=False)")
        return at(self, a, indices, b)

    def reduceat(self, a, indices, axis=0, dtype=None, out=None):
        """Combinations of the elements from each index to the next one."""
        self._binary("reduceat")
        no_out(f"{self.__name__}.reduceat", out)
        return reduceat(self, a, indices, axis=axis, dtype=dtype)

    def outer(self, A, B, /):
        """The function of every pair of elements."""
        self._binary("outer")
        return outer(self, A, B)


# --- the methods as traced calls ---------------------------------------------------------------


@traced_call(static_argnums=(0,), static_argnames=("axis", "dtype", "keepdims"))
def reduce(function, a, *, axis=0, dtype=None, keepdims=False, initial=None, where=None):
    if function._own_reduce is not None:
        return function._own_reduce(a, axis=axis, dtype=dtype, keepdims=keepdims, initial=initial,
                                    where=where)
    return _reduce_by_scan(function, a, axis, dtype, keepdims, initial, where)


def _reduce_by_scan(function: Any, a: Any, axis: Any, dtype: Any, keepdims: bool, initial: Any,
                    where: Any) -> Any:
    a = array_arguments(f"{function.__name__}.reduce", a)
    rank = len(shape_of(a))
    axes = canonical_axes(axis, rank)
    wanted = _result_dtype(function, a, dtype)
    rest = [i for i in range(rank) if i not in axes]

    def rows(x):
        moved = lax.transpose(x, (*axes, *rest))
        count = int(np.prod([shape_of(x)[i] for i in axes]))
        return lax.reshape(moved, (count, *(shape_of(x)[i] for i in rest)))

    values = lax.convert_element_type(rows(a), wanted)
    mask = None
    if where is not None:
        where = array_arguments("reduce", where)
        offset = rank - len(shape_of(where))
        mask = rows(lax.broadcast_in_dim(truth(where), shape_of(a), tuple(range(offset, rank))))
    shape = shape_of(values)[1:]
    start = function.identity if initial is None else initial
    if start is None:
        if not shape_of(values)[0]:
            raise ValueError(f"zero-size array to reduction operation {function.__name__} which "
                             "has no identity")
        carry = values[0]
        values = lax.slice_in_dim(values, 1, shape_of(values)[0], axis=0)
        mask = None if mask is None else lax.slice_in_dim(mask, 1, shape_of(mask)[0], axis=0)
    else:
        carry = lax.full(shape, convert(start, wanted))

    def step(carry, row):
        value, keep = row if mask is not None else (row, None)
        new = lax.convert_element_type(function(carry, value), wanted)
        return (new if keep is None else lax.select(keep, new, carry)), None

    result, _ = lax.scan(step, carry, values if mask is None else (values, mask))
    return reductions.with_axes(result, axes, keepdims)


def _result_dtype(function: Any, a: Any, dtype: Any) -> Any:
    if dtype is not None:
        return requested_dtype(dtype, function.__name__)
    sample = lax.full((), 1, dtype_of(a))
    return dtype_of(function(sample, sample))


@traced_call(static_argnums=(0,), static_argnames=("axis", "dtype"))
def accumulate(function, a, *, axis=0, dtype=None):
    if function._own_accumulate is not None:
        return function._own_accumulate(a, axis=axis, dtype=dtype)
    a = array_arguments(f"{function.__name__}.accumulate", a)
    if axis is None or isinstance(axis, tuple):
        raise ValueError("accumulate does not allow multiple axes")
    axis = canonical_axis(axis, len(shape_of(a)))
    wanted = _result_dtype(function, a, dtype)
    rows = lax.convert_element_type(moveaxis(a, axis, 0), wanted)
    if not shape_of(rows)[0]:
        return lax.convert_element_type(a, wanted)

    def step(carry, row):
        new = lax.convert_element_type(function(carry, row), wanted)
        return new, new

    first = rows[0]
    _, others = lax.scan(step, first, lax.slice_in_dim(rows, 1, shape_of(rows)[0], axis=0))
    return moveaxis(lax.concatenate([lax.expand_dims(first, (0,)), others], 0), 0, axis)


@traced_call(static_argnums=(0,))
def at(function, a, indices, b=None):
    if function._own_at is not None:
        return function._own_at(a, indices, b)
    a = array_arguments(f"{function.__name__}.at", a)
    if function.nin == 1:
        return a.at[indices].apply(function)
    shape = a.at[indices].get().shape
    b = convert(array_arguments(f"{function.__name__}.at", b), dtype_of(a))
    b = lax.broadcast_in_dim(b, shape, tuple(range(len(shape) - len(shape_of(b)), len(shape))))
    if not isinstance(indices, tuple):
        indices = (indices,)
    index_shape = np.broadcast_shapes(*(shape_of(i) for i in indices if hasattr(i, "shape")))
    if not index_shape:
        return a.at[indices].set(lax.convert_element_type(function(a.at[indices].get(), b),
                                                          dtype_of(a)))
    count = int(np.prod(index_shape))
    flat = tuple(ravel(lax.broadcast_in_dim(i, index_shape, tuple(
        range(len(index_shape) - len(shape_of(i)), len(index_shape))))) if hasattr(i, "shape")
        else i for i in indices)
    values = lax.reshape(b, (count, *shape[len(index_shape):]))

    def body(i, x):
        here = tuple(part[i] if hasattr(part, "shape") else part for part in flat)
        new = lax.convert_element_type(function(x.at[here].get(), values[i]), dtype_of(a))
        return x.at[here].set(new)

    return lax.fori_loop(0, count, body, a)


@traced_call(static_argnums=(0,), static_argnames=("axis", "dtype"))
def reduceat(function, a, indices, *, axis=0, dtype=None):
    if function._own_reduceat is not None:
        return function._own_reduceat(a, indices, axis=axis, dtype=dtype)
    a, indices = array_arguments(f"{function.__name__}.reduceat", a, indices)
    if axis is None or isinstance(axis, (tuple, list)):
        raise ValueError("reduceat requires a single integer axis.")
    if dtype is not None:
        a = lax.convert_element_type(a, requested_dtype(dtype, "reduceat"))
    if len(shape_of(indices)) != 1:
        raise ValueError("reduceat requires one-dimensional indices")
    axis = canonical_axis(axis, len(shape_of(a)))
    length = shape_of(a)[axis]
    first = indexing.take(a, indices, axis=axis)
    count = shape_of(indices)[0]
    ends = lax.concatenate([lax.slice_in_dim(indices, 1, count, axis=0),
                            lax.full((1,), length, dtype_of(indices))], 0)
    shape = tuple(count if i == axis else 1 for i in range(len(shape_of(a))))
    low, high = lax.reshape(indices, shape), lax.reshape(ends, shape)

    def body(i, result):
        at_i = convert(i, dtype_of(indices))
        inside = lax.bitwise_and(lax.gt(at_i, low), lax.lt(at_i, high))
        value = lax.dynamic_slice_in_dim(a, i, 1, axis=axis)
        return where_value(inside, lax.convert_element_type(function(result, value),
                                                            dtype_of(result)), result)

    return lax.fori_loop(0, length, body, first)


@traced_call(static_argnums=(0,))
def outer(function, A, B):
    A, B = array_arguments(f"{function.__name__}.outer", A, B)
    result = function(lax.expand_dims(ravel(A), (1,)), lax.expand_dims(ravel(B), (0,)))
    return lax.reshape(result, (*shape_of(A), *shape_of(B)))


# --- the ufuncs of this package ----------------------------------------------------------------


def _no_where(name: str, out: Any, where: Any) -> None:
    if out is not None or where is not None:
        raise NotImplementedError(f"out and where arguments of {name} are not supported")


def _binary_ufunc(name: str, operation: Callable, doc: str, identity: Any = None,
                  **methods: Any) -> ufunc:
    def function(x, y, /, *, out=None, where=None):
        _no_where(name, out, where)
        return operation(x, y)
    named(function, name, doc)
    made = ufunc(function, 2, 1, name=name, identity=identity, call=function, **methods)
    made._recordings = {}
    return made


def _add(x, y):
    x, y = promote_args("add", x, y)
    return lax.bitwise_or(x, y) if dtype_of(x) == np.bool_ else lax.add(x, y)


def _promoting(name: str, operation: Callable) -> Callable:
    return lambda x, y: operation(*promote_args(name, x, y))


def _logical(name: str, operation: Callable) -> Callable:
    def apply(x, y):
        return operation(*map(truth, promote_args(name, x, y)))
    return apply


def _reducer(function: Callable, has_dtype: bool = True) -> Callable:
    def apply(a, axis=0, dtype=None, keepdims=False, initial=None, where=None):
        if has_dtype:
            return function(a, axis=axis, dtype=dtype, keepdims=keepdims, initial=initial,
                            where=where, promote_integers=True)
        if dtype is not None:
            a = lax.convert_element_type(a, requested_dtype(dtype, "reduce"))
        return function(a, axis=axis, keepdims=keepdims, initial=initial, where=where)
    return apply


def _logical_reducer(function: Callable) -> Callable:
    def apply(a, axis=0, dtype=None, keepdims=False, initial=None, where=None):
        result = function(a, axis=axis, keepdims=keepdims, where=where)
        if initial is not None:
            combine = lax.bitwise_and if function is reductions.all else lax.bitwise_or
            result = combine(result, lax.full_like(result, bool(initial)))
        return result
    return apply


def _bits_reducer(name: str, reduce: Callable, combine: Callable, identity: int) -> Callable:
    """A reduction of integers and booleans that the compiler has, in the order of memory."""

    def apply(a, axis=0, dtype=None, keepdims=False, initial=None, where=None):
        a = array_arguments(f"{name}.reduce", a)
        axes = canonical_axes(axis, len(shape_of(a)))
        wanted = dtype_of(a) if dtype is None else requested_dtype(dtype, "reduce")
        if dtypes.is_inexact(wanted):
            raise TypeError(f"{name}.reduce takes integers or booleans, not {wanted}.")
        a = lax.convert_element_type(a, wanted)
        if where is not None:
            neutral = lax.full_like(a, np.asarray(identity).astype(wanted)[()])
            a = where_value(truth(array_arguments("reduce", where)), a, neutral)
        result = reduce(a, axes)
        if initial is not None:
            result = combine(result, lax.full_like(result, initial))
        return reductions.with_axes(result, axes, keepdims)

    return apply


def _scanner(scan: Callable) -> Callable:
    def apply(a, axis=0, dtype=None):
        return scan(a, axis=axis, dtype=dtype)
    return apply


def _scatter(method: str) -> Callable:
    def apply(a, indices, b):
        a = array_arguments("at", a)
        return getattr(a.at[indices], method)(b)
    return apply


add = _binary_ufunc("add", _add, "Add two arrays elementwise.", 0,
                    reduce=_reducer(reductions.sum), accumulate=_scanner(reductions.cumsum),
                    at=_scatter("add"))
multiply = _binary_ufunc("multiply", multiply_values, "x * y, elementwise.", 1,
                         reduce=_reducer(reductions.prod),
                         accumulate=_scanner(reductions.cumprod), at=_scatter("mul"))
subtract = _binary_ufunc("subtract", _promoting("subtract", lax.sub), "x - y, elementwise.",
                         at=lambda a, indices, b: a.at[indices].subtract(b))
maximum = _binary_ufunc("maximum", _promoting("maximum", lax.max), "The larger of x and y.",
                        reduce=_reducer(reductions.max, False))
minimum = _binary_ufunc("minimum", _promoting("minimum", lax.min), "The smaller of x and y.",
                        reduce=_reducer(reductions.min, False))
bitwise_and = _binary_ufunc("bitwise_and", _promoting("bitwise_and", lax.bitwise_and),
                            "x & y, elementwise.", -1,
                            reduce=_bits_reducer("bitwise_and", lax.reduce_and,
                                                 lax.bitwise_and, -1))
bitwise_or = _binary_ufunc("bitwise_or", _promoting("bitwise_or", lax.bitwise_or),
                           "x | y, elementwise.", 0,
                            reduce=_bits_reducer("bitwise_or", lax.reduce_or,
                                                 lax.bitwise_or, 0))
bitwise_xor = _binary_ufunc("bitwise_xor", _promoting("bitwise_xor", lax.bitwise_xor),
                            "x ^ y, elementwise.", 0,
                            reduce=_bits_reducer("bitwise_xor", lax.reduce_xor,
                                                 lax.bitwise_xor, 0))
logical_and = _binary_ufunc("logical_and", _logical("logical_and", lax.bitwise_and),
                            "Truth of x and y.", True, reduce=_logical_reducer(reductions.all))
logical_or = _binary_ufunc("logical_or", _logical("logical_or", lax.bitwise_or),
                           "Truth of x or y.", False, reduce=_logical_reducer(reductions.any))
logical_xor = _binary_ufunc("logical_xor", _logical("logical_xor", lax.bitwise_xor),
                            "Truth of x unequal y.", False)


def _negative(x, /, *, out=None, where=None):
    """-x."""
    _no_where("negative", out, where)
    return lax.neg(*promote_args("negative", x))


negative = ufunc(_negative, 1, 1, name="negative", call=named(_negative, "negative", "-x."))
negative._recordings = {}


# --- logarithms of sums ------------------------------------------------------------------------


def _wrapped_angle(y: Any) -> Any:
    """Imaginary part brought to (-pi, pi]."""
    pi = constant(np.pi, lax.imag(y))
    turn = lax.add(pi, pi)
    shifted = lax.rem(lax.add(lax.imag(y), pi), turn)
    shifted = lax.select(lax.lt(shifted, constant(0, shifted)), lax.add(shifted, turn), shifted)
    return lax.complex(lax.real(y), lax.sub(shifted, pi))


def _logaddexp_body(x1, x2):
    top = lax.max(x1, x2)
    if dtypes.is_complex(dtype_of(top)):
        delta = lax.sub(lax.add(x1, x2), lax.mul(top, constant(2, top)))
        return _wrapped_angle(lax.add(top, lax.log1p(lax.exp(delta))))
    delta = lax.sub(x1, x2)
    # equal infinities and NaN: their sum is the answer
    return lax.select(lax.ne(delta, delta), lax.add(x1, x2),
                      lax.add(top, lax.log1p(lax.exp(lax.neg(lax.abs(delta))))))


def _share(x: Any, out: Any, power: Callable) -> Any:
    """base ** (x - out), 0 where both are -inf."""
    same = lax.eq(x, out) if not dtypes.is_complex(dtype_of(x)) else lax.eq(lax.real(x),
                                                                          lax.real(out))
    safe = lax.select(same, lax.full_like(out, 0), out)
    base = lax.select(same, lax.full_like(x, 0), x)
    return power(lax.sub(base, safe))


_logaddexp = custom_jvp(named(_logaddexp_body, "logaddexp", "log(exp(x) + exp(y))."))


@_logaddexp.defjvp
def _logaddexp_jvp(primals, tangents):
    (x1, x2), (t1, t2) = primals, tangents
    out = _logaddexp(x1, x2)
    slope = lax.add(lax.mul(t1, _share(x1, out, lax.exp)), lax.mul(t2, _share(x2, out, lax.exp)))
    return out, slope


def _logaddexp2_body(x1, x2):
    top = lax.max(x1, x2)
    scale = constant(1 / np.log(2), top)
    if dtypes.is_complex(dtype_of(top)):
        delta = lax.sub(lax.add(x1, x2), lax.mul(top, constant(2, top)))
        return _wrapped_angle(lax.add(top, lax.mul(scale, lax.log1p(lax.exp2(delta)))))
    delta = lax.sub(x1, x2)
    rest = lax.mul(scale, lax.log1p(lax.exp2(lax.neg(lax.abs(delta)))))
    return lax.select(lax.ne(delta, delta), lax.add(x1, x2), lax.add(top, rest))


_logaddexp2 = custom_jvp(named(_logaddexp2_body, "logaddexp2", "log2(2**x + 2**y)."))


@_logaddexp2.defjvp
def _logaddexp2_jvp(primals, tangents):
    (x1, x2), (t1, t2) = primals, tangents
    out = _logaddexp2(x1, x2)
    slope = lax.add(lax.mul(t1, _share(x1, out, lax.exp2)),
                    lax.mul(t2, _share(x2, out, lax.exp2)))
    return out, slope


def _spread_pair(name: str, x: Any, y: Any) -> tuple[Any, Any]:
    x, y = promote_args_inexact(name, x, y)
    shape = np.broadcast_shapes(shape_of(x), shape_of(y))
    return tuple(a if shape_of(a) == shape else lax.broadcast_in_dim(
        a, shape, tuple(range(len(shape) - len(shape_of(a)), len(shape)))) for a in (x, y))


def _reduce_logsumexp(a, axis=0, dtype=None, keepdims=False, initial=None, where=None):
    a = array_arguments("logaddexp.reduce", a)
    a = lax.convert_element_type(a, dtypes.to_inexact_dtype(
        dtype_of(a) if dtype is None else requested_dtype(dtype, "reduce")))
    lowest = constant(-np.inf, a)
    top = reductions.max(a, axis=axis, keepdims=True, initial=lowest, where=where)
    top = lax.stop_gradient(lax.select(lax.is_finite(top), top, lax.full_like(top, 0)))
    total = reductions.sum(lax.exp(lax.sub(a, top)), axis=axis, keepdims=True, where=where)
    result = lax.add(lax.log(total), top)
    if not keepdims:
        result = lax.squeeze(result, canonical_axes(axis, len(shape_of(a))))
    return result if initial is None else logaddexp(initial, result)


logaddexp = _binary_ufunc(
    "logaddexp", lambda x, y: _logaddexp(*_spread_pair("logaddexp", x, y)),
    "log(exp(x) + exp(y)).", -np.inf, reduce=_reduce_logsumexp)
logaddexp2 = _binary_ufunc(
    "logaddexp2", lambda x, y: _logaddexp2(*_spread_pair("logaddexp2", x, y)),
    "log2(2**x + 2**y).", -np.inf)


def frompyfunc(func, /, nin, nout, *, identity=None):
    """A ufunc from a function of scalars."""
    return ufunc(func, nin, nout, identity=identity)
