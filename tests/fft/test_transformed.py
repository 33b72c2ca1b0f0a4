"""Transforms of transforms: derivatives, batches, loops, every stage of the compiler, threads."""

import numpy as np
import pytest
from fft_data import close, complex_, real

import jitney as jax
import jitney.numpy as jnp
from jitney import _native, lax
from jitney.base import debug
from jitney.testing.stages import check_all_stages

CASES = {
    "FFT": (lambda x: lax.fft(x, "FFT", (4, 6)), complex_(3, 4, 6, dtype="complex128")),
    "IFFT": (lambda x: lax.fft(x, "IFFT", (5,)), complex_(3, 5, dtype="complex128")),
    "RFFT even": (lambda x: lax.fft(x, "RFFT", (6,)), real(3, 6, dtype="float64")),
    "RFFT odd": (lambda x: lax.fft(x, "RFFT", (7,)), real(3, 7, dtype="float64")),
    "RFFT 2d": (lambda x: lax.fft(x, "RFFT", (3, 4)), real(2, 3, 4, dtype="float64")),
    "RFFT 1": (lambda x: lax.fft(x, "RFFT", (1,)), real(3, 1, dtype="float64")),
    "RFFT 2": (lambda x: lax.fft(x, "RFFT", (2,)), real(3, 2, dtype="float64")),
    "IRFFT even": (lambda x: lax.fft(x, "IRFFT", (6,)), complex_(3, 4, dtype="complex128")),
    "IRFFT odd": (lambda x: lax.fft(x, "IRFFT", (7,)), complex_(3, 4, dtype="complex128")),
    "IRFFT 2d": (lambda x: lax.fft(x, "IRFFT", (3, 8)), complex_(2, 3, 5, dtype="complex128")),
    "IRFFT 1": (lambda x: lax.fft(x, "IRFFT", (1,)), complex_(3, 1, dtype="complex128")),
    "IRFFT 3d": (lambda x: lax.fft(x, "IRFFT", (2, 3, 5)), complex_(2, 3, 3, dtype="complex128")),
}


def pairing(a, b):
    """Σ a b over the reals' structure of jax: no conjugate."""
    return np.sum(np.asarray(a) * np.asarray(b))


@pytest.mark.parametrize("name", CASES)
def test_linear(name):
    """The tangent is the transform of the tangent; the transpose pairs as it must."""
    function, x = CASES[name]
    with jax.enable_x64(True):
        t = np.roll(x, 1) * 0.7 - 0.2
        out, tangent = jax.jvp(function, (x,), (t,))
        close(out, function(x))
        close(tangent, function(t))
        ct = np.asarray(function(np.flip(x) * 1.3))
        back, = jax.vjp(function, x)[1](ct)
        assert back.shape == x.shape and back.dtype == x.dtype
        np.testing.assert_allclose(pairing(back, t).real, pairing(ct, tangent).real, rtol=1e-10)
        if x.dtype.kind == "c":
            i_tangent = np.asarray(function(1j * t))
            np.testing.assert_allclose(pairing(back, 1j * t).real, pairing(ct, i_tangent).real,
                                       rtol=1e-10)


@pytest.mark.parametrize("name", CASES)
def test_second_order_and_transposed_twice(name):
    function, x = CASES[name]
    with jax.enable_x64(True):
        there = jax.linear_transpose(function, x)
        ct = np.asarray(function(x))
        again = jax.linear_transpose(lambda c: there(c)[0], ct)
        close(again(x)[0], function(x), 20)


@pytest.mark.parametrize("n", (8, 9))
def test_gradients_of_known_functions(n):
    """Σ|fft x|² is n Σ x², and irfft undoes rfft."""

    def power(x):
        return jnp.sum(jnp.abs(jnp.fft.fft(x)) ** 2)

    def smooth(x):
        return jnp.sum(jnp.sin(jnp.fft.irfft(jnp.fft.rfft(x) * 2, n)))

    with jax.enable_x64(True):
        x = real(n, dtype="float64")
        close(jax.grad(power)(x), 2 * n * x, 10)
        close(jax.jit(jax.hessian(power))(x), 2 * n * np.eye(n), 100)
        close(jax.grad(smooth)(x), 2 * np.cos(2 * x), 10)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dim", (0, 1, -1))
def test_batches(name, dim):
    function, x = CASES[name]
    x = x.astype("complex64" if x.dtype.kind == "c" else "float32")
    want = np.stack([function(x), function(2 * x), function(x - 1)], dim)
    xs = np.stack([x, 2 * x, x - 1], dim)
    for f in (function, jax.jit(function)):
        got = np.asarray(jax.vmap(f, dim, dim)(xs))
        assert got.tobytes() == np.ascontiguousarray(want).tobytes()
    jaxpr = str(jax.make_jaxpr(jax.vmap(function, dim, dim))(xs))
    assert jaxpr.count("fft[") == 1 and "scan" not in jaxpr


