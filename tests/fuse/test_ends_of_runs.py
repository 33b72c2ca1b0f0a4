"""Many short runs along which vectors go: whole vectors, or a last one that begins early."""

import numpy as np
import pytest
from narrower_machines import run_tests

import jitney
import jitney.numpy as jnp
from jitney.backend.host import host_target

RNG = np.random.default_rng(0)
DTYPES = ["float32", "float64", "bfloat16", "int8", "int32", "int64", "uint16"]
LENGTHS = [1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 24, 31, 33, 40, 63, 64, 65, 100, 250]
REDUCTIONS = {
    "sum": lambda np, x: x.sum(-1),
    "distances": lambda np, x: ((x[:, None] - x[None, :16]) ** 2).sum(-1),
    "max": lambda np, x: x.max(-1),
    "argmax": lambda np, x: x.argmax(-1),
    "argmin": lambda np, x: x.argmin(-1),
    "any": lambda np, x: (x > 4).any(-1),
    "two": lambda np, x: (x - x.max(-1, keepdims=True)).sum(-1),
}
uses_masks = pytest.mark.skipif(
    not host_target().has_dear_masks, reason="masks are cheap, or there are none"
)


def whole_numbers(shape, dtype):
    """Small enough for exact sums of every dtype but bytes, which wrap."""
    return RNG.integers(0 if dtype[0] == "u" else -4, 6, shape).astype(jnp.dtype(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name, dtype):
    function = REDUCTIONS[name]
    with jitney.enable_x64(True):
        for length in LENGTHS:
            x = whole_numbers((40, length), dtype)
            got = jitney.jit(lambda x: function(jnp, x))(x)
            wide = x.astype(np.float32) if dtype == "bfloat16" else x
            want = np.asarray(function(np, wide))
            if dtype == "bfloat16" and want.dtype == np.float32:
                want = want.astype(x.dtype)
            np.testing.assert_array_equal(np.asarray(got), want.astype(got.dtype), str(length))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("axis", [0, 1])
def test_stages_that_store(axis, dtype):
    """Rows and columns that are read again, saved and stored, with a last vector begun early."""
    def softmax(np, x):
        y = np.exp(x - x.max(axis, keepdims=True))
        return y / y.sum(axis, keepdims=True)

    def standardised(np, x):
        return (x - x.mean(axis, keepdims=True)) / np.sqrt(x.var(axis, keepdims=True) + 1e-3)

    def shares(np, x):
        return x * x / (x * x).sum(axis, keepdims=True), np.abs(x).max(axis)

    with jitney.enable_x64(True):
        for length in LENGTHS[4:]:
            for rows in (40, 1500):
                x = RNG.normal(size=(rows, length)).astype(dtype)
                for program in (softmax, standardised, shares):
                    got = jitney.jit(lambda x, program=program: program(jnp, x))(x)
                    want = program(np, x)
                    for a, b in zip(got, want) if program is shares else [(got, want)]:
                        np.testing.assert_allclose(a, b, 3e-5, 3e-6, err_msg=str(x.shape))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["sum", "max", "argmax", "argmin", "any"])
@pytest.mark.parametrize("rows", [40, 5000])
def test_columns(name, dtype, rows):
    """Down the columns: a last vector of columns may begin early."""
    function = REDUCTIONS[name]
    with jitney.enable_x64(True):
        for length in LENGTHS if rows < 1000 else (9, 10, 17, 31, 50):
            x = whole_numbers((rows, length), dtype)
            got = jitney.jit(lambda x: function(jnp, x.T))(x)
            wide = x.astype(np.float32) if dtype == "bfloat16" else x
            want = np.asarray(function(np, wide.T)).astype(got.dtype)
            np.testing.assert_array_equal(np.asarray(got), want, str(length))


