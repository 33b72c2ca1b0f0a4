"""Random bits are exactly JAX's: the numbers below were printed by it."""

import numpy as np
import pytest
from helpers import by_reference, compiled

import jitney
from jitney import lax
from jitney.lax.random_bits import (
    random_bits,
    random_bits_p,
    random_fold_in,
    random_fold_in_p,
    random_seed,
    random_split,
    random_unwrap,
    random_wrap,
)
from jitney.transforms.vmap import batch_rules

KEY = random_seed(0, "threefry2x32")


def raw(keys):
    return np.asarray(random_unwrap(keys)).tolist()


def bits(key, width, shape):
    return np.asarray(random_bits(key, width, shape)).tolist()


def test_seeds():
    assert raw(random_seed(3, "threefry2x32")) == [0, 3]
    assert raw(random_seed(-1, "threefry2x32")) == [0, 4294967295]
    with jitney.enable_x64(True):
        assert raw(random_seed(2**40 + 5, "threefry2x32")) == [256, 5]
        assert raw(random_seed(-1, "threefry2x32")) == [4294967295, 4294967295]
        assert raw(random_seed(np.int32(-5), "threefry2x32")) == [0, 4294967291]


def test_split_and_fold_in():
    assert raw(random_split(KEY, (3,))) == \
        [[1797259609, 2579123966], [928981903, 3453687069], [4146024105, 2718843009]]
    assert raw(random_fold_in(KEY, np.uint32(7))) == [2716826189, 292468403]


def test_bits_by_index():
    assert bits(KEY, 8, (2, 3)) == [[167, 146, 40], [53, 183, 67]]
    assert bits(KEY, 16, (5,)) == [20391, 13970, 3624, 43061, 15287]
    assert bits(KEY, 32, ()) == 4070199207
    assert bits(KEY, 32, (5,)) == [4070199207, 4202968722, 1427181096, 2012915765, 2447653815]
    with jitney.enable_x64(True):
        assert bits(KEY, 64, (2,)) == [7719171245655871230, 3989946895414531357]


def test_bits_in_the_older_layout():
    with jitney.threefry_partitionable(False):
        assert raw(random_split(KEY, (3,))) == \
            [[2467461003, 428148500], [3186719485, 3840466878], [2562233961, 1946702221]]
        assert bits(KEY, 8, (5,)) == [143, 35, 95, 55, 29]
        assert bits(KEY, 8, ()) == 89
        assert bits(KEY, 16, (2, 3)) == [[20137, 63263, 64300], [20622, 16513, 41486]]
        assert bits(KEY, 32, (5,)) == [2467461003, 428148500, 1688610540, 3840466878, 2562233961]
        with jitney.enable_x64(True):
            assert bits(KEY, 64, (2,))[0] != bits(KEY, 64, (5,))[0]
            assert bits(KEY, 64, (5,))[:2] == [6546845030869727645, 11145505997521511287]


def test_other_generators():
    rbg, unsafe = random_seed(0, "rbg"), random_seed(0, "unsafe_rbg")
    assert raw(rbg) == [0, 0, 0, 0]
    assert raw(random_split(rbg, (2,)))[0] == [1797259609, 2579123966] * 2
    assert raw(random_fold_in(rbg, np.uint32(7))) == [2716826189, 292468403] * 2
    assert bits(rbg, 32, (5,)) == [1713891541, 3781805453, 3159862348, 2600524760, 4175744164]
    assert bits(rbg, 8, (5,)) == [213, 141, 76, 216, 164]
    assert raw(random_split(unsafe, (3,))) == [
        [1713891541, 3781805453, 3159862348, 2600524760],
        [3614953066, 3503513258, 724076422, 3372229774],
        [1393889421, 2738237077, 2849386114, 3441723459]]
    assert raw(random_fold_in(unsafe, np.uint32(7))) == \
        [2104303640, 250182027, 1106406590, 1983638454]


@pytest.mark.parametrize("algorithm, after, numbers", [
    (lax.RandomAlgorithm.RNG_DEFAULT, [1, 2, 5, 4],
     [512747620, 1298009047, 1267190206, 761827841, 1383286907]),
    (lax.RandomAlgorithm.RNG_THREE_FRY, [1, 2, 6, 4],
     [1576285164, 2249660814, 740599976, 2425682526, 2436392515])])
def test_generators_with_a_state(algorithm, after, numbers):
    state = np.array([1, 2, 3, 4], np.uint32)
    found, bits32 = by_reference(lambda s: lax.rng_bit_generator(s, (5,), algorithm=algorithm),
                                 state)
    assert found.tolist() == after and bits32.tolist() == numbers


def wrapped(words):
    return random_wrap(words, impl="threefry2x32")


def test_batches_are_the_single_results():
    keys = random_split(KEY, (3,))
    together, dim = batch_rules[random_bits_p]((keys,), (0,), bit_width=32, shape=(2,))
    folded, _ = batch_rules[random_fold_in_p]((keys, np.uint32(9)), (0, None))
    each, _ = batch_rules[random_fold_in_p]((KEY, np.arange(3, dtype=np.uint32)), (None, 0))
    assert dim == 0
    for i, words in enumerate(raw(keys)):
        key = wrapped(np.array(words, np.uint32))
        assert np.asarray(together)[i].tolist() == bits(key, 32, (2,))
        assert raw(folded)[i] == raw(random_fold_in(key, np.uint32(9)))
        assert raw(each)[i] == raw(random_fold_in(KEY, np.uint32(i)))


def test_compiled_bits():
    found, = compiled(lambda r: random_bits(wrapped(r), 32, (5,)), np.zeros(2, np.uint32))
    assert found.tolist() == bits(KEY, 32, (5,))
