"""Primitives of random keys: seed, split, fold_in, bits, wrap, unwrap, clone; and raw generators.

In: arrays of keys (`key<fry>[]`) and static shapes. Out: keys, or unsigned integers.
What a primitive means is a program on raw key data (`decomposition`), given by the generator;
the NumPy reference runs that program, and lowering puts it in place.
Invariant: batches of keys are axes in front; batching never changes a single key's result.
"""

from __future__ import annotations

import enum
import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from jitney.base import config, dtypes
from jitney.core import interpret
from jitney.core.avals import ShapedArray, get_aval
from jitney.core.jaxpr import ClosedJaxpr, DebugInfo
from jitney.core.primitive import Primitive
from jitney.core.staging import trace_flat
from jitney.lax import philox
from jitney.lax.arithmetic import add, mul, sub
from jitney.lax.cast import convert_element_type
from jitney.lax.joining import concatenate
from jitney.lax.random_keys import implementation_named, is_key_dtype, key_dtype
from jitney.lax.shape import broadcast_in_dim, canonical_shape, expand_dims, shape_of, squeeze
from jitney.lax.slicing import slice_in_dim
from jitney.transforms.jvp import define_zero_jvp, zeros_of
from jitney.transforms.vmap import at_front, batch_size, define_batch, move_dimension

# --- meaning by decomposition ------------------------------------------------------------------

_decompositions: dict[Primitive, Callable] = {}


def physical_aval(aval: ShapedArray) -> ShapedArray:
    """The aval of the memory behind an array: uint32 with the key's shape, for keys."""
    if not dtypes.is_extended(aval.dtype):
        return aval
    return ShapedArray(aval.shape + tuple(aval.dtype.physical_shape), aval.dtype.physical_dtype)


def decomposition(primitive: Primitive, avals: tuple, params: dict) -> ClosedJaxpr:
    """The program on raw data that a random primitive stands for; its inputs are physical."""
    return _decomposed(primitive, tuple(avals), tuple(params.items()),
                       config.threefry_partitionable.value)


@functools.lru_cache(maxsize=512)
def _decomposed(primitive: Primitive, avals: tuple, params: tuple, mode: bool) -> ClosedJaxpr:
    body = _decompositions[primitive]

    def flat(*raw):
        out = body(avals, *raw, **dict(params))
        return list(out) if primitive.multiple_results else [out]

    jaxpr, consts = trace_flat(flat, [physical_aval(a) for a in avals],
                               DebugInfo(primitive.name, body))
    return ClosedJaxpr(jaxpr, consts)


def _define(primitive: Primitive, body: Callable) -> None:
    """`body(avals, *raw, **params)` gives the result's raw data, written with lax functions."""
    _decompositions[primitive] = body
    define_zero_jvp(primitive)


def _reference_by_decomposition(primitive: Primitive, logical: Callable) -> None:
    """The reference sees raw data only; `logical(raws, params)` recovers the operands' avals."""

    def reference(*raw, **params):
        avals = logical([ShapedArray(r.shape, r.dtype) for r in raw], params)
        closed = decomposition(primitive, tuple(avals), params)
        outs = interpret.reference_of_closed(closed, *raw)
        return outs if primitive.multiple_results else outs[0]

    primitive.def_reference(reference)


_BY_SIZE = {2: "threefry2x32", 4: "rbg"}


def _written_out(keys: Any) -> Any:
    """The implementation, when the size of a key does not tell it: such keys are never operands
    of a random primitive, their program is written in its place."""
    dtype = get_aval(keys).dtype
    if is_key_dtype(dtype) and dtype._impl.name not in _BY_SIZE.values():
        return dtype._impl
    return None


def _keys_of_raw(aval: ShapedArray) -> ShapedArray:
    """Keys whose raw data have this aval: the implementation by the size of a key."""
    return ShapedArray(aval.shape[:-1], key_dtype(_BY_SIZE[aval.shape[-1]]))


def _require_keys(name: str, keys: ShapedArray) -> Any:
    if not is_key_dtype(keys.dtype):
        raise TypeError(f"{name} needs an array of random keys, got {keys}. Make keys with "
                        "jax.random.key(seed), or wrap raw data with jax.random.wrap_key_data.")
    return keys.dtype._impl


