"""Batching: a function of one example becomes a function of many (the engine; the rules' table
is `vmap_table`).

In: a function on flat values, arrays of examples and the position of the batch dimension in
each (None: not batched). Out: results and their batch dimensions. A program becomes the program
of whole batches (`batch_jaxpr`).
Invariant: what does not depend on the batch is computed once, not batched.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

from jitney import _native
from jitney.base.weak_memo import WeakMemo
from jitney.core.avals import ShapedArray, get_aval
from jitney.core.interpret import eval_jaxpr
from jitney.core.jaxpr import ClosedJaxpr, jaxprs_in_params
from jitney.core.primitive import Primitive, named
from jitney.core.staging import trace_flat
from jitney.core.trace import Trace, Tracer, extend_axis_environment
from jitney.transforms import custom_rules
from jitney.transforms.jvp_table import Zero
from jitney.transforms.vmap_table import (
    align,
    ambient,
    at_front,
    batch_rules,
    batch_size,
    broadcast_batch,
    define_batch,
    define_batch_elementwise,
    define_batch_unary,
    move_dimension,
    not_mapped,
)

_swap_trace = _native.swap_trace


# --- the interpreter ---------------------------------------------------------------------------


# primitive -> (name of the parameter with axis names, rule(size, args, dims, **params)); the
# rule sees the parameters without this axis.
collective_rules: dict[Primitive, tuple[str, Callable]] = {}


def define_collective_batch(primitive: Primitive, parameter: str, rule: Callable) -> None:
    """How a collective over the batch's own axis acts: `rule(size, args, dims, **params)`.

    `params[parameter]` holds the axis names left over (a tuple).
    """
    collective_rules[primitive] = (parameter, rule)


def _mentions_axis(params: dict) -> bool:
    """Whether a program among the parameters holds a collective."""
    return any(eqn.primitive in collective_rules or _mentions_axis(eqn.params)
               for jaxpr in jaxprs_in_params(params) for eqn in jaxpr.eqns)


class BatchTracer(Tracer):
    """An array of examples standing for one of them."""

    __slots__ = ("aval", "value", "dim")

    def __init__(self, trace: BatchTrace, value: Any, dim: int):
        self._trace, self.value, self.dim = trace, value, dim
        whole = get_aval(value)
        shape = whole.shape
        self.aval = ShapedArray(shape[:dim] + shape[dim + 1:], whole.dtype, whole.weak_type)

    def _origin_text(self) -> str:
        return self.value._origin_text() if isinstance(self.value, Tracer) else ""

    def _repr_name(self) -> str:
        return "VmapTracer"

    def __repr__(self):
        return f"VmapTracer(aval={self.aval.str_short()}, batched={get_aval(self.value)})"


class BatchTrace(Trace):
    """Applies every primitive to all examples at once, under `parent`."""

    __slots__ = ("size", "axis_name", "mesh_axes")

    def __init__(self, parent: Trace | None, size: int, axis_name: Any = None,
                 mesh_axes: tuple = ()):
        super().__init__(parent)
        self.size, self.axis_name, self.mesh_axes = size, axis_name, mesh_axes

    def split(self, x: Any) -> tuple[Any, int | None]:
        """(value, batch dimension or None)."""
        if type(x) is BatchTracer and x._trace is self:
            return x.value, x.dim
        return x, None

    def join(self, value: Any, dim: int | None) -> Any:
        return value if dim is None else BatchTracer(self, value, dim)

    def process_primitive(self, primitive: Primitive, args: tuple, params: dict) -> Any:
        values, dims, batched = [], [], False
        for x in args:
            if type(x) is BatchTracer and x._trace is self:
                values.append(x.value)
                dims.append(x.dim)
                batched = True
            else:
                values.append(x)
                dims.append(None)
        rule = None
        if primitive in collective_rules and self.axis_name is not None:
            rule = self._collective(primitive, params)
        if rule is None:
            if not batched and not (self.axis_name is not None and _mentions_axis(params)):
                before = _swap_trace(self.parent)
                try:
                    return primitive.bind(*values, **params)
                finally:
                    _swap_trace(before)
            if primitive in custom_rules.CALLS:
                return custom_rules.CALLS[primitive](self, args, **params)
            rule = batch_rules.get(primitive)
            if rule is None:
                raise NotImplementedError(f"Batching rule for '{primitive}' not implemented")
        out, out_dims = self._run_rule(rule, values, dims, params)
        if primitive.multiple_results:
            return [self.join(x, d) for x, d in zip(out, out_dims, strict=True)]
        return self.join(out, out_dims)

    def _run_rule(self, rule: Callable, values: list, dims: list, params: dict) -> Any:
        before = _swap_trace(self.parent)
        outer = (ambient.axis_name, ambient.size, ambient.mesh_axes)
        ambient.axis_name, ambient.size = self.axis_name, self.size
        ambient.mesh_axes = self.mesh_axes
        try:
            return rule(values, dims, **params)
        finally:
            ambient.axis_name, ambient.size, ambient.mesh_axes = outer
            _swap_trace(before)

    def _collective(self, primitive: Primitive, params: dict) -> Callable | None:
        """The rule of a collective that names this axis; None for others."""
        parameter, rule = collective_rules[primitive]
        names = params[parameter]
        names = names if isinstance(names, tuple) else (names,)
        if self.axis_name not in names:
            return None
        left = tuple(n for n in names if n != self.axis_name)

        def apply(args, dims, **given):
            return rule(self.size, args, dims, **{**given, parameter: left})

        return apply

    # --- functions with rules of their own: both function and rule are batched

    def process_custom_jvp_call(self, fun: Callable, rule: Any, args: list) -> list:
        values, dims = self._split_all(args)
        batch = _Batch(self.size, self.axis_name, self.mesh_axes)
        return self._custom(custom_rules.apply_custom_jvp, batch.front(fun, dims),
                            _BatchedJvpRule(rule, batch, dims), values, dims)

    def process_custom_vjp_call(self, fun: Callable, rule: Any, args: list) -> list:
        values, dims = self._split_all(args)
        batch = _Batch(self.size, self.axis_name, self.mesh_axes)
        return self._custom(custom_rules.apply_custom_vjp, batch.front(fun, dims),
                            _BatchedVjpRule(rule, batch, dims, [get_aval(x) for x in args]),
                            values, dims)

    def _split_all(self, args: list) -> tuple[list, list]:
        pairs = [self.split(x) for x in args]
        return [v for v, _ in pairs], [d for _, d in pairs]

    def _custom(self, apply: Callable, fun: Callable, rule: Any, values: list,
                dims: list) -> list:
        before = _swap_trace(self.parent)
        try:
            outs = apply(fun, rule, values)
        finally:
            _swap_trace(before)
        if all(d is None for d in dims) and self.axis_name is None:
            return outs
        return [self.join(x, 0) for x in outs]


class _Batch:
    """Size and names of a batch: runs functions on whole batches, under the current trace."""

    def __init__(self, size: int, axis_name: Any, mesh_axes: tuple = ()):
        self.size, self.axis_name, self.mesh_axes = size, axis_name, mesh_axes

    def run(self, fun: Callable, values: Sequence, dims: Sequence) -> tuple[list, list]:
        """(results, batch dimensions) of `fun(*examples) -> list`."""
        trace = BatchTrace(_native.current_trace(), self.size, self.axis_name, self.mesh_axes)
        ins = [trace.join(x, d) for x, d in zip(values, dims, strict=True)]
        named_axis = extend_axis_environment((self.axis_name, self.size)) \
            if self.axis_name is not None else contextlib.nullcontext()
        before = _swap_trace(trace)
        try:
            with named_axis:
                outs = fun(*ins)
        finally:
            _swap_trace(before)
            trace.close()
        pairs = [trace.split(x) for x in outs]
        return [v for v, _ in pairs], [d for _, d in pairs]

    def run_front(self, fun: Callable, values: Sequence, dims: Sequence) -> list:
        """Results, all with the batch in front (as they are when nothing is batched)."""
        outs, out_dims = self.run(fun, values, dims)
        if all(d is None for d in dims) and self.axis_name is None:
            return outs
        return [at_front(x, d, self.size) for x, d in zip(outs, out_dims)]

    def front(self, fun: Callable, dims: Sequence) -> Callable:
        return lambda *values: self.run_front(fun, values, dims)


class _BatchedRule:
    """A custom rule on whole batches; names and options are those of the rule inside."""

    def __init__(self, rule: Any, batch: _Batch, dims: Sequence):
        self.rule, self.batch, self.dims = rule, batch, list(dims)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rule, name)


class _BatchedJvpRule(_BatchedRule):
    def __call__(self, primals: Sequence, tangents: Sequence) -> tuple[list, list]:
        count, flowing = len(primals), [type(t) is not Zero for t in tangents]
        zeros: list = []

        def both(*ins):
            given = iter(ins[count:])
            outs, out_tangents = self.rule(
                list(ins[:count]),
                [next(given) if f else Zero(get_aval(x).to_tangent_aval())
                 for x, f in zip(ins, flowing)])
            zeros[:] = out_tangents
            return [*outs, *(t for t in out_tangents if type(t) is not Zero)]

        dims = self.dims + [d for d, f in zip(self.dims, flowing) if f]
        found = self.batch.run_front(
            both, [*primals, *(t for t, f in zip(tangents, flowing) if f)], dims)
        outs, given = found[:len(zeros)], iter(found[len(zeros):])
        return outs, [Zero.from_primal_value(x) if type(t) is Zero else next(given)
                      for x, t in zip(outs, zeros)]


class _BatchedVjpRule(_BatchedRule):
    def __init__(self, rule: Any, batch: _Batch, dims: Sequence, avals: Sequence):
        super().__init__(rule, batch, dims)
        self.avals = avals                       # of one example's operands

    def forward(self, primals: Sequence, perturbed: Sequence[bool]) -> tuple:
        parts: list = []

        def run(*ins):
            outs, residuals, structure = self.rule.forward(ins, perturbed)
            parts[:] = [len(outs), structure]
            return [*outs, *residuals]

        found, dims = self.batch.run(run, primals, self.dims)
        count, structure = parts
        if any(d is not None for d in self.dims) or self.batch.axis_name is not None:
            found[:count] = [at_front(x, d, self.batch.size)
                             for x, d in zip(found[:count], dims)]
            dims[:count] = [0] * count
        return found[:count], found[count:], (structure, dims[count:], dims[:count])

    def backward(self, structure: Any, residuals: Sequence, cotangents: Sequence) -> list:
        inner, residual_dims, out_dims = structure
        flowing = [type(ct) is not Zero for ct in cotangents]
        count, kept = len(residuals), []

        def run(*ins):
            given = iter(ins[count:])
            cts = [next(given) if f else Zero(_example(ct.aval, d))
                   for ct, d, f in zip(cotangents, out_dims, flowing)]
            found = self.rule.backward(inner, ins[:count], cts)
            kept[:] = [ct is not None and type(ct) is not Zero for ct in found]
            return [ct for ct, k in zip(found, kept) if k]

        dims = [*residual_dims, *(d for d, f in zip(out_dims, flowing) if f)]
        outs, dims = self.batch.run(run, [*residuals, *(c for c in cotangents
                                                        if type(c) is not Zero)], dims)
        given = iter(zip(outs, dims))
        return [self._match(*next(given), wanted) if k else None
                for k, wanted in zip(kept, self.dims)]

    def _match(self, ct: Any, dim: int | None, wanted: int | None) -> Any:
        """A cotangent at the operand's batch dimension, summed where the operand has none."""
        if wanted is None:
            return ct if dim is None else named("reduce_sum").bind(
                ct, axes=(dim,), out_sharding=None)
        if dim is None:
            return broadcast_batch(ct, self.batch.size, wanted)
        return move_dimension(ct, dim, wanted)