@pytest.mark.parametrize("dtype", DTYPES)
def test_elements(dtype):
    with jitney.enable_x64(True):
        for length in LENGTHS:
            x = whole_numbers((40, length + 2), dtype)
            got = jitney.jit(lambda x: x[:, 1:-1] + x[:, :1])(x)
            np.testing.assert_array_equal(np.asarray(got), x[:, 1:-1] + x[:, :1], str(length))
            got = jitney.jit(lambda x: x.T + x.T)(x)
            np.testing.assert_array_equal(np.asarray(got), x.T + x.T, str(length))
            swapped = np.swapaxes(x.reshape(4, 10, length + 2), 0, 2)
            got = jitney.jit(lambda x: jnp.swapaxes(x.reshape(4, 10, -1), 0, 2) + x[0, 0])(x)
            np.testing.assert_array_equal(np.asarray(got), swapped + x[0, 0], str(length))


def test_infinities_and_nan_count_once():
    for length in (9, 20, 37):
        for at in range(length):
            x = np.ones((30, length), np.float32)
            x[3, at], x[4, at] = np.inf, np.nan
            got = np.asarray(jitney.jit(lambda x: (x * 2).sum(1))(x))
            np.testing.assert_array_equal(got, (x * 2).sum(1))


def test_results_in_the_place_of_operands():
    """Elements must not be computed from those that are already results."""
    def turn(_, x):
        return x * 2 + 1

    for length in LENGTHS:
        x = np.ones((40, length), np.float32)
        got = jitney.jit(lambda x: jitney.lax.fori_loop(0, 5, turn, x))(x)
        np.testing.assert_array_equal(got, np.full_like(x, 63))
        got = jitney.jit(lambda x: x * 2 + 1, donate_argnums=0)(jnp.asarray(x))
        np.testing.assert_array_equal(got, np.full_like(x, 3))


@pytest.mark.parametrize("length", [9, 10, 17, 50, 130, 300])
def test_rows_with_a_number_a_column_in_the_place_of_operands(length):
    """Many short rows, whose last vector is computed anew: never from results."""
    x, row = np.ones((5000, length), np.float32), np.arange(length, dtype=np.float32) % 5

    def turn(_, x):
        return x * 2 + row

    want = x
    for _ in range(4):
        want = want * 2 + row
    got = jitney.jit(lambda x: jitney.lax.fori_loop(0, 4, turn, x))(x)
    np.testing.assert_array_equal(got, want)
    got = jitney.jit(lambda x: x * 2 + row, donate_argnums=0)(jnp.asarray(x))
    np.testing.assert_array_equal(got, x * 2 + row)
    got = jitney.jit(lambda x: (jnp.sort(x, 0) * 2 + row) * (x.sum(0) + row))(x)
    np.testing.assert_array_equal(got, (np.sort(x, 0) * 2 + row) * (x.sum(0) + row))


@pytest.mark.parametrize(("first", "second"), [(100, 12), (64, 48), (104, 8)])
def test_results_that_go_past_the_caches(first, second):
    """Their whole vectors begin where lines do, a last one that begins early does not."""
    a = RNG.normal(size=(40_000, first)).astype(np.float32)
    b = RNG.normal(size=(40_000, second)).astype(np.float32)
    got = jitney.jit(lambda a, b: jnp.concatenate([a[:, ::-1] * 2, b + 1], 1))(a, b)
    np.testing.assert_array_equal(got, np.concatenate([a[:, ::-1] * 2, b + 1], 1))


@uses_masks
def test_which_runs_have_no_masks():
    def text(length):
        x = np.ones((40, length), np.float32)
        return jitney.jit(lambda x: (x * x).sum(1)).lower(x).compile().as_text()

    assert "in vectors" in text(72) and "early" in text(60)
    assert not any(word in text(n) for n in (0, 5, 512, 2001) for word in ("in vectors", "early"))


@uses_masks
def test_few_columns_are_read_in_the_order_of_memory():
    def text(length):
        x = np.ones((2000, length), np.float32)
        return jitney.jit(lambda x: x.max(0)).lower(x).compile().as_text()

    assert all("early sweep" in text(n) for n in (9, 10, 30, 50, 250))
    assert "sweep" not in text(8) and "in vectors sweep" in text(16)


@pytest.mark.parametrize("target", ["x86-64", "x86-64-v3"])
def test_narrower_machines(target):
    """The same, by vectors of 16 and of 32 bytes."""
    run_tests(__file__, target)
