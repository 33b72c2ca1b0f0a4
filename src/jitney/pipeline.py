"""Turns a program into something callable. Read `compile_jaxpr` to know the compiler.

In: a ClosedJaxpr. Out: an `Executable`. Every stage has a type of its own; stages never call one
another, they are called here, in order, and `StageLog` lets people look in between.
"""

import functools
import struct
import time

from . import _native
from .backend.host import host_target
from .backend.llvm import assembly_of
from .backend.object_cache import get_code
from .backend.stage_log import StageLog
from .base import debug
from .base.lazy import lazy_module
from .fuse import (  # noqa: F401  (they register step makers)
    contractions,
    convolutions,
    epilogue,
    fft,
    lapack,
    loops,
    repeat_rows,
    routines,
    scatter,
    searches,
)
from .fuse.block_turns import cut_blocks
from .fuse.buffers import BranchStep, CopyStep, KernelStep, LoopStep, NativeStep, PythonStep
from .fuse.order_items import order_items
from .fuse.partition import partition_graph
from .fuse.pieces import cut_pieces, may_be_joined
from .fuse.plan_buffers import plan_buffers
from .fuse.schedule import lanes_of
from .graph.block_moments import block_moments
from .graph.cancel_transposes import cancel_transposes
from .graph.join_results import join_results
from .graph.split_joined_reductions import split_joined_reductions
from .graph.split_short_groups import split_short_groups
from .ir.types import nbytes_of
from .lower.build_graph import build_graph
from .runtime.check_program import check_program
from .runtime.executable import Executable, KernelReport
from .runtime.step_kinds import BRANCH, COPY, FOR, KERNEL, PYTHON, WHILE

codegen = lazy_module("jitney.codegen.emit_kernel")
contraction = lazy_module("jitney.codegen.contraction")



def compile_jaxpr(closed, *, name="main", donated=None) -> Executable:
    """Compiles a closed jaxpr; `donated[i]` says that the caller gives input i up."""
    begin = time.perf_counter_ns()
    graph, table = build_graph(closed, name)
    times = {"graph": time.perf_counter_ns() - begin}
    debug.count("compiles")
    executable = compile_graph(graph, table, tuple(closed.out_avals), donated, times)
    executable.closed = closed
    return executable


def compile_graph(graph, table, out_avals, donated=None, times=None) -> Executable:
    """Compiles a graph whose outputs are to be arrays of `out_avals`."""
    clock = time.perf_counter_ns
    target = host_target()
    times = {} if times is None else times
    log = StageLog(graph.name)
    begin = clock()
    graph = split_joined_reductions(cancel_transposes(graph, table), table)
    graph = join_results(graph, table)
    graph = split_short_groups(graph, table)
    graph = block_moments(graph, table)
    times["graph"] = times.get("graph", 0) + clock() - begin
    log.show("graph", "10_graph.txt", lambda: str(graph))
    begin = clock()
    partition = partition_graph(graph, table, target, _contraction_planner(target))
    items = order_items(partition.items)
    donated = tuple(donated) if donated is not None else (False,) * len(graph.inputs)
    plan = plan_buffers(partition, items, donated)
    times["fuse"] = clock() - begin
    begin = clock()
    steps = [s for item in items for s in item.steps if id(s) not in plan.dropped]
    codes = _compile_kernels(steps, target)
    times["code"] = clock() - begin
    begin = clock()
    recipe, reports = _assemble(graph, out_avals, plan, steps, codes)
    program = _native.Program(*recipe)
    times["assemble"] = clock() - begin
    executable = Executable(graph, program, reports, plan, target, times, steps)
    executable.recipe = recipe
    executable.texts = {
        "llvm": functools.partial(llvm_text, executable),
        "asm": functools.partial(assembly_text, executable),
    }
    log.show("kernels", "30_kernels.txt", executable.as_text)
    log.show("llvm", "40_module.ll", executable.texts["llvm"])
    log.show("asm", "42_module.s", executable.texts["asm"])
    log.show("time", "90_times.txt", lambda: times_text(times))
    if debug.check_level():
        check_program(graph, executable)
    return executable


