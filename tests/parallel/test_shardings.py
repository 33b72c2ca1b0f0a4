"""Meshes, specs, shardings; device_put; arrays that know their shards; arrays from shards."""

import copy
import pickle

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney.placement.devices import cpu_devices
from jitney.sharding import (
    AbstractMesh,
    AxisType,
    Mesh,
    NamedSharding,
    SingleDeviceSharding,
    reshard,
)
from jitney.sharding import PartitionSpec as P

A = np.arange(32.0, dtype="f4").reshape(4, 8)


def test_partition_spec():
    assert P(("x",)) == P("x") and P(()) == P(None) and P("x") != P("x", None) and P("x") != ("x",)
    assert P("x") + P("y") == P("x", "y") and ("x",) + P("y") == P("x", "y")
    assert repr(P()) == "P()" and repr(P("x", ("y", "z"))) == "P('x', ('y', 'z'))"
    assert list(P("x", None)) == ["x", None] and len(P("x", None)) == 2 and P("x")[0] == "x"
    assert hash(P("x")) == hash(P("x")) and pickle.loads(pickle.dumps(P("x", None))) == P("x", None)
    assert repr(P.UNCONSTRAINED) == "UNCONSTRAINED" and P("a", "b").index("b") == 1
    with pytest.raises(NotImplementedError, match="explicit"):
        P("x", unreduced={"y"})


def test_mesh(grid):
    assert grid.shape == {"x": 2, "y": 4} and grid.size == 8 and not grid.empty
    assert grid.axis_names == ("x", "y") and grid.axis_sizes == (2, 4)
    assert grid.axis_types == (AxisType.Auto,) * 2
    np.testing.assert_array_equal(grid.device_ids, np.arange(8).reshape(2, 4))
    same = Mesh(np.array(cpu_devices()).reshape(2, 4), ("x", "y"))
    assert same == grid and hash(same) == hash(grid) and same != Mesh(cpu_devices(), "x")
    assert str(grid) == "Mesh('x': 2, 'y': 4, axis_types=(Auto, Auto))"
    assert repr(grid) == ("Mesh(axis_sizes=(2, 4), axis_names=('x', 'y'), "
                          "axis_types=(Auto, Auto))")
    assert grid.abstract_mesh == AbstractMesh((2, 4), ("x", "y"))
    assert repr(grid.abstract_mesh) == "AbstractMesh('x': 2, 'y': 4, axis_types=(Auto, Auto))"
    with pytest.raises(ValueError, match="devices.ndim == 2"):
        Mesh(np.array(cpu_devices()).reshape(2, 4), ("x",))
    with pytest.raises(ValueError, match="different names"):
        Mesh(np.array(cpu_devices()).reshape(2, 4), ("x", "x"))
    with pytest.raises(ValueError):
        grid.devices[0, 0] = None


def test_make_mesh():
    mesh = jitney.make_mesh((2, 4), ("x", "y"))
    assert mesh.axis_types == (AxisType.Explicit,) * 2
    assert jitney.make_mesh((2,), ("x",), (AxisType.Auto,)).devices[1] is jitney.devices()[1]
    chosen = jitney.devices()[5:7]
    assert list(jitney.make_mesh((2,), ("x",), devices=chosen).devices) == chosen
    with pytest.raises(ValueError, match="Number of devices 8 must be >="):
        jitney.make_mesh((3, 5), ("x", "y"))
    with pytest.raises(ValueError, match="one name an axis"):
        jitney.make_mesh((2,), ("x", "y"))
    with pytest.raises(TypeError, match="AxisType"):
        jitney.make_mesh((2,), ("x",), ("Auto",))


def test_named_sharding(grid):
    s = NamedSharding(grid, P("x", None))
    assert repr(s) == f"NamedSharding(mesh={grid}, spec=P('x', None), memory_kind=device)"
    assert s.shard_shape((4, 8)) == (2, 8) and s.num_devices == 8 and not s.is_fully_replicated
    assert s != NamedSharding(grid, P("x")) and s.is_equivalent_to(NamedSharding(grid, P("x")), 2)
    assert not s.is_equivalent_to(NamedSharding(grid, P("y")), 2)
    assert s.device_set == set(cpu_devices()) and s.replicated_axes == {"y"}
    index = s.devices_indices_map((4, 8))
    assert index[cpu_devices()[5]] == (slice(2, 4), slice(None))
    assert NamedSharding(grid, P()).is_fully_replicated
    with pytest.raises(ValueError, match="not found in mesh"):
        NamedSharding(grid, P("z"))
    with pytest.raises(ValueError, match="duplicate entries for `x`"):
        NamedSharding(grid, P("x", "x"))
    with pytest.raises(ValueError, match="partitioned 4 times, but the dimension size is 6"):
        NamedSharding(grid, P("y")).shard_shape((6,))
    with pytest.raises(ValueError, match="rank at least 2"):
        NamedSharding(grid, P("x", "y")).shard_shape((4,))
    with pytest.raises(TypeError):
        NamedSharding(grid, "x")
    with pytest.raises(ValueError, match="memory kind"):
        NamedSharding(grid, P(), memory_kind="hbm")
    one = SingleDeviceSharding(cpu_devices()[2])
    assert one == SingleDeviceSharding(cpu_devices()[2]) != SingleDeviceSharding(cpu_devices()[1])
    assert one.is_equivalent_to(NamedSharding(Mesh(cpu_devices()[2:3], "z"), P("z")), 1)


