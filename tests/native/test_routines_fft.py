"""Routines of Fourier transforms, called directly: pieces, plans, lanes."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

sys.path.insert(0, os.path.dirname(__file__))  # tests are imported without a package
from routine_caller import DTYPES, call, same_bits  # noqa: E402

RNG = np.random.default_rng(3)


def values(shape, dtype):
    return (RNG.normal(size=shape) + 1j * RNG.normal(size=shape)).astype(dtype)


def near(a, b):
    single = a.dtype in (np.float32, np.complex64)
    np.testing.assert_allclose(a, b, rtol=0, atol=(3e-6 if single else 1e-13) * np.abs(b).max())


@pytest.mark.parametrize("grain", (0, 1, 2, 5))
@pytest.mark.parametrize("n", (1, 2, 9, 64, 211))
@pytest.mark.parametrize("name", ("c64", "c128"))
def test_complex_rows_in_pieces(name, n, grain):
    x = values((11, n), DTYPES[name])
    for forward in (1, 0):
        out = np.empty_like(x)
        call(f"fft_{name}", [x, out], [n, 1, forward, 0], 11, grain)
        near(out, (np.fft.fft if forward else np.fft.ifft)(x))


@pytest.mark.parametrize("grain", (0, 1, 3))
@pytest.mark.parametrize("inner", (2, 7, 16, 37))
@pytest.mark.parametrize("name", ("c64", "c128"))
def test_columns_in_pieces(name, inner, grain):
    x = values((3, 15, inner), DTYPES[name])
    out = np.empty_like(x)
    block = 8
    call(f"fft_{name}", [x, out], [15, inner, 1, block], 3 * -(-inner // block), grain)
    near(out, np.fft.fft(x, axis=1))


@pytest.mark.parametrize("grain", (0, 1, 3, 4))
@pytest.mark.parametrize("n", (1, 2, 3, 8, 9, 101))
@pytest.mark.parametrize("name", ("f32", "f64"))
def test_real_rows_in_pieces(name, n, grain):
    whole = "c64" if name == "f32" else "c128"
    x = RNG.normal(size=(11, n)).astype(DTYPES[name])
    out = np.full((11, n // 2 + 1), np.nan, DTYPES[whole])
    call(f"rfft_{name}", [x, out], [n], 11, grain)
    near(out, np.fft.rfft(x))
    every = np.full((11, n), np.nan, DTYPES[whole])
    call(f"fft_real_{name}", [x, every], [n], 11, grain)
    near(every, np.fft.fft(x))
    back = np.empty_like(x)
    out[:, 0] += 1j                                        # is not read
    call(f"irfft_{name}", [out, back], [n], 11, grain)
    near(back, x)


@pytest.mark.parametrize("name", ("c64", "c128"))
def test_lanes_give_the_bits_of_single_rows(name):
    for n in (30, 67, 256):
        x = values((9, n), DTYPES[name])
        together, alone = np.empty_like(x), np.empty_like(x)
        call(f"fft_{name}", [x, together], [n, 1, 1, 0], 9)
        call(f"fft_{name}", [x, alone], [n, 1, 1, 0], 9, 1)
        assert same_bits(together, alone)


@pytest.mark.parametrize("grain", (0, 1, 3))
@pytest.mark.parametrize("n, m", ((8, 16), (15, 9), (17, 5), (1, 6), (6, 1)))
@pytest.mark.parametrize("name", ("c64", "c128"))
def test_two_parts_of_a_long_transform(name, n, m, grain):
    total, block = n * m, 4
    x = values((2, total), DTYPES[name])
    for forward in (1, 0):
        work, out = np.empty_like(x), np.full((2, total + 3), 7, x.dtype)
        params = [n, m, total, forward, total, block]
        call(f"fft_columns_{name}", [x, work], params, 2 * -(-m // block), grain)
        params[4] = total + 3                              # rows of the result lie further apart
        call(f"fft_rows_{name}", [work, out], params, 2 * -(-n // block), grain)
        near(out[:, :total], (np.fft.fft if forward else np.fft.ifft)(x))
        assert (out[:, total:] == 7).all()


@pytest.mark.parametrize("h", (1, 2, 3, 8, 9, 5000, 12289))
@pytest.mark.parametrize("name", ("c64", "c128"))
def test_real_transform_out_of_a_complex_one(name, h):
    x = RNG.normal(size=(2, 2 * h)).astype("float32" if name == "c64" else "float64")
    pieces = 2 * ((h // 2 + 4096) // 4096)
    for row, want in ((h + 1, np.fft.rfft(x)), (2 * h, np.fft.fft(x))):
        out = np.zeros((2, row), DTYPES[name])
        out[:, :h] = np.fft.fft(x[:, ::2] + 1j * x[:, 1::2])
        call(f"rfft_join_{name}", [out], [h, row], pieces, 1)
        near(out, want)


@pytest.mark.parametrize("h", (1, 2, 3, 8, 9, 5000, 12289))
@pytest.mark.parametrize("name", ("c64", "c128"))
def test_complex_transform_out_of_a_real_one(name, h):
    x = RNG.normal(size=(2, 2 * h)).astype("float32" if name == "c64" else "float64")
    waves, out = np.fft.rfft(x).astype(DTYPES[name]), np.empty((2, h), DTYPES[name])
    waves[:, 0] += 2j                                      # is not read
    waves[:, -1] -= 3j
    call(f"irfft_split_{name}", [waves, out], [h], 2 * ((h // 2 + 4096) // 4096), 1)
    near(out, np.fft.fft(x[:, ::2] + 1j * x[:, 1::2]))


MEDIUM = (256, 272, 320, 400, 1000, 1024, 8192, 18 * 129)


@pytest.mark.parametrize("n", MEDIUM)
@pytest.mark.parametrize("name", ("c64", "c128"))
def test_medium_rows_in_their_lanes(name, n):
    x = values((21, n), DTYPES[name])
    x[3] = -0.0
    for forward in (1, 0):
        out, alone = np.empty_like(x), x.copy()
        call(f"fft_medium_{name}", [x, out], [n, forward], 21)
        near(out, (np.fft.fft if forward else np.fft.ifft)(x))
        call(f"fft_medium_{name}", [alone, alone], [n, forward], 21, 1)
        assert same_bits(out, alone)                       # row by row, and in place


@pytest.mark.parametrize("h", MEDIUM)
@pytest.mark.parametrize("name", ("f32", "f64"))
def test_medium_real_rows_and_back(name, h):
    whole = "c64" if name == "f32" else "c128"
    x = RNG.normal(size=(3, 2 * h)).astype(DTYPES[name])
    for row, want in ((h + 1, np.fft.rfft(x)), (2 * h, np.fft.fft(x))):
        out = np.full((3, row), np.nan, DTYPES[whole])
        call(f"rfft_medium_{name}", [x, out], [h, row], 3, 1)
        near(out, want)
        if row == h + 1:
            back, out[:, 0] = np.empty_like(x), out[:, 0] + 1j
            call(f"irfft_medium_{name}", [out, back], [h], 3)
            near(back, x)


@pytest.mark.parametrize("h", MEDIUM)
@pytest.mark.parametrize("name", ("f32", "f64"))
def test_medium_real_rows_side_by_side_or_alone(name, h):
    whole = "c64" if name == "f32" else "c128"
    x = RNG.normal(size=(21, 2 * h)).astype(DTYPES[name])
    for row in (h + 1, 2 * h):
        together, alone = (np.empty((21, row), DTYPES[whole]) for _ in range(2))
        for out, rows in ((together, 21), (alone, 1)):
            call(f"rfft_medium_{name}", [x, out], [h, row], 21, rows)
        assert same_bits(together, alone)
    waves, (one, other) = np.fft.rfft(x).astype(DTYPES[whole]), (np.empty_like(x) for _ in range(2))
    for out, rows in ((one, 21), (other, 1)):
        call(f"irfft_medium_{name}", [waves, out], [h], 21, rows)
    assert same_bits(one, other)


@pytest.mark.parametrize("n", (7, 32, 37, 64))
@pytest.mark.parametrize("name", ("f32", "f64"))
def test_lanes_give_the_bits_of_single_real_rows(name, n):
    whole = "c64" if name == "f32" else "c128"
    x = RNG.normal(size=(21, n)).astype(DTYPES[name])
    together, alone = (np.empty((21, n // 2 + 1), DTYPES[whole]) for _ in range(2))
    call(f"rfft_{name}", [x, together], [n], 21)
    call(f"rfft_{name}", [x, alone], [n], 21, 1)
    near(together, np.fft.rfft(x))
    assert same_bits(together, alone)
    back, one = np.empty_like(x), np.empty_like(x)
    call(f"irfft_{name}", [together, back], [n], 21)
    call(f"irfft_{name}", [together, one], [n], 21, 1)
    near(back, x)
    assert same_bits(back, one)


def test_more_lengths_than_plans_are_kept():
    for _ in range(2):
        for n in range(1, 60):
            x = values((2, n), np.complex64)
            out = np.empty_like(x)
            call("fft_c64", [x, out], [n, 1, 1, 0], 2)
            near(out, np.fft.fft(x))


def test_plans_from_several_threads():
    """Lengths come and go in all of them; ctypes lets the threads run at the same time."""
    wrong = []

    def work(seed):
        rng = np.random.default_rng(seed)
        for n in rng.integers(2, 40, 300).tolist():
            x = rng.normal(size=(1, n)) + 1j * rng.normal(size=(1, n))
            out = np.empty_like(x)
            call("fft_c128", [x, out], [n, 1, 1, 0], 1)
            if not np.allclose(out, np.fft.fft(x)):
                wrong.append(n)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_no_memory_gives_nan():
    """Nothing is thrown through C, and nothing crashes, when a plan cannot be made."""
    program = """
