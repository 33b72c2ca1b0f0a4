"""What users see of derivatives and batches: arguments, auxiliary data, errors, jaxprs."""

import numpy as np
import pytest

import jitney
import jitney.custom_derivatives
import jitney.nn
import jitney.numpy as jnp
from jitney import lax
from jitney.ad_checkpoint import checkpoint_name


def folded(x):
    return " ".join(str(x).split()).replace(" out_sharding=None", "")


def near(got, want, tolerance=1e-5):
    np.testing.assert_allclose(np.asarray(got), want, rtol=tolerance, atol=tolerance)


# --- grad ------------------------------------------------------------------------------------


def test_argnums_trees_and_keywords():
    def f(p, x, *, power=2):
        return jnp.sum(p["w"] * x ** power) + p["b"]
    p, x = {"w": jnp.arange(3.0), "b": 1.0}, jnp.array([1.0, 2.0, 3.0])
    g = jitney.grad(f)(p, x)
    near(g["w"], [1.0, 4.0, 9.0])
    assert float(g["b"]) == 1.0
    gp, gx = jitney.grad(f, argnums=(0, -1))(p, x, power=3)
    near(gp["w"], [1.0, 8.0, 27.0])
    near(gx, 3.0 * np.arange(3.0) * np.array([1.0, 4.0, 9.0]))
    value, (gx,) = jitney.value_and_grad(f, argnums=(1,))(p, x)
    assert float(value) == float(f(p, x)) and gx.shape == (3,)


def test_auxiliary_data():
    value, g = jitney.value_and_grad(lambda x: (x * x, {"a": 2 * x}), has_aux=True)(3.0)
    assert float(value[0]) == 9.0 and float(value[1]["a"]) == 6.0 and float(g) == 6.0
    g, aux = jitney.grad(lambda x: (x * x, x > 0), has_aux=True)(3.0)
    assert bool(aux)
    out, pull, aux = jitney.vjp(lambda x: (x * 2, x), 1.0, has_aux=True)
    assert float(pull(1.0)[0]) == 2.0 and float(aux) == 1.0
    assert len(jitney.jvp(lambda x: (x, x), (1.0,), (1.0,), has_aux=True)) == 3
    with pytest.raises(TypeError, match="two-element tuple"):
        jitney.grad(lambda x: x, has_aux=True)(1.0)


@pytest.mark.parametrize("call, error, says", [
    (lambda: jitney.grad(lambda x: x * x)(2), TypeError, "real- or complex-valued inputs"),
    (lambda: jitney.grad(lambda x: x)(jnp.ones(3)), TypeError, "Output had shape: (3,)"),
    (lambda: jitney.grad(lambda x: (x, x))(1.0), TypeError, "Output was"),
    (lambda: jitney.grad(lambda x: x * 1j)(1.0), TypeError, "holomorphic=True"),
    (lambda: jitney.grad(lambda x: 3)(1.0), TypeError, "integer outputs"),
    (lambda: jitney.grad(lambda x: x, 3)(1.0), TypeError, "argnums=3 requires at least 4"),
    (lambda: jitney.grad(lambda x: x)("s"), TypeError, "not a valid JAX type"),
    (lambda: jitney.grad(lambda x: x, holomorphic=True)(1.0), TypeError, "complex dtype"),
    (lambda: jitney.jvp(jnp.sin, 1.0, 1.0), TypeError, "tuples or lists; found float and float"),
    (lambda: jitney.jvp(jnp.sin, (1.0,), (1,)), TypeError, "expected tangent dtype float32"),
    (lambda: jitney.jvp(jnp.sin, (1.0,), (jnp.ones(2),)), ValueError, "tangent shape as (2,)"),
    (lambda: jitney.vjp(jnp.sin, 1.0)[1]((1.0,)), ValueError, "unexpected tree structure"),
    (lambda: jitney.vjp(jnp.sin, 1.0)[1](jnp.ones(2)), ValueError, "expected float32[]"),
    (lambda: jitney.grad(lambda x: float(x) * x)(1.0), jitney.errors.ConcretizationTypeError,
     "float"),
    (lambda: jitney.grad(lambda x: np.sin(x))(1.0), jitney.errors.TracerArrayConversionError,
     "__array__"),
])
def test_errors(call, error, says):
    with pytest.raises(error) as info:
        call()
    assert says in str(info.value)


def test_integers_and_complex_numbers():
    g, zero = jitney.grad(lambda x, n: x * n, (0, 1), allow_int=True)(1.0, 2)
    assert float(g) == 2.0 and zero.dtype == jitney.float0
    assert complex(jitney.grad(lambda z: z * z, holomorphic=True)(1j)) == 2j
    near(jitney.grad(lambda x: jnp.abs(jnp.exp(1j * x) + 1.0) ** 2)(0.3), -2 * np.sin(0.3))


