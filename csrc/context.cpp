// current_trace/swap_trace and the configuration ids, per thread.
#include "context.h"

namespace jitney {

JITNEY_THREAD_LOCAL PyObject* current_trace = nullptr;
JITNEY_THREAD_LOCAL uint64_t thread_config_id = 0;
uint64_t global_config_id = 1;

namespace {

PyObject* get_trace(PyObject*, PyObject*) {
  PyObject* trace = current_trace ? current_trace : Py_None;
  Py_INCREF(trace);
  return trace;
}

PyObject* swap_trace(PyObject*, PyObject* trace) {
  PyObject* previous = current_trace;
  if (trace == Py_None) {
    current_trace = nullptr;
  } else {
    Py_INCREF(trace);
    current_trace = trace;
  }
  if (previous) return previous;
  Py_RETURN_NONE;
}

bool read_id(PyObject* object, uint64_t* id) {
  *id = PyLong_AsUnsignedLongLong(object);
  return !(*id == static_cast<uint64_t>(-1) && PyErr_Occurred());
}

PyObject* set_config_id(PyObject*, PyObject* object) {
  uint64_t id;
  if (!read_id(object, &id)) return nullptr;
  global_config_id = id;
  Py_RETURN_NONE;
}

PyObject* swap_thread_config_id(PyObject*, PyObject* object) {
  uint64_t id;
  if (!read_id(object, &id)) return nullptr;
  uint64_t previous = thread_config_id;
  thread_config_id = id;
  return PyLong_FromUnsignedLongLong(previous);
}

PyObject* get_config_id(PyObject*, PyObject*) { return PyLong_FromUnsignedLongLong(config_id()); }

PyMethodDef kFunctions[] = {
    {"current_trace", get_trace, METH_NOARGS, "This thread's current trace, or None."},
    {"swap_trace", swap_trace, METH_O, "Make this the current trace; returns the previous one."},
    {"config_id", get_config_id, METH_NOARGS, "The configuration id that counts on this thread."},
    {"set_config_id", set_config_id, METH_O, "Set the process-wide configuration id."},
    {"swap_thread_config_id", swap_thread_config_id, METH_O,
     "Set this thread's configuration id (0: use the process-wide one); returns the previous."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

int register_context(PyObject* module) { return PyModule_AddFunctions(module, kFunctions); }

}  // namespace jitney
