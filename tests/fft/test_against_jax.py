"""Transforms, types, errors and the text of programs, against an installed JAX."""

import importlib
import re

import numpy as np
import pytest
from fft_data import close, complex_, real

pytest.importorskip("jax")
pytestmark = pytest.mark.jax

X, C = real(4, 6, 8), complex_(4, 6, 8)
SMALL = (np.arange(12).reshape(3, 4)).astype("int32")
ONE = """
    np.fft.{name}(x) | np.fft.{name}(x, n=5, axis=0) | np.fft.{name}(x, n=10, norm='ortho')
    np.fft.{name}(x, norm='forward') | np.fft.{name}(x, axis=1, norm='backward')
"""
MANY = """
    np.fft.{name}(x) | np.fft.{name}(x, s=(3, 9), axes=(0, 1)) | np.fft.{name}(x, norm='ortho')
    np.fft.{name}(x, axes=(2, 0), norm='forward') | np.fft.{name}(x, s=(3, 4))
"""
COSINE = """
    scipy.fft.{name}(x) | scipy.fft.{name}(x, norm='ortho') | scipy.fft.{name}(x, norm='backward')
"""
COSINE_ONE = "scipy.fft.{name}(x, n=5, axis=0) | scipy.fft.{name}(x, n=11, axis=1, norm='ortho')"
COSINE_MANY = "scipy.fft.{name}(x, s=(3, 9), axes=(0, 1)) | scipy.fft.{name}(x, axes=(2, 0))"
OTHERS = """
    np.fft.fftfreq(7, x[0, 0, 0]) | np.fft.rfftfreq(8, x[0, 0, 0]) | np.fft.fftfreq(8, 0.5)
    np.fft.fftshift(x) | np.fft.fftshift(x, 1) | np.fft.ifftshift(x, (0, 2))
    lax.fft(x, 'RFFT', (6, 8)) | lax.fft(x, 'FFT', (8,)) | lax.fft(x, 'IRFFT', (4, 6, 15))
    np.fft.rfftn(x[None, None], norm='ortho') | np.fft.irfftn(x[None], axes=(3, 0, 2, 1))
    grad(lambda v: jax.numpy.abs(jax.numpy.fft.rfft(v)).sum())(x)
    grad(lambda v: lax.fft(v * 1j, 'IRFFT', (15,)).sum())(x)
    vmap(jax.numpy.fft.rfft, 1)(x) | jvp(jax.numpy.fft.fft, (x,), (x,)) | jit(jax.numpy.fft.fft2)(x)
"""


def lines(text, names=("",)):
    found = [t.strip() for line in text.strip().splitlines() for t in line.split("|")]
    return [t.format(name=n) for n in names for t in found]


EXPRESSIONS = [
    *lines(ONE, ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")),
    *lines(MANY, ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn")),
    *lines(COSINE, ("dct", "idct", "dctn", "idctn")), *lines(COSINE_ONE, ("dct", "idct")),
    *lines(COSINE_MANY, ("dctn", "idctn")), *lines(OTHERS),
]


def function_of(package, expression):
    """The expression as a function of x, with the package's modules."""
    module = importlib.import_module(package)
    for part in ("numpy", "lax", "scipy.fft"):
        importlib.import_module(f"{package}.{part}")
    names = {n: getattr(module, n) for n in ("lax", "scipy", "grad", "vmap", "jvp", "jit")}
    return module, eval(f"lambda x: {expression}", {"jax": module, "np": module.numpy, **names})


def one_line(text):
    """Without line breaks, which are the printer's business; NumPy integers as plain ones."""
    text = re.sub(r"np\.int64\((-?\d+)\)", r"\1", text)
    return re.sub(r"\[ | (?=\])", lambda m: m.group().strip(), re.sub(r"\s+", " ", text)).strip()


# They call `remainder`, which follows the array API standard: its text differs.
OTHER_REMAINDER = ("np.fft.fftfreq(7, x[0, 0, 0])", "np.fft.fftfreq(8, 0.5)")


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_programs_are_written_alike(expression):
    texts = []
    for package in ("jax", "jitney"):
        module, function = function_of(package, expression)
        texts.append(one_line(str(module.make_jaxpr(function)(X))))
    if expression in OTHER_REMAINDER:
        texts = [text.partition("name=remainder")[0] for text in texts]
    assert texts[1] == texts[0]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_values_and_types(expression):
    arguments = [X]
    if not re.search(r"i?h?rfft|ihfft|grad|freq|RFFT|jvp", expression) or "irfft" in expression:
        arguments.append(C)
    if not re.search("shift|freq|grad|axes|axis|jvp|lax|None|s=", expression):
        arguments.append(SMALL)
    for x in arguments:
        results = []
        for package in ("jax", "jitney"):
            module, function = function_of(package, expression)
            results.append(module.tree_util.tree_leaves(function(x)))
        for theirs, ours in zip(*results, strict=True):
            assert ours.dtype == theirs.dtype and ours.weak_type == theirs.weak_type
            close(ours, theirs, 20)


@pytest.mark.parametrize("expression", (
    "np.fft.rfft(x * 1j)", "np.fft.fft(x, n=0)", "np.fft.fft(x, axis=3)", "np.fft.fft(x, n=2.5)",
    "np.fft.fft(x, axis=(0, 1))", "np.fft.fft(x, norm='x')", "np.fft.fft2(x, axes=(1,))",
    "np.fft.fft2(x, s=(2,))", "np.fft.fftn(x, axes=(1, 1))", "np.fft.fftfreq([3])",
    "np.fft.fftfreq(4, [1, 2])", "lax.fft(x, 0, (8,))", "lax.fft(x, 'x', (8,))",
    "lax.fft(x, 'FFT', (7,))", "lax.fft(x[0], 'FFT', (4, 6, 8))", "lax.fft(x, 'IRFFT', (5, 14))",
    "scipy.fft.dct(x, type=1)", "scipy.fft.dct(x, norm='forward')", "scipy.fft.dct(x, axis=3)",
    "scipy.fft.dctn(x, axes=(0, 0))", "scipy.fft.dctn(x, s=(3, 3, 3, 3))", "np.fft.fft([1.0])",
))  # fmt: skip
def test_errors(expression):
    kinds = []
    for package in ("jax", "jitney"):
        with pytest.raises(Exception) as raised:
            function_of(package, expression)[1](X)
        kinds.append([base.__name__ for base in raised.type.__mro__])
    assert kinds[0][0] in kinds[1]      # an AxisError where JAX raises its base, ValueError
