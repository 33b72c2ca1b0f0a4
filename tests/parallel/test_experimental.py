"""Names of jax.experimental about devices: mesh_utils, multihost_utils, shard_map, pjit."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney.experimental import mesh_utils, multihost_utils
from jitney.experimental.pjit import pjit
from jitney.experimental.shard_map import shard_map
from jitney.sharding import Mesh, NamedSharding
from jitney.sharding import PartitionSpec as P


def test_mesh_utils():
    grid = mesh_utils.create_device_mesh((2, 4))
    assert grid.shape == (2, 4) and list(grid.flat) == jitney.devices()
    backwards = mesh_utils.create_device_mesh((8,), jitney.devices()[::-1])
    assert [d.id for d in backwards] == list(range(7, -1, -1))
    hybrid = mesh_utils.create_hybrid_device_mesh((4, 2), (1, 1), process_is_granule=True)
    assert Mesh(hybrid, ("x", "y")).shape == {"x": 4, "y": 2}
    with pytest.raises(ValueError, match="must equal the product"):
        mesh_utils.create_device_mesh((3, 4))
    with pytest.raises(ValueError, match="process_is_granule"):
        mesh_utils.create_hybrid_device_mesh((4, 2), (1, 1))
    with pytest.raises(ValueError, match="dcn_mesh_shape"):
        mesh_utils.create_hybrid_device_mesh((2, 2), (2, 1), process_is_granule=True)
    with pytest.raises(TypeError, match="boolean"):
        mesh_utils.create_device_mesh((8,), contiguous_submeshes="yes")


def test_multihost_utils(grid):
    x = np.arange(8.0, dtype="f4")
    tree = multihost_utils.process_allgather({"a": x})
    np.testing.assert_array_equal(tree["a"], x[None])
    np.testing.assert_array_equal(multihost_utils.process_allgather(x, tiled=True), x)
    np.testing.assert_array_equal(multihost_utils.broadcast_one_to_all(jnp.asarray(x)), x)
    multihost_utils.sync_global_devices("here")
    multihost_utils.assert_equal(x, "differ")
    assert multihost_utils.reached_preemption_sync_point(3) is False
    whole = multihost_utils.host_local_array_to_global_array((x, x), grid, P("x"))
    assert whole[1].sharding == NamedSharding(grid, P("x"))
    back = multihost_utils.global_array_to_host_local_array(whole, grid, P("x"))
    np.testing.assert_array_equal(back[0], x)
    with pytest.raises(ValueError, match="source"):
        multihost_utils.broadcast_one_to_all(x, is_source=False)


def test_older_names(grid):
    x = np.arange(8.0, dtype="f4")
    with pytest.warns(DeprecationWarning):
        run = shard_map(lambda v: jitney.lax.psum(v, "x"), grid, P("x"), P(), check_rep=True)
    np.testing.assert_array_equal(run(x), x[:4] + x[4:])
    with pytest.warns(DeprecationWarning):
        placed = pjit(jnp.sin, None, NamedSharding(grid, P("y")))
    assert placed(x).sharding.spec == P("y")
