"""Convolutions by patches of the image: one kernel copies all of them, whatever the window."""

import itertools

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import lax

LETTERS = {1: "W", 2: "HW", 3: "DHW"}


def reference(x, k, strides, dilation, padding, groups=1):
    """[N, *spatial, C] with [*window, C / groups, O], in float64."""
    x = np.pad(x.astype(np.float64), [(0, 0), *np.maximum(padding, 0), (0, 0)])
    ends = [(max(-a, 0), n - max(-b, 0)) for n, (a, b) in zip(x.shape[1:-1], padding, strict=True)]
    x = x[(slice(None), *[slice(*end) for end in ends])]
    window, total = k.shape[:-2], 0
    out = [
        (n - (w - 1) * d - 1) // s + 1
        for n, w, d, s in zip(x.shape[1:-1], window, dilation, strides, strict=True)
    ]
    for place in itertools.product(*map(range, window)):
        at = tuple(
            slice(p * d, p * d + (n - 1) * s + 1, s)
            for p, d, n, s in zip(place, dilation, out, strides, strict=True)
        )
        parts = zip(
            np.split(x[(slice(None), *at)], groups, -1),
            np.split(k[place].astype(np.float64), groups, -1),
            strict=True,
        )
        total = total + np.concatenate([a @ b for a, b in parts], -1)
    return total


def numbers(rank, is_last):
    letters = LETTERS[rank]
    if is_last:
        return f"N{letters}C", f"{letters}IO", f"N{letters}C"
    return f"NC{letters}", f"OI{letters}", f"NC{letters}"


def convolution(case, is_last):
    """(a function of an image and a kernel whose channels are last, its reference)."""
    window, strides, dilation, padding, groups = case
    rank = len(window)

    def compute(x, k):
        if not is_last:
            x = jnp.moveaxis(x, -1, 1)
            k = jnp.transpose(k, (rank + 1, rank, *range(rank)))
        y = lax.conv_general_dilated(
            x, k, strides, padding, rhs_dilation=dilation,
            dimension_numbers=numbers(rank, is_last), feature_group_count=groups,
        )  # fmt: skip
        return y if is_last else jnp.moveaxis(y, 1, -1)

    return compute, lambda x, k: reference(x, k, strides, dilation, padding, groups)


CASES = [
    # image, channels, results, (window, strides, dilation, padding, groups)
    ((9, 10), 3, 16, ((3, 3), (1, 1), (1, 1), ((1, 1), (1, 1)), 1)),
    ((9, 10), 1, 16, ((3, 5), (1, 1), (1, 1), ((1, 1), (2, 2)), 1)),
    ((12, 11), 5, 4, ((3, 2), (2, 3), (1, 1), ((0, 2), (1, 0)), 1)),
    ((12, 14), 8, 9, ((3, 3), (1, 1), (2, 3), ((2, 2), (3, 3)), 1)),
    ((12, 14), 6, 9, ((2, 1), (1, 2), (3, 2), ((0, 0), (0, 1)), 3)),
    ((8, 8), 4, 8, ((8, 8), (1, 1), (1, 1), ((3, 4), (3, 4)), 1)),
    ((8, 8), 4, 8, ((4, 4), (4, 4), (1, 1), ((0, 0), (0, 0)), 1)),
    ((9, 10), 7, 5, ((3, 3), (1, 1), (1, 1), ((-1, 1), (2, -2)), 1)),
    ((6, 5, 7), 2, 8, ((3, 3, 3), (1, 1, 1), (1, 1, 1), ((1, 1), (1, 1), (1, 1)), 1)),
    ((6, 5, 7), 4, 6, ((2, 3, 1), (1, 2, 2), (2, 1, 1), ((1, 0), (0, 1), (0, 0)), 2)),
    ((40,), 4, 8, ((5,), (2,), (3,), ((4, 4),), 1)),
    ((80,), 2, 3, ((40,), (1,), (1,), ((20, 19),), 1)),
]


