"""Calls that slide windows: convolutions, correlations, pooling, resizing of images."""

from collections.abc import Callable

from .arrays import MILLION, normals, uniforms
from .catalogue import case, variant

LAYOUTS = {
    1: ("NWC", "WIO", "NWC"),
    2: ("NHWC", "HWIO", "NHWC"),
    3: ("NDHWC", "DHWIO", "NDHWC"),
}


def convolution(
    *, dimensions: int = 2, stride: int = 1, dilation: int = 1, groups: int = 1,
    layout: tuple[str, str, str] | None = None,
) -> Callable:  # fmt: skip
    """As layers of networks do it, with as many windows as inputs (for stride 1)."""
    return lambda lax, x, w: lax.conv_general_dilated(
        x, w, (stride,) * dimensions, "SAME", rhs_dilation=(dilation,) * dimensions,
        feature_group_count=groups, dimension_numbers=layout or LAYOUTS[dimensions],
    )  # fmt: skip


def pooling(kind: str, *window: int, stride: int = 1) -> Callable:
    """Extremes or sums of windows; strides are those of the windowed axes alone."""
    start = {"max": -float("inf"), "min": float("inf"), "add": 0.0}[kind]
    strides = tuple(stride if size > 1 else 1 for size in window)
    return lambda lax, x: lax.reduce_window(x, start, getattr(lax, kind), window, strides, "SAME")


_IMAGE_56 = normals(4, 56, 56, 64)

_LAYERS = [
    case("3 x 3, 4 x 56 x 56 x 64", convolution(), _IMAGE_56, normals(3, 3, 64, 64)),
    variant("3 x 3 of bfloat16, 2 x 28 x 28 x 32", convolution(),
            normals(2, 28, 28, 32, dtype="bfloat16"), normals(3, 3, 32, 32, dtype="bfloat16")),
    case("depthwise 3 x 3, 4 x 56 x 56 x 64", convolution(groups=64), _IMAGE_56,
         normals(3, 3, 1, 64)),
    case("1 x 1, 4 x 56 x 56 x 64", convolution(), _IMAGE_56, normals(1, 1, 64, 128)),
    case("7 x 7 stride 2, 2 x 224 x 224 x 3", convolution(stride=2), normals(2, 224, 224, 3),
         normals(7, 7, 3, 64)),
    variant("5 x 5 of one channel, 32 x 28 x 28", convolution(), normals(32, 28, 28, 1),
            normals(5, 5, 1, 8)),
    case("dilated 3 x 3, 2 x 64 x 64 x 32", convolution(dilation=4), normals(2, 64, 64, 32),
         normals(3, 3, 32, 32)),
    case("transposed 4 x 4, 2 x 32 x 32 x 32",
         lambda lax, x, w: lax.conv_transpose(x, w, (2, 2), "SAME"), normals(2, 32, 32, 32),
         normals(4, 4, 32, 32)),
    case("groups of 16 channels, 4 x 28 x 28 x 128", convolution(groups=8),
         normals(4, 28, 28, 128), normals(3, 3, 16, 128)),
    case("3 x 3 with channels first, 4 x 64 x 56 x 56",
         convolution(layout=("NCHW", "OIHW", "NCHW")), normals(4, 64, 56, 56),
         normals(64, 64, 3, 3)),
    case("31 x 31, 64 x 64 x 16", convolution(), normals(1, 64, 64, 16), normals(31, 31, 16, 16)),
    variant("depthwise 31 x 31, 64 x 64 x 16", convolution(groups=16), normals(1, 64, 64, 16),
            normals(31, 31, 1, 16)),
    case("3 x 3 x 3, 24^3 x 16", convolution(dimensions=3), normals(1, 24, 24, 24, 16),
         normals(3, 3, 3, 16, 16)),
    case("lines of 9, 8 x 4096 x 16", convolution(dimensions=1), normals(8, 4096, 16),
         normals(9, 16, 16)),
    case("depthwise lines of 4, 8 x 2048 x 64", convolution(dimensions=1, groups=64),
         normals(8, 2048, 64), normals(4, 1, 64)),
    variant("dilated lines of 3, 8 x 4096 x 16", convolution(dimensions=1, dilation=64),
            normals(8, 4096, 16), normals(3, 16, 16)),
    variant("strided lines of 8, 8 x 4096 x 16", convolution(dimensions=1, stride=4),
            normals(8, 4096, 16), normals(8, 16, 32)),
    variant("patches of 3 x 3, 2 x 56 x 56 x 16",
            lambda lax, x: lax.conv_general_dilated_patches(
                x, (3, 3), (1, 1), "SAME", dimension_numbers=LAYOUTS[2]),
            normals(2, 56, 56, 16)),
    case("gradient of 3 x 3 by weights, 4 x 28 x 28 x 32",
         lambda jax, lax, x, w: jax.grad(lambda w: (convolution()(lax, x, w) ** 2).sum())(w),
         normals(4, 28, 28, 32), normals(3, 3, 32, 32)),
    variant("gradient of 3 x 3 stride 2 by inputs, 4 x 56 x 56 x 32",
            lambda jax, lax, x, w: jax.grad(
                lambda x: (convolution(stride=2)(lax, x, w) ** 2).sum())(x),
            normals(4, 56, 56, 32), normals(3, 3, 32, 32)),
]  # fmt: skip

