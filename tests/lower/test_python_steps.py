"""Steps that Python computes: SciPy's functions, callbacks, and what has no machine code."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import lax
from jitney.base import debug

rng = np.random.default_rng(0)
A, X = (rng.uniform(0.1, 5, (3, 7)).astype(np.float32) for _ in range(2))
SCIPY = {
    "igamma": ("gammainc", (A, X)), "igammac": ("gammaincc", (A, X)), "zeta": ("zeta", (A + 1, X)),
    "betainc": ("betainc", (A, X, A / 6)),
    "polygamma": ("polygamma", (np.floor(A).astype(np.float32), X)),
}  # fmt: skip


@pytest.mark.parametrize("name", SCIPY)
def test_functions_of_scipy(name):
    """Inside a program whose other operations are compiled."""
    special = pytest.importorskip("scipy.special")
    scipy_name, args = SCIPY[name]
    want = 2 * getattr(special, scipy_name)(*[a.astype(np.float64) for a in args]) + 1
    before = debug.counts().get("reference_fallbacks", 0)
    got = jitney.jit(lambda *a: 2 * getattr(lax, name)(*a) + 1)(*args)
    assert debug.counts().get("reference_fallbacks", 0) == before
    np.testing.assert_allclose(got, want, 3e-5)


@pytest.mark.parametrize("name", ["igamma_grad_a", "random_gamma_grad"])
def test_derivatives_by_differences(name):
    a, x = A.astype(np.float64) + 1, X.astype(np.float64)
    special = pytest.importorskip("scipy.special")
    step = 1e-5
    slope = (special.gammainc(a + step, x) - special.gammainc(a - step, x)) / (2 * step)
    if name == "random_gamma_grad":
        slope = -slope / np.exp((a - 1) * np.log(x) - x - special.gammaln(a))
    got = getattr(lax, name)(a.astype(np.float32), x.astype(np.float32))
    np.testing.assert_allclose(got, slope, 2e-3, 1e-4)


def test_equation_without_machine_code():
    """Only that equation is left to its reference."""
    x = (rng.normal(size=(4, 5)) + 1j).astype(np.complex64)
    before = dict(debug.counts())
    got = jitney.jit(lambda x: lax.cummax(x * 2, 0) + 1)(x)
    assert debug.counts()["reference_steps"] == before.get("reference_steps", 0) + 1
    assert debug.counts().get("reference_fallbacks", 0) == before.get("reference_fallbacks", 0)
    assert np.asarray(got).shape == (4, 5)


def test_effects_happen_once_and_in_order(capsys):
    @jitney.jit
    def program(x):
        jitney.debug.print("start {}", x[0])

        def turn(i, c):
            jitney.debug.print("i={}", i)
            return c + x[i]

        def row(c, r):
            double = lambda c: (jitney.debug.print("big"), c * 2)[1]
            return lax.cond(r > 1, double, lambda c: c + 1, c), c

        def halve(c):
            jitney.debug.print("w {}", c)
            return c - 20

        c = lax.fori_loop(0, 2, turn, 0.0)
        c, _ = lax.scan(row, c, x)
        c = lax.while_loop(lambda c: c > 0, halve, c)
        jitney.debug.print("end")
        jitney.debug.print("end")
        return c

    before = debug.counts().get("reference_fallbacks", 0)
    x = np.arange(4, dtype=np.float32) + 5
    for _ in range(2):
        program(x).block_until_ready()
    text = capsys.readouterr().out.split("\n")
    assert debug.counts().get("reference_fallbacks", 0) == before
    turns = ["w 176.0", "w 156.0", "w 136.0", "w 116.0", "w 96.0", "w 76.0", "w 56.0", "w 36.0",
             "w 16.0"]  # fmt: skip
    once = ["start 5.0", "i=0", "i=1", *["big"] * 4, *turns, "end", "end"]
    assert text[:-1] == once * 2


def test_program_of_effects_alone(capsys):
    jitney.jit(lambda x: jitney.debug.print("only {}", x + 1))(np.int32(2))
    assert capsys.readouterr().out == "only 3\n"


def test_callback_with_a_result_in_a_loop():
    def sine(a):
        return np.sin(np.asarray(a))

    def body(i, x):
        shape = jitney.ShapeDtypeStruct(x.shape, x.dtype)
        return jitney.pure_callback(sine, shape, x) * 2

    got = jitney.jit(lambda x: lax.fori_loop(0, 3, body, x))(A)
    want = A
    for _ in range(3):
        want = np.sin(want) * 2
    np.testing.assert_allclose(got, want, 1e-5)


def test_exception_of_a_callback_reaches_the_caller():
    def fail(a):
        raise KeyError("no such thing")

    shape = jitney.ShapeDtypeStruct((), np.float32)
    f = jitney.jit(lambda x: jitney.pure_callback(fail, shape, x) + 1)
    with pytest.raises(jitney.errors.JaxRuntimeError, match="KeyError"):
        f(np.float32(1))
    assert jnp.add(1, 1) == 2
