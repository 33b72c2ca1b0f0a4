"""Rows of large results are written past the caches, wherever they begin."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import lax, pipeline
from jitney.backend.host import host_target
from jitney.ir.target import CpuTarget

RNG = np.random.default_rng(0)
X = RNG.random((2048, 2111), np.float32)  # rows begin anywhere in lines
Y = RNG.random((4096, 1040), np.float32)  # and where lines do


@pytest.fixture(autouse=True)
def usual_machine(monkeypatch):
    """One whose caches are left from the same size on, wherever the tests run."""
    leaves_caches_from(CpuTarget().far_bytes, monkeypatch)
    yield
    jitney.clear_caches()


def leaves_caches_from(far_bytes, monkeypatch):
    target = host_target()._replace(far_bytes=far_bytes)
    monkeypatch.setattr(pipeline, "host_target", lambda: target)
    jitney.clear_caches()


def text_of(fun, *args):
    return jitney.jit(fun).lower(*args).compile().as_text()


@pytest.mark.parametrize("x", [X, Y], ids=["anywhere", "lines"])
@pytest.mark.parametrize("name, program, want", [
    ("side by side", lambda x: jnp.concatenate([x, x * 2], 1), lambda x: np.hstack([x, x * 2])),
    ("three", lambda x: jnp.concatenate([x[:, 5:], x, x[:, :7]], 1),
     lambda x: np.hstack([x[:, 5:], x, x[:, :7]])),
    ("rolled", lambda x: jnp.roll(x, 3, 1), lambda x: np.roll(x, 3, 1)),
    ("mirrored", lambda x: x[:, ::-1] + 1, lambda x: x[:, ::-1] + np.float32(1)),
    ("padded", lambda x: jnp.pad(x, ((1, 2), (3, 1))), lambda x: np.pad(x, ((1, 2), (3, 1)))),
    ("differences", lambda x: x[:, 1:] - x[:, :-1], lambda x: x[:, 1:] - x[:, :-1]),
    ("periodic", lambda x: x - jnp.roll(x, 1, 0) * jnp.roll(x, -1, 1),
     lambda x: x - np.roll(x, 1, 0) * np.roll(x, -1, 1)),
])  # fmt: skip
def test_programs(name, program, want, x):
    np.testing.assert_allclose(jitney.jit(program)(x), want(x), rtol=0, atol=1e-7)  # fused a*b+c


@pytest.mark.parametrize("dtype", ["float64", "int64", "int32", "float16", "int8", "complex64"])
def test_types(dtype):
    with jitney.enable_x64(True):
        x = (X * 100).astype(dtype)
        np.testing.assert_array_equal(
            jitney.jit(lambda x: jnp.concatenate([x, x[:, 1:]], 1))(x), np.hstack([x, x[:, 1:]])
        )


def test_which_kernels_do():
    assert "stream parts" in text_of(lambda x: jnp.concatenate([x, x * 2], 1), X)
    lines = text_of(lambda x: jnp.concatenate([x, x * 2], 1), Y)
    assert " stream" in lines and "parts" not in lines
    assert " stream" not in text_of(lambda x: jnp.concatenate([x, x * 2], 1), Y[:500])
    assert " stream" not in text_of(lambda x: x.at[5].set(0), X)  # writes little of it


def test_where_caches_are_left(monkeypatch):
    """By what is read and written, of which a quarter is enough, or by the result alone."""
    mirrored, doubled = lambda x: x[:, ::-1] + 1, lambda x: jnp.concatenate([x, x * 2], 1)
    spread = lambda x: jnp.broadcast_to(x[:, None] * 2, (4096, 1040)) + 1
    assert all(" stream" in text_of(f, Y) for f in (mirrored, doubled))  # 34 and 51 MB
    assert " stream" in text_of(spread, Y[:, 0]), "17 MB of result"
    leaves_caches_from(40 << 20, monkeypatch)
    assert " stream" not in text_of(mirrored, Y)
    assert " stream" not in text_of(spread, Y[:, 0])
    assert " stream" in text_of(doubled, Y)


def layer_norm(x):
    return (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1)


@pytest.mark.parametrize("rows, columns", [(4096, 1040), (1025, 4096), (4097, 1024), (4201, 1001)])
def test_rows_of_several_stages(rows, columns):
    """Softmax and layer norms of arrays in memory, with an odd number of rows too."""
    x = RNG.random((rows, columns), np.float32)
    found = np.exp(x - x.max(1, keepdims=True))
    found /= found.sum(1, keepdims=True)
    np.testing.assert_allclose(jitney.jit(jitney.nn.softmax)(x), found, rtol=1e-5)
    want = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1)
    np.testing.assert_allclose(jitney.jit(layer_norm)(x), want, rtol=1e-4, atol=1e-5)
    assert " stream" in text_of(layer_norm, x) and " stream" not in text_of(layer_norm, x[:200])
    assert (" stream parts" in text_of(layer_norm, x)) == (columns % 16 > 0)
    assert " stream" not in text_of(layer_norm, x[:, :400])  # short rows
    assert " stream" not in text_of(lambda x: x.sum(-1), x)


@pytest.mark.parametrize("shape, order", [
    ((128, 130, 128), (1, 0, 2)), ((4, 256, 40, 64), (0, 2, 1, 3)), ((60, 301, 100), (1, 0, 2)),
])  # fmt: skip
def test_runs_that_jump(shape, order):
    """Those of later rows are asked for, also beyond the end of the array."""
    x = RNG.random(shape, np.float32)
    program = jitney.jit(lambda x: jnp.transpose(x, order) + 1)
    np.testing.assert_array_equal(program(x), x.transpose(order) + np.float32(1))
    assert " jumps " in program.lower(x).compile().as_text()


def test_large_results_of_larger_arrays():
    x = RNG.random((2048, 2048), np.float32)
    program = jitney.jit(lambda x: x[:, ::2] + 1)
    np.testing.assert_array_equal(program(x), x[:, ::2] + np.float32(1))
    assert " stream" in program.lower(x).compile().as_text()
    assert " stream" not in text_of(lambda x: x + 1, x[:1000])


def test_a_loop_reads_what_it_wrote():
    def program(x):
        return lax.fori_loop(0, 3, lambda i, x: x + jnp.roll(x, 1, 1), x)

    want = X
    for _ in range(3):
        want = want + np.roll(want, 1, 1)
    np.testing.assert_allclose(jitney.jit(program)(X), want, rtol=1e-6)


@pytest.mark.parametrize("rows, columns", [(4096, 1040), (4097, 1024), (1025, 4112), (2048, 2111)])
def test_columns_of_several_stages(rows, columns):
    """Softmax of columns and what is centred in them: streamed where rows begin where lines do."""
    x = RNG.random((rows, columns), np.float32)
    found = np.exp(x - x.max(0))
    for fun, expected in (
        (lambda x: jitney.nn.softmax(x, 0), found / found.sum(0)),
        (lambda x: jnp.exp(x - x.mean(0)), np.exp(x - x.mean(0))),
    ):
        np.testing.assert_allclose(jitney.jit(fun)(x), expected, rtol=1e-5)
        assert (" stream" in text_of(fun, x)) == (columns % 16 == 0)
