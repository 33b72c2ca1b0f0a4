"""Functions of `jax.lax`: values, dtypes, weak types, shapes and errors as JAX's."""

import numpy as np
import pytest
from compare import cases, check, dtype_named, name_of, pool, seed_of
from known import TOLERANCES, expecting
from lax_table import LAX, SPECIAL_BINARY, SPECIAL_UNARY

CASES = cases(LAX, 2)
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -3.0, 1e-4, 700.0, -700.0, 3e4, 1.0000001,
           np.inf, -np.inf, np.nan]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_lax(case):
    line, dtype, other, jit = case
    with expecting(line, dtype):
        check(line, pool(dtype, other, seed_of(line)), jit, TOLERANCES.get(line))


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("name", SPECIAL_UNARY)
def test_special_values(name, dtype):
    """Infinities, NaN, zeros and their signs."""
    line = f"lax.{name}(x)"
    check(line, {"x": np.array(SPECIAL).astype(dtype_named(dtype))}, True, TOLERANCES.get(line))


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("name", SPECIAL_BINARY)
def test_special_pairs(name, dtype):
    """Every pair of special values."""
    values = np.array(SPECIAL).astype(dtype_named(dtype))
    x, y = (a.ravel() for a in np.meshgrid(values, values))
    check(f"lax.{name}(x, y)", {"x": x, "y": y}, True, TOLERANCES.get(f"lax.{name}(x, y)"))


@pytest.mark.parametrize("target", ["int32", "int8", "uint8", "uint32", "float16", "bool"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_conversion_of_special_values(dtype, target):
    x = np.array([*SPECIAL, 3e9, -3e9, 130.7, -130.7, 255.5]).astype(dtype_named(dtype))
    check(f"lax.convert_element_type(x, '{target}')", {"x": x}, True)


@pytest.mark.parametrize("name", ["div", "rem", "shift_left", "shift_right_logical", "pow",
                                  "shift_right_arithmetic", "mulhi", "max", "sub"])  # fmt: skip
@pytest.mark.parametrize("dtype", ["int32", "int8", "uint8", "uint32"])
def test_integer_edges(name, dtype):
    """Division by zero, overflow, shifts by more than the width."""
    info = np.iinfo(dtype)
    values = np.array([info.min, info.max, 0, 1, info.max - 1, 7, 31, 33, 8], dtype)
    values = np.concatenate([values, (-values[2:6]).astype(dtype)])
    x, y = (a.ravel() for a in np.meshgrid(values, values))
    check(f"lax.{name}(x, y)", {"x": x, "y": y}, True)