def test_arrays_know_their_shards(grid):
    x = jitney.device_put(A, NamedSharding(grid, P("x", "y")))
    np.testing.assert_array_equal(x, A)
    assert x.committed and not jnp.ones(3).committed
    assert [s.device.id for s in x.addressable_shards] == list(range(8))
    assert [s.replica_id for s in x.addressable_shards] == [0] * 8
    for shard in x.addressable_shards:
        np.testing.assert_array_equal(shard.data, A[shard.index])
        assert shard.data.sharding == SingleDeviceSharding(shard.device)
    np.testing.assert_array_equal(x.addressable_data(3), A[:2, 6:])
    rows = jitney.device_put(x, NamedSharding(grid, P("y")))
    assert [s.replica_id for s in rows.addressable_shards] == [0] * 4 + [1] * 4
    copied = jitney.device_put(A, NamedSharding(grid, P()))
    assert copied.is_fully_replicated
    assert [s.replica_id for s in copied.addressable_shards] == list(range(8))
    assert copy.copy(x).sharding == copy.deepcopy(x).sharding == x.sharding
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(x)), A)
    keys = jitney.device_put(jitney.random.split(jitney.random.key(0), 4), NamedSharding(
        grid, P("y")))
    assert keys.addressable_shards[1].data.shape == (1,)
    x.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        x.addressable_shards  # noqa: B018


def test_device_put(grid):
    two = jitney.devices()[2]
    x = jitney.device_put(3.0, two)
    assert x.device is two and x.devices() == {two}
    assert jitney.device_put(x).devices() == {two}              # None: it stays
    assert jitney.device_put(x, jitney.devices()[0]).device is jitney.devices()[0]
    s, t = NamedSharding(grid, P("x")), NamedSharding(grid, P(None, "y"))
    tree = jitney.device_put({"a": A, "b": (A, 1)}, {"a": s, "b": None})
    assert tree["a"].sharding == s and not tree["b"][1].committed
    pair = jitney.device_put((A, A), (s, t))
    assert pair[0].sharding == s and pair[1].sharding == t
    assert pair[0].device == s
    assert jitney.device_put(A, two).to_device(s).sharding == s
    with jitney.set_mesh(grid):
        assert jitney.device_put(A, P("x")).sharding == s
    with pytest.raises(RuntimeError, match="mesh in context"):
        jitney.device_put(A, P("x"))
    with pytest.raises(ValueError, match="should evenly divide"):
        jitney.device_put(A[:3], s)
    with pytest.raises(ValueError, match="rank at least 2"):
        jitney.device_put(A[0], t)
    with pytest.raises(ValueError, match="tree prefix"):
        jitney.device_put((A, A), (s,))
    with pytest.raises(ValueError, match="takes a jax.sharding.Sharding"):
        jitney.device_put(A, "cpu")
    assert jitney.device_put(x, jitney.memory.Space.Device).device is two
    with pytest.raises(NotImplementedError, match="one memory"):
        jitney.device_put(x, jitney.memory.Space.Host)
    with pytest.raises(TypeError, match="not a valid JAX type"):
        jitney.device_put("text", s)


def test_donation_and_aliases():
    x = jnp.arange(4.0)
    y = jitney.device_put(x, jitney.devices()[1], donate=True)
    assert x.is_deleted() and y.unsafe_buffer_pointer()
    z = jitney.device_put(y, may_alias=False)
    assert z.unsafe_buffer_pointer() != y.unsafe_buffer_pointer() and z.device is y.device
    with pytest.raises(ValueError, match="may_alias and donate"):
        jitney.device_put(y, donate=True, may_alias=True)