def _example(aval: ShapedArray, dim: int | None) -> ShapedArray:
    return aval if dim is None else aval.update(shape=aval.shape[:dim] + aval.shape[dim + 1:])


# --- functions and programs --------------------------------------------------------------------


def batch_flat(fun: Callable, values: Sequence, dims: Sequence, size: int,
               axis_name: Any = None, mesh_axes: tuple = ()) -> tuple[list, list]:
    """(results, batch dimensions) of `fun(*examples) -> list` on whole batches.

    `mesh_axes`: axes of a mesh over which constraints of sharding within spread the examples.
    """
    return _Batch(size, axis_name, mesh_axes).run(fun, values, dims)


_batched: WeakMemo[ClosedJaxpr, dict] = WeakMemo()


def batch_program(closed: ClosedJaxpr, dims: Sequence) -> tuple:
    """(program of whole batches, its results' batch dimensions); dimensions stay in place."""
    return _batch_at(closed, ambient.size, tuple(dims), None)


def batch_jaxpr(closed: ClosedJaxpr, axis_size: int, in_batched: Sequence[bool],
                instantiate_out: bool | Sequence[bool] = False) -> tuple[ClosedJaxpr, list[bool]]:
    """(program of batches, which results are batched); every batch dimension is in front.

    Results named by `instantiate_out` are batched whether they need be or not.
    """
    count = len(closed.jaxpr.outvars)
    forced = (instantiate_out,) * count if isinstance(instantiate_out, bool) \
        else tuple(instantiate_out)
    dims = tuple([0 if b else None for b in in_batched])
    program, out_dims = _batch_at(closed, axis_size, dims, forced)
    return program, [d is not None for d in out_dims]


