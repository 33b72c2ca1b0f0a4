"""The small modules: dlpack, profiler, extend.core, ad_checkpoint, and names of jax itself."""

import gzip
import json

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import ad_checkpoint, dlpack, profiler
from jitney.extend import core as extend


# --- dlpack ------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", ["float32", "int8", "uint16", "complex64", "bool"])
def test_dlpack_round_trip(dtype):
    x = np.arange(6).reshape(2, 3).astype(dtype)
    ours = dlpack.from_dlpack(x)
    assert ours.dtype == dtype and dlpack.is_supported_dtype(dtype)
    np.testing.assert_array_equal(np.from_dlpack(ours), x)
    np.testing.assert_array_equal(dlpack.from_dlpack(ours, copy=True), x)
    assert dlpack.from_dlpack(x, jitney.devices()[0]).device == jitney.devices()[0]
    x[...] = 0
    assert np.asarray(ours).any()


def test_dlpack_errors():
    with pytest.raises(TypeError, match="must have __dlpack__ and __dlpack_device__"):
        dlpack.from_dlpack([1])
    with pytest.raises(ValueError, match="copy=False"):
        dlpack.from_dlpack(np.ones(3, np.float32), copy=False)
    assert not dlpack.is_supported_dtype(jnp.float8_e4m3fn)


# --- profiler ----------------------------------------------------------------------------------
def events(folder):
    (path,) = folder.glob("plugins/profile/*/*.trace.json.gz")
    return [e for e in json.loads(gzip.open(path).read())["traceEvents"] if e["ph"] == "X"]


def test_trace(tmp_path):
    @profiler.annotate_function
    def work(x):
        """Twice."""
        return x * 2

    assert work(3) == 6 and work.__doc__ == "Twice." and not profiler.TraceAnnotation.is_enabled()
    with profiler.trace(tmp_path):
        with profiler.StepTraceAnnotation("train", step_num=7):
            work(1)
            work(2)
        with pytest.raises(RuntimeError, match="already been started"):
            profiler.start_trace(tmp_path)
    work(4)
    found = events(tmp_path)
    assert [e["name"].rpartition(".")[2] for e in found] == ["work", "work", "train"]
    outer = found[-1]
    assert outer["args"] == {"_r": "1", "step_num": "7"}
    assert all(outer["ts"] <= e["ts"] and e["ts"] + e["dur"] <= outer["ts"] + outer["dur"] + 0.01
               for e in found)


def test_trace_files_and_errors(tmp_path):
    profiler.start_trace(str(tmp_path), create_perfetto_trace=True)
    profiler.stop_trace()
    assert len(list(tmp_path.glob("plugins/profile/*/perfetto_trace.json.gz"))) == 1
    with pytest.raises(RuntimeError, match="No profile started"):
        profiler.stop_trace()
    with pytest.raises(NotImplementedError, match="ui.perfetto.dev"):
        profiler.start_trace(tmp_path, create_perfetto_link=True)
    with pytest.raises(NotImplementedError, match="profiler_options"):
        profiler.start_trace(tmp_path, profiler_options={})
    with pytest.raises(TypeError, match="the name is a string"):
        profiler.TraceAnnotation(3)


def test_memory_profile(tmp_path):
    kept = jnp.ones((123, 7)) + 1
    profiler.save_device_memory_profile(tmp_path / "memory.prof")
    content = gzip.decompress((tmp_path / "memory.prof").read_bytes())
    assert b"float32[123,7]" in content and b"allocations" in content and kept.nbytes
    assert gzip.decompress(profiler.device_memory_profile())[:1] == b"\x0a"
    with pytest.raises(RuntimeError):
        profiler.device_memory_profile("gpu")


# --- extend.core -------------------------------------------------------------------------------
def test_questions_about_traces():
    seen = []

    def look(x):
        seen.append((extend.unsafe_am_i_under_a_jit_DO_NOT_USE(),
                     extend.unsafe_am_i_under_a_vmap_DO_NOT_USE(),
                     extend.unsafe_get_axis_names_DO_NOT_USE(),
                     extend.nonempty_axis_env_DO_NOT_USE()))
        with extend.take_current_trace() as trace:
            assert (trace is None) == (not any(seen[-1][:2])) and jnp.add(1, 2) == 3
        return x

    before = extend.get_opaque_trace_state()
    look(1.0)
    jitney.jit(look)(1.0)
    jitney.vmap(look, axis_name="i")(jnp.ones(2))
    jitney.jit(jitney.vmap(look))(jnp.ones(2))
    assert seen == [(False, False, [], False), (True, False, [], False),
                    (False, True, ["i"], True), (True, True, [], False)]
    assert extend.get_opaque_trace_state() == before and extend.find_top_trace(3) is None
    states = []
    jitney.jit(lambda x: states.append(extend.get_opaque_trace_state(convention="nnx")))(1.0)
    assert states[0] != before and hash(states[0]) is not None


def test_avals_and_equations():
    aval = jitney.core.ShapedArray((3, 2), np.dtype("float32"))
    assert extend.mapped_aval(3, 0, aval).shape == (2,)
    assert extend.unmapped_aval(5, 1, aval).shape == (3, 5, 2)
    assert extend.mapped_aval(3, None, aval) == extend.unmapped_aval(3, None, aval) == aval
    with pytest.raises(ValueError, match="no axis 0 of size 4"):
        extend.mapped_aval(4, 0, aval)
    assert extend.valid_jaxtype(3) and not extend.valid_jaxtype("x")
    assert extend.primal_dtype_to_tangent_dtype(np.dtype("int32")) == jitney.float0
    new = extend.gensym()
    a, b = new(aval), new(aval)
    eqn = extend.new_jaxpr_eqn([a], [b], jitney.lax.sin_p, {"accuracy": None}, extend.no_effects)
    jaxpr = extend.Jaxpr([], [a], [b], [eqn])
    out = extend.jaxpr_as_fun(extend.ClosedJaxpr(jaxpr, []))(jnp.ones((3, 2)))
    np.testing.assert_allclose(out[0], np.full((3, 2), np.sin(1.0)), rtol=1e-6)


