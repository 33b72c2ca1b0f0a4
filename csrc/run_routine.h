// Native routines called from Python on Arrays (see run_routine.cpp).
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace jitney {

// Adds run_routine to the module.
int register_run_routine(PyObject* module);

}  // namespace jitney
