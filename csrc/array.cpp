// The Array type: life, attributes, views; and the module functions that make arrays.
#include "array.h"

#include <cstring>
#include <vector>

#include "array_convert.h"

namespace jitney {

PyTypeObject* array_type = nullptr;

namespace {

constexpr int kMaxFreeArrays = 256;
Array* free_arrays[kMaxFreeArrays];
int free_array_count = 0;

// The ring of all arrays, newest first. Changed with the GIL held, like every object's life.
ArrayLinks all_arrays = {&all_arrays, &all_arrays};

void link_array(Array* array) {
  array->links = {&all_arrays, all_arrays.next};
  all_arrays.next->previous = &array->links;
  all_arrays.next = &array->links;
}

void unlink_array(Array* array) {
  array->links.previous->next = array->links.next;
  array->links.next->previous = array->links.previous;
}

struct BufferReference {
  PyObject_HEAD Buffer* buffer;
  Aval* aval;  // whose extents a Py_buffer points to; may be nullptr
};
PyTypeObject* buffer_reference_type = nullptr;

void buffer_reference_dealloc(PyObject* self) {
  BufferReference* reference = reinterpret_cast<BufferReference*>(self);
  buffer_decref(reference->buffer);
  Py_XDECREF(reference->aval);
  PyTypeObject* type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(type);
}

void array_dealloc(PyObject* self) {
  Array* array = reinterpret_cast<Array*>(self);
  unlink_array(array);  // first: the callbacks of weak references may list arrays
  if (JITNEY_UNLIKELY(array->weakrefs != nullptr)) PyObject_ClearWeakRefs(self);
  if (array->buffer) buffer_decref(array->buffer);
  if (JITNEY_UNLIKELY(array->sharding != nullptr)) Py_DECREF(array->sharding);
  Aval* aval = array->aval;
  if (JITNEY_LIKELY(free_array_count < kMaxFreeArrays)) {
    free_arrays[free_array_count++] = array;
  } else {
    PyObject_Free(self);
  }
  Py_DECREF(aval);
  Py_DECREF(array_type);
}

}  // namespace

PyObject* array_new(Aval* aval, Buffer* buffer) {
  Array* array;
  if (JITNEY_LIKELY(free_array_count > 0)) {
    array = free_arrays[--free_array_count];
  } else {
    array = static_cast<Array*>(PyObject_Malloc(sizeof(Array)));
    if (!array) {
      buffer_decref(buffer);
      return PyErr_NoMemory();
    }
  }
  PyObject_Init(reinterpret_cast<PyObject*>(array), array_type);
  Py_INCREF(aval);
  array->aval = aval;
  array->buffer = buffer;
  array->weakrefs = nullptr;
  array->sharding = nullptr;
  link_array(array);
  return reinterpret_cast<PyObject*>(array);
}

PyObject* array_new_empty(Aval* aval) {
  Buffer* buffer = buffer_new(static_cast<size_t>(aval->nbytes));
  if (!buffer) return PyErr_NoMemory();
  return array_new(aval, buffer);
}

PyObject* buffer_reference(Buffer* buffer, Aval* aval) {
  BufferReference* reference = PyObject_New(BufferReference, buffer_reference_type);
  if (!reference) return nullptr;
  buffer_incref(buffer);
  reference->buffer = buffer;
  Py_XINCREF(aval);
  reference->aval = aval;
  return reinterpret_cast<PyObject*>(reference);
}

PyObject* array_as_numpy(Array* array) {
  if (!array->buffer) return array_deleted_error(array);
  Aval* aval = array->aval;
  if (aval->extended) {
    PyErr_Format(PyExc_TypeError, "an array of dtype %S cannot be viewed as a NumPy array",
                 aval->dtype);
    return nullptr;
  }
  Py_INCREF(aval->dtype);
  PyObject* view = PyArray_NewFromDescr(
      &PyArray_Type, reinterpret_cast<PyArray_Descr*>(aval->dtype), aval->ndim, aval->dims,
      const_cast<Py_ssize_t*>(aval->strides()), array->buffer->data, NPY_ARRAY_ALIGNED, nullptr);
  if (!view) return nullptr;
  PyObject* base = buffer_reference(array->buffer, nullptr);
  if (!base || PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(view), base) < 0) {
    Py_DECREF(view);
    return nullptr;
  }
  return view;
}

