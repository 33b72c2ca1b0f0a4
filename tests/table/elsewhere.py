"""Public names without a row: what is no function of arrays, and which test file has it instead."""

OBJECTS = "tests/table/test_objects.py"
PYTREES = "tests/base/test_pytree.py"
DTYPES = "tests/base/test_dtypes.py"
TRACERS = "tests/core/test_tracer_errors.py"

FUNCTIONS = {
    "jax.numpy": {OBJECTS: "fromfile fromiter get_printoptions load printoptions save savez "
                           "set_printoptions"},
    "jax.lax": {"tests/parallel/test_collectives.py": "pcast",
                "tests/parallel/test_jit_shardings.py": "with_sharding_constraint"},
    "jax.tree": {OBJECTS: "static"},
    "jax.tree_util": {OBJECTS: "KeyPath register_pytree_node register_pytree_node_class "
                               "register_pytree_with_keys_class register_static",
                      PYTREES: "register_dataclass register_pytree_with_keys"},
}  # fmt: skip

OTHERS = {
    "jax.numpy": {
        "tests/numpy/test_objects.py": "c_ mgrid newaxis pi r_ s_ ufunc",
        OBJECTS: "ComplexWarning bfloat16 bool bool_ cdouble character complex128 complex64 complex_ "
                 "complexfloating csingle double dtype e euler_gamma finfo flexible float16 float32 "
                 "float64 float_ floating float4_e2m1fn float6_e2m3fn float6_e3m2fn float8_e3m4 "
                 "float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 "
                 "float8_e5m2fnuz float8_e8m0fnu generic iinfo index_exp inexact inf int1 int16 int2 "
                 "int32 int4 int64 int8 int_ integer nan ndarray number object_ ogrid signedinteger "
                 "single uint uint1 uint16 uint2 uint32 uint4 uint64 uint8 unsignedinteger",
    },
    "jax.lax": {
        "tests/fft/test_values.py": "FftType",
        "tests/lax/test_dot.py": "Precision",
        "tests/lax/test_integer_edges.py": "RoundingMethod",
        "tests/lax/test_jaxprs.py": "AccuracyMode",
        "tests/lax/test_random_bits.py": "RandomAlgorithm",
        "tests/lax/test_types.py": "Tolerance",
        "tests/numpy/test_indexing.py": "GatherScatterMode",
        "tests/table/lax_arrays.py": "GatherDimensionNumbers ScatterDimensionNumbers",
        "tests/table/lax_elementwise.py": "RaggedDotDimensionNumbers",
        OBJECTS: "ConvDimensionNumbers ConvGeneralDilatedDimensionNumbers DotAlgorithm "
                 "DotAlgorithmPreset PrecisionLike",
    },
    "jax.lax.linalg": {"tests/linalg/test_primitives.py": "SvdAlgorithm",
                       OBJECTS: "EigImplementation EighImplementation"},
    "jax.nn.initializers": {OBJECTS: "Initializer"},
    "jax.scipy.stats": {"tests/scipy/test_stats.py": "gaussian_kde"},
    "jax.scipy.optimize": {"tests/scipy/test_optimize.py": "OptimizeResults"},
    "jax.scipy.interpolate": {"tests/scipy/test_grids.py": "RegularGridInterpolator"},
    "jax.tree_util": {PYTREES: "GetAttrKey Partial",
                      "tests/native/test_pytree.py": "PyTreeDef",
                      "tests/vocabulary/test_modules.py": "default_registry",
                      OBJECTS: "DictKey FlattenedIndexKey KeyEntry SequenceKey"},
    "jax.errors": {
        TRACERS: "TracerArrayConversionError TracerBoolConversionError "
                 "TracerIntegerConversionError UnexpectedTracerError",
        "tests/api/test_callbacks.py": "JaxRuntimeError",
        "tests/core/test_programs.py": "JaxprTypeError",
        "tests/numpy/test_indexing.py": "NonConcreteBooleanIndexError",
        "tests/vocabulary/test_modules.py": "ConcretizationTypeError",
        OBJECTS: "InconclusiveDimensionOperation JAXIndexError JAXTypeError KeyReuseError",
    },
    "jax.image": {"tests/vocabulary/test_image.py": "ResizeMethod"},
    "jax.dtypes": {DTYPES: "TypePromotionError bfloat16 extended prng_key",
                   "tests/native/test_array.py": "float0"},
}  # fmt: skip
