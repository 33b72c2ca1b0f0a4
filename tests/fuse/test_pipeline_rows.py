"""Kernels whose stages do a row each, in one loop: one answer, whatever the rows and pieces."""

import re
from functools import partial

import numpy as np
import pytest

import jitney
import jitney.nn
import jitney.numpy as jnp
from jitney import pipeline
from jitney.backend.host import host_target
from jitney.testing.stages import check_all_stages

WIDE = host_target().avx512  # else rows with exponentials are done stage after stage


def layer_norm(x, axis=-1):
    centred = x - x.mean(axis, keepdims=True)
    return centred / jnp.sqrt((centred * centred).mean(axis, keepdims=True) + 1e-5)


def above_the_mean(x, axis=-1):
    """The place of the largest, its distance from the mean, how many are above it: three results
    of two stages, one of them stored by elements."""
    distance = x - x.mean(axis, keepdims=True)
    return jnp.argmax(distance, axis), distance.max(axis), (distance > 0).sum(axis)


def cross_entropy(x, axis=-1):
    return -(jitney.nn.log_softmax(x, axis) * (x + 1)).sum(axis)


PROGRAMS = {
    "softmax": jitney.nn.softmax,
    "log softmax": jitney.nn.log_softmax,
    "log-sum-exp": jitney.nn.logsumexp,
    "layer norm": layer_norm,
    "variance": jnp.var,
    "standardized": jitney.nn.standardize,
    "above the mean": above_the_mean,
    "cross entropy": cross_entropy,
}
ROWS = [(1, 3000), (2, 1100), (3, 1025), (33, 257), (70, 300), (130, 1030)]
ROWS += [(3, 5, 300), (5, 700, 101)]
COLUMNS = [(2000, 256), (300, 300), (101, 1057), (3, 256, 300), (2, 257, 290)]
COLUMNS += [(70, 1024), (8, 2048), (9, 1024), (2, 30, 1024), (16, 1000), (7, 300)]


def values(shape, dtype=np.float32):
    return np.random.default_rng(len(shape) + shape[-1]).normal(1, 2, shape).astype(dtype)


def is_pipelined(fun, x) -> bool:
    return " pipelined" in jitney.jit(fun).lower(x).compile().as_text()


