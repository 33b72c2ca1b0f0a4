// ShapedArray: the interned type of an array (shape, dtype, weak_type).
//
// Equal types are one object while anybody holds them, so that comparing types is comparing
// pointers. Immutable. The table does not keep them alive.
#pragma once

#include "numpy_api.h"

namespace jitney {

struct Aval {
  PyObject_VAR_HEAD PyObject* dtype;  // np.dtype, or an extended-dtype object
  PyObject* shape;                    // tuple of int
  PyObject* weakrefs;
  Aval* hash_next;
  uint64_t hash;
  Py_ssize_t size, itemsize, nbytes;
  int32_t dtype_id;  // NumPy type number for plain dtypes, kFirstOtherDtype + k otherwise
  int32_t ndim;
  bool weak_type;
  bool extended;
  Py_ssize_t dims[];  // ndim extents, then ndim byte strides

  const Py_ssize_t* strides() const { return dims + ndim; }
};

constexpr int kTypeNumbers = 1024;      // builtin and user-registered NumPy type numbers
constexpr int kFirstOtherDtype = 4096;  // structured and extended dtypes

extern PyTypeObject* aval_type;

inline bool aval_check(PyObject* object) { return Py_TYPE(object) == aval_type; }

// np.dtype, extended dtype or anything np.dtype() accepts -> new reference to the normal form
// (native byte order, one of the synonymous integer types) and its id. nullptr with an error.
PyObject* dtype_normalise(PyObject* object, int* id);

// The id a NumPy array's dtype has, or -1 for dtypes without a plain type number. No error set.
inline int dtype_id_of_type_number(int number) {
  if (number == NPY_LONGLONG && sizeof(long) == 8) return NPY_LONG;
  if (number == NPY_ULONGLONG && sizeof(long) == 8) return NPY_ULONG;
  if ((number >= 0 && number <= NPY_CLONGDOUBLE) || number == NPY_HALF ||
      (number >= NPY_USERDEF && number < kTypeNumbers)) {
    return number;
  }
  return -1;
}

inline uint64_t hash_mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15ull;
  return hash ^ (hash >> 29);
}

// The hash an aval of these properties has, whether it exists or not.
inline uint64_t aval_hash(int dtype_id, int ndim, const Py_ssize_t* dims, bool weak_type) {
  uint64_t hash = hash_mix(static_cast<uint64_t>(dtype_id) * 4 + weak_type, ndim);
  for (int i = 0; i < ndim; i++) hash = hash_mix(hash, static_cast<uint64_t>(dims[i]));
  return hash;
}

// Interned type, new reference; nullptr with an error.
Aval* aval_get(PyObject* dtype, int dtype_id, int ndim, const Py_ssize_t* dims, bool weak_type);

// The type a NumPy array has after canonicalisation of its dtype; new reference.
Aval* aval_of_numpy(PyArrayObject* array);

// dtype -> canonical dtype, by type number (identity until set_canonical_dtypes is called).
extern int16_t canonical_dtype_id[kTypeNumbers];

// Types of Python scalars; borrowed, nullptr until set_scalar_avals is called.
struct ScalarAvals {
  Aval *boolean, *integer, *floating, *complex;
};
extern ScalarAvals scalar_avals;

// Short form as in error messages: float32[3,4].
PyObject* aval_short_string(const Aval* aval);

// The table's side of a type's life.
void aval_forget(Aval* aval);
int aval_table_init();

int register_aval(PyObject* module);

}  // namespace jitney
