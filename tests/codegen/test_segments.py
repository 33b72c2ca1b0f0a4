"""Contractions whose k goes through runs that lie apart: lines of an image under a window."""

import numpy as np
import pytest
from contraction_harness import plan_contraction, run_plan, targets, tolerance

from jitney.codegen.contraction import ContractionShape

TARGETS = targets()
# images, lines, places, features, window (height, width), results, stride
CASES = [
    (2, 5, 17, 8, 3, 3, 20, 1), (1, 4, 33, 16, 3, 2, 70, 1), (2, 3, 40, 130, 3, 5, 130, 1),
    (1, 6, 16, 3, 5, 3, 7, 2), (1, 2, 18, 700, 3, 1, 40, 1), (3, 1, 1, 16, 2, 2, 16, 1),
]  # fmt: skip


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("code", ["f32", "f64"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_lines_of_an_image(case, code, name):
    n, h, w, c, kh, kw, o, s = case
    dtype = np.float32 if code == "f32" else np.float64
    rng = np.random.default_rng(0)
    tall, wide = (h - 1) * s + kh, (w - 1) * s + kw
    x = rng.standard_normal((n, tall, wide, c)).astype(dtype)
    kernel = rng.standard_normal((kh, kw * c, o)).astype(dtype)
    want = np.zeros((n, h, w, o))
    for i, j in np.ndindex(kh, kw):
        part = x[:, i : i + (h - 1) * s + 1 : s, j : j + (w - 1) * s + 1 : s]
        want += part.astype(np.float64) @ kernel[i, j * c : (j + 1) * c].astype(np.float64)
    shape = ContractionShape(
        n * h, w, o, kh * kw * c, code, code, code,
        (tall * wide * c, s * c, 1), (0, o, 1), (h * w * o, o, 1),
        h, (s * wide * c, 0, w * o), kh, wide * c,
    )  # fmt: skip
    results = []
    for threads in (1, 2):
        y = np.full(want.shape, np.nan, dtype)
        run_plan(plan_contraction(shape, TARGETS[name], threads), x, kernel, y)
        results.append(y)
    np.testing.assert_allclose(results[0], want, rtol=0, atol=tolerance(code, code, kh * kw * c))
    np.testing.assert_array_equal(results[0], results[1])
