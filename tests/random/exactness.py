"""The table of docs/random.md: sampler × dtype × setting, how near draws are to JAX's.

`python tests/random/exactness.py [FILE]`, where both packages are installed, writes the page. The
first comparison imports JAX.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from pathlib import Path

import ml_dtypes
import numpy as np

PAGE = Path(__file__).resolve().parents[2] / "docs" / "random.md"
FLOATS = ("float32", "float64", "float16", "bfloat16")
INTS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
N = 4096

# sampler: arguments after the key ({n} the number of draws, {d} the dtype) | dtypes
SAMPLERS = """
    bits:                 ({n},), {d} | uint8 uint16 uint32 uint64
    uniform:              ({n},), {d} | floats
    uniform:              ({n},), {d}, -2., 3. | floats
    randint:              ({n},), -9, 100, {d} | int8 int16 int32 int64
    randint:              ({n},), 3, 200, {d} | uint8 uint16 uint32 uint64
    bernoulli:            0.3, ({n},) | bool
    rademacher:           ({n},), {d} | int32 float32
    permutation:          {n} | int32
    choice:               1000, ({n},) | int32
    choice:               {n}, ({n},), False | int32
    choice:               5, ({n},), True, P5 | int32
    categorical:          L5, shape=({n},) | int32
    normal:               ({n},), {d} | floats complex64
    truncated_normal:     -1., 2., ({n},), {d} | floats
    lognormal:            0.7, ({n},), {d} | floats
    multivariate_normal:  Z2, S2, ({n},), {d} | float32 float64
    maxwell:              ({n},), {d} | floats
    double_sided_maxwell: 1., 2., ({n},), {d} | floats
    rayleigh:             2., ({n},), {d} | floats
    ball:                 3, shape=({n},), dtype={d} | float32 float64
    orthogonal:           3, ({n} // 16,), {d} | float32 float64
    exponential:          ({n},), {d} | floats
    gumbel:               ({n},), {d} | floats
    gumbel:               ({n},), {d}, mode='high' | float32 float64
    laplace:              ({n},), {d} | floats
    logistic:             ({n},), {d} | floats
    cauchy:               ({n},), {d} | floats
    pareto:               2., ({n},), {d} | floats
    weibull_min:          2., 3., ({n},), {d} | floats
    triangular:           0., 1., 3., ({n},), {d} | floats
    wald:                 2., ({n},), {d} | floats
    generalized_normal:   2., ({n},), {d} | float32 float64
    gamma:                2.5, ({n},), {d} | floats
    gamma:                0.3, ({n},), {d} | floats
    loggamma:             0.5, ({n},), {d} | float32 float64
    beta:                 2., 3., ({n},), {d} | float32 float64
    chisquare:            3., ({n},), {d} | float32 float64
    dirichlet:            A3, ({n},), {d} | float32 float64
    f:                    3., 4., ({n},), {d} | float32 float64
    t:                    3., ({n},), {d} | float32 float64
    poisson:              4., ({n},), {d} | int32 int16
    poisson:              40., ({n},), {d} | int32 int16
    binomial:             20., 0.3, ({n},), {d} | float32 float64
    binomial:             200., 0.4, ({n},), {d} | float32 float64
    geometric:            0.3, ({n},), {d} | int32 int16
    multinomial:          10., P5, shape=({n} // 16, 5), dtype={d} | float32
"""
CONSTANTS = {
    "P5": np.array([0.1, 0.2, 0.3, 0.15, 0.25], "float32"),
    "A3": np.array([1.0, 2.0, 0.5], "float32"),
    "L5": np.log(np.array([0.1, 0.2, 0.3, 0.15, 0.25], "float32")), "Z2": np.zeros(2, "float32"),
    "S2": np.array([[2.0, 0.5], [0.5, 1.0]], "float32"),
}  # fmt: skip


def rows() -> list[tuple[str, str, tuple[str, ...]]]:
    """(sampler, arguments, dtypes)."""
    found = []
    for line in SAMPLERS.strip().splitlines():
        name, _, rest = line.strip().partition(":")
        arguments, _, dtypes = rest.partition("|")
        dtypes = dtypes.replace("floats", " ".join(FLOATS)).split()
        found.append((name, arguments.strip(), tuple(dtypes)))
    return found


def draw(package: str, name: str, arguments: str, dtype: str, by_index: bool) -> np.ndarray:
    """The draws of one package under one setting."""
    jax = importlib.import_module(package)
    wide = dtype in ("float64", "int64", "uint64")
    with jax.enable_x64(wide), jax.threefry_partitionable(by_index), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        text = arguments.format(n=N, d="D")
        sampler = getattr(jax.random, name)
        known = dict(CONSTANTS, D=np.dtype(getattr(ml_dtypes, dtype, dtype)), s=sampler,
                     k=jax.random.key(17))  # fmt: skip
        return np.asarray(eval(f"s(k, {text})", known))


def ordered(x: np.ndarray) -> np.ndarray:
    """Integers in the order of the floats, neighbours one apart."""
    bits = x.view(f"i{x.itemsize}").astype(object)
    return np.where(bits < 0, -(bits & ((1 << (8 * x.itemsize - 1)) - 1)), bits)


def distance(ours: np.ndarray, theirs: np.ndarray) -> tuple[int, float]:
    """(greatest distance in units of the last place, share of draws that differ)."""
    if (ours.dtype, ours.shape) != (theirs.dtype, theirs.shape):
        raise AssertionError(f"{ours.dtype}{ours.shape}, not {theirs.dtype}{theirs.shape}")
    if ours.dtype.kind == "c":
        ours, theirs = (x.view(f"f{x.itemsize // 2}") for x in (ours, theirs))
    differ = (ours != theirs) & ~((ours != ours) & (theirs != theirs))
    if ours.dtype.kind in "biu":
        return int(differ.any()), float(differ.mean())
    gaps = np.abs(ordered(ours[differ]) - ordered(theirs[differ]))
    return int(gaps.max(initial=0)), float(differ.mean())


# --- the page ----------------------------------------------------------------------------------
HEAD = """# Random numbers against JAX's

Bits, splits, uniform numbers and everything made of them by integer arithmetic or comparisons are
those of JAX 0.10, bit by bit. What goes through a logarithm, an exponential, a root or a
factorization agrees up to the last places, since these functions are others here
([vector_math.md](vector_math.md)). The programs (jaxprs) are the same.

{count} draws of each sampler with the key `random.key(17)`, on CPU, under
`jax_threefry_partitionable` on and off. **exact**: the same bits. **4 ulp, 12 %**: 12 % of the
draws differ, by 4 units in the last place at most (rounded up to a power of two; near zero a unit
is small). Where the two settings differ, both are given, on · off.

| sampler | dtype | against JAX | why |
|---|---|---|---|
"""
FOOT = """
Where a processor has half arithmetic (AVX512-FP16) XLA contracts products and sums of halves, and
`uniform` between bounds, `truncated_normal` and `gamma` of float16 differ there; the table is of
JAX with `XLA_FLAGS=--xla_cpu_max_isa=AVX2` on such machines, as of any JAX on others.

This page is written by `python tests/random/exactness.py` where JAX is installed; `pytest -m jax
tests/random` fails where a draw is further from JAX than it says.
"""
WHY = {
    "log": "log, log1p and exp are within 1 ulp of the truth here; XLA's log1p of doubles is off "
           "by up to 123",
    "erf": "erf⁻¹ by the same polynomials, from better logarithms (XLA's erf⁻¹ is off by up to "
           "4 ulp in float32, 20 in float64)",
    "near zero": "the last place of a logarithm or normal number, seen against a result near zero",
    "chain": "XLA leaves out roundings to 16 bits inside of a kernel; here each operation rounds",
    "flips": "as above; now and then a proposal is accepted here and not there",
    "complex": "XLA multiplies by the rounded 1/√2; here the quotient is rounded once",
    "lapack": "another factorization of other normal numbers",
}  # fmt: skip
REASONS = {
    "normal": "erf", "truncated_normal": "erf", "lognormal": "log",
    "multivariate_normal": "near zero",
    "maxwell": "erf", "double_sided_maxwell": "near zero", "rayleigh": "log", "ball": "erf",
    "orthogonal": "lapack", "gumbel": "near zero", "logistic": "near zero", "gamma": "log",
    "loggamma": "near zero", "f": "log", "generalized_normal": "log", "wald": "near zero",
}  # fmt: skip


def cell(found: tuple[int, float]) -> str:
    """
    >>> cell((0, 0.0)), cell((3, 0.0073)), cell((5, 0.38))
    ('exact', '4 ulp, 1 %', '8 ulp, 38 %')
    """
    gap, share = found
    if gap == 0:
        return "exact"
    return f"{1 << (gap - 1).bit_length()} ulp, {max(1, round(100 * share))} %"


def reason(name: str, dtype: str, found: list[tuple[int, float]]) -> str:
    if not any(gap for gap, _ in found):
        return ""
    if dtype == "complex64":
        return WHY["complex"]
    if name == "gamma" and dtype == "float16" and max(gap for gap, _ in found) > 1000:
        return WHY["flips"]
    if dtype in ("float16", "bfloat16"):
        return WHY["chain"]
    return WHY[REASONS.get(name, "log")]


def line(name: str, arguments: str, dtype: str, found: list[tuple[int, float]]) -> str:
    on, off = map(cell, found)
    shown = arguments.format(n="n", d="dtype")
    return (f"| `{name}(key, {shown})` | {dtype} | {on if on == off else f'{on} · {off}'} "
            f"| {reason(name, dtype, found)} |")


def measured(name: str, arguments: str, dtype: str) -> list[tuple[int, float]]:
    """Distance to JAX with the setting on and off."""
    return [distance(*(draw(p, name, arguments, dtype, on) for p in ("jitney", "jax")))
            for on in (True, False)]  # fmt: skip


def page() -> str:
    lines = [line(name, arguments, dtype, measured(name, arguments, dtype))
             for name, arguments, dtypes in rows() for dtype in dtypes]  # fmt: skip
    return HEAD.format(count=N) + "\n".join(lines) + "\n" + FOOT


if __name__ == "__main__":
    Path(sys.argv[1] if len(sys.argv) > 1 else PAGE).write_text(page())
