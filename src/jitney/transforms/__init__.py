"""Layer 2: interpreters of programs (jvp, linearize, transpose, vmap, …) and their rule tables.

Each transformation owns one table from primitive to rule; `lax` fills the tables with the
combinators offered beside them. Only programs inside programs (`jit`, custom derivatives) have
their rules in this folder.
"""

from jitney.transforms import jit_rules as jit_rules
