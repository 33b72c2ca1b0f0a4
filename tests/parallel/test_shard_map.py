"""shard_map: specs, trees, nesting, checks of what varies, text, errors."""

import functools

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import lax
from jitney.placement.devices import cpu_devices
from jitney.sharding import AbstractMesh, Mesh, NamedSharding
from jitney.sharding import PartitionSpec as P

A = np.arange(48.0, dtype="f4").reshape(8, 6)


def blocks(x, rows, columns):
    return [np.hsplit(part, columns) for part in np.vsplit(x, rows)]


@pytest.mark.parametrize("spec, shape", [
    (P(), (8, 8)), (P("x"), (4, 8)), (P(None, "y"), (8, 2)), (P("y", "x"), (2, 4)),
    (P(("x", "y")), (1, 8)), (P(None, ("y", "x")), (8, 1)), (P("x", None), (4, 8))])
def test_every_device_gets_its_part(grid, spec, shape):
    x = np.arange(64.0, dtype="f4").reshape(8, 8)
    run = jitney.shard_map(lambda v: v[None, None], mesh=grid, in_specs=spec,
                           out_specs=P("x", "y"), check_vma=False)
    parts = np.asarray(run(x))
    assert parts.shape == (2, 4, *shape)
    sharding = NamedSharding(grid, spec)
    for device, index in sharding.devices_indices_map(x.shape).items():
        np.testing.assert_array_equal(parts[device.id // 4, device.id % 4], x[index])
    back = jitney.shard_map(lambda v: v, mesh=grid, in_specs=spec, out_specs=spec)(x)
    np.testing.assert_array_equal(back, x)
    assert back.sharding == sharding


def test_trees_prefixes_scalars_and_constants(grid):
    w = jnp.arange(6.0)

    def f(args, n):
        return {"sum": lax.psum(args["a"], "x") + n, "b": args["b"] * w}, n

    run = jitney.shard_map(f, mesh=grid, in_specs=({"a": P("x"), "b": P("x")}, None),
                           out_specs=({"sum": P(), "b": P("x")}, P()))
    for g in (run, jitney.jit(run)):
        out, n = g({"a": A, "b": A}, 3)
        np.testing.assert_array_equal(out["sum"], A[:4] + A[4:] + 3)
        np.testing.assert_array_equal(out["b"], A * np.arange(6))
        assert int(n) == 3
    assert jitney.shard_map(lambda: lax.psum(1, "x"), mesh=grid, in_specs=(), out_specs=P())() == 2


def test_matrix_product(grid):
    """Rows over x, the summed dimension over y."""
    a = np.random.default_rng(0).standard_normal((6, 8)).astype("f4")
    b = np.random.default_rng(1).standard_normal((8, 5)).astype("f4")

    @jitney.jit
    @functools.partial(jitney.shard_map, mesh=grid, in_specs=(P("x", "y"), P("y", None)),
                       out_specs=P("x", None))
    def product(a, b):
        return lax.psum(a @ b, "y")

    np.testing.assert_allclose(product(a, b), a @ b, rtol=1e-5, atol=1e-5)
    assert product(a, b).sharding.spec == P("x", None)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "int8", "uint32", "bool",
                                   "complex64"])
def test_dtypes(line, dtype):
    x = jnp.arange(8).astype(dtype)
    out = jitney.shard_map(lambda v: (v, v == v), mesh=line, in_specs=P("i"),
                           out_specs=P("i"))(x)
    assert out[0].dtype == x.dtype and np.array_equal(out[0], x) and np.asarray(out[1]).all()


def test_empty_arrays_and_keys(line):
    run = jitney.shard_map(lambda v: (v, lax.psum(v, "i")), mesh=line, in_specs=P("i"),
                           out_specs=(P("i"), P()))
    whole, total = run(np.zeros((0, 3), "f4"))
    assert whole.shape == (0, 3) and total.shape == (0, 3)
    keys = jitney.random.split(jitney.random.key(1), 4)
    draw = jitney.shard_map(lambda k: jitney.random.uniform(k[0], (1, 3)), mesh=line,
                            in_specs=P("i"), out_specs=P("i"))
    want = np.stack([jitney.random.uniform(k, (3,)) for k in keys])
    np.testing.assert_array_equal(draw(keys), want)


