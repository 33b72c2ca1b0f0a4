"""Layer 1: the language. Values, primitives, interception, programs (jaxprs).

Reading order: avals, primitive, trace, jaxpr, staging, print_jaxpr, check, interpret, dce, calls,
slots and operators (what is plugged in from above).
Nothing here knows any primitive's mathematics or any machine. The names below are public as
`jitney.core.…`.
"""

from typing import Any

from jitney.core import print_jaxpr as _print_jaxpr  # noqa: F401  (it registers the printer)
from jitney.core.avals import ShapedArray, get_aval
from jitney.core.calls import jit_p
from jitney.core.check import check_jaxpr
from jitney.core.dce import dce_jaxpr
from jitney.core.interpret import eval_closed, eval_jaxpr
from jitney.core.jaxpr import (
    Atom,
    ClosedJaxpr,
    DebugInfo,
    DropVar,
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
    jaxprs_in_params,
    subjaxprs,
)
from jitney.core.primitive import Primitive
from jitney.core.trace import Trace, Tracer, ensure_compile_time_eval, eval_context

AbstractValue = ShapedArray
Value = Any
ParamDict = dict[str, Any]


def max_dim(d1: int, d2: int) -> int:
    """The greater of two lengths of axes."""
    return max(d1, d2)


def min_dim(d1: int, d2: int) -> int:
    """The lesser of two lengths of axes."""
    return min(d1, d2)


def jaxpr_as_fun(closed: ClosedJaxpr):
    """The function a closed jaxpr describes: flat arguments to a list of results."""
    return lambda *args: eval_closed(closed, *args)


__all__ = [
    "AbstractValue", "Atom", "ClosedJaxpr", "DebugInfo", "DropVar", "Jaxpr", "JaxprEqn",
    "Literal", "ParamDict", "Primitive", "ShapedArray", "Trace", "Tracer", "Value", "Var",
    "check_jaxpr", "dce_jaxpr", "ensure_compile_time_eval", "eval_closed", "eval_context",
    "eval_jaxpr", "get_aval", "jaxpr_as_fun", "jaxprs_in_params", "jit_p", "max_dim", "min_dim",
    "subjaxprs"]
