// Python and NumPy headers with the settings every file of the extension shares.
// The NumPy function table is defined once, by module.cpp (JITNEY_IMPORT_NUMPY).
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL jitney_numpy_api
#ifndef JITNEY_IMPORT_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>

#include <cstddef>
#include <cstdint>

#define JITNEY_LIKELY(x) __builtin_expect(!!(x), 1)
#define JITNEY_UNLIKELY(x) __builtin_expect(!!(x), 0)
// Thread-locals of a plain type: one load, no wrapper call.
#define JITNEY_THREAD_LOCAL __thread __attribute__((tls_model("initial-exec")))
