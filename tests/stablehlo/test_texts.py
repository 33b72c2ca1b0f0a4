"""Texts of small programs, and what is said about programs that have no text."""

import textwrap

import numpy as np
import pytest
from stablehlo_programs import PROGRAMS
from xla_runner import traced, wide

import jitney
from jitney import lax
from jitney.core.jaxpr import subjaxprs
from jitney.core.primitive import Primitive
from jitney.stablehlo import module_text
from jitney.stablehlo.constants import dense_text, float_text
from jitney.stablehlo.rules import RULES

F = np.float32
V, M = np.arange(4, dtype=F), np.arange(6, dtype=F).reshape(2, 3)
HEAD = "module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {\n"


def text(fun, *args, **options) -> str:
    return module_text(traced(fun, args), name="f", **options)


def golden(body: str) -> str:
    return HEAD + textwrap.indent(textwrap.dedent(body).strip("\n"), "  ") + "\n}\n"


def test_elementwise_program():
    assert text(lambda x: lax.add(lax.sin(x), 1.0), V) == golden("""
        func.func public @main(%arg0: tensor<4xf32>) -> (tensor<4xf32> {jax.result_info = "result"}) {
          %0 = stablehlo.sine %arg0 : tensor<4xf32>
          %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
          %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4xf32>
          %2 = stablehlo.add %0, %1 : tensor<4xf32>
          return %2 : tensor<4xf32>
        }
        """)  # noqa: E501


def test_places_are_no_part_of_a_program():
    device = jitney.devices()[0]
    assert text(lambda x: lax.sin(jitney.device_put(x, device)), V) == text(lax.sin, V)


def test_reductions():
    assert text(lambda x: [lax.reduce_sum(x, (0,)), lax.argmax(x, 1, "int32")], M) == golden("""
        func.func public @main(%arg0: tensor<2x3xf32>) -> (tensor<3xf32> {jax.result_info = "result[0]"}, tensor<2xi32> {jax.result_info = "result[1]"}) {
          %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
          %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<2x3xf32>, tensor<f32>) -> tensor<3xf32>
          %1 = stablehlo.iota dim = 1 : tensor<2x3xi32>
          %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
          %c = stablehlo.constant dense<0> : tensor<i32>
          %2:2 = stablehlo.reduce(%arg0 init: %cst_0), (%1 init: %c) across dimensions = [1] : (tensor<2x3xf32>, tensor<2x3xi32>, tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)
           reducer(%arg1: tensor<f32>, %arg3: tensor<f32>) (%arg2: tensor<i32>, %arg4: tensor<i32>)  {
            %3 = stablehlo.compare GT, %arg1, %arg3, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
            %4 = stablehlo.compare NE, %arg1, %arg1, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
            %5 = stablehlo.or %3, %4 : tensor<i1>
            %6 = stablehlo.compare EQ, %arg1, %arg3, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
            %7 = stablehlo.compare LT, %arg2, %arg4, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
            %8 = stablehlo.and %6, %7 : tensor<i1>
            %9 = stablehlo.or %5, %8 : tensor<i1>
            %10 = stablehlo.select %5, %arg1, %arg3 : tensor<i1>, tensor<f32>
            %11 = stablehlo.select %9, %arg2, %arg4 : tensor<i1>, tensor<i32>
            stablehlo.return %10, %11 : tensor<f32>, tensor<i32>
          }
          return %0, %2#1 : tensor<3xf32>, tensor<2xi32>
        }
        """)  # noqa: E501


def test_contraction_and_unused_arguments():
    def f(x, unused, y):
        return lax.dot(x, y)

    assert text(f, M, V, M.T.copy()) == golden("""
        func.func public @main(%arg0: tensor<2x3xf32>, %arg1: tensor<3x2xf32>) -> (tensor<2x2xf32> {jax.result_info = "result"}) {
          %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
          return %0 : tensor<2x2xf32>
        }
        """)  # noqa: E501
    assert "%arg2: tensor<3x2xf32>" in text(f, M, V, M.T.copy(), keep_unused=True)


def test_nested_functions_are_written_once_and_donated_arguments_marked():
    @jitney.jit
    def twice(x):
        return lax.mul(x, 2.0)

    assert text(lambda x, y: [twice(twice(x)), y], V, M, donated=(0,)) == golden("""
        func.func public @main(%arg0: tensor<4xf32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<2x3xf32>) -> (tensor<4xf32> {jax.result_info = "result[0]"}, tensor<2x3xf32> {jax.result_info = "result[1]"}) {
          %0 = call @twice(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
          %1 = call @twice(%0) : (tensor<4xf32>) -> tensor<4xf32>
          return %1, %arg1 : tensor<4xf32>, tensor<2x3xf32>
        }
        func.func private @twice(%arg0: tensor<4xf32>) -> tensor<4xf32> {
          %cst = stablehlo.constant dense<2.000000e+00> : tensor<f32>
          %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4xf32>
          %1 = stablehlo.multiply %arg0, %0 : tensor<4xf32>
          return %1 : tensor<4xf32>
        }
        """)  # noqa: E501


