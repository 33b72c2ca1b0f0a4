"""StableHLO text of programs: what `lowered.as_text()` shows, and any XLA compiler accepts.

A bridge out: the library's own compiler does not read it. Reading order: types, constants, ops
(a program as data), builder, rules and one file for each family, forms and writer (text), module.
"""

from jitney.stablehlo.module import module_text

__all__ = ["module_text"]
