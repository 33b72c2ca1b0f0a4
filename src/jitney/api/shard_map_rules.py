"""The primitive `shard_map`: its type, how it runs, and its rules.

In: whole arrays; a program of shards, the mesh, and specs of operands and results. Out: whole
arrays. The program is compiled once; every position along the mapped axes runs it on a thread of
its own, on its slices of the operands, and writes its slices of the results.

[Note: derivatives] The derivative of a program of shards is a program of shards. Values that a
backward pass needs (residuals) leave the first program split along all mapped axes. Where an
operand is not split along an axis, all positions along it contribute to its cotangent: with
`check_vma` the program itself sums them (the transpose of `pvary`); without, they are summed here,
and cotangents of results that are not split are divided among the positions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jitney import _native
from jitney.api.compile import Runnable, make_runnable
from jitney.api.jit import when_clearing
from jitney.base.weak_memo import WeakMemo
from jitney.core.avals import ShapedArray
from jitney.core.dce import dce_jaxpr, define_dce
from jitney.core.interpret import eval_closed
from jitney.core.jaxpr import ClosedJaxpr, JaxprEqn
from jitney.core.primitive import Primitive
from jitney.core.reference_program import storage_of
from jitney.core.staging import trace_flat
from jitney.lax.arithmetic import div
from jitney.lax.nary import constant
from jitney.lax.parallel import psum_p
from jitney.lax.shape import reshape
from jitney.placement.members import run
from jitney.placement.mesh import Mesh, manual_scope
from jitney.placement.partition_spec import PartitionSpec, axes_of, mentioned
from jitney.transforms.backward import transpose_jaxpr
from jitney.transforms.jvp import Zero, define_jvp, define_linearize, is_zero, jvp_jaxpr
from jitney.transforms.linearize import linearize_jaxpr
from jitney.transforms.partial_eval import (
    define_partial_eval,
    forward_residuals,
    partial_eval_jaxpr,
)
from jitney.transforms.transpose import define_transpose, is_undefined_primal
from jitney.transforms.vmap import batch_program, define_batch

shard_map_p = Primitive("shard_map", multiple_results=True)
Specs = tuple[PartitionSpec, ...]


def _count(entry: Any, mesh: Mesh) -> int:
    return math.prod(mesh.shape[a] for a in axes_of(entry))


@shard_map_p.def_abstract
def _type(*avals: Any, jaxpr: ClosedJaxpr, mesh: Mesh, out_specs: Specs, **params: Any) -> list:
    return [_whole(a, spec, mesh) for a, spec in zip(jaxpr.out_avals, out_specs, strict=True)]


def _whole(aval: ShapedArray, spec: PartitionSpec, mesh: Mesh) -> ShapedArray:
    shape = list(aval.shape)
    for i, entry in enumerate(spec):
        shape[i] *= _count(entry, mesh)
    return aval.update(shape=tuple(shape))


@shard_map_p.def_print
def _shown(params: dict, eqn: JaxprEqn) -> dict:
    axes = [a for a in params["mesh"].axis_names if a in params["newly_manual_axes"]]
    return {**params, "jaxpr": params["jaxpr"].jaxpr, "mesh": str(params["mesh"]),
            "newly_manual_axes": f"frozenset({{{', '.join(map(repr, axes))}}})"}


# --- running --------------------------------------------------------------------------------------

_compiled: WeakMemo[ClosedJaxpr, Runnable] = WeakMemo()
when_clearing(_compiled.clear)


@shard_map_p.def_reference
def _run(*arrays: np.ndarray, jaxpr: ClosedJaxpr, mesh: Mesh, in_specs: Specs, out_specs: Specs,
         newly_manual_axes: frozenset, **params: Any) -> list[np.ndarray]:
    program = _compiled.get(jaxpr)
    if program is None:
        program = _compiled[jaxpr] = make_runnable(jaxpr, "shard_map")
    sizes = {a: mesh.shape[a] for a in mesh.axis_names if a in newly_manual_axes}
    whole = [np.empty(*storage_of(_whole(a, s, mesh)))
             for a, s in zip(jaxpr.out_avals, out_specs)]

    def member(number: int) -> None:
        at = _coordinates(number, sizes)
        given = [_part(arrays[i], in_specs[i], sizes, at, jaxpr.in_avals[i]) for i in program.kept]
        outs = program.program.execute([*given, *program.hidden])
        for out, spec, into, aval in zip(outs, out_specs, whole, jaxpr.out_avals):
            if all(i == 0 or a in mentioned(spec) for a, i in at.items()):
                into[_slices(spec, aval.shape, sizes, at)] = _elements(out)

    run(member, sizes)
    return whole


def _coordinates(number: int, sizes: dict) -> dict:
    at = {}
    for axis in reversed(list(sizes)):
        number, at[axis] = divmod(number, sizes[axis])
    return at


def _slices(spec: PartitionSpec, local: tuple, sizes: dict, at: dict) -> tuple:
    """Where the shard at these coordinates lies."""
    out = []
    for entry, extent in zip(spec, local):
        number = 0
        for axis in axes_of(entry):
            number = number * sizes[axis] + at[axis]
        out.append(slice(number * extent, (number + 1) * extent))
    return tuple(out)


def _part(array: np.ndarray, spec: PartitionSpec, sizes: dict, at: dict,
          aval: ShapedArray) -> Any:
    """A shard as an input of a program: in place where its elements lie together."""
    part = np.asarray(array[_slices(spec, aval.shape, sizes, at)], order="C")
    if part.dtype.isbuiltin == 1:
        return part
    shape, dtype = storage_of(aval)
    return _native.array_from_numpy(part, ShapedArray(shape, dtype))


def _elements(out: Any) -> np.ndarray:
    if isinstance(out.dtype, np.dtype):
        return _native.numpy_view(out)
    return _native.numpy_view(_native.array_view(out, ShapedArray(*storage_of(out.aval))))


# --- shared by the rules --------------------------------------------------------------------------


class _Frame:
    """The parameters of an equation that its derivatives share."""

    def __init__(self, params: dict):
        self.params, self.mesh = params, params["mesh"]
        self.axes = tuple(a for a in self.mesh.axis_names if a in params["newly_manual_axes"])
        self.in_specs, self.out_specs = params["in_specs"], params["out_specs"]
        self.checks = params["check_vma"]

    def scope(self) -> Any:
        """Inside: programs of shards may be traced."""
        return manual_scope(self.mesh, frozenset(self.axes), self.checks)

    def with_program(self, jaxpr: ClosedJaxpr, in_specs: Sequence, out_specs: Sequence) -> dict:
        return {**self.params, "jaxpr": jaxpr, "in_specs": tuple(in_specs),
                "out_specs": tuple(out_specs)}

    def bind(self, args: Sequence, jaxpr: ClosedJaxpr, in_specs: Sequence,
             out_specs: Sequence) -> list:
        return shard_map_p.bind(*args, **self.with_program(jaxpr, in_specs, out_specs))

    @property
    def residual_spec(self) -> PartitionSpec:
        return PartitionSpec(self.axes)

    def left_out(self, spec: PartitionSpec) -> tuple:
        """The mapped axes along which a value with that spec is not split."""
        return tuple(a for a in self.axes if a not in mentioned(spec))


_memo: WeakMemo[ClosedJaxpr, dict] = WeakMemo()


def _remembered(closed: ClosedJaxpr, key: tuple, make: Callable) -> Any:
    """`make()`, once for each program and key, so that what follows from it is compiled once."""
    memo = _memo.setdefault(closed, {})
    found = memo.get(key)
    if found is None:
        found = memo[key] = make()
    return found


def _traced(fun: Callable, avals: Sequence) -> ClosedJaxpr:
    jaxpr, consts = trace_flat(fun, avals, None)
    return ClosedJaxpr(jaxpr, consts)


def _picked(items: Sequence, flags: Sequence[bool]) -> list:
    return [x for x, flag in zip(items, flags, strict=True) if flag]


# --- forward mode ---------------------------------------------------------------------------------


def _jvp(primals: Sequence, tangents: Sequence, **params: Any) -> tuple:
    frame, nonzero = _Frame(params), [not is_zero(t) for t in tangents]
    with frame.scope():
        program, nonzero_out = jvp_jaxpr(params["jaxpr"], nonzero)
    found = frame.bind([*primals, *_picked(tangents, nonzero)], program,
                       [*frame.in_specs, *_picked(frame.in_specs, nonzero)],
                       [*frame.out_specs, *_picked(frame.out_specs, nonzero_out)])
    outs, given = found[:len(nonzero_out)], iter(found[len(nonzero_out):])
    return outs, [next(given) if nz else Zero.from_primal_value(x)
                  for x, nz in zip(outs, nonzero_out)]


# --- programs cut in two --------------------------------------------------------------------------


class _Cut:
    """A program of known values and the program that waits for the others.

    `known` returns results and then residuals, at least of rank 1; `sources` say for each residual
    whether it is an operand of `known` or such an output.
    """

    def __init__(self, first: Any, then: ClosedJaxpr, count: int):
        outer = first.known
        self.count = count
        wanted = list(dict.fromkeys(i for kind, i in first.sources if kind == "out"))
        place = {i: count + k for k, i in enumerate(wanted)}
        self.sources = [(kind, i if kind == "in" else place[i]) for kind, i in first.sources]
        ranks = [len(a.shape) for a in outer.out_avals]
        flat = [kind == "out" and ranks[i] == 0 for kind, i in first.sources]

        def run_known(*ins: Any) -> list:
            outs = eval_closed(outer, *ins)
            return outs[:count] + [reshape(outs[i], (1,)) if ranks[i] == 0 else outs[i]
                                   for i in wanted]

        def run_waiting(*ins: Any) -> list:
            return eval_closed(then, *[reshape(x, ()) if f else x for x, f in zip(ins, flat)],
                               *ins[len(flat):])

        self.known = _traced(run_known, outer.in_avals)
        avals = list(then.in_avals)
        for k, is_flat in enumerate(flat):
            if is_flat:
                avals[k] = avals[k].update(shape=(1,))
        self.waiting = _traced(run_waiting, avals)

    def residual_specs(self, frame: _Frame, in_specs: Sequence) -> list:
        return [in_specs[i] if kind == "in" else frame.residual_spec for kind, i in self.sources]

    def residuals(self, args: Sequence, outs: Sequence) -> list:
        return [args[i] if kind == "in" else outs[i] for kind, i in self.sources]

    def run_known(self, frame: _Frame, args: Sequence, in_specs: Sequence,
                  out_specs: Sequence) -> list:
        extra = [frame.residual_spec] * (len(self.known.out_avals) - self.count)
        return frame.bind(args, self.known, in_specs, [*out_specs, *extra])


def _linearize(trace: Any, primals: Sequence, tangents: Sequence, params: dict) -> tuple:
    frame, nonzero = _Frame(params), tuple(not is_zero(t) for t in tangents)
    closed = params["jaxpr"]

    def make() -> tuple:
        parts = linearize_jaxpr(closed, nonzero)
        return _Cut(parts.first, parts.then, len(closed.out_avals)), parts.nonzero_out

    with frame.scope():
        cut, nonzero_out = _remembered(closed, ("linearize", nonzero), make)
    found = cut.run_known(frame, primals, frame.in_specs, frame.out_specs)
    outs = found[:cut.count]
    if not any(nonzero_out):
        return outs, [Zero.from_primal_value(x) for x in outs]
    later = frame.with_program(
        cut.waiting,
        [*cut.residual_specs(frame, frame.in_specs), *_picked(frame.in_specs, nonzero)],
        _picked(frame.out_specs, nonzero_out))
    operands = [*cut.residuals(primals, found), *_picked(tangents, nonzero)]
    given = iter(trace.record(shard_map_p, operands, later))
    return outs, [next(given) if nz else Zero.from_primal_value(x)
                  for x, nz in zip(outs, nonzero_out)]


def _partial_eval(trace: Any, args: list, unknown: list[bool], params: dict) -> list:
    frame, closed = _Frame(params), params["jaxpr"]
    known_in = [not u for u in unknown]

    def make() -> tuple:
        split = partial_eval_jaxpr(closed, unknown)
        count = len(split.known.jaxpr.outvars) - len(split.residual_avals)
        return _Cut(forward_residuals(split.known, count), split.waiting, count), split.unknown_out

    with frame.scope():
        cut, unknown_out = _remembered(closed, ("partial_eval", tuple(unknown)), make)
    known, specs = _picked(args, known_in), _picked(frame.in_specs, known_in)
    found = cut.run_known(frame, known, specs,
                          _picked(frame.out_specs, [not u for u in unknown_out]))
    later = frame.with_program(
        cut.waiting, [*cut.residual_specs(frame, specs), *_picked(frame.in_specs, unknown)],
        _picked(frame.out_specs, unknown_out))
    operands = [*cut.residuals(known, found), *_picked(args, unknown)]
    waiting = iter(trace.record(shard_map_p, operands, later))
    now = iter(found)
    return [next(waiting) if u else next(now) for u in unknown_out]


# --- reverse mode ---------------------------------------------------------------------------------


def _transpose(cts: Sequence, *operands: Any, **params: Any) -> list:
    frame, closed = _Frame(params), params["jaxpr"]
    linear = [is_undefined_primal(x) for x in operands]
    nonzero = [not is_zero(ct) for ct in cts]
    known = [not is_linear for is_linear in linear]
    linear_specs, ct_specs = _picked(frame.in_specs, linear), _picked(frame.out_specs, nonzero)
    key = ("transpose", tuple(linear), tuple(nonzero), frame.in_specs, frame.out_specs,
           frame.checks)

    def make() -> tuple:
        program, nonzero_out = transpose_jaxpr(closed, linear, nonzero)
        if frame.checks:
            return program, nonzero_out
        return _summed(frame, program, sum(known), ct_specs,
                       _picked(linear_specs, nonzero_out)), nonzero_out

    with frame.scope():
        program, nonzero_out = _remembered(closed, key, make)
    found = iter(frame.bind(
        [*_picked(operands, known), *_picked(cts, nonzero)], program,
        [*_picked(frame.in_specs, known), *ct_specs], _picked(linear_specs, nonzero_out)))
    flags = iter(nonzero_out)
    return [(next(found) if next(flags) else Zero(x.aval)) if is_linear else None
            for x, is_linear in zip(operands, linear)]


def _summed(frame: _Frame, program: ClosedJaxpr, count: int, ct_specs: Sequence,
            out_specs: Sequence) -> ClosedJaxpr:
    """The transposed program with cotangents divided and summed; see [Note: derivatives]."""

    def divided(ct: Any, spec: PartitionSpec) -> Any:
        share = math.prod(frame.mesh.shape[a] for a in frame.left_out(spec))
        return ct if share == 1 else div(ct, constant(ct, share))

    def summed(ct: Any, spec: PartitionSpec) -> Any:
        axes = frame.left_out(spec)
        return psum_p.bind(ct, axes=axes, axis_index_groups=None) if axes else ct

    def run_all(*ins: Any) -> list:
        cts = [divided(ct, s) for ct, s in zip(ins[count:], ct_specs, strict=True)]
        outs = eval_closed(program, *ins[:count], *cts)
        return [summed(ct, s) for ct, s in zip(outs, out_specs, strict=True)]

    return _traced(run_all, program.in_avals)


# --- batching and dead code -----------------------------------------------------------------------


def _batched_spec(spec: PartitionSpec, dim: int | None) -> PartitionSpec:
    entries = list(spec)
    if dim is not None and dim < len(entries):
        entries.insert(dim, None)
    return PartitionSpec(*entries)


def _batch(args: Sequence, dims: Sequence, **params: Any) -> tuple:
    frame = _Frame(params)
    with frame.scope():
        program, out_dims = batch_program(params["jaxpr"], dims)
    outs = frame.bind(args, program, map(_batched_spec, frame.in_specs, dims),
                      map(_batched_spec, frame.out_specs, out_dims))
    return outs, out_dims


def _dce(used_outputs: list[bool], eqn: JaxprEqn) -> tuple:
    closed = eqn.params["jaxpr"]
    if not any(used_outputs) and not eqn.effects:
        return [False] * len(eqn.invars), None

    def make() -> tuple:
        jaxpr, used = dce_jaxpr(closed.jaxpr, used_outputs)
        return ClosedJaxpr(jaxpr, closed.consts), used

    smaller, used = _remembered(closed, ("dce", tuple(used_outputs)), make)
    if all(used_outputs) and all(used) and len(smaller.jaxpr.eqns) == len(closed.jaxpr.eqns):
        return used, eqn
    frame = _Frame(eqn.params)
    params = frame.with_program(smaller, _picked(frame.in_specs, used),
                                _picked(frame.out_specs, used_outputs))
    return used, eqn.replace(invars=_picked(eqn.invars, used),
                             outvars=_picked(eqn.outvars, used_outputs), params=params)


define_jvp(shard_map_p, _jvp)
define_linearize(shard_map_p, _linearize)
define_partial_eval(shard_map_p, _partial_eval)
define_transpose(shard_map_p, _transpose)
define_batch(shard_map_p, _batch)
define_dce(shard_map_p, _dce)

__all__ = ["shard_map_p"]
