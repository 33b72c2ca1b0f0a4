// The table of interned types, and dtypes in their normal form.
#include "aval.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

namespace jitney {

int16_t canonical_dtype_id[kTypeNumbers];

namespace {

std::vector<PyObject*> other_dtypes;  // index k has id kFirstOtherDtype + k; kept for ever
std::vector<Aval*> table(1024, nullptr);
size_t table_entries = 0;
PyObject* is_extended_name = nullptr;  // "_is_extended_dtype"

int other_dtype_id(PyObject* dtype) {
  for (size_t k = 0; k < other_dtypes.size(); k++) {
    if (other_dtypes[k] == dtype) return kFirstOtherDtype + static_cast<int>(k);
  }
  for (size_t k = 0; k < other_dtypes.size(); k++) {
    if (Py_TYPE(other_dtypes[k]) != Py_TYPE(dtype)) continue;
    int equal = PyObject_RichCompareBool(other_dtypes[k], dtype, Py_EQ);
    if (equal < 0) return -1;
    if (equal) return kFirstOtherDtype + static_cast<int>(k);
  }
  Py_INCREF(dtype);
  other_dtypes.push_back(dtype);
  return kFirstOtherDtype + static_cast<int>(other_dtypes.size()) - 1;
}

PyObject* normalise_descr(PyArray_Descr* descr, int* id) {  // steals descr
  int number = dtype_id_of_type_number(descr->type_num);
  if (number >= 0) {
    if (number != descr->type_num || !PyArray_ISNBO(descr->byteorder) ||
        PyDataType_METADATA(descr)) {
      Py_DECREF(descr);
      descr = PyArray_DescrFromType(number);
      if (!descr) return nullptr;
    }
    *id = number;
    return reinterpret_cast<PyObject*>(descr);
  }
  *id = other_dtype_id(reinterpret_cast<PyObject*>(descr));
  if (*id < 0) Py_CLEAR(descr);
  return reinterpret_cast<PyObject*>(descr);
}

void grow_table() {
  std::vector<Aval*> bigger(table.size() * 2, nullptr);
  for (Aval* aval : table) {
    while (aval) {
      Aval* next = aval->hash_next;
      Aval*& head = bigger[aval->hash & (bigger.size() - 1)];
      aval->hash_next = head;
      head = aval;
      aval = next;
    }
  }
  table.swap(bigger);
}

bool itemsize_of(PyObject* dtype, Py_ssize_t* itemsize) {
  if (PyArray_DescrCheck(dtype)) {
    *itemsize = PyDataType_ELSIZE(reinterpret_cast<PyArray_Descr*>(dtype));
    return true;
  }
  PyObject* value = PyObject_GetAttrString(dtype, "itemsize");
  if (!value) return false;
  *itemsize = PyNumber_AsSsize_t(value, PyExc_OverflowError);
  Py_DECREF(value);
  return !(*itemsize == -1 && PyErr_Occurred());
}

PyObject* make_shape_tuple(int ndim, const Py_ssize_t* dims) {
  PyObject* shape = PyTuple_New(ndim);
  if (!shape) return nullptr;
  for (int i = 0; i < ndim; i++) {
    PyObject* extent = PyLong_FromSsize_t(dims[i]);
    if (!extent) {
      Py_DECREF(shape);
      return nullptr;
    }
    PyTuple_SET_ITEM(shape, i, extent);
  }
  return shape;
}

// Size and strides, row-major. False (with an error) if the size does not fit.
bool fill_layout(Aval* aval) {
  Py_ssize_t size = 1;
  for (int i = 0; i < aval->ndim; i++) {
    if (__builtin_mul_overflow(size, aval->dims[i], &size)) size = -1;
    if (size < 0) break;
  }
  Py_ssize_t nbytes;
  if (size < 0 || __builtin_mul_overflow(size, aval->itemsize, &nbytes)) {
    PyErr_SetString(PyExc_OverflowError, "the array's size does not fit in 63 bits");
    return false;
  }
  aval->size = size;
  aval->nbytes = nbytes;
  Py_ssize_t stride = aval->itemsize;
  for (int i = aval->ndim - 1; i >= 0; i--) {
    aval->dims[aval->ndim + i] = stride;
    stride *= aval->dims[i] > 0 ? aval->dims[i] : 1;
  }
  return true;
}

}  // namespace

PyObject* dtype_normalise(PyObject* object, int* id) {
  if (!PyArray_DescrCheck(object) && !PyType_Check(object) && !PyUnicode_Check(object)) {
    PyObject* flag = PyObject_GetAttr(object, is_extended_name);
    if (!flag) {
      if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return nullptr;
      PyErr_Clear();
    }
    bool extended = flag == Py_True;
    Py_XDECREF(flag);
    if (extended) {
      *id = other_dtype_id(object);
      if (*id < 0) return nullptr;
      // One object for equal dtypes, so that identity of avals keeps meaning equality.
      PyObject* kept = other_dtypes[*id - kFirstOtherDtype];
      Py_INCREF(kept);
      return kept;
    }
  }
  PyArray_Descr* descr = nullptr;
  if (PyArray_DescrCheck(object)) {
    Py_INCREF(object);
    descr = reinterpret_cast<PyArray_Descr*>(object);
  } else if (!PyArray_DescrConverter(object, &descr)) {
    return nullptr;
  }
  return normalise_descr(descr, id);
}

Aval* aval_get(PyObject* dtype, int dtype_id, int ndim, const Py_ssize_t* dims, bool weak_type) {
  uint64_t hash = aval_hash(dtype_id, ndim, dims, weak_type);
  for (Aval* aval = table[hash & (table.size() - 1)]; aval; aval = aval->hash_next) {
    if (aval->hash == hash && aval->dtype_id == dtype_id && aval->weak_type == weak_type &&
        aval->ndim == ndim && std::equal(dims, dims + ndim, aval->dims)) {
      Py_INCREF(aval);
      return aval;
    }
  }
  Py_ssize_t itemsize;
  if (!itemsize_of(dtype, &itemsize)) return nullptr;
  PyObject* shape = make_shape_tuple(ndim, dims);
  if (!shape) return nullptr;
  Aval* aval = reinterpret_cast<Aval*>(aval_type->tp_alloc(aval_type, ndim));
  if (!aval) {
    Py_DECREF(shape);
    return nullptr;
  }
  Py_INCREF(dtype);
  aval->dtype = dtype;
  aval->shape = shape;
  aval->itemsize = itemsize;
  aval->dtype_id = dtype_id;
  aval->ndim = ndim;
  aval->weak_type = weak_type;
  aval->extended = !PyArray_DescrCheck(dtype);
  std::copy(dims, dims + ndim, aval->dims);
  aval->hash = hash;
  aval->size = -1;
  if (!fill_layout(aval)) {
    Py_DECREF(aval);
    return nullptr;
  }
  if (++table_entries > table.size()) grow_table();
  Aval*& head = table[hash & (table.size() - 1)];
  aval->hash_next = head;
  head = aval;
  return aval;
}

Aval* aval_of_numpy(PyArrayObject* array) {
  PyArray_Descr* descr = PyArray_DESCR(array);
  int id = dtype_id_of_type_number(descr->type_num);
  PyObject* dtype;
  if (id >= 0) {
    id = canonical_dtype_id[id];
    dtype = reinterpret_cast<PyObject*>(PyArray_DescrFromType(id));
  } else {
    Py_INCREF(descr);
    dtype = normalise_descr(descr, &id);
  }
  if (!dtype) return nullptr;
  Aval* aval = aval_get(dtype, id, PyArray_NDIM(array), PyArray_DIMS(array), false);
  Py_DECREF(dtype);
  return aval;
}

PyObject* aval_short_string(const Aval* aval) {
  PyObject* name = PyObject_GetAttrString(aval->dtype, "name");
  if (!name) return nullptr;
  std::string dims;
  for (int i = 0; i < aval->ndim; i++) {
    if (i) dims += ',';
    dims += std::to_string(aval->dims[i]);
  }
  PyObject* text = PyUnicode_FromFormat("%S[%s]", name, dims.c_str());
  Py_DECREF(name);
  return text;
}

void aval_forget(Aval* aval) {
  Aval** link = &table[aval->hash & (table.size() - 1)];
  while (*link && *link != aval) link = &(*link)->hash_next;
  if (!*link) return;
  *link = aval->hash_next;
  table_entries--;
}

int aval_table_init() {
  for (int i = 0; i < kTypeNumbers; i++) canonical_dtype_id[i] = static_cast<int16_t>(i);
  is_extended_name = PyUnicode_InternFromString("_is_extended_dtype");
  return is_extended_name ? 0 : -1;
}

}  // namespace jitney
