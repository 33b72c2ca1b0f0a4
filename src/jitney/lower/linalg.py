"""Lowering of linear algebra: one call of a native routine a primitive, or a step in Python.

In: equations of `lax.linalg`. Out: "lapack" calls whose attributes are the routine's name, its
element type and its sizes (csrc/routines/README.md, fuse/lapack.py). Complex arrays travel in their
stored form. Schur and Hessenberg are Python steps.
"""

from ..core.avals import ShapedArray
from ..core.primitive import named
from ..core.staging import trace_flat
from ..ir.types import DTYPE_OF_CODE, is_complex, part_code, physical_type
from .inline import lower_jaxpr
from .python_steps import call_python
from .rules import Pair, lower_rule
from .solve_together import solve_together

_NAMES = {"float32": "f32", "float64": "f64", "complex64": "c64", "complex128": "c128"}


def lapack(ctx, name, dtype, operands, avals, sizes, needs_library=True):
    """The values of a routine's results; `avals[i]` None: a result nobody needs (an empty one)."""
    kinds = [((0,), "f32") if a is None else physical_type(a.shape, a.dtype) for a in avals]
    parts = ctx.g.call(
        "lapack",
        [ctx.physical(x) for x in operands],
        kinds,
        (f"{name}_{_NAMES[dtype.name]}", tuple(map(int, sizes)), needs_library),
    )
    return [None if a is None else ctx.logical(p, a) for p, a in zip(parts, avals, strict=True)]


def _full(ctx, aval, value):
    return ctx.literal(value, aval)


def _identity(ctx, aval):
    """Identity matrices over the last two axes."""
    g, shape = ctx.g, aval.shape
    row, column = (g.iota(shape, len(shape) - k, "i32") for k in (2, 1))
    code = part_code(aval.dtype)
    eye = g.convert(g.compare("eq", row, column), code)
    return Pair(eye, g.full(0.0, shape, code)) if is_complex(aval.dtype) else eye


def _conjugate(ctx, x):
    return Pair(x.re, ctx.g.neg(x.im)) if isinstance(x, Pair) else x


def _is_small(n) -> bool:
    """Matrices that the routines treat without LAPACK (kSmallMatrix in csrc/routines/lapack.h)."""
    return n <= 8


# ---------------------------------------------------------------------- systems
@lower_rule("cholesky")
def lower_cholesky(ctx, eqn, x):
    out = eqn.outvars[0].aval
    if out.size == 0:
        return x
    n = out.shape[-1]
    return lapack(ctx, "cholesky", out.dtype, [x], [out], [n], not _is_small(n))[0]


@lower_rule("triangular_solve")
def lower_triangular_solve(ctx, eqn, a, b):
    p, out = eqn.params, eqn.outvars[0].aval
    if out.size == 0:
        return b
    if out.dtype.name not in _NAMES:                        # 16-bit floats are solved in f32
        return _solve_wide(ctx, p, out, a, b)
    return _triangular(ctx, p, out, a, b)


def _solve_wide(ctx, p, out, a, b):
    g, code = ctx.g, part_code(out.dtype)
    wide = ShapedArray(out.shape, DTYPE_OF_CODE["f32"])
    found = _triangular(ctx, p, wide, g.convert(a, "f32"), g.convert(b, "f32"))
    return g.convert(found, code)


def _triangular(ctx, p, out, a, b):
    left = p["left_side"]
    op = int(p["transpose_a"])
    if p["conjugate_a"]:
        op = 2 * op
        a = a if op else _conjugate(ctx, a)

    def solve(out, factors, b):
        n, m = out.shape[-2:] if left else out.shape[:-3:-1]
        sizes = [n, m, left, p["lower"], op, p["unit_diagonal"]]
        small = _is_small(n) and (left or op != 2)
        operands = [*factors, b]
        return lapack(ctx, "triangular_solve", out.dtype, operands, [out], sizes, not small)[0]

    return solve_together(ctx, out, [a], b, left, solve)


@lower_rule("lu")
def lower_lu(ctx, eqn, x):
    avals = [v.aval for v in eqn.outvars]
    m, n = avals[0].shape[-2:]
    if avals[0].size == 0:
        rows = ctx.g.iota(avals[2].shape, len(avals[2].shape) - 1, "i32")
        return [x, _full(ctx, avals[1], 0), rows]
    return lapack(ctx, "lu", avals[0].dtype, [x], avals, [m, n], not _is_small(min(m, n)))


@lower_rule("lu_solve")
def lower_lu_solve(ctx, eqn, a, packed, permutation, b):
    out = eqn.outvars[0].aval
    if out.size == 0:
        return b

    def solve(out, factors, b):
        n, m = out.shape[-2:]
        sizes = [n, m, int(eqn.params["transpose_a"])]
        operands = [*factors, b]
        return lapack(ctx, "lu_solve", out.dtype, operands, [out], sizes, not _is_small(n))[0]

    return solve_together(ctx, out, [packed, permutation], b, True, solve)


