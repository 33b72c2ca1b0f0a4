"""smap: maps over one axis of the mesh in scope, by positions of axes."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import lax
from jitney.sharding import NamedSharding
from jitney.sharding import PartitionSpec as P

A = np.arange(48.0, dtype="f4").reshape(8, 6)


def test_parts_and_sums(grid):
    seen = []

    def f(a, b):
        seen.append((a.shape, b["w"].shape))
        return {"sum": lax.psum(a.sum(), "y"), "out": a * b["w"].sum()}

    with jitney.set_mesh(grid):
        run = jitney.smap(f, in_axes=(0, {"w": None}), out_axes={"sum": None, "out": 0},
                          axis_name="y")
        out = run(A, {"w": jnp.arange(3.0)})
    assert set(seen) == {((2, 6), (3,))} and float(out["sum"]) == A.sum()
    np.testing.assert_array_equal(out["out"], A * 3)


@pytest.mark.parametrize("axis", [0, 1, -1, -2])
def test_every_axis(grid, axis):
    @jitney.smap(in_axes=axis, out_axes=axis, axis_name="x")
    def f(a):
        return a * 2 + lax.axis_index("x")
    with jitney.set_mesh(grid):
        got = jitney.jit(f)(A)
    index = np.expand_dims(np.arange(A.shape[axis]) * 2 // A.shape[axis], 1 - axis % 2)
    np.testing.assert_array_equal(got, A * 2 + index)


def test_nested_and_inferred(grid):
    shapes = []

    def inner(a):
        shapes.append(a.shape)
        return a + 1

    with jitney.set_mesh(grid):
        columns = jitney.smap(inner, in_axes=1, out_axes=1, axis_name="x")
        both = jitney.smap(columns, in_axes=0, out_axes=0, axis_name="y")
        np.testing.assert_array_equal(both(A), A + 1)
        placed = jitney.device_put(A, NamedSharding(grid, P("y")))
        inferred = jitney.smap(inner, out_axes=0, axis_name="y")
        np.testing.assert_array_equal(inferred(placed), A + 1)
    assert set(shapes) == {(2, 3), (2, 6)}


def test_gradient(grid):
    with jitney.set_mesh(grid):
        loss = lambda a: jitney.smap(lambda v: lax.psum(jnp.sum(v ** 2), "y"), in_axes=0,
                                     out_axes=None, axis_name="y")(a)
        np.testing.assert_allclose(jitney.grad(loss)(A), 2 * A)


def test_errors(grid):
    same = lambda a: a
    with jitney.set_mesh(grid):
        for options, error, message in [
            (dict(in_axes=5, out_axes=0, axis_name="y"), ValueError, "in_axes has the axis 5"),
            (dict(in_axes=0, out_axes=-3, axis_name="y"), ValueError, "out_axes has the axis -3"),
            (dict(in_axes=1.5, out_axes=0, axis_name="y"), TypeError, "in_axes are integers"),
            (dict(in_axes=0, out_axes=0, axis_name="z"), ValueError, "axis_names={z}"),
            (dict(in_axes=0, out_axes=0, axis_name=("x", "y")), TypeError, "should be a `str`"),
        ]:
            with pytest.raises(error, match=message):
                jitney.smap(same, **options)(A)
    with pytest.raises(ValueError, match="context mesh cannot be empty"):
        jitney.smap(same, in_axes=0, out_axes=0, axis_name="y")(A)
