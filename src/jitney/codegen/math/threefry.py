"""The threefry-2x32 block cipher that random numbers are made of.

In: two key words and two counter words as i32 `Value`s (scalars are splatted). Out: two words,
bit-exact with twenty rounds of the Random123 definition.
"""

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA


def _rotate_left(e, x, places):
    if e.target.avx512:
        amount = e.like(x, places)
        name = x.type if x.lanes == 1 else f"v{x.lanes}{x.type}"
        return e.intrinsic(f"llvm.fshl.{name}", x.type, [x, x, amount])
    return e.or_(e.shl(x, e.like(x, places)), e.lshr(x, e.like(x, 32 - places)))


def threefry2x32(e, key0, key1, x0, x1):
    """(y0, y1): the counter words enciphered with the key."""
    schedule = (key0, key1, e.xor(e.xor(key0, key1), e.like(key0, _PARITY)))
    x0, x1 = e.add(x0, schedule[0]), e.add(x1, schedule[1])
    for group in range(5):
        for places in _ROTATIONS[group % 2]:
            x0 = e.add(x0, x1)
            x1 = e.xor(_rotate_left(e, x1, places), x0)
        second = schedule[(group + 2) % 3]
        x0 = e.add(x0, schedule[(group + 1) % 3])
        x1 = e.add(x1, e.add(second, e.like(second, group + 1)))
    return x0, x1
