// Arrays of one element as Python scalars: item(), tolist(), bool, int, float, complex, index.
#include <complex>

#include "array.h"

namespace jitney {

namespace {

Array* as_array(PyObject* self) { return reinterpret_cast<Array*>(self); }

bool ready(Array* array) {
  if (JITNEY_LIKELY(array->buffer != nullptr)) return true;
  array_deleted_error(array);
  return false;
}

template <typename T>
T read(const Array* array) {
  return *static_cast<const T*>(array->buffer->data);
}

PyObject* only_scalars_error(const Array* array) {
  PyErr_Format(PyExc_TypeError,
               "Only scalar arrays can be converted to Python scalars; got arr.ndim=%d",
               array->aval->ndim);
  return nullptr;
}

// The single element of a deleted-checked, size-1 array.
PyObject* single_item(Array* array) {
  switch (array->aval->dtype_id) {
    case NPY_BOOL: return PyBool_FromLong(read<uint8_t>(array));
    case NPY_BYTE: return PyLong_FromLong(read<int8_t>(array));
    case NPY_UBYTE: return PyLong_FromLong(read<uint8_t>(array));
    case NPY_SHORT: return PyLong_FromLong(read<int16_t>(array));
    case NPY_USHORT: return PyLong_FromLong(read<uint16_t>(array));
    case NPY_INT: return PyLong_FromLong(read<int32_t>(array));
    case NPY_UINT: return PyLong_FromUnsignedLong(read<uint32_t>(array));
    case NPY_LONG: return PyLong_FromLong(read<int64_t>(array));
    case NPY_ULONG: return PyLong_FromUnsignedLong(read<uint64_t>(array));
    case NPY_FLOAT: return PyFloat_FromDouble(read<float>(array));
    case NPY_DOUBLE: return PyFloat_FromDouble(read<double>(array));
    case NPY_CFLOAT: {
      auto z = read<std::complex<float>>(array);
      return PyComplex_FromDoubles(z.real(), z.imag());
    }
    case NPY_CDOUBLE: {
      auto z = read<std::complex<double>>(array);
      return PyComplex_FromDoubles(z.real(), z.imag());
    }
    default: {
      PyObject* view = array_as_numpy(array);
      if (!view) return nullptr;
      PyObject* item = PyObject_CallMethod(view, "item", nullptr);
      Py_DECREF(view);
      return item;
    }
  }
}

// The element of a 0-d array, for conversions that refuse anything else.
PyObject* scalar_item(PyObject* self) {
  Array* array = as_array(self);
  if (array->aval->ndim != 0) return only_scalars_error(array);
  return ready(array) ? single_item(array) : nullptr;
}

}  // namespace

PyObject* array_item(Array* array) {
  if (!ready(array)) return nullptr;
  if (array->aval->size != 1) {
    PyErr_SetString(PyExc_ValueError, "can only convert an array of size 1 to a Python scalar");
    return nullptr;
  }
  return single_item(array);
}

PyObject* array_method_item(PyObject* self, PyObject* const* args, Py_ssize_t nargs) {
  if (nargs == 0) return array_item(as_array(self));
  PyObject* view = array_as_numpy(as_array(self));
  if (!view) return nullptr;
  PyObject* method = PyObject_GetAttrString(view, "item");
  Py_DECREF(view);
  if (!method) return nullptr;
  PyObject* item = PyObject_Vectorcall(method, args, nargs, nullptr);
  Py_DECREF(method);
  return item;
}

PyObject* array_method_tolist(PyObject* self, PyObject*) {
  Array* array = as_array(self);
  if (array->aval->ndim == 0 && !array->aval->extended) return array_item(array);
  PyObject* view = array_as_numpy(array);
  if (!view) return nullptr;
  PyObject* list = PyArray_ToList(reinterpret_cast<PyArrayObject*>(view));
  Py_DECREF(view);
  return list;
}

int array_bool(PyObject* self) {
  Array* array = as_array(self);
  if (array->aval->size != 1) {
    PyErr_SetString(PyExc_ValueError,
                    array->aval->size == 0
                        ? "The truth value of an empty array is ambiguous. Use `array.size > 0` to "
                          "check that an array is not empty."
                        : "The truth value of an array with more than one element is ambiguous. "
                          "Use a.any() or a.all()");
    return -1;
  }
  if (!ready(array)) return -1;
  if (array->aval->dtype_id == NPY_BOOL) return read<uint8_t>(array) != 0;
  PyObject* item = single_item(array);
  if (!item) return -1;
  int truth = PyObject_IsTrue(item);
  Py_DECREF(item);
  return truth;
}

PyObject* array_int(PyObject* self) {
  PyObject* item = scalar_item(self);
  if (!item || PyLong_CheckExact(item)) return item;
  PyObject* result = PyNumber_Long(item);
  Py_DECREF(item);
  return result;
}

PyObject* array_float(PyObject* self) {
  PyObject* item = scalar_item(self);
  if (!item || PyFloat_CheckExact(item)) return item;
  PyObject* result = PyNumber_Float(item);
  Py_DECREF(item);
  return result;
}

PyObject* array_method_complex(PyObject* self, PyObject*) {
  PyObject* item = scalar_item(self);
  if (!item || PyComplex_CheckExact(item)) return item;
  double value = PyFloat_AsDouble(item);
  Py_DECREF(item);
  if (value == -1.0 && PyErr_Occurred()) return nullptr;
  return PyComplex_FromDoubles(value, 0.0);
}

PyObject* array_index(PyObject* self) {
  Array* array = as_array(self);
  PyObject* item = nullptr;
  if (array->aval->ndim == 0) {
    if (!ready(array)) return nullptr;
    if (!array->aval->extended) {
      item = single_item(array);
      if (!item) return nullptr;
    }
  }
  if (item && PyLong_CheckExact(item)) return item;
  Py_XDECREF(item);
  PyErr_SetString(PyExc_TypeError,
                  "Only integer scalar arrays can be converted to a scalar index.");
  return nullptr;
}

}  // namespace jitney
