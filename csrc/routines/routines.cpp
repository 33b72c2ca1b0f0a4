// The table of routines (see routines.h).
#include "routines.h"

#include <cstdlib>
#include <map>
#include <string>

#include "families.h"
#include "lapack.h"

namespace jitney {

namespace {

std::map<std::string, KernelFn>& table() {
  static auto* t = new std::map<std::string, KernelFn>;
  return *t;
}

PyObject* routine_address(PyObject*, PyObject* arg) {
  const char* name = PyUnicode_AsUTF8(arg);
  if (!name) return nullptr;
  KernelFn fn = find_routine(name);
  if (!fn) return PyErr_Format(PyExc_KeyError, "no native routine is called '%s'", name);
  return PyLong_FromVoidPtr(reinterpret_cast<void*>(fn));
}

PyObject* routine_names(PyObject*, PyObject*) {
  PyObject* list = PyList_New(0);
  for (const auto& entry : table()) {
    PyObject* name = list ? PyUnicode_FromString(entry.first.c_str()) : nullptr;
    if (!name || PyList_Append(list, name) < 0) Py_CLEAR(list);
    Py_XDECREF(name);
    if (!list) return nullptr;
  }
  return list;
}

PyMethodDef functions[] = {
    {"routine_address", routine_address, METH_O, "Address of a native routine with the kernel signature."},
    {"routine_names", routine_names, METH_NOARGS, "Sorted list of the names of the native routines."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

KernelFn find_routine(const char* name) {
  auto found = table().find(name);
  return found == table().end() ? nullptr : found->second;
}

void add_routine(const char* name, KernelFn fn) { table()[name] = fn; }

int cpu_level() {
  int level = 0;
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2")) level = 1;
  if (level == 1 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    level = 2;
#endif
  const char* text = getenv("JITNEY_CPU_LEVEL");
  if (text && *text >= '0' && *text < '0' + level && text[1] == 0) level = *text - '0';
  return level;
}

int register_routines(PyObject* module) {
  if (table().empty()) {
    add_sort_routines();
    add_top_k_routines();
    add_select_routines();
    add_scan_routines();
    add_gather_routines();
    add_scatter_routines();
    add_count_routines();
    add_lapack_routines();
    add_bit_routines();
    add_position_routines();
    add_repeat_routines();
    add_inner_routines();
    add_incomplete_gamma_routines();
    add_special_routines();
    add_fft_routines();
  }
  if (PyModule_AddFunctions(module, lapack_functions()) < 0) return -1;
  return PyModule_AddFunctions(module, functions);
}

}  // namespace jitney
