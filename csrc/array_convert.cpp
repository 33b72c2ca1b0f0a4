// Copies and the few dtype conversions that happen on the way in.
#include "array_convert.h"

#include <complex>
#include <cstring>

#include "copy.h"

namespace jitney {

namespace {

constexpr Py_ssize_t kReleaseGilBytes = 512 << 10;

template <typename From, typename To>
void convert_loop(const void* source, void* target, Py_ssize_t n) {
  const From* in = static_cast<const From*>(source);
  To* out = static_cast<To*>(target);
  for (Py_ssize_t i = 0; i < n; i++) out[i] = static_cast<To>(in[i]);
}

// `source` may be unaligned as far as C++ is concerned; x86 does not mind.
using ConvertFn = void (*)(const void*, void*, Py_ssize_t);

void convert_complex(const void* source, void* target, Py_ssize_t n) {
  convert_loop<double, float>(source, target, 2 * n);
}

ConvertFn find_conversion(int from, int to) {
  if (from == NPY_LONGLONG) from = NPY_LONG;
  if (from == NPY_ULONGLONG) from = NPY_ULONG;
  if (from == NPY_DOUBLE && to == NPY_FLOAT) return convert_loop<double, float>;
  if (from == NPY_LONG && to == NPY_INT) return convert_loop<int64_t, int32_t>;
  if (from == NPY_ULONG && to == NPY_UINT) return convert_loop<uint64_t, uint32_t>;
  if (from == NPY_CDOUBLE && to == NPY_CFLOAT) return convert_complex;
  return nullptr;
}

// A contiguous, aligned, native array with the same elements; new reference.
PyArrayObject* make_plain(PyArrayObject* source) {
  if (PyArray_IS_C_CONTIGUOUS(source) && PyArray_ISBEHAVED_RO(source)) {
    Py_INCREF(source);
    return source;
  }
  counters.conversions++;
  PyArray_Descr* descr = PyArray_DescrNewByteorder(PyArray_DESCR(source), NPY_NATIVE);
  if (!descr) return nullptr;
  return reinterpret_cast<PyArrayObject*>(PyArray_FromArray(
      source, descr, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED | NPY_ARRAY_NOTSWAPPED));
}

void copy_in(void* target, const void* source, Py_ssize_t bytes) {
  if (bytes < kReleaseGilBytes) {
    std::memcpy(target, source, bytes);
    return;
  }
  Py_BEGIN_ALLOW_THREADS copy_bytes(target, source, bytes);
  Py_END_ALLOW_THREADS
}

bool same_elements(PyArrayObject* source, const Aval* aval) {
  return PyArray_SIZE(source) == aval->size;
}

PyObject* size_error(PyArrayObject* source, const Aval* aval) {
  PyErr_Format(PyExc_ValueError, "a NumPy array of %zd elements of dtype %S does not make a %R",
               PyArray_SIZE(source), PyArray_DESCR(source), aval);
  return nullptr;
}

PyObject* converted_copy(PyArrayObject* plain, Aval* aval, ConvertFn convert) {
  PyObject* result = array_new_empty(aval);
  if (!result) return nullptr;
  counters.conversions++;
  void* target = reinterpret_cast<Array*>(result)->buffer->data;
  if (aval->nbytes < kReleaseGilBytes) {
    convert(PyArray_DATA(plain), target, aval->size);
  } else {
    Py_BEGIN_ALLOW_THREADS convert(PyArray_DATA(plain), target, aval->size);
    Py_END_ALLOW_THREADS
  }
  return result;
}

PyObject* plain_copy(PyArrayObject* plain, Aval* aval) {
  PyObject* result = array_new_empty(aval);
  if (!result) return nullptr;
  counters.copies++;
  copy_in(reinterpret_cast<Array*>(result)->buffer->data, PyArray_DATA(plain), aval->nbytes);
  return result;
}

PyObject* wrap_memory(PyArrayObject* plain, Aval* aval) {
  Buffer* buffer = buffer_wrap(PyArray_DATA(plain), reinterpret_cast<PyObject*>(plain));
  if (!buffer) return PyErr_NoMemory();
  return array_new(aval, buffer);
}

}  // namespace

bool can_convert_elements(int from, int to) { return find_conversion(from, to) != nullptr; }

bool convert_elements(int from, int to, const void* source, void* target, Py_ssize_t n) {
  ConvertFn convert = find_conversion(from, to);
  if (convert) convert(source, target, n);
  return convert != nullptr;
}

PyObject* array_from_numpy(PyArrayObject* source, Aval* aval, bool copy) {
  int from = PyArray_TYPE(source);
  bool same_dtype = dtype_id_of_type_number(from) == aval->dtype_id;
  ConvertFn convert =
      same_dtype || aval->extended ? nullptr : find_conversion(from, aval->dtype_id);
  if (convert ? !same_elements(source, aval) : PyArray_NBYTES(source) != aval->nbytes) {
    return size_error(source, aval);
  }
  PyArrayObject* plain = make_plain(source);
  if (!plain) return nullptr;
  PyObject* result;
  if (convert) {
    result = converted_copy(plain, aval, convert);
  } else if (plain != source || !copy) {
    result = wrap_memory(plain, aval);  // a private copy made just now needs no second one
  } else {
    result = plain_copy(plain, aval);
  }
  Py_DECREF(plain);
  return result;
}

}  // namespace jitney
