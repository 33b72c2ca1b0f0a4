"""Rules by parameter names, on equations made by hand: batched loops, calls, factorisations.

The primitives are stand-ins with a name only, so that nothing here depends on how the functions
of `lax` make these equations.
"""

from typing import Any, NamedTuple

import numpy as np
import pytest
from xla_runner import printed_again, run, traced

from jitney import lax
from jitney.core.avals import get_aval
from jitney.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Var
from jitney.stablehlo import module_text

pytestmark = pytest.mark.jax
pytest.importorskip("jaxlib")


class Named:
    """A primitive as far as the writer looks."""

    def __init__(self, name):
        self.name, self.multiple_results = name, True


def one_equation(name, params, args, outs) -> str:
    """The text of a program that is one equation."""
    invars = [Var(get_aval(a)) for a in args]
    outvars = [Var(get_aval(o)) for o in outs]
    eqn = JaxprEqn(Named(name), invars, outvars, params)
    return module_text(ClosedJaxpr(Jaxpr([], invars, outvars, [eqn]), []), name="f")


def check(name, params, args, expected, tolerance=1e-6):
    text = one_equation(name, params, args, expected)
    assert printed_again(text) == text
    for found, want in zip(run(text, args), expected, strict=True):
        assert found.dtype == want.dtype and found.shape == want.shape
        np.testing.assert_allclose(found, want, rtol=tolerance, atol=tolerance)


F = np.float32
STEP, LIMIT = F(2.0), F(50.0)


def test_while_with_constants_of_both_programs():
    cond = traced(lambda limit, x, n: lax.lt(x, limit), (LIMIT, F(1), np.int32(0)))
    body = traced(lambda step, x, n: (lax.mul(x, step), lax.add(n, np.int32(1))),
                  (STEP, F(1), np.int32(0)))
    params = {"cond_jaxpr": cond, "body_jaxpr": body, "cond_nconsts": 1, "body_nconsts": 1}
    check("while", params, (LIMIT, STEP, F(1), np.int32(0)), [F(64), np.int32(6)])


def test_while_of_several_examples_stops_each_by_itself():
    start = np.array([1, 30, 100], np.float32)
    rows = np.ones((3, 2), np.float32)
    cond = traced(lambda x, y: lax.lt(x, 50.0), (start, rows))
    body = traced(lambda x, y: (lax.mul(x, 2.0), lax.add(y, 1.0)), (start, rows))
    params = {"cond_jaxpr": cond, "body_jaxpr": body, "cond_nconsts": 0, "body_nconsts": 0}
    want = [np.array([64, 60, 100], np.float32),
            np.array([[7, 7], [2, 2], [1, 1]], np.float32)]
    check("while", params, (start, rows), want)


def test_programs_in_place():
    body = traced(lambda x: lax.sin(x), (F(1),))
    for name in ("closed_call", "custom_jvp_call", "custom_vjp_call"):
        check(name, {"call_jaxpr": body}, (F(1),), [np.sin(F(1))])
    check("checkpoint", {"jaxpr": body.jaxpr, "prevent_cse": True, "differentiated": True,
                         "policy": None}, (F(1),), [np.sin(F(1))])


class Solve(NamedTuple):
    matvec: Any
    vecmat: Any
    solve: Any
    transpose_solve: Any


def test_custom_linear_solve_runs_the_solver():
    solver = traced(lambda scale, y: lax.div(y, scale), (F(4), F(1)))
    params = {"const_lengths": Solve(1, 0, 1, 0), "jaxprs": Solve(None, None, solver, None)}
    check("custom_linear_solve", params, (F(7), F(4), F(2)), [F(0.5)])


A = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]], np.float32)


def test_cholesky():
    text = one_equation("cholesky", {}, (A,), [A])
    assert printed_again(text) == text
    np.testing.assert_allclose(np.tril(run(text, (A,))[0]), np.linalg.cholesky(A), rtol=1e-5)


@pytest.mark.parametrize("transpose", [False, True])
def test_triangular_solve(transpose):
    lower, y = np.tril(A), np.ones((3, 2), np.float32)
    params = {"left_side": True, "lower": True, "transpose_a": transpose, "conjugate_a": False,
              "unit_diagonal": False}
    want = np.linalg.solve(lower.T if transpose else lower, y).astype(np.float32)
    check("triangular_solve", params, (lower, y), [want], 1e-5)


@pytest.mark.parametrize("kind, function", [("FFT", np.fft.fft), ("IFFT", np.fft.ifft),
                                            ("RFFT", np.fft.rfft), ("IRFFT", np.fft.irfft)])
def test_fft(kind, function):
    x = np.arange(8, dtype=np.float32)
    x = x if kind == "RFFT" else (x + 1j * x[::-1]).astype(np.complex64)
    x = x[:5] if kind == "IRFFT" else x
    want = function(x)
    want = want.astype(np.float32 if kind == "IRFFT" else np.complex64)
    check("fft", {"fft_type": kind, "fft_lengths": (8,)}, (x,), [want], 1e-4)
