"""The StableHLO text of a traced program.

In: a closed jaxpr, its name, which inputs are donated, how results are called. Out: the text of a
module with a public function `main`.
Invariant: the program is what the compiler gets: dead code and (unless asked for) unused inputs
are gone, captured arrays are constants.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from jitney.base import pytree
from jitney.core.dce import dce_jaxpr, prune_constants
from jitney.core.jaxpr import ClosedJaxpr
from jitney.stablehlo import (  # noqa: F401  (the families register their rules)
    calls,
    contraction,
    control_flow,
    elementwise,
    gather_scatter,
    random,
    reduce,
    shape,
    sort,
    special,
)
from jitney.stablehlo.builder import Builder
from jitney.stablehlo.ops import Function, Module
from jitney.stablehlo.rules import write_closed
from jitney.stablehlo.types import TensorType, type_of
from jitney.stablehlo.writer import module_as_text, result_info


def module_text(closed: ClosedJaxpr, *, name: str, keep_unused: bool = False,
                donated: Sequence[int] = (), out_tree: Any = None,
                debug_info: bool = False) -> str:
    """The module of a program.

    `donated` are positions among the inputs; `out_tree` is the structure of the function's result,
    from which results get their names. With `debug_info` every operation ends with `loc(…)`: the
    equation it was written for, and the user's line. NotImplementedError names a primitive that
    has no form.
    """
    jaxpr, used = dce_jaxpr(closed.jaxpr, None, keep_unused)
    jaxpr, consts = prune_constants(jaxpr, closed.consts)
    program = ClosedJaxpr(jaxpr, consts)
    module = Module(module_name(name))
    main = module.add_function("main", [type_of(v.aval) for v in jaxpr.invars],
                               [type_of(v.aval) for v in jaxpr.outvars], public=True)
    given = frozenset(donated)
    kept = [i for i, is_used in enumerate(used) if is_used]
    _mark_donated(main, [position in given for position in kept])
    paths = _result_paths(closed, out_tree)
    main.result_attributes = [result_info(path) for path in paths]
    builder = Builder(module, main.block)
    builder.op("func.return", write_closed(builder, program, main.block.args), ())
    return module_as_text(module, debug_info)


def module_name(name: str) -> str:
    """`jit_f` of a function `f`; what cannot stand in a symbol becomes `_`.

    >>> module_name("<lambda>")
    'jit__lambda'
    """
    return re.sub(r"[^\w.-]", "_", f"jit_{name}").rstrip("_")


def _mark_donated(main: Function, donated: Sequence[bool]) -> None:
    """Each result takes the memory of the first donated input of its type."""
    waiting: dict[TensorType, list[int]] = defaultdict(list)
    for i, (arg, given) in enumerate(zip(main.block.args, donated, strict=True)):
        if given:
            waiting[arg.type].append(i)
    for position, type in enumerate(main.results):
        if waiting[type]:
            attributes = main.arg_attributes[waiting[type].pop(0)]
            attributes["tf.aliasing_output"] = f"{position} : i32"


def _result_paths(closed: ClosedJaxpr, out_tree: Any) -> list[str]:
    """How each result is reached: `result['a'][0]`."""
    count = len(closed.jaxpr.outvars)
    if out_tree is not None:
        tree = out_tree.unflatten(list(range(count)))
        return [f"result{pytree.keystr(path)}"
                for path, _ in pytree.tree_leaves_with_path(tree)]
    info = closed.jaxpr.debug_info
    known = getattr(info, "result_paths", None)
    if known is not None and len(known) == count:
        return list(known)
    return ["result"] if count == 1 else [f"result[{i}]" for i in range(count)]
