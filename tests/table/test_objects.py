"""Names that are no functions of arrays: files, printing, registration, classes, enumerations."""

import dataclasses
import io
import typing

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import errors, lax, tree_util

X = np.arange(6, dtype=np.float32).reshape(2, 3)


# --- files and printing ------------------------------------------------------------------------
def test_files(tmp_path):
    jnp.save(tmp_path / "x.npy", jnp.asarray(X))
    found = jnp.load(tmp_path / "x.npy")
    assert isinstance(found, jitney.Array)
    np.testing.assert_array_equal(found, X)
    memory = io.BytesIO()
    jnp.savez(memory, a=jnp.asarray(X), b=jnp.arange(3))
    memory.seek(0)
    assert sorted(np.load(memory)) == ["a", "b"]
    for refusal in (lambda: jnp.fromfile("raw", "float32"), lambda: jnp.fromiter([1], "int32")):
        with pytest.raises(NotImplementedError, match="asarray"):
            refusal()


def test_printing():
    before = jnp.get_printoptions()
    with jnp.printoptions(precision=2):
        assert "0.33" in repr(jnp.float32(1) / 3) and "0.333" not in repr(jnp.float32(1) / 3)
        assert np.get_printoptions()["precision"] == 2
    jnp.set_printoptions(**before)
    assert jnp.get_printoptions() == before


# --- pytrees -----------------------------------------------------------------------------------
def test_registration():
    class Plain:
        def __init__(self, a, b):
            self.a, self.b = a, b

    tree_util.register_pytree_node(Plain, lambda p: ((p.a, p.b), "aux"), lambda _, c: Plain(*c))
    leaves, tree = tree_util.tree_flatten(Plain(1, [2, 3]))
    assert leaves == [1, 2, 3] and tree.unflatten([4, 5, 6]).b == [5, 6]
    path, _ = tree_util.tree_leaves_with_path(Plain(1, 2))[1]
    assert path == (tree_util.FlattenedIndexKey(1),)

    @tree_util.register_pytree_node_class
    class Own:
        def __init__(self, a):
            self.a = a

        def tree_flatten(self):
            return (self.a,), None

        @classmethod
        def tree_unflatten(cls, _, children):
            return cls(*children)

    assert tree_util.tree_map(lambda v: v + 1, Own(2)).a == 3

    @tree_util.register_pytree_with_keys_class
    class Keyed(Own):
        def tree_flatten_with_keys(self):
            return ((tree_util.DictKey("a"), self.a),), None

    ((path, leaf),) = tree_util.tree_leaves_with_path(Keyed(5))
    assert path == (tree_util.DictKey("a"),) and leaf == 5
    assert tree_util.keystr((tree_util.SequenceKey(2), tree_util.DictKey("k"))) == "[2]['k']"

    @tree_util.register_static
    @dataclasses.dataclass(frozen=True)
    class Static:
        n: int

    assert tree_util.tree_leaves(Static(3)) == []
    doubled = jitney.jit(lambda s, x: x * s.n)
    assert doubled(Static(2), 3.0) == 6 and doubled(Static(5), 3.0) == 15


def test_static_fields():
    @tree_util.register_dataclass
    @dataclasses.dataclass
    class Layer:
        w: typing.Any
        name: str = jitney.tree.static(default="dense")

    layer = Layer(jnp.ones(2))
    assert len(jitney.tree.leaves(layer)) == 1
    assert jitney.tree.map(lambda v: v * 2, layer).name == "dense"


def test_types_of_paths():
    assert typing.get_origin(tree_util.KeyPath) is tuple
    (path, _), = tree_util.tree_leaves_with_path({"a": 1})
    assert isinstance(path, tuple) and tree_util.KeyEntry is not None


# --- dtypes ------------------------------------------------------------------------------------
ABSTRACT = """generic number integer signedinteger unsignedinteger inexact floating complexfloating
    flexible character object_""".split()
CONCRETE = """bool_ int8 int16 int32 uint8 uint16 uint32 float16 float32 complex64 bfloat16 int4
    uint4 int2 uint2 float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz
    float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float4_e2m1fn""".split()
