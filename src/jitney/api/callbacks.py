"""Python called from programs: `pure_callback`, `io_callback`, `debug.print`, `debug.callback`.

In: a Python function, and arrays. Out: an equation that calls the function when the program
runs, with concrete arrays. A pure callback may be dropped when its result is unused; the others
have an effect and stay, in the order written.
Invariant: the function gets arrays of its own, never views of the program's memory.
"""

from __future__ import annotations

import dataclasses
import logging
import string
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jitney import lax
from jitney.base import dtypes, errors
from jitney.base.pytree import tree_flatten, tree_leaves, tree_structure
from jitney.base.source import file_and_line, user_frame
from jitney.core.avals import Array, ShapedArray, is_value, to_array
from jitney.core.primitive import Primitive
from jitney.core.trace import eval_context
from jitney.transforms.jvp import Zero, define_jvp, is_zero
from jitney.transforms.vmap import at_front, batch_size, define_batch

pure_callback_p = Primitive("pure_callback", multiple_results=True)
io_callback_p = Primitive("io_callback", multiple_results=True)
debug_callback_p = Primitive("debug_callback", multiple_results=True)
debug_print_p = Primitive("debug_print", multiple_results=True)
_LOGGER = "jitney.debug"


class Effect:
    """Why an equation must stay."""

    def __init__(self, name: str):
        self.name = name

    def __repr__(self):
        return self.name


DEBUG_EFFECT, ORDERED_DEBUG_EFFECT = Effect("Debug"), Effect("OrderedDebug")
IO_EFFECT, ORDERED_IO_EFFECT = Effect("IO"), Effect("OrderedIO")


class FlatCallback:
    """A Python function on flat arrays."""

    def __init__(self, callback_func: Callable, in_tree: Any):
        self.callback_func, self.in_tree = callback_func, in_tree

    def __call__(self, *leaves: Any) -> Any:
        args, kwargs = self.in_tree.unflatten(leaves)
        return self.callback_func(*args, **kwargs)

    def _key(self) -> tuple:
        return self.callback_func, self.in_tree

    def __eq__(self, other: Any) -> bool:
        return type(other) is FlatCallback and self._key() == other._key()

    def __hash__(self) -> int:
        try:
            return hash(self._key())
        except TypeError:
            return id(self.callback_func)

    def __repr__(self):
        return f"_FlatCallback(callback_func={self.callback_func!r}, in_tree={self.in_tree})"


def _own_arrays(args: Sequence[np.ndarray]) -> list[Array]:
    return [to_array(np.array(a)) for a in args]


def _call(function: Callable, args: Sequence, what: str) -> Any:
    """Call Python from a running program; its exception becomes a JaxRuntimeError."""
    try:
        with eval_context():
            return function(*_own_arrays(args))
    except Exception as error:
        raise errors.JaxRuntimeError(
            f"{what} raised {type(error).__name__}: {error}") from error


# --- callbacks with results --------------------------------------------------------------------


def _results(outs: Any, result_avals: tuple, what: str) -> list[np.ndarray]:
    leaves = tree_leaves(outs)
    if len(leaves) != len(result_avals):
        raise errors.JaxRuntimeError(f"{what} returned {len(leaves)} arrays; result_shape_dtypes "
                                     f"promises {len(result_avals)}")
    arrays = []
    for leaf, aval in zip(leaves, result_avals):
        array = np.asarray(leaf)
        if array.shape != aval.shape:
            raise errors.JaxRuntimeError(
                f"{what} returned an array of shape {array.shape}; result_shape_dtypes promises "
                f"{aval.str_short()}")
        if array.dtype != aval.dtype:
            if dtypes.canonicalize_dtype(array.dtype) != aval.dtype:
                raise errors.JaxRuntimeError(
                    f"{what} returned an array of dtype {array.dtype}; result_shape_dtypes "
                    f"promises {aval.str_short()}")
            array = array.astype(aval.dtype)
        arrays.append(array)
    return arrays


def _callback_reference(*args: Any, callback: FlatCallback, result_avals: tuple,
                        **params: Any) -> list:
    what = f"the callback {getattr(callback.callback_func, '__name__', callback.callback_func)}"
    return _results(_call(callback, args, what), result_avals, what)


