"""Operations on bfloat16: those of float32, rounded once, over all bit patterns, NaN of each
payload and numbers at ties among them."""

import kernel_harness as harness
import ml_dtypes
import numpy as np
import pytest

from jitney.codegen import elementwise

TARGETS = list(harness.targets())
OF_ONE = (
    "sqrt", "rsqrt", "cbrt", "exp", "exp2", "expm1", "log", "log1p", "logistic", "tanh", "sin",
    "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "erf", "erfc",
    "erf_inv", "lgamma", "digamma", "sign", "floor", "round_half_away", "exp_nonpositive",
)  # fmt: skip
OF_TWO = ("add", "sub", "mul", "div", "pow", "atan2", "rem", "max", "min")
OF_THREE = ("fma", "fms", "fnma")
EVERY = np.arange(1 << 16, dtype=np.uint32).astype(np.uint16).view(ml_dtypes.bfloat16)


def build(op, code, count, target):
    type_ = {"bf16": "bfloat", "f32": "float"}[code]
    return harness.compile_kernel(
        lambda e, *v: elementwise.evaluate(e, op, code, (code,) * count, v),
        (type_,) * (count + 1), target=harness.targets()[target],
    )  # fmt: skip


def check(op, target, *arguments):
    with np.errstate(all="ignore"):
        wide = [x.astype(np.float32) for x in arguments]
        want = build(op, "f32", len(wide), target)(*wide).astype(ml_dtypes.bfloat16)
        got = build(op, "bf16", len(wide), target)(*arguments)
        same = (got.view(np.uint16) == want.view(np.uint16)) | (np.isnan(got) & np.isnan(want))
    assert same.all(), [(x[~same][:5], got[~same][:5], want[~same][:5]) for x in arguments]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("op", OF_ONE)
def test_of_one(op, target):
    check(op, target, EVERY)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("op", OF_TWO + OF_THREE)
def test_of_several(op, target):
    """Any two or three patterns, and those of like size, whose sums and products lie at ties."""
    rng, count = np.random.default_rng(7), 3 if op in OF_THREE else 2
    near = (0x3F00 + rng.integers(0, 0x180, (count, 1 << 16))).astype(np.uint16)
    near[0] |= (rng.integers(0, 2, 1 << 16) << 15).astype(np.uint16)
    check(op, target, *near.view(ml_dtypes.bfloat16))
    anything = rng.integers(0, 1 << 16, (count - 1, 1 << 16)).astype(np.uint16)
    check(op, target, EVERY, *anything.view(ml_dtypes.bfloat16))
    nothing = (rng.integers(0, 2, (count - 1, 1 << 16)) << 15 | 0x7F81).astype(np.uint16)
    check(op, target, EVERY, *(nothing + rng.integers(0, 127, nothing.shape).astype(np.uint16))
          .view(ml_dtypes.bfloat16))  # fmt: skip
