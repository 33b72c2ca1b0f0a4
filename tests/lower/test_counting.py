"""Counts and histograms: which routine they become, and that it counts what NumPy counts."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney import _native

RNG = np.random.default_rng(3)


def steps(fun, *args):
    return [step.name for step in jax.explain(fun, *args).steps]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "uint32"])
@pytest.mark.parametrize("length", [1, 10, 256, 3000])
def test_bincount_reads_the_numbers_themselves(dtype, length):
    x = RNG.integers(0, 127, 3000).astype(dtype)
    if np.dtype(dtype).kind == "i":
        x[::7] = -5  # counts as 0
    want = np.bincount(np.minimum(np.maximum(x.astype(int), 0), length), minlength=length)

    def counted(v):
        return jnp.bincount(v, length=length)

    assert np.array_equal(counted(x), want[:length])
    assert np.array_equal(jax.jit(counted)(x), want[:length])
    if dtype == "int32":
        assert steps(counted, x)[0] == "count_pieces_i32"


def test_ones_added_at_places_count_from_the_end():
    """Negative indices are places from the end here: they stay in the program."""
    at = np.array([-1, 0, 3, 3, -4, 9, -9], np.int32)
    got = jax.jit(lambda i: jnp.zeros(5, int).at[i].add(1))(at)
    assert np.array_equal(got, [1, 1, 0, 2, 1])
    clipped = jax.jit(lambda i: jnp.zeros(5, int).at[i].add(1, mode="clip"))(at)
    want = np.zeros(5, int)
    np.add.at(want, np.clip(np.where(at < 0, at + 5, at), 0, 4), 1)
    assert np.array_equal(clipped, want)


HISTOGRAMS = [dict(bins=10), dict(bins=64, range=(-3, 3)), dict(bins=7, range=(0, 1)),
              dict(bins=1000), dict(bins=np.array([-2.0, -1.0, 0.5, 4.0], np.float32))]


@pytest.mark.parametrize("options", HISTOGRAMS)
@pytest.mark.parametrize("shape", [(0,), (1,), (50_001,), (300, 70)])
def test_histogram_counts_between_its_own_edges(options, shape):
    x = RNG.normal(size=shape).astype(np.float32)
    if x.size > 100:
        x.flat[:40] = np.repeat(np.array([np.nan, np.inf, -np.inf, 3.0], np.float32), 10)
    if "range" not in options and np.ndim(options["bins"]) == 0:
        x = np.where(np.isfinite(x), x, np.float32(1))
    counts, edges = jnp.histogram(x, **options)
    want = np.histogram(x[np.isfinite(x)], np.asarray(edges))[0]
    assert np.array_equal(counts, want)
    x = np.concatenate([x.ravel(), np.repeat(np.asarray(edges), 50)])  # edges themselves
    x = x[np.isfinite(x)]
    counts = jax.jit(lambda v: jnp.histogram(v, np.asarray(edges))[0])(x)
    assert np.array_equal(counts, np.histogram(x, np.asarray(edges))[0])


def test_histogram_is_one_pass_over_the_values():
    x = RNG.normal(size=(400, 400)).astype(np.float32)

    def counted(v):
        return jnp.histogram(v, 64, (-3, 3))[0]

    names = steps(counted, x)
    assert "histogram_pieces_f32" in names
    assert not any("searchsorted" in name or "count_pieces" in name for name in names)


def test_counts_are_the_same_for_any_number_of_threads():
    x = RNG.normal(size=300_000).astype(np.float32)
    programs = [jax.jit(lambda v: jnp.histogram(v, 50, (-2, 2))[0]),
                jax.jit(lambda v: jnp.bincount((v * 9).astype(int), length=40))]
    for program in programs:
        results = []
        for threads in (1, 2, 5):
            _native.set_num_threads(threads)
            results.append(np.asarray(program(x)).tobytes())
        _native.set_num_threads(0)
        assert len(set(results)) == 1


def test_ranks_that_are_used_as_well():
    x = RNG.normal(size=5000).astype(np.float32)
    edges = np.linspace(-2, 2, 21, dtype=np.float32)

    @jax.jit
    def both(v):
        return jnp.digitize(v, edges), jnp.histogram(v, edges)[0]

    ranks, counts = both(x)
    assert np.array_equal(ranks, np.digitize(x, edges))
    assert np.array_equal(counts, np.histogram(x, edges)[0])
