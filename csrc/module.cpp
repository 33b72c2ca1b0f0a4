// The extension module jitney._native: puts the components together, in order of dependence.
#define JITNEY_IMPORT_NUMPY
#include "numpy_api.h"

#include "allocator.h"
#include "array.h"
#include "aval.h"
#include "context.h"
#include "copy.h"
#include "counters.h"
#include "dispatch.h"
#include "folder_state.h"
#include "loader.h"
#include "pool.h"
#include "program.h"
#include "pytree.h"
#include "routines/routines.h"
#include "run_routine.h"
#include "test_kernels.h"
#include "tile_registers.h"

namespace {

using RegisterFn = int (*)(PyObject* module);

const RegisterFn kComponents[] = {
    jitney::register_counters, jitney::register_folder_state,
    jitney::register_allocator, jitney::register_aval,
    jitney::register_array,    jitney::register_context,   jitney::register_pytree,
    jitney::register_pool,     jitney::register_copy,      jitney::register_loader,
    jitney::register_routines, jitney::register_run_routine,
    jitney::register_program,  jitney::register_dispatch,  jitney::register_test_kernels,
    jitney::register_tile_registers,
};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    "_native",
    "Arrays, programs and dispatch, in C++.",
    -1,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
};

}  // namespace

extern "C" __attribute__((visibility("default"))) PyObject* PyInit__native() {
  import_array();
  PyObject* module = PyModule_Create(&definition);
  if (!module) return nullptr;
  for (RegisterFn register_component : kComponents) {
    if (register_component(module) < 0) {
      Py_DECREF(module);
      return nullptr;
    }
  }
  return module;
}