# --- seed ------------------------------------------------------------------------------------


def random_seed(seeds, impl):
    """Keys of integer seeds."""
    return random_seed_p.bind(seeds, impl=implementation_named(impl))


random_seed_p = Primitive("random_seed")


@random_seed_p.def_abstract
def _seed_type(seeds, *, impl):
    if not dtypes.is_integer(seeds.dtype):
        raise TypeError(f"PRNG key seed must be an integer; got {seeds}")
    return ShapedArray(seeds.shape, key_dtype(impl))


_define(random_seed_p, lambda avals, seeds, *, impl: impl.seed(seeds))
_reference_by_decomposition(random_seed_p, lambda raws, params: raws)
define_batch(random_seed_p, lambda args, dims, *, impl:
             (random_seed_p.bind(args[0], impl=impl), dims[0]))

# --- split -----------------------------------------------------------------------------------


def random_split(keys, shape):
    """New keys of the given shape, from each key."""
    impl = _written_out(keys)
    if impl is not None:
        return random_wrap(impl.split(random_unwrap(keys), canonical_shape(shape)), impl=impl)
    return random_split_p.bind(keys, shape=canonical_shape(shape))


random_split_p = Primitive("random_split")


@random_split_p.def_abstract
def _split_type(keys, *, shape):
    _require_keys("split", keys)
    return ShapedArray((*keys.shape, *shape), keys.dtype)


_define(random_split_p,
        lambda avals, raw, *, shape: avals[0].dtype._impl.split(raw, shape))
_reference_by_decomposition(random_split_p, lambda raws, params: [_keys_of_raw(raws[0])])
define_batch(random_split_p, lambda args, dims, *, shape:
             (random_split_p.bind(args[0], shape=shape), dims[0]))

# --- fold_in ---------------------------------------------------------------------------------


def random_fold_in(keys, msgs):
    """Keys mixed with integers (uint32)."""
    impl = _written_out(keys)
    if impl is not None:
        return random_wrap(impl.fold_in(random_unwrap(keys), msgs), impl=impl)
    return random_fold_in_p.bind(keys, msgs)


random_fold_in_p = Primitive("random_fold_in")


@random_fold_in_p.def_abstract
def _fold_in_type(keys, msgs):
    _require_keys("fold_in", keys)
    if msgs.dtype != np.uint32:
        raise TypeError(f"fold_in takes uint32 data, got {msgs}. Convert with "
                        "lax.convert_element_type, or use jax.random.fold_in.")
    if keys.shape and msgs.shape and keys.shape != msgs.shape:
        raise TypeError(f"fold_in: keys of shape {keys.shape} with data of shape {msgs.shape}; "
                        "shapes must be equal, or one of them a scalar.")
    return ShapedArray(keys.shape or msgs.shape, keys.dtype)


_define(random_fold_in_p,
        lambda avals, raw, msgs: avals[0].dtype._impl.fold_in(raw, msgs))
_reference_by_decomposition(random_fold_in_p,
                            lambda raws, params: [_keys_of_raw(raws[0]), raws[1]])


def _fold_in_batch(args, dims):
    if all(d is not None or not shape_of(a) for a, d in zip(args, dims, strict=True)):
        ranks = {len(shape_of(a)) for a, d in zip(args, dims, strict=True) if d is not None}
        moved = [a if d is None else move_dimension(a, d, 0)
                 for a, d in zip(args, dims, strict=True)]
        if len(ranks) == 1:
            return random_fold_in_p.bind(*moved), 0
    size = batch_size(args, dims)
    keys, msgs = (at_front(a, d, size) for a, d in zip(args, dims, strict=True))
    return _fold_in_all(keys, msgs), 0


def _fold_in_all(keys, msgs):
    """Fold arrays whose leading axes agree, one of which may lack the others."""
    whole = max(shape_of(keys), shape_of(msgs), key=len)
    return random_fold_in_p.bind(
        *[x if shape_of(x) == whole else broadcast_in_dim(x, whole, range(len(shape_of(x))))
          for x in (keys, msgs)])


define_batch(random_fold_in_p, _fold_in_batch)

# --- bits ------------------------------------------------------------------------------------