def times_text(times) -> str:
    """Nanoseconds by stage, for people."""
    return "\n".join(f"{stage:10s} {ns / 1e6:9.3f} ms" for stage, ns in times.items())


def module_texts(executable) -> list[tuple[str, str]]:
    """Name and LLVM IR of each distinct kernel: different ones may have one name."""
    texts: dict[tuple[str, str], None] = {}
    for report in executable.kernels:
        step = report.step
        if isinstance(step, KernelStep):
            text = codegen.emit_kernel(step.slotted, step.used, executable.target)
        else:
            text = step.kernel.emit()
        texts[report.name, text] = None
    return list(texts)


def llvm_text(executable) -> str:
    """LLVM IR of every kernel."""
    return "\n".join(f"; {n}\n{text}" for n, text in module_texts(executable))


def assembly_text(executable) -> str:
    """Assembly of every kernel."""
    parts = module_texts(executable)
    return "\n".join(f"# {n}\n{assembly_of(text, executable.target)}" for n, text in parts)


def _contraction_planner(target):
    """What the partition asks for matrix products (it knows no code generator)."""
    threads = _native.num_threads()

    def plan(batch, m, n, k, code_in, code_out, a, b, c, inner_batch=1, inner=(0, 0, 0), tail=None,
             segments=(1, 0)):
        sums = "f32" if code_in in ("f16", "bf16") else code_in
        shape = contraction.ContractionShape(
            batch, m, n, k, code_in, sums, code_out, a, b, c, inner_batch, inner, *segments
        )
        end = contraction.pointwise_epilogue(tail) if tail is not None else None
        return contraction.plan_contraction(shape, target, threads, end)

    return plan


def _compile_kernels(steps, target) -> dict:
    """Machine code of every kernel step, by id of the step; equal kernels share it."""
    wanted, requests = [], []
    for step in _every_step(steps):
        if isinstance(step, KernelStep):
            slotted, used = step.slotted, step.used
            level = 0 if slotted.kernel.small == 2 else 2
            request = (
                slotted.text,
                lambda slotted=slotted, used=used: codegen.emit_kernel(slotted, used, target),
                level,
            )
        elif isinstance(step, NativeStep) and step.kernel is not None:
            request = (step.kernel.key, step.kernel.emit, 2)
        else:
            continue
        wanted.append(id(step))
        requests.append(request)
    return dict(zip(wanted, get_code(requests, target), strict=True)) if requests else {}


def _every_step(steps):
    """Steps, and those inside loops and branches."""
    for step in steps:
        if isinstance(step, LoopStep):
            yield from _every_step([*step.test, *step.body])
        elif isinstance(step, BranchStep):
            for branch in step.branches:
                yield from _every_step(branch)
        else:
            yield step


class _SlotTable:
    """The program's pointer table: one slot for each (space, index, offset)."""

    def __init__(self, plan):
        self.plan = plan
        self.slots: list = []
        self.known: dict = {}

    def slot(self, buffer, offset=0) -> int:
        space, index, base = self.plan.place[buffer.id]
        key = (space, index, base + offset)
        number = self.known.get(key)
        if number is None:
            number = self.known[key] = len(self.slots)
            self.slots.append(key)
        return number


def _assemble(graph, out_avals, plan, steps, codes):
    """(arguments of `_native.Program`, reports)."""
    table = _SlotTable(plan)
    native, reports, total = [], [], 0.0
    for step in steps:
        native.append(_native_step(table, step, codes, reports))
        total += step.cost
    recipe = (
        _outputs(out_avals, plan),
        len(graph.inputs),
        tuple(table.slots),
        plan.workspace_bytes,
        tuple(native),
        tuple(graph.constants),
        int(total),
        graph.name,
    )
    return recipe, reports


