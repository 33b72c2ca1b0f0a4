"""Convolutions: against loops, and the rules against each other."""

import numpy as np
import pytest
from rule_checks import check_rules, normal

import jitney  # noqa: F401
from jitney import lax

IMAGE, KERNEL = normal(2, 4, 6, 7), normal(6, 4, 3, 2, seed=1)
GROUPED = normal(6, 2, 3, 2, seed=1)
PADS = ((1, 2), (-1, 3))

CASES = {
    "plain": (lambda x, k: lax.conv(x, k, (1, 1), "SAME"), IMAGE, KERNEL),
    "everything": (lambda x, k: lax.conv_general_dilated(x, k, (2, 1), PADS, (1, 2), (2, 1)),
                   IMAGE, KERNEL),
    "feature_groups": (lambda x, k: lax.conv_general_dilated(
        x, k, (1, 2), "SAME", feature_group_count=2), IMAGE, GROUPED),
    "batch_groups": (lambda x, k: lax.conv_general_dilated(
        x, k, (1, 2), "SAME_LOWER", batch_group_count=2), IMAGE, KERNEL),
    "layout": (lambda x, k: lax.conv_general_dilated(
        x, k, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NCHW")),
        normal(2, 6, 7, 3), normal(3, 2, 3, 4)),
    "one_axis": (lambda x, k: lax.conv_general_dilated(x, k, (2,), "SAME"), normal(2, 3, 9),
                 normal(4, 3, 2)),
    "no_axis": (lambda x, k: lax.conv_general_dilated(x, k, (), "VALID"), normal(2, 3),
                normal(4, 3)),
    "nothing_fits": (lambda x, k: lax.conv_general_dilated(x, k, (2,), "VALID"), normal(2, 3, 2),
                     normal(4, 3, 5)),
}


@pytest.mark.parametrize("name", CASES)
def test_rules_agree_with_meaning(name):
    f, *args = CASES[name]
    check_rules(f, *args)


def test_against_a_loop():
    x, k = np.asarray(IMAGE), np.asarray(KERNEL)
    found = np.asarray(lax.conv_general_dilated(IMAGE, KERNEL, (2, 1), ((1, 0), (0, 2)),
                                                rhs_dilation=(1, 2)))
    padded = np.pad(x, ((0, 0), (0, 0), (1, 0), (0, 2)))
    for i in range(found.shape[2]):
        for j in range(found.shape[3]):
            window = padded[:, :, 2 * i:2 * i + 3, j:j + 3:2]
            np.testing.assert_allclose(found[:, :, i, j], np.einsum("ncij,ocij->no", window, k),
                                       rtol=1e-4, atol=1e-4)


def test_transposed_convolution_is_the_gradient_of_one():
    image, kernel = normal(2, 5, 6, 3), normal(3, 3, 4, 3, seed=1)
    found = np.asarray(lax.conv_transpose(image, kernel, (2, 3), "VALID", transpose_kernel=True))
    assert found.shape == lax.conv_transpose_shape_tuple(
        (2, 5, 6, 3), (3, 3, 3, 4), (2, 3), "VALID", ("NHWC", "HWIO", "NHWC"))
    # <conv_transpose(y), x> = <y, conv(x)>
    x = normal(*found.shape, seed=4)
    forward = lax.conv_general_dilated(x, kernel, (2, 3), "VALID",
                                       dimension_numbers=("NHWC", "HWIO", "NHWC"))
    assert forward.shape == image.shape
    left = np.sum(found * np.asarray(x))
    right = np.sum(np.asarray(image) * np.asarray(forward))
    np.testing.assert_allclose(left, right, rtol=1e-3)


def test_patches_are_the_windows():
    found = np.asarray(lax.conv_general_dilated_patches(IMAGE, (2, 3), (1, 1), "VALID"))
    x = np.asarray(IMAGE)
    for i in range(found.shape[2]):
        for j in range(found.shape[3]):
            window = x[:, :, i:i + 2, j:j + 3].reshape(2, -1)
            np.testing.assert_allclose(found[:, :, i, j], window, rtol=1e-5)


def test_unshared_kernels():
    kernels = normal(5, 4 * 6, 5, 5, seed=1)
    found = np.asarray(lax.conv_general_dilated_local(IMAGE, kernels, (1, 1), "VALID", (2, 3)))
    patches = np.asarray(lax.conv_general_dilated_patches(IMAGE, (2, 3), (1, 1), "VALID"))
    want = np.einsum("nkij,okij->noij", patches, np.asarray(kernels))
    np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", ["int8", "bfloat16", "complex64"])
def test_types(dtype):
    x, k = normal(1, 2, 4, 4, dtype=dtype), normal(3, 2, 2, 2, dtype=dtype, seed=1)
    assert lax.conv(x, k, (1, 1), "VALID").dtype == x.dtype
    wide = "int32" if dtype == "int8" else "complex64" if dtype == "complex64" else "float32"
    found = lax.conv(x, k, (1, 1), "VALID", preferred_element_type=wide)
    kind = np.complex64 if dtype == "complex64" else np.float32
    x, k = np.asarray(x).astype(kind), np.asarray(k).astype(kind)
    want = np.einsum("ncij,ocij->no", x[:, :, :2, :2], k)
    np.testing.assert_allclose(np.asarray(found)[:, :, 0, 0], want, rtol=1e-3)


def test_shapes_of_results():
    assert lax.padtype_to_pads((8, 9), (3, 3), (2, 1), "SAME") == [(0, 1), (1, 1)]
    assert lax.conv_shape_tuple((2, 3, 8, 9), (5, 3, 3, 3), (1, 1), ((0, 0), (0, 0))) == \
        (2, 5, 6, 7)
    assert lax.conv_general_permutations(("NHWC", "HWIO", "NHWC")) == \
        ((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2))


@pytest.mark.parametrize("options, error, text", [
    ({"window_strides": (1,)}, ValueError, "same number of dimensions"),
    ({"padding": "FOO"}, RuntimeError, "Unrecognized padding"),
    ({"lhs_dilation": (2, 2)}, ValueError, "String padding"),
    ({"padding": [(0, 0)]}, TypeError, "Wrong number of explicit pads"),
    ({"feature_group_count": 3}, ValueError, "does not divide"),
    ({"feature_group_count": 0}, ValueError, "positive integer"),
    ({"window_strides": (1, 0)}, ValueError, "must be positive"),
    ({"dimension_numbers": ("NCHX", "OIHW", "NCHW")}, TypeError, "same set of spatial"),
    ({"dimension_numbers": ("NCHW", "OIHW")}, TypeError, "length 3"),
    ({"padding": ((-9, 0), (0, 0))}, ValueError, "Negative padding"),
])
def test_errors(options, error, text):
    options = {"window_strides": (1, 1), "padding": "SAME", **options}
    with pytest.raises(error, match=text):
        lax.conv_general_dilated(IMAGE, KERNEL, **options)
