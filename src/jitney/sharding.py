"""Meshes, partition specs and shardings, by their names in `jax.sharding`."""

from jitney.api.explicit_sharding import (
    AbstractDevice,
    ManualAxisType,
    auto_axes,
    explicit_axes,
    make_single_device_sharding,
    reshard,
)
from jitney.placement.mesh import (
    AbstractMesh,
    AxisType,
    Mesh,
    get_abstract_mesh,
    get_mesh,
    set_mesh,
    use_abstract_mesh,
)
from jitney.placement.partition_spec import PartitionSpec
from jitney.placement.shardings import NamedSharding, Sharding, SingleDeviceSharding

use_mesh = set_mesh     # its name before JAX 0.7

__all__ = [
    "AbstractDevice", "AbstractMesh", "AxisType", "ManualAxisType", "Mesh", "NamedSharding",
    "PartitionSpec", "Sharding", "SingleDeviceSharding", "auto_axes", "explicit_axes",
    "get_abstract_mesh", "get_mesh", "make_single_device_sharding", "reshard", "set_mesh",
    "use_abstract_mesh", "use_mesh",
]
