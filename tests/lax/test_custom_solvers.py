"""custom_linear_solve and custom_root: values, derivatives of both modes, batches, errors."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import lax

RANDOM = np.random.RandomState(0)
A = RANDOM.randn(3, 3) + 4.0 * np.eye(3)
B = RANDOM.randn(3)
DA, DB, W = RANDOM.randn(3, 3), RANDOM.randn(3), RANDOM.randn(3)


@pytest.fixture(autouse=True)
def double_precision():
    with jitney.enable_x64(True):
        yield


def close(found, want, tolerance=1e-9):
    np.testing.assert_allclose(np.asarray(found), np.asarray(want), rtol=tolerance, atol=tolerance)


def jacobi(matvec, b):
    """x with matvec(x) = b by steps along the residual; not differentiable backwards in JAX."""
    return lax.fori_loop(0, 200, lambda i, x: x + 0.15 * (b - matvec(x)), jnp.zeros_like(b))


def solved(a, b, **options):
    given = {"transpose_solve": jacobi, **options}
    return lax.custom_linear_solve(lambda x: a @ x, b, jacobi, **given)


def test_values_and_forward_mode():
    x = np.linalg.solve(A, B)
    close(solved(A, B), x)
    close(jitney.jit(solved)(A, B), x)
    out, dot = jitney.jvp(solved, (A, B), (DA, DB))
    close(out, x)
    close(dot, np.linalg.solve(A, DB - DA @ x))
    close(jitney.jvp(lambda b: solved(A, b), (B,), (DB,))[1], np.linalg.solve(A, DB))


def test_reverse_mode():
    x = np.linalg.solve(A, B)
    adjoint = np.linalg.solve(A.T, W)
    for wrap in (lambda f: f, jitney.jit):
        by_a, by_b = wrap(jitney.grad(lambda a, b: jnp.dot(solved(a, b), W), (0, 1)))(A, B)
        close(by_b, adjoint)
        close(by_a, -np.outer(adjoint, x))


def test_second_derivatives():
    f = lambda b: jnp.sum(solved(A * (1.0 + b[0] ** 2), b) ** 3)
    h = 1e-5
    want = np.stack([(np.asarray(jitney.grad(f)(B + h * e)) - np.asarray(jitney.grad(f)(B - h * e)))
                     / (2 * h) for e in np.eye(3)])
    close(jitney.hessian(f)(B), want, 1e-6)


@pytest.mark.parametrize("axes", [(0, 0), (None, 0), (0, None), (2, 1)])
def test_batches(axes):
    many_a = np.stack([A, A + 0.3, A.T], axes[0]) if axes[0] is not None else A
    many_b = np.stack([B, B * 2, B + 1], axes[1]) if axes[1] is not None else B
    rows = [(np.take(many_a, i, axes[0]) if axes[0] is not None else A,
             np.take(many_b, i, axes[1]) if axes[1] is not None else B) for i in range(3)]
    close(jitney.vmap(solved, axes)(many_a, many_b), [np.linalg.solve(a, b) for a, b in rows])
    grads = jitney.vmap(jitney.grad(lambda a, b: jnp.dot(solved(a, b), W)), axes)(many_a, many_b)
    close(grads, [-np.outer(np.linalg.solve(a.T, W), np.linalg.solve(a, b)) for a, b in rows])
    vectors = jitney.jit(jitney.vmap(lambda b: solved(A, b)))(np.eye(3))
    close(vectors, np.linalg.inv(A).T)


def test_symmetric_and_auxiliary_results():
    symmetric = (A + A.T) / 2.0

    def f(b):
        x, info = lax.custom_linear_solve(
            lambda x: symmetric @ x, b, lambda mv, b: (jacobi(mv, b), {"steps": 200}),
            symmetric=True, has_aux=True)
        return jnp.dot(x, W), info

    grad, info = jitney.grad(f, has_aux=True)(B)
    assert int(info["steps"]) == 200
    close(grad, np.linalg.solve(symmetric, W))


def test_trees_and_empty_systems():
    tree = {"p": jnp.asarray(2.0), "q": (jnp.ones(2),)}
    doubled = lambda x: {"p": 2.0 * x["p"], "q": (3.0 * x["q"][0] + x["p"],)}
    back = lambda mv, b: {"p": b["p"] / 2.0, "q": ((b["q"][0] - b["p"] / 2.0) / 3.0,)}
    forward = lambda mv, b: {"p": (b["p"] - jnp.sum(b["q"][0]) / 3.0) / 2.0,
                             "q": (b["q"][0] / 3.0,)}
    solve = lambda b: lax.custom_linear_solve(doubled, b, back, forward)
    found = solve(tree)
    close(found["p"], 1.0)
    close(found["q"][0], [0.0, 0.0])
    grads = jitney.grad(lambda b: jnp.sum(solve(b)["q"][0]))(tree)
    close(grads["p"], -1 / 3)
    close(grads["q"][0], [1 / 3, 1 / 3])
    assert lax.custom_linear_solve(lambda x: x, jnp.zeros(0), lambda mv, b: b).shape == (0,)


def test_inside_a_scan():
    def total(a):
        return lax.scan(lambda c, b: (c + jnp.dot(solved(a, b + c[:1]), W) * jnp.ones(3), None),
                        jnp.zeros(3), jnp.asarray(np.stack([B, 2 * B])))[0][0]

    h = 1e-6
    close(np.sum(jitney.grad(total)(A) * DA),
          (total(A + h * DA) - total(A - h * DA)) / (2 * h), 1e-7)


def double(x):
    return 2.0 * x


def halve(matvec, b):
    return b / 2.0


@pytest.mark.parametrize("call, error, text", [
    (lambda: lax.custom_linear_solve(lambda x: x[0], jnp.ones(2), halve), ValueError,
     "matvec.. output shapes must match b"),
    (lambda: lax.custom_linear_solve(double, jnp.ones(2), lambda mv, b: b[0]), ValueError,
     "solve.. output shapes must match b"),
    (lambda: lax.custom_linear_solve(double, jnp.ones(2), lambda mv, b: (b,)), TypeError,
     "pytree structure must match b"),
    (lambda: lax.custom_linear_solve(double, jnp.ones(2), lambda mv, b: b, has_aux=True),
     ValueError, "auxiliary output was expected"),
    (lambda: lax.custom_linear_solve(1, jnp.ones(2), halve), TypeError, "callable"),
    (lambda: lax.custom_linear_solve(double, "b", halve), TypeError, "valid JAX type"),
    (lambda: jitney.grad(lambda b: lax.custom_linear_solve(double, b, halve).sum())(jnp.ones(2)),
     TypeError, "transpose_solve required"),
])
def test_errors_of_linear_solves(call, error, text):
    with pytest.raises(error, match=text):
        call()


# --- roots -----------------------------------------------------------------------------------


def newton(f, x):
    step = lambda x: x - f(x) / jitney.grad(f)(x)
    return lax.while_loop(lambda x: jnp.abs(f(x)) > 1e-14, step, x)


def root(a, guess=1.0):
    return lax.custom_root(lambda x: x ** 3 + a * x - 2.0, guess, newton,
                           lambda g, y: y / g(1.0))


def test_roots_and_their_derivatives():
    a, h = 1.5, 1e-5
    x = root(a)
    close(x ** 3 + a * x, 2.0)
    slope = -x / (3 * x ** 2 + a)
    close(jitney.grad(root)(a), slope)
    close(jitney.jvp(root, (a,), (2.0,))[1], 2 * slope)
    close(jitney.jit(jitney.value_and_grad(root))(a), (x, slope))
    close(jitney.grad(jitney.grad(root))(a),
          (jitney.grad(root)(a + h) - jitney.grad(root)(a - h)) / (2 * h), 1e-8)
    close(jitney.grad(root, argnums=1)(a, 0.7), 0.0)
    many = np.array([0.5, 1.0, 2.0])
    close(jitney.vmap(jitney.grad(root))(many), [jitney.grad(root)(v) for v in many])
    close(jitney.vmap(root, (None, 0))(a, np.array([0.5, 1.0])), [x, x])


def test_roots_of_systems_with_auxiliary_results():
    def system(a):
        f = lambda v: {"x": v["x"] ** 2 - a, "y": v["y"] * v["x"] - 1.0}

        def solve(f, guess):
            x = newton(lambda x: f({"x": x, "y": 1.0})["x"], guess["x"])
            return {"x": x, "y": 1.0 / x}, jnp.asarray(7)

        def tangent_solve(g, rhs):
            """By columns of the Jacobian: lower triangular."""
            one = g({"x": 1.0, "y": 0.0})
            x = rhs["x"] / one["x"]
            return {"x": x, "y": (rhs["y"] - one["y"] * x) / g({"x": 0.0, "y": 1.0})["y"]}

        return lax.custom_root(f, {"x": 1.0, "y": 1.0}, solve, tangent_solve, has_aux=True)

    (found, aux), dot = jitney.jvp(lambda a: system(a), (4.0,), (1.0,))
    close([found["x"], found["y"]], [2.0, 0.5])
    close([dot[0]["x"], dot[0]["y"]], [0.25, -0.0625])
    assert int(aux) == 7
    close(jitney.grad(lambda a: system(a)[0]["y"])(4.0), -0.0625)


@pytest.mark.parametrize("call, error, text", [
    (lambda: lax.custom_root(lambda x: (x, x), 1.0, newton, halve), TypeError,
     "f.. output pytree structure must match initial_guess"),
    (lambda: lax.custom_root(double, 1.0, lambda f, x: (x, 3), halve), TypeError,
     "solve.. output pytree structure"),
    (lambda: lax.custom_root(double, 1.0, lambda f, x: x, halve, has_aux=True), ValueError,
     "auxiliary output was expected"),
    (lambda: jitney.grad(lambda a: lax.custom_root(lambda x: x - a, 1.0, lambda f, x: x,
                                                   lambda g, y: (y, y)))(3.0),
     TypeError, "tangent_solve.. output pytree structure must match x"),
    (lambda: lax.custom_root(double, 1.0, None, halve), TypeError, "callable"),
])
def test_errors_of_roots(call, error, text):
    with pytest.raises(error, match=text):
        call()
