"""Transposes of all types and shapes, against NumPy's."""

import itertools
import os
import re
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import pipeline
from jitney.backend.host import host_target

DTYPES = [
    "bool", "int8", "uint8", "int16", "float16", "bfloat16", "int32", "float32", "int64", "float64",
    "complex64", "complex128",
]  # fmt: skip
SHAPES = [
    (1, 70), (7, 300), (8, 8), (9, 65), (16, 17), (31, 33), (63, 64), (64, 129), (100, 100),
    (130, 257), (12, 3001), (3001, 12),
]  # fmt: skip


def bits(shape, dtype, seed=0):
    """Any bits, NaNs and all."""
    found = np.dtype(getattr(ml_dtypes, dtype, dtype))
    count = int(np.prod(shape))
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    return rng.integers(0, 256, count * found.itemsize, np.uint8).view(found).reshape(shape)


def same(got, want):
    got = np.asarray(got)
    return got.shape == want.shape and got.dtype == want.dtype and got.tobytes() == want.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
def test_matrices(dtype):
    with jitney.enable_x64(True):
        for shape in SHAPES:
            x = bits(shape, dtype)
            assert same(jitney.jit(lambda x: x.T)(x), x.T), shape
            part = x[1:, 3:]  # begins between lines, and has longer strides
            assert same(jitney.jit(lambda x: x[1:, 3:].T)(x), part.T), shape


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64"])
def test_orders_of_axes(dtype):
    with jitney.enable_x64(True):
        for shape in [(65, 3, 40), (33, 70, 17), (5, 9, 66, 12)]:
            x = bits(shape, dtype)
            for order in itertools.permutations(range(len(shape))):
                got = jitney.jit(lambda x, order=order: jnp.transpose(x, order))(x)
                assert same(got, x.transpose(order)), (shape, order)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "float32", "float64"])
def test_transposes_in_expressions(dtype):
    """Several transposed operands, others that are not, conditions, other widths."""
    rng = np.random.default_rng(1)
    with jitney.enable_x64(True):
        for shape in [(70, 133), (64, 2100), (3000, 9)]:
            x, y = (rng.integers(0, 9, shape).astype(dtype) for _ in range(2))
            z = np.ascontiguousarray(y.T)
            programs = [
                lambda x, y, z: x.T * y.T + z,
                lambda x, y, z: np.where(x.T > z, x.T, z) - y.T,
                lambda x, y, z: (x.T + z[:, :1]).astype(np.float32),
                lambda x, y, z: np.concatenate([x.T, z, y.T], 1),
            ]
            for number, program in enumerate(programs):
                traced = eval_with(program, jnp)
                got = np.asarray(jitney.jit(traced)(x, y, z))
                np.testing.assert_array_equal(got, program(x, y, z), err_msg=f"{shape} {number}")


def eval_with(program, module):
    """The program with another module's functions in place of NumPy's."""
    return type(program)(program.__code__, {**program.__globals__, "np": module})


@pytest.mark.parametrize("shape, dtype", [
    ((2100, 1100), "float32"), ((2048, 1024), "float64"), ((4096, 2112), "int8"),
    ((2048, 2112), "float16"), ((1040, 2048), "complex64"),
])  # fmt: skip
def test_large_ones(shape, dtype):
    """Lines of the next tile are asked for; some are written past the caches."""
    with jitney.enable_x64(True):
        x = bits(shape, dtype)
        assert same(jitney.jit(lambda x: x.T)(x), x.T)


@pytest.mark.parametrize("dtype", ["float32", "int8", "float16", "float64", "complex64"])
def test_wider_tiles_where_rows_share_sets(dtype, monkeypatch):
    """Whole ones and ends along both axes; of a source that begins between lines, too."""
    target = host_target()._replace(l1_bytes=48 << 10, vectors_a_cycle=2)  # with scratch arrays
    monkeypatch.setattr(pipeline, "host_target", lambda: target)
    jitney.clear_caches()
    with jitney.enable_x64(True):
        n = 2048 // (1 if dtype == "int8" else np.dtype(dtype).itemsize) * 2
        x = bits((n, 1155), dtype)
        text = jitney.jit(lambda x: x.T).lower(x).compile().as_text()
        assert re.search(r" tile v\d \d+ \d+x\d+ ahead", text), text
        assert same(jitney.jit(lambda x: x.T)(x), x.T)
        some, z = n - 24, bits((1155, 24), dtype, 1)
        joined = jitney.jit(lambda x, z: jnp.concatenate([x[:some].T, z], 1))(x, z)
        assert same(joined, np.concatenate([x[:some].T, z], 1)), "rows end within a tile"
        cube = bits((n // 16, 16, 300), dtype)
        got = jitney.jit(lambda x: jnp.swapaxes(x, 0, 2)[3:])(cube)
        assert same(got, cube.swapaxes(0, 2)[3:])
        small = bits((n, 133), dtype)
        assert "x" not in text_of_tile(jitney.jit(lambda x: x.T), small), "too little to ask ahead"
        odd = bits((n + 8, 1155), dtype)
        assert "x" not in text_of_tile(jitney.jit(lambda x: x.T), odd), "rows lie in many sets"
    jitney.clear_caches()


def text_of_tile(program, x) -> str:
    text = program.lower(x).compile().as_text()
    return re.search(r" tile v\d \d+ \S+", text)[0].split()[-1]


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_numbers(dtype):
    """Both parts are read together, also where a program wants one of them."""
    rng = np.random.default_rng(2)
    with jitney.enable_x64(True):
        for shape in [(70, 133), (40, 2100), (3000, 9), (9, 3000)]:
            x, y = (
                (rng.integers(-9, 9, shape) + 1j * rng.integers(-9, 9, shape)).astype(dtype)
                for _ in range(2)
            )
            z = np.ascontiguousarray(y.T)
            programs = [
                lambda x, y, z: np.conj(x.T) * z + y.T,
                lambda x, y, z: np.imag(x).T - np.real(z),
                lambda x, y, z: np.concatenate([x.T, y.T * 2], 1),
                lambda x, y, z: (x[1:, 3:].T, y[:, ::2].T),
            ]
            for number, program in enumerate(programs):
                got = jitney.jit(eval_with(program, jnp))(x, y, z)
                for g, w in zip(*([v] if not isinstance(v, tuple) else v
                                  for v in (got, program(x, y, z)))):  # fmt: skip
                    np.testing.assert_array_equal(g, w, err_msg=f"{shape} {number}")


def test_large_complex_results_go_past_the_caches():
    text = jitney.jit(lambda x: x.T).lower(np.zeros((1040, 2048), np.complex64)).compile().as_text()
    assert (" stream" in text) == host_target().avx2 and " tile " in text, text


def test_bytes_move_by_whole_vectors():
    text = jitney.jit(lambda x: x.T).lower(np.zeros((300, 200), np.int8)).compile().as_text()
    assert f" tile v0 {host_target().vector_bits // 8} 128" in text, text


@pytest.mark.parametrize("target", ["x86-64", "x86-64-v3"])
def test_narrower_machines(target):
    """The same, by vectors of 16 and of 32 bytes."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        __file__,
        "-k",
        "matrices or orders or expressions or numbers",
    ]
    done = subprocess.run(
        command, env={**os.environ, "JITNEY_TARGET": target}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-3000:]
