"""Resized images, against sums written out in NumPy."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney.image import ResizeMethod, resize, scale_and_translate

METHODS = ["linear", "cubic", "cubic-pytorch", "lanczos3", "lanczos5", "area"]


def cubic(x, a):
    if x < 1:
        return ((a + 2) * x - (a + 3)) * x * x + 1
    return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a if x < 2 else 0.0


KERNELS = {
    "linear": lambda x: max(0.0, 1 - x),
    "cubic": lambda x: cubic(x, -0.5),
    "cubic-pytorch": lambda x: cubic(x, -0.5),
    "lanczos3": lambda x: float(np.sinc(x) * np.sinc(x / 3)) if x <= 3 else 0.0,
    "lanczos5": lambda x: float(np.sinc(x) * np.sinc(x / 5)) if x <= 5 else 0.0,
}


def weights(n, m, scale, move, method, antialias):
    """(n, m): what input k contributes to output i, one number after the other."""
    out = np.zeros((n, m))
    width = max(1 / scale, 1.0) if antialias else 1.0
    for i in range(m):
        centre = (i + 0.5 - move) / scale - 0.5
        for k in range(-2, n + 2):
            if method == "area":
                lo, hi = (i - move) / scale, (i + 1 - move) / scale
                w = max(0.0, min(hi, k + 1) - max(lo, k)) if 0 <= k < n else 0.0
            elif method == "cubic-pytorch" and not antialias:
                w = cubic(abs(centre - k), -0.75)
            else:
                w = KERNELS[method](abs(centre - k) / width) if 0 <= k < n else 0.0
            out[min(max(k, 0), n - 1), i] += w
        total = out[:, i].sum()
        edge = -0.5 <= centre <= n - 0.5 or (method == "cubic-pytorch" and not antialias)
        out[:, i] = out[:, i] / total if edge and abs(total) > 1.2e-4 else 0.0
    return out


def nearest(x, shape):
    for d, m in enumerate(shape):
        index = np.floor((np.arange(m) + 0.5) * x.shape[d] / m).astype(int)
        x = np.take(x, index, axis=d)
    return x


def sampled(x, axes, lengths, scales, moves, method, antialias):
    x = x.astype(np.float64)
    for d, m, scale, move in zip(axes, lengths, scales, moves, strict=True):
        w = weights(x.shape[d], m, scale, move, method, antialias)
        x = np.moveaxis(np.tensordot(x, w, ((d,), (0,))), -1, d)
    return x


@pytest.mark.parametrize("antialias", [True, False])
@pytest.mark.parametrize("method", METHODS)
def test_resize(method, antialias):
    rng = np.random.default_rng(1)
    for before, after in [((7,), (3,)), ((5, 4), (9, 4)), ((6, 5, 2), (4, 11, 2)), ((1, 3), (5, 1)),
                          ((2, 3, 4), (2, 3, 4))]:
        x = rng.normal(size=before).astype(np.float32)
        axes = [d for d in range(len(before)) if before[d] != after[d]]
        want = sampled(x, axes, [after[d] for d in axes], [after[d] / before[d] for d in axes],
                       [0.0] * len(axes), method, antialias)
        got = resize(x, after, method, antialias=antialias)
        assert got.dtype == np.float32 and got.shape == after
        np.testing.assert_allclose(got, want, atol=2e-5)


@pytest.mark.parametrize("method", METHODS)
def test_scale_and_translate(method):
    x = np.random.default_rng(2).normal(size=(6, 3, 5)).astype(np.float32)
    scales, moves = np.float32([0.7, 1.6]), np.float32([1.3, -2.2])
    for antialias in (True, False):
        want = sampled(x, (2, 0), (4, 8), scales.astype(float), moves.astype(float), method,
                       antialias)
        run = jitney.jit(scale_and_translate, static_argnums=(1, 2, 5, 6))
        for function in (scale_and_translate, run):
            got = function(x, (8, 3, 4), (2, 0), scales, moves, method, antialias)
            np.testing.assert_allclose(got, want, atol=2e-5)


@pytest.mark.parametrize("shape", [(3, 4), (10, 1), (5, 7), (13, 8), (0, 7)])
def test_nearest(shape):
    x = np.random.default_rng(3).integers(0, 99, (5, 7)).astype(np.int8)
    got = resize(x, shape, "nearest")
    assert got.dtype == np.int8
    np.testing.assert_array_equal(got, nearest(x, shape))


def test_dtypes():
    x = np.arange(6).reshape(2, 3)
    for before, after in [("int32", "float32"), ("bool", "float32"), ("float16", "float16"),
                          ("bfloat16", "bfloat16"), ("complex64", "complex64"),
                          ("uint8", "float32")]:
        assert resize(jnp.asarray(x, before), (4, 5), "linear").dtype.name == after
        assert resize(jnp.asarray(x, before), (4, 5), "nearest").dtype.name == before
    with jitney.enable_x64(True):
        got = resize(np.arange(5.0), (3,), "lanczos3")
        assert got.dtype == np.float64
        np.testing.assert_allclose(got, sampled(np.arange(5.0), (0,), (3,), (0.6,), (0.0,),
                                                "lanczos3", True), atol=1e-13)


def test_empty():
    assert resize(jnp.ones((5, 7)), (0, 3), "linear").shape == (0, 3)
    assert resize(jnp.ones((0, 7)), (0, 3), "cubic").shape == (0, 3)
    with pytest.raises(ValueError, match="without entries"):
        resize(jnp.ones((0, 3)), (2, 3), "nearest")
    assert float(resize(2.5, (), "linear")) == 2.5


def test_transformations():
    x = jnp.asarray(np.random.default_rng(4).normal(size=(2, 5, 4)), jnp.float32)
    for method in [*METHODS, "nearest"]:
        function = lambda v, m=method: resize(v, (3, 6), m)
        batched = jitney.vmap(function)(x)
        np.testing.assert_allclose(batched[1], function(x[1]), atol=1e-6)
        back = jitney.vjp(function, x[0])[1](jnp.ones((3, 6)))[0]
        matrix = jitney.jacfwd(function)(x[0])
        np.testing.assert_allclose(back, jnp.sum(matrix, (0, 1)), atol=1e-5)
    moved = lambda s, t: scale_and_translate(x[0], (5, 4), (0,), s, t, "linear")
    jitney.test_util.check_grads(moved, (jnp.array([1.3]), jnp.array([0.2])), 1, atol=2e-2,
                                 rtol=2e-2)


def test_methods_by_name():
    assert ResizeMethod.from_string("bicubic") is ResizeMethod.CUBIC
    assert [m.value for m in ResizeMethod] == list(range(7))
    x = jnp.arange(5.0)
    np.testing.assert_array_equal(resize(x, (3,), ResizeMethod.AREA), resize(x, (3,), "area"))
    np.testing.assert_array_equal(resize(x, (3,), "triangle"), resize(x, (3,), "bilinear"))


def test_bad_arguments():
    x, one = jnp.ones((5, 7)), jnp.ones(1)
    for arguments, error, message in [
        ((x, (3,), "linear"), ValueError, "shape must have length equal to the number"),
        ((x, (3, 3), "foo"), ValueError, 'Unknown resize method "foo"'),
        ((x, (3, 3), 3), TypeError, "method must be a string or a ResizeMethod"),
        ((x, (-1, 3), "linear"), ValueError, "no negative entries"),
        ((x, (2.5, 3), "linear"), TypeError, "Shapes must be 1D sequences"),
        (([[1.0]], (2, 2), "linear"), TypeError, "requires ndarray or scalar"),
        ((x, (3, 3), "linear", "yes"), TypeError, "antialias takes True or False"),
    ]:
        with pytest.raises(error, match=message):
            resize(*arguments)
    for arguments, error, message in [
        ((x, (3, 3), (0,), one, one, "linear"), ValueError, r"\[1\] change their length"),
        ((x, (3, 7), (0, -2), jnp.ones(2), jnp.ones(2), "linear"), ValueError, "different axes"),
        ((x, (3, 7), (5,), one, one, "linear"), ValueError, "axis 5 is out of bounds"),
        ((x, (3, 7), (0,), jnp.ones(2), one, "linear"), ValueError, "scale must have one entry"),
        ((x, (3, 7), (0,), one, one, "nearest"), ValueError, "Nearest neighbor resampling"),
    ]:
        with pytest.raises(error, match=message):
            scale_and_translate(*arguments)


@pytest.mark.parametrize("method", ["linear", "cubic", "lanczos3", "lanczos5"])
@pytest.mark.parametrize("lengths", [(100, 200), (128, 64), (96, 144), (200, 77), (300, 301),
                                     (256, 32), (65, 650), (90, 1), (90, 0)])  # fmt: skip
@pytest.mark.parametrize("antialias", [True, False])
def test_long_axes_by_their_neighbours(method, lengths, antialias):
    n, m = lengths
    rng = np.random.default_rng(n)
    x = rng.standard_normal((3, n)).astype("float32")
    matrix = weights(n, m, m / n if m else 1.0, 0.0, method, antialias)
    for image, axis in ((x, 1), (x.T.copy(), 0)):
        shape = (3, m) if axis else (m, 3)
        want = image @ matrix if axis else matrix.T @ image
        found = resize(image, shape, method, antialias)
        np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-4)
        grown = rng.standard_normal(shape).astype("float32")
        total = lambda v, shape=shape, grown=grown: (
            resize(v, shape, method, antialias) * grown).sum()  # fmt: skip
        back = grown @ matrix.T if axis else matrix @ grown
        np.testing.assert_allclose(jitney.grad(total)(image), back, rtol=1e-4, atol=1e-4)


def test_long_axes_of_short_floats_and_integers():
    x = np.random.default_rng(0).integers(-9, 9, (100, 5))
    want = resize(x.astype("float32"), (250, 5), "cubic")
    assert resize(x.astype("int8"), (250, 5), "cubic").dtype == jnp.float32
    np.testing.assert_array_equal(resize(x.astype("int8"), (250, 5), "cubic"), want)
    short = resize(jnp.asarray(x, "bfloat16"), (250, 5), "cubic")
    np.testing.assert_array_equal(short, np.asarray(want).astype(jnp.bfloat16))
