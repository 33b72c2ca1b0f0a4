"""make_jaxpr, eval_shape, stages, devices, text of arrays."""

import numpy as np
import pytest
import toy_language as toy

import jitney
from jitney.core.avals import ShapedArray, to_array


def test_make_jaxpr_options():
    closed, shapes = jitney.make_jaxpr(
        lambda x, n: {"a": toy.mul(x, float(n))}, static_argnums=1, return_shape=True
    )(1.0, 3)
    assert "toy_mul a 3.0:f32[]" in str(closed)
    assert shapes == {"a": jitney.ShapeDtypeStruct((), "float32", weak_type=True)}
    closed = jitney.make_jaxpr(toy.sin)(jitney.ShapeDtypeStruct((3,), "bfloat16"))
    assert closed.in_avals == [ShapedArray((3,), "bfloat16")]


def test_eval_shape():
    got = jitney.eval_shape(lambda x: (toy.total(x), 1), jitney.ShapeDtypeStruct((3,), "float32"))
    assert repr(got) == (
        "(ShapeDtypeStruct(shape=(), dtype=float32), "
        "ShapeDtypeStruct(shape=(), dtype=int32, weak_type=True))"
    )
    f = jitney.jit(toy.sin)
    assert f.eval_shape(np.ones((2, 2), np.float32)).shape == (2, 2)
    assert str(jitney.typeof(np.ones(3))) == "float32[3]"
    with pytest.raises(TypeError, match="not a valid JAX type"):
        jitney.typeof("text")


def test_stages():
    def f(x, y):
        return {"out": toy.add(x, y)}

    traced = jitney.jit(f).trace(1.0, y=2.0)
    assert traced.fun_name == "f" and "toy_add" in str(traced.jaxpr)
    lowered = traced.lower()
    assert lowered.args_info[0][0].shape == () and not lowered.args_info[1]["y"].donated
    assert lowered.out_info == {"out": jitney.ShapeDtypeStruct((), "float32")}
    assert "toy_add" in lowered.as_text("jaxpr")
    compiled = lowered.compile()
    assert float(compiled(1.0, y=3.0)["out"]) == 4.0
    assert compiled.cost_analysis()["flops"] >= 1
    assert compiled.memory_analysis().argument_size_in_bytes == 8
    with pytest.raises(
        TypeError,
        match=r"Argument 'x' compiled with float32\[\] and called with "
        r"float32\[3\]",
    ):
        compiled(np.ones(3, np.float32), y=1.0)
    with pytest.raises(TypeError, match="pytree"):
        compiled(1.0, 2.0)
    with pytest.raises(TypeError, match="pytree"):
        compiled(1.0)
    g = jitney.jit(lambda x: float(compiled(1.0, y=1.0)["out"]) and compiled(x, y=1.0)["out"])
    assert float(g(2.0)) == 3.0


def test_the_device():
    (device,) = jitney.devices()
    assert (
        repr(device) == "CpuDevice(id=0)" and device.platform == jitney.default_backend() == "cpu"
    )
    assert jitney.device_count() == jitney.local_device_count() == 1
    x = jitney.device_put({"a": np.arange(3.0)}, device)["a"]
    assert isinstance(x, jitney.Array) and x.dtype == np.float32
    assert x.devices() == {device} and x.device is device
    assert repr(x.sharding) == "SingleDeviceSharding(device=CpuDevice(id=0), memory_kind=device)"
    assert jitney.block_until_ready((x, 1))[0] is x
    got = jitney.device_get({"a": x, "b": 1.0})
    assert type(got["a"]) is np.ndarray and got["b"] == 1.0
    with pytest.raises(RuntimeError, match="Unknown backend"):
        jitney.devices("gpu")
    assert "numpy" in jitney.print_environment_info(return_string=True)


def test_device_put_copies_what_may_change():
    source = np.ones(3, np.float32)
    x = jitney.device_put(source)
    source[0] = 7
    assert np.asarray(x).tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    "value, text",
    [
        (np.int32([1, 2, 3, 4]), "Array([1, 2, 3, 4], dtype=int32)"),
        (np.float32(20), "Array(20., dtype=float32)"),
        (np.zeros((0, 3), np.int8), "Array([], shape=(0, 3), dtype=int8)"),
        (
            np.float32([0, 1, 2, 3, 4, 5, 6]) / 8,
            "Array([0.   , 0.125, 0.25 , 0.375, 0.5  , 0.625, 0.75 ], dtype=float32)",
        ),
        (
            np.float32([-0.742165, 2.2697546, -1.4543657, 0.04575852, -0.18718386]),
            "Array([-0.742165  ,  2.2697546 , -1.4543657 ,  0.04575852, -0.18718386],"
            "      dtype=float32)",
        ),
        (np.array([[True]]), "Array([[ True]], dtype=bool)"),
    ],
)
def test_text_of_arrays(value, text):
    assert repr(to_array(value)) == text


def test_format_of_arrays():
    assert f"{to_array(np.float32(2.5)):.3f}" == "2.500"
    assert str(to_array(np.int32([1, 0, 3]))) == "[1 0 3]"


def test_eager_evaluation_is_cached():
    from jitney.api import eager

    x = np.ones(3, np.float32)
    toy.add(x, 1.0)
    n = len(eager._programs)
    assert repr(toy.add(x, 5.0)) == "Array([6., 6., 6.], dtype=float32)"
    assert len(eager._programs) == n
    assert [float(v) for v in toy.split_p.bind(np.float32([1, 2]))] == [1, 2]
    assert toy.add(1.0, 2.0).weak_type


def test_names():
    def f(x):
        with jitney.named_scope("part"):
            return toy.sin(x)

    assert (
        str(jitney.make_jaxpr(jitney.named_call(f, name="whole"))(1.0))
        == "{ lambda ; a:f32[]. let b:f32[] = toy_sin a in (b,) }"
    )
