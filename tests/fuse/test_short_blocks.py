"""Rows of a few elements that only change places are moved several at a time."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney.backend.host import host_target

MOVES = {
    "mirrored": lambda x: x[:, ::-1],
    "mirrored and reversed": lambda x: x[:, ::-1, ::-1],
    "reversed": lambda x: x[..., ::-1],
    "every second": lambda x: x[:, ::2],
    "every third, mirrored": lambda x: x[:, ::-3],
    "without the first of each": lambda x: x[..., 1:],
    "cut and mirrored": lambda x: x[:, 3:-2, :-1][:, ::-1],
    "one of each twice": lambda x: x.repeat(2, 2)[..., 1:],
}
WITH_MASKS = pytest.mark.skipif(not host_target().avx512, reason="needs cheap masks")


def rows_of(fun, *args) -> list[str]:
    text = jitney.jit(fun).lower(*args).compile().as_text()
    return [line for line in text.splitlines() if line.strip().startswith("rows")]


def random_bits(shape, dtype):
    bits = np.random.default_rng(0).integers(0, 256, (*shape, np.dtype(dtype).itemsize), "uint8")
    if dtype == "bool":
        return bits[..., 0] > 99
    return bits.view(dtype)[..., 0]


@pytest.mark.parametrize("dtype", ["float32", "uint8", "int16", "int64", "bool", "float64"])
@pytest.mark.parametrize("count", [2, 3, 4, 5, 7, 8])
@pytest.mark.parametrize("shape", [(300, 40), (90, 121), (5000, 13), (2, 9001)])
def test_every_bit_is_in_its_place(shape, count, dtype):
    with jitney.enable_x64():
        x = random_bits((*shape, count), dtype)
        found = jitney.jit(lambda x: {name: move(x) for name, move in MOVES.items()})(x)
        for name, move in MOVES.items():
            assert np.asarray(found[name]).tobytes() == move(x).tobytes(), name


@WITH_MASKS
@pytest.mark.parametrize("count,together", [(2, 8), (3, 5), (5, 3), (7, 2)])
def test_as_many_are_moved_as_a_vector_holds(count, together):
    (rows,) = rows_of(MOVES["mirrored"], jnp.zeros((100, 300, count)))
    assert rows.endswith(f"blocks {together} alike")


@WITH_MASKS
def test_no_more_than_there_are_or_two_vectors_hold():
    (rows,) = rows_of(MOVES["mirrored"], jnp.zeros((3000, 13, 2), "uint8"))
    assert rows.endswith("blocks 13 alike")
    (rows,) = rows_of(lambda x: x[:, ::3], jnp.zeros((100, 300, 4)))
    assert rows.endswith("blocks 3 alike")  # 24 elements from the first to the last


def test_one_code_for_all_sizes():
    """Distances within a row are part of the text, the place of the first row is none."""

    def text(n):
        lines = jitney.explain(MOVES["mirrored"], jnp.zeros((100, n, 3)), rounds=1)
        return [x for x in lines.as_text("kernels").splitlines() if "sizes" not in x]

    assert text(300) == text(500) and any("load" in line for line in text(300))
    for n in (300, 500):
        x = np.arange(100 * n * 3, dtype="float32").reshape(100, n, 3)
        np.testing.assert_array_equal(jitney.jit(MOVES["mirrored"])(x), x[:, ::-1])


def test_nothing_beyond_the_rows_is_touched():
    x = np.random.default_rng(0).standard_normal((70, 41, 3)).astype("float32")
    base = np.full((90, 60, 3), 7, "float32")
    fun = lambda base, x: base.at[10:80, 9:50].set(x[:, ::-1])
    want = base.copy()
    want[10:80, 9:50] = x[:, ::-1]
    np.testing.assert_array_equal(jitney.jit(fun)(jnp.asarray(base), x), want)


def test_what_is_given_away_is_not_read_from_its_own_result():
    x = np.random.default_rng(0).standard_normal((100, 300, 3)).astype("float32")
    fun = jitney.jit(lambda x: x[:, ::-1, ::-1], donate_argnums=0)
    np.testing.assert_array_equal(fun(jnp.asarray(x)), x[:, ::-1, ::-1])