def test_values_are_known_under_grad_alone():
    seen = []

    def f(x):
        seen.append(repr(x))
        for _ in range(3):
            x = x * x if x > 1.5 else x + 1.0
        return x
    assert float(jitney.grad(f)(1.0)) == 32.0
    assert seen == ["GradTracer(primal=1.0, typeof(tangent)=f32[])"]
    with pytest.raises(jitney.errors.TracerBoolConversionError):
        jitney.jit(jitney.grad(f))(1.0)
    kept = []
    jitney.grad(lambda x: kept.append(x) or x)(1.0)
    with pytest.raises(jitney.errors.UnexpectedTracerError):
        kept[0] + 1.0


def test_gradient_text():
    text = folded(jitney.make_jaxpr(jitney.grad(lambda x: jnp.sin(x) * x))(1.0))
    assert text == ("{ lambda ; a:f32[]. let b:f32[] = sin a c:f32[] = cos a _:f32[] = mul b a "
                    "d:f32[] = mul b 1.0:f32[] e:f32[] = mul 1.0:f32[] a f:f32[] = mul e c "
                    "g:f32[] = add_any d f in (g,) }")

    @jitney.jit
    def fn(x, y):
        return jnp.sum(jnp.sin(x) * y)
    closed = jitney.make_jaxpr(jitney.grad(fn))(jnp.ones(3), jnp.ones(3))
    assert [e.primitive.name for e in closed.eqns] == ["jit", "jit"]
    assert [e.params["name"] for e in closed.eqns] == ["fn", "fn"]


def test_work_is_linear_in_the_program():
    def chain(n):
        def f(x):
            for _ in range(n):
                x = jnp.sin(x) * x
            return x
        return len(jitney.make_jaxpr(jitney.grad(f))(1.0).eqns)
    assert chain(40) - chain(20) == chain(60) - chain(40)


def test_derivatives_pass_through_jit_as_trees():
    _, pull = jitney.jit(lambda x: jitney.vjp(lambda y: jnp.sin(y) * y, x))(jnp.ones(3))
    near(pull(jnp.ones(3))[0], np.full(3, np.cos(1.0) + np.sin(1.0)))
    near(jitney.jit(lambda p, c: p(c))(pull, jnp.ones(3))[0],
         np.full(3, np.cos(1.0) + np.sin(1.0)))


def test_numpy_arguments_are_copied():
    x = np.ones(3, np.float32)
    _, pull = jitney.vjp(lambda y: y * y, x)
    x[:] = 7.0
    near(pull(jnp.ones(3))[0], [2.0, 2.0, 2.0])


# --- functions with rules of their own ---------------------------------------------------------


def test_custom_jvp_in_every_transformation():
    @jitney.custom_jvp
    def f(x, n):
        return x ** n
    f.defjvp(lambda primals, tangents: (f(*primals), 100.0 * tangents[0]))
    for g in (jitney.grad(f), jitney.jit(jitney.grad(f)), jitney.grad(jitney.jit(f))):
        assert float(g(2.0, 3.0)) == 100.0
    xs = jnp.arange(3.0)
    near(jitney.vmap(jitney.grad(f), (0, None))(xs, 2.0), [100.0] * 3)
    near(jitney.grad(lambda xs: jitney.vmap(f, (0, None))(xs, 2.0).sum())(xs), [100.0] * 3)
    assert float(jitney.jvp(f, (2.0, 3.0), (1.0, 0.0))[1]) == 100.0


def test_custom_vjp_in_every_transformation():
    @jitney.custom_vjp
    def clip_gradient(limit, x):
        return x * 1.0
    clip_gradient.defvjp(lambda limit, x: (x, limit),
                         lambda limit, g: (None, jnp.clip(g, -limit, limit)))

    def f(x):
        return 3.0 * clip_gradient(0.5, x)
    for g in (jitney.grad(f), jitney.jit(jitney.grad(f)), jitney.grad(jitney.jit(f)),
              jitney.grad(jitney.checkpoint(f))):
        assert float(g(2.0)) == 0.5
    xs = jnp.arange(3.0)
    near(jitney.vmap(jitney.grad(f))(xs), [0.5] * 3)
    near(jitney.grad(lambda xs: jitney.vmap(f)(xs).sum())(xs), [0.5] * 3)
    near(jitney.grad(lambda x: jitney.vmap(clip_gradient, (None, 0))(x, xs).sum())(0.5), 0.0)
    with pytest.raises(TypeError, match="can't apply forward-mode"):
        jitney.jvp(f, (1.0,), (1.0,))


