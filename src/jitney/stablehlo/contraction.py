"""Contractions and convolutions.

In: two arrays and their dimension numbers. Out: `stablehlo.dot_general`, `stablehlo.convolution`.
Invariant: operands of different dtypes are converted to the result's first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jitney.base import dtypes
from jitney.lax.precision import DotAlgorithm, DotAlgorithmPreset, Precision
from jitney.stablehlo.rules import Unsupported, rule
from jitney.stablehlo.types import element_text

# --- precision -----------------------------------------------------------------------------------

_PRODUCTS = {"X3": 3, "X6": 6, "X9": 9}


def _algorithm_text(lhs: str, rhs: str, accumulator: str, counts: tuple[int, int, int],
                    imprecise: bool) -> str:
    flag = "true" if imprecise else "false"
    return (f"lhs_precision_type = {lhs}, rhs_precision_type = {rhs}, "
            f"accumulation_type = {accumulator}, lhs_component_count = {counts[0]}, "
            f"rhs_component_count = {counts[1]}, num_primitive_operations = {counts[2]}, "
            f"allow_imprecise_accumulation = {flag}")


def _precision(precision: Any) -> tuple[list[str], str | None]:
    """The two precisions, and the algorithm when one is asked for."""
    if precision is None or precision is DotAlgorithmPreset.DEFAULT:
        return ["DEFAULT", "DEFAULT"], None
    if isinstance(precision, DotAlgorithmPreset):
        if "ANY" in precision.name:
            raise Unsupported(f"the precision {precision.name} does not say which types")
        lhs, rhs, accumulator, *products = precision.name.split("_")
        count = _PRODUCTS[products[0]] if products else 1
        text = _algorithm_text(lhs.lower(), rhs.lower(), accumulator.lower(), (1, 1, count), False)
        return ["DEFAULT", "DEFAULT"], text
    if isinstance(precision, DotAlgorithm):
        a = precision
        names = [t if isinstance(t, str) else element_text(dtypes.dtype_of_spec(t)) for t in a[:3]]
        counts = (a.lhs_component_count, a.rhs_component_count, a.num_primitive_operations)
        text = _algorithm_text(*names, counts, a.allow_imprecise_accumulation)
        return ["DEFAULT", "DEFAULT"], text
    pair = (precision, precision) if isinstance(precision, Precision) else precision
    return [p.name for p in pair], None


# --- dot_general ---------------------------------------------------------------------------------


@rule("dot_general")
def _dot_general(b, site, x, y):
    p = site.params
    (x_contract, y_contract), (x_batch, y_batch) = p["dimension_numbers"]
    if x.dtype != y.dtype:
        x, y = b.convert(x, site.out.dtype), b.convert(y, site.out.dtype)
    precision, algorithm = _precision(p["precision"])
    return b.one("stablehlo.dot_general", (x, y), site.out, {
        "batching_dims": (x_batch, y_batch), "contracting_dims": (x_contract, y_contract),
        "precision": precision, "algorithm": algorithm})


# --- convolution ---------------------------------------------------------------------------------


def _layout(spec: tuple[int, ...], first: str, second: str) -> list[str]:
    """Letters of batch and feature axes and numbers of spatial ones, in the array's order."""
    names = [""] * len(spec)
    names[spec[0]], names[spec[1]] = first, second
    for number, axis in enumerate(spec[2:]):
        names[axis] = str(number)
    return names


def _list(values: Any) -> str:
    return f"[{', '.join(map(str, values))}]"


@rule("conv_general_dilated")
def _convolution(b, site, x, kernel):
    p = site.params
    numbers = p["dimension_numbers"]
    precision, algorithm = _precision(p["precision"])
    if algorithm is not None:
        raise Unsupported("a convolution by a DotAlgorithm")
    if dtypes.is_complex(site.out.dtype) and not dtypes.is_complex(x.dtype):
        x, kernel = b.convert(x, site.out.dtype), b.convert(kernel, site.out.dtype)
    spatial = x.type.rank - 2
    window = {"stride": _list(p["window_strides"]),
              "pad": _list(_list(pair) for pair in p["padding"]),
              "lhs_dilate": _list(p["lhs_dilation"]), "rhs_dilate": _list(p["rhs_dilation"]),
              "reverse": _list(["false"] * spatial)}
    return b.one("stablehlo.convolution", (x, kernel), site.out, {
        "dim_numbers": (_layout(numbers.lhs_spec, "b", "f"), _layout(numbers.rhs_spec, "o", "i"),
                        _layout(numbers.out_spec, "b", "f")),
        "window": window,
        "batch_group_count": f"{p['batch_group_count']} : i64",
        "feature_group_count": f"{p['feature_group_count']} : i64",
        "precision_config": _list(f"#stablehlo<precision {name}>" for name in precision)})


# --- linear algebra and transforms with an operation of their own --------------------------------


@rule("cholesky")
def _cholesky(b, site, x):
    return b.one("stablehlo.cholesky", (x,), x.type)


def _flag(value: Any) -> str:
    return "true" if value else "false"


@rule("triangular_solve")
def _triangular_solve(b, site, a, y):
    p = site.params
    conjugate = p["conjugate_a"] and dtypes.is_complex(a.dtype)
    if conjugate and not p["transpose_a"]:
        a = b.complex(b.real(a), b.negate(b.imag(a)))
    transpose = "NO_TRANSPOSE"
    if p["transpose_a"]:
        transpose = "ADJOINT" if conjugate else "TRANSPOSE"
    return b.one("stablehlo.triangular_solve", (a, y), y.type, {
        "left_side": _flag(p["left_side"]), "lower": _flag(p["lower"]),
        "transpose_a": f"#stablehlo<transpose {transpose}>",
        "unit_diagonal": _flag(p["unit_diagonal"])})


@rule("fft")
def _fft(b, site, x):
    kind = site.params["fft_type"]
    name = kind if isinstance(kind, str) else kind.name
    return b.one("stablehlo.fft", (x,), site.out, {
        "type": name.upper(), "length": tuple(map(int, np.atleast_1d(site.params["fft_lengths"])))})