WIDE = dict(int64="int32", uint64="uint32", float64="float32", complex128="complex64", int_="int32",
            uint="uint32", float_="float32", double="float32", complex_="complex64",
            cdouble="complex64", single="float32", csingle="complex64")  # fmt: skip
NOT_COMPUTED_WITH = "int1 uint1 float6_e2m3fn float6_e3m2fn".split()


@pytest.mark.parametrize("name", ABSTRACT)
def test_abstract_dtypes_are_those_of_numpy(name):
    assert getattr(jnp, name) is getattr(np, name)


@pytest.mark.parametrize("name", CONCRETE)
def test_dtypes_make_scalars(name):
    made = getattr(jnp, name)(1)
    assert made.dtype == getattr(jnp, name).dtype and made.shape == () and complex(made) == 1
    assert jnp.zeros((2,), getattr(jnp, name)).dtype == made.dtype


@pytest.mark.parametrize("name", WIDE)
def test_wide_dtypes_narrow_unless_x64_is_on(name):
    narrow = WIDE[name]
    assert getattr(jnp, name)(1).dtype == narrow
    with jitney.enable_x64(True):
        made = getattr(jnp, name)(1).dtype
        assert made.itemsize == np.dtype(narrow).itemsize * (1 if name in ("single", "csingle") else 2)


@pytest.mark.parametrize("name", NOT_COMPUTED_WITH)
def test_dtypes_that_only_have_names(name):
    assert hasattr(jnp, name)


def test_constants_and_small_objects():
    assert jnp.bool is jnp.bool_ and jnp.dtype is np.dtype
    assert jnp.e == np.e and jnp.euler_gamma == np.euler_gamma and jnp.inf == np.inf
    assert jnp.nan != jnp.nan
    assert jnp.finfo("bfloat16").bits == 16 and jnp.iinfo("int8").max == 127
    assert isinstance(jnp.ones(2), jnp.ndarray) and not isinstance(X, jnp.ndarray)
    assert jnp.index_exp[1:2, ..., None] == np.index_exp[1:2, ..., None]
    for a, b in zip(jnp.ogrid[0:2, 0:3], np.ogrid[0:2, 0:3], strict=True):
        np.testing.assert_array_equal(a, b)
    assert jnp.ComplexWarning is np.exceptions.ComplexWarning


# --- classes and enumerations ------------------------------------------------------------------
def test_numbers_of_convolutions():
    found = lax.conv_dimension_numbers((1, 2, 3), (4, 2, 3), ("NCH", "OIH", "NHC"))
    assert isinstance(found, lax.ConvDimensionNumbers) and found.out_spec == (0, 2, 1)
    assert lax.ConvDimensionNumbers in typing.get_args(lax.ConvGeneralDilatedDimensionNumbers)


def test_precisions():
    assert {lax.Precision, lax.DotAlgorithm, lax.DotAlgorithmPreset} <= set(
        typing.get_args(lax.PrecisionLike))
    product = lax.dot(X, X.T, precision=lax.DotAlgorithmPreset.F32_F32_F32)
    np.testing.assert_allclose(product, X @ X.T)
    own = lax.DotAlgorithm(np.float32, np.float32, np.float32, 1, 1, 1, False)
    np.testing.assert_allclose(lax.dot(X, X.T, precision=own), X @ X.T)


def test_implementations_of_linear_algebra():
    h = jnp.asarray(X[:, :2] + X[:, :2].T)
    for which in lax.linalg.EighImplementation:
        assert lax.linalg.eigh(h, implementation=which)[1].shape == (2,)
    values = lax.linalg.eig(h, implementation=lax.linalg.EigImplementation.LAPACK)[0]
    assert values.shape == (2,)


def test_initializers_share_a_protocol():
    assert typing.is_protocol(jitney.nn.initializers.Initializer) if hasattr(
        typing, "is_protocol") else jitney.nn.initializers.Initializer._is_protocol


# --- errors ------------------------------------------------------------------------------------
@pytest.mark.parametrize("name, base", [
    ("InconclusiveDimensionOperation", Exception), ("JAXIndexError", IndexError),
    ("JAXTypeError", TypeError), ("KeyReuseError", RuntimeError)])  # fmt: skip
def test_error_classes(name, base):
    assert issubclass(getattr(errors, name), base)