def test_x64(line):
    with jitney.enable_x64(True):
        x = np.arange(4.0) / 3
        out = jitney.shard_map(lambda v: lax.psum(v, "i"), mesh=line, in_specs=P("i"),
                               out_specs=P())(x)
        assert out.dtype == np.float64 and float(out[0]) == x.sum()


def test_some_axes_only_and_nesting(grid):
    def inner(v):
        return lax.psum(v, ("x", "y"))

    def outer(v):
        y = jitney.shard_map(inner, in_specs=P(None, "y"), out_specs=P(), axis_names={"y"})(v)
        return y + lax.axis_index("x")

    x = np.arange(32.0, dtype="f4").reshape(4, 8)
    run = jitney.shard_map(outer, mesh=grid, in_specs=P("x"), out_specs=P("x"), axis_names={"x"},
                           check_vma=False)
    total = sum(x[2 * i:2 * i + 2, 2 * j:2 * j + 2] for i in range(2) for j in range(4))
    want = np.concatenate([total, total + 1])
    np.testing.assert_array_equal(run(x), want)
    np.testing.assert_array_equal(jitney.jit(run)(x), want)
    with pytest.raises(ValueError, match="marked as manual"):
        jitney.shard_map(inner, mesh=grid, in_specs=P("y"), out_specs=P(), axis_names={"x"})(x)
    with pytest.raises(ValueError, match="should match"):
        other = Mesh(np.array(cpu_devices()[:2]), ("z",))
        bad = jitney.shard_map(lambda v: v, mesh=other, in_specs=P(), out_specs=P())
        jitney.shard_map(bad, mesh=grid, in_specs=P("x"), out_specs=P("x"), check_vma=False)(x)


def test_mesh_in_scope(grid):
    run = jitney.shard_map(lambda v: lax.psum(v, "y"), in_specs=P("y"), out_specs=P())
    with pytest.raises(ValueError, match="context mesh cannot be empty"):
        run(A[:4])
    with jitney.set_mesh(grid):
        assert jitney.sharding.get_mesh() == grid
        assert jitney.sharding.get_abstract_mesh() == grid.abstract_mesh
        np.testing.assert_array_equal(run(A[:4]), A[:4].sum(0)[None])
        on_axes = jitney.shard_map(lambda v: v, mesh=grid.abstract_mesh, in_specs=P("y"),
                                   out_specs=P("y"))
        assert on_axes(A[:4]).sharding.mesh == grid
    assert jitney.sharding.get_mesh().empty
    with grid:
        np.testing.assert_array_equal(run(A[:4]), A[:4].sum(0)[None])
    with jitney.sharding.use_abstract_mesh(AbstractMesh((2,), ("q",))):
        assert jitney.sharding.get_abstract_mesh().axis_names == ("q",)


def test_what_varies(grid):
    def run(f, out_specs, **options):
        return jitney.shard_map(f, mesh=grid, in_specs=P("x"), out_specs=out_specs, **options)

    x = A[:4]
    refused = [
        (lambda v: v, P()), (lambda v: lax.psum(v, "y"), P()), (lambda v: lax.axis_index("y"), P()),
        (lambda v: lax.all_gather(v, "x", tiled=True), P()),
        (lambda v: lax.psum(v, "x") * lax.axis_index("y"), P("x")),
        (lambda v: lax.pcast(lax.psum(v, "x"), "x", to="varying"), P()),
        (lambda v: lax.fori_loop(0, 2, lambda i, c: c * 2, v), P()),
        (lambda v: jitney.jit(lambda u: u + 1)(v), P()),
    ]
    for f, spec in refused:
        with pytest.raises(ValueError, match="can't be statically inferred"):
            run(f, spec)(x)
        run(f, spec, check_vma=False)(x)
    fine = [
        (lambda v: lax.psum(v, "x"), P()), (lambda v: lax.pmax(v, "x"), P()),
        (lambda v: lax.pmean(v, "x"), P()), (lambda v: jnp.ones(2), P()),
        (lambda v: jitney.jit(lambda u: lax.psum(jitney.nn.relu(u), "x") + 1)(v), P()),
        (lambda v: jnp.where(lax.psum(v, "x") > 3, 1.0, jnp.zeros(v.shape)), P()),
        (lambda v: lax.fori_loop(0, 2, lambda i, c: c * 2, lax.psum(v, "x")), P()),
        (lambda v: lax.scan(lambda c, a: (c + 1, c), 0.0, lax.psum(v, "x"))[1], P()),
        (lambda v: jitney.vmap(lambda u: lax.psum(u, "x"))(v), P()),
        (lambda v: lax.psum(jitney.checkpoint(jnp.sin)(v), "x"), P()),
    ]
    for f, spec in fine:
        got, want = run(f, spec)(x), run(f, spec, check_vma=False)(x)
        np.testing.assert_array_equal(got, want)


