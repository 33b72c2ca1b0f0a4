"""Images, grids, code books against SciPy: `ndimage`, `interpolate`, `cluster`, `integrate`."""

import numpy as np
import pytest
import scipy.cluster.vq
import scipy.integrate
import scipy.interpolate
import scipy.ndimage

import jitney
from jitney import numpy as jnp
from jitney.scipy import integrate, interpolate, ndimage
from jitney.scipy.cluster import vq

RNG = np.random.default_rng(0)
POINTS = RNG.uniform(-9, 11, (3, 50)).astype(np.float32)
# names of what SciPy calls the same: "wrap" of indices is its "grid-wrap"
MODES = {"constant": "grid-constant", "nearest": "nearest", "wrap": "grid-wrap",
         "mirror": "mirror", "reflect": "reflect"}


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", [(7,), (4, 5), (3, 1, 4), (1, 1)])
def test_map_coordinates(shape, mode, order):
    image = RNG.normal(size=shape).astype(np.float32)
    ours = ndimage.map_coordinates(image, POINTS[:len(shape)], order, mode, 2.5)
    wanted = scipy.ndimage.map_coordinates(image, POINTS[:len(shape)], None, order, MODES[mode],
                                           2.5, prefilter=False)
    np.testing.assert_allclose(ours, wanted, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "float16", "bool", "complex64"])
def test_values_have_the_dtype_of_the_image(dtype):
    image = np.arange(12).reshape(3, 4).astype(dtype)
    at = [np.float32([0.5, 1.25, 2.0, 9.0]), np.float32([1.0, 2.5, 3.0, 0.0])]
    ours = ndimage.map_coordinates(image, at, 1, cval=1)
    assert ours.dtype == dtype
    exact = scipy.ndimage.map_coordinates(image.astype(complex), at, order=1, cval=1)
    exact = exact if dtype == "complex64" else exact.real
    rounded = np.floor(exact + 0.5) if dtype[0] in "iu" else exact
    np.testing.assert_array_equal(ours, rounded.astype(dtype))


def test_map_coordinates_transformed():
    image = RNG.normal(size=(5, 6)).astype(np.float32)
    at = np.float32([[0.3, 1.7], [2.2, 4.6]])

    def read(image, at):
        return ndimage.map_coordinates(image, at, 1, mode="nearest")

    np.testing.assert_allclose(jitney.jit(read)(image, at), read(image, at), rtol=1e-6)
    batched = jitney.vmap(read, (None, 2))(image, np.stack([at, at + 0.5], 2))
    np.testing.assert_allclose(batched[1], read(image, at + 0.5), rtol=1e-6)
    slope = jitney.grad(lambda a: read(image, a).sum())(at)
    gap = np.float32(0.05)
    rise = (read(image, at + [[gap], [0]]) - read(image, at)) / gap
    np.testing.assert_allclose(slope[0], rise, rtol=1e-3)
    weights = jitney.grad(lambda i: read(i, at).sum())(image)
    np.testing.assert_allclose(weights.sum(), 2.0, rtol=1e-6)


def test_map_coordinates_of_nothing():
    assert ndimage.map_coordinates(np.ones((3, 2)), [np.ones((0, 4))] * 2, 1).shape == (0, 4)
    outside = ndimage.map_coordinates(np.ones((0, 2)), [np.ones(3)] * 2, 1, cval=7.0)
    np.testing.assert_array_equal(outside, np.full(3, 7.0))
    assert np.isnan(ndimage.map_coordinates(np.ones(3), [np.float32([np.nan])], 1)[0])


@pytest.mark.parametrize("arguments, error, text", [
    ((np.ones((2, 2)), [0.5], 1), ValueError, "1 != 2"),
    ((np.ones(2), [0.5], 3), NotImplementedError, "order"),
    ((np.ones(2), [0.5], 1, "cube"), NotImplementedError, "cube"),
    ((np.ones(2), [0.5j], 1), TypeError, "complex64"),
    ((np.ones(2), 0.5, 1), TypeError, "sequence"),
    ((np.ones(0), [0.5], 1, "wrap"), ValueError, "no pixels"),
    ((np.ones(2), [0.5], 1, "constant", 1j), TypeError, "cval"),
])
def test_map_coordinates_refuses(arguments, error, text):
    with pytest.raises(error, match=text):
        ndimage.map_coordinates(*arguments)


# --- grids ---------------------------------------------------------------------------------------

GRID = (np.float32([0, 1, 2.5, 4]), np.float32([-1, 0, 3]))
VALUES = RNG.normal(size=(4, 3, 2)).astype(np.float32)
INSIDE = np.stack([RNG.uniform(0, 4, 20), RNG.uniform(-1, 3, 20)], 1).astype(np.float32)


@pytest.mark.parametrize("method", ["linear", "nearest"])
@pytest.mark.parametrize("fill", [np.nan, -2.0, None])
def test_regular_grid(method, fill):
    at = np.concatenate([INSIDE, [[5, 1], [-1, -3], [4, 3], [0, -1]]]).astype(np.float32)
    ours = interpolate.RegularGridInterpolator(GRID, VALUES, method, fill_value=fill)(at)
    wanted = scipy.interpolate.RegularGridInterpolator(GRID, VALUES, method, bounds_error=False,
                                                       fill_value=fill)(at)
    np.testing.assert_allclose(ours, wanted, rtol=1e-5, atol=1e-5)


