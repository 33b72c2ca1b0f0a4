"""Counted loops over rows by themselves run block by block of rows, to the same values (pieces of
rows in pipelines begin elsewhere, and the first row of one has its sums in another order)."""

import os
import sys

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import _native, lax
from jitney.fuse import block_turns, loops

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "codegen"))
from narrower_machines import run_tests  # noqa: E402


def turns(body, count):
    return jitney.vmap(lambda u: lax.fori_loop(0, count, lambda _, v: body(v), u))


def waves(u):
    def step(state, _):
        now, before = state
        bent = jnp.roll(now, 1) - 2 * now + jnp.roll(now, -1)
        return (2 * now - before + bent / 8, now), None

    return lax.scan(step, (u, u), None, length=11)[0]


def moved(u):
    return jnp.concatenate([u[1:], u[-1:]])


def scanned(u):
    def step(state, x):
        new = state / 2 + jnp.roll(state, 1) * x
        return new, (new.sum(), jnp.maximum(new, x), state)

    return lax.scan(step, u[0], u)


def counted(u):
    return lax.fori_loop(0, 9, lambda i, v: jnp.roll(v, 1) * i - v[i], u)


def backwards(u):
    return lax.scan(lambda c, x: (c / 2 + jnp.roll(x, 2), c + x), u[0], u, reverse=True)


ROWS = {
    "rolled": turns(lambda v: v + (jnp.roll(v, 1) - 2 * v + jnp.roll(v, -1)) / 8, 10),
    "odd": turns(lambda v: v + (jnp.roll(v, 1) - 2 * v + jnp.roll(v, -1)) / 8, 9),
    "fixed": turns(lambda v: v.at[1:-1].add((v[2:] - 2 * v[1:-1] + v[:-2]) / 8), 10),
    "waves": jitney.vmap(waves),
    "moved": turns(lambda v: jnp.maximum(v / 2 + moved(v) / 4, v - 1), 12),
    "softmax": turns(lambda v: jitney.nn.softmax(v * 2), 8),
    "moments": turns(lambda v: (v - v.mean()) / jnp.sqrt(v.var() + 1), 8),
    "reversed": turns(lambda v: v[::-1] / 2 + v / 4, 8),
    "counted": jitney.vmap(counted),
    "stacked": jitney.vmap(lambda u: lax.scan(
        lambda c, _: (jnp.roll(c, 1) / 2 + c / 4, (c.sum(), c)), u, None, length=7)),
    "scanned": lambda x: jitney.vmap(scanned)(x[:, None] + jnp.arange(7.0)[:, None]),
    "backwards": lambda x: jitney.vmap(backwards)(x[:, None] + jnp.arange(7.0)[:, None]),
    "placed": turns(lambda v: lax.fori_loop(
        0, 5, lambda i, w: w.at[i].set(w[i + 1] / 2 + w[-1]), v) / 2 + jnp.roll(v, 1), 6),
    "gradient": jitney.vmap(jitney.grad(lambda u: scanned(jnp.outer(jnp.arange(7.0), u))[0].sum())),
    "far": turns(lambda v: v / 2 + v[3] / 4 + v[-1] / 8, 8),
}
SURELY = ("rolled", "fixed", "waves", "moved", "stacked", "scanned", "backwards")
TOGETHER = {
    "down": lambda v: v + (jnp.roll(v, 1, 0) - v) / 8,
    "means": lambda v: v / 2 + v.mean(0) / 4,
    "turned": lambda v: v / 2 + v[::-1] / 4,
    "neighbour": lambda v: v.at[1:].add(v[:-1] / 8),
    "flat": lambda v: jnp.roll(v.ravel(), 1).reshape(v.shape) / 2 + v / 4,
}


@pytest.fixture(autouse=True)
def no_saved_programs(monkeypatch):
    monkeypatch.setenv("JITNEY_CACHE_DIR", "")


@pytest.fixture
def found(monkeypatch):
    """What block_turns says of each loop."""
    answers = []
    really = loops.block_turns

    def listen(*arguments):
        answers.append(really(*arguments))
        return answers[-1]

    monkeypatch.setattr(loops, "block_turns", listen)
    return answers


def same(got, want):
    jitney.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4), got, want)


def without_blocks(monkeypatch, f, x):
    with monkeypatch.context() as patch:
        patch.setattr(loops, "block_turns", lambda *_: None)
        return jitney.tree.map(np.asarray, jitney.jit(lambda x: f(x))(x))


@pytest.mark.parametrize("shape", [(64, 256), (37, 300), (501, 130), (20, 2000), (300, 33)])
@pytest.mark.parametrize("name", ROWS)
def test_rows_by_themselves(name, shape, found, monkeypatch):
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    f = ROWS[name]
    got = jitney.jit(lambda x: f(x))(x)
    if shape == (501, 130) and name in SURELY:
        assert any(found), "no blocks"
    for blocks in filter(None, found):
        assert blocks.rows == shape[0] and (blocks.number - 1) * blocks.size < blocks.rows
        assert blocks.number * blocks.size >= blocks.rows
    same(got, without_blocks(monkeypatch, f, x))


