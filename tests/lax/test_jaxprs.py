"""The text of recorded programs, as JAX 0.10 prints it."""

import textwrap

import numpy as np
import pytest
from helpers import text_of

from jitney import lax
from jitney.lax.random_bits import (
    random_bits,
    random_fold_in,
    random_seed,
    random_split,
    random_unwrap,
    random_wrap,
)

X = np.ones((3, 4), np.float32)
V = np.ones(3, np.float32)
K = random_seed(0, "threefry2x32")

CASES = {
    "literal": (lambda x: lax.add(lax.sin(x), 1.0), (V,), """
        { lambda ; a:f32[3]. let b:f32[3] = sin a; c:f32[3] = add b 1.0:f32[] in (c,) }"""),
    "accuracy": (lambda x: lax.exp(x, accuracy=lax.AccuracyMode.HIGHEST), (V,), """
        { lambda ; a:f32[3]. let
            b:f32[3] = exp[accuracy=AccuracyMode.HIGHEST] a
          in (b,) }"""),
    "out_dtype": (lambda x: lax.mul(x, x, out_dtype="int32"), (np.ones(3, np.int8),), """
        { lambda ; a:i8[3]. let b:i32[3] = mul[out_dtype=int32] a a in (b,) }"""),
    "convert": (lambda x: lax.convert_element_type(x, int), (V,), """
        { lambda ; a:f32[3]. let
            b:i32[3] = convert_element_type[new_dtype=int32 weak_type=False] a
          in (b,) }"""),
    "convert_same": (lambda x: lax.convert_element_type(x, "float32"), (V,), """
        { lambda ; a:f32[3]. let  in (a,) }"""),
    "convert_scalar": (lambda: lax.convert_element_type(1.0, "float32"), (), """
        { lambda ; . let  in (1.0:f32[],) }"""),
    "round": (lambda x: lax.round(x), (V,), """
        { lambda ; a:f32[3]. let b:f32[3] = round[rounding_method=0] a in (b,) }"""),
    "pow": (lambda x: lax.pow(x, 2), (V,), """
        { lambda ; a:f32[3]. let b:f32[3] = pow a 2:i32[] in (b,) }"""),
    "conj": (lambda x: lax.conj(x), (np.ones(3, np.complex64),), """
        { lambda ; a:c64[3]. let b:c64[3] = conj[input_dtype=complex64] a in (b,) }"""),
    "reduce_sum": (lambda x: lax.reduce_sum(x, (0,)), (X,), """
        { lambda ; a:f32[3,4]. let
            b:f32[4] = reduce_sum[axes=(0,) out_sharding=None] a
          in (b,) }"""),
    "reduce_max": (lambda x: lax.reduce_max(x, (1,)), (X,), """
        { lambda ; a:f32[3,4]. let b:f32[3] = reduce_max[axes=(1,)] a in (b,) }"""),
    "monoid": (lambda x: lax.reduce(x, -np.inf, lax.max, (0,)), (X,), """
        { lambda ; a:f32[3,4]. let b:f32[4] = reduce_max[axes=(0,)] a in (b,) }"""),
    "argmax": (lambda x: lax.argmax(x, 1, "int32"), (X,), """
        { lambda ; a:f32[3,4]. let
            b:i32[3] = argmax[axes=(1,) index_dtype=int32] a
          in (b,) }"""),
    "cumsum": (lambda x: lax.cumsum(x, 1, True), (X,), """
        { lambda ; a:f32[3,4]. let b:f32[3,4] = cumsum[axis=1 reverse=True] a in (b,) }"""),
    "sort": (lambda x, y: lax.sort((x, y), num_keys=2), (X, X), """
        { lambda ; a:f32[3,4] b:f32[3,4]. let
            c:f32[3,4] d:f32[3,4] = sort[dimension=1 is_stable=True num_keys=2] a b
          in (c, d) }"""),
    "top_k": (lambda x: lax.top_k(x, 2, axis=0), (X,), """
        { lambda ; a:f32[3,4]. let
            b:f32[2,4] c:i32[2,4] = top_k[axis=0 k=2] a
          in (b, c) }"""),
    "approx_max_k": (lambda x: lax.approx_max_k(x, 2), (X,), """
        { lambda ; a:f32[3,4]. let
            b:f32[3,2] c:i32[3,2] = approx_top_k[
              aggregate_to_topk=True
              is_max_k=True
              k=2
              recall_target=0.95
              reduction_dimension=-1
              reduction_input_size_override=-1
            ] a
          in (b, c) }"""),
    "barrier": (lambda x: lax.optimization_barrier((x, x)), (X,), """
        { lambda ; a:f32[3,4]. let
            b:f32[3,4] c:f32[3,4] = optimization_barrier a a
          in (b, c) }"""),
    "stop_gradient": (lambda x: lax.stop_gradient(x), (X,), """
        { lambda ; a:f32[3,4]. let b:f32[3,4] = stop_gradient a in (b,) }"""),
    "clamp": (lambda x: lax.clamp(0.0, x, 1.0), (V,), """
        { lambda ; a:f32[3]. let b:f32[3] = clamp 0.0:f32[] a 1.0:f32[] in (b,) }"""),
    "bits": (lambda k: random_bits(k, 32, (3,)), (K,), """
        { lambda ; a:key<fry>[]. let
            b:u32[3] = random_bits[bit_width=32 shape=(3,)] a
          in (b,) }"""),
    "split": (lambda k: random_split(k, (2,)), (K,), """
        { lambda ; a:key<fry>[]. let
            b:key<fry>[2] = random_split[shape=(2,)] a
          in (b,) }"""),
    "fold_in": (lambda k: random_fold_in(k, np.uint32(3)), (K,), """
        { lambda ; a:key<fry>[]. let b:key<fry>[] = random_fold_in a 3:u32[] in (b,) }"""),
    "seed": (lambda s: random_unwrap(random_seed(s, "threefry2x32")), (3,), """
        { lambda ; a:i32[]. let
            b:key<fry>[] = random_seed[impl=fry] a
            c:u32[2] = random_unwrap b
          in (c,) }"""),
    "wrap": (lambda r: random_wrap(r, impl="threefry2x32"), (np.zeros((5, 2), np.uint32),), """
        { lambda ; a:u32[5,2]. let b:key<fry>[5] = random_wrap[impl=fry] a in (b,) }"""),
    "generator": (lambda s: lax.rng_bit_generator(s, (3,)), (np.zeros(4, np.uint32),), """
        { lambda ; a:u32[4]. let
            b:u32[4] c:u32[3] = rng_bit_generator[
              algorithm=RNG_DEFAULT
              dtype=uint32
              out_sharding=None
              shape=(3,)
            ] a
          in (b, c) }"""),
}


@pytest.mark.parametrize("name", CASES)
def test_text(name):
    fun, args, want = CASES[name]
    assert text_of(fun, *args) == textwrap.dedent(want).strip()


def test_a_general_reduction_shows_its_program():
    text = text_of(lambda x: lax.reduce(x, 1.0, lax.add, (0,)), X)
    assert "jaxpr={ lambda ; c:f32[] d:f32[]. let e:f32[] = add c d in (e,) }" in text
    assert "dimensions=(0,)" in text
