"""Runs one program at every stage and names the first stage whose answer differs.

In: a graph and NumPy inputs (`check_graph`), or a function and arguments (`check_all_stages`).
Out: the compiled program's results; AssertionError that names the stage, the output and the worst
element otherwise.
"""

import numpy as np

from .. import _native, pipeline
from ..api.make_jaxpr import make_jaxpr
from ..base.pytree import tree_leaves
from ..core.interpret import reference_of_closed
from ..fuse.buffers import CopyStep, KernelStep
from ..fuse.interpret import interpret_kernel
from ..fuse.order_items import order_items
from ..fuse.partition import partition_graph
from ..graph.interpret import interpret
from ..ir.types import DTYPE_OF_CODE, is_complex, is_key
from ..lower.build_graph import build_graph

KERNEL_LIMIT = 4000  # elements above which kernels are not interpreted (Python loops)


def assert_close(stage, got, want, rtol=2e-5, atol=1e-5):
    """Compares lists of arrays; exact for integers and booleans."""
    for i, (a, b) in enumerate(zip(got, want, strict=True)):
        a, b = np.asarray(a), np.asarray(b)
        if a.shape != b.shape or a.dtype != b.dtype:
            raise AssertionError(
                f"{stage}: output {i} is {a.dtype}{a.shape}, not {b.dtype}{b.shape}"
            )
        if a.dtype.name in ("bfloat16", "float16"):
            a, b = a.astype(np.float32), b.astype(np.float32)
            rtol, atol = max(rtol, 2e-2), max(atol, 2e-2)
        exact = a.dtype.kind in "iub"
        good = np.array_equal(a, b) if exact else np.allclose(a, b, rtol, atol, equal_nan=True)
        if not good:
            where = np.argmax(np.abs(a.astype(np.float64) - b.astype(np.float64)).ravel())
            raise AssertionError(
                f"{stage}: output {i} differs, e.g. element {where}: "
                f"{a.ravel()[where]!r}, expected {b.ravel()[where]!r}"
            )


def check_all_stages(f, *args, rtol=1e-4, atol=1e-5):
    """Jaxpr by NumPy references, graph, kernels and machine code must agree on f(*args).

    Returns the results. Programs with complex numbers, PRNG keys or routines are compared at the
    stages that can express them.
    """
    closed = make_jaxpr(f)(*args)
    leaves = [np.asarray(x) for x in tree_leaves(args)]
    leaves = [x.astype(v.aval.dtype) for x, v in zip(leaves, closed.jaxpr.invars, strict=True)]
    with np.errstate(all="ignore"):
        want = [np.asarray(x) for x in reference_of_closed(closed, *leaves)]
    graph, table = build_graph(closed, "checked")
    plain = not any(is_complex(a.dtype) or is_key(a.dtype) for a in _avals(closed))
    if plain:
        got = interpret(graph, leaves, [np.asarray(c) for c in graph.constants])
        assert_close("graph", got, want, rtol, atol)
        if sum(n.size for n in graph.nodes()) <= KERNEL_LIMIT:
            kernels = run_kernels(graph, table, leaves)
            if kernels is not None:
                assert_close("kernels", kernels, want, rtol, atol)
    executable = pipeline.compile_jaxpr(closed, name="checked")
    arrays = [_native.array_from_numpy(x, _native.ShapedArray(x.shape, x.dtype)) for x in leaves]
    got = [np.asarray(x) for x in executable.program.execute(arrays)]
    if plain:
        assert_close("machine code", got, want, rtol, atol)
    return got


def _avals(closed):
    return [*closed.in_avals, *closed.out_avals]


def check_graph(graph, table, inputs, donated=None, rtol=2e-5, atol=1e-5):
    """Graph interpreter, kernel interpreter (small programs) and machine code must agree."""
    inputs = [np.asarray(x) for x in inputs]
    want = interpret(graph, inputs, [np.asarray(c) for c in graph.constants])
    if sum(n.size for n in graph.nodes()) <= KERNEL_LIMIT:
        kernels = run_kernels(graph, table, inputs)
        if kernels is not None:
            assert_close("kernels", kernels, want, rtol, atol)
    got = run_compiled(graph, table, inputs, donated)
    assert_close("machine code", got, want, rtol, atol)
    return got


def run_compiled(graph, table, inputs, donated=None):
    """The outputs of the compiled graph."""
    avals = tuple(_native.ShapedArray(n.shape, DTYPE_OF_CODE[n.dtype]) for n in graph.outputs)
    executable = pipeline.compile_graph(graph, table, avals, donated)
    arrays = [_native.array_from_numpy(x, _native.ShapedArray(x.shape, x.dtype)) for x in inputs]
    return [np.asarray(x) for x in executable.program.execute(arrays)]


def run_kernels(graph, table, inputs):
    """The outputs as the kernel interpreter computes them; None if a step is a routine."""
    partition = partition_graph(graph, table, pipeline.host_target(), None)
    memory = {}
    for b in partition.buffers:
        if b.kind == "in":
            memory[b.id] = np.ascontiguousarray(inputs[b.index]).reshape(-1).copy()
        elif b.kind == "const":
            memory[b.id] = np.asarray(graph.constants[b.index]).reshape(-1).copy()
        else:
            memory[b.id] = np.zeros(b.size, DTYPE_OF_CODE[b.code])
    for item in order_items(partition.items):
        for step in item.steps:
            if isinstance(step, KernelStep):
                interpret_kernel(step.slotted, step.used, [memory[b.id] for b in step.buffers])
            elif isinstance(step, CopyStep):
                _copy(step, memory)
            else:
                return None
    results = [
        memory[b.id].reshape(n.shape)
        for b, n in zip(partition.output_buffers, graph.outputs, strict=True)
    ]
    for i, which in partition.forwarded.items():
        results[i] = inputs[which].reshape(graph.outputs[i].shape)
    return results


def _copy(step, memory):
    (source, a), (target, b) = step.source, step.target
    width = memory[target.id].itemsize
    count = step.nbytes // width
    memory[target.id][b // width : b // width + count] = memory[source.id][
        a // width : a // width + count
    ]