def random_bits(keys, bit_width: int, shape):
    """Random bits of a width, of the given shape for each key."""
    impl = _written_out(keys)
    if impl is not None:
        return impl.random_bits(random_unwrap(keys), bit_width, canonical_shape(shape))
    return random_bits_p.bind(keys, bit_width=operator.index(bit_width),
                              shape=canonical_shape(shape))


random_bits_p = Primitive("random_bits")


@random_bits_p.def_abstract
def _bits_type(keys, *, bit_width, shape):
    _require_keys("random_bits", keys)
    if bit_width not in (8, 16, 32, 64):
        raise TypeError(f"random_bits: the width must be 8, 16, 32 or 64, got {bit_width}")
    return ShapedArray((*keys.shape, *shape), np.dtype(f"uint{bit_width}"))


_define(random_bits_p, lambda avals, raw, *, bit_width, shape:
        avals[0].dtype._impl.random_bits(raw, bit_width, shape))
_reference_by_decomposition(random_bits_p, lambda raws, params: [_keys_of_raw(raws[0])])
define_batch(random_bits_p, lambda args, dims, **params:
             (random_bits_p.bind(args[0], **params), dims[0]))

# --- wrap, unwrap, clone ---------------------------------------------------------------------


def random_wrap(raw, *, impl):
    """Raw key data as keys."""
    return random_wrap_p.bind(raw, impl=implementation_named(impl))


random_wrap_p = Primitive("random_wrap")


@random_wrap_p.def_abstract
def _wrap_type(raw, *, impl):
    if raw.dtype != np.uint32:
        raise TypeError("JAX encountered invalid PRNG key data: expected key_data.dtype = uint32; "
                        f"got dtype={raw.dtype}")
    count = len(impl.key_shape)
    if len(raw.shape) < count or raw.shape[len(raw.shape) - count:] != tuple(impl.key_shape):
        raise TypeError("JAX encountered invalid PRNG key data: expected key_data.shape to end "
                        f"with {tuple(impl.key_shape)}; got shape={raw.shape} for "
                        f"impl={impl.name}")
    return ShapedArray(raw.shape[:len(raw.shape) - count], key_dtype(impl))


def _wrap_batch(args, dims, *, impl):
    return random_wrap_p.bind(move_dimension(args[0], dims[0], 0), impl=impl), 0


_define(random_wrap_p, lambda avals, raw, *, impl: raw)
random_wrap_p.def_reference(lambda raw, *, impl: raw)
define_batch(random_wrap_p, _wrap_batch)


def random_unwrap(keys):
    """The raw data of keys."""
    return random_unwrap_p.bind(keys)


random_unwrap_p = Primitive("random_unwrap")


@random_unwrap_p.def_abstract
def _unwrap_type(keys):
    _require_keys("random_unwrap", keys)
    return physical_aval(keys)


_define(random_unwrap_p, lambda avals, raw: raw)
random_unwrap_p.def_reference(lambda raw: raw)
define_batch(random_unwrap_p, lambda args, dims: (random_unwrap_p.bind(args[0]), dims[0]))


def random_clone(keys):
    """The same keys, as new ones for the check against reuse."""
    return random_clone_p.bind(keys)


random_clone_p = Primitive("random_clone")
random_clone_p.def_abstract(lambda keys: keys)
random_clone_p.def_reference(lambda raw: raw)
_define(random_clone_p, lambda avals, raw: raw)
define_batch(random_clone_p, lambda args, dims: (random_clone_p.bind(args[0]), dims[0]))

# --- raw generators --------------------------------------------------------------------------


class RandomAlgorithm(enum.IntEnum):
    """Which generator `rng_bit_generator` uses; the default is Philox."""

    RNG_DEFAULT = 0
    RNG_THREE_FRY = 1
    RNG_PHILOX = 2

    def __str__(self):
        return self.name