def test_regular_grid_takes_points_of_any_shape():
    table = interpolate.RegularGridInterpolator(GRID, VALUES)
    every = table(INSIDE)
    np.testing.assert_array_equal(table(INSIDE.reshape(4, 5, 2)), every.reshape(4, 5, 2))
    np.testing.assert_array_equal(table(tuple(INSIDE.T)), every)
    np.testing.assert_array_equal(table(INSIDE[0])[0], every[0])
    line = interpolate.RegularGridInterpolator(GRID[:1], VALUES[:, 0, 0])
    assert line(np.float32([0.5, 1.5])).shape == (2,) and line(0.5).shape == ()
    assert table(np.ones((0, 2))).shape == (0, 2)
    assert np.isnan(table(np.float32([[np.nan, 1]]), "nearest")).all()


def test_regular_grid_transformed():
    table = interpolate.RegularGridInterpolator(GRID, VALUES)
    doubled = jitney.jit(lambda t: jitney.tree.map(lambda a: 2 * a, t.values))(table)
    np.testing.assert_array_equal(doubled, 2 * VALUES)
    call = jitney.jit(lambda t, at: t(at))
    np.testing.assert_allclose(call(table, INSIDE), table(INSIDE), rtol=1e-6)
    np.testing.assert_allclose(jitney.vmap(table)(INSIDE[:, None])[:, 0], table(INSIDE), rtol=1e-6)
    slope = jitney.grad(lambda x: table(x).sum())(INSIDE)
    x = INSIDE[3]
    i, j = np.searchsorted(GRID[0], x[0]) - 1, np.searchsorted(GRID[1], x[1]) - 1
    part = (x[1] - GRID[1][j]) / (GRID[1][j + 1] - GRID[1][j])
    rise = (VALUES[i + 1] - VALUES[i]).sum(-1) / (GRID[0][i + 1] - GRID[0][i])
    np.testing.assert_allclose(slope[3, 0], rise[j] * (1 - part) + rise[j + 1] * part, rtol=1e-4)


def test_derivatives_by_the_grid():
    def read(x):
        return interpolate.RegularGridInterpolator((x,), np.float32([1, 5]))(0.5)

    np.testing.assert_allclose(jitney.grad(read)(np.float32([0, 2])), [-1.5, -0.5], rtol=1e-6)


def test_integers_become_floats():
    table = interpolate.RegularGridInterpolator([np.arange(3)], np.array([0, 10, 20]))
    assert table(np.float32([0.5])).dtype == jnp.float32 and table(np.float32([0.5])) == 5.0


@pytest.mark.parametrize("arguments, options, error", [
    ((GRID, VALUES[:2]), {}, ValueError),
    (((GRID[0][::-1],), VALUES), {}, ValueError),
    (((GRID[0],) * 4, VALUES), {}, ValueError),
    (((GRID[0][None],), VALUES[:1]), {}, ValueError),
    ((GRID, VALUES), {"method": "cubic"}, ValueError),
    ((GRID, VALUES), {"bounds_error": True}, NotImplementedError),
    ((GRID, VALUES), {"fill_value": 1j}, ValueError),
    ((GRID, VALUES.tolist()), {}, TypeError),
])
def test_regular_grid_refuses(arguments, options, error):
    with pytest.raises(error):
        interpolate.RegularGridInterpolator(*arguments, **options)


# --- code books, integrals -----------------------------------------------------------------------


@pytest.mark.parametrize("m, n, d", [(9, 4, 3), (1, 1, 1), (0, 2, 3), (5, 3, None)])
def test_vq(m, n, d):
    tail = () if d is None else (d,)
    obs, book = (RNG.normal(size=(k, *tail)).astype(np.float32) for k in (m, n))
    code, gap = vq.vq(obs, book)
    assert code.dtype == jnp.int32 and gap.dtype == jnp.float32
    if m:
        wanted = scipy.cluster.vq.vq(obs, book)
        np.testing.assert_array_equal(code, wanted[0])
        np.testing.assert_allclose(gap, wanted[1], rtol=1e-5, atol=1e-6)
    assert code.shape == gap.shape == (m,)
    np.testing.assert_array_equal(jitney.jit(vq.vq)(obs, book)[0], code)


def test_vq_refuses():
    for obs, book in [((2, 2), (2,)), ((2, 2, 2), (2, 2, 2)), ((2, 2), (0, 2))]:
        with pytest.raises(ValueError):
            vq.vq(np.ones(obs), np.ones(book))
    with pytest.raises(TypeError, match="coordinates"):
        vq.vq(np.ones((2, 2)), np.ones((2, 1)))
    with pytest.raises(TypeError, match="list"):
        vq.vq([[1.0]], np.ones((1, 1)))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_trapezoid(axis):
    y = RNG.normal(size=(4, 5)).astype(np.float32)
    x = np.sort(RNG.normal(size=y.shape[axis])).astype(np.float32)
    for options in ({}, {"dx": 0.3}, {"x": x}):
        np.testing.assert_allclose(integrate.trapezoid(y, axis=axis, **options),
                                   scipy.integrate.trapezoid(y, axis=axis, **options), rtol=1e-4,
                                   atol=1e-5)
