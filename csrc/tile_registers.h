// Permission to use the registers that hold tiles of matrices (AMX).
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace jitney {

// Adds request_tile_registers to the module.
int register_tile_registers(PyObject* module);

}  // namespace jitney
