"""Kernels of several stages that take two rows at a time: one answer, for any number of rows."""

import numpy as np
import pytest

import jitney
import jitney.nn
import jitney.numpy as jnp
from jitney.backend.host import host_target
from jitney.testing import stages
from jitney.testing.stages import check_all_stages

WIDE = host_target().avx512  # else fewer rows with exponentials are taken two at a time


def layer_norm(x):
    centred = x - x.mean(-1, keepdims=True)
    return centred / jnp.sqrt((centred * centred).mean(-1, keepdims=True) + 1e-5)


def largest(x):
    """The place of the largest quotient, and the quotient: a position, a mask and two stores."""
    shares = jnp.where(x > 0, x, 0) / x.sum(-1, keepdims=True)
    return jnp.argmax(shares, -1), shares.max(-1)


PROGRAMS = {
    "softmax": jitney.nn.softmax,
    "log softmax": jitney.nn.log_softmax,
    "log-sum-exp": lambda x: jitney.nn.logsumexp(x, -1),
    "layer norm": layer_norm,
    "variance": lambda x: x.var(-1),
    "largest": largest,
}
SHAPES = [(2, 3000), (3, 3000), (5, 1025), (64, 100), (66, 64), (65, 100), (130, 1030), (64, 5000)]
SHAPES += [(2, 2000), (7, 2001), (3, 64, 80), (3, 5, 80), (2, 130)]


def values(shape, dtype=np.float32):
    return np.random.default_rng(len(shape) + shape[-1]).normal(1, 2, shape).astype(dtype)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_one_answer_at_every_stage(name, shape):
    check_all_stages(PROGRAMS[name], values(shape), rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_interpreter_of_kernels_agrees(monkeypatch, name):
    monkeypatch.setattr(stages, "KERNEL_LIMIT", 10_000)
    check_all_stages(PROGRAMS[name], values((64, 70)), rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "int32"])
@pytest.mark.parametrize("name", ["softmax", "variance"])
def test_other_types(name, dtype):
    x = jnp.asarray(values((64, 100))).astype(dtype)
    check_all_stages(PROGRAMS[name], x, rtol=2e-2, atol=2e-2)


def test_each_row_is_that_of_a_smaller_program():
    """Rows with NaN, infinities and equal values; a row beside them does not notice."""
    x = values((128, 200))
    x[3, 7], x[10], x[11], x[64, :5], x[127] = np.nan, 2.0, -np.inf, np.inf, 0
    for name, fun in PROGRAMS.items():
        whole = jitney.tree.leaves(jitney.jit(fun)(x))
        parts = [jitney.tree.leaves(jitney.jit(fun)(x[i : i + 1])) for i in range(128)]
        for k, got in enumerate(whole):
            want = np.concatenate([p[k] for p in parts])
            np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-5, err_msg=name)


def test_odd_numbers_of_rows_take_the_same_kernel():
    texts = [
        jitney.jit(layer_norm).lower(values((rows, 200))).compile().as_text().partition("sizes")[0]
        for rows in (64, 65, 66, 131)
    ]
    assert len(set(texts)) == 1


def is_paired(fun, x) -> bool:
    return " pairs" in jitney.jit(fun).lower(x).compile().as_text()


def powers(x):
    """Sums of which nothing more is computed (else the ends of rows may be done in vectors)."""
    return jnp.exp(x - x.max(-1, keepdims=True)).sum(-1)


def test_which_kernels_take_two_rows():
    for rows in (2, 3, 64, 65):
        shape = (rows, 2000) if WIDE else (rows + 3, 500)  # of fewer elements a kernel is small
        assert is_paired(powers, values(shape))
    assert not is_paired(powers, values((64, 4000)))  # such rows wait little
    # three rows are in work already, if they are in a pipeline
    assert is_paired(jitney.nn.softmax, values((64, 200))) != WIDE
    assert not is_paired(lambda x: x.sum(-1), values((64, 100)))  # one stage


def test_rows_of_any_number_of_threads_are_the_same():
    x = values((1026, 300))
    results = []
    for threads in (1, 2, 3):
        jitney._native.set_num_threads(threads)
        results.append(np.asarray(jitney.jit(layer_norm)(x)))
    jitney._native.set_num_threads(0)
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])
