"""Initial values of weights, under the names of `jax.nn.initializers`.

In: what characterises a distribution. Out: a function `(key, shape, dtype) -> array`.
Invariant: a fan is the number of terms that meet in a sum, sizes of the receptive field included.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from jitney import numpy as jnp
from jitney import random
from jitney.base import dtypes
from jitney.lax.out_sharding import check_out_sharding


@runtime_checkable
class Initializer(Protocol):
    """What initializers are: functions of a key, a shape and a dtype."""

    def __call__(self, key: Any, shape: Any, dtype: Any = None, out_sharding: Any = None) -> Any:
        raise NotImplementedError


def _dtype(dtype: Any) -> Any:
    return dtypes.canonicalize_dtype(float if dtype is None else dtype)


# --- constants ---------------------------------------------------------------------------------


def zeros(key, shape, dtype=None, out_sharding=None):
    """All zeros; the key is there because initializers have one."""
    return jnp.zeros(shape, _dtype(dtype), out_sharding=out_sharding)


def ones(key, shape, dtype=None, out_sharding=None):
    """All ones; the key is there because initializers have one."""
    return jnp.ones(shape, _dtype(dtype), out_sharding=out_sharding)


def constant(value, dtype=None):
    """One value everywhere."""
    default = dtype

    def init(key, shape, dtype=default, out_sharding=None):
        return jnp.full(shape, value, dtype=_dtype(dtype), out_sharding=out_sharding)

    return init


# --- distributions of a given width ------------------------------------------------------------


def uniform(scale=1e-2, dtype=None):
    """Uniform in [0, scale)."""
    default = dtype

    def init(key, shape, dtype=default, out_sharding=None):
        wanted = _dtype(dtype)
        drawn = random.uniform(key, shape, wanted, out_sharding=out_sharding)
        return drawn * jnp.array(scale, wanted)

    return init


def normal(stddev=1e-2, dtype=None):
    """Normal of mean 0."""
    default = dtype

    def init(key, shape, dtype=default, out_sharding=None):
        wanted = _dtype(dtype)
        drawn = random.normal(key, shape, wanted, out_sharding=out_sharding)
        return drawn * jnp.array(stddev, wanted)

    return init


def truncated_normal(stddev=1e-2, dtype=None, lower=-2.0, upper=2.0):
    """Normal of mean 0, cut at `lower` and `upper` (in standard deviations)."""
    default = dtype

    def init(key, shape, dtype=default, out_sharding=None):
        wanted = _dtype(dtype)
        drawn = random.truncated_normal(key, lower, upper, shape, wanted,
                                        out_sharding=out_sharding)
        return drawn * jnp.array(stddev, wanted)

    return init


# --- distributions scaled by fans --------------------------------------------------------------


def _axes(axes: int | Sequence[int]) -> Sequence[int]:
    return [axes] if isinstance(axes, int) else axes


def _fans(shape, in_axis, out_axis, batch_axis) -> tuple[float, float]:
    if len(shape) <= 1:
        raise ValueError(f"Can't compute input and output sizes of a {len(shape)}-dimensional "
                         "weights tensor with default in_axis. Must be at least 2D or specify "
                         "in_axis explicitly.")
    sizes = [math.prod(shape[i] for i in _axes(axes)) for axes in (in_axis, out_axis, batch_axis)]
    into, out_of, batch = sizes
    field = math.prod(shape) / into / out_of / batch
    return into * field, out_of * field


def _fan(mode, fan_in, fan_out):
    if mode == "fan_in":
        return fan_in
    if mode == "fan_out":
        return fan_out
    if mode == "fan_avg":
        return (fan_in + fan_out) / 2
    if mode == "fan_geo_avg":
        return (fan_in * fan_out) ** 0.5
    raise ValueError(f"invalid mode for variance scaling initializer: {mode}")


# The standard deviation of a normal number cut at two standard deviations.
_CUT_DEVIATION = 0.87962566103423978


def variance_scaling(scale, mode, distribution, in_axis=-2, out_axis=-1, batch_axis=(),
                     dtype=None):
    """Random numbers of variance scale / fan."""
    default = dtype

    def init(key, shape, dtype=default, out_sharding=None):
        wanted = _dtype(dtype)
        check_out_sharding("variance_scaling", out_sharding)
        shape = tuple(int(n) for n in shape)
        fan_in, fan_out = _fans(shape, in_axis, out_axis, batch_axis)
        real = np.dtype(f"float{wanted.itemsize * 4}") if dtypes.is_complex(wanted) else wanted
        variance = jnp.array(scale / _fan(mode, fan_in, fan_out), real)
        if distribution == "normal":
            drawn = random.normal(key, shape, wanted, out_sharding=out_sharding)
            return drawn * jnp.sqrt(variance).astype(wanted)
        if distribution == "uniform":
            if dtypes.is_complex(wanted):
                return _disc(key, shape, real, wanted) * jnp.sqrt(variance).astype(wanted)
            drawn = random.uniform(key, shape, wanted, -1, out_sharding=out_sharding)
            return drawn * jnp.sqrt(3 * variance).astype(wanted)
        if distribution == "truncated_normal":
            if dtypes.is_complex(wanted):
                width = jnp.sqrt(variance) / jnp.array(0.95311164380491208, real)
                return _cut_disc(key, 2, shape, real, wanted) * width.astype(wanted)
            width = jnp.sqrt(variance) / jnp.array(_CUT_DEVIATION, wanted)
            return random.truncated_normal(key, -2, 2, shape, wanted,
                                           out_sharding=out_sharding) * width
        raise ValueError("invalid distribution for variance scaling initializer: "
                         f"{distribution}")

    return init


def _turned(key, lengths, shape, real, wanted):
    """Complex numbers of given lengths and uniform directions."""
    angle = 2 * jnp.pi * random.uniform(key, shape, real).astype(wanted)
    return lengths * jnp.exp(1j * angle)


def _disc(key, shape, real, wanted):
    """Uniform complex numbers of variance 1 in a disc."""
    radius_key, angle_key = random.split(key)
    radius = jnp.sqrt(2 * random.uniform(radius_key, shape, real)).astype(wanted)
    return _turned(angle_key, radius, shape, real, wanted)


def _cut_disc(key, upper, shape, real, wanted):
    """Complex normal numbers of at most a given length."""
    radius_key, angle_key = random.split(key)
    mass = (1 - jnp.exp(jnp.array(-(upper ** 2), wanted))) * random.uniform(
        radius_key, shape, real).astype(wanted)
    return _turned(angle_key, jnp.sqrt(-jnp.log(1 - mass)), shape, real, wanted)


def _named(name, doc, scale, mode, distribution):
    def make(in_axis=-2, out_axis=-1, batch_axis=(), dtype=None):
        return variance_scaling(scale, mode, distribution, in_axis=in_axis, out_axis=out_axis,
                                batch_axis=batch_axis, dtype=dtype)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = doc
    return make


glorot_uniform = xavier_uniform = _named(
    "glorot_uniform", "Uniform of variance 1 / mean fan.", 1.0, "fan_avg", "uniform")
glorot_normal = xavier_normal = _named(
    "glorot_normal", "Cut normal of variance 1 / mean fan.", 1.0, "fan_avg", "truncated_normal")
lecun_uniform = _named(
    "lecun_uniform", "Uniform of variance 1 / fan-in.", 1.0, "fan_in", "uniform")
lecun_normal = _named(
    "lecun_normal", "Cut normal of variance 1 / fan-in.", 1.0, "fan_in", "truncated_normal")
he_uniform = kaiming_uniform = _named(
    "he_uniform", "Uniform of variance 2 / fan-in.", 2.0, "fan_in", "uniform")
he_normal = kaiming_normal = _named(
    "he_normal", "Cut normal of variance 2 / fan-in.", 2.0, "fan_in", "truncated_normal")

# --- orthogonal --------------------------------------------------------------------------------


def orthogonal(scale=1.0, column_axis=-1, dtype=None):
    """Matrices with orthonormal columns (or rows), times `scale`."""
    default = dtype

    def init(key, shape, dtype=default, out_sharding=None):
        wanted = _dtype(dtype)
        check_out_sharding("orthogonal", out_sharding)
        if len(shape) < 2:
            raise ValueError("orthogonal initializer requires at least a 2D shape")
        columns = shape[column_axis]
        rows = math.prod(shape) // columns
        q = random.orthogonal(key, rows, (), wanted, columns)
        q = jnp.reshape(q, (*np.delete(shape, column_axis).tolist(), columns))
        return jnp.array(scale, wanted) * jnp.moveaxis(q, -1, column_axis)

    return init


def delta_orthogonal(scale=1.0, column_axis=-1, dtype=None):
    """Convolution kernels that are orthogonal in the middle and 0 elsewhere."""
    default = dtype

    def init(key, shape, dtype=default, out_sharding=None):
        wanted = _dtype(dtype)
        check_out_sharding("delta_orthogonal", out_sharding)
        if len(shape) not in (3, 4, 5):
            raise ValueError("Delta orthogonal initializer requires a 3D, 4D or 5D shape.")
        if shape[-1] < shape[-2]:
            raise ValueError("`fan_in` must be less or equal than `fan_out`. ")
        matrix = orthogonal(scale, column_axis, wanted)(key, shape[-2:])
        middle = tuple((n - 1) // 2 for n in shape[:-2])
        return jnp.zeros(shape, wanted).at[middle].set(matrix)

    return init


__all__ = [
    "Initializer", "constant", "delta_orthogonal", "glorot_normal", "glorot_uniform", "he_normal",
    "he_uniform", "kaiming_normal", "kaiming_uniform", "lecun_normal", "lecun_uniform", "normal",
    "ones", "orthogonal", "truncated_normal", "uniform", "variance_scaling", "xavier_normal",
    "xavier_uniform", "zeros",
]
