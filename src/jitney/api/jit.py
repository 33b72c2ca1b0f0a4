"""`jit`: trace a function once per signature, compile it, and let the native dispatcher run it.

In: a Python function and options. Out: a `JitFunction`, a native object: a call that fits an
installed entry never reaches Python; any other comes to `_miss`, which decides once.
Under a trace a call becomes one `jit` equation (or vanishes, with `inline=True`).

    @jit
    def f(x): return x * 2
Invariant: an entry gives what `_miss` would give for the same call.
Read next: identity (which functions are the same), tracing (signatures), compile.
"""

from __future__ import annotations

import functools
import gc
import inspect
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from jitney import _native
from jitney.api import identity as identities
from jitney.api import placed, stages
from jitney.api import signature as signatures
from jitney.api.compile import Runnable, make_runnable
from jitney.api.jit_options import check_compiler_options, check_device, check_shardings
from jitney.api.jit_shardings import JitShardings
from jitney.api.nan_location import place_of_first
from jitney.api.shapes import aval_of_argument, struct_of
from jitney.api.tracing import Traced, find_avals, input_names_of, read_call, traced_program
from jitney.base import config, dtypes, source
from jitney.core.calls import bind_jit
from jitney.core.trace import Tracer

_current_trace = _native.current_trace
_MISSING: Any = type("NotSpecified", (), {"__repr__": lambda self: "<not-specified>"})()
_UNSPECIFIED: Any = type("UnspecifiedValue", (), {"__repr__": lambda self: "UnspecifiedValue"})()
_COPIED = ("__module__", "__name__", "__qualname__", "__doc__", "__annotations__")


class JitFunction(_native.Jitted):
    """A jitted function. `__wrapped__` is the original."""

    def _miss(self, args: tuple, kwargs: dict) -> Any:
        """A call no entry fits: under a trace, a new signature, or a mode that checks."""
        trace = _current_trace()
        if (trace is not None and self._inline) or config.disable_jit.value:
            return self.__wrapped__(*args, **kwargs)
        try:
            return self._decide(trace, args, kwargs)
        except Exception as error:
            _shorten(error)
            raise

    def _decide(self, trace: Any, args: tuple, kwargs: dict) -> Any:
        fun = self.__wrapped__
        call = read_call(fun, args, kwargs, self._static_argnums, self._static_argnames)
        find_avals(call, fun)
        if self._shardings is not None:
            call.leaves = self._shardings.place_inputs(call.leaves, call.in_tree,
                                                       input_names_of(call, fun))
        traced = traced_program(fun, self._identity(), call)
        if trace is not None or traced.hoisted or _has_tracers(call.leaves):
            outs = bind_jit(traced.jaxpr, [*traced.hoisted, *call.leaves], traced.name,
                            donated=self._donated_flags(traced, call),
                            keep_unused=self._keep_unused)
            if self._shardings is not None:
                outs = self._shardings.place_results(outs, traced.out_tree)
            return traced.out_tree.unflatten(outs)
        has_places = self._has_places(traced, call)
        runnable = self._runnable(traced, self._donated_leaves(args, kwargs, call))
        given = placed.given_shardings(call.leaves) if has_places else ()
        if not has_places and not _checked_mode():
            self._install(args, kwargs, self._static_argnums, self._static_argnames,
                          runnable.program, runnable.kept, runnable.hidden, traced.out_tree,
                          runnable.donated)
        outs = runnable.run(call.leaves, call.avals)
        _check_results(outs, traced, call.leaves)
        if has_places:
            outs = placed.place_results(traced.jaxpr, given, outs)
            if self._shardings is not None:
                outs = self._shardings.place_results(outs, traced.out_tree)
        return traced.out_tree.unflatten(outs)

    def _has_places(self, traced: Traced, call: Any) -> bool:
        """Whether results get shardings; ValueError for arguments on different devices."""
        if placed.any_placed(call.leaves):
            placed.check_devices(call.leaves, lambda: input_names_of(call, self.__wrapped__),
                                 traced.name)
            return True
        return self._shardings is not None or placed.program_places(traced.jaxpr)

    def _identity(self) -> identities.FunctionIdentity:
        return identities.identity_of(self.__wrapped__, self.__dict__)

    def _runnable(self, traced: Traced, donated: tuple) -> Runnable:
        key = (donated, self._keep_unused)
        found = traced.executables.get(key)
        if found is None:
            usable = _usable_donations(traced, donated) if donated else ()
            found = make_runnable(traced.jaxpr, traced.name, usable, self._keep_unused)
            traced.executables[key] = found
        return found

    # --- donation

    def _donated_leaves(self, args: tuple, kwargs: dict, call: Any) -> tuple:
        """Flat positions of the leaves of donated arguments."""
        if not self._donate_argnums and not self._donate_argnames:
            return ()
        found, count = [], 0
        positions = range(len(args)) if call.positions is None else call.positions
        for i in positions:
            size = len(_native.tree_leaves(args[i]))
            if i in self._donate_argnums:
                found += range(count, count + size)
            count += size
        for name in sorted(kwargs):
            if name in self._static_argnames:
                continue
            size = len(_native.tree_leaves(kwargs[name]))
            if name in self._donate_argnames:
                found += range(count, count + size)
            count += size
        return tuple(found)

    def _donated_flags(self, traced: Traced, call: Any) -> tuple | None:
        if not self._donate_argnums and not self._donate_argnames:
            return None
        args, kwargs = call.in_tree.unflatten(call.leaves)
        if call.positions is not None:
            full: list = [None] * (max(call.positions, default=-1) + 1)
            for i, arg in zip(call.positions, args):
                full[i] = arg
            args = full
        donated = set(self._donated_leaves(tuple(args), kwargs, call))
        return (False,) * len(traced.hoisted) + tuple(i in donated
                                                      for i in range(len(call.leaves)))

    # --- looking at stages

    def trace(self, *args: Any, **kwargs: Any) -> stages.Traced:
        """The traced program for these arguments (arrays or ShapeDtypeStructs)."""
        fun = self.__wrapped__
        call = read_call(fun, args, kwargs, self._static_argnums, self._static_argnames)
        find_avals(call, fun, aval_of_argument)
        try:
            traced = traced_program(fun, self._identity(), call)
        except Exception as error:
            _shorten(error)
            raise
        donated = self._donated_leaves(args, kwargs, call)
        return stages.Traced(self, traced, call, donated, fun)

    def lower(self, *args: Any, **kwargs: Any) -> stages.Lowered:
        """The program for these arguments, ready to be looked at or compiled."""
        return self.trace(*args, **kwargs).lower()

    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        """The shapes and dtypes of the result, without computing it."""
        traced = self.trace(*args, **kwargs)._traced
        return traced.out_tree.unflatten([struct_of(a) for a in traced.jaxpr.out_avals])

    def clear_cache(self) -> None:
        """Forget what was traced and compiled for this function."""
        self._clear()
        identity = self._identity()
        identity.traced.clear()
        identity.fresh = False

    def _cache_size(self) -> int:
        return self._entries()

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self.__wrapped__)

    def __repr__(self):
        return f"<PjitFunction of {self.__wrapped__!r}>"

    def __reduce__(self):
        return _rebuild, (self.__wrapped__, self._options)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self