PROGRAMS = {
    "complex": (lambda x: jnp.fft.fft(x) * 2, complex_(3, 8)),
    "columns": (lambda x: jnp.fft.fftn(jnp.exp(x)), complex_(5, 3, 8)),
    "real": (lambda x: jnp.abs(jnp.fft.rfft(x + 1, axis=0)), real(9, 4)),
    "back": (lambda x: jnp.fft.irfft2(x, s=(5, 7)) + 1, complex_(5, 4)),
    "convolution": (lambda x: jnp.fft.irfft(jnp.fft.rfft(x) * jnp.fft.rfft(x[::-1]), 11),
                    real(4, 11)),
    "real as complex": (lambda x: jnp.fft.fft2(x[0]) + jnp.fft.fft(x, axis=1)[0], real(2, 4, 5)),
    "ortho": (lambda x: jnp.fft.fft(x, norm="ortho"), real(3, 5)),
    "transposed": (lambda x: jnp.fft.fft(x.T, axis=0).T, complex_(3, 5)),
    "gradient": (lambda x: jax.grad(lambda v: jnp.abs(jnp.fft.rfft(v)).sum())(x), real(10)),
    "loop": (lambda x: lax.fori_loop(0, 3, lambda i, v: jnp.fft.fft(v) / 2, x), complex_(6)),
    "scan": (lambda x: lax.scan(lambda c, r: (jnp.fft.irfft(jnp.fft.rfft(c)) + r, c), x[0], x),
             real(4, 6)),
    "branch": (lambda x: lax.cond(x[0] > 0, lambda v: jnp.fft.rfft(v).real,
                                  lambda v: jnp.fft.rfft(v).imag, x), real(6)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_answer_at_every_stage(name):
    function, x = PROGRAMS[name]
    check_all_stages(function, x)


def test_calls_do_not_see_python():
    before = debug.counts().get("reference_steps", 0)
    steps = jax.explain(lambda x: jnp.fft.irfftn(jnp.fft.rfftn(x)), real(4, 6, 8)).steps
    assert [s.kind for s in steps] == ["routine"] * 6     # and complex arrays are not copied
    assert [s.kind for s in jax.explain(jnp.fft.fft, complex_(4, 6)).steps] == ["routine"]
    assert [s.kind for s in jax.explain(jnp.fft.fft2, real(4, 6)).steps] == ["routine"] * 2
    assert debug.counts().get("reference_steps", 0) == before


@pytest.mark.parametrize("shape", ((700, 120), (64, 1021), (40, 4096), (3, 20000), (2, 2**16)))
@pytest.mark.parametrize("name", ("fft", "rfft", "irfft", "fft2", "rfft2", "irfft2"))
def test_any_number_of_threads_gives_the_same_bits(name, shape):
    x = real(*shape) if name.startswith("r") else complex_(*shape)
    results = []
    try:
        for threads in (1, 2, 5):
            _native.set_num_threads(threads)
            results.append(np.asarray(getattr(jnp.fft, name)(x)).tobytes())
    finally:
        _native.set_num_threads(0)
    assert len(set(results)) == 1


@pytest.mark.parametrize("shape", ((37, 360), (7, 101), (19, 1000), (40, 4096),
                                   (3, 2**16)))  # fmt: skip
def test_a_row_does_not_depend_on_its_batch(shape):
    x = real(*shape)
    rows = np.asarray(jnp.fft.rfft(x))
    for i in (0, 1, len(x) - 1):
        assert np.asarray(jnp.fft.rfft(x[i])).tobytes() == rows[i].tobytes()
    rows = np.asarray(jnp.fft.ifft(x + 1j))
    for i in (0, 1, len(x) - 1):
        assert np.asarray(jnp.fft.ifft(x[i] + 1j)).tobytes() == rows[i].tobytes()


def test_stablehlo_text():
    text = jax.jit(jnp.fft.rfft).lower(real(3, 6)).as_text()
    assert "stablehlo.fft %arg0, type = RFFT, length = [6]" in text
    assert "(tensor<3x6xf32>) -> tensor<3x4xcomplex<f32>>" in text
    text = jax.jit(jnp.fft.irfft2).lower(complex_(3, 4, 6)).as_text()
    assert "type = IRFFT, length = [4, 10]" in text


def test_batches_stay_where_they_are():
    mesh = jax.make_mesh((1,), ("a",))
    x = jax.device_put(real(4, 6), jax.NamedSharding(mesh, jax.P("a", None)))
    for f in (jnp.fft.fft, jnp.fft.rfft, jnp.fft.irfft):
        assert jax.jit(f)(x).sharding.spec == jax.P("a", None)


def test_disabled_jit_and_shape_evaluation():
    x = real(3, 6)
    with jax.disable_jit():
        close(jnp.fft.rfft(x), np.fft.rfft(x))
        close(jnp.fft.fft2(x), np.fft.fft2(x))
    out = jax.eval_shape(lambda x: jnp.fft.irfftn(x, s=(4, 9)), x)
    assert out.shape == (4, 9) and out.dtype == np.float32


def test_same_program_for_equal_calls():
    """Calls of one type share their inner program."""
    text = str(jax.make_jaxpr(lambda x: jnp.fft.fft(jnp.fft.fft(x)))(complex_(4)))
    assert text.count("fft[") == 1 and text.count("jit[name=fft jaxpr=fft]") == 2
