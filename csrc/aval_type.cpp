// The Python type ShapedArray, and the settings that say which types scalars and dtypes have.
#include <cstring>

#include "aval.h"

namespace jitney {

PyTypeObject* aval_type = nullptr;
ScalarAvals scalar_avals = {};

namespace {

constexpr int kMaxDims = 64;

// Reads the extents; returns their number, or -1 with an error. 3 means (3,).
int read_shape(PyObject* object, Py_ssize_t* dims) {
  if (PyLong_CheckExact(object)) {
    dims[0] = PyLong_AsSsize_t(object);
    if (dims[0] < 0 && !PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "negative extent");
    return PyErr_Occurred() ? -1 : 1;
  }
  PyObject* sequence = PySequence_Fast(object, "the shape must be a sequence of integers");
  if (!sequence) return -1;
  Py_ssize_t n = PySequence_Fast_GET_SIZE(sequence);
  if (n > kMaxDims) PyErr_Format(PyExc_ValueError, "an array has at most %d dimensions", kMaxDims);
  for (Py_ssize_t i = 0; i < n && !PyErr_Occurred(); i++) {
    dims[i] = PyNumber_AsSsize_t(PySequence_Fast_GET_ITEM(sequence, i), PyExc_OverflowError);
    if (dims[i] >= 0) continue;
    if (!PyErr_Occurred()) {
      PyErr_Format(PyExc_ValueError, "a shape's extents must not be negative, got %R", object);
    } else if (PyErr_ExceptionMatches(PyExc_TypeError)) {
      PyErr_Clear();
      PyErr_Format(PyExc_TypeError,
                   "Shapes must be 1D sequences of concrete values of integer type, got %R.",
                   object);
    }
  }
  Py_DECREF(sequence);
  return PyErr_Occurred() ? -1 : static_cast<int>(n);
}

PyObject* make_aval(PyObject* shape, PyObject* dtype, PyObject* weak_type) {
  Py_ssize_t dims[kMaxDims];
  int ndim = read_shape(shape, dims);
  int weak = ndim >= 0 && weak_type ? PyObject_IsTrue(weak_type) : 0;
  if (ndim < 0 || weak < 0) return nullptr;
  int id;
  PyObject* normal = dtype_normalise(dtype, &id);
  if (!normal) return nullptr;
  Aval* aval = aval_get(normal, id, ndim, dims, weak != 0);
  Py_DECREF(normal);
  return reinterpret_cast<PyObject*>(aval);
}

PyObject* aval_vectorcall(PyObject*, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  static const char* const kNames[] = {"shape", "dtype", "weak_type"};
  Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
  PyObject* values[3] = {nullptr, nullptr, nullptr};
  if (nargs > 3) {
    PyErr_Format(PyExc_TypeError, "ShapedArray() takes at most 3 arguments, got %zd", nargs);
    return nullptr;
  }
  for (Py_ssize_t i = 0; i < nargs; i++) values[i] = args[i];
  Py_ssize_t nkw = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
  for (Py_ssize_t k = 0; k < nkw; k++) {
    PyObject* name = PyTuple_GET_ITEM(kwnames, k);
    int found = -1;
    for (int i = 0; i < 3; i++) {
      if (PyUnicode_CompareWithASCIIString(name, kNames[i]) == 0) found = i;
    }
    if (found < 0 || values[found]) {
      PyErr_Format(PyExc_TypeError, "ShapedArray() got an unexpected or repeated argument %R",
                   name);
      return nullptr;
    }
    values[found] = args[nargs + k];
  }
  if (!values[0] || !values[1]) {
    PyErr_SetString(PyExc_TypeError, "ShapedArray() needs a shape and a dtype");
    return nullptr;
  }
  return make_aval(values[0], values[1], values[2]);
}

PyObject* aval_new(PyTypeObject*, PyObject* args, PyObject* kwargs) {
  static const char* kNames[] = {"shape", "dtype", "weak_type", nullptr};
  PyObject *shape, *dtype, *weak_type = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|O:ShapedArray", const_cast<char**>(kNames),
                                   &shape, &dtype, &weak_type)) {
    return nullptr;
  }
  return make_aval(shape, dtype, weak_type);
}