def test_generic_forms_and_constants():
    table = jitney.lax.add(np.array([1.5, 0.1, np.inf], F), 0.0)

    def f(i, x):
        numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
        return lax.scatter_add(table, i, x, numbers, mode="drop")

    assert text(f, np.array([[1]], np.int32), V[:1]) == golden("""
        func.func public @main(%arg0: tensor<1x1xi32>, %arg1: tensor<1xf32>) -> (tensor<3xf32> {jax.result_info = "result"}) {
          %cst = stablehlo.constant dense<[1.500000e+00, 1.000000e-01, 0x7F800000]> : tensor<3xf32>
          %0 = "stablehlo.scatter"(%cst, %arg0, %arg1) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
          ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
            %1 = stablehlo.add %arg2, %arg3 : tensor<f32>
            stablehlo.return %1 : tensor<f32>
          }) : (tensor<3xf32>, tensor<1x1xi32>, tensor<1xf32>) -> tensor<3xf32>
          return %0 : tensor<3xf32>
        }
        """)  # noqa: E501


# --- constants -----------------------------------------------------------------------------------


@pytest.mark.parametrize("value, dtype, expected", [
    (1.0, "float32", "1.000000e+00"), (0.7310586, "float32", "0.731058597"),
    (1e-20, "float32", "9.99999968E-21"), (-1.30002498e-8, "float32", "-1.30002498E-8"),
    (16777216.0, "float32", "0x4B800000"), (-0.0, "float32", "-0.000000e+00"),
    (np.nan, "float32", "0x7FC00000"), (np.inf, "float64", "0x7FF0000000000000"),
    (0.1, "float64", "1.000000e-01"), (1 / 3, "float64", "0.33333333333333331"),
    (3e38, "float32", "3.000000e+38"), (123.456, "float16", "1.234380e+02")])
def test_floats_keep_their_bits(value, dtype, expected):
    assert float_text(value, np.dtype(dtype)) == expected


def test_dense_constants():
    assert dense_text(np.zeros((2, 3), np.int8)) == "dense<0>"
    assert dense_text(np.zeros((0, 3), F)) == "dense<>"
    assert dense_text(np.array([[True, False]])) == "dense<[[true, false]]>"
    assert dense_text(np.array([1 + 2j, 3], np.complex64)) == \
        "dense<[(1.000000e+00,2.000000e+00), (3.000000e+00,0.000000e+00)]>"
    assert dense_text(np.arange(101, dtype=np.uint8)).startswith('dense<"0x00010203')


# --- what has no text ----------------------------------------------------------------------------


def test_a_primitive_without_a_form_is_named_with_the_users_line():
    lonely = Primitive("lonely")
    lonely.def_abstract(lambda x: x)
    with pytest.raises(NotImplementedError, match=r"'lonely'.*test_texts\.py:\d+"):
        text(lambda x: lonely.bind(x), V)


def _primitives_of_lax() -> set[str]:
    modules = [getattr(lax, m) for m in dir(lax) if hasattr(getattr(lax, m), "__path__")
               or getattr(getattr(lax, m), "__name__", "").startswith("jitney.lax.")]
    found = [getattr(m, n) for m in [lax, *modules] for n in dir(m) if n.endswith("_p")]
    return {p.name for p in found if isinstance(p, Primitive)}


# Factorisations that are calls of LAPACK, and collectives, which stand only inside maps over
# devices: as_text() refuses them by name.
WITHOUT_FORM = {
    "lu", "qr", "geqrf", "geqp3", "householder_product", "eig", "eigh", "svd", "schur",
    "hessenberg", "tridiagonal", "tridiagonal_solve", "cholesky_update", "ormqr",
    "symmetric_product", "lu_pivots_to_permutation", "all_gather",
    "all_to_all", "axis_index", "pmax", "pmin", "ppermute", "psum", "reduce_scatter", "pbroadcast",
    "pgather", "pmap", "psum_invariant", "shard_map"}
TESTED_BY_NAME = {"name", "cholesky", "custom_linear_solve", "triangular_solve", "fft", "jit",
                  "composite", "device_put", "pvary", "sharding_constraint"}


def _used(jaxpr) -> set[str]:
    names = {eqn.primitive.name for eqn in jaxpr.eqns}
    return names.union(*map(_used, subjaxprs(jaxpr))) if jaxpr.eqns else names


def test_every_elementary_primitive_has_a_form_and_a_program():
    used = set()
    for program in PROGRAMS:
        with wide(program.x64):
            used |= _used(traced(program.fun, program.args).jaxpr)
    primitives = _primitives_of_lax()
    without = sorted(primitives - set(RULES) - WITHOUT_FORM)
    assert not without, f"no StableHLO form: {without}"
    untested = sorted((primitives & set(RULES)) - used - TESTED_BY_NAME)
    assert not untested, f"no program uses {untested}"
