"""Primitives applied to concrete values: one-primitive programs through the same compiler.

In: a primitive, concrete arguments, parameters. Out: Arrays. The program is kept per (primitive,
avals, parameters, mode); there is no second execution engine.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np

from jitney import _native
from jitney.api import placed
from jitney.api.compile import Runnable, make_runnable
from jitney.api.jit import when_clearing
from jitney.api.nan_location import place_in_application
from jitney.api.propagation import PLACING
from jitney.base import config, debug, dtypes
from jitney.base.lazy import lazy_module
from jitney.base.weak_memo import WeakMemo
from jitney.core.avals import get_aval
from jitney.core.calls import jit_p
from jitney.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Var
from jitney.core.primitive import Primitive
from jitney.core.staging import effects_of_application

_reuse_kernel = lazy_module("jitney.fuse.reuse_kernel")
_LIMIT = 4096
_programs: OrderedDict[tuple, Runnable] = OrderedDict()
_of_closed: WeakMemo[ClosedJaxpr, Runnable] = WeakMemo()


def evaluate(primitive: Primitive, args: tuple, params: dict) -> Any:
    """The value (or list of values) of a primitive on concrete arguments."""
    avals = tuple([get_aval(x) for x in args])
    outs = _runnable(primitive, avals, params).run(args, avals)
    if config.debug_nans.value or config.debug_infs.value:
        _check(outs, primitive, args, params)
    if primitive.name in PLACING or placed.any_placed(args):
        outs = _placed(primitive, args, avals, params, outs)
    return outs if primitive.multiple_results else outs[0]


def _placed(primitive: Primitive, args: tuple, avals: tuple, params: dict, outs: list) -> list:
    """The results with the shardings that follow from those of the arguments."""
    placed.check_devices(args, lambda: [f"{i}" for i in range(len(args))], primitive.name)
    closed = params["jaxpr"] if primitive is jit_p else _one_equation(primitive, avals, params)
    return placed.place_results(closed, placed.given_shardings(args), outs)


def _one_equation(primitive: Primitive, avals: tuple, params: dict) -> ClosedJaxpr:
    outs = primitive.abstract_eval(*avals, **params)
    outs = list(outs) if primitive.multiple_results else [outs]
    invars, outvars = [Var(a) for a in avals], [Var(a) for a in outs]
    eqn = JaxprEqn(primitive, invars, outvars, params, None,
                   effects_of_application(primitive, avals, params))
    return ClosedJaxpr(Jaxpr((), invars, outvars, [eqn]))


def _runnable(primitive: Primitive, avals: tuple, params: dict) -> Runnable:
    if primitive is jit_p:
        return _runnable_of_closed(params["jaxpr"], params["name"])
    try:
        key = (primitive, avals, tuple(params.items()), _native.config_id())
        found = _programs.get(key)
    except TypeError:
        return _compile(primitive, avals, params)
    if found is None:
        found = _programs[key] = _compile(primitive, avals, params)
        if len(_programs) > _LIMIT:
            _programs.popitem(last=False)
    return found


def _runnable_of_closed(closed: ClosedJaxpr, name: str) -> Runnable:
    found = _of_closed.get(closed)
    if found is None:
        found = _of_closed[closed] = make_runnable(closed, name)
    return found


def _compile(primitive: Primitive, avals: tuple, params: dict) -> Runnable:
    debug.count("eager_compiles")
    return make_runnable(_one_equation(primitive, avals, params), primitive.name)


def _check(outs: list, primitive: Primitive, args: tuple, params: dict) -> None:
    for out in outs:
        if not dtypes.is_inexact(out.dtype):
            continue
        value = _native.numpy_view(out)
        if config.debug_nans.value and np.isnan(value).any():
            raise FloatingPointError(f"invalid value (nan) encountered in {primitive.name}"
                                     + place_in_application(primitive, args, params))
        if config.debug_infs.value and np.isinf(value).any():
            raise FloatingPointError(f"invalid value (inf) encountered in {primitive.name}"
                                     + place_in_application(primitive, args, params))


when_clearing(_programs.clear)
when_clearing(_of_closed.clear)
when_clearing(lambda: _reuse_kernel.forget())
