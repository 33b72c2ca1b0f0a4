"""Lowering of typed random keys: seed, split, fold_in, bits, wrap, unwrap; moving keys about.

Below the lowering a key array is an array of uint32 whose last axis holds the words of a key.
Threefry keys are generated in line, as elementwise operations on their two words, so that random
bits fuse with what turns them into numbers. Other generators, and the older counter layout, run
the program of `lax.random_bits.decomposition` on the words.
Invariant: a rule that moves elements is applied to each word of keys by itself.
"""

import math

from ..base import config
from ..core.primitive import named
from ..ir.types import is_key
from ..lax.random_bits import decomposition
from . import elementwise, gather_scatter, shape, slicing  # noqa: F401  (rules wrapped below)
from .inline import inline
from .random_bits import threefry2x32
from .rules import RULES, lower_rule

# --- words of keys -----------------------------------------------------------------------------


def word(ctx, keys, i):
    """One word of each key."""
    g, last = ctx.g, len(keys.shape) - 1
    outer = keys.shape[:-1]
    if keys.op == "concat" and keys.attrs == (last,) and len(keys.args) == keys.shape[-1]:
        return g.reshape(keys.args[i], outer)                    # they were just put together
    zeros = (0,) * last
    return g.reshape(g.slice(keys, (*zeros, i), (*outer, i + 1)), outer)


def keys_of(ctx, words):
    """Keys from arrays of their words."""
    g, rank = ctx.g, len(words[0].shape)
    return g.concat([g.reshape(w, (*w.shape, 1)) for w in words], rank)


# --- keys and raw data -------------------------------------------------------------------------


@lower_rule("random_wrap", "random_unwrap", "random_clone")
def lower_same_words(ctx, eqn, words):
    return words


# --- generation --------------------------------------------------------------------------------


def _generated(name, direct):
    """Registers `direct(ctx, eqn, *values)` for threefry keys with counters by index, and the
    program on raw words for everything else."""

    @lower_rule(name)
    def rule(ctx, eqn, *values):
        keys = eqn.outvars[0] if name == "random_seed" else eqn.invars[0]
        if keys.aval.dtype.name == "key<fry>" and _counts_by_index(eqn.params.get("shape")):
            return direct(ctx, eqn, *values)
        closed = decomposition(named(name), tuple(v.aval for v in eqn.invars), eqn.params)
        return inline(ctx, closed, list(values))[0]


def _counts_by_index(wanted) -> bool:
    if wanted is None:
        return True
    return config.threefry_partitionable.value and math.prod(wanted) < 2**32


def _seed(ctx, eqn, seeds):
    """(high word, low word) of an integer."""
    g = ctx.g
    low = g.convert(seeds, "u32")
    if seeds.dtype not in ("i64", "u64"):
        return keys_of(ctx, [g.full(0, seeds.shape, "u32"), low])
    wide = g.convert(seeds, "u64")
    high = g.ew("shift_right_logical", wide, g.full(32, wide.shape, "u64"))
    return keys_of(ctx, [g.convert(high, "u32"), low])


def _fold_in(ctx, eqn, keys, data):
    whole = eqn.outvars[0].aval.shape
    k0, k1, low = (ctx.spread(x, whole) for x in (word(ctx, keys, 0), word(ctx, keys, 1), data))
    return keys_of(ctx, threefry2x32(ctx.g, k0, k1, ctx.g.full(0, whole, "u32"), low))


def _ciphered(ctx, eqn, keys):
    """For each key the cipher of the counters 0, 1, 2, … over the wanted shape."""
    g, wanted, batch = ctx.g, tuple(eqn.params["shape"]), keys.shape[:-1]
    whole = batch + wanted
    count = g.reshape(g.iota((math.prod(wanted),), 0, "u32"), wanted)
    count = g.broadcast(count, whole, range(len(batch), len(whole)))
    k0, k1 = (g.broadcast(word(ctx, keys, i), whole, range(len(batch))) for i in (0, 1))
    return threefry2x32(g, k0, k1, g.full(0, whole, "u32"), count)


def _split(ctx, eqn, keys):
    return keys_of(ctx, _ciphered(ctx, eqn, keys))


def _bits(ctx, eqn, keys):
    g, width = ctx.g, eqn.params["bit_width"]
    first, second = _ciphered(ctx, eqn, keys)
    if width == 64:
        high = g.ew("shift_left", g.convert(first, "u64"), g.full(32, first.shape, "u64"))
        return g.ew("or", high, g.convert(second, "u64"))
    return g.convert(g.ew("xor", first, second), f"u{width}")


_generated("random_seed", _seed)
_generated("random_split", _split)
_generated("random_fold_in", _fold_in)
_generated("random_bits", _bits)


@lower_rule("random_gamma", "rng_bit_generator")
def lower_by_program(ctx, eqn, *values):
    """What the primitive stands for, put in its place."""
    closed = decomposition(eqn.primitive, tuple(v.aval for v in eqn.invars), eqn.params)
    results = inline(ctx, closed, list(values))
    return results if eqn.primitive.multiple_results else results[0]


# --- rules that move elements ------------------------------------------------------------------

_MOVING = (
    "broadcast_in_dim", "reshape", "squeeze", "expand_dims", "transpose", "rev", "concatenate",
    "split", "stack", "unstack", "tile", "slice", "dynamic_slice", "dynamic_update_slice", "gather",
    "scatter", "select_n",
)


def _on_each_word(rule):
    """A rule applied to key arrays word by word."""

    def key_rule(ctx, eqn, *values):
        keyed = [is_key(v.aval.dtype) for v in eqn.invars]
        if not any(keyed):
            return rule(ctx, eqn, *values)
        count = next(x.shape[-1] for x, k in zip(values, keyed, strict=True) if k)
        parts = [
            rule(ctx, eqn, *[word(ctx, x, i) if k else x
                             for x, k in zip(values, keyed, strict=True)])
            for i in range(count)
        ]
        if eqn.primitive.multiple_results:
            return [keys_of(ctx, words) for words in zip(*parts, strict=True)]
        return keys_of(ctx, parts)

    return key_rule


def _comparing_words(rule, joined):
    """Keys are equal when all their words are."""

    def key_rule(ctx, eqn, x, y):
        if not is_key(eqn.invars[0].aval.dtype):
            return rule(ctx, eqn, x, y)
        whole = eqn.outvars[0].aval.shape
        parts = [ctx.g.compare(eqn.primitive.name, *[ctx.spread(word(ctx, v, i), whole)
                                                     for v in (x, y)])
                 for i in range(x.shape[-1])]
        result = parts[0]
        for part in parts[1:]:
            result = ctx.g.ew(joined, result, part)
        return result

    return key_rule


for _name in _MOVING:
    if _name in RULES:
        RULES[_name] = _on_each_word(RULES[_name])
for _name, _joined in (("eq", "and"), ("ne", "or")):
    RULES[_name] = _comparing_words(RULES[_name], _joined)
