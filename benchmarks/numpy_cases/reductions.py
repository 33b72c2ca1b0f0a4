"""Calls of reductions, running reductions, statistics: of all elements, columns, rows."""

from __future__ import annotations

from .case import Case, cases_of

_FLOATS = ("amax amin argmax argmin max mean min prod std sum var "
           "nanargmax nanargmin nanmax nanmean nanmin nanprod nanstd nansum nanvar")
_RUNNING = "cumprod cumsum nancumprod nancumsum"


def _reduction(name: str) -> list[Case]:
    whole, plane = ("holes", "hole_rows") if name.startswith("nan") else ("x", "m")
    return [
        Case(name, eval(f"lambda np, {whole}: np.{name}({whole})")),
        Case(name, eval(f"lambda np, {plane}: np.{name}({plane}, axis=0)"), "columns"),
        Case(name, eval(f"lambda np, {plane}: np.{name}({plane}, axis=1)"), "rows"),
    ]


CASES: list[Case] = [
    *[case for name in f"{_FLOATS} {_RUNNING}".split() for case in _reduction(name)],
    *cases_of("sum", ("rows of 4", lambda np, narrow: np.sum(narrow, axis=1)),
              ("columns of 4", lambda np, narrow: np.sum(narrow, axis=0)),
              ("middle axis", lambda np, cube: np.sum(cube, axis=1)),
              ("complex", lambda np, z: np.sum(z))),
    *cases_of("sum", ("int32", lambda np, i: np.sum(i)), ("bool", lambda np, b: np.sum(b)),
              floats=False),
    *cases_of("max", ("rows of 4", lambda np, narrow: np.max(narrow, axis=1))),
    *cases_of("max", ("int32", lambda np, i: np.max(i)), ("uint8", lambda np, bytes: np.max(bytes)),
              floats=False),
    *cases_of("argmax", ("rows of 4", lambda np, narrow: np.argmax(narrow, axis=1))),
    *cases_of("argmax", ("int32", lambda np, i: np.argmax(i)),
              ("bool", lambda np, b: np.argmax(b)), floats=False),
    *cases_of("cumsum", ("int32", lambda np, counts: np.cumsum(counts)), floats=False),
    *cases_of("cumsum", ("rows of 4", lambda np, narrow: np.cumsum(narrow, axis=1)),
              ("columns of 4", lambda np, narrow: np.cumsum(narrow, axis=0))),
    *cases_of("cumulative_sum", lambda np, x: np.cumulative_sum(x)),
    *cases_of("cumulative_prod", lambda np, x: np.cumulative_prod(x)),
    *cases_of("all", lambda np, b, b2: np.all(b | ~b), floats=False),
    *cases_of("any", lambda np, b: np.any(b & ~b), floats=False),
    *cases_of("all", ("floats", lambda np, x: np.all(x)),
              ("rows", lambda np, m: np.all(m, axis=1))),
    *cases_of("any", ("rows", lambda np, m: np.any(m, axis=1))),
    *cases_of("count_nonzero", lambda np, x: np.count_nonzero(x),
              ("rows", lambda np, m: np.count_nonzero(m, axis=1))),
    *cases_of("count_nonzero", ("bool", lambda np, b: np.count_nonzero(b)), floats=False),
    *cases_of("ptp", lambda np, x: np.ptp(x), ("rows", lambda np, m: np.ptp(m, axis=1))),
    *cases_of("average", lambda np, x, w: np.average(x, weights=w),
              ("without weights", lambda np, x: np.average(x))),
    *cases_of("median", lambda np, x: np.median(x), ("rows", lambda np, m: np.median(m, axis=1)),
              ("columns", lambda np, m: np.median(m, axis=0))),
    *cases_of("nanmedian", lambda np, holes: np.nanmedian(holes),
              ("rows", lambda np, hole_rows: np.nanmedian(hole_rows, axis=1))),
    *cases_of("percentile", lambda np, x: np.percentile(x, 30),
              ("rows", lambda np, m: np.percentile(m, 30, axis=1))),
    *cases_of("quantile", lambda np, x: np.quantile(x, 0.3), ("nine levels", lambda np, x: (
        np.quantile(x, np.linspace(0.1, 0.9, 9, dtype=x.dtype))))),
    *cases_of("nanpercentile", lambda np, holes: np.nanpercentile(holes, 30)),
    *cases_of("nanquantile", lambda np, holes: np.nanquantile(holes, 0.3)),
    *cases_of("cov", lambda np, variables: np.cov(variables)),
    *cases_of("corrcoef", lambda np, variables: np.corrcoef(variables)),
    *cases_of("trapezoid", lambda np, x: np.trapezoid(x),
              ("over x", lambda np, y, grid: np.trapezoid(y, grid)),
              ("rows", lambda np, m: np.trapezoid(m, axis=1))),
    *cases_of("apply_over_axes", lambda np, cube: np.apply_over_axes(np.sum, cube, [0, 2])),
    *cases_of("apply_along_axis", lambda np, m: np.apply_along_axis(lambda v: v.sum(), 1, m)),
]  # fmt: skip
