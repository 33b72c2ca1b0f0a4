"""Reductions over sliding windows: sums, maxima, minima, and any associative function.

In: arrays, initial values, a function of two scalars, and the windows' sizes, strides, padding
and dilations. Out: one value for each position of the window.
Invariant: padding and the holes of `base_dilation` are not combined; every window starts from the
initial value once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jitney import _native
from jitney.base import dtypes
from jitney.core import interpret
from jitney.core.avals import Array, ShapedArray, get_aval
from jitney.core.jaxpr import DebugInfo, Jaxpr, Literal
from jitney.core.primitive import Primitive, named
from jitney.core.staging import trace_flat
from jitney.lax.joining import pad
from jitney.lax.padding import (
    canonical_pads,
    dilated,
    padtype_to_pads,
    spread_and_pad,
    strided_count,
    transposed_pads,
    windows_of,
)
from jitney.lax.shape import canonical_shape, linear, shape_of
from jitney.transforms.jvp import Zero, define_jvp
from jitney.transforms.transpose import define_transpose, is_undefined_primal
from jitney.transforms.vmap import at_front, batch_size, define_batch

_GEOMETRY = ("window_dimensions", "window_strides", "padding", "base_dilation", "window_dilation")

# --- reduce_window ---------------------------------------------------------------------------


def reduce_window(operand, init_value, computation: Callable, window_dimensions: Sequence[int],
                  window_strides: Sequence[int] | None = None,
                  padding: str | Sequence[tuple[int, int]] = "VALID",
                  base_dilation: Sequence[int] | None = None,
                  window_dilation: Sequence[int] | None = None):
    """Combine the elements of every window with `computation`, starting from `init_value`.

    Sums, maxima and minima (however the function is written) become primitives of their own.
    """
    operands, tree = _native.tree_flatten(operand)
    init_values, init_tree = _native.tree_flatten(init_value)
    if tree != init_tree:
        raise ValueError("Operands must have the same tree structure as init_values: "
                         f"{tree} vs. {init_tree}")
    if not operands:
        raise ValueError("reduce_window must have at least one operand.")
    avals = [get_aval(x) for x in operands]
    geometry = _canonical_geometry(avals[0].shape, window_dimensions, window_strides, padding,
                                   base_dilation, window_dilation)
    inits = [_scalar_init(v, a) for v, a in zip(init_values, avals, strict=True)]
    scalars = [ShapedArray((), a.dtype) for a in avals]
    jaxpr = _trace_computation(computation, tree, scalars)
    if len(operands) == 1:
        special = _special_primitive(jaxpr, inits[0], avals[0].dtype)
        if special is not None and get_aval(inits[0]).shape == ():
            return tree.unflatten([special.bind(operands[0], **geometry)])
    if jaxpr.constvars:
        raise NotImplementedError("reduce_window: the computation closes over arrays; it may use "
                                  "its arguments and scalars only")
    outs = reduce_window_p.bind(*operands, *inits, jaxpr=jaxpr, consts=(), **geometry)
    return tree.unflatten(outs)


def _canonical_geometry(shape, window, strides, padding, base_dilation, window_dilation) -> dict:
    window = canonical_shape(window)
    ones = (1,) * len(window)
    strides = ones if strides is None else canonical_shape(strides)
    base_dilation = ones if base_dilation is None else canonical_shape(base_dilation)
    window_dilation = ones if window_dilation is None else canonical_shape(window_dilation)
    if isinstance(padding, str):
        _check_length("window_dimensions", window, shape)
        for name, value in (("window_strides", strides), ("base_dilation", base_dilation),
                            ("window_dilation", window_dilation)):
            _check_length(name, value, shape)
        padding = padtype_to_pads(
            [dilated(n, d) for n, d in zip(shape, base_dilation, strict=True)],
            [dilated(w, d) for w, d in zip(window, window_dilation, strict=True)],
            strides, padding)
    return {"window_dimensions": window, "window_strides": strides,
            "padding": canonical_pads(padding), "base_dilation": base_dilation,
            "window_dilation": window_dilation}


def _scalar_init(value: Any, aval: ShapedArray) -> Any:
    """A Python scalar takes the operand's type; anything else is left to the type rule."""
    if isinstance(value, (bool, int, float, complex)):
        return np.asarray(value).astype(aval.dtype)[()]
    return value