for _primitive in (pure_callback_p, io_callback_p):
    _primitive.def_abstract(lambda *avals, result_avals, **params: list(result_avals))
    _primitive.def_reference(_callback_reference)
io_callback_p.def_effects(
    lambda *avals, ordered, **params: {ORDERED_IO_EFFECT if ordered else IO_EFFECT})


def _result_avals(result_shape_dtypes: Any) -> tuple[tuple, Any]:
    leaves, tree = tree_flatten(result_shape_dtypes)
    avals = []
    for leaf in leaves:
        dtype = dtypes.dtype_of_spec(leaf.dtype)
        if dtypes.canonicalize_dtype(dtype) != dtype:
            raise ValueError("result_shape_dtypes cannot specify 64-bit types when "
                             "`jax_enable_x64` is disabled")
        avals.append(ShapedArray(tuple(leaf.shape), dtype))
    return tuple(avals), tree


def pure_callback(callback: Callable, result_shape_dtypes: Any, *args: Any, sharding: Any = None,
                  vmap_method: str | None = None, **kwargs: Any) -> Any:
    """Call a function without side effects from a compiled program.

    `result_shape_dtypes` is a tree of ShapeDtypeStructs of the result. `vmap_method` says what
    `vmap` does: "sequential", "expand_dims", "broadcast_all" (None: refuse).
    """
    if vmap_method not in (None, "sequential", "sequential_unrolled", "expand_dims",
                           "broadcast_all", "legacy_vectorized"):
        raise ValueError(f"unknown vmap_method {vmap_method!r}")
    avals, tree = _result_avals(result_shape_dtypes)
    leaves, in_tree = tree_flatten((args, kwargs))
    outs = pure_callback_p.bind(*leaves, callback=FlatCallback(callback, in_tree),
                                result_avals=avals, sharding=sharding, vmap_method=vmap_method)
    return tree.unflatten(outs)


def io_callback(callback: Callable, result_shape_dtypes: Any, *args: Any, sharding: Any = None,
                ordered: bool = False, **kwargs: Any) -> Any:
    """Call a function with side effects from a compiled program, once a run."""
    avals, tree = _result_avals(result_shape_dtypes)
    leaves, in_tree = tree_flatten((args, kwargs))
    outs = io_callback_p.bind(*leaves, callback=FlatCallback(callback, in_tree),
                              result_avals=avals, sharding=sharding, ordered=ordered)
    return tree.unflatten(outs)


def _no_derivative(primitive: Primitive) -> None:
    def rule(primals, tangents, **params):
        if any(not is_zero(t) and t.dtype != dtypes.float0 for t in tangents):
            raise ValueError(
                "Pure callbacks do not support JVP. Please use `jax.custom_jvp` to use callbacks "
                "while taking gradients." if primitive is pure_callback_p else
                "IO callbacks do not support JVP. Pass it jax.lax.stop_gradient(x) if its result "
                "is not to be differentiated, or wrap the function that calls it in "
                "jax.custom_jvp.")
        outs = primitive.bind(*primals, **params)
        return outs, [Zero.from_primal_value(x) for x in outs]

    define_jvp(primitive, rule)


_no_derivative(pure_callback_p)
_no_derivative(io_callback_p)


def _batched_avals(result_avals: tuple, size: int) -> tuple:
    return tuple(a.update(shape=(size, *a.shape)) for a in result_avals)


def _each(primitive: Primitive, args: Sequence, dims: Sequence, params: dict) -> list[list]:
    """Apply to every element of the batch in turn."""
    size = batch_size(args, dims)
    rows = []
    for i in range(size):
        row = [x if d is None else lax.index_in_dim(x, i, d, keepdims=False)
               for x, d in zip(args, dims)]
        rows.append(primitive.bind(*row, **params))
    return rows


def _stacked(rows: list[list]) -> list:
    return [lax.concatenate([lax.expand_dims(x, (0,)) for x in column], 0)
            for column in zip(*rows)]


