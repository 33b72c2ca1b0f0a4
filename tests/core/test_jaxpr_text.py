"""Programs as text."""

import numpy as np
import toy_language as toy

import jitney
from jitney.core.avals import to_array
from jitney.core.staging import traced_constant


def text(fun, *args):
    return " ".join(str(jitney.make_jaxpr(fun)(*args)).split())


def test_a_straight_line():
    got = text(lambda x, y: toy.mul(toy.add(x, y), toy.sin(x)), 1.0, 2.0)
    assert got == (
        "{ lambda ; a:f32[] b:f32[]. let c:f32[] = toy_add a b d:f32[] = toy_sin a "
        "e:f32[] = toy_mul c d in (e,) }"
    )


def test_short_programs_are_one_line():
    closed = jitney.make_jaxpr(lambda x: toy.mul(toy.sin(x), x))(1.0)
    assert (
        str(closed)
        == "{ lambda ; a:f32[]. let b:f32[] = toy_sin a; c:f32[] = toy_mul b a in (c,) }"
    )


def test_constants_literals_and_unused_results():
    c = to_array(np.arange(3, dtype=np.float32))

    def f(x):
        toy.sin(x)
        return toy.add(c, 1.0), c, 2, np.float32(1e-7), toy.sin(2.0)

    assert text(f, 1.0) == (
        "{ lambda a:f32[3]; b:f32[]. let _:f32[] = toy_sin b c:f32[3] = toy_add a 1.0:f32[] "
        "d:f32[] = toy_sin 2.0:f32[] in (c, a, 2:i32[], 1.0000000116860974e-07:f32[], d) }"
    )


def test_many_names():
    def f(x):
        for _ in range(28):
            x = toy.sin(x)
        return x

    got = text(f, 1.0)
    assert "z:f32[] = toy_sin y ba:f32[] = toy_sin z bb:f32[]" in got


def test_nested_programs_share_names_with_their_surroundings():
    inner = jitney.jit(lambda x, y: (toy.add(x, y), x))

    def f(x):
        return inner(x, x)

    assert text(f, 1.0) == (
        "{ lambda ; a:f32[]. let b:f32[] c:f32[] = jit[ name=<lambda> jaxpr={ lambda ; a:f32[] "
        "d:f32[]. let b:f32[] = toy_add a d in (b, a) } ] a a in (b, c) }"
    )


def test_repeated_programs_are_printed_once():
    @jitney.jit
    def g(x):
        return toy.sin(x)

    assert text(lambda x: g(g(x)), 1.0) == (
        "let g = { lambda ; a:f32[]. let b:f32[] = toy_sin a in (b,) } in { lambda ; c:f32[]. let "
        "d:f32[] = jit[name=g jaxpr=g] c e:f32[] = jit[name=g jaxpr=g] d in (e,) }"
    )


def test_captured_tracers_become_operands():
    def f(x, y):
        return jitney.jit(lambda a: toy.add(toy.mul(a, x), y))(x)

    assert text(f, 1.0, 2.0) == (
        "{ lambda ; a:f32[] b:f32[]. let c:f32[] = jit[ name=<lambda> jaxpr={ lambda ; a:f32[] "
        "b:f32[] d:f32[]. let e:f32[] = toy_mul d a c:f32[] = toy_add e b in (c,) } ] a b a "
        "in (c,) }"
    )


def test_shown_parameters_of_jit():
    f = jitney.jit(lambda x, y: toy.add(x, y), donate_argnums=0, keep_unused=True)
    assert "donated_invars=(True, False) jaxpr={" in text(f, 1.0, 2.0)
    assert "} keep_unused=True ] a b" in text(f, 1.0, 2.0)


def test_inline_leaves_no_trace():
    f = jitney.jit(lambda x: toy.sin(x), inline=True)
    assert text(f, 1.0) == "{ lambda ; a:f32[]. let b:f32[] = toy_sin a in (b,) }"


def test_long_programs_are_printed_on_their_own():
    def h(x):
        for _ in range(11):
            x = toy.sin(x)
        return x
    got = text(lambda x: jitney.jit(h)(x), 1.0)
    assert got.startswith("let h = {") and got.endswith(
        "in { lambda ; n:f32[]. let o:f32[] = jit[name=h jaxpr=h] n in (o,) }")


def test_equations_alone_name_their_inputs_first():
    closed = jitney.make_jaxpr(lambda x: toy.add(toy.sin(x), x))(1.0)
    assert str(closed.eqns[1]) == "c:f32[] = toy_add a b"


def test_values_made_under_a_trace():
    def f(x):
        made = traced_constant(to_array(np.float32(3)))
        assert isinstance(made, jitney.core.Tracer)
        return toy.add(x, made), traced_constant(to_array(np.ones(2, np.float32)))
    assert text(f, np.float32(1)) == (
        "{ lambda a:f32[2]; b:f32[]. let c:f32[] = toy_add b 3.0:f32[] in (c, a) }")
    assert traced_constant(2) == 2