@lower_rule("lu_pivots_to_permutation")
def lower_pivots_to_permutation(ctx, eqn, pivots):
    out, k = eqn.outvars[0].aval, pivots.shape[-1]
    if out.size == 0 or k == 0:
        return ctx.g.iota(out.shape, len(out.shape) - 1, "i32")
    attrs = ("pivots_to_permutation_i32", (k, out.shape[-1]), False)
    return ctx.g.call("lapack", [pivots], [(out.shape, "i32")], attrs)[0]


@lower_rule("tridiagonal_solve")
def lower_tridiagonal_solve(ctx, eqn, dl, d, du, b):
    out = eqn.outvars[0].aval
    if out.size == 0:
        return b
    sizes = [*out.shape[-2:], eqn.params["perturb_singular"]]
    return lapack(ctx, "tridiagonal_solve", out.dtype, [dl, d, du, b], [out], sizes, False)[0]


@lower_rule("cholesky_update")
def lower_cholesky_update(ctx, eqn, r, w):
    out = eqn.outvars[0].aval
    if out.size == 0:
        return r
    return lapack(ctx, "cholesky_update", out.dtype, [r, w], [out], [out.shape[-1]], False)[0]


@lower_rule("symmetric_product")
def lower_symmetric_product(ctx, eqn, a, c):
    formula = named("symmetric_product").attributes["formula"]
    avals = [v.aval for v in eqn.invars]
    jaxpr, consts = trace_flat(lambda *xs: [formula(*xs, **eqn.params)], avals)
    constants = [ctx.constant(x, v.aval) for x, v in zip(consts, jaxpr.constvars, strict=True)]
    return lower_jaxpr(ctx, jaxpr, constants, [a, c])[0]


# ---------------------------------------------------------------------- factors
@lower_rule("eigh")
def lower_eigh(ctx, eqn, x):
    vectors, values = [v.aval for v in eqn.outvars]
    if vectors.size == 0:
        return [x, _full(ctx, values, 0)]
    sizes = [vectors.shape[-1], eqn.params["lower"], 1]
    return lapack(ctx, "eigh", vectors.dtype, [x], [vectors, values], sizes)


@lower_rule("eig")
def lower_eig(ctx, eqn, x):
    p, matrix, avals = eqn.params, eqn.invars[0].aval, [v.aval for v in eqn.outvars]
    if matrix.size == 0:
        return [_full(ctx, a, 0) for a in avals]
    asked = [p["compute_left_eigenvectors"], p["compute_right_eigenvectors"]]
    vectors = iter(avals[1:])
    given = [avals[0], *(next(vectors) if side else None for side in asked)]
    found = lapack(ctx, "eig", matrix.dtype, [x], given, [matrix.shape[-1], *asked])
    return [found[0], *(v for v, side in zip(found[1:], asked, strict=True) if side)]


@lower_rule("svd")
def lower_svd(ctx, eqn, x):
    p, avals = eqn.params, [v.aval for v in eqn.outvars]
    m, n = eqn.invars[0].aval.shape[-2:]
    if eqn.invars[0].aval.size == 0:
        return [_full(ctx, avals[0], 0), *[_identity(ctx, a) for a in avals[1:]]]
    job = (2 if p["full_matrices"] else 1) if p["compute_uv"] else 0
    by_qr = getattr(p["algorithm"], "value", None) == "QR"
    given = avals if job else [avals[0], None, None]
    sizes = [m, n, job, by_qr]
    found = lapack(ctx, "svd", eqn.invars[0].aval.dtype, [x], given, sizes)
    return found[: len(avals)]


@lower_rule("qr")
def lower_qr(ctx, eqn, x):
    p, avals = eqn.params, [v.aval for v in eqn.outvars]
    m, n = eqn.invars[0].aval.shape[-2:]
    if eqn.invars[0].aval.size == 0:
        rest = [ctx.g.iota(a.shape, len(a.shape) - 1, "i32") for a in avals[2:]]
        return [_identity(ctx, avals[0]), _full(ctx, avals[1], 0), *rest]
    sizes = [m, n, p["full_matrices"], p["pivoting"]]
    given = avals if p["pivoting"] else [*avals, None]
    return lapack(ctx, "qr", avals[0].dtype, [x], given, sizes)[: len(avals)]


@lower_rule("geqrf")
def lower_geqrf(ctx, eqn, x):
    avals = [v.aval for v in eqn.outvars]
    if avals[0].size == 0:
        return [x, _full(ctx, avals[1], 0)]
    return lapack(ctx, "geqrf", avals[0].dtype, [x], avals, avals[0].shape[-2:])


@lower_rule("householder_product")
def lower_householder_product(ctx, eqn, a, taus):
    out, k = eqn.outvars[0].aval, eqn.invars[1].aval.shape[-1]
    if out.size == 0:
        return a
    if k == 0:
        return _identity(ctx, out)
    sizes = [*out.shape[-2:], k]
    return lapack(ctx, "householder_product", out.dtype, [a, taus], [out], sizes)[0]


# ---------------------------------------------------------------------- steps in Python
@lower_rule("schur", "hessenberg", "tridiagonal", "ormqr")
def lower_in_python(ctx, eqn, *values):
    results = call_python(ctx, eqn, values)
    return results if eqn.primitive.multiple_results else results[0]