def _native_step(table, step, codes, reports):
    """The native form of a step; adds its report (nested steps first)."""
    if isinstance(step, LoopStep):
        return _native_loop(table, step, codes, reports)
    if isinstance(step, BranchStep):
        branches = tuple(
            tuple(_native_step(table, s, codes, reports) for s in branch)
            for branch in step.branches
        )
        index_bytes = pack([nbytes_of(step.index[0].code)])
        return (BRANCH, 0, (), index_bytes, 1, 0, (table.slot(*step.index), branches))
    made, report = _native_simple(table, step, codes)
    reports.append(report)
    return made


def _native_loop(table, step, codes, reports):
    body = tuple([_native_step(table, s, codes, reports) for s in step.body])
    if step.blocks is not None:
        body = tuple(map(functools.partial(_in_blocks, step.blocks), body, step.body))
        params = pack([step.count, 4, 4, step.first, step.by])
        private = tuple(map(table.slot, step.blocks.private))
        payload = (body, -1, table.slot(step.counter))
        return (FOR, 0, private, params, step.blocks.number, step.blocks.turns, payload)
    if step.count >= 0:
        params = pack([step.count, 4, 4, step.first, step.by])
        return (FOR, 0, (), params, 1, 0, (body, -1, table.slot(step.counter)))
    test = tuple([_native_step(table, s, codes, reports) for s in step.test])
    return (WHILE, 0, (), b"", 1, 0, (test, body, table.slot(step.predicate)))


def _in_blocks(blocks, made, step):
    """A native step of a loop in blocks: its grain is what it does of one."""
    kind, address, slots, params, *_, payload = made
    extra, extent, grain = cut_blocks(step, blocks)
    if isinstance(step, KernelStep):
        params = pack([*step.slotted.values, *extra])
    return kind, address, slots, params, extent, grain, payload


def _native_simple(table, step, codes):
    if isinstance(step, CopyStep):
        slots = (table.slot(*step.source), table.slot(*step.target))
        made = (COPY, 0, slots, struct.pack("<q", step.nbytes), 1, 0, None)
        return made, KernelReport("copy", "copy", step, None)
    slots = tuple([table.slot(b, o) for b, o in _references(step)])
    if isinstance(step, PythonStep):
        made = (PYTHON, 0, slots, b"", 1, 0, step.function)
        return made, KernelReport(step.name, "python", step, None)
    if isinstance(step, KernelStep):
        kernel, code = step.slotted.kernel, codes[id(step)]
        lanes = lanes_of(kernel, step.used, host_target())
        extra, extent, grain = cut_pieces(kernel, 0.0 if step.alone else step.cost, lanes)
        grain = -grain if may_be_joined(kernel) else grain
        values = [*step.slotted.values, *extra]
        made = (KERNEL, code.address, slots, pack(values), extent, grain, code)
        return made, KernelReport(kernel_name(step), "kernel", step, code)
    kind, code, name = "routine", None, step.name
    address = _native.routine_address(step.name) if step.kernel is None else 0
    if step.kernel is not None:
        kind, code, name = "contraction", codes[id(step)], step.kernel.name
        address = code.address
    made = (KERNEL, address, slots, pack(step.params), step.extent, step.grain, code)
    return made, KernelReport(name, kind, step, code)


def _references(step):
    return [(b, 0) for b in step.buffers] if isinstance(step, KernelStep) else step.refs


def pack(values) -> bytes:
    """Integers as the parameter block of a kernel."""
    return struct.pack(f"<{len(values)}q", *values)


def kernel_name(step) -> str:
    """A readable name: the first operations and the result's type."""
    kernel = step.slotted.kernel
    parts = list(dict.fromkeys(kernel.operations))[:5]
    kinds = list(dict.fromkeys([r.kind for s in kernel.stages for r in s.reductions]))[:3]
    code = next((c for c, mode in kernel.buffers if mode != "in"), "")
    return "_".join(["fused", *parts, *kinds, code]) or "fused"


def _outputs(out_avals, plan):
    result = []
    for i, aval in enumerate(out_avals):
        if i in plan.forwarded:
            result.append((aval, "input", plan.forwarded[i]))
        elif i in plan.donated:
            result.append((aval, "donate", plan.donated[i]))
        else:
            result.append((aval, "new", 0))
    return tuple(result)
