"""Imports every family of lowering rules, so that their rules are registered."""

from . import (  # noqa: F401
    control_flow,
    conv,
    cumulative,
    dot,
    elementwise,
    fft,
    gather_scatter,
    linalg,
    parallel,
    random_bits,
    random_keys,
    reduce,
    shape,
    slicing,
    sort,
    special,
    windows,
    zeta,
)
