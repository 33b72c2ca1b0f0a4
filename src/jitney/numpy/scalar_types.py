"""`jnp.float32` and its kin: names of dtypes that can be called to make arrays.

In: a value. Out: an array of that dtype. They compare equal to NumPy's scalar types and dtypes.
Invariant: there is one object for each dtype, whatever name reaches it.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from jitney.numpy.creation import asarray


class _ScalarMeta(type):
    dtype: np.dtype

    def __hash__(self) -> int:
        return hash(self.dtype.type)

    def __eq__(self, other: Any) -> bool:
        return self is other or self.dtype == other or self.dtype.type == other

    def __ne__(self, other: Any) -> bool:
        return not self == other

    def __call__(self, x: Any) -> Any:
        return asarray(self.dtype.type(x) if isinstance(x, str) else x, dtype=self.dtype)

    def __instancecheck__(self, instance: Any) -> bool:
        return isinstance(instance, self.dtype.type)



def _make(scalar_type: type) -> _ScalarMeta:
    dtype = np.dtype(scalar_type)
    name = dtype.name
    made = _ScalarMeta(name, (object,), {"dtype": dtype, "__module__": "jax.numpy",
                                         "__doc__": f"Scalar maker of dtype {name}."})
    return made


bool_ = _make(np.bool_)
uint2, uint4 = _make(ml_dtypes.uint2), _make(ml_dtypes.uint4)
uint8, uint16 = _make(np.uint8), _make(np.uint16)
uint32, uint64 = _make(np.uint32), _make(np.uint64)
int2, int4 = _make(ml_dtypes.int2), _make(ml_dtypes.int4)
int8, int16 = _make(np.int8), _make(np.int16)
int32, int64 = _make(np.int32), _make(np.int64)
float4_e2m1fn = _make(ml_dtypes.float4_e2m1fn)
float6_e2m3fn = _make(ml_dtypes.float6_e2m3fn)
float6_e3m2fn = _make(ml_dtypes.float6_e3m2fn)
float8_e3m4 = _make(ml_dtypes.float8_e3m4)
float8_e4m3 = _make(ml_dtypes.float8_e4m3)
float8_e4m3b11fnuz = _make(ml_dtypes.float8_e4m3b11fnuz)
float8_e4m3fn = _make(ml_dtypes.float8_e4m3fn)
float8_e4m3fnuz = _make(ml_dtypes.float8_e4m3fnuz)
float8_e5m2 = _make(ml_dtypes.float8_e5m2)
float8_e5m2fnuz = _make(ml_dtypes.float8_e5m2fnuz)
float8_e8m0fnu = _make(ml_dtypes.float8_e8m0fnu)
bfloat16, float16 = _make(ml_dtypes.bfloat16), _make(np.float16)
float32 = single = _make(np.float32)
float64 = double = _make(np.float64)
complex64 = csingle = _make(np.complex64)
complex128 = cdouble = _make(np.complex128)
int_, uint, float_, complex_ = int64, uint64, float64, complex128
if hasattr(ml_dtypes, "int1"):
    int1, uint1 = _make(ml_dtypes.int1), _make(ml_dtypes.uint1)