def _pure_callback_batch(args, dims, *, vmap_method, result_avals, **params):
    everything = {"vmap_method": vmap_method, "result_avals": result_avals, **params}
    if vmap_method is None:
        raise NotImplementedError(
            "vmap is only supported for the pure_callback primitive if vmap_method is specified: "
            "'sequential' calls the function for every element; 'expand_dims' and "
            "'broadcast_all' call it once, on arrays with a leading batch dimension")
    if vmap_method in ("sequential", "sequential_unrolled"):
        outs = _stacked(_each(pure_callback_p, args, dims, everything))
        return outs, [0] * len(outs)
    size = batch_size(args, dims)
    if vmap_method == "expand_dims":
        args = [lax.expand_dims(x, (0,)) if d is None else at_front(x, d, size)
                for x, d in zip(args, dims)]
    elif vmap_method == "broadcast_all":
        args = [at_front(x, d, size) for x, d in zip(args, dims)]
    else:
        args = [x if d is None else at_front(x, d, size) for x, d in zip(args, dims)]
    everything["result_avals"] = _batched_avals(result_avals, size)
    outs = pure_callback_p.bind(*args, **everything)
    return outs, [0] * len(outs)


def _io_callback_batch(args, dims, *, ordered, **params):
    if ordered:
        raise ValueError("Cannot `vmap` ordered IO callback.")
    outs = _stacked(_each(io_callback_p, args, dims, {"ordered": ordered, **params}))
    return outs, [0] * len(outs)


define_batch(pure_callback_p, _pure_callback_batch)
define_batch(io_callback_p, _io_callback_batch)


# --- debugging: callbacks without results --------------------------------------------------------


def _debug_callback_reference(*args: Any, callback: FlatCallback, **params: Any) -> list:
    _call(callback, args, "the debug callback")
    return []


debug_callback_p.def_abstract(lambda *avals, **params: [])
debug_callback_p.def_reference(_debug_callback_reference)
debug_callback_p.def_effects(lambda *avals, effect, **params: {effect})


def debug_callback(callback: Callable | None = None, *args: Any, ordered: bool = False,
                   partitioned: bool = False, **kwargs: Any) -> Any:
    """Call a Python function for its side effect when the program runs (not when it is traced)."""
    if callback is None:
        return lambda f: debug_callback(f, *args, ordered=ordered, **kwargs)
    leaves, in_tree = tree_flatten((args, kwargs))
    dynamic, place = _split(leaves)
    fixed = tuple(leaf for i, leaf in enumerate(leaves) if i not in place)

    def run(*arrays):
        merged = _merge(arrays, fixed, place, len(leaves))
        inner_args, inner_kwargs = in_tree.unflatten(merged)
        callback(*inner_args, **inner_kwargs)

    debug_callback_p.bind(
        *dynamic, callback=FlatCallback(run, tree_structure((tuple(dynamic), {}))),
        effect=ORDERED_DEBUG_EFFECT if ordered else DEBUG_EFFECT, partitioned=partitioned)
    return None


def _split(leaves: list) -> tuple[list, tuple]:
    """Arrays among the leaves, and their places; the rest is fixed (strings and so on)."""
    place = tuple(i for i, leaf in enumerate(leaves) if is_value(leaf))
    return [leaves[i] for i in place], place


def _merge(arrays: Sequence, fixed: tuple, place: tuple, count: int) -> list:
    given, rest = iter(arrays), iter(fixed)
    return [next(given) if i in place else next(rest) for i in range(count)]


class _Formatter(string.Formatter):
    """Refuses keyword arguments the format does not mention."""

    def check_unused_args(self, used_args: Any, args: Any, kwargs: Any) -> None:
        unused = [name for name in kwargs if name not in used_args]
        if unused:
            raise ValueError(
                f"Unused keyword arguments to `jax.debug.print`: {unused}. You may be passing an "
                'f-string (i.e, `f"{x}"`) into `jax.debug.print` and instead should pass in a '
                "regular string.")
        if any(i not in used_args for i in range(len(args))):
            raise ValueError(
                f"Unused positional arguments to `jax.debug.print`: {list(args)}. You may be "
                'passing an f-string (i.e, `f"{x}"`) into `jax.debug.print` and instead should '
                "pass in a regular string.")


