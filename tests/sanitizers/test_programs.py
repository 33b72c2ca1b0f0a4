"""Programs that use every part of the runtime, small: meant for run.sh, quick without it too."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import _native, lax, nn, random

KIND = os.environ.get("JITNEY_SANITIZED", "")


@pytest.fixture(autouse=True)
def nothing_kept():
    """Freed memory goes back at once, so that a use after it is seen."""
    limit = _native.allocator_stats()["bytes_limit"]
    _native.set_allocator_limit(0)
    yield
    _native.set_allocator_limit(limit)
    _native.set_num_threads(0)


X = np.random.default_rng(0).normal(size=(70, 65)).astype(np.float32)
I = np.random.default_rng(1).integers(-5, 80, 333)


@pytest.mark.parametrize("fun", [
    lambda x: nn.softmax(jnp.sin(x) * 2, axis=-1),
    lambda x: (x.sum(), x.mean(0), x.var(1), x.argmax(0)),
    lambda x: x @ x.T + 1,
    lambda x: (jnp.sort(x), jnp.argsort(x[0]), lax.top_k(x, 5)),
    lambda x: (jnp.cumsum(x), lax.cummax(x, axis=1), jnp.cumprod(x[0])),
    lambda x: (x.ravel()[I], x.ravel().at[I].add(1.0), x.at[1:5, ::2].set(0)),
    lambda x: jnp.zeros(90).at[I].max(x.ravel()[:333]),
    lambda x: random.normal(random.key(3), (1001,)),
    lambda x: jnp.concatenate([x.T.ravel(), jnp.pad(x, 3).ravel()])[::-1],
    lambda x: (x.astype(jnp.bfloat16) * 2).astype(jnp.float16),
    lambda x: {"a": [x, (x + 1, {"b": x * 1j})], "c": ()},
    lambda x: lax.reduce_window(x, 0.0, lax.add, (3, 3), (1, 1), "SAME"),
    lambda x: jnp.bincount(jnp.abs(x * 9).astype(int).ravel(), length=40),
    lambda x: (x > 0).any(1),
    lambda x: lax.reduce_window(x > 1, False, lax.bitwise_or, (5, 5), (1, 1), "SAME"),
    lambda x: jnp.sort((x * 20).astype(jnp.int8), 0),
    lambda x: lax.random_gamma_grad(jnp.abs(x) * 3 + 0.1, jnp.abs(x) + 0.01),
    lambda x: (lax.zeta(abs(x) + 1.1, abs(x)), lax.polygamma(jnp.round(abs(x) * 3), x)),
    lambda x: jnp.linalg.cholesky(x.T @ x + jnp.arange(1, 9)[:, None, None] * jnp.eye(65)),
    lambda x: jnp.linalg.svd(x[:, :20]),
    lambda x: x[:0] + 1,
])
def test_programs(fun):
    for threads in (1, 3):
        _native.set_num_threads(threads)
        f = jitney.jit(fun)
        f.clear_cache()
        first = jitney.tree.leaves(f(X))
        for given in (jnp.asarray(X), X[:, :], np.asfortranarray(X), X.astype(np.float64)):
            again = jitney.tree.leaves(f(given))
            for a, b in zip(first, again, strict=True):
                assert np.array_equal(np.asarray(a), np.asarray(b), equal_nan=True)


def test_work_that_threads_share():
    """Copies, scans, updates and loops large enough for several threads."""
    rng = np.random.default_rng(2)
    x, index = rng.normal(size=1 << 20).astype(np.float32), rng.integers(0, 9000, 1 << 16)

    @jitney.jit
    def run(x, index):
        table = jnp.zeros(9000)
        lists = table.at[index].add(1.0), table.at[index].min(x[: 1 << 16])
        smooth = lambda s: (s[0] + 1, 0.5 * (s[1] + jnp.roll(s[1], 1)))
        turned = lax.while_loop(lambda s: s[0] < 3, smooth, (0, x))[1]
        return jnp.concatenate([x, turned]), jnp.cumsum(x), *lists

    results = []
    for threads in (1, 3):
        _native.set_num_threads(threads)
        results.append([np.asarray(r) for r in run(jnp.array(x), index)])
    for a, b in zip(*results, strict=True):
        np.testing.assert_array_equal(a, b)


def test_loops_by_blocks_of_rows():
    """Threads are at different turns, with counters and numbers of their own."""
    x = np.random.default_rng(3).normal(size=(300, 9, 200)).astype(np.float32)

    def row(u):
        step = lambda state, x: ((state[1], jnp.roll(state[0], 1) * x), (state[0].sum(), state[1]))
        return lax.scan(step, (u[0], u[1]), u, reverse=True)

    results = []
    for threads in (1, 3):
        _native.set_num_threads(threads)
        found = jitney.jit(jitney.vmap(row))(x)
        results.append([np.asarray(r) for r in jitney.tree.leaves(found)])
    for a, b in zip(*results, strict=True):
        np.testing.assert_array_equal(a, b)
    scans = lambda x: (jnp.cumsum(x, 0), jnp.cumprod(x, 0), lax.cummax(x, reverse=True))
    narrow = jitney.jit(scans)
    for width in (1, 3, 12, 21, 64, 65):
        narrow(x.ravel()[: 5000 * width].reshape(5000, width))


def test_donated_and_shared_buffers():
    f = jitney.jit(lambda x, i: (x.at[i].set(3), x[0]), donate_argnums=0)
    x = jnp.zeros(5000)
    for i in range(20):
        kept = np.asarray(x) if i % 3 == 0 else None
        x, _ = f(x, i)
        if kept is not None:
            assert kept.sum() == 3 * i
    assert float(x.sum()) == 60


def test_entries_dropped_while_calls_run():
    """Python code run by a call may drop the entry that serves it."""
    class Key:
        def __init__(self, n):
            self.n = n

        def __hash__(self):
            return 1

        def __eq__(self, other):
            f.clear_cache()
            return isinstance(other, Key) and self.n == other.n

    f = jitney.jit(lambda x, key: x + key.n, static_argnums=1)
    for _ in range(3):
        for n in range(12):
            assert float(f(np.float32(1), Key(n))) == n + 1


def test_threads_call_and_clear():
    f = jitney.jit(lambda x, y: {"a": x * y, "b": (x + y).sum()})
    x = jnp.arange(40000.0)
    errors = []

    def work(seed):
        try:
            for n in range(30):
                out = f(x, float(seed))
                assert float(out["a"][1]) == seed
                if n % 10 == seed % 10:
                    f.clear_cache()
                f(jnp.ones(1 + n % 12), 1)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors, errors[0]


def test_threads_make_and_drop_arrays():
    _native.set_num_threads(3)
    errors = []

    def work(seed):
        try:
            rng = np.random.default_rng(seed)
            kept = []
            for _ in range(60):
                kept.append(jnp.asarray(rng.normal(size=rng.integers(1, 3000))) * 2)
                if len(kept) > 10:
                    kept.pop(int(rng.integers(10)))
                jnp.sort(kept[-1])
            for a in kept:
                np.asarray(a)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors, errors[0]


@pytest.mark.skipif(KIND == "thread", reason="a forked child of many threads is not followed")
def test_a_forked_child_computes():
    code = """if True:
        import os, numpy as np, jitney, jitney.numpy as jnp
        f = jitney.jit(lambda x: jnp.cumsum(x) + x.sum())
        x = jnp.ones(300000)
        want = np.asarray(f(x))
        child = os.fork()
        if child == 0:
            good = np.array_equal(f(x), want) and float(jitney.jit(lambda v: v * 3 - 1)(2.0)) == 5
            os._exit(0 if good else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    """
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_damaged_machine_code_is_refused_not_run():
    start = b"\x7fELF\x02\x01\x01"
    for blob in (b"", start[:4], b"\x00" * 64, os.urandom(500), start + b"\xff" * 200):
        with pytest.raises((ValueError, RuntimeError, OSError, NotImplementedError)):
            _native.link_object(blob)


def test_objects_cut_short_or_changed_are_refused_or_linked():
    """link_object never reads outside what it was given."""
    from jitney.backend.host import host_target
    from jitney.backend.llvm import compile_object

    text = """
define void @k(ptr %p, ptr %q, i64 %lo, i64 %hi) {
  %a = load ptr, ptr %p
  %v = load double, ptr %a
  %w = fmul double %v, 0x400921FB54442D18
  store double %w, ptr %a
  ret void
}"""
    good = compile_object(text, host_target(), 2)
    assert "k" in _native.link_object(good)[1]
    rng = np.random.default_rng(0)
    for n in range(0, len(good), 7):
        _try_link(good[:n])
    for _ in range(1500):
        bad = bytearray(good)
        for _ in range(int(rng.integers(1, 6))):
            bad[rng.integers(len(bad))] = rng.integers(256)
        _try_link(bytes(bad))


def _try_link(data):
    try:
        _native.link_object(data)
    except (ValueError, RuntimeError, OSError, NotImplementedError):
        pass
