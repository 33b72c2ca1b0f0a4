"""Loops and branches: the functions whose arguments are functions.

Each traces its bodies into programs without free constants (what they close over becomes
operands) and binds one primitive: `while`, `scan` or `cond`.
Read next: common (tracing and messages), then one file a primitive; loops is built on these.
"""

from jitney.lax.control_flow.composite import composite, composite_p
from jitney.lax.control_flow.cond import cond, cond_p, platform_dependent, switch
from jitney.lax.control_flow.linear_solve import custom_linear_solve, custom_linear_solve_p
from jitney.lax.control_flow.loops import associative_scan, fori_loop, map
from jitney.lax.control_flow.root import custom_root
from jitney.lax.control_flow.scan import scan, scan_p
from jitney.lax.control_flow.while_loop import while_loop, while_p

__all__ = [
    "associative_scan", "composite", "composite_p", "cond", "cond_p", "custom_linear_solve",
    "custom_linear_solve_p", "custom_root", "fori_loop", "map", "platform_dependent", "scan",
    "scan_p", "switch", "while_loop", "while_p",
]