def _trace_computation(computation: Callable, tree: Any, scalars: list) -> Jaxpr:
    n = len(scalars)

    def flat(*args):
        out = computation(tree.unflatten(args[:n]), tree.unflatten(args[n:]))
        leaves, out_tree = _native.tree_flatten(out)
        if out_tree != tree:
            raise TypeError("reduce_window: the computation must return what its arguments look "
                            f"like, {tree}; it returned {out_tree}")
        return leaves

    jaxpr, consts = trace_flat(flat, [*scalars, *scalars],
                               DebugInfo("reduce_window", computation))
    for out, want in zip(jaxpr.out_avals, scalars, strict=True):
        if out.dtype != want.dtype or out.shape != ():
            raise TypeError("reduce_window: the computation must return scalars of the operands' "
                            f"dtypes, {want.str_short()}; it returned {out.str_short()}")
    if consts and all(shape_of(c) == () and isinstance(c, Array) for c in consts):
        values = [np.asarray(c)[()] for c in consts]
        inner = jaxpr
        jaxpr, _ = trace_flat(lambda *args: interpret.eval_jaxpr(inner, values, *args),
                              [*scalars, *scalars], jaxpr.debug_info)
    return jaxpr


def _special_primitive(jaxpr: Jaxpr, init: Any, dtype: Any) -> Primitive | None:
    """The primitive that does it, when the function is one and the start is its identity."""
    if not isinstance(init, (np.generic, np.ndarray, Array)) or shape_of(init) != ():
        return None
    found = {"add": reduce_window_sum_p, "max": reduce_window_max_p,
             "min": reduce_window_min_p}.get(operation_of(jaxpr) or "")
    if found is None or dtype == np.bool_ or get_aval(init).dtype != dtype:
        return None
    value = np.asarray(init)
    return found if value == identity_of(found, dtype) else None


def operation_of(jaxpr: Jaxpr) -> str | None:
    """The name of the primitive that a function of two scalars is, whatever their order."""
    if len(jaxpr.eqns) != 1 or len(jaxpr.invars) != 2:
        return None
    eqn = jaxpr.eqns[0]
    operands = {id(v) for v in eqn.invars if type(v) is not Literal}
    both = len(eqn.invars) == 2 and operands == {id(v) for v in jaxpr.invars}
    return eqn.primitive.name if both and jaxpr.outvars == eqn.outvars else None


def identity_of(primitive: Primitive, dtype: Any) -> Any:
    """The value that changes nothing: 0, or the least or greatest of the dtype."""
    if primitive is reduce_window_sum_p:
        return np.zeros((), dtype)[()]
    sign = -1 if primitive is reduce_window_max_p else 1
    if dtype == np.bool_:
        return np.bool_(sign > 0)
    if dtypes.is_integer(dtype):
        info = dtypes.iinfo(dtype)
        return np.asarray(int(info.min if sign < 0 else info.max)).astype(dtype)[()]
    return np.asarray(sign * np.inf).astype(dtype)[()]


reduce_window_p = Primitive("reduce_window", multiple_results=True)
reduce_window_sum_p = Primitive("reduce_window_sum")
reduce_window_max_p = Primitive("reduce_window_max")
reduce_window_min_p = Primitive("reduce_window_min")

# --- type ------------------------------------------------------------------------------------


def _check_length(name: str, value: Sequence, shape: Sequence[int]) -> None:
    if len(value) != len(shape):
        raise TypeError(f"reduce_window got the wrong number of {name} for operand: got operand "
                        f"shape {tuple(shape)} with {name} {tuple(value)}.")


