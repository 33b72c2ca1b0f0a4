"""Broadcast, reshape, transpose, pad, concatenate and relatives."""

import numpy as np
import pytest
from rule_checks import array, check_rules, jaxpr_text, normal

import jitney  # noqa: F401  (fills the slots)
from jitney import lax

X = normal(3, 4)
V = normal(5, seed=1)
S = array(np.float32(2.5))

CASES = {
    "broadcast": (lambda x: lax.broadcast(x, (2, 5)), X),
    "broadcast_in_dim": (lambda x: lax.broadcast_in_dim(x, (2, 3, 5, 4), (1, 3)), X),
    "broadcast_in_dim_one": (lambda x: lax.broadcast_in_dim(x, (3, 7), (0, 1)), normal(3, 1)),
    "broadcast_in_dim_scalar": (lambda x: lax.broadcast_in_dim(x, (2, 2), ()), S),
    "reshape": (lambda x: lax.reshape(x, (2, 6)), X),
    "reshape_dimensions": (lambda x: lax.reshape(x, (2, 6), (1, 0)), X),
    "squeeze": (lambda x: lax.squeeze(x, (0, 2)), normal(1, 4, 1)),
    "expand_dims": (lambda x: lax.expand_dims(x, (0, -1)), X),
    "transpose": (lambda x: lax.transpose(x, (2, 0, 1)), normal(2, 3, 4)),
    "rev": (lambda x: lax.rev(x, (1, 0)), X),
    "pad": (lambda x, p: lax.pad(x, p, ((1, 2, 1), (0, 1, 2))), X, S),
    "pad_negative": (lambda x, p: lax.pad(x, p, ((-1, 2, 1), (-2, -1, 2))), X, S),
    "concatenate": (lambda x, y: lax.concatenate([x, y, x], 1), X, normal(3, 2)),
    "stack": (lambda x, y: lax.stack([x, y], 1), X, normal(3, 4, seed=2)),
    "unstack": (lambda x: lax.unstack(x, 1), X),
    "split": (lambda x: lax.split(x, (1, 0, 3), 1), X),
    "tile": (lambda x: lax.tile(x, (2, 3)), X),
    "empty_axis": (lambda x: lax.pad(x, np.float32(1), ((1, 1, 3), (0, 0, 0))), normal(0, 4)),
}


@pytest.mark.parametrize("name", CASES)
def test_rules_agree_with_meaning(name):
    f, *args = CASES[name]
    check_rules(f, *args)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int32", "bfloat16", "float16",
                                   "complex64"])
def test_all_dtypes(dtype):
    x = normal(3, 4, dtype=dtype)
    value = np.asarray(x)
    np.testing.assert_array_equal(np.asarray(lax.rev(x, (1,))), value[:, ::-1])
    np.testing.assert_array_equal(np.asarray(lax.concatenate([x, x], 0)),
                                  np.concatenate([value, value]))
    padded = np.asarray(lax.pad(x, lax.full((), 1, dtype), ((1, 1, 0), (0, -1, 1))))
    want = np.ones((5, 6), value.dtype)
    want[1:4, ::2] = value[:, :3]
    np.testing.assert_array_equal(padded, want)
    assert lax.reshape(x, (12,)).dtype == x.dtype


def test_nothing_to_do_is_nothing():
    assert lax.broadcast(X, ()) is X
    assert lax.reshape(X, (3, 4)) is X
    assert lax.transpose(X, (0, 1)) is X
    assert lax.squeeze(X, ()) is X
    assert lax.concatenate([X], 0) is X


def test_jaxprs_are_those_of_jax():
    assert jaxpr_text(lambda x: lax.broadcast(x, (2, 5)), X) == (
        "{ lambda ; a:f32[3,4]. let\n"
        "    b:f32[2,5,3,4] = broadcast_in_dim[broadcast_dimensions=(2, 3)] a\n"
        "  in (b,) }")
    assert jaxpr_text(lambda: lax.full((2, 3), 1, "float32")) == (
        "{ lambda ; . let a:f32[2,3] = broadcast_in_dim 1.0:f32[] in (a,) }")
    assert jaxpr_text(lambda x: lax.reshape(x, (12,), (1, 0)), X) == (
        "{ lambda ; a:f32[3,4]. let\n"
        "    b:f32[12] = reshape[dimensions=(1, 0) new_sizes=(12,) sharding=None] a\n"
        "  in (b,) }")
    assert jaxpr_text(lambda: lax.broadcasted_iota("int32", (4, 5), 1)) == (
        "{ lambda ; . let\n"
        "    a:i32[4,5] = iota[dimension=1 dtype=int32 shape=(4, 5) sharding=None] \n"
        "  in (a,) }")


def test_weak_types():
    weak = lax.full((4,), 1.0)
    assert weak.weak_type and not lax.full((4,), 1.0, "float32").weak_type
    assert lax.reshape(weak, (2, 2)).weak_type
    assert not lax.concatenate([weak, lax.full((4,), 1.0, "float32")], 0).weak_type
    assert lax.pad(weak, 0.0, ((1, 1, 0),)).weak_type
    assert lax.full_like(weak, 3).weak_type
    assert not lax.full_like(weak, 3, "float32").weak_type


def test_full_converts_as_jax():
    assert lax.full((2,), 300, "uint8").tolist() == [44, 44]
    assert lax.full((2,), np.nan, "int32").tolist() == [0, 0]
    with pytest.raises(TypeError):
        lax.full((2,), 1j, "float32")


@pytest.mark.parametrize("call, error, text", [
    (lambda: lax.reshape(X, (11,)), TypeError, "cannot reshape"),
    (lambda: lax.reshape(X, (-1,)), TypeError, "must all be positive"),
    (lambda: lax.broadcast_in_dim(X, (2, 3, 5), (1, 2)), TypeError, "must either be 1"),
    (lambda: lax.broadcast_in_dim(X, (4, 3), (1, 0)), TypeError, "strictly increasing"),
    (lambda: lax.transpose(X, (1, 1)), TypeError, "permutation"),
    (lambda: lax.squeeze(X, (0,)), ValueError, "not equal to one"),
    (lambda: lax.squeeze(X, (5,)), ValueError, "out of bounds"),
    (lambda: lax.expand_dims(X, (0, 0)), ValueError, "repeated axis"),
    (lambda: lax.concatenate([], 0), ValueError, "non-empty"),
    (lambda: lax.concatenate([X, V], 0), TypeError, "different numbers of dimensions"),
    (lambda: lax.pad(X, 0, ((0, 0, 0), (0, 0, 0))), TypeError, "same dtype"),
    (lambda: lax.pad(X, 0.0, ((-5, 0, 0), (0, 0, 0))), ValueError, "not at least 0"),
    (lambda: lax.iota("bool", 4), TypeError, "does not accept dtype bool"),
    (lambda: lax.split(X, (1, 2), 1), ValueError, "Sum of sizes"),
    (lambda: lax.broadcast_shapes((2, 3), (3, 3)), ValueError, "Incompatible shapes"),
    (lambda: lax.rev(X, (2,)), TypeError, "less than operand ndim"),
])
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call()