def test_symbolic_zeros():
    seen = []

    @jitney.custom_jvp
    def f(x, y):
        return x * y

    def rule(primals, tangents):
        seen.extend(type(t) is jitney.custom_derivatives.SymbolicZero for t in tangents)
        return f(*primals), tangents[0] * primals[1]
    f.defjvp(rule, symbolic_zeros=True)
    assert float(jitney.grad(f)(2.0, 3.0)) == 3.0 and seen == [False, True]


def test_custom_gradient_and_closure_convert():
    f = jitney.custom_gradient(lambda x: (x ** 2, lambda g: (g * x,)))
    assert float(jitney.grad(f)(3.0)) == 3.0
    assert float(jitney.jit(jitney.grad(f))(3.0)) == 3.0

    def g(y):
        convert, values = jitney.closure_convert(lambda x: x * y, 1.0)
        return convert(2.0, *values)
    assert float(jitney.grad(g)(5.0)) == 2.0


def test_stop_gradient():
    assert float(jitney.grad(lambda x: lax.stop_gradient(x) * x)(3.0)) == 3.0


# --- vmap --------------------------------------------------------------------------------------


def test_axes_are_trees():
    def f(p, x):
        return {"sum": p["a"] + x, "a": p["a"]}
    out = jitney.vmap(f, in_axes=({"a": None, "b": 0}, 1), out_axes={"sum": -1, "a": None})(
        {"a": jnp.ones(2), "b": jnp.ones((3, 2))}, jnp.arange(6.0).reshape(2, 3))
    assert out["sum"].shape == (2, 3) and out["a"].shape == (2,)
    assert jitney.vmap(lambda: jnp.ones(2), axis_size=3)().shape == (3, 2)
    assert jitney.vmap(lambda x, *, y: x + y)(jnp.ones(2), y=jnp.ones(2)).shape == (2,)


@pytest.mark.parametrize("call, error, says", [
    (lambda: jitney.vmap(jnp.sin)(1.0), ValueError, "rank should be at least 1"),
    (lambda: jitney.vmap(lambda x, y: x)(jnp.ones(2), jnp.ones(3)), ValueError,
     "one axis had size 3: axis 0 of argument y of type float32[3]"),
    (lambda: jitney.vmap(jnp.sin, in_axes=None)(1.0), ValueError, "at least one non-None"),
    (lambda: jitney.vmap(jnp.sin, in_axes=(0, 0))(jnp.ones(2)), ValueError, "len(in_axes)=2"),
    (lambda: jitney.vmap(jnp.sin, in_axes="a"), TypeError, "must be an int, None"),
    (lambda: jitney.vmap(jnp.sin, out_axes=3)(jnp.ones(2)), ValueError, "out of bounds"),
    (lambda: jitney.vmap(jnp.sin, out_axes=None)(jnp.ones(2)), ValueError, "axis spec None"),
    (lambda: jitney.vmap(jnp.sin, out_axes=(0, 0))(jnp.ones(2)), ValueError, "tree prefix"),
    (lambda: jitney.vmap(lambda x: 1 if x > 0 else 2)(jnp.ones(2)),
     jitney.errors.TracerBoolConversionError, "boolean conversion"),
])
def test_vmap_errors(call, error, says):
    with pytest.raises(error) as info:
        call()
    assert says in str(info.value)


def test_jit_equations_stay_jit_equations():
    @jitney.jit
    def fn(x, y):
        return jnp.sin(x) * y
    closed = jitney.make_jaxpr(jitney.vmap(fn, (1, None)))(jnp.ones((2, 3)), 1.0)
    assert [e.primitive.name for e in closed.eqns][0] == "jit"


# --- named axes --------------------------------------------------------------------------------

ROWS = np.arange(6.0, dtype=np.float32).reshape(3, 2)


