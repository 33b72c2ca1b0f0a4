"""Quotients and remainders of integers against Python's, at the ends of every type."""

import re

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney import lax

TYPES = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


def numbers(dtype, count=3000):
    """The ends of a type, small numbers, and any."""
    info, rng = np.iinfo(dtype), np.random.default_rng(0)
    ends = [info.min, info.min + 1, info.max, info.max - 1, 0, 1, 2, 3, 7, 100]
    ends = np.array(ends + ([-1, -2, -3, -7] if info.min < 0 else []), dtype)
    any_ = rng.integers(info.min, info.max, count, dtype=dtype, endpoint=True)
    return ends, np.concatenate([ends, any_, rng.integers(0, 100, count).astype(dtype)])


def expected(a, b):
    """(quotient toward zero, remainder), modulo the type's size."""
    size, pairs = 1 << np.iinfo(a.dtype).bits, []
    for x, y in zip(a.tolist(), b.tolist(), strict=True):
        q = abs(x) // abs(y) if y else 0
        q = -1 if not y else -q if (x < 0) != (y < 0) else q
        pairs.append((q % size, (x - q * y if y else x) % size))
    return [np.array(v, object) for v in zip(*pairs, strict=True)]


def check(found, a, b):
    size = 1 << np.iinfo(a.dtype).bits
    for got, want in zip(found, expected(a, b), strict=True):
        assert got.dtype == a.dtype
        np.testing.assert_array_equal(np.asarray(got).astype(object) % size, want)


def both(a, b):
    return lax.div(a, b), lax.rem(a, b)


@pytest.mark.parametrize("dtype", TYPES)
def test_vectors(dtype):
    ends, a = numbers(dtype)
    with jax.enable_x64(True):
        for b in (a[::-1].copy(), np.random.default_rng(1).permutation(a)):
            check(jax.jit(both)(a, b), a, b)
        a, b = [np.ascontiguousarray(v.ravel()) for v in np.meshgrid(a, ends)]
        check(jax.jit(both)(a, b), a, b)


@pytest.mark.parametrize("dtype", TYPES)
def test_by_the_same_number(dtype):
    """As an argument, and as a constant that the compiler knows."""
    ends, a = numbers(dtype)
    by = lambda x, d: both(x, jnp.broadcast_to(d, x.shape))
    with jax.enable_x64(True):
        for d in [*ends, *a[20:40]]:
            b = np.full(a.shape, d, dtype)
            check(jax.jit(by)(a, d), a, b)
            check(jax.jit(lambda x, d=d: by(x, d))(a), a, b)