void aval_dealloc(PyObject* self) {
  Aval* aval = reinterpret_cast<Aval*>(self);
  if (aval->weakrefs) PyObject_ClearWeakRefs(self);
  aval_forget(aval);
  Py_XDECREF(aval->dtype);
  Py_XDECREF(aval->shape);
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* aval_repr(PyObject* self) {
  const Aval* aval = reinterpret_cast<Aval*>(self);
  PyObject* text = aval_short_string(aval);
  if (!text) return nullptr;
  PyObject* full = PyUnicode_FromFormat(
      aval->weak_type ? "ShapedArray(%U, weak_type=True)" : "ShapedArray(%U)", text);
  Py_DECREF(text);
  return full;
}

PyObject* aval_reduce(PyObject* self, PyObject*) {
  const Aval* aval = reinterpret_cast<Aval*>(self);
  return Py_BuildValue("O(OOO)", aval_type, aval->shape, aval->dtype,
                       aval->weak_type ? Py_True : Py_False);
}

PyObject* return_self(PyObject* self, PyObject*) {
  Py_INCREF(self);
  return self;
}

PyMethodDef kMethods[] = {
    {"__reduce__", aval_reduce, METH_NOARGS, nullptr},
    {"__copy__", return_self, METH_NOARGS, nullptr},
    {"__deepcopy__", return_self, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyMemberDef kMembers[] = {
    {"shape", T_OBJECT_EX, offsetof(Aval, shape), READONLY, "Tuple of extents."},
    {"dtype", T_OBJECT_EX, offsetof(Aval, dtype), READONLY, "NumPy or extended dtype."},
    {"weak_type", T_BOOL, offsetof(Aval, weak_type), READONLY, "Whether the dtype gives way."},
    {"ndim", T_INT, offsetof(Aval, ndim), READONLY, "Number of dimensions."},
    {"size", T_PYSSIZET, offsetof(Aval, size), READONLY, "Number of elements."},
    {"itemsize", T_PYSSIZET, offsetof(Aval, itemsize), READONLY, "Bytes an element."},
    {"nbytes", T_PYSSIZET, offsetof(Aval, nbytes), READONLY, "Bytes in all."},
    {"dtype_id", T_INT, offsetof(Aval, dtype_id), READONLY, "Small integer naming the dtype."},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Aval, weakrefs), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot kSlots[] = {
    {Py_tp_doc, const_cast<char*>("ShapedArray(shape, dtype, weak_type=False)\n--\n\n"
                                  "The type of an array; equal types are the same object.")},
    {Py_tp_new, reinterpret_cast<void*>(aval_new)},
    {Py_tp_dealloc, reinterpret_cast<void*>(aval_dealloc)},
    {Py_tp_repr, reinterpret_cast<void*>(aval_repr)},
    {Py_tp_methods, kMethods},
    {Py_tp_members, kMembers},
    {0, nullptr},
};

PyType_Spec kSpec = {"jitney._native.ShapedArray", offsetof(Aval, dims), 2 * sizeof(Py_ssize_t),
                     Py_TPFLAGS_DEFAULT, kSlots};

PyObject* set_scalar_avals(PyObject*, PyObject* args) {
  PyObject* avals[4];
  if (!PyArg_ParseTuple(args, "O!O!O!O!:set_scalar_avals", aval_type, &avals[0], aval_type,
                        &avals[1], aval_type, &avals[2], aval_type, &avals[3])) {
    return nullptr;
  }
  Aval** targets[4] = {&scalar_avals.boolean, &scalar_avals.integer, &scalar_avals.floating,
                       &scalar_avals.complex};
  for (int i = 0; i < 4; i++) {
    Aval* aval = reinterpret_cast<Aval*>(avals[i]);
    int id = aval->dtype_id;
    bool fits = aval->ndim == 0 && (i == 0   ? id == NPY_BOOL
                                    : i == 1 ? id == NPY_INT || id == NPY_LONG
                                    : i == 2 ? id == NPY_FLOAT || id == NPY_DOUBLE
                                             : id == NPY_CFLOAT || id == NPY_CDOUBLE);
    if (!fits) {
      PyErr_Format(PyExc_TypeError, "%R cannot be the type of that kind of Python scalar", aval);
      return nullptr;
    }
  }
  for (int i = 0; i < 4; i++) {
    Py_INCREF(avals[i]);
    Py_XDECREF(*targets[i]);
    *targets[i] = reinterpret_cast<Aval*>(avals[i]);
  }
  Py_RETURN_NONE;
}

PyObject* set_canonical_dtypes(PyObject*, PyObject* mapping) {
  if (!PyDict_Check(mapping)) {
    PyErr_SetString(PyExc_TypeError, "set_canonical_dtypes() needs a dict of dtypes");
    return nullptr;
  }
  int16_t updated[kTypeNumbers];
  for (int i = 0; i < kTypeNumbers; i++) updated[i] = static_cast<int16_t>(i);
  Py_ssize_t position = 0;
  PyObject *key, *value;
  while (PyDict_Next(mapping, &position, &key, &value)) {
    int from, to;
    PyObject* a = dtype_normalise(key, &from);
    PyObject* b = a ? dtype_normalise(value, &to) : nullptr;
    Py_XDECREF(a);
    Py_XDECREF(b);
    if (!b) return nullptr;
    if (from < kTypeNumbers && to < kTypeNumbers) updated[from] = static_cast<int16_t>(to);
  }
  std::memcpy(canonical_dtype_id, updated, sizeof(updated));
  Py_RETURN_NONE;
}

PyMethodDef kFunctions[] = {
    {"set_scalar_avals", set_scalar_avals, METH_VARARGS,
     "set_scalar_avals(bool, int, float, complex): the types Python scalars have."},
    {"set_canonical_dtypes", set_canonical_dtypes, METH_O,
     "set_canonical_dtypes(dict): the dtype a NumPy array of each dtype is taken as."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

int register_aval(PyObject* module) {
  if (aval_table_init() < 0) return -1;
  PyObject* type = PyType_FromSpec(&kSpec);
  if (!type) return -1;
  aval_type = reinterpret_cast<PyTypeObject*>(type);
  aval_type->tp_vectorcall = aval_vectorcall;
  if (PyModule_AddFunctions(module, kFunctions) < 0) return -1;
  return PyModule_AddObjectRef(module, "ShapedArray", type);
}

}  // namespace jitney
