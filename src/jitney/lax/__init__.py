"""Layer 4: the primitives and their mathematics, by family, under the names of `jax.lax`.

A family's file states for each primitive: function, type rule, NumPy reference, derivative,
transposition, batching. What a machine does with them is in `jitney.lower`, in files named alike.
"""

import importlib as _importlib

from jitney.lax.accuracy import *  # noqa: F403
from jitney.lax.arithmetic import *  # noqa: F403
from jitney.lax.bits import *  # noqa: F403
from jitney.lax.cast import *  # noqa: F403
from jitney.lax.compare import *  # noqa: F403
from jitney.lax.complex_parts import *  # noqa: F403
from jitney.lax.control_flow import *  # noqa: F403
from jitney.lax.conv import (
    ConvDimensionNumbers,
    ConvGeneralDilatedDimensionNumbers,
    conv_dimension_numbers,
    conv_general_dilated,
    conv_general_dilated_p,
    conv_general_permutations,
)
from jitney.lax.conv_functions import (
    conv,
    conv_general_dilated_local,
    conv_general_dilated_patches,
    conv_general_shape_tuple,
    conv_shape_tuple,
    conv_transpose,
    conv_transpose_shape_tuple,
    conv_with_general_padding,
)
from jitney.lax.cumulative import *  # noqa: F403
from jitney.lax.dot import (
    DotDimensionNumbers,
    batch_matmul,
    dot,
    dot_general,
    dot_general_p,
)
from jitney.lax.elementwise_binary import *  # noqa: F403
from jitney.lax.elementwise_unary import *  # noqa: F403
from jitney.lax.fft import *  # noqa: F403
from jitney.lax.gather import (
    GatherDimensionNumbers,
    GatherScatterMode,
    gather,
    gather_p,
    index_take,
)
from jitney.lax.general_reduce import *  # noqa: F403
from jitney.lax.identity import *  # noqa: F403
from jitney.lax.joining import (
    concatenate,
    concatenate_p,
    pad,
    pad_p,
    split,
    split_p,
    stack,
    stack_p,
    tile,
    tile_p,
    unstack,
    unstack_p,
)
from jitney.lax.padding import padtype_to_pads
from jitney.lax.parallel import *  # noqa: F403
from jitney.lax.placing import (
    device_put_p,
    sharding_constraint_p,
    with_sharding_constraint,
)
from jitney.lax.precision import DotAlgorithm, DotAlgorithmPreset, Precision, PrecisionLike
from jitney.lax.promotion import *  # noqa: F403
from jitney.lax.ragged import *  # noqa: F403
from jitney.lax.random_bits import *  # noqa: F403
from jitney.lax.reduce import *  # noqa: F403
from jitney.lax.scatter import (
    ScatterDimensionNumbers,
    scatter,
    scatter_add,
    scatter_add_p,
    scatter_apply,
    scatter_max,
    scatter_max_p,
    scatter_min,
    scatter_min_p,
    scatter_mul,
    scatter_mul_p,
    scatter_p,
    scatter_sub,
    scatter_sub_p,
)
from jitney.lax.select import *  # noqa: F403
from jitney.lax.shape import (
    broadcast,
    broadcast_in_dim,
    broadcast_in_dim_p,
    broadcast_like,
    broadcast_shapes,
    broadcast_to_rank,
    broadcasted_iota,
    collapse,
    empty,
    expand_dims,
    full,
    full_like,
    iota,
    iota_p,
    reshape,
    reshape_p,
    rev,
    rev_p,
    shape_as_value,
    squeeze,
    squeeze_p,
    transpose,
    transpose_p,
)
from jitney.lax.slicing import (
    dynamic_index_in_dim,
    dynamic_slice,
    dynamic_slice_in_dim,
    dynamic_slice_p,
    dynamic_update_index_in_dim,
    dynamic_update_slice,
    dynamic_update_slice_in_dim,
    dynamic_update_slice_p,
    index_in_dim,
    slice,
    slice_in_dim,
    slice_p,
)
from jitney.lax.sort import *  # noqa: F403
from jitney.lax.special import *  # noqa: F403
from jitney.lax.unsupported import *  # noqa: F403
from jitney.lax.windowed import (
    reduce_window,
    reduce_window_max_p,
    reduce_window_min_p,
    reduce_window_p,
    reduce_window_shape_tuple,
    reduce_window_sum_p,
    select_and_gather_add_p,
    select_and_scatter_add_p,
)

from jitney.lax import windowed_fold as _windowed_fold  # isort: skip  (registers its rules)

linear_solve_p = custom_linear_solve_p  # noqa: F405  (its other name)

_LATER = ("linalg",)


def __getattr__(name: str):
    """Submodules that are imported when first used."""
    if name in _LATER:
        return _importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
