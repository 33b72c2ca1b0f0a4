// Copies of memory of any size, large ones by all threads.
#pragma once
#include <cstdint>

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace jitney {

// Copies `bytes` bytes; the two places may overlap. Needs no GIL.
void copy_bytes(void* to, const void* from, int64_t bytes);

// Adds set_far_bytes to the module.
int register_copy(PyObject* module);

}  // namespace jitney