def test_under_transformations(grid):
    s = NamedSharding(grid, P("x", "y"))
    out = jitney.jit(lambda v: jitney.device_put(v * 2, s))(A)
    assert out.sharding == s
    np.testing.assert_array_equal(out, 2 * A)
    gradient = jitney.grad(lambda v: (jitney.device_put(v, s) ** 2).sum())(A)
    np.testing.assert_array_equal(gradient, 2 * A)
    batched = jitney.vmap(lambda v: jitney.device_put(v, NamedSharding(grid, P("x"))), in_axes=1,
                          out_axes=1)(A)
    assert batched.sharding.is_equivalent_to(NamedSharding(grid, P("x")), 2)


def test_operations_keep_shardings(grid):
    x = jitney.device_put(A, NamedSharding(grid, P("x", None)))

    def spec(value):
        assert value.sharding.mesh == grid
        return value.sharding.spec

    rows = P("x", None)
    assert spec(jnp.sin(x)) == spec(x + 1) == spec(x * x) == spec(x > 2) == rows
    assert spec(jitney.jit(lambda v: jnp.where(v > 2, v, 0) + v.sum())(x)) == rows
    assert spec(x.T) == P(None, "x") and spec(x.sum(0)) == P() and spec(x.sum(1)) == P("x")
    assert spec(x @ x.T).index("x") == 0 and spec(x.reshape(-1)) == P("x")
    assert spec(x.reshape(2, 2, 8)) == P("x") and spec(x[None]) == P(None, "x")
    assert spec(jnp.concatenate([x, x], 1)) == rows and spec(jnp.concatenate([x, x], 0)) == P()
    assert spec(jitney.nn.softmax(x)) == rows
    np.testing.assert_array_equal(x @ x.T, jnp.asarray(A) @ A.T)
    y = jitney.device_put(jnp.ones(3), jitney.devices()[1])
    assert (y + 1).device is jitney.devices()[1]
    assert (y + jnp.ones(3)).device is jitney.devices()[1]          # the other is not committed
    with pytest.raises(ValueError, match="incompatible devices.*device ids"):
        y + jitney.device_put(jnp.ones(3), jitney.devices()[2])
    with pytest.raises(ValueError, match="incompatible devices"):
        jitney.jit(lambda a, b: (a, b))(x, y)


def test_arrays_from_shards(grid):
    s = NamedSharding(grid, P("x", "y"))
    asked = []

    def part(index):
        asked.append(index)
        return A[index]

    x = jitney.make_array_from_callback(A.shape, s, part)
    np.testing.assert_array_equal(x, A)
    assert x.sharding == s and len(asked) == 8
    asked.clear()
    jitney.make_array_from_callback(A.shape, NamedSharding(grid, P("x")), part)
    assert len(asked) == 2                                           # once for each different part
    parts = [jitney.device_put(shard.data, shard.device) for shard in x.addressable_shards]
    for given in (parts, parts[::-1], [np.asarray(p) for p in parts]):
        y = jitney.make_array_from_single_device_arrays(A.shape, s, given)
        np.testing.assert_array_equal(y, A)
    z = jitney.make_array_from_process_local_data(s, A)
    assert z.sharding == s and np.array_equal(z, A)
    with pytest.raises(ValueError, match="8 devices, but 7"):
        jitney.make_array_from_single_device_arrays(A.shape, s, parts[1:])
    with pytest.raises(ValueError, match="one array on each device"):
        jitney.make_array_from_single_device_arrays(A.shape, s, [parts[0]] * 8)
    with pytest.raises(ValueError, match="every shard"):
        jitney.make_array_from_callback(A.shape, s, lambda index: A)
    with pytest.raises(TypeError, match="list or tuple"):
        jitney.make_array_from_single_device_arrays(A.shape, s, A)
    with pytest.raises(ValueError, match="whole array"):
        jitney.make_array_from_process_local_data(s, A, (8, 8))


def test_reshard_and_axes(grid):
    s = NamedSharding(grid, P("y"))
    assert reshard(A, s).sharding == s
    assert jitney.jit(lambda v: jitney.reshard(v, s))(A).sharding == s
    both = reshard({"a": A, "b": A}, {"a": s, "b": NamedSharding(grid, P())})
    assert both["b"].is_fully_replicated
    with pytest.raises(ValueError, match="Reshard"):
        reshard(A, None)
    f = jitney.sharding.auto_axes(lambda v: v + 1, out_sharding=s)
    assert f(jnp.asarray(A)).sharding == s
    with pytest.raises(NotImplementedError, match="explicit"):
        jitney.sharding.explicit_axes(lambda v: v)


def test_drawing(grid, capsys):
    x = jitney.device_put(A, NamedSharding(grid, P("x")))
    jitney.debug.visualize_array_sharding(x)
    assert "0,1,2,3" in capsys.readouterr().out.replace(" ", "")
    found = []
    jitney.debug.inspect_array_sharding(x, callback=found.append)
    assert found == [x.sharding]
