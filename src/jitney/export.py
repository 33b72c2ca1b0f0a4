"""Names of `jax.export`, which this package has only to say that it cannot do what they are for.

`jax.jit(f).lower(…).as_text()` gives a program's StableHLO text; the machine code of compiled
programs is kept on disk by itself (`python -m jitney cache info`).
"""

from jitney.base.unsupported import unsupported_class, unsupported_function

_EXPORT = ("programs cannot be saved and loaded. jax.jit(f).lower(*args).as_text() gives the "
           "StableHLO text, and compiled kernels are kept on disk by themselves.")
_SYMBOLIC = ("shapes have no symbolic dimensions. Kernels are compiled for all sizes, so another "
             "size costs little more than tracing.")

DisabledSafetyCheck = unsupported_class("jax.export.DisabledSafetyCheck", _EXPORT)
Exported = unsupported_class("jax.export.Exported", _EXPORT)
export = unsupported_function("jax.export.export", _EXPORT)
deserialize = unsupported_function("jax.export.deserialize", _EXPORT)
register_namedtuple_serialization = unsupported_function(
    "jax.export.register_namedtuple_serialization", _EXPORT)
register_pytree_node_serialization = unsupported_function(
    "jax.export.register_pytree_node_serialization", _EXPORT)
maximum_supported_calling_convention_version = unsupported_function(
    "jax.export.maximum_supported_calling_convention_version", _EXPORT)
minimum_supported_calling_convention_version = unsupported_function(
    "jax.export.minimum_supported_calling_convention_version", _EXPORT)
SymbolicScope = unsupported_class("jax.export.SymbolicScope", _SYMBOLIC)
symbolic_shape = unsupported_function("jax.export.symbolic_shape", _SYMBOLIC)
symbolic_args_specs = unsupported_function("jax.export.symbolic_args_specs", _SYMBOLIC)


def default_export_platform() -> str:
    """The platform programs are compiled for."""
    return "cpu"


def is_symbolic_dim(p) -> bool:
    """Whether a dimension is symbolic: none is; TypeError for what is no dimension."""
    if not hasattr(p, "__index__"):
        raise TypeError(f"a dimension is an integer, got {p!r}")
    return False


__all__ = [
    "DisabledSafetyCheck", "Exported", "SymbolicScope", "default_export_platform", "deserialize",
    "export", "is_symbolic_dim", "maximum_supported_calling_convention_version",
    "minimum_supported_calling_convention_version", "register_namedtuple_serialization",
    "register_pytree_node_serialization", "symbolic_args_specs", "symbolic_shape",
]