class _Anything:
    """Accepts any format specification."""

    def __format__(self, spec: str) -> str:
        return ""

    def __getattr__(self, name: str) -> Any:
        return self

    def __getitem__(self, key: Any) -> Any:
        return self


_formatter = _Formatter()


def debug_print(fmt: str | None = None, *args: Any, ordered: bool = False,
                partitioned: bool = False, skip_format_check: bool = False,
                _use_logging: bool = False, **kwargs: Any) -> Any:
    """Print values when the program runs: `debug.print("x = {}", x)`.

    >>> debug_print("x = {x}", x=2)
    x = 2
    """
    if fmt is None:
        raise TypeError("debug.print(fmt, ...): the format is missing")
    has_placeholders = not skip_format_check
    if has_placeholders:
        _formatter.format(fmt, *[_Anything() for _ in args], **dict.fromkeys(kwargs, _Anything()))
    leaves, in_tree = tree_flatten((args, kwargs))
    dynamic, place = _split(leaves)
    static = tuple((i, leaf) for i, leaf in enumerate(leaves) if i not in place)
    debug_print_p.bind(
        *dynamic, fmt=fmt, ordered=ordered, partitioned=partitioned, in_tree=in_tree,
        static_args=static, np_printoptions=_print_options(), has_placeholders=has_placeholders,
        logging_record=LogPlace(*file_and_line(user_frame())) if _use_logging else None)
    return None


def debug_log(fmt: str | None = None, *args: Any, ordered: bool = False,
              partitioned: bool = False, skip_format_check: bool = False,
              _use_logging: bool = True, **kwargs: Any) -> Any:
    """Like `debug.print`, with the text given to Python's `logging` instead of `sys.stdout`.

    The record has level INFO, the logger "jitney.debug", and the line that called `debug.log`.
    """
    debug_print(fmt, *args, ordered=ordered, partitioned=partitioned, _use_logging=_use_logging,
                skip_format_check=skip_format_check, **kwargs)


@dataclasses.dataclass(frozen=True)
class LogPlace:
    """Where `debug.log` was called: equal calls make equal programs."""

    file: str
    line: int

    def __repr__(self) -> str:
        return f'<LogRecord: {_LOGGER}, {logging.INFO}, {self.file}, {self.line}, "">'

    def log(self, text: str) -> None:
        record = logging.LogRecord(_LOGGER, logging.INFO, self.file, self.line, text, (), None)
        logging.getLogger(_LOGGER).handle(record)


def _print_options() -> tuple:
    return tuple(np.get_printoptions().items())


def _print_now(*arrays: Any, fmt: str, in_tree: Any, static_args: tuple, np_printoptions: tuple,
               has_placeholders: bool, logging_record: LogPlace | None, **params: Any) -> None:
    fixed = dict(static_args)
    given = iter(arrays)
    leaves = [fixed[i] if i in fixed else next(given) for i in range(in_tree.num_leaves)]
    args, kwargs = in_tree.unflatten(leaves)
    options = {k: v for k, v in np_printoptions if k != "override_repr"}
    with np.printoptions(**options):
        text = fmt.format(*args, **kwargs) if has_placeholders else fmt
    if logging_record is None:
        sys.stdout.write(text + "\n")
    else:
        logging_record.log(text)


def _debug_print_reference(*args: Any, **params: Any) -> list:
    _call(lambda *arrays: _print_now(*arrays, **params), args, "debug.print")
    return []


debug_print_p.def_abstract(lambda *avals, **params: [])
debug_print_p.def_reference(_debug_print_reference)
debug_print_p.def_effects(
    lambda *avals, ordered, **params: {ORDERED_DEBUG_EFFECT if ordered else DEBUG_EFFECT})


def _debug_rules(primitive: Primitive) -> None:
    def jvp(primals, tangents, **params):
        return primitive.bind(*primals, **params), []

    def batch(args, dims, **params):
        _each(primitive, args, dims, params)
        return [], []

    define_jvp(primitive, jvp)
    define_batch(primitive, batch)


_debug_rules(debug_callback_p)
_debug_rules(debug_print_p)

__all__ = ["debug_callback", "debug_print", "io_callback", "pure_callback"]
