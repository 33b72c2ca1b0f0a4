"""jitney: traces Python functions on arrays, transforms them, and compiles them for this machine.

The public names are those of JAX: `jit`, `make_jaxpr`, `numpy`, `lax`, `random`, `tree_util`, …
Submodules are imported when first used.
"""

import importlib as _importlib
import importlib.util as _importlib_util

from jitney import core, dtypes, errors, sharding, stages, tree, tree_util, typing
from jitney.api.array_attributes import Array, Shard
from jitney.api.callbacks import pure_callback
from jitney.api.checkpoint import checkpoint, checkpoint_policies, remat
from jitney.api.custom_derivatives import custom_jvp, custom_vjp
from jitney.api.custom_gradients import closure_convert, custom_gradient
from jitney.api.devices import (
    Device,
    block_until_ready,
    copy_to_host_async,
    default_backend,
    device_count,
    device_get,
    device_put,
    devices,
    effects_barrier,
    live_arrays,
    local_device_count,
    local_devices,
    make_array_from_callback,
    make_array_from_process_local_data,
    make_array_from_single_device_arrays,
    print_environment_info,
    process_count,
    process_index,
    process_indices,
)
from jitney.api.devices import process_count as host_count
from jitney.api.devices import process_index as host_id
from jitney.api.devices import process_indices as host_ids
from jitney.api.explicit_sharding import reshard
from jitney.api.forward_backward import fwd_and_bwd
from jitney.api.grad import grad, hessian, jacfwd, jacobian, jacrev, value_and_grad
from jitney.api.jit import clear_caches, jit
from jitney.api.jvp_vjp import jvp, linear_transpose, linearize, vjp
from jitney.api.make_jaxpr import checking_leaks, eval_shape, make_jaxpr, named_call, named_scope
from jitney.api.pmap import pmap
from jitney.api.shapes import ShapeDtypeStruct, typeof
from jitney.api.shard_map import shard_map
from jitney.api.smap import smap
from jitney.api.vmap import vmap
from jitney.base import config as _config
from jitney.base.config import config, make_user_context
from jitney.base.dtypes import float0
from jitney.base.version import __version__
from jitney.core.trace import ensure_compile_time_eval
from jitney.numpy.dynamic_slices import ds
from jitney.placement.mesh import make_mesh, set_mesh
from jitney.placement.partition_spec import P
from jitney.placement.shardings import NamedSharding
from jitney.unsupported_names import Ref, ad, empty_ref, free_ref, freeze, new_ref

from jitney import wiring as _wiring  # isort: skip  (fills the slots; needs everything above)

enable_x64 = _config.enable_x64
debug_nans = _config.debug_nans
debug_infs = _config.debug_infs
debug_key_reuse = _config.debug_key_reuse
check_tracer_leaks = _config.check_tracer_leaks
enable_checks = _config.enable_checks
enable_custom_prng = _config.enable_custom_prng
default_device = _config.default_device
default_matmul_precision = _config.default_matmul_precision
default_prng_impl = _config.default_prng_impl
numpy_dtype_promotion = _config.numpy_dtype_promotion
numpy_rank_promotion = _config.numpy_rank_promotion
log_compiles = _config.log_compiles
explain_cache_misses = _config.explain_cache_misses
legacy_prng_key = _config.legacy_prng_key
threefry_partitionable = _config.threefry_partitionable
softmax_custom_jvp = _config.softmax_custom_jvp
no_tracing = _config.no_tracing
no_execution = _config.no_execution
transfer_guard = _config.transfer_guard
transfer_guard_host_to_device = _config.transfer_guard_host_to_device
transfer_guard_device_to_host = _config.transfer_guard_device_to_host
transfer_guard_device_to_device = _config.transfer_guard_device_to_device
allow_f16_reductions = _config.allow_f16_reductions
auto_pcast = _config.auto_pcast
remove_size_one_mesh_axis_from_type = _config.remove_size_one_mesh_axis_from_type
array_garbage_collection_guard = _config.array_garbage_collection_guard
thread_guard = _config.thread_guard
jax2tf_associative_scan_reductions = _config.jax2tf_associative_scan_reductions


def disable_jit(disable: bool = True):
    """A context in which `jit` runs functions operation by operation, so that they can be debugged
    with Python's means; `disable=False` undoes an outer one.
    """
    return _config.disable_jit(disable)


def __getattr__(name: str):
    """Submodules (`jitney.numpy`, `jitney.lax`, …) and tools when first used."""
    if name == "explain":
        return _importlib.import_module("jitney.tools.explain").explain
    if not name.startswith("_") and _importlib_util.find_spec(f"{__name__}.{name}") is not None:
        return _importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "Array", "Device", "ShapeDtypeStruct", "__version__", "allow_f16_reductions",
    "block_until_ready", "check_tracer_leaks", "checking_leaks", "checkpoint",
    "checkpoint_policies", "clear_caches", "closure_convert", "config", "copy_to_host_async",
    "core", "custom_gradient", "custom_jvp", "custom_vjp", "debug_infs", "debug_key_reuse",
    "debug_nans", "default_backend", "default_device", "default_matmul_precision",
    "default_prng_impl", "device_count", "device_get", "device_put", "devices", "disable_jit",
    "dtypes", "effects_barrier", "enable_checks", "enable_custom_prng", "enable_x64",
    "ensure_compile_time_eval", "errors", "eval_shape", "explain", "explain_cache_misses",
    "float0", "grad", "hessian", "jacfwd", "jacobian", "jacrev", "jit", "jvp",
    "legacy_prng_key", "linear_transpose", "linearize", "live_arrays", "local_device_count",
    "local_devices", "log_compiles", "make_array_from_callback",
    "make_array_from_process_local_data", "make_array_from_single_device_arrays", "make_jaxpr",
    "named_call", "named_scope", "no_execution", "no_tracing", "numpy_dtype_promotion",
    "numpy_rank_promotion", "pmap", "print_environment_info", "process_count", "process_index",
    "process_indices", "pure_callback", "remat", "sharding", "softmax_custom_jvp", "stages",
    "threefry_partitionable", "transfer_guard", "transfer_guard_device_to_device",
    "transfer_guard_device_to_host", "transfer_guard_host_to_device", "tree", "tree_util",
    "NamedSharding", "P", "Shard", "make_mesh", "reshard", "set_mesh", "shard_map",
    "typeof", "typing", "value_and_grad", "vjp", "vmap"]
