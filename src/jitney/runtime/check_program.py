"""JITNEY_CHECK: 1 verifies a program's graph, 2 also runs it against the graph's interpreter.

In: a graph and its executable. Out: nothing, or an AssertionError that names the program and the
output that differs on random inputs.
"""

import numpy as np

from .. import _native
from ..base import debug
from ..graph.interpret import interpret
from ..graph.verify import verify
from ..ir.types import DTYPE_OF_CODE

MAX_ELEMENTS = 200_000  # larger programs are only verified: the interpreter is slow


def check_program(graph, executable) -> None:
    """See the module's text."""
    level = debug.check_level()
    if level >= 1:
        verify(graph)
    if level < 2 or sum(n.size for n in graph.nodes()) > MAX_ELEMENTS:
        return
    rng = np.random.default_rng(0)
    inputs = [_random(rng, n) for n in graph.inputs]
    constants = [np.asarray(c) for c in graph.constants]
    try:
        want = interpret(graph, inputs, constants)
    except NotImplementedError:
        return
    arrays = [_native.array_from_numpy(x, _native.ShapedArray(x.shape, x.dtype)) for x in inputs]
    got = [_plain(x, n) for x, n in zip(executable.program.execute(arrays), graph.outputs,
                                        strict=True)]  # fmt: skip
    for i, (a, b) in enumerate(zip(got, want, strict=True)):
        a, b = _numbers(a), _numbers(b)
        if not np.allclose(a, b, rtol=2e-2, atol=1e-2, equal_nan=True):
            raise AssertionError(
                f"{graph.name}: machine code and graph disagree in output {i}; set JITNEY_DUMP to "
                "a folder to see every stage"
            )


def _plain(array, node) -> np.ndarray:
    """What an output holds; of keys of random numbers, their bits."""
    if not isinstance(array.dtype, np.dtype):
        bits = _native.ShapedArray(node.shape, DTYPE_OF_CODE[node.dtype])
        array = _native.array_view(array, bits)
    return np.asarray(array)


def _numbers(values) -> np.ndarray:
    """All numbers in a row, in float64; a complex one is two, as in graphs."""
    flat = np.ascontiguousarray(values).reshape(-1)
    return (flat.view(flat.real.dtype) if flat.dtype.kind == "c" else flat).astype(np.float64)


def _random(rng, node):
    values = rng.normal(size=node.shape)
    if node.dtype == "b1":
        return values > 0
    if node.dtype[0] in "iu":
        values = np.abs(values) * 3
    return values.astype(DTYPE_OF_CODE[node.dtype])
