"""What "fft" calls mean, for the interpreter of graphs: transforms along one axis by NumPy.

In: a call node and the operand in stored form (complex numbers as pairs in a last axis). Out: the
result in stored form.
"""

import numpy as np

_PARTS = {"f4": "c8", "f8": "c16"}


def interpret_fft(node, x):
    """The result of one call, as a tuple."""
    name, sizes = node.attrs[2:]
    kind = name.rpartition("_")[0]
    n, ((shape, _),) = sizes[0], node.attrs[1]
    if kind == "rfft":
        found = np.fft.rfft(x, axis=-1)
    elif kind == "fft_real":
        found = np.fft.fft(x, axis=-1)
    elif kind == "irfft":
        found = np.fft.irfft(_joined(x), n, axis=-1)
    else:
        lines = _joined(x).reshape(-1, n, sizes[1])
        found = (np.fft.fft if sizes[2] else np.fft.ifft)(lines, axis=1)
    if found.dtype.kind == "c":
        found = np.stack([found.real, found.imag], -1)
    return (found.astype(x.dtype).reshape(shape),)


def _joined(x):
    return np.ascontiguousarray(x).view(_PARTS[x.dtype.str[1:]])[..., 0]
