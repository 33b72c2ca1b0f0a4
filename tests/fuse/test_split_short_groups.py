"""Groups of a few channels are reduced by lines, then few by few: the same numbers."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney import pipeline
from jitney.graph.graph import GraphBuilder
from jitney.graph.interpret import interpret
from jitney.graph.split_short_groups import SHORT, split_short_groups

AXES = (1, 2, 4)
FEW = [2, 3, 4, 7, 8, 16, SHORT]


def values(*shape, dtype="float32"):
    return (np.random.default_rng(sum(shape)).standard_normal(shape) * 3).astype(dtype)


def grouped(x, few):
    return x.reshape(*x.shape[:3], x.shape[3] // few, few)


def group_norm(x, few, numbers=jnp):
    y = grouped(x, few)
    mean = y.mean(AXES, keepdims=True)
    variance = ((y - mean) ** 2).mean(AXES, keepdims=True)
    return ((y - mean) / numbers.sqrt(variance + 1e-5)).reshape(x.shape)


def rows_and_loops(fun, *arguments) -> list[str]:
    """The rows and loops of a program's kernels, in lines."""
    text = jax.explain(fun, *arguments, rounds=1).as_text("kernels")
    return [line for line in text.splitlines() if line.strip().startswith(("loops", "rows"))]


@pytest.mark.parametrize("few", FEW)
def test_group_norm(few):
    x = values(2, 9, 7, 6 * few)
    got = jax.jit(lambda x: group_norm(x, few))(x)
    np.testing.assert_allclose(got, group_norm(x.astype("float64"), few, np), rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("few", [2, 8])
def test_gradient(few):
    x, weights = values(2, 9, 7, 4 * few), values(2, 9, 7, 4 * few, dtype="float64")

    def loss(x):
        return (group_norm(x, few) * weights.astype("float32")).sum()

    def loss_by_numpy(x):
        return (group_norm(x, few, np) * weights).sum()

    gradient = np.asarray(jax.jit(jax.grad(loss))(x))
    rng, wide = np.random.default_rng(0), x.astype("float64")
    for _ in range(5):
        step = rng.standard_normal(x.shape) * 1e-4
        want = (loss_by_numpy(wide + step) - loss_by_numpy(wide - step)) / 2
        np.testing.assert_allclose((gradient * step).sum(), want, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("name", ["sum", "max", "min", "prod", "any", "all"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "bfloat16", "uint8", "bool"])
def test_kinds_and_types(name, dtype):
    with jax.enable_x64(True):
        x = jnp.asarray(values(2, 6, 9, 40) > -2.9 if dtype == "bool" else values(2, 6, 9, 40) / 3)
        x = grouped(x.astype(dtype), 4)
        got = jax.jit(lambda x: getattr(jnp, name)(x, AXES))(x)
        exact = np.asarray(x.astype("float64" if dtype == "bfloat16" else dtype))
        want = getattr(np, name)(exact, AXES)
        assert got.shape == (2, 10)
        assert got.dtype == getattr(jnp, name)(x, AXES).dtype
        tolerance = 0.02 if dtype == "bfloat16" else 1e-4
        if dtype == "uint8" and name == "prod":
            want = want.astype(got.dtype)
        np.testing.assert_allclose(got.astype("float64"), want, rtol=tolerance, atol=tolerance)


def test_numbers_that_are_none():
    """They stay in their groups."""
    x = grouped(values(2, 8, 9, 32), 4)
    x[0, 3, 4, 2, 1], x[1, 0, 0, 5, 3], x[1, 2, 2, 7, 0] = np.nan, np.inf, -np.inf
    for ours, theirs in ((jnp.sum, np.sum), (jnp.max, np.max), (jnp.min, np.min)):
        got = jax.jit(lambda x, ours=ours: ours(x, AXES))(x)
        np.testing.assert_allclose(got, theirs(x, AXES), rtol=1e-4, atol=1e-4)


def test_vectors_go_along_all_groups():
    """No loop along the few: kernels of whole lines, in a loop's body, too."""
    x = values(4, 24, 24, 32)

    def again(x):
        return jax.lax.fori_loop(0, 3, lambda _, x: group_norm(x, 4), x)

    for fun in (lambda x: group_norm(x, 4), again):
        assert not any("loops v2<s2 v3<s3" in line for line in rows_and_loops(fun, x))
    assert len(rows_and_loops(lambda x: group_norm(x, 4), x)) == 7  # five kernels, two with loops


def test_arrays_that_stay():
    """Small ones, long groups, and groups that do not lie side by side."""
    builder = GraphBuilder()
    for shape, axes in (
        ((2, 4, 4, 3, 4), AXES), ((4, 24, 24, 4, 2 * SHORT), AXES), ((4, 24, 24, 1, 4), AXES),
        ((4, 24, 24, 8, 4), (1, 2)), ((4, 24, 24, 8, 4), (1, 2, 3, 4)), ((4, 24, 24, 8, 4), (4,)),
        ((4, 24, 24, 8, 1), AXES), ((64, 3, 8, 4), (1, 3)),
    ):  # fmt: skip
        x = builder.input(shape, "f32")
        graph = builder.finish([builder.reduce("sum", x, axes)], "main")
        assert split_short_groups(graph, builder.table) is graph


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("kind", ["sum", "max"])
def test_graphs_mean_the_same(kind, kept):
    """Also where what is spread has axes of one element, and where it is no group's number."""
    builder, x = GraphBuilder(), values(3, 8, 5, 9, 4)
    a = builder.input(x.shape, "f32")
    groups = builder.reduce(kind, a, AXES)
    if kept:
        spread = builder.broadcast(builder.reshape(groups, (3, 1, 1, 9, 1)), x.shape, range(5))
    else:
        spread = builder.broadcast(groups, x.shape, (0, 3))
    lines = builder.broadcast(builder.reduce(kind, a, (0, 1, 2)), x.shape, (3, 4))
    rows = builder.broadcast(builder.reduce(kind, a, (2, 3, 4)), x.shape, (0, 1))
    outputs = [groups, builder.sub(builder.sub(a, spread), builder.add(lines, rows))]
    graph = builder.finish(outputs, "main")
    split = split_short_groups(graph, builder.table)
    assert split is not graph
    for got, want in zip(interpret(split, [x]), interpret(graph, [x]), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


def test_as_without_the_pass(monkeypatch):
    x = values(3, 16, 10, 24)
    fun = lambda x: group_norm(x, 4)
    got = jax.jit(fun)(x)
    monkeypatch.setenv("JITNEY_CACHE_DIR", "")
    monkeypatch.setattr(pipeline, "split_short_groups", lambda graph, table: graph)
    jax.clear_caches()
    want = jax.jit(lambda x: fun(x))(x)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
    jax.clear_caches()