def _rebuild(fun: Callable, options: dict) -> JitFunction:
    return jit(fun, **options)


def jit(fun: Any = _MISSING, /, *, in_shardings: Any = _UNSPECIFIED,
        out_shardings: Any = _UNSPECIFIED, static_argnums: int | Sequence[int] | None = None,
        static_argnames: str | Iterable[str] | None = None,
        donate_argnums: int | Sequence[int] | None = None,
        donate_argnames: str | Iterable[str] | None = None, keep_unused: bool = False,
        device: Any = None, backend: str | None = None, inline: bool = False,
        compiler_options: dict[str, Any] | None = None, abstracted_axes: Any = None) -> Any:
    """Compile a function when it is first called with arguments of some type.

    Static arguments are part of the cache key and reach the function as they are; donated ones
    give up their memory to the result. Without `fun` a decorator is returned.

    >>> jit(lambda x: x * 2)(3)
    Array(6, dtype=int32, weak_type=True)

    Differs from JAX: functions equal in content share traces, so a lambda made anew in a loop is
    traced once. `in_shardings` and `out_shardings` (tree prefixes) place arguments and results; all
    devices share their memory, so that nothing is moved. ValueError for a sharding that does not
    fit, or differs from that of an argument.
    """
    if fun is _MISSING:
        options = {k: v for k, v in locals().items() if k != "fun"}
        return lambda f: jit(f, **options)
    if not callable(fun):
        raise TypeError(f"Expected a callable value, got {fun}")
    if inspect.isgeneratorfunction(fun) or inspect.iscoroutinefunction(fun):
        raise TypeError(f"Expected a function, got a generator or coroutine function: {fun}")
    check_device(device, backend)
    if in_shardings is not _UNSPECIFIED:
        check_shardings("in_shardings", in_shardings)
    if out_shardings is not _UNSPECIFIED:
        check_shardings("out_shardings", out_shardings)
    check_compiler_options(compiler_options)
    if abstracted_axes is not None:
        raise NotImplementedError("abstracted_axes is not supported: sizes are parameters of the "
                                  "compiled kernels anyway, so that a new size compiles nothing")
    jitted = JitFunction()
    _copy_names(jitted, fun)
    own = jitted.__dict__
    own["__wrapped__"] = fun
    own["_inline"], own["_keep_unused"] = inline, keep_unused
    own["_options"] = options = {"inline": inline, "keep_unused": keep_unused}
    own["_shardings"] = None
    if device is not None and out_shardings is _UNSPECIFIED:
        out_shardings = device
    if in_shardings is not _UNSPECIFIED or out_shardings is not _UNSPECIFIED:
        own["_shardings"] = JitShardings(in_shardings, out_shardings, _UNSPECIFIED)
        options.update(in_shardings=in_shardings, out_shardings=out_shardings)
    if static_argnums is None and static_argnames is None:
        own["_static_argnums"] = own["_static_argnames"] = ()
    else:
        own["_static_argnums"], own["_static_argnames"] = signatures.resolve(
            fun, static_argnums, static_argnames, "static")
        options.update(static_argnums=static_argnums, static_argnames=static_argnames)
    if donate_argnums is None and donate_argnames is None:
        own["_donate_argnums"] = own["_donate_argnames"] = ()
    else:
        own["_donate_argnums"], own["_donate_argnames"] = signatures.resolve(
            fun, donate_argnums, donate_argnames, "donate")
        options.update(donate_argnums=donate_argnums, donate_argnames=donate_argnames)
        _check_disjoint(own)
    return jitted


