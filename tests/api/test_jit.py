"""`jit`: signatures, static and donated arguments, trees, nesting, modes."""

import functools
import inspect
import pickle

import numpy as np
import pytest
import toy_language as toy

import jitney
from jitney.base import debug
from jitney.core.avals import to_array


def array(*values, dtype=np.float32):
    return to_array(np.array(values, dtype))


def same(a, b):
    np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


def traces(action):
    before = debug.counts().get("traces", 0)
    action()
    return debug.counts().get("traces", 0) - before


def test_values_and_trees():
    @jitney.jit
    def f(x, y):
        return {"sum": toy.add(x, y["a"]), "pair": (x, None, [toy.mul(x, 2.0)])}

    for _ in range(2):
        out = f(array(1, 2), {"a": array(3, 4)})
        same(out["sum"], [4, 6])
        same(out["pair"][2][0], [2, 4])
        assert out["pair"][1] is None
    assert f.hits == 1 and f.misses == 1


def test_the_second_call_runs_no_python():
    n = []
    f = jitney.jit(lambda x: (n.append(1), toy.add(x, 1.0))[1])
    f(array(1))
    f(array(2))
    assert len(n) == 1 and f.hits == 1
    f(array(1, 2))
    f(1.0)
    assert len(n) == 3


def test_python_scalars_are_weak():
    assert repr(jitney.jit(lambda x: x)(2)) == "Array(2, dtype=int32, weak_type=True)"
    assert repr(jitney.jit(lambda: 1.5)()) == "Array(1.5, dtype=float32, weak_type=True)"
    with pytest.raises(OverflowError, match="argument path is n"):
        jitney.jit(lambda n: n)(2**31)
    with jitney.enable_x64(True):
        assert (
            repr(jitney.jit(lambda x: x)(2**31)) == "Array(2147483648, dtype=int64, weak_type=True)"
        )


def test_static_arguments():
    n = []

    @functools.partial(jitney.jit, static_argnums=1)
    def f(x, k=3, *, mode="a"):
        n.append(k)
        return toy.mul(x, float(k))

    assert float(f(2.0, 10)) == 20 and float(f(3.0, 10)) == 30 and float(f(2.0, k=11)) == 22
    assert n == [10, 11]
    assert float(f(2.0)) == 6
    with pytest.raises(ValueError, match="hash"):
        f(2.0, [1])
    g = jitney.jit(lambda x, flag: x if flag else toy.sin(x), static_argnames="flag")
    assert float(g(1.0, True)) == 1.0 and float(g(1.0, flag=True)) == 1.0
    assert float(g(1.0, flag=False)) != 1.0
    assert (
        float(jitney.jit(lambda *a: toy.add(a[0], float(a[2])), static_argnums=2)(1.0, 2, 3)) == 4
    )
    assert float(jitney.jit(lambda a, b: toy.add(a, b), static_argnums=-1)(1.0, 2.0)) == 3


def test_statics_of_equal_value_and_other_type_are_different():
    f = jitney.jit(lambda k: 1 if isinstance(k, bool) else 2, static_argnums=0)
    assert int(f(True)) == 1 and int(f(1)) == 2 and int(f(True)) == 1


def test_wrong_descriptions_are_refused():
    def f(x, y):
        return x

    with pytest.raises(ValueError, match="only accepts 2 positional"):
        jitney.jit(f, static_argnums=5)
    with pytest.raises(ValueError, match="does not take these args"):
        jitney.jit(f, static_argnames="z")
    with pytest.raises(ValueError, match="cannot intersect"):
        jitney.jit(f, static_argnums=0, donate_argnums=0)
    with pytest.raises(ValueError, match="positional-only"):
        jitney.jit(lambda x, /, y: x, static_argnames="x")
    with pytest.raises(TypeError, match="callable"):
        jitney.jit(3)
    with pytest.raises(RuntimeError, match="only 'cpu'"):
        jitney.jit(f, backend="tpu")
    with pytest.raises(NotImplementedError, match="abstracted_axes"):
        jitney.jit(f, abstracted_axes={0: "n"})
    with pytest.raises(TypeError, match="generator"):
        jitney.jit(lambda: (yield))


def test_wrong_arguments_are_named():
    def f(x, y):
        return x

    with pytest.raises(TypeError, match=r"at path y\[1\].*static_argnames='y'") as error:
        jitney.jit(f)(1, (2, "text"))
    assert "f at" in str(error.value)
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        jitney.jit(f)(1)


def test_decorator_forms_methods_and_names():
    @jitney.jit
    def f(x):
        "The text."
        return x

    @jitney.jit(inline=True)
    def g(x):
        return x

    assert (
        f.__name__ == "f"
        and f.__doc__ == "The text."
        and inspect.signature(f) == inspect.signature(f.__wrapped__)
    )
    assert float(g(1.0)) == 1.0

    class Model:
        def __init__(self, k):
            self.k = k

        @functools.partial(jitney.jit, static_argnums=0)
        def scaled(self, x):
            return toy.mul(x, self.k)

        def __call__(self, x):
            return toy.add(x, self.k)

    m = Model(3.0)
    assert float(m.scaled(2.0)) == 6.0 and float(Model(4.0).scaled(2.0)) == 8.0
    assert float(jitney.jit(m)(2.0)) == 5.0 and float(jitney.jit(m.scaled)(2.0)) == 6.0


