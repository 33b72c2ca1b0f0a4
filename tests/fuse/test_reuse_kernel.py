"""A kernel reused for another root is the one the builder would have written for it."""

import numpy as np
import pytest
from random_graphs import RandomGraph

import jitney
import jitney.numpy as jnp
from jitney.backend.host import host_target
from jitney.fuse import partition, reuse_kernel, write_kernel
from jitney.fuse.buffers import KernelStep
from jitney.fuse.order_items import order_items

rewritten = write_kernel._written


def account(graph, table):
    """Everything about the kernels of a graph, but for their order in memory."""
    found = partition.partition_graph(graph, table, host_target())
    items = order_items(found.items)
    steps = [s for item in items for s in item.steps if isinstance(s, KernelStep)]
    return [(s.slotted.text, s.slotted.values, [b.id for b in s.buffers], s.writes, s.cost)
            for s in steps]


@pytest.mark.parametrize("seed", range(60))
def test_reused_is_rewritten(seed, monkeypatch):
    graph, table = RandomGraph(seed, size=10).build()[:2]
    reuse_kernel.forget()
    account(graph, table)
    reused = account(graph, table)
    monkeypatch.setattr(write_kernel, "reuse", lambda *_: None)
    assert reused == account(graph, table)


def test_kernels_of_several_results_are_reused(monkeypatch):
    """Results of one shape share a kernel; a program with their like, in another order of buffers,
    finds it, and not one with other operations or fewer results."""
    x = np.linspace(0.1, 1, 24, dtype=np.float32).reshape(4, 6)

    def results(x, *more):
        return [x.sum(1), (x + 1).max(1), (x * x).min(1), *more]

    written = []
    monkeypatch.setattr(write_kernel, "_written", lambda *a: written.append(a[1]) or rewritten(*a))
    reuse_kernel.forget()
    jitney.jit(lambda x: results(x))(x)
    assert [len(roots) for roots in written] == [3]
    got = jitney.jit(lambda x, y: results(y))(x, x)
    again = jitney.jit(lambda x, y: [y, *results(x)])(x, x)
    assert len(written) == 1
    jitney.jit(lambda x: results(x)[:2])(x)
    jitney.jit(lambda x: [x.sum(1), (x + 1).min(1), (x * x).min(1)])(x)
    assert [len(roots) for roots in written] == [3, 2, 3]
    for found in (got, again[1:]):
        for a, b in zip(found, (x.sum(1), (x + 1).max(1), (x * x).min(1)), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6)


def layers(count, factor):
    def f(x):
        for _ in range(count):
            y = (x - x.mean(-1, keepdims=True)) * factor
            x = x @ x + jnp.exp(y / (1 + y.std(-1, keepdims=True)))
        return x.sum()

    return jitney.grad(f)


def test_equal_layers_are_written_once(monkeypatch):
    written = []
    builder = write_kernel.KernelBuilder
    monkeypatch.setattr(write_kernel, "KernelBuilder", lambda *a: written.append(1) or builder(*a))
    x = np.random.default_rng(0).normal(size=(32, 32)).astype(np.float32) / 32
    counts = []
    for depth in (4, 8, 12):
        reuse_kernel.forget()
        written.clear()
        jitney.jit(layers(depth, 0.3))(x)
        counts.append(len(written))
    assert counts[2] - counts[1] <= 4


def test_another_constant_needs_no_new_kernel(monkeypatch):
    x = np.random.default_rng(0).normal(size=(32, 32)).astype(np.float32) / 32
    jitney.jit(layers(3, 0.3))(x)
    written = []
    builder = write_kernel.KernelBuilder
    monkeypatch.setattr(write_kernel, "KernelBuilder", lambda *a: written.append(1) or builder(*a))
    found = jitney.jit(layers(3, 0.7))(x)
    assert not written
    with jitney.disable_jit():
        want = layers(3, 0.7)(x)
    assert np.allclose(found, want, rtol=1e-4, atol=1e-5)


def test_a_sum_in_pieces_that_another_kernel_stored():
    """The second round of a partition may find the sum of pieces stored, or not."""
    def f(x):
        wide = jnp.pad(x, 1, mode="edge")
        north, south = wide[:-2, 1:-1] - x, wide[2:, 1:-1] - x
        west, east = wide[1:-1, :-2] - x, wide[1:-1, 2:] - x
        square = (north**2 + south**2 + west**2 + east**2) / x**2
        bend = (north + south + west + east) / x
        c = (0.5 * square - bend**2 / 16.0) / (1.0 + 0.25 * bend) ** 2 * x.mean()
        below = jnp.concatenate([c[1:], c[-1:]])
        beside = jnp.concatenate([c[:, 1:], c[:, -1:]], axis=1)
        return x + 0.125 * (c * north + below * south + c * west + beside * east)

    reuse_kernel.forget()
    x = jnp.ones((384, 384))
    np.testing.assert_array_equal(jitney.jit(f)(x), x)


def test_two_results_of_one_routine_and_of_two():
    """Both look the same to the kernel that joins them, but are asked for differently."""
    x = np.arange(12.0, dtype=np.float32).reshape(3, 4)

    def one(x):
        a, b = jitney.lax.fori_loop(0, 3, lambda _, c: (c[0] + c[1], c[1] + c[0]), (x, -x))
        return jnp.stack([a, b], -1)

    def two(x):
        return jnp.stack([jnp.sort(-x), jnp.sort(x)], -1)

    reuse_kernel.forget()
    for function, wanted in ((one, [x * 0, x * 0]), (two, [np.sort(-x), x]), (one, [x * 0] * 2)):
        assert np.array_equal(jitney.jit(function)(x), np.stack(wanted, -1))
