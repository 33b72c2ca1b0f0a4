"""Functions of small pieces applied along axes: vectorize, apply_along_axis, apply_over_axes.

In: a function of scalars (or of arrays of a stated rank). Out: a function that broadcasts.
Invariant: each piece is seen by the function once, under `vmap`; there is no Python loop.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jitney import lax
from jitney.api.vmap import vmap
from jitney.numpy.manipulation import expand_dims
from jitney.numpy.promotion import (
    array_arguments,
    canonical_axis,
    check_arraylike,
    shape_of,
)

_NAME = r"\w+"
_CORE = rf"\((?:{_NAME}(?:,{_NAME})*)?\)"
_SIGNATURE = re.compile(rf"^{_CORE}(?:,{_CORE})*->{_CORE}(?:,{_CORE})*$")


def _parse(signature: str) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    text = re.sub(r"\s+", "", signature)
    if not _SIGNATURE.match(text):
        raise ValueError(f"not a valid gufunc signature: {signature}")
    return tuple([tuple(re.findall(_NAME, core)) for core in re.findall(_CORE, side)]
                 for side in text.split("->"))


def _bind_dimensions(sizes: dict[str, int], core: Sequence[str], shape: tuple, where: str) -> None:
    if len(shape) < len(core):
        raise ValueError(f"{where} with shape {shape} does not have enough dimensions for all core "
                         f"dimensions {tuple(core)}")
    for name, n in zip(core, shape[len(shape) - len(core):]):
        if sizes.setdefault(name, n) != n:
            raise ValueError(f"inconsistent size for core dimension {name!r}: {n} vs {sizes[name]} "
                             f"({where})")


def _checked_outputs(function: Callable, sizes: dict[str, int], outputs: list) -> Callable:
    """The function, its results compared with the signature."""
    @functools.wraps(function)
    def wrapped(*args):
        out = function(*args)
        results = out if isinstance(out, tuple) else (out,)
        if len(results) != len(outputs):
            raise TypeError("wrong number of outputs from pyfunc: expected "
                            f"{len(outputs)}, got {len(results)}")
        known = dict(sizes)
        for result, core in zip(results, outputs):
            shape = np.shape(result) if not hasattr(result, "shape") else result.shape
            if len(shape) != len(core):
                raise ValueError(f"output shape {shape} does not match core dimensions {core}")
            _bind_dimensions(known, core, tuple(shape), "output")
        return out
    return wrapped


def vectorize(pyfunc, *, excluded=frozenset(), signature=None):
    """A function that applies `pyfunc` to every element (or core piece) of its arguments."""
    if any(not isinstance(e, (str, int)) for e in excluded):
        raise TypeError("jax.numpy.vectorize can only exclude integer or string arguments, but "
                        f"excluded={excluded!r}")
    if any(isinstance(e, int) and e < 0 for e in excluded):
        raise ValueError(f"excluded={excluded!r} contains negative numbers")
    parsed = None if signature is None else _parse(signature)

    @functools.wraps(pyfunc)
    def wrapped(*args, **kwargs):
        function, args, kwargs = _without_excluded(pyfunc, excluded, args, kwargs)
        if kwargs:
            names = sorted(kwargs)
            count = len(args)
            plain = function
            args = (*args, *(kwargs[n] for n in names))

            def function(*values):
                return plain(*values[:count], **dict(zip(names, values[count:])))
        return _apply(function, args, parsed)

    return wrapped


def _without_excluded(pyfunc: Callable, excluded: Any, args: tuple,
                      kwargs: dict) -> tuple[Callable, tuple, dict]:
    fixed = {i: args[i] for i in excluded if isinstance(i, int) and i < len(args)}
    fixed_names = {k: kwargs[k] for k in excluded if isinstance(k, str) and k in kwargs}
    if not fixed and not fixed_names:
        return pyfunc, args, kwargs

    @functools.wraps(pyfunc)
    def function(*rest, **named):
        values, it = [], iter(rest)
        for i in range(len(rest) + len(fixed)):
            values.append(fixed[i] if i in fixed else next(it))
        return pyfunc(*values, **fixed_names, **named)

    return (function, tuple(a for i, a in enumerate(args) if i not in fixed),
            {k: v for k, v in kwargs.items() if k not in fixed_names})


def _apply(function: Callable, args: tuple, parsed: Any) -> Any:
    check_arraylike("vectorize", *(a for a in args if a is not None))
    arrays = [None if a is None else array_arguments("vectorize", a) for a in args]
    given = [a for a in arrays if a is not None]
    if len(given) != len(arrays):
        plain = function

        def function(*values):
            it = iter(values)
            return plain(*(None if a is None else next(it) for a in arrays))
    if parsed is None:
        cores: list = [()] * len(given)
    else:
        cores = parsed[0]
        if len(args) != len(cores):
            raise TypeError(f"wrong number of positional arguments: expected {len(cores)}, got "
                            f"{len(args)}")
        cores = [c for c, a in zip(cores, arrays) if a is not None]
    sizes: dict[str, int] = {}
    loops = []
    for a, core in zip(given, cores):
        _bind_dimensions(sizes, core, shape_of(a), "input")
        loops.append(shape_of(a)[:len(shape_of(a)) - len(core)])
    if parsed is not None:
        function = _checked_outputs(function, sizes, parsed[1])
    return _map_loops(function, given, loops)


def _map_loops(function: Callable, arrays: list, loops: list) -> Any:
    """vmap over every loop axis; axes of length one are not mapped but dropped."""
    total = np.broadcast_shapes(*loops) if loops else ()
    squeezed, mapped_axes = [], [[] for _ in total]
    for a, loop in zip(arrays, loops):
        offset = len(total) - len(loop)
        gone = tuple(i for i, n in enumerate(loop) if n == 1 and total[i + offset] != 1)
        squeezed.append(lax.squeeze(a, gone) if gone else a)
        for i in range(len(total)):
            here = i - offset
            mapped_axes[i].append(0 if here >= 0 and here not in gone else None)
    for axes in reversed(mapped_axes):
        if all(x is None for x in axes):
            continue
        function = vmap(function, in_axes=tuple(axes))
    return function(*squeezed)


def apply_along_axis(func1d, axis, arr, *args, **kwargs):
    """A function of vectors applied to every vector along an axis."""
    arr = array_arguments("apply_along_axis", arr)
    rank = len(shape_of(arr))
    axis = canonical_axis(axis, rank)

    def function(x):
        return func1d(x, *args, **kwargs)

    for _ in range(rank - axis - 1):
        function = vmap(function, in_axes=-1, out_axes=-1)
    for _ in range(axis):
        function = vmap(function, in_axes=0, out_axes=0)
    return function(arr)


def apply_over_axes(func, a, axes):
    """A reduction applied along several axes, one after another, which keep their places."""
    a = array_arguments("apply_over_axes", a)
    for axis in axes:
        result = func(a, axis=axis)
        if len(shape_of(result)) == len(shape_of(a)):
            a = result
        elif len(shape_of(result)) == len(shape_of(a)) - 1:
            a = expand_dims(result, axis)
        else:
            raise ValueError("function is not returning an array of the correct shape")
    return a
