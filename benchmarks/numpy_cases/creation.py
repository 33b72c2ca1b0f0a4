"""Calls that make arrays from few numbers."""

from __future__ import annotations

from .case import Case, cases_of

# NumPy's empty and zeros are pages that nobody has touched yet; jitney's are written, so they are
# compared with an array that NumPy has written.
_FULL = lambda np, x: np.full(x.shape, 0, x.dtype)

CASES: list[Case] = [
    *cases_of("arange", lambda np, x: np.arange(x.size, dtype=x.dtype),
              ("int32", lambda np, i: np.arange(i.size, dtype="int32"))),
    *cases_of("array", lambda np, x: np.array(x)),
    *cases_of("copy", lambda np, x: np.copy(x)),
    *cases_of("eye", lambda np, m: np.eye(m.shape[0], dtype=m.dtype)),
    *cases_of("fromfunction", lambda np, m: np.fromfunction(
        lambda i, j: i * 2.0 + j, m.shape, dtype=m.dtype)),
    *cases_of("full", lambda np, x: np.full(x.shape, 2.5, x.dtype)),
    *cases_of("full_like", lambda np, x: np.full_like(x, 2.5)),
    *cases_of("geomspace", lambda np, x: np.geomspace(1.0, 1000.0, x.size, dtype=x.dtype)),
    *cases_of("identity", lambda np, m: np.identity(m.shape[0], dtype=m.dtype)),
    *cases_of("indices", lambda np, m: np.indices(m.shape, dtype="int32")),
    *cases_of("linspace", lambda np, x: np.linspace(0.0, 1.0, x.size, dtype=x.dtype)),
    *cases_of("logspace", lambda np, x: np.logspace(0.0, 3.0, x.size, dtype=x.dtype)),
    *cases_of("ones", lambda np, x: np.ones(x.shape, x.dtype)),
    *cases_of("ones_like", lambda np, x: np.ones_like(x)),
    *[Case(name, eval(f"lambda np, x: np.{name}(x.shape, x.dtype)"), "against full", _FULL)
      for name in ("empty", "zeros")],
    *[Case(name, eval(f"lambda np, x: np.{name}(x)"), "against full", _FULL)
      for name in ("empty_like", "zeros_like")],
    *cases_of("tri", lambda np, m: np.tri(m.shape[0], dtype=m.dtype)),
    *cases_of("tril", lambda np, m: np.tril(m)),
    *cases_of("triu", lambda np, m: np.triu(m)),
    *cases_of("diag", lambda np, row: np.diag(row), ("of a matrix", lambda np, m: np.diag(m))),
    *cases_of("diagflat", lambda np, row: np.diagflat(row)),
    *cases_of("vander", lambda np, row: np.vander(row),
              ("10 columns", lambda np, tall: np.vander(tall[:, 0], 10))),
    *cases_of("bartlett", lambda np, x: np.bartlett(x.size)),
    *cases_of("blackman", lambda np, x: np.blackman(x.size)),
    *cases_of("hamming", lambda np, x: np.hamming(x.size)),
    *cases_of("hanning", lambda np, x: np.hanning(x.size)),
    *cases_of("kaiser", lambda np, x: np.kaiser(x.size, 8.0)),
    *cases_of("meshgrid", lambda np, row: np.meshgrid(row, row)),
    *cases_of("tril_indices", lambda np, m: np.tril_indices(m.shape[0])),
    *cases_of("triu_indices", lambda np, m: np.triu_indices(m.shape[0])),
    *cases_of("tril_indices_from", lambda np, m: np.tril_indices_from(m)),
    *cases_of("triu_indices_from", lambda np, m: np.triu_indices_from(m)),
    *cases_of("mask_indices", lambda np, m: np.mask_indices(m.shape[0], np.triu),
              jit=False),
    *cases_of("diag_indices", lambda np, x: np.diag_indices(x.size)),
    *cases_of("diag_indices_from", lambda np, m: np.diag_indices_from(m)),
    *cases_of("fft.fftfreq", lambda np, x: np.fft.fftfreq(x.size)),
    *cases_of("fft.rfftfreq", lambda np, x: np.fft.rfftfreq(x.size)),
]  # fmt: skip
