"""Python called from programs."""

import numpy as np
import pytest

import jitney
from jitney.api.callbacks import io_callback
from jitney.core import dce_jaxpr
from jitney.flatten_util import ravel_pytree

SCALAR = jitney.ShapeDtypeStruct((), np.float32)


def test_pure_callback():
    f = jitney.jit(lambda x: jitney.pure_callback(lambda v: np.sin(v), SCALAR, x))
    assert float(f(1.0)) == pytest.approx(np.sin(1.0))
    assert float(f(2.0)) == pytest.approx(np.sin(2.0)) and f.hits == 1
    assert float(jitney.pure_callback(np.cos, SCALAR, 0.0)) == 1.0


def test_the_callback_gets_arrays_of_its_own():
    kept = []

    def keep(x):
        kept.append(x)
        return x
    f = jitney.jit(lambda x: jitney.pure_callback(keep, SCALAR, x))
    f(1.0)
    f(2.0)
    assert [float(x) for x in kept] == [1.0, 2.0] and isinstance(kept[0], jitney.Array)


def test_mistakes_of_the_callback_are_reported():
    f = jitney.jit(lambda x: jitney.pure_callback(lambda v: 1 / 0, SCALAR, x))
    with pytest.raises(jitney.errors.JaxRuntimeError, match="ZeroDivisionError"):
        f(1.0)
    f = jitney.jit(lambda x: jitney.pure_callback(lambda v: np.ones(3), SCALAR, x))
    with pytest.raises(jitney.errors.JaxRuntimeError, match=r"shape \(3,\).*float32\[\]"):
        f(1.0)
    with pytest.raises(ValueError, match="64-bit"):
        jitney.pure_callback(np.sin, jitney.ShapeDtypeStruct((), np.float64), 1.0)


def test_effects_stay_and_pure_calls_may_go():
    def f(x):
        io_callback(lambda v: v, SCALAR, x)
        jitney.pure_callback(lambda v: v, SCALAR, x)
        jitney.debug.print("{}", x)
        return x
    jaxpr, _ = dce_jaxpr(jitney.make_jaxpr(f)(1.0).jaxpr)
    assert [e.primitive.name for e in jaxpr.eqns] == ["io_callback", "debug_print"]


def test_debug_print(capsys):
    @jitney.jit
    def f(x):
        jitney.debug.print("x = {x}, half {} {}", x, "text", x={"a": x})
        return x
    f(np.float32([1, 2]))
    f(np.float32([3, 4]))
    assert capsys.readouterr().out == (
        "x = {'a': Array([1., 2.], dtype=float32)}, half [1. 2.] text\n"
        "x = {'a': Array([3., 4.], dtype=float32)}, half [3. 4.] text\n")
    jitney.debug.print("{:.2f}", 0.5)
    assert capsys.readouterr().out == "0.50\n"
    with pytest.raises(ValueError, match="f-string"):
        jitney.debug.print("nothing", y=1)
    with pytest.raises(IndexError):
        jitney.debug.print("{}")


def test_debug_log(caplog):
    @jitney.jit
    def f(x):
        jitney.debug.log("x = {x}, {}", "text", x=x)
        return x
    with caplog.at_level("INFO"):
        f(np.float32(2.0))
        f(np.float32(3.0))
    assert [r.getMessage() for r in caplog.records] == ["x = 2.0, text", "x = 3.0, text"]
    assert {(r.name, r.levelname, r.filename) for r in caplog.records} == {
        ("jitney.debug", "INFO", "test_callbacks.py")}
    assert "<LogRecord: jitney.debug, 20, " in str(jitney.make_jaxpr(f)(1.0))


def test_debug_callback():
    seen = []
    f = jitney.jit(lambda x: (jitney.debug.callback(lambda a, k: seen.append((float(a), k)), x,
                                                    k="name"), x)[1])
    f(1.0)
    f(2.0)
    assert seen == [(1.0, "name"), (2.0, "name")]


def test_ravel_pytree():
    flat, unravel = ravel_pytree({"a": np.ones((2, 2), np.float32), "b": 7})
    assert np.asarray(flat).tolist() == [1, 1, 1, 1, 7] and flat.dtype == np.float32
    back = unravel(np.float32([0, 1, 2, 3, 4]))
    assert back["a"].shape == (2, 2) and back["b"].dtype == np.int32 and int(back["b"]) == 4
    assert ravel_pytree({})[0].shape == (0,)
    with pytest.raises(ValueError, match="expected shape"):
        unravel(np.float32([1]))
    assert ravel_pytree([1.0])[1] == ravel_pytree([2.0])[1]
