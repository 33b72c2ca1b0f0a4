"""Calls that sort, search, count and compare sets."""

from __future__ import annotations

from .case import Case, cases_of

_SORTING = [
    *cases_of("sort", lambda np, x: np.sort(x), ("rows", lambda np, m: np.sort(m, axis=1)),
              ("columns", lambda np, m: np.sort(m, axis=0)),
              ("rows of 4", lambda np, narrow: np.sort(narrow, axis=1)),
              ("already sorted", lambda np, sorted_x: np.sort(sorted_x))),
    *cases_of("sort", ("int32", lambda np, i: np.sort(i)), ("uint8", lambda np, bytes: np.sort(
        bytes)), ("bool", lambda np, b: np.sort(b)), floats=False),
    *cases_of("argsort", lambda np, x: np.argsort(x, stable=True),
              ("rows", lambda np, m: np.argsort(m, axis=1, stable=True)),
              ("columns", lambda np, m: np.argsort(m, axis=0, stable=True)),
              ("rows of 4", lambda np, narrow: np.argsort(narrow, axis=1, stable=True)),
              ("as NumPy's default", lambda np, x: np.argsort(x))),
    *cases_of("argsort", ("int32", lambda np, i: np.argsort(i, stable=True)), floats=False),
    *cases_of("lexsort", lambda np, counts, x: np.lexsort((x, counts))),
    *cases_of("partition", lambda np, x: np.partition(x, x.size // 2),
              ("few", lambda np, x: np.partition(x, 10)),
              ("rows", lambda np, m: np.partition(m, 10, axis=1))),
    *cases_of("argpartition", lambda np, x: np.argpartition(x, x.size // 2),
              ("few", lambda np, x: np.argpartition(x, 10)),
              ("rows", lambda np, m: np.argpartition(m, 10, axis=1))),
    *cases_of("sort_complex", lambda np, z: np.sort_complex(z)),
]

_SETS = [
    *[Case(name, eval(f"lambda np, labels: np.{name}(labels)"), jit=False, floats=False)
      for name in ("unique", "unique_all", "unique_counts", "unique_inverse", "unique_values")],
    *cases_of("unique", ("floats", lambda np, x: np.unique(x)),
              ("rows of 4", lambda np, narrow: np.unique(narrow, axis=0)), jit=False),
    *cases_of("unique", ("counts of few", lambda np, counts: np.unique(
        counts, return_counts=True)), jit=False, floats=False),
    *[Case(name, eval(f"lambda np, labels, labels2: np.{name}(labels, labels2)"), jit=False,
           floats=False) for name in ("intersect1d", "setdiff1d", "setxor1d", "union1d")],
    *cases_of("isin", lambda np, labels, labels2: np.isin(labels, labels2),
              ("few", lambda np, counts: np.isin(counts, np.arange(0, 100, 10))), floats=False),
    *cases_of("isin", ("floats", lambda np, x, y: np.isin(x, y))),
]

_COUNTS = [
    *cases_of("bincount", lambda np, counts: np.bincount(counts, minlength=1000), jit=False,
              floats=False),
    *cases_of("bincount", ("weights", lambda np, counts, x: np.bincount(counts, x)), jit=False),
    *cases_of("digitize", lambda np, x, edges: np.digitize(x, edges)),
    *cases_of("searchsorted", lambda np, knots, x: np.searchsorted(knots, x),
              ("long", lambda np, sorted_x, y: np.searchsorted(sorted_x, y)),
              ("long, sorted", lambda np, sorted_x: np.searchsorted(sorted_x, sorted_x))),
    *cases_of("histogram", lambda np, x: np.histogram(x, 100),
              ("range", lambda np, x: np.histogram(x, 100, range=(-3, 3))),
              ("edges", lambda np, x, edges: np.histogram(x, edges)),
              ("weights", lambda np, x, w: np.histogram(x, 100, weights=w))),
    *cases_of("histogram2d", lambda np, x, y: np.histogram2d(x, y, 30)),
    *cases_of("histogramdd", lambda np, vectors: np.histogramdd(vectors, 8)),
    *cases_of("histogram_bin_edges", lambda np, x: np.histogram_bin_edges(x, 100)),
    *cases_of("interp", lambda np, x, knots, heights: np.interp(x, knots, heights),
              ("long", lambda np, x, grid, y: np.interp(x, grid, y))),
]

CASES: list[Case] = [*_SORTING, *_SETS, *_COUNTS]
