"""`composite`: a function under a name, for compilers that know a better way to compute it.

In: a function of arrays (by position) and attributes (by keyword). Out: the same function, as one
equation `composite` with its name, version and attributes; it is computed as its decomposition.
Differentiated or batched, it is its decomposition (JAX refuses both).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from jitney import _native
from jitney.core import interpret
from jitney.core.avals import ShapedArray, get_aval
from jitney.core.interpret import eval_closed
from jitney.core.jaxpr import ClosedJaxpr
from jitney.core.primitive import Primitive
from jitney.lax.control_flow.common import require_callables, result_value, trace_function
from jitney.transforms.jvp import define_jvp, jvp_flat
from jitney.transforms.vmap import batch_program, define_batch

composite_p = Primitive("composite", multiple_results=True)


def composite(decomposition: Callable, name: str, version: int = 0) -> Callable:
    """`decomposition` as an operation `name`, for whoever reads the program.

    Arguments by position are arrays (trees of them), those by keyword are attributes: constants
    of the operation, left out of its text where they are None. TypeError for a decomposition that
    is not callable, a name that is no string, or a version that is no integer.

    >>> composite(lambda x, /, *, scale: x * scale, "my.scaled")(2.0, scale=3.0)
    Array(6., dtype=float32, weak_type=True)
    """
    require_callables("composite", "the decomposition must be callable", decomposition)
    if not isinstance(name, str) or not isinstance(version, int):
        raise TypeError(f"composite: name is a string and version an integer, got {name!r} and "
                        f"{version!r}")

    @functools.wraps(decomposition)
    def call(*args: Any, **attributes: Any) -> Any:
        leaves, in_tree = _native.tree_flatten(args)
        given = tuple((k, v) for k, v in attributes.items() if v is not None)
        body = trace_function(lambda *xs: decomposition(*xs, **attributes), in_tree,
                              [get_aval(x) for x in leaves], "composite", key=None,
                              user_fun=None)
        outs = composite_p.bind(*body.consts, *leaves, jaxpr=body.closed, name=name,
                                version=version, attributes=given)
        return body.out_tree.unflatten([result_value(x) for x in outs])

    return call


@composite_p.def_abstract
def _type(*operands: ShapedArray, jaxpr: ClosedJaxpr, **params: Any) -> list:
    return jaxpr.out_avals


@composite_p.def_reference
def _reference(*operands: Any, jaxpr: ClosedJaxpr, **params: Any) -> list:
    return interpret.reference_of_closed(jaxpr, *operands)


def _jvp(primals: Sequence, tangents: Sequence, *, jaxpr: ClosedJaxpr, **params: Any) -> tuple:
    return jvp_flat(lambda *xs: eval_closed(jaxpr, *xs), primals, tangents)


def _batch(args: Sequence, dims: Sequence, *, jaxpr: ClosedJaxpr, **params: Any) -> tuple:
    program, out_dims = batch_program(jaxpr, dims)
    return eval_closed(program, *args), out_dims


define_jvp(composite_p, _jvp)
define_batch(composite_p, _batch)

__all__ = ["composite", "composite_p"]