void array_delete(Array* array) {
  Buffer* buffer = array->buffer;
  array->buffer = nullptr;
  if (buffer) buffer_decref(buffer);
}

PyObject* array_deleted_error(const Array* array) {
  PyObject* text = aval_short_string(array->aval);
  if (!text) return nullptr;
  PyErr_Format(PyExc_RuntimeError, "Array has been deleted with shape=%U.", text);
  Py_DECREF(text);
  return nullptr;
}

namespace {

Array* as_array(PyObject* self) { return reinterpret_cast<Array*>(self); }

PyObject* get_aval(PyObject* self, void*) {
  PyObject* aval = reinterpret_cast<PyObject*>(as_array(self)->aval);
  Py_INCREF(aval);
  return aval;
}
PyObject* get_shape(PyObject* self, void*) {
  PyObject* shape = as_array(self)->aval->shape;
  Py_INCREF(shape);
  return shape;
}
PyObject* get_dtype(PyObject* self, void*) {
  PyObject* dtype = as_array(self)->aval->dtype;
  Py_INCREF(dtype);
  return dtype;
}
PyObject* get_weak_type(PyObject* self, void*) {
  return PyBool_FromLong(as_array(self)->aval->weak_type);
}
PyObject* get_ndim(PyObject* self, void*) { return PyLong_FromLong(as_array(self)->aval->ndim); }
PyObject* get_size(PyObject* self, void*) { return PyLong_FromSsize_t(as_array(self)->aval->size); }
PyObject* get_nbytes(PyObject* self, void*) {
  return PyLong_FromSsize_t(as_array(self)->aval->nbytes);
}
PyObject* get_itemsize(PyObject* self, void*) {
  return PyLong_FromSsize_t(as_array(self)->aval->itemsize);
}

PyObject* get_sharding(PyObject* self, void*) {
  PyObject* sharding = as_array(self)->sharding ? as_array(self)->sharding : Py_None;
  Py_INCREF(sharding);
  return sharding;
}

PyGetSetDef kGetSet[] = {
    {"aval", get_aval, nullptr, "The array's type.", nullptr},
    {"shape", get_shape, nullptr, "Tuple of extents.", nullptr},
    {"dtype", get_dtype, nullptr, "Data type of the elements.", nullptr},
    {"weak_type", get_weak_type, nullptr, "Whether the dtype gives way in promotion.", nullptr},
    {"ndim", get_ndim, nullptr, "Number of dimensions.", nullptr},
    {"size", get_size, nullptr, "Number of elements.", nullptr},
    {"nbytes", get_nbytes, nullptr, "Bytes of all elements.", nullptr},
    {"itemsize", get_itemsize, nullptr, "Bytes of one element.", nullptr},
    {"_sharding", get_sharding, nullptr, "Where the array was placed, or None.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyMemberDef kMembers[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Array, weakrefs), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyObject* method_is_deleted(PyObject* self, PyObject*) {
  return PyBool_FromLong(as_array(self)->buffer == nullptr);
}

PyObject* method_delete(PyObject* self, PyObject*) {
  array_delete(as_array(self));
  Py_RETURN_NONE;
}

PyObject* method_block_until_ready(PyObject* self, PyObject*) {
  if (!as_array(self)->buffer) return array_deleted_error(as_array(self));
  Py_INCREF(self);
  return self;
}

PyObject* method_unsafe_buffer_pointer(PyObject* self, PyObject*) {
  if (!as_array(self)->buffer) return array_deleted_error(as_array(self));
  return PyLong_FromVoidPtr(as_array(self)->buffer->data);
}

// Another Array of the same elements; `sharding` is borrowed and may be nullptr.
PyObject* same_elements(Array* array, PyObject* sharding) {
  if (!array->buffer) return array_deleted_error(array);
  buffer_incref(array->buffer);  // immutable, and donation copies what is shared
  PyObject* result = array_new(array->aval, array->buffer);
  if (result && sharding) {
    Py_INCREF(sharding);
    as_array(result)->sharding = sharding;
  }
  return result;
}

PyObject* method_copy(PyObject* self, PyObject*) {
  return same_elements(as_array(self), as_array(self)->sharding);
}

PyMethodDef kMethods[] = {
    {"is_deleted", method_is_deleted, METH_NOARGS, "Whether the buffer was deleted or donated."},
    {"delete", method_delete, METH_NOARGS, "Give the memory back now; the array becomes unusable."},
    {"block_until_ready", method_block_until_ready, METH_NOARGS,
     "The array itself: results are complete when a call returns."},
    {"unsafe_buffer_pointer", method_unsafe_buffer_pointer, METH_NOARGS, "Address of the data."},
    {"item", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(array_method_item)),
     METH_FASTCALL, "The element at the given index, or the only one, as a Python scalar."},
    {"tolist", array_method_tolist, METH_NOARGS, "Nested lists of Python scalars."},
    {"__complex__", array_method_complex, METH_NOARGS,
     "__complex__($self, /)\n--\n\nThe only element as a Python complex."},
    {"__array__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(array_method_array)),
     METH_VARARGS | METH_KEYWORDS,
     "__array__($self, /, dtype=None, copy=None)\n--\n\nA read-only view, or a copy."},
    {"__dlpack__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(array_method_dlpack)),
     METH_VARARGS | METH_KEYWORDS,
     "__dlpack__($self, /, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\n"
     "A DLPack capsule that shares the memory."},
    {"__dlpack_device__", array_method_dlpack_device, METH_NOARGS,
     "__dlpack_device__($self, /)\n--\n\nThe pair (kDLCPU, 0)."},
    {"__reduce__", array_method_reduce, METH_NOARGS, nullptr},
    {"__copy__", method_copy, METH_NOARGS, nullptr},
    {"__deepcopy__", method_copy, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyObject* array_repr(PyObject* self) {
  Array* array = as_array(self);
  PyObject* text = aval_short_string(array->aval);
  if (!text) return nullptr;
  PyObject* result = PyUnicode_FromFormat(array->buffer ? "Array(%U)" : "Array(%U, deleted)", text);
  Py_DECREF(text);
  return result;
}

PyObject* array_tp_new(PyTypeObject*, PyObject*, PyObject*) {
  PyErr_SetString(PyExc_TypeError,
                  "Array cannot be instantiated directly; use numpy.array or numpy.asarray of this "
                  "library");
  return nullptr;
}

// ---- module functions -----------------------------------------------------

bool expect_array(PyObject* object) {
  if (array_check(object)) return true;
  PyErr_Format(PyExc_TypeError, "expected an Array, got %.100s", Py_TYPE(object)->tp_name);
  return false;
}

bool expect_aval(PyObject* object) {
  if (aval_check(object)) return true;
  PyErr_Format(PyExc_TypeError, "expected a ShapedArray, got %.100s", Py_TYPE(object)->tp_name);
  return false;
}

PyObject* function_array_from_numpy(PyObject*, PyObject* const* args, Py_ssize_t nargs,
                                    PyObject* kwnames) {
  Py_ssize_t nkw = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
  bool named_copy =
      nkw == 1 && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, 0), "copy") == 0;
  if (nargs < 2 || nargs + nkw > 3 || (nkw && !named_copy)) {
    PyErr_SetString(PyExc_TypeError, "array_from_numpy(array, aval, copy=True)");
    return nullptr;
  }
  if (!expect_aval(args[1])) return nullptr;
  int copy = nargs + nkw == 3 ? PyObject_IsTrue(args[2]) : 1;
  if (copy < 0) return nullptr;
  PyObject* source = args[0];
  if (PyArray_Check(source)) {
    Py_INCREF(source);
  } else if (PyArray_IsScalar(source, Generic)) {
    source = PyArray_FromScalar(source, nullptr);
  } else {
    PyErr_Format(PyExc_TypeError, "expected a NumPy array, got %.100s", Py_TYPE(source)->tp_name);
    return nullptr;
  }
  if (!source) return nullptr;
  PyObject* array = array_from_numpy(reinterpret_cast<PyArrayObject*>(source),
                                     reinterpret_cast<Aval*>(args[1]), copy != 0);
  Py_DECREF(source);
  return array;
}

PyObject* function_numpy_view(PyObject*, PyObject* array) {
  return expect_array(array) ? array_as_numpy(as_array(array)) : nullptr;
}

PyObject* function_empty(PyObject*, PyObject* aval) {
  return expect_aval(aval) ? array_new_empty(reinterpret_cast<Aval*>(aval)) : nullptr;
}

PyObject* function_array_view(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  if (nargs != 2) {
    PyErr_SetString(PyExc_TypeError, "array_view(array, aval)");
    return nullptr;
  }
  if (!expect_array(args[0]) || !expect_aval(args[1])) return nullptr;
  Array* array = as_array(args[0]);
  Aval* aval = reinterpret_cast<Aval*>(args[1]);
  if (!array->buffer) return array_deleted_error(array);
  if (array->aval->nbytes != aval->nbytes) {
    PyErr_Format(PyExc_ValueError, "array_view: %R has %zd bytes, %R has %zd", array->aval,
                 array->aval->nbytes, aval, aval->nbytes);
    return nullptr;
  }
  buffer_incref(array->buffer);
  return array_new(aval, array->buffer);
}

PyObject* function_array_with_sharding(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  if (nargs != 2) {
    PyErr_SetString(PyExc_TypeError, "array_with_sharding(array, sharding)");
    return nullptr;
  }
  if (!expect_array(args[0])) return nullptr;
  return same_elements(as_array(args[0]), args[1] == Py_None ? nullptr : args[1]);
}

PyObject* function_block_until_ready(PyObject*, PyObject* object) {
  if (array_check(object)) return method_block_until_ready(object, nullptr);
  Py_INCREF(object);
  return object;
}

PyObject* function_live_arrays(PyObject*, PyObject*) {
  std::vector<PyObject*> found;  // making a list may run a collection, which changes the ring
  for (ArrayLinks* at = all_arrays.next; at != &all_arrays; at = at->next) {
    Array* array =
        reinterpret_cast<Array*>(reinterpret_cast<char*>(at) - offsetof(Array, links));
    if (!array->buffer) continue;
    Py_INCREF(reinterpret_cast<PyObject*>(array));
    found.push_back(reinterpret_cast<PyObject*>(array));
  }
  PyObject* list = PyList_New(static_cast<Py_ssize_t>(found.size()));
  for (size_t i = 0; i < found.size(); ++i) {
    if (list) {
      PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), found[i]);
    } else {
      Py_DECREF(found[i]);
    }
  }
  return list;
}

