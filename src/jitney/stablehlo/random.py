"""Random keys and bits.

In: keys as their words (ui32). Out: calls of private functions that hold the generator's
arithmetic: the program `lax.random_bits` states for a primitive, and the threefry cipher.
Invariant: the bits are those every other back end gives.
"""

from __future__ import annotations

from jitney.core.primitive import named
from jitney.lax.random_bits import decomposition
from jitney.stablehlo.builder import Builder
from jitney.stablehlo.calls import call_closed, shared_function
from jitney.stablehlo.ops import Value
from jitney.stablehlo.rules import rule

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA


@rule("random_seed", "random_split", "random_fold_in", "random_bits", "rng_bit_generator",
      keys=True)
def _by_decomposition(b, site, *values):
    closed = decomposition(named(site.name), tuple(site.in_avals), site.params)
    return call_closed(b, closed, site.name, values)


@rule("random_wrap", "random_unwrap", keys=True)
def _same_words(b, site, x):
    return x


@rule("rng_uniform")
def _rng_uniform(b, site, low, high):
    shape = b.constant(list(site.out.shape), "int64")
    return b.one("stablehlo.rng", (low, high, shape), site.out,
                 {"distribution": "UNIFORM"})


# --- the cipher ----------------------------------------------------------------------------------


@rule("threefry2x32")
def _threefry(b, site, *words):
    types = [w.type for w in words]
    function = shared_function(b, ("threefry2x32", *types), "threefry2x32", types, site.outs,
                               lambda inner, *args: _cipher(inner, site.out.shape, *args))
    return b.call(function, words)


def _cipher(b: Builder, shape: tuple[int, ...], *words: Value) -> list[Value]:
    """Twenty rounds in groups of four, a word of the key added after each group."""
    k0, k1, x0, x1 = [b.broadcast_to(w, shape) for w in words]
    known: dict[int, Value] = {}

    def number(n: int) -> Value:
        if n not in known:
            known[n] = b.like(x0, n)
        return known[n]

    keys = [k0, k1, b.xor(b.xor(k0, k1), number(_PARITY))]
    x0, x1 = b.add(x0, k0), b.add(x1, k1)
    for group in range(5):
        for count in _ROTATIONS[group % 2]:
            x0 = b.add(x0, x1)
            left, right = b.shift_left(x1, number(count)), b.shift_right(x1, number(32 - count))
            x1 = b.xor(x0, b.or_(left, right))
        x0 = b.add(x0, keys[(group + 1) % 3])
        x1 = b.add(b.add(x1, keys[(group + 2) % 3]), number(group + 1))
    return [x0, x1]