def _batch_at(closed: ClosedJaxpr, size: int, dims: tuple, forced: tuple | None) -> tuple:
    key = (size, dims, forced, ambient.axis_name, ambient.mesh_axes)
    memo = _batched.setdefault(closed, {})
    found = memo.get(key)
    if found is None:
        found = memo[key] = _batch_program(closed, *key)
    return found[0], list(found[1])


def _batch_program(closed: ClosedJaxpr, size: int, dims: tuple, forced: tuple | None,
                   axis_name: Any, mesh_axes: tuple) -> tuple:
    out_dims: list = []

    def run(*ins):
        outs, found = batch_flat(
            lambda *xs: eval_jaxpr(closed.jaxpr, closed.consts, *xs), ins, dims, size, axis_name,
            mesh_axes)
        if forced is not None:
            outs = [at_front(x, d, size) if d is not None or f else x
                    for x, d, f in zip(outs, found, forced)]
            found = [0 if d is not None or f else None for d, f in zip(found, forced)]
        out_dims[:] = found
        return outs

    avals = [a if d is None else a.update(shape=(*a.shape[:d], size, *a.shape[d:]))
             for a, d in zip(closed.in_avals, dims, strict=True)]
    jaxpr, consts = trace_flat(run, avals, closed.jaxpr.debug_info)
    return ClosedJaxpr(jaxpr, consts), out_dims


__all__ = [
    "BatchTrace", "BatchTracer", "align", "at_front", "batch_flat", "batch_jaxpr", "batch_program",
    "batch_rules", "batch_size", "broadcast_batch", "collective_rules", "define_batch",
    "define_batch_elementwise", "define_batch_unary", "define_collective_batch", "move_dimension",
    "not_mapped",
]