@pytest.mark.parametrize("shape", ROWS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_rows(name, shape):
    check_all_stages(lambda x: PROGRAMS[name](x, axis=-1), values(shape), rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("shape", COLUMNS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_columns(name, shape):
    axis = len(shape) - 2
    check_all_stages(lambda x: PROGRAMS[name](x, axis=axis), values(shape), rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("name", PROGRAMS)
def test_few_long_rows(name):
    """From sixteen on threads share them as they are; fewer are cut."""
    x = values((16, 33_001))
    check_all_stages(lambda x: PROGRAMS[name](x, axis=-1), x, rtol=2e-4, atol=2e-4)
    if WIDE and name in ("softmax", "log softmax", "log-sum-exp"):
        assert is_pipelined(lambda x: PROGRAMS[name](x, axis=-1), x)


def test_kernels_of_few_long_rows():
    kernels = lambda *shape: jitney.jit(jnp.sum, static_argnums=1).lower(
        values(shape), -1).compile().as_text().count("kernel ")  # fmt: skip
    assert [kernels(rows, 40_000) for rows in (15, 16, 70)] == [2, 1, 1]


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "int32"])
@pytest.mark.parametrize("shape", [(70, 300), (300, 301)])
@pytest.mark.parametrize("axis", [0, 1])
def test_other_types(dtype, shape, axis):
    x = jnp.asarray(values(shape)).astype(dtype)
    check_all_stages(lambda x: jitney.nn.softmax(x, axis), x, rtol=2e-2, atol=2e-2)
    check_all_stages(lambda x: x.std(axis), x, rtol=2e-2, atol=2e-2)


def test_double_precision():
    with jitney.enable_x64(True):
        x = values((70, 333), np.float64)
        for axis in (0, 1):
            want = np.exp(x - x.max(axis, keepdims=True))
            want /= want.sum(axis, keepdims=True)
            np.testing.assert_allclose(jitney.nn.softmax(x, axis), want, rtol=1e-14)


def test_each_row_is_that_of_a_smaller_program():
    """Rows with NaN, infinities and equal values; a row beside them does not notice."""
    x = values((64, 300))
    x[3, 7], x[10], x[11], x[40, :5], x[63] = np.nan, 2.0, -np.inf, np.inf, 0
    x[20, 0], x[20, 299], x[30, 4] = np.inf, np.nan, -np.inf
    for name, fun in PROGRAMS.items():
        assert is_pipelined(lambda x, fun=fun: fun(x, axis=-1), x) or not WIDE
        whole = jitney.tree.leaves(jitney.jit(lambda x, fun=fun: fun(x, axis=-1))(x))
        parts = [
            jitney.tree.leaves(jitney.jit(lambda x, fun=fun: fun(x, axis=-1))(x[i : i + 1]))
            for i in range(64)
        ]
        for k, got in enumerate(whole):
            want = np.concatenate([p[k] for p in parts])
            np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-5, err_msg=name)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("greatest", [np.inf, -np.inf, np.nan, 3e38, 89.0, -3e38])
def test_log_sum_exp_of_extremes(axis, greatest):
    """The exponentials are not guarded against what only infinite maxima allow."""
    x = values((300, 300)) * 20
    x[::7, ::7] = greatest
    x[5], x[:, 5], x[9, 9], x[8, 8] = -np.inf, -np.inf, 1e30, np.nan
    with np.errstate(all="ignore"):
        m = x.max(axis, keepdims=True).astype(np.float64)
        m = np.where(np.isfinite(m), m, 0)
        want = np.log(np.exp(x - m).sum(axis, keepdims=True)) + m
    np.testing.assert_allclose(jitney.jit(jitney.nn.logsumexp, static_argnums=1)(x, axis),
                               want.squeeze(axis), rtol=2e-6)  # fmt: skip


@pytest.mark.parametrize("axis", [0, 1])
def test_weighted_sums_of_infinite_exponentials(axis):
    """Products of what the greatest leaves: an infinity of either sign, or NaN."""

    def weighted(np, x, w):
        m = x.max(axis, keepdims=True)
        m = np.where(np.abs(m) < np.inf, m, 0)
        return (np.exp(x - m) * w).sum(axis)

    x, w = values((300, 300)), values((300, 300))
    for k, weight in enumerate((-1.0, 0.0, 2.0)):
        x[k, k], w[k, k] = np.inf, weight
    with np.errstate(all="ignore"):
        want = weighted(np, x, w)
    assert want[0] == -np.inf and np.isnan(want[1]) and want[2] == np.inf
    got = jitney.jit(lambda x, w: weighted(jnp, x, w))(x, w)
    np.testing.assert_allclose(got, want, rtol=2e-4, atol=2e-3)


def test_what_another_stage_stores_is_right():
    """Results of the middle stage, and of the last, whole rows each."""

    def both(x):
        distance = x - x.max(-1, keepdims=True)
        power = jnp.exp(distance)
        return power, power / power.sum(-1, keepdims=True), power.sum(-1)

    check_all_stages(both, values((70, 400)), rtol=2e-5, atol=2e-6)


def test_which_kernels_are_pipelined():
    for rows in (2, 33, 500):
        assert is_pipelined(jitney.nn.softmax, values((rows, 2000))) == WIDE
        assert is_pipelined(layer_norm, values((rows, 1000)))
        assert is_pipelined(lambda x: jitney.nn.softmax(x, 0), values((300, 256 + rows)))
    assert not is_pipelined(jitney.nn.softmax, values((500, 50)))  # lanes are rows
    assert not is_pipelined(lambda x: x.sum(-1), values((64, 1000)))  # one stage
    assert not is_pipelined(layer_norm, values((64, 5000)))  # three rows leave the first cache


def copies(fun, x) -> int:
    found = re.search(r" copies (\d+)", jitney.jit(fun).lower(x).compile().as_text())
    return int(found[1]) if found else 0


def test_columns_whose_lines_share_sets_go_down_side_by_side():
    """The wider a row is read, the less often its lines come back."""
    norm, log_sum = (partial(PROGRAMS[n], axis=0) for n in ("layer norm", "log-sum-exp"))
    softmax, many = (partial(PROGRAMS[n], axis=0) for n in ("softmax", "above the mean"))
    for width in (1024, 3072):
        x = values((64, width))
        assert copies(softmax, x) == 4
        assert (copies(norm, x), copies(log_sum, x)) == ((8, 4) if WIDE else (0, 0))
        assert copies(many, x) == 0  # its sums need all registers
    for width in (1000, 1040, 1536):
        x = values((64, width))
        assert (copies(softmax, x), copies(norm, x), copies(log_sum, x)) == (2, 0, 0)
    with jitney.enable_x64(True):
        assert copies(norm, values((64, 512), np.float64)) == (8 if WIDE else 0)
    assert copies(norm, jnp.asarray(values((64, 1024))).astype("bfloat16")) == 0


@pytest.mark.parametrize("axis", [0, 1])
def test_results_do_not_depend_on_threads(axis):
    x = values((1026, 300))
    results = []
    for threads in (1, 2, 3):
        jitney._native.set_num_threads(threads)
        results.append(np.asarray(jitney.jit(lambda x: jitney.nn.softmax(x, axis))(x)))
    jitney._native.set_num_threads(0)
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


def test_any_number_of_rows_takes_the_same_code(monkeypatch):
    """Where the third cache is near (else lines of large results are asked for)."""
    target = host_target()._replace(l2_bytes=1 << 20)
    monkeypatch.setattr(pipeline, "host_target", lambda: target)
    jitney.clear_caches()
    texts = [
        jitney.jit(layer_norm).lower(values((rows, n))).compile().as_text().partition("sizes")[0]
        for rows, n in ((7, 1000), (64, 1100), (65, 900), (131, 2000))
    ]
    jitney.clear_caches()
    assert len(set(texts)) == 1
