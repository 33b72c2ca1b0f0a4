// How other libraries see an Array: buffer protocol, __array__, DLPack, pickle. All read-only, and
// all hold the buffer rather than the Array, so that deleting the Array never pulls memory away.
#include <cstring>

#include "array.h"

namespace jitney {

namespace {

Array* as_array(PyObject* self) { return reinterpret_cast<Array*>(self); }
PyObject* from_bytes_function = nullptr;

const char* struct_format(int dtype_id) {
  switch (dtype_id) {
    case NPY_BOOL: return "?";
    case NPY_BYTE: return "b";
    case NPY_UBYTE: return "B";
    case NPY_SHORT: return "h";
    case NPY_USHORT: return "H";
    case NPY_INT: return "i";
    case NPY_UINT: return "I";
    case NPY_LONG: return "l";
    case NPY_ULONG: return "L";
    case NPY_HALF: return "e";
    case NPY_FLOAT: return "f";
    case NPY_DOUBLE: return "d";
    case NPY_CFLOAT: return "Zf";
    case NPY_CDOUBLE: return "Zd";
    default: return nullptr;
  }
}

// ---- DLPack (version 1.0 structures) --------------------------------------

struct DLDevice {
  int32_t device_type;
  int32_t device_id;
};
struct DLDataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor tensor;
  void* context;
  void (*deleter)(DLManagedTensor*);
};
struct DLManagedTensorVersioned {
  uint32_t major, minor;
  void* context;
  void (*deleter)(DLManagedTensorVersioned*);
  uint64_t flags;
  DLTensor tensor;
};
constexpr uint64_t kReadOnly = 1;

template <typename Managed>
struct Export {  // what a capsule owns
  Managed managed;
  Buffer* buffer;
  Py_ssize_t* layout;
};

template <typename Managed>
void release_export(Managed* managed) {
  auto* owned = static_cast<Export<Managed>*>(managed->context);
  PyGILState_STATE state = PyGILState_Ensure();
  buffer_decref(owned->buffer);
  PyMem_Free(owned->layout);
  PyMem_Free(owned);
  PyGILState_Release(state);
}

bool dlpack_dtype(const Aval* aval, DLDataType* out) {
  uint8_t code;
  switch (aval->dtype_id) {
    case NPY_BOOL: code = 6; break;
    case NPY_BYTE:
    case NPY_SHORT:
    case NPY_INT:
    case NPY_LONG: code = 0; break;
    case NPY_UBYTE:
    case NPY_USHORT:
    case NPY_UINT:
    case NPY_ULONG: code = 1; break;
    case NPY_HALF:
    case NPY_FLOAT:
    case NPY_DOUBLE: code = 2; break;
    case NPY_CFLOAT:
    case NPY_CDOUBLE: code = 5; break;
    default: {
      PyObject* name = PyObject_GetAttrString(aval->dtype, "name");
      bool bfloat =
          name && PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, "bfloat16") == 0;
      Py_XDECREF(name);
      if (!bfloat) {
        PyErr_Format(PyExc_BufferError, "DLPack has no type for dtype %S", aval->dtype);
        return false;
      }
      code = 4;
    }
  }
  *out = {code, static_cast<uint8_t>(8 * aval->itemsize), 1};
  return true;
}

template <typename Managed>
void release_capsule(PyObject* capsule) {
  const char* name = PyCapsule_GetName(capsule);
  if (!name || std::strncmp(name, "used_", 5) == 0) return;  // the consumer owns it now
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  if (managed) managed->deleter(managed);
}

template <typename Managed>
PyObject* make_capsule(Array* array, const char* name) {
  const Aval* aval = array->aval;
  DLDataType dtype;
  if (!dlpack_dtype(aval, &dtype)) return nullptr;
  auto* owned = static_cast<Export<Managed>*>(PyMem_Calloc(1, sizeof(Export<Managed>)));
  auto* layout = static_cast<Py_ssize_t*>(PyMem_Calloc(2 * aval->ndim + 1, sizeof(Py_ssize_t)));
  if (!owned || !layout) {
    PyMem_Free(owned);
    PyMem_Free(layout);
    return PyErr_NoMemory();
  }
  for (int i = 0; i < aval->ndim; i++) {
    layout[i] = aval->dims[i];
    layout[aval->ndim + i] = aval->itemsize ? aval->strides()[i] / aval->itemsize : 0;
  }
  owned->layout = layout;
  owned->buffer = array->buffer;
  buffer_incref(array->buffer);
  Managed& managed = owned->managed;
  managed.context = owned;
  managed.deleter = release_export<Managed>;
  managed.tensor = {array->buffer->data, {1, 0}, aval->ndim, dtype, layout, layout + aval->ndim, 0};
  PyObject* capsule = PyCapsule_New(&managed, name, release_capsule<Managed>);
  if (!capsule) managed.deleter(&managed);
  return capsule;
}

}  // namespace

