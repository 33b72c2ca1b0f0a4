// Python scalars, NumPy scalars and NumPy arrays as leaves.
#include "leaf.h"

#include <algorithm>
#include <climits>
#include <cstring>

#include "array_convert.h"

namespace jitney {

bool Temporaries::keep(PyObject* stolen) {
  if (!stolen) return false;
  if (!list) list = PyList_New(0);
  int status = list ? PyList_Append(list, stolen) : -1;
  Py_DECREF(stolen);
  return status == 0;
}

namespace {

// The scalar aval of an exact Python bool, int, float or complex; borrowed, may be nullptr.
Aval* python_scalar_aval(PyObject* object) {
  if (PyFloat_CheckExact(object)) return scalar_avals.floating;
  if (PyLong_CheckExact(object)) return scalar_avals.integer;
  if (PyBool_Check(object)) return scalar_avals.boolean;
  if (PyComplex_CheckExact(object)) return scalar_avals.complex;
  return nullptr;
}

bool write_python_scalar(PyObject* object, const Aval* aval, ScalarScratch* out) {
  switch (aval->dtype_id) {
    case NPY_BOOL: out->boolean = object == Py_True; return true;
    case NPY_FLOAT: out->f32[0] = static_cast<float>(PyFloat_AS_DOUBLE(object)); return true;
    case NPY_DOUBLE: out->f64[0] = PyFloat_AS_DOUBLE(object); return true;
    case NPY_INT:
    case NPY_LONG: {
      int overflow;
      long value = PyLong_AsLongAndOverflow(object, &overflow);
      if (overflow) return false;
      if (aval->dtype_id == NPY_LONG) {
        out->i64 = value;
        return true;
      }
      if (value < INT_MIN || value > INT_MAX) return false;
      out->i32 = static_cast<int32_t>(value);
      return true;
    }
    case NPY_CFLOAT:
    case NPY_CDOUBLE: {
      Py_complex z = reinterpret_cast<PyComplexObject*>(object)->cval;
      if (aval->dtype_id == NPY_CDOUBLE) {
        out->f64[0] = z.real;
        out->f64[1] = z.imag;
      } else {
        out->f32[0] = static_cast<float>(z.real);
        out->f32[1] = static_cast<float>(z.imag);
      }
      return true;
    }
    default: return false;
  }
}

// Canonical dtype id of a NumPy array or scalar's type number, or -1.
int canonical_id(int type_number) {
  int id = dtype_id_of_type_number(type_number);
  return id < 0 ? -1 : canonical_dtype_id[id];
}

bool has_type(PyArrayObject* array, const Aval* aval) {
  return !aval->weak_type && canonical_id(PyArray_TYPE(array)) == aval->dtype_id &&
         PyArray_NDIM(array) == aval->ndim &&
         std::equal(aval->dims, aval->dims + aval->ndim, PyArray_DIMS(array));
}

bool usable_in_place(PyArrayObject* array, const Aval* aval) {
  return dtype_id_of_type_number(PyArray_TYPE(array)) == aval->dtype_id &&
         PyArray_IS_C_CONTIGUOUS(array) && PyArray_ISNOTSWAPPED(array);
}

bool match_numpy_array(PyArrayObject* array, Aval* aval, void** data, Temporaries* temporaries) {
  if (!has_type(array, aval)) return false;
  *data = PyArray_DATA(array);
  if (JITNEY_LIKELY(usable_in_place(array, aval))) return true;
  int from = dtype_id_of_type_number(PyArray_TYPE(array));
  if (from != aval->dtype_id && !can_convert_elements(from, aval->dtype_id)) return false;
  temporaries->pending = true;
  return true;
}

// The type number of the common NumPy scalars without asking NumPy for a dtype; -1 otherwise.
int common_scalar_number(PyTypeObject* type) {
  if (type == &PyFloatArrType_Type) return NPY_FLOAT;
  if (type == &PyDoubleArrType_Type) return NPY_DOUBLE;
  if (type == &PyIntArrType_Type) return NPY_INT;
  if (type == &PyLongArrType_Type) return NPY_LONG;
  if (type == &PyBoolArrType_Type) return NPY_BOOL;
  return -1;
}

int scalar_number(PyObject* scalar) {
  int number = common_scalar_number(Py_TYPE(scalar));
  if (number >= 0) return number;
  PyArray_Descr* descr = PyArray_DescrFromScalar(scalar);
  if (!descr) {
    PyErr_Clear();
    return -1;
  }
  number = descr->type_num;
  Py_DECREF(descr);
  return number;
}

// Writes `value`, one element of type number `from`, as an element of the aval's dtype.
bool write_element(int from, const void* value, const Aval* aval, void** data,
                   ScalarScratch* scratch) {
  *data = scratch;
  from = dtype_id_of_type_number(from);
  if (from != aval->dtype_id) return convert_elements(from, aval->dtype_id, value, scratch, 1);
  std::memcpy(scratch, value, aval->itemsize);
  return true;
}

bool match_numpy_scalar(PyObject* scalar, const Aval* aval, void** data, ScalarScratch* scratch) {
  if (aval->ndim != 0 || aval->weak_type || aval->itemsize > 16) return false;
  int number = scalar_number(scalar);
  if (number < 0 || canonical_id(number) != aval->dtype_id) return false;
  if (common_scalar_number(Py_TYPE(scalar)) >= 0) {
    char value[16];
    PyArray_ScalarAsCtype(scalar, value);
    return write_element(number, value, aval, data, scratch);
  }
  PyObject* array = PyArray_FromScalar(scalar, nullptr);
  if (!array) {
    PyErr_Clear();
    return false;
  }
  bool ok = write_element(number, PyArray_DATA(reinterpret_cast<PyArrayObject*>(array)), aval, data,
                          scratch);
  Py_DECREF(array);
  return ok;
}

}  // namespace

bool leaf_match_slow(PyObject* leaf, Aval* aval, void** data, ScalarScratch* scratch,
                     Temporaries* temporaries) {
  if (Aval* scalar = python_scalar_aval(leaf)) {
    if (scalar != aval || !write_python_scalar(leaf, aval, scratch)) return false;
    *data = scratch;
    return true;
  }
  if (PyArray_CheckExact(leaf)) {
    return match_numpy_array(reinterpret_cast<PyArrayObject*>(leaf), aval, data, temporaries);
  }
  return PyArray_IsScalar(leaf, Generic) && match_numpy_scalar(leaf, aval, data, scratch);
}

bool convert_pending(PyObject** leaves, Aval* const* avals, void** data, Py_ssize_t n,
                     Temporaries* temporaries) {
  for (Py_ssize_t i = 0; i < n; i++) {
    Py_INCREF(leaves[i]);
    if (!temporaries->keep(leaves[i])) return false;
  }
  for (Py_ssize_t i = 0; i < n; i++) {
    if (!PyArray_CheckExact(leaves[i])) continue;
    PyArrayObject* array = reinterpret_cast<PyArrayObject*>(leaves[i]);
    if (usable_in_place(array, avals[i])) continue;
    PyObject* converted = array_from_numpy(array, avals[i], false);
    if (!temporaries->keep(converted)) return false;
    leaves[i] = converted;
    data[i] = reinterpret_cast<Array*>(converted)->buffer->data;
  }
  for (Py_ssize_t i = 0; i < n; i++) {  // another thread may have run
    if (!array_check(leaves[i])) continue;
    Array* array = reinterpret_cast<Array*>(leaves[i]);
    if (!array->buffer) return array_deleted_error(array) != nullptr;
  }
  temporaries->pending = false;
  return true;
}

Aval* leaf_aval(PyObject* leaf) {
  Aval* aval = nullptr;
  if (array_check(leaf)) {
    aval = reinterpret_cast<Array*>(leaf)->aval;
  } else {
    aval = python_scalar_aval(leaf);
  }
  if (aval) {
    Py_INCREF(aval);
    return aval;
  }
  if (PyArray_CheckExact(leaf)) {
    PyArrayObject* array = reinterpret_cast<PyArrayObject*>(leaf);
    aval = canonical_id(PyArray_TYPE(array)) >= 0 ? aval_of_numpy(array) : nullptr;
  } else if (PyArray_IsScalar(leaf, Generic)) {
    int id = canonical_id(scalar_number(leaf));
    PyArray_Descr* descr = id >= 0 ? PyArray_DescrFromType(id) : nullptr;
    if (descr) aval = aval_get(reinterpret_cast<PyObject*>(descr), id, 0, nullptr, false);
    Py_XDECREF(descr);
  }
  if (!aval) PyErr_Clear();
  return aval;
}

uint64_t leaf_hash(PyObject* leaf) {
  if (array_check(leaf)) return reinterpret_cast<Array*>(leaf)->aval->hash;
  if (Aval* scalar = python_scalar_aval(leaf)) return scalar->hash;
  if (PyArray_CheckExact(leaf)) {
    PyArrayObject* array = reinterpret_cast<PyArrayObject*>(leaf);
    return aval_hash(canonical_id(PyArray_TYPE(array)), PyArray_NDIM(array), PyArray_DIMS(array),
                     false);
  }
  if (PyArray_IsScalar(leaf, Generic)) {
    return aval_hash(canonical_id(scalar_number(leaf)), 0, nullptr, false);
  }
  return reinterpret_cast<uintptr_t>(Py_TYPE(leaf)) >> 4;
}

}  // namespace jitney
