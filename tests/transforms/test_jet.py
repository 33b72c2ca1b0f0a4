"""Taylor mode against nested forward mode along the same path, and against closed forms."""

import math

import numpy as np
import pytest

import jitney
import jitney.nn
import jitney.numpy as jnp
from jitney import lax
from jitney.experimental.jet import jet

ORDER = 3
X = np.array([0.7, 1.1, 0.9])
TERMS = [np.array([0.5, -1.0, 0.3]), np.array([0.2, 0.4, -0.6]), np.array([1.0, 0.1, 0.3])]


@jitney.custom_jvp
def soft(x):
    return jnp.log1p(jnp.exp(x))


soft.defjvps(lambda t, out, x: t * (1.0 - jnp.exp(-out)))

FUNCTIONS = {
    "exp": jnp.exp, "log": jnp.log, "sin": jnp.sin, "cos": jnp.cos, "tan": jnp.tan,
    "tanh": jnp.tanh, "sinh": jnp.sinh, "cosh": jnp.cosh, "logistic": lax.logistic,
    "sqrt": jnp.sqrt, "rsqrt": lax.rsqrt, "cbrt": jnp.cbrt, "exp2": jnp.exp2,
    "expm1": jnp.expm1, "log1p": jnp.log1p, "arcsin": lambda x: jnp.arcsin(x / 3),
    "arctan": jnp.arctan, "erf": lax.erf, "erf_inv": lambda x: lax.erf_inv(x / 3),
    "lgamma": lax.lgamma, "pow": lambda x: x ** 1.7, "pow_of": lambda x: jnp.power(1.3, x),
    "pow_both": lambda x: jnp.power(x, x), "cube": lambda x: x ** 3, "inverse": lambda x: x ** -2,
    "zeroth": lambda x: lax.integer_pow(x, 0), "square": lax.square,
    "quotient": lambda x: (1 + x) / (x * x + 2), "over": lambda x: 3.0 / x,
    "product": lambda x: x * jnp.sin(x), "difference": lambda x: 1.0 - x - jnp.sin(x),
    "arctan2": lambda x: jnp.arctan2(x, 2 - x), "remainder": lambda x: x * x % 0.7,
    "sum": lambda x: jnp.sum(x * x), "prod": jnp.prod, "max": lambda x: jnp.max(jnp.sin(x)),
    "std": jnp.std, "matmul": lambda x: jnp.outer(x, x) @ jnp.sin(x),
    "convolve": lambda x: jnp.convolve(x, jnp.sin(x)), "sort": lambda x: jnp.sort(jnp.sin(3 * x)),
    "cumsum": lambda x: jnp.cumsum(x ** 2), "cumprod": jnp.cumprod,
    "gather": lambda x: (x * x)[np.array([0, 0, 2])],
    "update": lambda x: x.at[1].set(x[0] * x[2]),
    "add_at": lambda x: x.at[np.array([0, 0])].add(x[:2] ** 2),
    "dynamic": lambda x: lax.dynamic_update_slice(x, lax.dynamic_slice(x * x, (1,), (2,)), (0,)),
    "where": lambda x: jnp.where(x > 0.8, x * x, jnp.sin(x)),
    "where_constant": lambda x: jnp.where(x > 0.8, x * x, 0.0),
    "maximum": lambda x: jnp.maximum(x, 1.2 * x[::-1]),
    "clip": lambda x: jnp.clip(x * x, 0.5, 1.0), "abs": lambda x: jnp.abs(jnp.sin(3 * x)),
    "layout": lambda x: jnp.pad(jnp.concatenate([x, x * x]).reshape(2, -1).T, 1)[::-1],
    "softmax": jitney.nn.softmax, "logsumexp": jitney.nn.logsumexp,
    "relu": lambda x: jitney.nn.relu(x - 1.0) * x, "custom_jvp": soft,
    "jit": jitney.jit(lambda x: jnp.sin(x) * 2),
    "remat": jitney.checkpoint(lambda x: x * jnp.sin(x)),
    "scan": lambda x: lax.scan(lambda c, a: (jnp.sin(c * a), c), x[0], x)[1],
    "loop": lambda x: lax.fori_loop(0, x.shape[0], lambda i, c: c * jnp.cos(c), x),
    "while": lambda x: lax.while_loop(lambda c: c[0] < 2.0, lambda c: c * (1.0 + c), x),
    "cond": lambda x: lax.cond(x[0] > 0, jnp.sin, jnp.cos, x),
    "vmap": jitney.vmap(lambda a: jnp.sin(a) * a), "grad": jitney.grad(lambda x: jnp.sum(x ** 4)),
    "solve": lambda x: lax.custom_linear_solve(lambda v: v * x, jnp.sin(x), lambda mv, b: b / x),
    "stop": lambda x: x * lax.stop_gradient(x * x), "floor": lambda x: jnp.floor(x) * x,
    "constant": lambda x: jnp.ones(3), "complex": lambda x: jnp.exp(1j * x),
}  # fmt: skip


