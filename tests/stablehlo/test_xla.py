"""XLA takes our text, prints it back unchanged, and computes what our references compute."""

import numpy as np
import pytest
from stablehlo_programs import PROGRAMS
from xla_runner import leaves, printed_again, run, text_and_reference

import jitney
import jitney.numpy as jnp

pytestmark = pytest.mark.jax
pytest.importorskip("jaxlib")


def epsilon(dtype: np.dtype) -> float:
    sizes = {"bfloat16": 2.0**-7, "float16": 2.0**-10, "float32": 2.0**-23, "float64": 2.0**-52,
             "complex64": 2.0**-23, "complex128": 2.0**-52}
    return sizes.get(dtype.name, 0.0)


def assert_alike(found: np.ndarray, expected: np.ndarray, tolerance: float) -> None:
    assert found.shape == expected.shape and found.dtype == expected.dtype
    if tolerance == 0 or not epsilon(found.dtype):
        np.testing.assert_array_equal(found, expected)
        return
    wide = np.complex128 if found.dtype.kind == "c" else np.float64
    a, b = found.astype(wide), expected.astype(wide)
    np.testing.assert_allclose(a, b, rtol=tolerance * epsilon(found.dtype),
                               atol=tolerance * epsilon(found.dtype))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_xla_computes_what_the_references_say(program):
    text, expected = text_and_reference(program)
    assert printed_again(text) == text
    found = run(text, program.args)
    assert len(found) == len(expected)
    for got, want in zip(found, expected, strict=True):
        assert_alike(got, want, program.tolerance)


def test_a_gradient_of_a_network_goes_to_xla_and_back():
    rng = np.random.default_rng(0)
    weights = {"w": rng.normal(size=(4, 5)).astype(np.float32), "b": np.ones(5, np.float32)}
    x = rng.normal(size=(3, 4)).astype(np.float32)

    def loss(p, x):
        return jnp.mean(jnp.tanh(x @ p["w"] + p["b"]) ** 2)

    gradient = jitney.jit(jitney.grad(loss))
    text = gradient.lower(weights, x).as_text()
    assert printed_again(text) == text
    for got, want in zip(run(text, [*leaves(weights), x]), leaves(gradient(weights, x)),
                         strict=True):
        np.testing.assert_allclose(got, np.asarray(want), rtol=1e-5, atol=1e-6)


def test_names_are_distinct():
    names = [p.name for p in PROGRAMS]
    assert len(names) == len(set(names))