def window_output_shape(shape, window_dimensions, window_strides, padding, base_dilation,
                        window_dilation) -> tuple[int, ...]:
    """The number of window positions along each axis; TypeError for a wrong geometry."""
    for name, value in (("window_dimensions", window_dimensions),
                        ("window_strides", window_strides), ("padding", padding),
                        ("base_dilation", base_dilation), ("window_dilation", window_dilation)):
        _check_length(name, value, shape)
        if name != "padding" and any(v <= 0 for v in value):
            raise TypeError(f"reduce_window {name} must have every element be strictly positive, "
                            f"got {value}.")
    return tuple([
        strided_count(dilated(n, b) + lo + hi, dilated(w, d), s)
        for n, w, s, (lo, hi), b, d in zip(shape, window_dimensions, window_strides, padding,
                                           base_dilation, window_dilation, strict=True)])


def reduce_window_shape_tuple(operand_shape, window_dimensions, window_strides, padding,
                              base_dilation=None, window_dilation=None):
    """The shape of a `reduce_window`."""
    geometry = _canonical_geometry(operand_shape, window_dimensions, window_strides, padding,
                                   base_dilation, window_dilation)
    return window_output_shape(operand_shape, **geometry)


def _window_type(operand, **geometry):
    if operand.dtype == np.bool_:
        raise TypeError("reduce_window of sums, maxima and minima needs numbers, got bool")
    return ShapedArray(window_output_shape(operand.shape, **geometry), operand.dtype,
                       operand.weak_type)


