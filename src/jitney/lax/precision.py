"""How exactly a contraction is computed: Precision, DotAlgorithm, and their names.

In: what users write (`"highest"`, `Precision.HIGH`, a pair of these, an algorithm's name). Out:
the canonical value of the parameter `precision`.
On this back end float32 contractions are always computed in float32, so the value is carried
for programs that inspect it and for other back ends.
"""

from __future__ import annotations

import enum
from typing import Any, NamedTuple

import numpy as np

from jitney.base import config


class Precision(enum.Enum):
    """Precision of contractions: DEFAULT, HIGH, HIGHEST."""

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2

    def __repr__(self):
        return f"Precision.{self.name}"

    def __str__(self):
        return self.name


class DotAlgorithm(NamedTuple):
    """An explicit algorithm: types of the operands, of the accumulator, number of products."""

    lhs_precision_type: Any
    rhs_precision_type: Any
    accumulation_type: Any
    lhs_component_count: int = 1
    rhs_component_count: int = 1
    num_primitive_operations: int = 1
    allow_imprecise_accumulation: bool = False


class DotAlgorithmPreset(enum.Enum):
    """Well-known algorithms, named operand_operand_accumulator."""

    DEFAULT = enum.auto()
    ANY_F8_ANY_F8_F32 = enum.auto()
    ANY_F8_ANY_F8_F32_FAST_ACCUM = enum.auto()
    ANY_F8_ANY_F8_ANY = enum.auto()
    ANY_F8_ANY_F8_ANY_FAST_ACCUM = enum.auto()
    F16_F16_F16 = enum.auto()
    F16_F16_F32 = enum.auto()
    BF16_BF16_BF16 = enum.auto()
    BF16_BF16_F32 = enum.auto()
    BF16_BF16_F32_X3 = enum.auto()
    BF16_BF16_F32_X6 = enum.auto()
    BF16_BF16_F32_X9 = enum.auto()
    TF32_TF32_F32 = enum.auto()
    TF32_TF32_F32_X3 = enum.auto()
    F32_F32_F32 = enum.auto()
    F64_F64_F64 = enum.auto()

    def __repr__(self):
        return f"DotAlgorithmPreset.{self.name}"

    def __str__(self):
        return self.name


_NAMES = {
    "highest": Precision.HIGHEST, "float32": Precision.HIGHEST, "high": Precision.HIGH,
    "bfloat16_3x": Precision.HIGH, "tensorfloat32": Precision.HIGH,
    "default": Precision.DEFAULT, "bfloat16": Precision.DEFAULT, "fastest": Precision.DEFAULT,
    None: Precision.DEFAULT,
}


PrecisionLike = (None | str | Precision | tuple[str, str] | tuple[Precision, Precision]
                 | DotAlgorithm | DotAlgorithmPreset)


def canonicalize_precision(precision: Any) -> Any:
    """None, a pair of `Precision`, a `DotAlgorithmPreset` or a `DotAlgorithm`.

    None means the configured default, `jax_default_matmul_precision`.
    """
    if precision is None:
        precision = config.default_matmul_precision.value
        if precision is None:
            return None
    if isinstance(precision, (DotAlgorithm, DotAlgorithmPreset)):
        return precision
    if isinstance(precision, Precision):
        return precision, precision
    if isinstance(precision, str):
        if precision in _NAMES:
            return _NAMES[precision], _NAMES[precision]
        if precision in DotAlgorithmPreset.__members__:
            return DotAlgorithmPreset[precision]
    elif isinstance(precision, (tuple, list)) and len(precision) == 2:
        pair = tuple([p if isinstance(p, Precision) else _NAMES.get(p) for p in precision])
        if all(pair):
            return pair
    raise ValueError(
        f"Precision argument must be one of:\n- None,\n- a string in {list(_NAMES)},\n"
        "- a lax.Precision value,\n- a tuple of two lax.Precision values or strings,\n"
        "- a lax.DotAlgorithmPreset or the name of one of these presets, or\n"
        f"- a lax.DotAlgorithm value;\nbut got {precision}.")


def preferred_dtype(dtype: Any, preferred: Any) -> Any:
    """The result's dtype: what is preferred if anything; integers may only grow."""
    if preferred is None:
        return dtype
    integral = np.issubdtype(dtype, np.integer) and np.issubdtype(preferred, np.integer)
    if integral and preferred.itemsize < dtype.itemsize:
        raise TypeError("`preferred_element_type` must not be narrower than the original type, got "
                        f"preferred_element_type of {preferred} for result type of {dtype}.")
    return preferred