@pytest.mark.parametrize("f, want", [
    (lambda x: lax.psum(x, "i"), np.tile(ROWS.sum(0), (3, 1))),
    (lambda x: lax.pmean(x, "i"), np.tile(ROWS.mean(0), (3, 1))),
    (lambda x: lax.pmax(x, "i"), np.tile(ROWS.max(0), (3, 1))),
    (lambda x: lax.pmin(x, "i"), np.tile(ROWS.min(0), (3, 1))),
    (lambda x: x * lax.axis_index("i"), ROWS * np.arange(3.0)[:, None]),
    (lambda x: x * lax.axis_size("i") * lax.psum(1, "i"), ROWS * 9.0),
    (lambda x: lax.all_gather(x, "i"), np.tile(ROWS, (3, 1, 1))),
    (lambda x: lax.all_gather(x, "i", axis=1), np.tile(ROWS.T, (3, 1, 1))),
    (lambda x: lax.all_gather(x, "i", tiled=True), np.tile(ROWS.reshape(-1), (3, 1))),
    (lambda x: lax.psum_scatter(lax.all_gather(x, "i"), "i"), 3.0 * ROWS),
    (lambda x: lax.psum_scatter(lax.all_gather(x, "i", tiled=True), "i", tiled=True), 3.0 * ROWS),
    (lambda x: lax.ppermute(x, "i", [(0, 1), (1, 2)]),
     np.concatenate([np.zeros((1, 2)), ROWS[:2]])),
    (lambda x: lax.pshuffle(x, "i", [2, 0, 1]), ROWS[[2, 0, 1]]),
    (lambda x: lax.pbroadcast(x, "i", 1), np.tile(ROWS[1], (3, 1))),
    (lambda x: lax.all_to_all(lax.all_gather(x, "i"), "i", 0, 0), np.repeat(ROWS, 3, 0)
     .reshape(3, 3, 2)),
    (lambda x: jitney.jit(lambda y: lax.psum(y, "i") + lax.axis_index("i"))(x),
     ROWS.sum(0) + np.arange(3.0)[:, None]),
])
def test_collectives(f, want):
    near(jitney.vmap(f, axis_name="i")(jnp.asarray(ROWS)), want)
    near(jitney.jit(jitney.vmap(f, axis_name="i"))(jnp.asarray(ROWS)), want)

    def total(x):
        out = jitney.vmap(f, axis_name="i")(x)
        return jnp.sum(out * jnp.cos(jnp.arange(float(out.size)).reshape(out.shape)))
    h = 1e-2
    x, e = jnp.asarray(ROWS), np.zeros_like(ROWS)
    e[1, 1] = h
    near(jitney.grad(total)(x)[1, 1], (total(x + e) - total(x - e)) / (2 * h), 5e-2)


def test_gradients_inside_named_axes():
    x = jnp.arange(3.0)
    near(jitney.vmap(jitney.grad(lambda x: lax.psum(x * x, "i")), axis_name="i")(x), [0, 6, 12])
    near(jitney.vmap(jitney.grad(lambda x: lax.pmax(x, "i")), axis_name="i")(x), [0, 0, 3])
    nested = jitney.vmap(jitney.vmap(lambda x: lax.psum(x, ("i", "j")), axis_name="j"),
                         axis_name="i")
    near(nested(jnp.ones((2, 3))), np.full((2, 3), 6.0))
    with pytest.raises(NameError, match="unbound axis name"):
        lax.psum(jnp.ones(2), "nowhere")


def test_pmap():
    n = jitney.local_device_count()
    out = jitney.pmap(lambda x, y: x + lax.psum(y, "i"), axis_name="i", in_axes=(0, None))(
        jnp.ones((n, 2)), 1.0)
    near(out, np.full((n, 2), 1.0 + n))
    with pytest.raises(ValueError, match="number of devices"):
        jitney.pmap(lambda x: x)(jnp.ones((n + 1, 2)))
    times = jitney.pmap(lambda x, k: x * k, static_broadcasted_argnums=1)
    assert times(jnp.ones(n), 3).shape == (n,)


# --- checkpoint --------------------------------------------------------------------------------

POLICIES = jitney.checkpoint_policies


@pytest.mark.parametrize("policy, sines", [
    (None, 1), (POLICIES.nothing_saveable, 1), (POLICIES.everything_saveable, 0),
    (POLICIES.dots_saveable, 1), (POLICIES.save_only_these_names("s"), 0),
    (POLICIES.save_only_these_names("other"), 1)])
def test_policies(policy, sines):
    def f(x):
        return jnp.sum(jnp.exp(checkpoint_name(jnp.sin(x), "s")))
    g = jitney.grad(jitney.checkpoint(f, policy=policy))
    x = jnp.arange(3.0)
    near(g(x), np.asarray(jitney.grad(f)(x)))
    near(jitney.jit(g)(x), np.asarray(jitney.grad(f)(x)))
    closed = jitney.make_jaxpr(g)(x)
    again = [e for e in closed.eqns if e.primitive.name == "remat2"]
    assert len(again) == 1
    text = str(again[0].params["jaxpr"])
    assert text.count("= sin ") == sines


def test_checkpoint_statics_and_batches():
    f = jitney.checkpoint(lambda x, n: x ** n, static_argnums=1)
    assert float(jitney.grad(f)(2.0, 3)) == 12.0
    near(jitney.vmap(jitney.grad(f), (0, None))(jnp.ones(2), 3), [3.0, 3.0])
    near(jitney.grad(lambda x: jitney.vmap(lambda y: f(y, 3))(x).sum())(jnp.ones(2)), [3.0, 3.0])
