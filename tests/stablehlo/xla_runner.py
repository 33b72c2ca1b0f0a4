"""Our text in the hands of XLA: parse, print again, compile, run. Needs jaxlib."""

from __future__ import annotations

import contextlib

import numpy as np

import jitney
from jitney import _native
from jitney.core import interpret
from jitney.core.avals import get_aval, numpy_value, to_array
from jitney.core.jaxpr import ClosedJaxpr
from jitney.core.staging import trace_flat
from jitney.stablehlo import module_text


def leaves(x) -> list:
    return _native.tree_flatten(x)[0]


def traced(fun, args) -> ClosedJaxpr:
    """The program of a function of flat arguments."""
    jaxpr, consts = trace_flat(lambda *xs: leaves(fun(*xs)), [get_aval(a) for a in args])
    return ClosedJaxpr(jaxpr, [to_array(c) for c in consts])


def wide(on: bool):
    return jitney.enable_x64(True) if on else contextlib.nullcontext()


def text_and_reference(program) -> tuple[str, list[np.ndarray]]:
    """The text of a program, and its results by the NumPy references."""
    with wide(program.x64):
        closed = traced(program.fun, program.args)
        text = module_text(closed, name="f", keep_unused=True)
        if program.expected is not None:
            return text, program.expected(*program.args)
        expected = interpret.eval_reference(
            closed.jaxpr, [numpy_value(c) for c in closed.consts],
            *map(numpy_value, program.args))
        return text, [np.asarray(e) for e in expected]


def printed_again(text: str) -> str:
    """The text after MLIR has parsed, verified and printed it."""
    import jax._src.interpreters.mlir as mlir
    from jaxlib.mlir import ir

    with mlir.make_ir_context() as context:
        module = ir.Module.parse(text, context=context)
        assert module.operation.verify()
        return str(module)


def run(text: str, args) -> list[np.ndarray]:
    """The results by XLA on the CPU."""
    import jax
    import jaxlib.xla_client as xla
    from jax.extend import backend

    client = backend.get_backend("cpu")
    devices = xla.DeviceList(tuple(client.local_devices()[:1]))
    program = client.compile_and_load(text, devices, xla.CompileOptions())
    with jax.enable_x64(True):
        buffers = [jax.device_put(np.asarray(a), jax.devices("cpu")[0]) for a in args]
        results = program.execute_sharded(buffers).disassemble_into_single_device_arrays()
        return [np.asarray(shards[0]) for shards in results]