@pytest.mark.parametrize("bits", [16, 32])
def test_multiples_and_their_neighbours(bits):
    """Where a quotient in floats would be rounded up, if anywhere."""
    rng, dtype = np.random.default_rng(2), np.dtype(f"uint{bits}")
    d = rng.integers(1, 1 << rng.integers(1, bits, 20_000), dtype=np.uint64)
    n = rng.integers(0, ((1 << bits) - 1) // d, dtype=np.uint64, endpoint=True) * d
    for off in (-1, 0, 1):
        a = np.clip(n.astype(np.int64) + off, 0, (1 << bits) - 1).astype(dtype)
        q, r = jax.jit(both)(a, d.astype(dtype))
        np.testing.assert_array_equal(q, a // d.astype(dtype))
        np.testing.assert_array_equal(r, a % d.astype(dtype))
        for one in d[:40].astype(dtype):
            found = jax.jit(lambda x, d: lax.div(x, jnp.broadcast_to(d, x.shape)))(a, one)
            np.testing.assert_array_equal(found, a // one)


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_long_multiples_and_their_neighbours(dtype):
    """Where what the first quotient leaves is 0, or a half of the divisor, if anywhere."""
    rng, info = np.random.default_rng(4), np.iinfo(dtype)
    top = int(info.max)
    d = np.array([int(rng.integers(1, 1 << int(k), dtype=np.uint64))
                  for k in rng.integers(1, info.bits - (dtype[0] == "i"), 6000)], object)
    n = np.array([int(rng.integers(0, top // int(x), dtype=np.uint64, endpoint=True)) for x in d],
                 object) * d  # fmt: skip
    with jax.enable_x64(True):
        for off in (-1, 0, 1, d // 2, d // 2 + 1, (d - 1) // 2):
            for sign in (1, -1) if dtype[0] == "i" else (1,):
                a = (np.clip(n + off, 0, top) * sign).astype(dtype)
                check(jax.jit(both)(a, d.astype(dtype)), a, d.astype(dtype))
                if dtype[0] == "i":
                    check(jax.jit(both)(a, (-d).astype(dtype)), a, (-d).astype(dtype))


def test_no_element_is_divided_by_itself():
    x = jnp.ones(5000, jnp.int32)
    text = jax.explain(lambda x, y: x // y + x % y, x, x, rounds=1).as_text("asm")
    assert "idiv" not in text


def divisors(dtype):
    """Positive ones: small, in the middle, the largest, beside powers of two."""
    top, rng = np.iinfo(dtype).max, np.random.default_rng(3)
    found = {1, 2, 3, 5, 7, 10, 100, top, top - 1, top // 2, top // 2 + 1, top // 3}
    found |= {int(d) for d in rng.integers(1, top, 8, dtype=dtype)}
    found |= {n for k in range(2, 63) for n in ((1 << k) - 1, 1 << k, (1 << k) + 1) if n <= top}
    return sorted(found)[:: 1 + len(found) // 40] + [top]


@pytest.mark.parametrize("dtype", TYPES)
def test_remainders_with_the_sign_of_a_known_divisor(dtype):
    """In vectors, and one after the other in a loop, where no division is left."""
    _, x = numbers(dtype, 300)
    one = lambda x, d: jax.lax.scan(lambda c, v: (c, v % d), 0, x)[1]
    with jax.enable_x64(True):
        for d in divisors(dtype):
            want = np.array([v % d for v in x.tolist()], object).astype(dtype)
            for f in (lambda x, d=d: x % d, lambda x, d=d: one(x, d), lambda x, d=d: (x % d)[3]):
                got = jax.jit(f)(x)
                assert got.dtype == dtype
                np.testing.assert_array_equal(got, want if got.shape else want[3])


def test_one_remainder_after_the_other():
    def draw(seed, _):
        seed = (seed * 3877 + 29573) % 139968
        return seed, seed

    def reference(seed):
        for _ in range(5000):
            seed = (seed * 3877 + 29573) % 139968
            yield seed

    run = lambda seed: jax.lax.scan(draw, seed, None, length=5000)[1]
    for seed in (42, 0, -7):
        np.testing.assert_array_equal(jax.jit(run)(jnp.int32(seed)), list(reference(seed)))
    text = jax.explain(run, jnp.int32(42), rounds=1)
    assert not re.search(r"\tu?i?div[bwlq]\t", text.as_text("asm"))
    assert "=mod" in text.as_text("kernels")


def test_places_that_wrap_around_are_not_negative():
    x = np.arange(300.0, dtype=np.float32)
    places = np.arange(300, dtype=np.int32)  # an argument: known ones become slices
    f = lambda x, places: x[(places + 7) % 300] - x[(places - 5) % 300]
    np.testing.assert_array_equal(jax.jit(f)(x, places), f(x, places))
    text = jax.explain(f, x, places, rounds=1).as_text("kernels")
    assert "mod" in text and "=lt" not in text and "=select" not in text


def test_another_divisor_has_the_same_text():
    texts = {jax.explain(lambda x, d=d: x % d, jnp.arange(5000), rounds=1).as_text("kernels")
             .split("sizes")[0] for d in (1000, 139_968)}  # fmt: skip
    assert len(texts) == 1
