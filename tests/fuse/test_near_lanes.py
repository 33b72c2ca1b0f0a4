"""Vectors run where elements lie side by side, or a few apart; rows of a few are moved whole."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.backend.host import host_target

PROGRAMS = {
    "reduced, the axis beside it last": (
        (6, 9, 40, 16), lambda np, x: np.sum(np.transpose(x, (0, 3, 1, 2)), 3)),
    "reduced and transposed": ((64, 50, 16), lambda np, x: np.swapaxes(np.var(x, 1), 0, 1)),
    "truths and transposed": (
        (12, 40, 33), lambda np, x: np.transpose(np.any(x > 1, 1) * np.float32(1), (1, 0))),
    "a few apart from row to row": (
        (500, 12, 32, 4), lambda np, x: np.prod(1 + x[:, :, ::2] / 99, 0).transpose(0, 2, 1)),
    "stages of two": ((12, 50, 2), lambda np, x: x.T / np.max(np.abs(x.T), 0, keepdims=True)),
    "pixels repeated twice": ((8, 20, 24, 3), lambda np, x: x.repeat(2, 1).repeat(2, 2)),
    "joined on the last axis but one": (
        (333, 24, 3, 5), lambda np, x: np.concatenate([x[:, :, ::-1], x * 2], 2)),
    "joined twice": (
        (99, 64, 3, 5),
        lambda np, x: np.concatenate(
            [np.concatenate([x, x * 2], 2), np.flip(x.repeat(2, 2), 2)], 3)),
    "products of all pairs": ((900, 7, 7), lambda np, x: x[:, :, None, 0] * x[:, 0, :, None]),
    "every third row": (
        (333, 64, 4), lambda np, x: np.concatenate([x, x], 1)[:, 1::3]),
    "products of reversed rows": ((32, 256, 3, 5), lambda np, x: np.flip(np.prod(x, 0), 1)),
    "eight first, last": ((8, 33, 50), lambda np, x: x.transpose(2, 1, 0) + 1),
    "seven first, last": ((7, 33, 50), lambda np, x: x.transpose(2, 1, 0) + 1),
    "runs of four": ((200, 2, 12, 4), lambda np, x: np.sum(np.swapaxes(x, 3, 0), 1)),
    "runs of seven": ((33, 20, 16, 7), lambda np, x: np.transpose(x[::-1], (3, 1, 2, 0)) * 2),
    "stacked and exchanged": (
        (3, 50, 33), lambda np, x: np.swapaxes(np.stack([x, x + 1], 1), 1, 3)),
    "exchanged within rows of 33": ((33, 5, 33, 5), lambda np, x: np.transpose(x, (0, 3, 2, 1))),
    "eight first, last, few": ((8, 32, 64), lambda np, x: np.swapaxes(x, 0, 2)),
    "shares of short rows, rolled": (
        (300, 50, 9), lambda np, x: (lambda y: y / np.max(np.abs(y), 2, keepdims=True))(
            np.roll(x, 1, 1))),
    "pairs of two fives": (
        (200, 128, 2, 5), lambda np, x: (lambda y: y[:, :, None] * y[:, :, :, None])(
            np.maximum(x, np.flip(x, 3)))),
    "four rows of seven, turned": (
        (3200, 4, 7), lambda np, x: np.swapaxes(x, 1, 2) * 2 + x[:, :1, :1]),
    "four rows of eight, turned": ((3200, 4, 8), lambda np, x: np.swapaxes(x, 1, 2) * 2),
    "bordered rows and their means": (
        (40, 50, 12), lambda np, x: (lambda y: y + np.mean(y, 2, keepdims=True))(
            np.pad(x, ((1, 1), (0, 0), (0, 0)), "wrap"))),
    "extremes of one": ((20, 1, 300), lambda np, x: np.argmax(x, 1) + np.argmin(x, 1)),
    "one of three, chosen": (
        (5000,), lambda np, x: np.choose(
            (x > 0) + (x > 1) * 1, [x, x * 2, x + 3], mode="clip")),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_element_is_in_its_place(name):
    shape, fun = PROGRAMS[name]
    x = np.random.default_rng(len(name)).standard_normal(shape).astype(np.float32)
    found = jax.jit(lambda x: fun(jnp, x))(x)
    np.testing.assert_allclose(found, fun(np, x), rtol=2e-5, atol=1e-6)


def kernels(name) -> str:
    shape, fun = PROGRAMS[name]
    return jax.explain(lambda x: fun(jnp, x), jnp.ones(shape), rounds=1).as_text("kernels")


def test_rows_of_few_under_masks_are_read_row_by_row():
    for name in ("shares of short rows, rolled", "bordered rows and their means"):
        assert "lane stage" in kernels(name), name


@pytest.mark.parametrize("name,elements", [
    ("pairs of two fives", 20), ("four rows of seven, turned", 28),
    ("four rows of eight, turned", 32)])  # fmt: skip
def test_up_to_64_elements_are_written_out(name, elements):
    assert kernels(name).count("b1[") == elements


def test_short_rows_are_whole_from_a_few_thousand_on():
    for name in ("exchanged within rows of 33", "eight first, last, few"):
        assert "small 0" in kernels(name), name


def test_what_is_reduced_is_read_side_by_side():
    for name in list(PROGRAMS)[:4]:
        assert "lane row" in kernels(name) and "lane stage" not in kernels(name), name


def test_the_place_of_one_element_is_known():
    assert "argm" not in kernels("extremes of one")


def test_arrays_that_are_chosen_from_are_not_gathered():
    loads = [line for line in kernels("one of three, chosen").splitlines() if "load" in line]
    assert loads and not any("*e" in line for line in loads)


@pytest.mark.skipif(not host_target().avx512, reason="masks are dear")
def test_rows_of_a_few_are_moved_whole():
    shape = (12800, 7)
    text = jax.explain(lambda x: x[:, :, None] * x[:, None], jnp.ones(shape), rounds=1)
    rows = next(line for line in text.as_text("kernels").splitlines() if "rows v" in line)
    assert "lane row" in rows and rows.endswith("alike")