@pytest.mark.parametrize("dtype", ["float64", "int32", "bfloat16", "int8"])
def test_other_types(dtype, found, monkeypatch):
    f = turns(lambda v: v // 2 + jnp.roll(v, 1) + moved(v), 10)
    with jitney.enable_x64(True):
        x = jnp.asarray(np.random.default_rng(1).integers(-99, 99, (96, 320)), dtype)
        got = jitney.jit(lambda x: f(x))(x)
        assert any(found)
        np.testing.assert_array_equal(got, without_blocks(monkeypatch, f, x))


@pytest.mark.parametrize("name", TOGETHER)
def test_rows_that_need_one_another(name, found, monkeypatch):
    x = np.random.default_rng(2).normal(size=(64, 512)).astype(np.float32)
    f = lambda x: lax.fori_loop(0, 10, lambda _, v: TOGETHER[name](v), x)
    got = jitney.jit(lambda x: f(x))(x)
    assert not any(found)
    want = x
    for _ in range(10):
        want = np.asarray(TOGETHER[name](want if name != "neighbour" else jnp.asarray(want)))
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def pieces_of(rng, arrays):
    """A random array or number, computed from rows of arrays of equal length."""
    a, b = (arrays[k] for k in rng.integers(0, len(arrays), 2))
    n, d = a.shape[0], int(rng.integers(1, 5))
    return [
        lambda: jnp.roll(a, d) / 2 + b, lambda: a[::-1] - b / 4, lambda: a.mean() + b / 2,
        lambda: jnp.concatenate([b[d:], a[:d]]), lambda: jnp.pad(a[:-d], (d, 0)) / 2,
        lambda: jnp.maximum(a / 2, b - 1), lambda: jnp.where(a > b, a / 2, b), lambda: a[d] + b / 4,
        lambda: a.at[d:].add(b[:-d] / 8), lambda: a.at[d].set(b.max() / 2), lambda: jnp.sort(a) / 2,
        lambda: a.at[:-d:2].multiply(0.5), lambda: jnp.cumsum(a) / n, lambda: a[b.argmax()] + b / 8,
        lambda: jnp.take(a, jnp.arange(n)[::-1] // 2) / 2, lambda: jnp.exp(-jnp.abs(a)) * b,
        lambda: (a.reshape(-1, 2).sum(1)[:, None] * jnp.ones(2)).ravel() / 4,
        lambda: jnp.tanh(a) + b / 8,
    ][int(rng.integers(0, 18))]()  # fmt: skip


@pytest.mark.parametrize("tens", range(6))
def test_random_rows(tens, found, monkeypatch):
    """Blocks as small as can be, so that a row that another one reads is soon at another turn.
    About half of the programs go by blocks, the others have routines."""
    monkeypatch.setattr(block_turns, "LEAST_CALL_NS", 1.0)
    monkeypatch.setattr(block_turns, "FEW_BLOCKS", 2)
    monkeypatch.setattr(block_turns, "ENOUGH_BLOCKS", 2)
    monkeypatch.setattr(block_turns, "PIECE_NS", 1.0)
    for seed in range(10 * tens, 10 * tens + 10):
        check_random_rows(seed, monkeypatch)
    assert sum(map(bool, found)) >= 2


def check_random_rows(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    shape = int(rng.integers(3, 90)), int(rng.integers(1, 5)), 2 * int(rng.integers(5, 90))
    x, count = rng.normal(size=shape).astype(np.float32), int(rng.integers(4, 9))
    program = int(rng.integers(1 << 30))

    def row(start):
        def step(state, number):
            made, arrays = np.random.default_rng(program), [*state, start[0] * number]
            new = tuple([pieces_of(made, arrays) + jnp.zeros(shape[2]) for _ in state])
            return new, (new[0].sum(), arrays[int(made.integers(len(arrays)))])

        numbers = jnp.arange(count, dtype=jnp.float32)
        return lax.scan(step, tuple(start), numbers, reverse=bool(seed % 2))

    f = jitney.vmap(row)
    compiled = jitney.jit(lambda x: f(x))
    got, again = compiled(x), compiled(x)
    want = without_blocks(monkeypatch, f, x)
    jitney.tree.map(np.testing.assert_array_equal, got, again)
    same(got, want)


def test_a_loop_is_one_region(found):
    f = jitney.jit(turns(lambda v: v + (jnp.roll(v, 1) - v) / 8, 100))
    x = np.ones((256, 512), np.float32)
    f(x)
    assert any(found)
    before = _native.counters()["parallel_regions"]
    f(x).block_until_ready()
    assert _native.counters()["parallel_regions"] - before <= 10


def test_blocks_stay_in_the_caches(found, monkeypatch):
    """Arrays so large that results of kernels go past the caches: those of a block do not."""
    f = ROWS["rolled"]
    x = np.random.default_rng(4).normal(size=(4200, 4000)).astype(np.float32)
    text_of = lambda f: jitney.explain(f, x, rounds=1).as_text("kernels")
    if "stream" not in text_of(lambda x: x + jnp.roll(x, 1, 1)):
        pytest.skip("the last cache holds them")
    assert "stream" not in text_of(f) and any(found)
    same(jitney.jit(lambda x: f(x))(x), without_blocks(monkeypatch, f, x))


def test_one_thread_and_two_agree(found):
    x = np.random.default_rng(3).normal(size=(333, 257)).astype(np.float32)
    f = jitney.jit(lambda x: ROWS["moved"](x))
    want = np.asarray(f(x))
    assert any(found)
    threads = _native.num_threads()
    try:
        _native.set_num_threads(1)
        np.testing.assert_array_equal(f(x), want)
    finally:
        _native.set_num_threads(threads)


@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64"])
def test_narrower_machines(target):
    run_tests(__file__, target)
