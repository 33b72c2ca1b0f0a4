"""Pieces that begin in any row of several loops, and go on to the next ones."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp

SHAPES = [(6, 7, 11, 300), (2, 40, 9, 130), (1, 3, 500, 80), (60, 1, 7, 513), (5, 4, 3, 70)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_rows_of_several_loops(shape, threads):
    x = np.random.default_rng(1).integers(0, 1000, shape).astype(np.float32)
    programs = [
        (lambda m, x: x[:, ::-1, ::2, 1:] + 1),  # no two loops are one
        (lambda m, x: x[:, :, 1:, 1:-1] - x[:, :, :-1, :-2]),
        (lambda m, x: x[:, ::-1, 1:, 3:].sum(-1)),
        (lambda m, x: m.where(x[:, ::-1, :, :] > x[:, :1, ::-1, :], x, 0.0)),
        (lambda m, x: x[::-1, ::-1, 1:, 3:] / x[:, :, 1:, 3:].max(-1, keepdims=True)),
    ]
    jitney._native.set_num_threads(threads)
    try:
        for program in programs:
            got = jitney.jit(lambda x, p=program: p(jnp, x))(x)
            np.testing.assert_allclose(got, program(np, x), rtol=1e-6)
    finally:
        jitney._native.set_num_threads(0)