int array_get_buffer(PyObject* self, Py_buffer* view, int flags) {
  Array* array = as_array(self);
  view->obj = nullptr;
  if (!array->buffer) {
    array_deleted_error(array);
    return -1;
  }
  if (flags & PyBUF_WRITABLE) {
    PyErr_SetString(PyExc_BufferError, "Array is read-only");
    return -1;
  }
  Aval* aval = array->aval;
  const char* format = struct_format(aval->dtype_id);
  if (!format) {
    PyErr_Format(PyExc_BufferError, "the buffer protocol has no format for dtype %S", aval->dtype);
    return -1;
  }
  PyObject* holder = buffer_reference(array->buffer, aval);
  if (!holder) return -1;
  view->internal = nullptr;
  view->obj = holder;
  view->buf = array->buffer->data;
  view->len = aval->nbytes;
  view->itemsize = aval->itemsize;
  view->readonly = 1;
  view->ndim = aval->ndim;
  view->format = flags & PyBUF_FORMAT ? const_cast<char*>(format) : nullptr;
  view->shape = flags & PyBUF_ND ? const_cast<Py_ssize_t*>(aval->dims) : nullptr;
  view->strides =
      (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? const_cast<Py_ssize_t*>(aval->strides()) : nullptr;
  view->suboffsets = nullptr;
  return 0;
}

PyObject* array_method_array(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* kNames[] = {"dtype", "copy", nullptr};
  PyObject *dtype = Py_None, *copy = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO:__array__", const_cast<char**>(kNames),
                                   &dtype, &copy)) {
    return nullptr;
  }
  int wants_copy = copy == Py_None ? -1 : PyObject_IsTrue(copy);
  if (wants_copy == -1 && PyErr_Occurred()) return nullptr;
  PyObject* view = array_as_numpy(as_array(self));
  if (!view) return nullptr;
  PyArrayObject* source = reinterpret_cast<PyArrayObject*>(view);
  PyArray_Descr* target = nullptr;
  if (dtype != Py_None && !PyArray_DescrConverter(dtype, &target)) {
    Py_DECREF(view);
    return nullptr;
  }
  bool cast = target && !PyArray_EquivTypes(target, PyArray_DESCR(source));
  if (!cast && wants_copy != 1) {
    Py_XDECREF(target);
    return view;
  }
  PyObject* result = nullptr;
  if (cast && wants_copy == 0) {
    PyErr_Format(PyExc_ValueError,
                 "Unable to avoid copy while creating an array of dtype %S from %R", target,
                 as_array(self)->aval);
    Py_DECREF(target);
  } else if (cast) {
    result = PyArray_CastToType(source, target, 0);  // steals target
  } else {
    Py_XDECREF(target);
    result = PyArray_NewCopy(source, NPY_CORDER);
  }
  Py_DECREF(view);
  return result;
}

PyObject* array_method_dlpack(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* kNames[] = {"stream", "max_version", "dl_device", "copy", nullptr};
  PyObject *stream = Py_None, *max_version = Py_None, *device = Py_None, *copy = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOO:__dlpack__", const_cast<char**>(kNames),
                                   &stream, &max_version, &device, &copy)) {
    return nullptr;
  }
  Array* array = as_array(self);
  if (!array->buffer) return array_deleted_error(array);
  if (stream != Py_None) {
    PyErr_Format(PyExc_ValueError, "CPUs have no streams: __dlpack__ takes stream=None, not %R",
                 stream);
    return nullptr;
  }
  if (device != Py_None) {
    int type, id;
    if (!PyTuple_Check(device) || !PyArg_ParseTuple(device, "ii:dl_device", &type, &id))
      return nullptr;
    if (type != 1) {
      PyErr_SetString(PyExc_BufferError, "only the CPU device is available");
      return nullptr;
    }
  }
  PyObject* holder = nullptr;  // a private copy, if one is asked for
  if (copy == Py_True) {
    holder = array_new_empty(array->aval);
    if (!holder) return nullptr;
    std::memcpy(as_array(holder)->buffer->data, array->buffer->data, array->aval->nbytes);
    array = as_array(holder);
  }
  PyObject* capsule;
  bool versioned = PyTuple_Check(max_version) && PyTuple_GET_SIZE(max_version) == 2 &&
                   PyLong_AsLong(PyTuple_GET_ITEM(max_version, 0)) >= 1;
  if (PyErr_Occurred()) PyErr_Clear();
  if (versioned) {
    capsule = make_capsule<DLManagedTensorVersioned>(array, "dltensor_versioned");
    if (capsule) {
      auto* managed = static_cast<DLManagedTensorVersioned*>(
          PyCapsule_GetPointer(capsule, "dltensor_versioned"));
      managed->major = 1;
      managed->minor = 0;
      managed->flags = holder ? 2 : kReadOnly;  // 2: the consumer got a copy
    }
  } else {
    capsule = make_capsule<DLManagedTensor>(array, "dltensor");
  }
  Py_XDECREF(holder);
  return capsule;
}

PyObject* array_method_dlpack_device(PyObject*, PyObject*) { return Py_BuildValue("(ii)", 1, 0); }

PyObject* array_method_reduce(PyObject* self, PyObject*) {
  Array* array = as_array(self);
  if (!array->buffer) return array_deleted_error(array);
  return Py_BuildValue("O(Oy#)", from_bytes_function, array->aval,
                       static_cast<const char*>(array->buffer->data), array->aval->nbytes);
}

int register_array_protocols(PyObject* module) {
  from_bytes_function = PyObject_GetAttrString(module, "_array_from_bytes");
  return from_bytes_function ? 0 : -1;
}

}  // namespace jitney
