// Tiny kernels for the tests of programs and dispatch, which need machine code before a compiler.
#pragma once

#include "numpy_api.h"

namespace jitney {

int register_test_kernels(PyObject* module);

}  // namespace jitney
