// Leaves of a call's arguments: which type a value has, and where its bytes are.
//
// In:  any Python object. Out: its aval, or the address of its elements in the layout of a given
// aval. Arrays and fitting NumPy arrays are used in place; scalars are written to the caller's
// scratch. NumPy arrays that need a conversion are only noted by leaf_match and converted by
// convert_pending, because a conversion may let other threads run. leaf_match runs no Python code.
#pragma once

#include "array.h"

namespace jitney {

union alignas(16) ScalarScratch {
  double f64[2];
  float f32[2];
  int64_t i64;
  int32_t i32;
  uint8_t boolean;
  char bytes[32];
};

// What a call keeps alive besides its arguments.
struct Temporaries {
  PyObject* list = nullptr;     // made when first needed
  bool pending = false;         // some leaf waits for convert_pending
  bool keep(PyObject* stolen);  // false (error set) without memory
  ~Temporaries() { Py_XDECREF(list); }
};

bool leaf_match_slow(PyObject* leaf, Aval* aval, void** data, ScalarScratch* scratch,
                     Temporaries* temporaries);

// Does the leaf have type `aval`? If so, *data is where its elements are (or will be). An array
// with a sharding never does: what becomes of shardings is decided in Python.
inline bool leaf_match(PyObject* leaf, Aval* aval, void** data, ScalarScratch* scratch,
                       Temporaries* temporaries) {
  if (JITNEY_LIKELY(array_check(leaf))) {
    Array* array = reinterpret_cast<Array*>(leaf);
    if (JITNEY_UNLIKELY(array->aval != aval || !array->buffer || array->sharding)) return false;
    *data = array->buffer->data;
    return true;
  }
  return leaf_match_slow(leaf, aval, data, scratch, temporaries);
}

// Converts the noted leaves: each is replaced by an Array owned by `temporaries`, which then also
// holds all other leaves. False with an error set, among others if an Array was deleted meanwhile.
bool convert_pending(PyObject** leaves, Aval* const* avals, void** data, Py_ssize_t n,
                     Temporaries* temporaries);

// The type a value has as an argument, new reference; nullptr (no error) if it is not a leaf that
// calls from entries take.
Aval* leaf_aval(PyObject* leaf);

// A hash that equal types share, whatever kind of object has them.
uint64_t leaf_hash(PyObject* leaf);

}  // namespace jitney
