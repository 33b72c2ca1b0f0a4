"""Keys: what makes them, what they refuse, how they move through arrays and programs."""

import numpy as np
import pytest

import jitney
from jitney import random
from jitney.lax.threefry import threefry2x32


def data(keys):
    return np.asarray(random.key_data(keys)).tolist()


@pytest.mark.parametrize("seed, words", [
    (0, [0, 0]), (5, [0, 5]), (-1, [0, 2**32 - 1]), (2**31, [0, 2**31]), (2**32 + 5, [0, 5]),
    (-2**31 - 1, [0, 2**31 - 1]), (True, [0, 1]), (np.int8(-3), [0, 2**32 - 3]),
    (np.uint32(2**32 - 1), [0, 2**32 - 1]), (np.int64(2**33 + 1), [0, 1])])
def test_seeds(seed, words):
    assert data(random.key(seed)) == words


def test_seeds_of_64_bits():
    with jitney.enable_x64(True):
        assert data(random.key(2**40 + 3)) == [2**8, 3]
        assert data(random.key(-1)) == [2**32 - 1, 2**32 - 1]


@pytest.mark.parametrize("make, error, says", [
    (lambda: random.key(1.0), TypeError, "must be an integer"),
    (lambda: random.key(np.arange(3)), TypeError, "accepts a scalar seed"),
    (lambda: random.key(2**63), OverflowError, ""),
    (lambda: random.key(0, impl="foo"), ValueError, "unrecognized PRNG"),
    (lambda: random.key(0, impl="rbg", dtype=random.key_dtype()), ValueError, "both"),
    (lambda: random.wrap_key_data(np.zeros((3, 3), np.uint32)), TypeError, "shape to end with"),
    (lambda: random.wrap_key_data(np.zeros((3, 2), np.int32)), TypeError, "dtype = uint32"),
    (lambda: random.normal(0), TypeError, "ndim"),
    (lambda: random.normal([0, 1]), TypeError, "unexpected PRNG key type"),
    (lambda: random.normal(random.split(random.key(0))), ValueError, "vmap"),
    (lambda: random.normal(np.zeros((3, 2), np.uint32)), ValueError, "(3, 2) != ()"),
    (lambda: random.split(random.key(0), 3.0), TypeError, "integer"),
    (lambda: random.split(random.key(0), -1), ValueError, "negative"),
    (lambda: random.fold_in(random.key(0), -1), OverflowError, "uint32"),
    (lambda: random.fold_in(random.key(0), np.arange(2)), TypeError, "scalar"),
    (lambda: random.normal(random.key(0), (3,), int), ValueError, "float or complex"),
    (lambda: random.uniform(random.key(0), (3,), int), ValueError, "`uniform` must be a float"),
    (lambda: random.bits(random.key(0), (3,), np.int32), ValueError, "unsigned"),
    (lambda: random.normal(random.key(0), (-3,)), ValueError, "negative"),
    (lambda: random.normal(random.key(0), (3.0,)), TypeError, "Shapes must be 1D"),
    (lambda: random.randint(random.key(0), (3,), 0, 10, float), TypeError, "integer dtypes"),
    (lambda: random.bernoulli(random.key(0), np.arange(3)), TypeError, "floating dtype"),
    (lambda: random.pareto(random.key(0), np.ones((2, 3)), (3,)), ValueError, "broadcast"),
    (lambda: random.choice(random.key(0), 3, (4,), False), ValueError, "larger sample"),
    (lambda: random.choice(random.key(0), 0, (4,)), ValueError, "greater than 0"),
    (lambda: random.choice(random.key(0), 3, 4), TypeError, "sequence"),
    (lambda: random.choice(random.key(0), [1, 2], (4,)), TypeError, "list"),
    (lambda: random.permutation(random.key(0), 3.0), TypeError, "integer"),
    (lambda: random.categorical(random.key(0), np.zeros(4), shape=(5,), replace=False),
     ValueError, "without replacement"),
    (lambda: random.gumbel(random.key(0), mode="x"), ValueError, "valid mode"),
])
def test_what_is_refused(make, error, says):
    with pytest.raises(error) as caught:
        make()
    assert says in str(caught.value)


def test_raw_keys_give_raw_keys():
    raw = random.PRNGKey(1)
    assert raw.dtype == np.uint32 and raw.shape == (2,)
    assert random.split(raw).shape == (2, 2)
    assert data(random.wrap_key_data(raw)) == raw.tolist()
    np.testing.assert_array_equal(random.uniform(raw, (3,)), random.uniform(random.key(1), (3,)))


def test_names_of_generators():
    assert random.key_impl(random.key(0)) == "threefry2x32"
    assert str(random.key_dtype("rbg")) == "key<rbg>"
    assert random.key(0).dtype == random.key_dtype()


def test_old_keys_can_be_refused():
    with jitney.legacy_prng_key("error"), pytest.raises(ValueError, match="Legacy"):
        random.normal(random.PRNGKey(0))


def test_keys_in_programs():
    key = random.key(3)

    @jitney.jit
    def draws(key, i):
        first, second, third = random.split(key, 3)
        stacked = jitney.numpy.stack([first, second, third])
        return random.bits(second), random.bits(random.split(key, 3)[i]), random.bits(stacked[1])

    wanted = int(random.bits(random.split(key, 3)[1]))
    assert [int(x) for x in draws(key, 1)] == [wanted] * 3


def test_jaxpr_of_keys():
    text = str(jitney.make_jaxpr(lambda key: random.split(random.fold_in(key, 3)))(random.key(0)))
    assert text == ("{ lambda ; a:key<fry>[]. let\n"
                    "    b:key<fry>[] = random_fold_in a 3:u32[]\n"
                    "    c:key<fry>[2] = random_split[shape=(2,)] b\n"
                    "  in (c,) }")


@pytest.mark.parametrize("shape", [(2**17, 2**16), (2**33 + 3,), (3, 2**32)])
def test_counters_of_more_than_32_bits(shape):
    """The last words of more than memory holds: nothing else is computed."""
    ends = jitney.jit(lambda key: random.bits(key, shape).reshape(-1)[-5:])(random.key(7))
    size = int(np.prod(shape, dtype=object))
    places = np.arange(size - 5, size, dtype=np.uint64)
    counts = (places >> np.uint64(32)).astype(np.uint32), places.astype(np.uint32)
    words = threefry2x32(np.uint32(0), np.uint32(7), *counts)
    assert np.asarray(ends).tolist() == (np.asarray(words[0]) ^ np.asarray(words[1])).tolist()