import resource, sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from routine_caller import call
x, out = np.ones((2, 1 << 21), np.complex64), np.zeros((2, 1 << 21), np.complex64)
call("fft_c64", [x[:, :8].copy(), out[:, :8].copy()], [8, 1, 1, 0], 2)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 20), used + (1 << 20)))
call("fft_c64", [x, out], [1 << 21, 1, 1, 0], 2)
print(bool(np.isnan(out[0, 0]) and np.isnan(out[1, -1])))
"""
    if not os.path.exists("/proc/self/statm") or "san" in os.environ.get("LD_PRELOAD", ""):
        pytest.skip("memory is limited by what /proc says, and sanitizers need much")
    done = subprocess.run([sys.executable, "-c", program, os.path.dirname(__file__)],
                          capture_output=True, text=True)
    assert done.stdout.strip() == "True", done.stderr


@pytest.mark.parametrize("grain", (0, 1, 5, 16))
@pytest.mark.parametrize("h", (1, 2, 3, 8, 9, 67, 180, 256))
@pytest.mark.parametrize("name", ("f32", "f64"))
def test_real_rows_by_pairs(name, h, grain):
    """Side by side or alone, with the same bits."""
    whole = "c64" if name == "f32" else "c128"
    x = RNG.normal(size=(37, 2 * h)).astype(DTYPES[name])
    for row, want in ((h + 1, np.fft.rfft(x)), (2 * h, np.fft.fft(x))):
        out, alone = (np.full((37, row), np.nan, DTYPES[whole]) for _ in range(2))
        call(f"rfft_pairs_{name}", [x, out], [h, row], 37, grain)
        near(out, want)
        call(f"rfft_pairs_{name}", [x, alone], [h, row], 37, 1)
        assert same_bits(out, alone)
    half = np.fft.rfft(x).astype(DTYPES[whole])
    half[:, 0] += 1j                                       # is not read
    half[:, -1] -= 2j
    back, alone = np.empty_like(x), np.empty_like(x)
    call(f"irfft_pairs_{name}", [half, back], [h], 37, grain)
    near(back, x)
    call(f"irfft_pairs_{name}", [half, alone], [h], 37, 1)
    assert same_bits(back, alone)
