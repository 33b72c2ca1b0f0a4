"""Measure every vector function and write `docs/vector_math.md`.

In: nothing but this machine. Out: a table of the largest sampled errors (in ulp) for each
instruction set and of the time an element takes on one thread with the widest one.

Run: `python -m jitney.tools.ulp_table [output] [name …]` (needs mpmath; a few minutes).
"""

import sys
import time
import warnings
from pathlib import Path

import numpy as np

from ..codegen.math import evaluate
from . import reference_values as values
from .kernel_loop import NUMPY_TYPES, compile_kernel, targets

_TIMED = 1 << 20
_COPIES = (2, 4)
# where arguments are drawn for timing
_RANGES = {
    "log": (1e-3, 100), "log2": (1e-3, 100), "log10": (1e-3, 100), "log1p": (-0.9, 100),
    "asin": (-1, 1), "acos": (-1, 1), "atanh": (-1, 1), "erf_inv": (-1, 1), "sin": (-50, 50),
    "cos": (-50, 50), "tan": (-50, 50), "acosh": (1, 50), "lgamma": (1, 50), "digamma": (1, 50),
    "sqrt": (0, 50), "rsqrt": (0.01, 50), "pow": (0.05, 20),
}  # fmt: skip

_INTRODUCTION = """# Vector mathematics

The compiler writes these functions into each kernel as vector code (`codegen/math`); nothing calls
the C library. The largest errors found are in units in the last place (ulp) of the true value: for
float32 over every {stride}th bit pattern of all, for float64 over about {samples} samples of all
scales, against references of higher precision. Denormal numbers are kept, as arguments and as
results; zeros keep their signs; infinities and NaN are as in C (a wrong one counts as 10^9 ulp).

`AVX-512`, `AVX2` and `SSE2` are code for those instruction sets (SSE2 has no fused multiply-add).
The times are nanoseconds an element on one thread of the machine that wrote this table, with
AVX-512 if it has it, one million elements, the best of two and four interleaved vectors. float16
and bfloat16 are computed in float32 and rounded.

* The promise is 2 ulp for every function, both types and every instruction set.
* `lgamma` and `digamma`: in ulp of the value for x > 0, also beside the zeros there. For x < 0,
  where a zero lies between any two poles, the error is relative to max(1, |value|): values below
  about 1/2 have fewer good digits the closer they are to zero.
* `erf_inv` computes 1 - x^2 with one rounding and has its own coefficients. Normal random numbers
  of float32 are made of Giles's formula as published instead, which is up to 56 ulp off near +-1:
  they are to be those of libraries that use it.
* `tanh` of float64, and with AVX2 and SSE2 `tanh` and `erf` of float32, are one formula for all
  arguments, with 1 - exp(y) good to an ulp of itself near 0 as well; `erfc` of float32 is computed
  in float32, too.
* `remainder` and everything not in the table (rounding, signs, neighbours) is exact.

| function | type | AVX-512 ulp | AVX2 ulp | SSE2 ulp | ns/element |
|---|---|---:|---:|---:|---:|
"""


def largest_error(name, type_name, target, stride, samples) -> float:
    """The largest error of a function on a target."""
    dtype = NUMPY_TYPES[type_name]
    if name in values.BINARY:
        arguments = values.pair_samples(dtype, samples // 4)
    elif dtype == np.float32:
        arguments = (values.float32_patterns(stride),)
    else:
        arguments = (
            values.float64_samples(name, samples // 20 if name in values.SLOW else samples),
        )
    kernel = compile_kernel(
        lambda e, *v: evaluate(e, name, *v), (type_name,) * (len(arguments) + 1), target=target
    )
    with np.errstate(all="ignore"):
        got = kernel(*arguments)
    true = values.reference(name, *arguments)
    return float(np.nanmax(values.scaled_error(name, got, true, *arguments)))


def nanoseconds(name, type_name, target) -> float:
    """The best time an element takes."""
    dtype = NUMPY_TYPES[type_name]
    rng = np.random.default_rng(1)
    low, high = _RANGES.get(name, (-5, 5))
    arguments = [rng.uniform(low, high, _TIMED).astype(dtype)]
    if name in values.BINARY:
        arguments.append(rng.uniform(-5, 5, _TIMED).astype(dtype))
    out = np.empty_like(arguments[0])
    best = float("inf")
    for copies in _COPIES:
        kernel = compile_kernel(
            lambda e, *v: evaluate(e, name, *v),
            (type_name,) * (len(arguments) + 1),
            copies=copies,
            target=target,
        )
        for _ in range(12):
            start = time.perf_counter()
            kernel.run_into(*arguments, out)
            best = min(best, time.perf_counter() - start)
    return best / _TIMED * 1e9


def table_rows(names, stride, samples):
    """Lines of the table, as they are measured."""
    found = targets()
    widest = next(iter(found.values()))
    for name in names:
        for type_name, label in (("float", "float32"), ("double", "float64")):
            cells = []
            for kind in ("avx512", "avx2", "sse2"):
                if kind not in found:
                    cells.append("-")
                    continue
                error = largest_error(name, type_name, found[kind], stride, samples)
                cells.append("exact" if error == 0 else f"{error:.2f}")
            cells.append(f"{nanoseconds(name, type_name, widest):.2f}")
            yield f"| {name} | {label} | {' | '.join(cells)} |"


def main(arguments):
    """Write the table to the file named first (standard output without one)."""
    stride, samples = 1021, 140_000
    names = [a for a in arguments if a in values.NAMES] or sorted(values.NAMES)
    files = [a for a in arguments if a not in values.NAMES]
    warnings.simplefilter("ignore")
    rows = []
    for row in table_rows(names, stride, samples):
        print(row, flush=True)
        rows.append(row)
    if files:
        text = _INTRODUCTION.format(stride=stride, samples=f"{samples:,}".replace(",", " "))
        Path(files[0]).write_text(text + "\n".join(rows) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