def test_captured_arrays_are_hidden_arguments():
    c = array(1, 2, 3)
    f = jitney.jit(lambda x: toy.add(c, x))
    same(f(1.0), [2, 3, 4])
    same(f(2.0), [3, 4, 5])
    runnable = f.lower(1.0).compile()._runnable
    assert len(runnable.hidden) == 1 and runnable.program.num_inputs == 2


def test_unused_inputs_are_not_passed():
    f = jitney.jit(lambda x, y: x)
    f(1.0, 2.0)
    assert f.lower(1.0, 2.0).compile()._runnable.kept == (0,)
    g = jitney.jit(lambda x, y: x, keep_unused=True)
    assert g.lower(1.0, 2.0).compile()._runnable.kept == (0, 1)


def test_nested_functions_and_captured_tracers():
    @jitney.jit
    def outer(x, y):
        inner = jitney.jit(lambda a: toy.mul(a, x))
        return toy.add(inner(y), inner(2.0))

    assert float(outer(3.0, 4.0)) == 18.0
    assert float(outer(1.0, 1.0)) == 3.0


def test_donation():
    f = jitney.jit(lambda x: toy.add(x, 1.0), donate_argnums=0)
    x = array(1, 2)
    same(f(x), [2, 3])
    assert x.is_deleted()
    with pytest.raises(RuntimeError, match="deleted"):
        f(x)
    y = array(1, 2)
    with pytest.warns(UserWarning, match=r"donated buffers were not usable: float32\[2\]"):
        jitney.jit(lambda x: toy.total(x), donate_argnums=0)(y)
    assert not y.is_deleted()


def test_disable_jit():
    with jitney.disable_jit():
        assert jitney.jit(lambda x: 1 if x > 0 else 2)(1.0) == 1


def test_nan_check():
    f = jitney.jit(lambda x: toy.sin(x))
    with jitney.debug_nans(True):
        with pytest.raises(FloatingPointError, match="nan"):
            f(np.float32(np.inf))
        f(1.0)
    assert np.isnan(float(f(np.float32(np.inf))))


def test_an_error_leaves_everything_usable():
    def f(x, fail):
        if fail:
            raise KeyError("mine")
        return toy.sin(x)

    g = jitney.jit(f, static_argnums=1)
    with pytest.raises(KeyError, match="mine") as error:
        g(1.0, True)
    assert "jitney" not in {frame.path.parent.parent.name for frame in error.traceback}
    assert float(g(0.0, False)) == 0.0


def test_clearing():
    n = []
    f = jitney.jit(lambda x: (n.append(1), x)[1])
    f(1.0)
    f.clear_cache()
    f(1.0)
    jitney.clear_caches()
    f(1.0)
    assert len(n) == 3


def test_pickle_keeps_options():
    f = pickle.loads(pickle.dumps(jitney.jit(_scaled, static_argnums=1)))
    assert float(f(2.0, 3.0)) == 6.0


def _scaled(x, k):
    return toy.mul(x, k)


def test_keywords_defaults_and_variadic():
    @jitney.jit
    def f(x, *rest, y=2.0, **more):
        return x, rest, y, more

    out = f(1, 2, 3, z=4, y=5)
    assert [int(v) for v in (out[0], *out[1], out[2], out[3]["z"])] == [1, 2, 3, 5, 4]
    out = f(1, z=4, y=5)
    assert out[1] == () and int(out[3]["z"]) == 4
    assert out[2].weak_type


def test_numpy_inputs_are_converted():
    f = jitney.jit(lambda x: toy.add(x, 1.0))
    same(f(np.array([1.0, 2.0])), [2, 3])
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    same(f(x.T), x.T + 1)
    same(f(x[:, ::2]), x[:, ::2] + 1)
    assert f(np.float64(1)).dtype == np.float32


def test_reasons_for_tracing_again(capsys):
    def f(x, k):
        return toy.mul(x, float(k))

    g = jitney.jit(f, static_argnums=1)
    with jitney.explain_cache_misses(True):
        g(array(1, 2), 3)
        g(array(1, 2, 3), 3)
        g(array(1, 2), 4)
    lines = capsys.readouterr().err.splitlines()
    assert "traced for the first time" in lines[0] and "f at" in lines[0]
    assert "argument x: float32[2] -> float32[3]" in lines[1]
    assert "static values [3] -> [4]" in lines[2]


def test_types_in_64_bit_mode_do_not_mix():
    f = jitney.jit(lambda x: toy.add(x, 1.0))
    assert f(np.arange(3.0)).dtype == np.float32
    with jitney.enable_x64(True):
        assert f(np.arange(3.0)).dtype == np.float64
    assert f(np.arange(3.0)).dtype == np.float32 and traces(lambda: f(np.arange(3.0))) == 0


def test_threads_have_traces_of_their_own():
    import threading

    failed = []

    @jitney.jit
    def f(x):
        return toy.sin(toy.mul(x, 2.0))

    def work(n):
        try:
            for i in range(20):
                same(
                    f(array(*range(n + i % 3))), np.sin(2 * np.arange(n + i % 3, dtype=np.float32))
                )
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in (1, 2, 3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failed
