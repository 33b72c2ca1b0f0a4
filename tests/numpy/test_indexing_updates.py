"""`x.at[...]`: values against NumPy's in-place operations."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney import errors

X = (np.arange(12, dtype=np.float32).reshape(3, 4) + 1) / 2
I2 = np.array([0, 2])
MASK = np.array([True, False, True])

INDICES = {
    "int": 1, "negative": -1, "ints": (1, 2), "slice": slice(1, 3), "stride": slice(None, None, 2),
    "backwards": slice(None, None, -1), "whole": slice(None), "dots": Ellipsis, "nothing": (),
    "new": (None, 0), "array": I2, "array_slice": (I2, slice(1, 3)), "second": (slice(None), I2),
    "stride_array": (slice(None, None, 2), I2), "pair": (I2, I2), "mask": MASK,
    "mask_full": X > 3, "empty": slice(1, 1), "array_empty": np.zeros((0,), int),
    "new_backwards": (I2, None, slice(None, None, -1)), "true": True, "box": (0, slice(1, 3)),
}
OPERATIONS = {
    "set": lambda a, b: b, "add": np.add, "subtract": np.subtract, "multiply": np.multiply,
    "divide": np.divide, "power": np.power, "min": np.minimum, "max": np.maximum,
}


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("name", INDICES)
def test_values_are_those_of_numpy(name, operation):
    idx, x = INDICES[name], jnp.asarray(X)
    shape = X[idx].shape
    values = np.asarray(np.random.RandomState(0).rand(*shape) * 3, np.float32)
    for given in (values, np.float32(2), 3):
        want = X.copy()
        want[idx] = OPERATIONS[operation](want[idx], given)
        found = getattr(x.at[idx], operation)(given)
        assert found.shape == X.shape and found.dtype == X.dtype
        np.testing.assert_allclose(found, want, rtol=1e-5)
    found = jax.jit(lambda x, v: getattr(x.at[idx], operation)(v))(x, values)
    want = X.copy()
    want[idx] = OPERATIONS[operation](want[idx], values)
    np.testing.assert_allclose(found, want, rtol=1e-5)
    np.testing.assert_array_equal(x, X)


def test_repeated_positions():
    x, i = jnp.zeros(4), np.array([1, 1, 2])
    assert x.at[i].add(1.0).tolist() == [0, 2, 1, 0]
    assert x.at[i].set(jnp.array([5.0, 6.0, 7.0])).tolist() == [0, 6, 7, 0]
    assert (x + 1).at[i].multiply(3.0).tolist() == [1, 9, 3, 1]
    assert x.at[i].apply(lambda v: v * 2 + 1).tolist() == [0, 3, 1, 0]
    assert x.at[1].apply(lambda v: v + 4).tolist() == [0, 4, 0, 0]


def test_outside():
    x = jnp.zeros(3)
    assert x.at[5].set(1.0).tolist() == [0, 0, 0]
    assert x.at[-5].set(1.0).tolist() == [0, 0, 0]
    assert x.at[5].set(1.0, mode="clip").tolist() == [0, 0, 1]
    assert x.at[np.array([5, 0])].add(1.0).tolist() == [1, 0, 0]
    assert x.at[-1].set(1.0, wrap_negative_indices=False).tolist() == [0, 0, 0]
    assert jax.jit(lambda x, i: x.at[i].set(1.0))(x, 7).tolist() == [0, 0, 0]
    with pytest.raises(ValueError, match="Unknown gather mode"):
        x.at[0].set(1.0, mode="wrap")


def test_types():
    i = jnp.arange(3)
    assert i.at[0].set(7).dtype == i.dtype
    assert jnp.zeros(3).at[0].set(7).dtype == np.float32
    with pytest.warns(FutureWarning, match="incompatible types"):
        assert i.at[0].set(2.7).tolist() == [2, 1, 2]
    with pytest.warns(FutureWarning, match="incompatible types"):
        assert i.at[2].add(2.7).tolist() == [0, 1, 4]
    assert jnp.zeros(2, jnp.bfloat16).at[0].add(1.5).dtype == jnp.bfloat16


def test_traced_masks():
    x, mask = jnp.asarray(X), X > 3
    found = jax.jit(lambda x, m: x.at[m].set(0.0))(x, mask)
    np.testing.assert_array_equal(found, np.where(mask, 0, X))
    found = jax.jit(lambda x, m: x.at[m].add(jnp.arange(4.0)))(x, MASK)
    np.testing.assert_array_equal(found, X + MASK[:, None] * np.arange(4))
    with pytest.raises(errors.NonConcreteBooleanIndexError):
        jax.jit(lambda x, m: x.at[m].set(jnp.zeros(5)))(x, mask)


def test_jaxpr_is_that_of_jax():
    text = str(jax.make_jaxpr(lambda x, i: x.at[i].add(2.0))(jnp.zeros((3, 4)), jnp.int32(1)))
    assert text == """\
{ lambda ; a:f32[3,4] b:i32[]. let
    c:bool[] = lt b 0:i32[]
    d:i32[] = add b 3:i32[]
    e:i32[] = select_n c b d
    f:i32[1] = broadcast_in_dim e
    g:f32[4] = broadcast_in_dim 2.0:f32[]
    h:f32[3,4] = scatter-add[
      dimension_numbers=ScatterDimensionNumbers(update_window_dims=(0,), inserted_window_dims=(0,),\
 scatter_dims_to_operand_dims=(0,), operand_batching_dims=(), scatter_indices_batching_dims=())
      indices_are_sorted=True
      mode=GatherScatterMode.FILL_OR_DROP
      unique_indices=True
      update_consts=()
      update_jaxpr={ lambda ; i:f32[] j:f32[]. let k:f32[] = add i j in (k,) }
    ] a f g
  in (h,) }"""


@pytest.mark.parametrize("idx, values, text", [
    (I2, np.ones((3, 4)), "Incompatible types"), (0, np.ones((1, 4)), "fewer dimensions"),
    (slice(1, 1), np.ones(3), "Incompatible types"),
])
def test_errors(idx, values, text):
    with pytest.raises(ValueError, match=text):
        jnp.asarray(X).at[idx].set(values)


def test_one_program_for_all_positions():
    from jitney.numpy import array_at
    x = jnp.zeros(30)
    x.at[0].set(1.0)
    before = array_at._jitted_scatter.misses
    for i in range(20):
        x = x.at[i].set(float(i))
    assert array_at._jitted_scatter.misses == before
    assert x[:20].tolist() == list(range(20))


def test_repr():
    assert repr(jnp.zeros(1).at[0]).startswith("_IndexUpdateRef(Array([0.]")