def operands(image, channels, results, case, dtype):
    rng = np.random.default_rng(results)
    x = rng.integers(-4, 5, (2, *image, channels)).astype(dtype)
    k = rng.integers(-4, 5, (*case[0], channels // case[-1], results)).astype(dtype)
    return x, k


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16", "int8", "int32"])
@pytest.mark.parametrize("is_last", [True, False])
@pytest.mark.parametrize("number", range(len(CASES)))
def test_against_numpy(number, is_last, dtype):
    image, channels, results, case = CASES[number]
    with jitney.enable_x64():
        compute, wanted = convolution(case, is_last)
        x, k = operands(image, channels, results, case, "float32")
        y = jitney.jit(compute)(jnp.asarray(x, dtype), jnp.asarray(k, dtype))
        assert y.dtype == jnp.dtype(dtype)
        exact = wanted(x, k)
        if dtype == "int8":
            exact = exact.astype(np.int64).astype(np.int8)  # sums wrap around
        rtol = {"bfloat16": 2**-8, "float16": 2**-11}.get(dtype, 1e-6)
        np.testing.assert_allclose(np.asarray(y, np.float64), exact, rtol=rtol, atol=1e-6)


@pytest.mark.parametrize("is_last", [True, False])
@pytest.mark.parametrize("number", range(len(CASES)))
def test_gradients_against_sums_of_windows(number, is_last):
    """Of a kernel's element: the sum of what it met times the cotangents there."""
    image, channels, results, case = CASES[number]
    window, strides, dilation, padding, groups = case
    compute, _ = convolution(case, is_last)
    x, k = operands(image, channels, results, case, "float32")
    y, pull = jitney.vjp(jitney.jit(compute), x, k)
    ct = np.random.default_rng(1).integers(-3, 4, y.shape).astype("float32")
    dx, dk = pull(jnp.asarray(ct))
    padded = np.pad(x.astype(np.float64), [(0, 0), *[(max(a, 0), max(b, 0)) for a, b in padding],
                                           (0, 0)])  # fmt: skip
    cut = [slice(max(-a, 0), n + max(a, 0) + max(b, 0) - max(-b, 0))
           for n, (a, b) in zip(image, padding, strict=True)]  # fmt: skip
    seen = padded[(slice(None), *cut)]
    back = np.zeros_like(padded)
    into = back[(slice(None), *cut)]
    wanted = np.zeros(k.shape)
    per, some = channels // groups, results // groups
    for place in itertools.product(*map(range, window)):
        at = (slice(None), *[
            slice(p * d, p * d + (n - 1) * s + 1, s)
            for p, d, n, s in zip(place, dilation, y.shape[1:-1], strides, strict=True)
        ])  # fmt: skip
        for g in range(groups):
            i, o = slice(g * per, (g + 1) * per), slice(g * some, (g + 1) * some)
            met, cts = seen[at][..., i], ct[..., o]
            wanted[place][:, o] = met.reshape(-1, per).T @ cts.reshape(-1, some)
            into[at][..., i] += cts @ k[place][:, o].T
    np.testing.assert_allclose(dk, wanted, rtol=1e-5, atol=1e-5)
    edge = tuple(slice(max(a, 0), max(a, 0) + n) for n, (a, _) in zip(image, padding, strict=True))
    np.testing.assert_allclose(dx, back[(slice(None), *edge)], rtol=1e-5, atol=1e-5)


def kernels(fun, *args):
    text = jitney.jit(fun).lower(*args).compile().as_text()
    return [part.splitlines()[0] for part in text.split("\n[")[1:]]


@pytest.mark.parametrize("window", [2, 3, 5])
def test_patches_are_one_kernel(window):
    """However many elements the window has."""
    x, k = jnp.ones((2, 8, 9, 10, 2)), jnp.ones((window,) * 3 + (2, 16))
    case = (window,) * 3, (1, 1, 1), (1, 1, 1), ((2, 2),) * 3, 1
    compute, _ = convolution(case, True)
    assert len(kernels(compute, x, k)) == 4, "zeros, the image in them, its patches, a product"


def test_gradients_share_the_patches():
    """Few of them are kept from the convolution for the gradient of its kernel."""
    x, k = jnp.ones((4, 10, 10, 4)), jnp.ones((3, 3, 4, 8))
    case = (3, 3), (1, 1), (1, 1), ((1, 1), (1, 1)), 1
    compute, _ = convolution(case, True)
    loss = lambda x, k: jnp.sum(jnp.sin(compute(x, k)))
    forward, both = kernels(compute, x, k), kernels(jitney.grad(loss, 1), x, k)
    copies = lambda names: sum("fused_add" in name for name in names)
    assert copies(forward) == copies(both) == 1
    wide = jnp.ones((512, 10, 10, 4))
    assert copies(kernels(jitney.grad(loss, 1), wide, k)) == 2, "many are copied again"


def test_kernels_of_many_channels_in_parts(monkeypatch):
    """The gradient of a kernel by some positions at a time."""
    from jitney.lower import conv

    case = (5, 3), (2, 1), (1, 2), ((2, 2), (2, 2)), 1
    compute, _ = convolution(case, True)
    x, k = operands((14, 13), 3, 4, case, "float32")
    loss = lambda k: jnp.sum(jnp.cos(compute(x, k)))
    whole = jitney.grad(loss)(k)
    monkeypatch.setattr(conv, "MOST_PATCHES", 6 * 7 * 13 * 2 * 3)
    jitney.clear_caches()
    products = [name for name in kernels(jitney.grad(loss), k) if "contraction" in name]
    assert len(products) == 1 + 3, "the convolution, and five rows of the kernel, two at a time"
    np.testing.assert_allclose(jitney.jit(jitney.grad(loss))(k), whole, rtol=1e-5, atol=1e-4)


# ---------------------------------------------------------------------- blocks
@pytest.mark.parametrize("extra", [0, 2, -1])
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("dilation", [(2, 2), (3, 1), (4, 2)])
@pytest.mark.parametrize(
    "dims", [("NHWC", "HWIO", "NHWC"), ("NCHW", "OIHW", "NCHW"), ("NHWC", "OIHW", "CNHW")]
)
def test_blocks_of_transposed_convolutions(dims, dilation, groups, extra):
    rng = np.random.default_rng(groups)
    x = rng.standard_normal((2, 3, 4, 6)).astype("float32")
    k = rng.standard_normal((*dilation, 6 // groups, 4)).astype("float32")
    wide = np.zeros((2, 2 * dilation[0] + 1, 3 * dilation[1] + 1, 6), "float32")
    wide[:, :: dilation[0], :: dilation[1]] = x
    padding = tuple((d - 1, d - 1 + extra) for d in dilation)
    zeros = np.pad(wide, [(0, 0), *[(a, max(b, 0)) for a, b in padding], (0, 0)])
    zeros = zeros[:, : wide.shape[1] + sum(padding[0]), : wide.shape[2] + sum(padding[1])]
    wanted = reference(zeros, k, (1, 1), (1, 1), ((0, 0), (0, 0)), groups)
    turned = lambda a, source, to: np.transpose(a, [source.index(c) for c in to])
    y = lax.conv_general_dilated(
        turned(x, "NHWC", dims[0]), turned(k, "HWIO", dims[1]), (1, 1), padding,
        lhs_dilation=dilation, dimension_numbers=dims, feature_group_count=groups,
    )  # fmt: skip
    np.testing.assert_allclose(y, turned(wanted, "NHWC", dims[2]), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("channels", [3, 64])
def test_blocks_of_single_channels_are_no_products(channels):
    """One number times another is not worth a matrix kernel."""
    x, k = jnp.ones((2, 16, 16, channels)), jnp.ones((2, 2, 1, channels))
    spread = lambda x, k: lax.conv_general_dilated(
        x, k, (1, 1), ((1, 1),) * 2, lhs_dilation=(2, 2), feature_group_count=channels,
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
    )  # fmt: skip
    assert not any("contraction" in name for name in kernels(spread, x, k))
    np.testing.assert_array_equal(jitney.jit(spread)(x, k), np.ones((2, 32, 32, channels)))


def test_blocks_are_one_product():
    x, k = jnp.ones((2, 4, 4, 8)), jnp.ones((16, 16, 8, 3))
    spread = lambda x, k: lax.conv_general_dilated(
        x, k, (1, 1), ((15, 15),) * 2, lhs_dilation=(16, 16),
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
    )  # fmt: skip
    names = kernels(spread, x, k)
    assert len(names) <= 3 and sum("contraction" in name for name in names) == 1


def test_a_convolution_by_channel_is_stored_if_it_is_read_twice():
    """By its mean and by what is normalised, which are kernels of their own."""
    x, k = jnp.ones((4, 32, 32, 16)), jnp.ones((3, 3, 1, 16))
    case = (3, 3), (1, 1), (1, 1), ((1, 1), (1, 1)), 16
    compute, _ = convolution(case, True)

    def normalised(x, k):
        y = compute(x, k)
        return y - y.mean((0, 1, 2))

    alone = lambda x, k: jnp.maximum(compute(x, k) + 1, 0)
    assert len(kernels(alone, x, k)) == 1, "what reads it once is part of its kernel"
    text = jitney.jit(normalised).lower(x, k).compile().as_text()
    assert sum("border" in part or "fma" in part for part in text.split("\n[")[1:]) == 1