def test_concrete_or_error():
    assert extend.concrete_or_error(int, jnp.int32(3)) == 3
    assert extend.concrete_or_error(None, 2.5) == 2.5
    jitney.grad(lambda x: x * extend.concrete_or_error(float, x))(2.0)
    with pytest.raises(jitney.errors.ConcretizationTypeError, match="for the length"):
        jitney.jit(lambda n: extend.concrete_or_error(int, n, "for the length"))(3)


# --- ad_checkpoint -----------------------------------------------------------------------------
def test_saved_residuals(capsys):
    def f(x, y):
        return jnp.sin(jnp.sin(x)) * y["a"] * CONSTANT
    jitney.ad_checkpoint.print_saved_residuals(f, 1.0, y={"a": jnp.ones(3)})
    lines = capsys.readouterr().out.splitlines()
    assert "f32[3] from the argument y['a']" in lines
    assert sum(" output of cos from " in line for line in lines) == 2
    ad_checkpoint.print_saved_residuals(ad_checkpoint.checkpoint(f), 1.0, {"a": jnp.ones(3)})
    assert "cos" not in capsys.readouterr().out
    ad_checkpoint.print_saved_residuals(lambda *xs: xs[0] * xs[1], 1.0, 2.0)
    assert "f32[] from the argument args[0]" in capsys.readouterr().out


CONSTANT = np.arange(3.0, dtype=np.float32)


@pytest.mark.parametrize("answer, kept", [
    (ad_checkpoint.Saveable, True), (ad_checkpoint.Recompute, False), (True, True), (False, False),
    (ad_checkpoint.Offloadable("device", "pinned_host"), True)])
def test_answers_of_policies(answer, kept, capsys):
    f = ad_checkpoint.checkpoint(lambda x: jnp.sin(jnp.sin(x)),
                                 policy=lambda primitive, *_, **params: answer)
    np.testing.assert_allclose(jitney.grad(f)(1.0), np.cos(np.sin(1.0)) * np.cos(1.0), rtol=1e-6)
    ad_checkpoint.print_saved_residuals(f, 1.0)
    assert ("from the argument x" in capsys.readouterr().out) != kept


# --- names of jax ------------------------------------------------------------------------------
@pytest.mark.parametrize("jitted", [True, False])
def test_forward_and_backward(jitted):
    traces = []

    def f(x, w, n):
        traces.append(1)
        return jnp.tanh(x @ w) * n, {"aux": x}

    x, w = jnp.ones((2, 2)), jnp.full((2, 2), 0.1)
    fwd, bwd = jitney.fwd_and_bwd(f, argnums=(1, 0), has_aux=True, jitted=jitted)
    for _ in range(3):
        out, residuals, aux = fwd(x, w, 3)
        got = bwd(residuals, jnp.ones((2, 2)))
    want = jitney.grad(lambda w, x: jnp.sum(f(x, w, 3)[0]), (0, 1))(w, x)
    np.testing.assert_allclose(got, want, rtol=1e-6)
    np.testing.assert_allclose(out, f(x, w, 3)[0], rtol=1e-6)
    assert aux["aux"].shape == (2, 2) and len(traces) == (3 if jitted else 5)
    fwd, bwd = jitney.fwd_and_bwd(lambda x, y: x * y, argnums=-1, jitted=jitted)
    assert float(bwd(fwd(2.0, 3.0)[1], 1.0)) == 2.0
    with pytest.raises(ValueError, match=r"argnums \(2,\) for a call with 1 positional"):
        jitney.fwd_and_bwd(lambda x: x, 2, jitted=False)[0](1.0)


def test_user_context():
    context, traces = jitney.make_user_context("fast"), []

    @jitney.jit
    def f(x):
        traces.append(context.value)
        return x

    f(1.0)
    for _ in range(2):
        with context("exact"):
            f(1.0)
            f(1.0)
    f(1.0)
    assert traces == ["fast", "exact"] and context.value == "fast"
    other = jitney.make_user_context()
    assert other.value is None and other.name != context.name
    with pytest.raises(TypeError, match="unhashable"):
        jitney.make_user_context([])


def test_small_names():
    assert (jitney.host_count(), jitney.host_id(), jitney.host_ids()) == (1, 0, [0])
    with jitney.disable_jit(), jitney.disable_jit(disable=False):
        assert not jitney.config.jax_disable_jit
    assert not jitney.distributed.is_initialized() and jitney.distributed.shutdown() is None
    assert jitney.core.max_dim(2, 3) == 3 and jitney.core.min_dim(2, 3) == 2
    leaves, tree = jitney.tree_util.default_registry.flatten({"a": 1, "b": (2,)})
    assert leaves == [1, 2] and tree == jitney.tree.structure({"a": 1, "b": (2,)})
    with jitney.thread_guard(True), jitney.array_garbage_collection_guard("log"):
        pass
    assert not jitney.export.is_symbolic_dim(3)
    assert jitney.export.default_export_platform() == "cpu"
    with pytest.raises(TypeError, match="a dimension is an integer"):
        jitney.export.is_symbolic_dim("b")
