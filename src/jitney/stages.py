"""Stages of jitted functions, by their names in `jax.stages`."""

from jitney.api.stages import ArgInfo, Compiled, Lowered, Traced, Wrapped

CompilerOptions = dict

__all__ = ["ArgInfo", "Compiled", "CompilerOptions", "Lowered", "Traced", "Wrapped"]
