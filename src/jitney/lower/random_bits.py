"""Lowering of counter-based random bits: threefry2x32 as elementwise integer operations.

Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011): 20 rounds of
add, rotate, xor, with a key injection every four. Being elementwise, the bits fuse with whatever
turns them into numbers.
"""

from .rules import lower_rule

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA


@lower_rule("threefry2x32")
def lower_threefry2x32(ctx, eqn, k0, k1, x0, x1):
    shape = eqn.outvars[0].aval.shape
    return list(threefry2x32(ctx.g, *[ctx.spread(v, shape) for v in (k0, k1, x0, x1)]))


def threefry2x32(g, k0, k1, x0, x1):
    """Two words of bits from two words of key and two of counter (u32 nodes of one shape)."""
    shape = x0.shape

    def number(value):
        return g.full(value, shape, "u32")

    keys = (k0, k1, g.ew("xor", g.ew("xor", k0, k1), number(_PARITY)))
    x0, x1 = g.add(x0, keys[0]), g.add(x1, keys[1])
    for group in range(5):
        for rotation in _ROTATIONS[group % 2]:
            x0 = g.add(x0, x1)
            x1 = g.ew("xor", g.ew("rotate_left", x1, number(rotation)), x0)
        x0 = g.add(x0, keys[(group + 1) % 3])
        x1 = g.add(g.add(x1, keys[(group + 2) % 3]), number(group + 1))
    return x0, x1