@reduce_window_p.def_abstract
def _reduce_window_type(*avals, jaxpr, consts, **geometry):
    operands, inits = avals[:len(avals) // 2], avals[len(avals) // 2:]
    if any(o.shape != operands[0].shape for o in operands):
        raise TypeError("reduce_window operands must have one shape, got "
                        f"{[o.shape for o in operands]}")
    if any(i.shape for i in inits):
        raise TypeError("reduce_window expected init_values to be scalars but init_values have "
                        f"shapes {[i.shape for i in inits]}.")
    if [o.dtype for o in operands] != [i.dtype for i in inits]:
        raise TypeError(
            "reduce_window got inconsistent dtypes for operands and init_values: got operand "
            f"dtypes {[o.dtype for o in operands]} and init_value dtypes "
            f"{[i.dtype for i in inits]}.")
    shape = window_output_shape(operands[0].shape, **geometry)
    return [ShapedArray(shape, o.dtype) for o in operands]


# --- meaning ---------------------------------------------------------------------------------


def _columns(x: np.ndarray, fill: Any, *, window_dimensions, window_strides, padding,
             base_dilation, window_dilation) -> np.ndarray:
    """The windows with all their elements on one last axis, in row-major order."""
    spread = spread_and_pad(x, fill, padding, base_dilation)
    views = windows_of(spread, window_dimensions, window_strides, window_dilation)
    return views.reshape(*views.shape[:x.ndim], math.prod(window_dimensions))


def _window_reference(primitive: Primitive, ufunc: np.ufunc) -> Callable:
    def reference(operand, **geometry):
        fill = identity_of(primitive, operand.dtype)
        columns = _columns(operand, fill, **geometry)
        if ufunc is np.add and dtypes.is_floating(operand.dtype) and operand.dtype.itemsize < 4:
            return columns.astype(np.float32).sum(axis=-1).astype(operand.dtype)
        out = np.full(columns.shape[:-1], fill, operand.dtype)
        for i in range(columns.shape[-1]):
            out = ufunc(out, columns[..., i])
        return out

    return reference


for _primitive, _ufunc in ((reduce_window_sum_p, np.add), (reduce_window_max_p, np.maximum),
                           (reduce_window_min_p, np.minimum)):
    _primitive.def_abstract(_window_type)
    _primitive.def_reference(_window_reference(_primitive, _ufunc))


@reduce_window_p.def_reference
def _reduce_window_reference(*args, jaxpr, consts, **geometry):
    operands, inits = args[:len(args) // 2], args[len(args) // 2:]
    positions = np.arange(operands[0].size).reshape(operands[0].shape)
    places = _columns(positions, -1, **geometry)
    outs = [np.empty(places.shape[:-1], x.dtype) for x in operands]
    for place in np.ndindex(*places.shape[:-1]):
        values = [np.asarray(i) for i in inits]
        for position in places[place]:
            if position >= 0:                       # padding is not combined
                here = [np.asarray(x.reshape(-1)[position]) for x in operands]
                values = interpret.eval_reference(jaxpr, consts, *values, *here)
        for out, value in zip(outs, values, strict=True):
            out[place] = value
    return outs


# --- derivatives -----------------------------------------------------------------------------


def _sum_transpose(ct, operand, *, window_dimensions, window_strides, padding, base_dilation,
                   window_dilation):
    """The cotangent spread out by the strides, summed over the windows reversed."""
    pads = [transposed_pads(*sizes) for sizes in zip(
        operand.aval.shape, window_dimensions, window_strides, shape_of(ct), padding,
        base_dilation, window_dilation, strict=True)]
    spread = pad(ct, np.zeros((), get_aval(ct).dtype)[()], [
        (lo, hi, stride - 1) for (lo, hi), stride in zip(pads, window_strides, strict=True)])
    ones = (1,) * len(window_dimensions)
    return [reduce_window_sum_p.bind(
        spread, window_dimensions=window_dimensions, window_strides=base_dilation,
        padding=((0, 0),) * len(ones), base_dilation=ones, window_dilation=window_dilation)]


linear(reduce_window_sum_p, _sum_transpose)


def _extremal_jvp(primitive: Primitive, select: str) -> Callable:
    def rule(primals, tangents, **geometry):
        (operand,), (tangent,) = primals, tangents
        out = primitive.bind(operand, **geometry)
        if type(tangent) is Zero:
            return out, Zero.from_primal_value(out)
        return out, select_and_gather_add_p.bind(tangent, operand, select_prim=named(select),
                                                 **geometry)

    return rule


define_jvp(reduce_window_max_p, _extremal_jvp(reduce_window_max_p, "ge"))
define_jvp(reduce_window_min_p, _extremal_jvp(reduce_window_min_p, "le"))


# --- the derivative of max and min: follow the element that was selected ----------------------

select_and_gather_add_p = Primitive("select_and_gather_add")
select_and_scatter_add_p = Primitive("select_and_scatter_add")


@select_and_gather_add_p.def_abstract
def _select_and_gather_add_type(tangents, operand, *, select_prim, **geometry):
    if tangents.shape != operand.shape:
        raise TypeError("select_and_gather_add tangents and operand shapes must match, got "
                        f"{tangents.shape} and {operand.shape}.")
    return ShapedArray(window_output_shape(operand.shape, **geometry), operand.dtype,
                       tangents.weak_type and operand.weak_type)


@select_and_scatter_add_p.def_abstract
def _select_and_scatter_add_type(source, operand, *, select_prim, window_dimensions,
                                 window_strides, padding):
    ones = (1,) * operand.ndim
    wanted = window_output_shape(operand.shape, window_dimensions, window_strides, padding, ones,
                                 ones)
    if source.shape != wanted:
        raise TypeError("select_and_scatter_add source must have the shape of the reduced "
                        f"windows, {wanted}, got {source.shape}")
    return ShapedArray(operand.shape, operand.dtype)


def _first_selected(operand: np.ndarray, select_prim: Primitive, geometry: dict) -> np.ndarray:
    """For each window the flat position in `operand` of the first element that wins."""
    keeps = np.greater_equal if select_prim.name == "ge" else np.less_equal
    positions = np.arange(operand.size).reshape(operand.shape)
    places = _columns(positions, -1, **geometry)
    values = _columns(operand, 0, **geometry)
    best = np.full(places.shape[:-1], -1)
    best_value = np.zeros(places.shape[:-1], operand.dtype)
    for i in range(places.shape[-1]):
        take = (places[..., i] >= 0) & ((best < 0) | ~keeps(best_value, values[..., i]))
        best = np.where(take, places[..., i], best)
        best_value = np.where(take, values[..., i], best_value)
    return best


@select_and_gather_add_p.def_reference
def _select_and_gather_add_reference(tangents, operand, *, select_prim, **geometry):
    best = _first_selected(operand, select_prim, geometry)
    if tangents.size == 0:
        return np.zeros(best.shape, tangents.dtype)
    found = tangents.reshape(-1)[np.maximum(best, 0)]
    return np.where(best >= 0, found, np.zeros((), tangents.dtype))


@select_and_scatter_add_p.def_reference
def _select_and_scatter_add_reference(source, operand, *, select_prim, window_dimensions,
                                      window_strides, padding):
    ones = (1,) * operand.ndim
    best = _first_selected(operand, select_prim, {
        "window_dimensions": window_dimensions, "window_strides": window_strides,
        "padding": padding, "base_dilation": ones, "window_dilation": ones})
    out = np.zeros(operand.size, operand.dtype)
    np.add.at(out, best[best >= 0], source[best >= 0])
    return out.reshape(operand.shape)


def _select_and_gather_add_jvp(primals, tangents, **params):
    source, operand = primals
    out = select_and_gather_add_p.bind(source, operand, **params)
    if type(tangents[0]) is Zero:
        return out, Zero.from_primal_value(out)
    return out, select_and_gather_add_p.bind(tangents[0], operand, **params)


def _select_and_gather_add_transpose(ct, tangents, operand, *, select_prim, window_dimensions,
                                     window_strides, padding, base_dilation, window_dilation):
    if type(ct) is Zero:
        return [Zero(tangents.aval), None]
    if any(d != 1 for d in window_dilation):
        raise NotImplementedError("the reverse derivative of reduce_window max and min with "
                                  "window_dilation is not implemented; reduce a dilated slice")
    config = [(0, 0, d - 1) for d in base_dilation]
    holes = any(d != 1 for d in base_dilation)
    if holes:                       # elements that never win stand in the holes
        dtype = get_aval(operand).dtype
        loser = reduce_window_max_p if select_prim.name == "ge" else reduce_window_min_p
        operand = pad(operand, identity_of(loser, dtype), config)
    found = select_and_scatter_add_p.bind(
        ct, operand, select_prim=select_prim, window_dimensions=window_dimensions,
        window_strides=window_strides, padding=padding)
    if holes:
        shape = shape_of(found)
        found = named("slice").bind(found, start_indices=(0,) * len(shape), limit_indices=shape,
                                    strides=tuple(base_dilation))
    return [found, None]


define_jvp(select_and_gather_add_p, _select_and_gather_add_jvp)
define_transpose(select_and_gather_add_p, _select_and_gather_add_transpose)


def _select_and_scatter_add_jvp(primals, tangents, **params):
    source, operand = primals
    out = select_and_scatter_add_p.bind(source, operand, **params)
    if type(tangents[0]) is Zero:
        return out, Zero.from_primal_value(out)
    return out, select_and_scatter_add_p.bind(tangents[0], operand, **params)


def _select_and_scatter_add_transpose(ct, source, operand, *, select_prim, **geometry):
    if type(ct) is Zero or not is_undefined_primal(source):
        return [Zero(source.aval) if is_undefined_primal(source) else None, None]
    ones = (1,) * len(shape_of(operand))
    return [select_and_gather_add_p.bind(ct, operand, select_prim=select_prim, base_dilation=ones,
                                         window_dilation=ones, **geometry), None]


define_jvp(select_and_scatter_add_p, _select_and_scatter_add_jvp)
define_transpose(select_and_scatter_add_p, _select_and_scatter_add_transpose)

# --- batching --------------------------------------------------------------------------------


def with_batch_axis(params: dict) -> dict:
    """The geometry with an axis in front on which windows have size 1."""
    out = dict(params)
    for name in _GEOMETRY:
        if name in out:
            out[name] = ((0, 0) if name == "padding" else 1, *out[name])
    return out


def _window_batch(primitive: Primitive) -> Callable:
    def rule(args, dims, **params):
        size = batch_size(args, dims)
        args = [at_front(x, d, size) for x, d in zip(args, dims, strict=True)]
        return primitive.bind(*args, **with_batch_axis(params)), 0

    return rule


for _primitive in (reduce_window_sum_p, reduce_window_max_p, reduce_window_min_p,
                   select_and_gather_add_p, select_and_scatter_add_p):
    define_batch(_primitive, _window_batch(_primitive))