def test_effects_inside(line, capfd):
    def f(v):
        jitney.debug.print("here {}", lax.axis_index("i"))
        return v

    jitney.shard_map(f, mesh=line, in_specs=P("i"), out_specs=P("i"))(jnp.arange(4.0))
    jitney.effects_barrier()
    assert sorted(capfd.readouterr().out.split("\n"))[1:] == [f"here {i}" for i in range(4)]


def test_text(grid):
    run = jitney.shard_map(lambda v: lax.psum(v, "x"), mesh=grid, in_specs=P("x", "y"),
                           out_specs=P(None, "y"))
    text = str(jitney.make_jaxpr(run)(jnp.ones((4, 4))))
    for part in ("check_vma=True", "in_specs=(P('x', 'y'),)", "psum_invariant[axes=('x',)]",
                 "mesh=Mesh('x': 2, 'y': 4, axis_types=(Auto, Auto))", "out_specs=(P(None, 'y'),)",
                 "newly_manual_axes=frozenset({'x', 'y'})"):
        assert part in text
    assert "b:f32[2,4] = shard_map[" in text


def test_traced_once(line):
    traces = []

    def f(v):
        traces.append(1)
        return v

    run = jitney.shard_map(f, mesh=line, in_specs=P("i"), out_specs=P("i"))
    for _ in range(3):
        run(jnp.arange(4.0))
    assert len(traces) == 1


def test_specs_from_arrays(line):
    x = jitney.device_put(A, NamedSharding(line, P("i")))
    out = jitney.shard_map(lambda v: v.sum(0, keepdims=True), mesh=line, out_specs=P("i"))(x)
    np.testing.assert_array_equal(out, A.reshape(4, 2, 6).sum(1))
    with pytest.raises(ValueError, match="without in_specs"):
        jitney.shard_map(lambda v: v, mesh=line, out_specs=P("i"))(A)


def test_errors(grid):
    def run(f=lambda v: v, x=A, **options):
        given = {"mesh": grid, "in_specs": P("x"), "out_specs": P("x"), **options}
        return jitney.shard_map(f, **given)(x)

    with pytest.raises(ValueError, match="does not evenly divide 3"):
        run(x=A[:3])
    with pytest.raises(ValueError, match="too long"):
        run(x=A[0, 0])
    with pytest.raises(ValueError, match="too long"):
        run(lambda v: v.sum())
    with pytest.raises(ValueError, match="different lengths"):
        run(in_specs=(P(), P()))
    with pytest.raises(ValueError, match="different lengths"):
        run(lambda v: (v, v), out_specs=(P("x"),))
    with pytest.raises(ValueError, match="refers to 'z'"):
        run(in_specs=P("z"))
    with pytest.raises(ValueError, match="refers to 'z'"):
        run(out_specs=P("z"))
    with pytest.raises(TypeError, match="PartitionSpec"):
        run(in_specs="x")
    with pytest.raises(TypeError, match="Mesh"):
        run(mesh="x")
    with pytest.raises(ValueError, match="subset"):
        run(axis_names={"z"})
    with pytest.raises(NotImplementedError, match="check_vma=False"):
        run(lambda v: lax.psum(v, "x", axis_index_groups=[[0], [1]]))
    with pytest.raises(ValueError, match="duplicate"):
        run(in_specs=P("x", "x"))
    with pytest.raises(TypeError):
        jitney.shard_map(lambda v: v, mesh=grid, in_specs=P(), out_specs=None)
