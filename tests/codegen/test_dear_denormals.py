"""Scalings that would end at a denormal number are masked where that is dear: the same bits."""

import copy

import kernel_harness as harness
import numpy as np
import pytest

from jitney.codegen import math as vector_math

pytestmark = pytest.mark.skipif("avx512" not in harness.targets(), reason="no AVX-512")
NAMES = ("exp", "exp2", "exp_distance", "exp_raised", "exp_raised_any", "logistic", "pow")


def values(name, dtype):
    """Exponents from where results are normal to far below all, and what is no number."""
    least = -160.0 if dtype == np.float32 else -1100.0
    x = np.concatenate([np.linspace(least, 5.0, 5000), np.linspace(10 * least, least, 500)])
    x = np.concatenate([x, [-np.inf, np.nan, -0.0, 0.0, -1e9, -3e38]])
    if name in ("exp_distance", "exp_raised"):
        x = np.minimum(x, 0.0)
    x = x.astype(dtype)
    return (np.full_like(x, 2.0), x) if name == "pow" else (x,)


@pytest.mark.parametrize("type_name", ["float", "double"])
@pytest.mark.parametrize("name", NAMES)
def test_same_bits(name, type_name):
    if type_name == "double" and "raised" in name:
        pytest.skip("of float32 only")
    dtype = harness.NUMPY_TYPES[type_name]
    arguments, results = values(name, dtype), []
    for dear in (False, True):
        target = copy.copy(harness.targets()["avx512"])
        target.has_dear_denormals = dear
        kernel = harness.compile_kernel(
            lambda e, *v: vector_math.evaluate(e, name, *v),
            (type_name,) * (len(arguments) + 1), None, 2, target,
        )  # fmt: skip
        results.append(kernel(*arguments))
    if "raised" in name:  # next to nothing is as good as 0
        results = [np.where(r < dtype(2.0**-120), dtype(0), r) for r in results]
    np.testing.assert_array_equal(*[r.view(np.uint32 if r.itemsize == 4 else np.uint64)
                                    for r in results])  # fmt: skip
