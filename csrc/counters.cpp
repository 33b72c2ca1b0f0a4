// counters() and reset_counters(): the event counts as a Python dict.
#include "counters.h"

namespace jitney {

Counters counters;

namespace {

struct Field {
  const char* name;
  int64_t Counters::* member;
};

const Field kFields[] = {
    {"calls", &Counters::calls},
    {"allocations", &Counters::allocations},
    {"fresh_allocations", &Counters::fresh_allocations},
    {"buffer_reuses", &Counters::buffer_reuses},
    {"copies", &Counters::copies},
    {"conversions", &Counters::conversions},
    {"parallel_regions", &Counters::parallel_regions},
    {"hits", &Counters::hits},
    {"misses", &Counters::misses},
};

PyObject* counters_as_dict(PyObject*, PyObject*) {
  PyObject* dict = PyDict_New();
  if (!dict) return nullptr;
  for (const Field& field : kFields) {
    PyObject* value = PyLong_FromLongLong(counters.*(field.member));
    if (!value || PyDict_SetItemString(dict, field.name, value) < 0) {
      Py_XDECREF(value);
      Py_DECREF(dict);
      return nullptr;
    }
    Py_DECREF(value);
  }
  return dict;
}

PyObject* counters_reset(PyObject*, PyObject*) {
  counters = Counters();
  Py_RETURN_NONE;
}

PyMethodDef kMethods[] = {
    {"counters", counters_as_dict, METH_NOARGS, "Event counts since the last reset, as a dict."},
    {"reset_counters", counters_reset, METH_NOARGS, "Set every event count to zero."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

int register_counters(PyObject* module) { return PyModule_AddFunctions(module, kMethods); }

}  // namespace jitney