def _copy_names(jitted: JitFunction, fun: Callable) -> None:
    own = jitted.__dict__
    for name in _COPIED:
        try:
            own[name] = getattr(fun, name)
        except AttributeError:
            pass
    if isinstance(fun, functools.partial) and "__name__" not in own:
        own["__name__"] = source.function_name(fun)
    extra = getattr(fun, "__dict__", None)
    if extra and not isinstance(fun, _native.Jitted):
        for name, value in extra.items():
            own.setdefault(name, value)


def _check_disjoint(own: dict) -> None:
    names = set(own["_static_argnames"]) & set(own["_donate_argnames"])
    if names:
        raise ValueError("static_argnames and donate_argnames cannot intersect. Argument names "
                         f"{names} appear in both static_argnames and donate_argnames")
    numbers = set(own["_static_argnums"]) & set(own["_donate_argnums"])
    if numbers:
        raise ValueError("static_argnums and donate_argnums cannot intersect. Argument numbers "
                         f"{numbers} appear in both")


def _has_tracers(leaves: list) -> bool:
    for leaf in leaves:
        if isinstance(leaf, Tracer):
            return True
    return False


def _usable_donations(traced: Traced, donated: tuple) -> tuple:
    """Given-up inputs whose memory a result can take; the others are warned about and kept."""
    free = [(a.shape, a.dtype) for a in traced.jaxpr.out_avals]
    usable, unused = [], []
    for i in donated:
        aval = traced.jaxpr.jaxpr.invars[i].aval
        kind = (aval.shape, aval.dtype)
        if kind in free:
            free.remove(kind)
            usable.append(i)
        else:
            unused.append(aval.str_short())
    if unused:
        warnings.warn("Some donated buffers were not usable: " + ", ".join(unused) + ".\nA donated "
                      "buffer is reused for a result of the same shape and dtype; there is none.",
                      stacklevel=5)
    return tuple(usable)


# --- modes that look at results ----------------------------------------------------------------


def _checked_mode() -> bool:
    return config.debug_nans.value or config.debug_infs.value or config.no_execution.value


def _check_results(outs: list, traced: Traced, leaves: list) -> None:
    if not (config.debug_nans.value or config.debug_infs.value):
        return
    for out in outs:
        if not dtypes.is_inexact(out.dtype):
            continue
        value = _native.numpy_view(out)
        if config.debug_nans.value and np.isnan(value).any():
            raise FloatingPointError(f"invalid value (nan) encountered in {traced.name}"
                                     + place_of_first(traced.jaxpr, leaves))
        if config.debug_infs.value and np.isinf(value).any():
            raise FloatingPointError(f"invalid value (inf) encountered in {traced.name}"
                                     + place_of_first(traced.jaxpr, leaves))


def _shorten(error: BaseException) -> None:
    """Leave only the user's frames in the traceback."""
    if config.traceback_filtering.value != "off":
        error.__traceback__ = source.filter_traceback(error.__traceback__)


_clearers: list[Callable[[], None]] = []


def when_clearing(action: Callable[[], None]) -> None:
    """Run `action` whenever all caches are cleared."""
    _clearers.append(action)


def clear_caches() -> None:
    """Forget everything traced and compiled, of every function."""
    identities.forget_everything()
    for clear in _clearers:
        clear()
    for jitted in gc.get_objects():
        if isinstance(jitted, JitFunction):
            jitted._clear()
