#pragma once
#include <Python.h>

namespace jitney {

// Adds folder_state to the module.
int register_folder_state(PyObject* module);

}  // namespace jitney
