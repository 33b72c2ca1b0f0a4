// Array: an immutable array value. An interned type and a reference to a buffer, row-major.
//
// `buffer` is nullptr once the array has been deleted or donated; its type stays readable.
// `sharding` is a Python object that says which devices hold which parts; all parts lie in this one
// buffer, since the devices share their memory.
// NumPy views, memoryviews and DLPack capsules hold the buffer, not the Array.
#pragma once

#include "allocator.h"
#include "aval.h"

namespace jitney {

struct ArrayLinks {
  ArrayLinks* previous;
  ArrayLinks* next;
};

struct Array {
  PyObject_HEAD Aval* aval;
  Buffer* buffer;
  PyObject* weakrefs;
  PyObject* sharding;  // nullptr: on the default device. Calls from entries take only such arrays
  ArrayLinks links;  // the ring of all arrays there are, so that they can be listed
};

extern PyTypeObject* array_type;

inline bool array_check(PyObject* object) { return Py_TYPE(object) == array_type; }

// A new Array; steals the buffer reference (also on failure), borrows the aval.
PyObject* array_new(Aval* aval, Buffer* buffer);

// A new Array with fresh memory of arbitrary contents; nullptr with an error.
PyObject* array_new_empty(Aval* aval);

// A read-only NumPy view that keeps the buffer; nullptr with an error.
PyObject* array_as_numpy(Array* array);

// A new object that holds one reference to `buffer` (added here) and to `aval`, if given.
PyObject* buffer_reference(Buffer* buffer, Aval* aval);

// Drops the buffer. Safe to repeat.
void array_delete(Array* array);

// Sets RuntimeError "Array has been deleted with shape=..." and returns nullptr.
PyObject* array_deleted_error(const Array* array);

// item(), __bool__ and friends; see array_scalar.cpp.
PyObject* array_item(Array* array);
PyObject* array_method_item(PyObject* self, PyObject* const* args, Py_ssize_t nargs);
PyObject* array_method_tolist(PyObject* self, PyObject*);
PyObject* array_method_complex(PyObject* self, PyObject*);
int array_bool(PyObject* self);
PyObject* array_int(PyObject* self);
PyObject* array_float(PyObject* self);
PyObject* array_index(PyObject* self);

// Operator slots that call registered Python callables; see array_operators.cpp.
extern PyType_Slot array_operator_slots[];
extern const int array_operator_slot_count;
int register_array_operators(PyObject* module);

// Protocols: buffer, __array__, DLPack, pickling; see array_protocols.cpp.
int array_get_buffer(PyObject* self, Py_buffer* view, int flags);
PyObject* array_method_array(PyObject* self, PyObject* args, PyObject* kwargs);
PyObject* array_method_dlpack(PyObject* self, PyObject* args, PyObject* kwargs);
PyObject* array_method_dlpack_device(PyObject* self, PyObject*);
PyObject* array_method_reduce(PyObject* self, PyObject*);
int register_array_protocols(PyObject* module);

int register_array(PyObject* module);

}  // namespace jitney