def rng_bit_generator(key, shape, dtype=np.uint32, algorithm=RandomAlgorithm.RNG_DEFAULT, *,
                      out_sharding=None):
    """(the state afterwards, random bits) of a counter-based generator with state uint32[4]."""
    dtype = dtypes.canonicalize_dtype(dtype)
    if dtype not in (np.uint8, np.uint16, np.uint32, np.uint64):
        raise TypeError(f"rng_bit_generator: unsupported dtype {dtype}; use an unsigned integer")
    return tuple(rng_bit_generator_p.bind(
        key, shape=canonical_shape(shape), dtype=dtype, algorithm=RandomAlgorithm(algorithm),
        out_sharding=out_sharding))


rng_bit_generator_p = Primitive("rng_bit_generator", multiple_results=True)


@rng_bit_generator_p.def_abstract
def _generator_type(key, *, shape, dtype, algorithm, out_sharding):
    if key.dtype not in (np.uint32, np.uint64):
        raise TypeError(f"rng_bit_generator key must be uint32 or uint64, got {key.dtype}")
    words = key.dtype.itemsize // 4 * (key.shape[0] if len(key.shape) == 1 else 0)
    if words != 4:
        raise TypeError("rng_bit_generator takes a state of shape (4,) of uint32 or (2,) of "
                        f"uint64, got {key}")
    return [key, ShapedArray(shape, dtype)]


def _generator_body(avals, key, *, shape, dtype, algorithm, out_sharding):
    generate = philox.threefry_generator if algorithm == RandomAlgorithm.RNG_THREE_FRY \
        else philox.philox_generator
    return generate(key, shape, dtype)


def _generator_batch(args, dims, *, shape, **params):
    """As in JAX: the first state draws the bits of all examples, and only it moves on."""
    states = move_dimension(args[0], dims[0], 0)
    size = shape_of(states)[0]
    if size == 0:
        _, bits = rng_bit_generator_p.bind(_zero_state(states), shape=(0, *shape), **params)
        return [states, bits], [0, 0]
    first = squeeze(slice_in_dim(states, 0, 1), (0,))
    first, bits = rng_bit_generator_p.bind(first, shape=(size, *shape), **params)
    rest = slice_in_dim(states, 1, size)
    return [concatenate([expand_dims(first, (0,)), rest], 0), bits], [0, 0]


def _zero_state(states) -> Any:
    """A state of zeros, for bits nobody asks for."""
    aval = get_aval(states)
    return zeros_of(ShapedArray(aval.shape[1:], aval.dtype))


_define(rng_bit_generator_p, _generator_body)
_reference_by_decomposition(rng_bit_generator_p, lambda raws, params: raws)
define_batch(rng_bit_generator_p, _generator_batch)


def rng_uniform(a, b, shape):
    """Uniform numbers from a generator with hidden state; not reproducible."""
    return rng_uniform_p.bind(a, b, shape=canonical_shape(shape))


rng_uniform_p = Primitive("rng_uniform")


@rng_uniform_p.def_abstract
def _uniform_type(a, b, *, shape):
    if a.dtype != b.dtype:
        raise ValueError(f"Arguments to rng_uniform must have identical dtypes, got {a.dtype} and "
                         f"{b.dtype}.")
    if a.shape or b.shape:
        raise ValueError("Arguments to rng_uniform must be scalars; got shapes "
                         f"{a.shape} and {b.shape}.")
    return ShapedArray(shape, a.dtype)


@rng_uniform_p.def_reference
def _uniform_reference(a, b, *, shape):
    return (a + (b - a) * np.random.default_rng().random(shape)).astype(a.dtype)


def _uniform_batch(args, dims, *, shape):
    """Numbers of [0, 1) for all examples, then each into its own interval."""
    a, b = args
    size, dtype = batch_size(args, dims), get_aval(a).dtype
    drawn = dtype if dtypes.is_inexact(dtype) else np.dtype("float32")
    unit = rng_uniform_p.bind(drawn.type(0), drawn.type(1), shape=(size, *shape))
    low, high = [convert_element_type(
        broadcast_in_dim(x, (size, *shape), () if d is None else (0,)), drawn)
        for x, d in zip(args, dims)]
    return convert_element_type(add(low, mul(sub(high, low), unit)), dtype), 0


define_zero_jvp(rng_uniform_p)
define_batch(rng_uniform_p, _uniform_batch)

__all__ = [
    "RandomAlgorithm", "rng_bit_generator", "rng_bit_generator_p", "rng_uniform", "rng_uniform_p",
]