_SIGNALS = [
    case(f"convolve, {mode}, 100000 with 1000", "jnp.convolve", normals(100000), normals(1000),
         mode=mode)
    for mode in ("full", "same", "valid")
] + [
    case("convolve, 10^6 with 5", "jnp.convolve", normals(MILLION), normals(5), mode="same"),
    case("correlate, 100000 with 100", "jnp.correlate", normals(100000), normals(100),
         mode="same"),
    case("convolve2d, 500 x 500 with 15 x 15", "scipy.signal.convolve2d", normals(500, 500),
         normals(15, 15), mode="same"),
    variant("convolve2d, 500 x 500 with 3 x 3", "scipy.signal.convolve2d", normals(500, 500),
            normals(3, 3), mode="same"),
    variant("correlate2d, 300 x 300 with 7 x 7", "scipy.signal.correlate2d", normals(300, 300),
            normals(7, 7), mode="valid"),
    case("fftconvolve, 100000 with 10000", "scipy.signal.fftconvolve", normals(100000),
         normals(10000)),
    variant("convolve of batches, 100 x 1000 with 31",
            lambda jax, jnp, x, k: jax.vmap(lambda row: jnp.convolve(row, k, "same"))(x),
            normals(100, 1000), normals(31)),
]  # fmt: skip

_POOLING = [
    case(f"{kind} of windows of {size}, 100 x 10000", pooling(kind, 1, size), normals(100, 10000),
         variant=size == 25)
    for size in (3, 25, 200)
    for kind in ("max", "add")
] + [
    case("max of 2 x 2, 8 x 56 x 56 x 64", pooling("max", 1, 2, 2, 1, stride=2),
         normals(8, 56, 56, 64)),
    case("sum of 11 x 11, 2 x 64 x 64 x 32", pooling("add", 1, 11, 11, 1), normals(2, 64, 64, 32)),
    variant("min of 3 x 3, 1000 x 1000", pooling("min", 3, 3), normals(1000, 1000)),
    variant("max of windows of 5 down, 10000 x 100", pooling("max", 5, 1), normals(10000, 100)),
    case("gradient of max of 3 x 3, 4 x 56 x 56 x 64",
         lambda jax, lax, x: jax.grad(
             lambda x: pooling("max", 1, 3, 3, 1, stride=2)(lax, x).sum())(x),
         _IMAGE_56),
]  # fmt: skip

_IMAGES = [
    case("resize bilinear, 256 to 512", "jax.image.resize", uniforms(256, 256, 3),
         shape=(512, 512, 3), method="bilinear"),
    case("resize cubic, 512 to 100", "jax.image.resize", uniforms(512, 512, 3),
         shape=(100, 100, 3), method="cubic"),
    variant("resize nearest, 8 x 64 x 64 x 16 to 128", "jax.image.resize", uniforms(8, 64, 64, 16),
            shape=(8, 128, 128, 16), method="nearest"),
    case("map_coordinates, linear, 200000",
         lambda scipy, x, c: scipy.ndimage.map_coordinates(x, [c[0], c[1]], order=1),
         uniforms(512, 512), uniforms(2, 200000, high=500)),
    variant("map_coordinates, nearest, 200000",
            lambda scipy, x, c: scipy.ndimage.map_coordinates(
                x, [c[0], c[1]], order=0, mode="wrap"),
            uniforms(512, 512), uniforms(2, 200000, high=600)),
    variant("scale_and_translate, 256 x 256",
            lambda jax, x, s, t: jax.image.scale_and_translate(
                x, (256, 256), (0, 1), s, t, method="linear"),
            uniforms(256, 256), uniforms(2, low=0.8, high=1.2), uniforms(2, high=9)),
]  # fmt: skip

CASES = [*_LAYERS, *_SIGNALS, *_POOLING, *_IMAGES]
