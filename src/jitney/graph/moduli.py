"""Remainders that have the sign of a positive divisor, as Python's and NumPy's do.

In: integers, and a literal d > 0. Out: the node `mod(x, d, …)`. It needs no division, and is known
to be a place in an array of d elements.

[Note: remainders by multiplications] With c = ceil(2^64 / d) the remainder of u is the upper half
of d (c u mod 2^64), for all u < 2^n if 2^n d <= 2^64 (Lemire, Kaser, Kurz 2019). Numbers of 32 bits
are made positive by a multiple of d first, the least from 2^31 on: then n = 33 and d < 2^31. Both
c and that multiple are literals here, so the kernel is the same for any d (see
codegen/integer_division.py). A congruential generator, one number after the other, takes two thirds
of the time that it took with divisions.
"""

from ..ir.node import Node
from ..ir.types import bits_of, kind_of


def modulus(g, x: Node, divisor: Node, d: int) -> Node:
    """x mod d, where `divisor` is d everywhere."""
    if d == 1:
        return g.full(0, x.shape, x.dtype)
    if d & (d - 1) == 0:  # the low bits, of negative numbers too: these are two's complements
        return g.ew("and", x, g.full(d - 1, x.shape, x.dtype))
    args = [x, divisor]
    if bits_of(x.dtype) <= 32:
        above = d * -(-(1 << 31) // d) if kind_of(x.dtype) == "i" else 0
        args += [g.full(n, x.shape, "u64") for n in (-(-(1 << 64) // d), above)]
    return g.ew("mod", *args, dtype=x.dtype)