PyObject* function_array_from_bytes(PyObject*, PyObject* args) {
  Aval* aval;
  Py_buffer view;
  if (!PyArg_ParseTuple(args, "O!y*:_array_from_bytes", aval_type, &aval, &view)) return nullptr;
  PyObject* array = nullptr;
  if (view.len != aval->nbytes) {
    PyErr_Format(PyExc_ValueError, "%zd bytes do not make a %R", view.len, aval);
  } else {
    array = array_new_empty(aval);
    if (array) std::memcpy(as_array(array)->buffer->data, view.buf, view.len);
  }
  PyBuffer_Release(&view);
  return array;
}

template <typename F>
PyCFunction as_c_function(F function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyMethodDef kFunctions[] = {
    {"array_from_numpy", as_c_function(function_array_from_numpy), METH_FASTCALL | METH_KEYWORDS,
     "array_from_numpy(array, aval, copy=True): an Array of that type with the array's elements."},
    {"numpy_view", function_numpy_view, METH_O, "A read-only NumPy array that shares the memory."},
    {"empty", function_empty, METH_O, "A fresh Array of arbitrary contents."},
    {"array_view", as_c_function(function_array_view), METH_FASTCALL,
     "array_view(array, aval): the same bytes under another type of equal size."},
    {"array_with_sharding", as_c_function(function_array_with_sharding), METH_FASTCALL,
     "array_with_sharding(array, sharding): the same elements, placed so (None: nowhere)."},
    {"block_until_ready", function_block_until_ready, METH_O, "Returns its argument."},
    {"live_arrays", function_live_arrays, METH_NOARGS,
     "All arrays there are, newest first, without the deleted ones."},
    {"_array_from_bytes", function_array_from_bytes, METH_VARARGS, "Used by pickle."},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot kBufferReferenceSlots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(buffer_reference_dealloc)},
    {0, nullptr},
};
PyType_Spec kBufferReferenceSpec = {"jitney._native.BufferReference", sizeof(BufferReference), 0,
                                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                    kBufferReferenceSlots};

