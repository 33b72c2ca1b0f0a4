// From NumPy arrays, NumPy scalars and Python scalars to buffers of canonical dtype.
#pragma once

#include "array.h"

namespace jitney {

// A new Array of type `aval`. Converts 64-bit types to the 32-bit ones of the same kind; other
// dtypes of equal size are taken bit by bit. With copy=false the array's own memory is used when
// its layout allows it (the caller promises that nobody writes to it).
PyObject* array_from_numpy(PyArrayObject* source, Aval* aval, bool copy);

// Element conversion between NumPy type numbers; contiguous. False if the pair is not supported.
bool can_convert_elements(int from, int to);
bool convert_elements(int from, int to, const void* source, void* target, Py_ssize_t n);

}  // namespace jitney