@pytest.fixture(autouse=True)
def double_precision():
    with jitney.enable_x64(True):
        yield


def by_nested_jvp(f, x, terms):
    """Derivatives along t of f(x + t terms[0] + t²/2 terms[1] + …)."""
    def path(t):
        return x + sum(v * t ** k / math.factorial(k) for k, v in enumerate(terms, 1))

    def derivative(g):
        return lambda t: jitney.jvp(g, (t,), (1.0,))[1]

    g, found = (lambda t: f(path(t))), []
    for _ in terms:
        g = derivative(g)
        found.append(g(0.0))
    return found


@pytest.mark.parametrize("name", FUNCTIONS)
def test_terms_are_nested_derivatives(name):
    f, x = FUNCTIONS[name], jnp.asarray(X)
    out, terms = jet(f, (x,), (TERMS,))
    np.testing.assert_allclose(out, f(x))
    assert len(terms) == ORDER
    for found, want in zip(terms, by_nested_jvp(f, x, TERMS), strict=True):
        assert found.dtype == out.dtype and found.shape == out.shape
        np.testing.assert_allclose(found, want, rtol=1e-9, atol=1e-9)


CLOSED = {
    "exp": (jnp.exp, 0.4, lambda k: math.exp(0.4)),
    "log": (jnp.log, 0.5, lambda k: (-1) ** (k - 1) * math.factorial(k - 1) / 0.5 ** k),
    "sin": (jnp.sin, 0.4, lambda k: math.sin(0.4 + k * math.pi / 2)),
    "reciprocal": (lambda x: 1.0 / x, 0.5,
                   lambda k: (-1) ** k * math.factorial(k) / 0.5 ** (k + 1)),
    "sinh": (jnp.sinh, 0.4, lambda k: math.cosh(0.4) if k % 2 else math.sinh(0.4)),
    "power": (lambda x: x ** 5, 0.5,
              lambda k: math.perm(5, k) * 0.5 ** (5 - k) if k <= 5 else 0.0),
    "power_at_zero": (lambda x: x ** 5, 0.0, lambda k: 120.0 if k == 5 else 0.0),
}


@pytest.mark.parametrize("name", CLOSED)
def test_closed_forms_to_order_eight(name):
    f, x, derivative = CLOSED[name]
    _, terms = jet(f, (x,), ((1.0,) + (0.0,) * 7,))
    np.testing.assert_allclose(terms, [derivative(k) for k in range(1, 9)], rtol=1e-9, atol=1e-9)
    _, raw = jitney.jit(lambda x: jet(f, (x,), ((1.0,) + (0.0,) * 7,), factorial_scaled=False))(x)
    np.testing.assert_allclose(raw, [derivative(k) / math.factorial(k) for k in range(1, 9)],
                               rtol=1e-9, atol=1e-9)


