"""`fwd_and_bwd`: the two passes of a derivative as two functions, each compiled once.

In: a function, and which arguments to differentiate. Out: `fwd(*args) -> (out, residuals)` and
`bwd(residuals, cotangent)`. The residuals are a pytree, so both can be jitted.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from jitney.api.jit import jit
from jitney.api.jvp_vjp import check_callable, vjp


def fwd_and_bwd(fun: Callable, argnums: int | Sequence[int], has_aux: bool = False,
                jitted: bool = True) -> tuple[Callable, Callable]:
    """The forward and the backward pass of `fun`.

    `fwd(*args)` gives `(out, residuals)`, and a third `aux` where `fun` returns `(out, aux)` and
    `has_aux` is true; `bwd(residuals, cotangent)` gives the cotangents of the arguments `argnums`:
    a tuple, or one for an integer. With `jitted` both are jitted. TypeError for arguments that are
    no integers, ValueError for those that are not given.

    >>> fwd, bwd = fwd_and_bwd(lambda x, y: x * y, argnums=0)
    >>> out, residuals = fwd(2.0, 3.0)
    >>> bwd(residuals, 1.0)
    Array(3., dtype=float32, weak_type=True)
    """
    check_callable(fun)
    single = hasattr(argnums, "__index__")
    numbers = (operator.index(argnums),) if single else tuple(map(operator.index, argnums))

    def fwd(*args: Any) -> tuple:
        places = _places(numbers, len(args))

        def of_chosen(*chosen):
            whole = list(args)
            for i, x in zip(places, chosen):
                whole[i] = x
            return fun(*whole)

        return vjp(of_chosen, *(args[i] for i in places), has_aux=has_aux)

    def bwd(residuals: Any, cotangent: Any) -> Any:
        found = residuals(cotangent)
        return found[0] if single else found

    return (jit(fwd), jit(bwd)) if jitted else (fwd, bwd)


def _places(numbers: tuple, count: int) -> list[int]:
    for n in numbers:
        if not -count <= n < count:
            raise ValueError(f"fwd_and_bwd: argnums {numbers} for a call with {count} positional "
                             "arguments")
    return [n % count for n in numbers]