PyObject* make_array_type() {
  std::vector<PyType_Slot> slots = {
      {Py_tp_doc, const_cast<char*>("An immutable array.")},
      {Py_tp_new, reinterpret_cast<void*>(array_tp_new)},
      {Py_tp_dealloc, reinterpret_cast<void*>(array_dealloc)},
      {Py_tp_repr, reinterpret_cast<void*>(array_repr)},
      {Py_tp_hash, reinterpret_cast<void*>(PyObject_HashNotImplemented)},
      {Py_tp_methods, kMethods},
      {Py_tp_members, kMembers},
      {Py_tp_getset, kGetSet},
      {Py_nb_bool, reinterpret_cast<void*>(array_bool)},
      {Py_nb_int, reinterpret_cast<void*>(array_int)},
      {Py_nb_float, reinterpret_cast<void*>(array_float)},
      {Py_nb_index, reinterpret_cast<void*>(array_index)},
      {Py_bf_getbuffer, reinterpret_cast<void*>(array_get_buffer)},
  };
  slots.insert(slots.end(), array_operator_slots, array_operator_slots + array_operator_slot_count);
  slots.push_back({0, nullptr});
  PyType_Spec spec = {"jitney._native.Array", sizeof(Array), 0, Py_TPFLAGS_DEFAULT, slots.data()};
  return PyType_FromSpec(&spec);
}

}  // namespace

int register_array(PyObject* module) {
  PyObject* reference_type = PyType_FromSpec(&kBufferReferenceSpec);
  if (!reference_type) return -1;
  buffer_reference_type = reinterpret_cast<PyTypeObject*>(reference_type);
  PyObject* type = make_array_type();
  if (!type) return -1;
  array_type = reinterpret_cast<PyTypeObject*>(type);
  PyObject* priority = PyLong_FromLong(100);  // NumPy gives way in mixed operations
  if (!priority || PyObject_SetAttrString(type, "__array_priority__", priority) < 0) return -1;
  Py_DECREF(priority);
  if (PyModule_AddFunctions(module, kFunctions) < 0) return -1;
  if (register_array_operators(module) < 0 || register_array_protocols(module) < 0) return -1;
  return PyModule_AddObjectRef(module, "Array", type);
}

}  // namespace jitney