def test_work_grows_slowly_with_the_order():
    """Quadratically at most, where nested derivatives double with every order."""
    f = lambda x: jnp.sin(jnp.tanh(x) * jnp.exp(x))
    def size(n):
        return len(jitney.make_jaxpr(lambda x: jet(f, (x,), ([1.0] * n,)))(0.3).eqns)

    sizes = [size(n) for n in (4, 8, 16)]
    assert sizes[1] < 5 * sizes[0] and sizes[2] < 5 * sizes[1]


def test_several_arguments_trees_and_integers():
    def f(params, x, n):
        return {"y": params["w"] * x + params["b"], "n": n}

    params = {"w": jnp.asarray(2.0), "b": jnp.asarray(1.0)}
    out, terms = jet(f, (params, 3.0, 4), (
        [{"w": 1.0, "b": 0.0}, {"w": 0.0, "b": 1.0}], [0.5, 0.0], [0, 0]))
    assert float(out["y"]) == 7.0 and int(out["n"]) == 4
    assert [float(t) for t in terms["y"]] == [4.0, 2.0]         # 1*3 + 2*.5;  2*1*.5 + 1
    assert [int(t) for t in terms["n"]] == [0, 0]


def test_transformed():
    f = lambda x: jet(jnp.sin, (x,), ((1.0, 0.0),))[1][1]            # -sin
    np.testing.assert_allclose(jitney.grad(f)(0.3), -math.cos(0.3))
    np.testing.assert_allclose(jitney.vmap(f)(X), -np.sin(X))
    np.testing.assert_allclose(jitney.jit(f)(0.3), -math.sin(0.3))
    inner = lambda x: jet(lambda y: y ** 4, (x,), ((1.0,),))[1][0]
    _, terms = jet(inner, (2.0,), ((1.0, 0.0),))
    np.testing.assert_allclose(terms, [48.0, 48.0])


def test_edges():
    out, terms = jet(jnp.sin, (1.0,), ((),))
    assert terms == [] and out.shape == ()
    out, terms = jet(jnp.sin, (jnp.zeros((0, 2)),), ((jnp.zeros((0, 2)),),))
    assert terms[0].shape == (0, 2)
    _, terms = jet(jnp.sin, (jnp.ones(2),), ((1.0, 0.0),))            # scalars are repeated
    np.testing.assert_allclose(terms[0], np.cos(np.ones(2)))
    with jitney.enable_x64(False):
        out, terms = jet(lambda x: x * 2, (jnp.ones(2, "bfloat16"),), ((jnp.ones(2, "bfloat16"),),))
        assert terms[0].dtype == out.dtype == jnp.bfloat16


@pytest.mark.parametrize("call, error, text", [
    (lambda: jet(3, (1.0,), ((1.0,),)), TypeError, "callable"),
    (lambda: jet(jnp.sin, 1.0, (1.0,)), TypeError, "primals must be a tuple or list"),
    (lambda: jet(jnp.sin, (1.0,), (1.0,)), TypeError, "sequence of terms"),
    (lambda: jet(jnp.sin, (1.0,), ((1.0,), (2.0,))), ValueError, "1 primals, but series for 2"),
    (lambda: jet(jnp.add, (1.0, 2.0), ((1.0,), (2.0, 3.0))), ValueError, "one length"),
    (lambda: jet(jnp.sin, (jnp.ones(2),), ((jnp.ones(3),),)), ValueError, "has shape"),
    (lambda: jet(jnp.negative, (3,), ((1,),)), ValueError, "carries no derivative"),
    (lambda: jet(jnp.sin, ("x",), ((1.0,),)), TypeError, "not an array"),
    (lambda: jet(lambda x: "y", (1.0,), ((1.0,),)), TypeError, "must return arrays"),
    (lambda: jet(lambda d: d["x"], ({"x": 1.0},), (({"y": 1.0},),)), ValueError, "structure"),
])
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call()
