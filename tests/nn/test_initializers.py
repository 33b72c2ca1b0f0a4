"""Initial weights are those of JAX, and have the variance they are named for."""

import numpy as np
import pytest

from jitney import random
from jitney.nn import initializers

# for random.key(1) and shape (2, 3)
WEIGHTS = {
    "glorot_normal": [-0.10595117, 0.05812755, -0.0932965, -0.10636187, 0.84224904, 0.10174186],
    "glorot_uniform": [-0.13444948, 0.07394894, -0.11848702, -0.13496688, 0.87057835,
     0.12914425],
    "he_normal": [-0.16752352, 0.09190773, -0.14751472, -0.1681729, 1.3317127, 0.16086802],
    "he_uniform": [-0.21258329, 0.11692353, -0.18734443, -0.21340135, 1.3765051, 0.20419498],
    "lecun_normal": [-0.11845701, 0.064988576, -0.10430865, -0.11891618, 0.941663, 0.11375086],
    "lecun_uniform": [-0.1503191, 0.08267743, -0.13247252, -0.15089755, 0.9733362, 0.14438766],
    "normal": [-0.0015443718, 0.00084707275, -0.0013598049, -0.0015503626, 0.012666673,
     0.0014829758],
    "uniform": [0.004386325, 0.005337529, 0.004459183, 0.004383963, 0.008973628, 0.00558946],
    "truncated_normal": [-0.0014735798, 0.00080844393, -0.0012975773, -0.0014792919, 0.011714086,
     0.0014150363],
}


@pytest.mark.parametrize("name", WEIGHTS)
def test_weights_are_those_of_jax(name):
    drawn = getattr(initializers, name)()(random.key(1), (2, 3))
    np.testing.assert_allclose(drawn, np.reshape(WEIGHTS[name], (2, 3)), rtol=3e-6)


@pytest.mark.parametrize("mode, fan", [("fan_in", 600), ("fan_out", 450), ("fan_avg", 525),
                                       ("fan_geo_avg", (600 * 450)**0.5)])
@pytest.mark.parametrize("distribution", ["normal", "uniform", "truncated_normal"])
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_variance(mode, fan, distribution, dtype):
    init = initializers.variance_scaling(2.0, mode, distribution, dtype=dtype)
    x = np.asarray(init(random.key(0), (3, 200, 150)))
    assert x.dtype == dtype
    assert abs(np.mean(np.abs(x)**2) * fan / 2 - 1) < 0.02


def test_axes_of_fans():
    init = initializers.variance_scaling(1.0, "fan_in", "normal", in_axis=(0, 1), out_axis=2)
    assert abs(float(np.var(init(random.key(0), (20, 20, 50)))) * 400 - 1) < 0.05
    init = initializers.variance_scaling(1.0, "fan_in", "normal", batch_axis=0)
    assert abs(float(np.var(init(random.key(0), (20, 20, 50)))) * 20 - 1) < 0.05


def test_constants():
    key = random.key(0)
    assert initializers.constant(3.0)(key, (2,)).tolist() == [3.0, 3.0]
    assert initializers.zeros(key, (2,), np.float16).dtype == np.float16
    assert initializers.ones(key, (2, 1)).tolist() == [[1.0], [1.0]]


@pytest.mark.parametrize("make, says", [
    (lambda: initializers.lecun_normal()(random.key(0), (3,)), "1-dimensional"),
    (lambda: initializers.variance_scaling(1.0, "fan", "normal")(random.key(0), (2, 2)), "mode"),
    (lambda: initializers.variance_scaling(1.0, "fan_in", "x")(random.key(0), (2, 2)),
     "distribution"),
    (lambda: initializers.orthogonal()(random.key(0), (3,)), "2D"),
])
def test_what_is_refused(make, says):
    with pytest.raises(ValueError, match=says):
        make()
