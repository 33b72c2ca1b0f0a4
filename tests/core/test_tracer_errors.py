"""What happens when a tracer is asked for a value: JAX's classes, texts that help."""

import numpy as np
import pytest
import toy_language as toy

import jitney
from jitney import errors


def message(error_class, fun, *args):
    with pytest.raises(error_class) as found:
        jitney.make_jaxpr(fun)(*args)
    return str(found.value)


def test_truth_value():
    def f(x, flag):
        return 1 if toy.gt(toy.sin(x), 0.0) else 2

    text = message(errors.TracerBoolConversionError, f, 1.0, True)
    for part in (
        "bool[]",
        "the function f at",
        "test_tracer_errors.py",
        "the argument x",
        "toy_gt",
        "jnp.where",
        "lax.cond",
        "static_argnames",
    ):
        assert part in text
    assert "the argument flag" not in text


def test_two_arguments_are_both_named():
    text = message(errors.TracerBoolConversionError, lambda x, y: bool(toy.gt(x, y)), 1.0, 2.0)
    assert "the argument x and the argument y" in text


def test_numbers():
    assert "__index__" in message(errors.TracerIntegerConversionError, lambda n: range(n), 3)
    assert "`float`" in message(errors.ConcretizationTypeError, lambda x: float(x), 3)
    assert "item()" in message(errors.ConcretizationTypeError, lambda x: x.item(), 3)
    assert "jax.numpy" in message(errors.TracerArrayConversionError, lambda x: np.sin(x), 3.0)


def test_parts_of_trees_are_named():
    text = message(
        errors.TracerBoolConversionError, lambda params: bool(params["w"][0]), {"w": (1.0, 2.0)}
    )
    assert "the argument params['w'][0]" in text


def test_more_than_one_element():
    with pytest.raises(ValueError, match="ambiguous"):
        jitney.make_jaxpr(lambda x: bool(x))(np.ones(3))


def test_leaks():
    kept = []

    @jitney.jit
    def f(x):
        kept.append(x)
        return x

    f(1.0)
    with pytest.raises(errors.UnexpectedTracerError) as error:
        toy.sin(kept[0])
    assert "the function f at" in str(error.value) and "return" in str(error.value)
    with pytest.raises(errors.UnexpectedTracerError, match="side effect"):
        jitney.make_jaxpr(lambda x: toy.add(x, kept[0]))(1.0)


def test_checking_leaks():
    kept = []
    with jitney.checking_leaks():
        with pytest.raises(Exception, match="Leaked trace"):
            jitney.make_jaxpr(lambda x: kept.append(x) or x)(1.0)
        jitney.make_jaxpr(lambda x: toy.sin(x))(1.0)


def test_tracers_describe_themselves():
    seen = []
    jitney.make_jaxpr(
        lambda x, y: (
            seen.append(
                (
                    repr(x),
                    repr(y),
                    x.shape,
                    x.dtype,
                    x.ndim,
                    len(x),
                    isinstance(x, jitney.Array),
                    isinstance(x, jitney.core.Tracer),
                )
            ),
            x,
        )[1]
    )(np.ones(3, np.float32), 1.0)
    assert seen == [
        (
            "JitTracer(float32[3])",
            "JitTracer(~float32[])",
            (3,),
            np.dtype("float32"),
            1,
            3,
            True,
            True,
        )
    ]
    with pytest.raises(TypeError, match="unhashable"):
        jitney.make_jaxpr(lambda x: hash(x))(1.0)


def test_results_must_be_arrays():
    with pytest.raises(TypeError, match="the function|The function.*not an array"):
        jitney.make_jaxpr(lambda x: "text")(1.0)
