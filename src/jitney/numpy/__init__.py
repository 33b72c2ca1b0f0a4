"""`jitney.numpy`: NumPy's functions on arrays that can be traced, compiled and differentiated.

In: arrays, tracers, NumPy values, Python numbers. Out: arrays. Names, signatures, result types
and errors are those of `jax.numpy`.
Invariant: importing this package attaches operators and methods to arrays and tracers.
Read next: ufuncs (elementwise), reductions, creation, indexing, operators.
"""

from __future__ import annotations

import importlib as _importlib
import sys as _sys

import numpy as _np

from jitney.api.array_attributes import Array as ndarray
from jitney.core import operators as _attach
from jitney.numpy import array_methods as _array_methods
from jitney.numpy import operators as _operators
from jitney.numpy import scalar_types as _scalar_types
from jitney.numpy.arithmetic import (
    around,
    bitwise_count,
    clip,
    divmod,
    floor_divide,
    fmod,
    gcd,
    lcm,
    mod,
    modf,
    pow,
    power,
    remainder,
    rint,
    round,
    trunc,
)
from jitney.numpy.array_api import VERSION as __array_api_version__
from jitney.numpy.array_api import namespace_info as __array_namespace_info__
from jitney.numpy.bits import packbits, unpackbits
from jitney.numpy.comparison import allclose, array_equal, array_equiv, isclose
from jitney.numpy.creation import (
    array,
    asarray,
    astype,
    copy,
    empty,
    empty_like,
    from_dlpack,
    frombuffer,
    fromfile,
    fromfunction,
    fromiter,
    fromstring,
    full,
    full_like,
    load,
    ones,
    ones_like,
    zeros,
    zeros_like,
)
from jitney.numpy.diagonals import (
    diag,
    diag_indices,
    diag_indices_from,
    diagflat,
    diagonal,
    tril_indices,
    tril_indices_from,
    triu_indices,
    triu_indices_from,
)
from jitney.numpy.differences import diff, ediff1d, gradient, interp, trapezoid, unwrap
from jitney.numpy.dtype_functions import (
    ComplexWarning,
    array_repr,
    array_str,
    can_cast,
    dtype,
    e,
    euler_gamma,
    finfo,
    get_printoptions,
    iinfo,
    inf,
    iscomplexobj,
    isdtype,
    isrealobj,
    issubdtype,
    nan,
    newaxis,
    pi,
    printoptions,
    promote_types,
    result_type,
    save,
    savez,
    set_printoptions,
)
from jitney.numpy.einsum import einsum, einsum_path
from jitney.numpy.flat_positions import ravel_multi_index, unravel_index
from jitney.numpy.floating import (
    acosh,
    angle,
    arccosh,
    copysign,
    fmax,
    fmin,
    frexp,
    heaviside,
    hypot,
    i0,
    iscomplex,
    isinf,
    isneginf,
    isposinf,
    isreal,
    ldexp,
    nan_to_num,
    signbit,
    sinc,
    spacing,
)
from jitney.numpy.histograms import (
    histogram,
    histogram2d,
    histogram_bin_edges,
    histogramdd,
)
from jitney.numpy.index_tricks import c_, index_exp, ix_, r_, s_
from jitney.numpy.indexing import take, take_along_axis
from jitney.numpy.joining import (
    append,
    array_split,
    block,
    column_stack,
    concat,
    concatenate,
    delete,
    dsplit,
    dstack,
    fill_diagonal,
    hsplit,
    hstack,
    insert,
    split,
    stack,
    unstack,
    vsplit,
    vstack,
)
from jitney.numpy.linear_products import (
    cross,
    dot,
    inner,
    kron,
    matmul,
    matvec,
    outer,
    tensordot,
    trace,
    vdot,
    vecdot,
    vecmat,
)
from jitney.numpy.manipulation import (
    atleast_1d,
    atleast_2d,
    atleast_3d,
    broadcast_arrays,
    broadcast_shapes,
    broadcast_to,
    expand_dims,
    flip,
    fliplr,
    flipud,
    isscalar,
    iterable,
    matrix_transpose,
    moveaxis,
    ndim,
    permute_dims,
    ravel,
    repeat,
    reshape,
    resize,
    roll,
    rollaxis,
    rot90,
    shape,
    size,
    squeeze,
    swapaxes,
    tile,
    transpose,
    trim_zeros,
)
from jitney.numpy.nan_reductions import (
    nanargmax,
    nanargmin,
    nanmax,
    nanmean,
    nanmin,
    nanprod,
    nanstd,
    nansum,
    nanvar,
    std,
    var,
)
from jitney.numpy.padding import pad
from jitney.numpy.polynomials import (
    poly,
    polyadd,
    polyder,
    polydiv,
    polyfit,
    polyint,
    polymul,
    polysub,
    polyval,
    roots,
)
from jitney.numpy.quantiles import (
    median,
    nanmedian,
    nanpercentile,
    nanquantile,
    percentile,
    quantile,
)
from jitney.numpy.ranges import (
    arange,
    eye,
    geomspace,
    identity,
    indices,
    linspace,
    logspace,
    meshgrid,
    mgrid,
    ogrid,
    tri,
    tril,
    triu,
    vander,
)
from jitney.numpy.reductions import (
    all,
    amax,
    amin,
    any,
    argmax,
    argmin,
    count_nonzero,
    cumprod,
    cumsum,
    cumulative_prod,
    cumulative_sum,
    max,
    mean,
    min,
    nancumprod,
    nancumsum,
    prod,
    ptp,
    sum,
)
from jitney.numpy.scalar_types import (
    bfloat16,
    bool_,
    cdouble,
    complex64,
    complex128,
    complex_,
    csingle,
    double,
    float4_e2m1fn,
    float6_e2m3fn,
    float6_e3m2fn,
    float8_e3m4,
    float8_e4m3,
    float8_e4m3b11fnuz,
    float8_e4m3fn,
    float8_e4m3fnuz,
    float8_e5m2,
    float8_e5m2fnuz,
    float8_e8m0fnu,
    float16,
    float32,
    float64,
    float_,
    int2,
    int4,
    int8,
    int16,
    int32,
    int64,
    int_,
    single,
    uint,
    uint2,
    uint4,
    uint8,
    uint16,
    uint32,
    uint64,
)
from jitney.numpy.searching import (
    argwhere,
    bincount,
    choose,
    compress,
    digitize,
    extract,
    flatnonzero,
    mask_indices,
    nonzero,
    piecewise,
    place,
    searchsorted,
    select,
    where,
)
from jitney.numpy.sets import (
    intersect1d,
    isin,
    setdiff1d,
    setxor1d,
    union1d,
    unique,
    unique_all,
    unique_counts,
    unique_inverse,
    unique_values,
)
from jitney.numpy.sorting import argpartition, argsort, lexsort, partition, sort, sort_complex
from jitney.numpy.statistics import average, convolve, corrcoef, correlate, cov
from jitney.numpy.ufunc_class import (
    add,
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    frompyfunc,
    logaddexp,
    logaddexp2,
    logical_and,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    multiply,
    negative,
    subtract,
    ufunc,
)
from jitney.numpy.ufuncs import (
    abs,
    absolute,
    acos,
    arccos,
    arcsin,
    arcsinh,
    arctan,
    arctan2,
    arctanh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    bitwise_invert,
    bitwise_left_shift,
    bitwise_not,
    bitwise_right_shift,
    cbrt,
    ceil,
    conj,
    conjugate,
    cos,
    cosh,
    deg2rad,
    degrees,
    divide,
    equal,
    exp,
    exp2,
    expm1,
    fabs,
    float_power,
    floor,
    greater,
    greater_equal,
    imag,
    invert,
    isfinite,
    isnan,
    left_shift,
    less,
    less_equal,
    log,
    log1p,
    log2,
    log10,
    logical_not,
    nextafter,
    not_equal,
    positive,
    rad2deg,
    radians,
    real,
    reciprocal,
    right_shift,
    sign,
    sin,
    sinh,
    sqrt,
    square,
    tan,
    tanh,
    true_divide,
)
from jitney.numpy.updates import put, put_along_axis
from jitney.numpy.vectorization import apply_along_axis, apply_over_axes, vectorize
from jitney.numpy.windows import bartlett, blackman, hamming, hanning, kaiser

bool = bool_
generic, number, inexact, floating = _np.generic, _np.number, _np.inexact, _np.floating
integer, signedinteger, unsignedinteger = _np.integer, _np.signedinteger, _np.unsignedinteger
complexfloating, character, flexible = _np.complexfloating, _np.character, _np.flexible
object_ = _np.object_

for _name in ("int1", "uint1"):          # in newer versions of ml_dtypes
    if hasattr(_scalar_types, _name):
        globals()[_name] = getattr(_scalar_types, _name)


def __getattr__(name: str):
    """The submodules `fft` and `linalg`, when first used."""
    if name in ("fft", "linalg"):
        return _importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


_array_methods.set_namespace(_sys.modules[__name__])
_attach.attach_operators(_operators.OPERATORS)
_attach.attach_methods(_operators.METHODS)
