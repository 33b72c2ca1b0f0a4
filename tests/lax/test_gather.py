"""gather and the scatter family."""

import numpy as np
import pytest
from rule_checks import array, check_rules, normal

import jitney  # noqa: F401
from jitney import lax

G, S = lax.GatherDimensionNumbers, lax.ScatterDimensionNumbers
X = normal(5, 4)
ROWS = array([[0], [2], [7], [-1], [1]], "int32")
UNIQUE = array([[3], [0], [2]], "int32")
T = normal(3, 4, 5, 6)
PAIRS = array(np.random.RandomState(0).randint(0, 5, (4, 3, 1)), "int32")
FAMILY = {"scatter": lax.scatter, "add": lax.scatter_add, "sub": lax.scatter_sub,
          "mul": lax.scatter_mul, "min": lax.scatter_min, "max": lax.scatter_max}


@pytest.mark.parametrize("mode", ["fill", "clip", "promise_in_bounds"])
def test_gather_rules(mode):
    rows = UNIQUE if mode == "promise_in_bounds" else ROWS
    check_rules(lambda x, i: lax.gather(x, i, G((1,), (0,), (0,)), (1, 4), mode=mode), X, rows)
    rows = array([[0], [2], [1]], "int32") if mode == "promise_in_bounds" else ROWS
    check_rules(lambda x, i: lax.gather(x, i, G((0, 2), (), (1,)), (5, 2), mode=mode), X, rows)


def test_gather_batching_dimensions():
    check_rules(lambda x, i: lax.gather(x, i, G((2,), (2,), (2,), (0, 1), (1, 0)), (1, 1, 1, 6)),
                T, PAIRS)
    found = np.asarray(lax.gather(T, PAIRS, G((2,), (2,), (2,), (0, 1), (1, 0)), (1, 1, 1, 6)))
    t, pairs = np.asarray(T), np.asarray(PAIRS)
    for i in range(4):
        for j in range(3):
            np.testing.assert_array_equal(found[i, j], t[j, i, pairs[i, j, 0]])


def test_gather_outside():
    v, i = array(np.arange(5), "float32"), array([[4], [-1], [0], [9]], "int32")

    def windows(mode, **options):
        return np.asarray(lax.gather(v, i, G((1,), (), (0,)), (2,), mode=mode, **options))

    nan = np.nan
    np.testing.assert_array_equal(windows("fill"), [[nan, nan], [nan, nan], [0, 1], [nan, nan]])
    np.testing.assert_array_equal(windows("fill", fill_value=7)[0], [7, 7])
    np.testing.assert_array_equal(windows("clip"), [[3, 4], [0, 1], [0, 1], [3, 4]])
    np.testing.assert_array_equal(windows(None), windows("clip"))


@pytest.mark.parametrize("dtype, fill", [("int32", -2**31), ("uint8", 255), ("bool", True),
                                         ("bfloat16", np.nan), ("complex64", np.nan)])
def test_default_fill(dtype, fill):
    found = lax.gather(normal(3, dtype=dtype), array([[9]], "int32"), G((), (0,), (0,)), (1,),
                       mode="fill")
    np.testing.assert_array_equal(np.asarray(found).astype(np.complex64), np.complex64(fill))


@pytest.mark.parametrize("name", FAMILY)
@pytest.mark.parametrize("mode", ["drop", "clip"])
def test_scatter_rules(name, mode):
    f = FAMILY[name]
    updates = normal(5, 4, seed=1)
    check_rules(lambda x, i, u: f(x, i, u, S((1,), (0,), (0,)), mode=mode), X, ROWS, updates)
    check_rules(lambda x, i, u: f(x, i, u, S((1,), (0,), (0,)), mode=mode, unique_indices=True),
                X, UNIQUE, normal(3, 4, seed=2))
    check_rules(lambda x, i, u: f(x, i, u, S((0, 2), (), (1,)), mode=mode), X, ROWS,
                normal(5, 5, 2, seed=3))


def test_scatter_batching_dimensions():
    check_rules(lambda x, i, u: lax.scatter_add(
        x, i, u, S((2,), (2,), (2,), (0, 1), (1, 0))), T, PAIRS, normal(4, 3, 6, seed=2))


