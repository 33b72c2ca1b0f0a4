"""The measuring loop of `jitney.tools.kernel_loop`, under the name the tests use."""

from jitney.tools.kernel_loop import (
    NUMPY_TYPES,
    CompiledKernel,
    best_target,
    compile_kernel,
    module_text,
    targets,
    undefined_symbols,
)

__all__ = [
    "NUMPY_TYPES",
    "CompiledKernel",
    "best_target",
    "compile_kernel",
    "module_text",
    "targets",
    "undefined_symbols",
]