def test_windows_outside_are_dropped_whole():
    zeros, i = array(np.zeros(5), "float32"), array([[4], [-1], [0], [1], [9]], "int32")
    updates = array([[1, 2], [10, 20], [100, 200], [1000, 2000], [5, 5]], "float32")
    numbers = S((1,), (), (0,))
    assert lax.scatter_add(zeros, i, updates, numbers).tolist() == [100, 1200, 2000, 0, 0]
    assert lax.scatter(zeros, i, updates, numbers).tolist() == [100, 1000, 2000, 0, 0]
    assert lax.scatter_add(zeros, i, updates, numbers, mode="clip").tolist() == \
        [110, 1220, 2000, 6, 7]


def test_the_last_update_wins():
    found = lax.scatter(array([0.0, 0.0]), array([[1], [1]], "int32"), array([3.0, 4.0]),
                        S((), (0,), (0,)))
    assert found.tolist() == [0, 4]


def test_scatter_apply_once_for_each_occurrence():
    found = lax.scatter_apply(array(np.zeros(5), "float32"), array([[1], [1], [2]], "int32"),
                              lambda v: lax.add(lax.mul(v, np.float32(2)), np.float32(1)),
                              S((), (0,), (0,)), update_shape=(3,))
    assert found.tolist() == [0, 3, 1, 0, 0]


def test_empty():
    none = array(np.zeros((0, 1)), "int32")
    assert lax.gather(X, none, G((1,), (0,), (0,)), (1, 4)).shape == (0, 4)
    np.testing.assert_array_equal(
        lax.scatter_add(X, none, normal(0, 4), S((1,), (0,), (0,))), np.asarray(X))
    empty = normal(0, 3)
    found = lax.gather(empty, array([[0], [0]], "int32"), G((1, 2), (), (0,)), (0, 3))
    assert found.shape == (2, 0, 3)


def test_weak_types_follow_the_operand():
    weak = lax.full((4,), 1.0)
    assert lax.gather(weak, array([[0]], "int32"), G((), (0,), (0,)), (1,)).weak_type
    assert lax.scatter_add(weak, array([[0]], "int32"), array([1.0], "float32"),
                           S((), (0,), (0,))).weak_type


@pytest.mark.parametrize("numbers, sizes, text", [
    (G((1,), (0,), (0, 1)), (1, 4), "must be equal"),
    (G((3,), (0,), (0,)), (1, 4), "out of bounds"),
    (G((1,), (5,), (0,)), (1, 4), "collapsed_slice_dims"),
    (G((1,), (0,), (5,)), (1, 4), "start_index_map"),
    (G((1,), (), (0,)), (1, 4), "explicitly collapsed"),
    (G((1, 0), (), (0,)), (1, 4), "sorted"),
    (G((1,), (0,), (0,)), (1, 5), "out of range"),
    (G((1,), (0,), (0,)), (2, 4), "only collapse"),
    (G((1,), (0,), (0,)), (1,), "one slice size"),
])
def test_gather_errors(numbers, sizes, text):
    with pytest.raises(TypeError, match=text):
        lax.gather(X, ROWS, numbers, sizes)


@pytest.mark.parametrize("numbers, updates, text", [
    (S((1,), (0,), (0,)), normal(5, 9), "must not exceed"),
    (S((1,), (0,), (0,)), normal(3, 4), "must be the same"),
    (S((1,), (), (0,)), normal(5, 4), "doesn't match operand"),
    (S((1,), (0,), (4,)), normal(5, 4), "scatter_dims_to_operand_dims"),
    (S((1,), (0,), (0,)), normal(5, 4, dtype="int32"), "same dtypes"),
])
def test_scatter_errors(numbers, updates, text):
    with pytest.raises(TypeError, match=text):
        lax.scatter_add(X, ROWS, updates, numbers)


def test_other_errors():
    with pytest.raises(ValueError, match="Unknown gather mode"):
        lax.gather(X, ROWS, G((1,), (0,), (0,)), (1, 4), mode="wrap")
    with pytest.raises(ValueError, match="integer type"):
        lax.gather(X, normal(2, 1), G((1,), (0,), (0,)), (1, 4))
