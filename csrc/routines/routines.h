// Table of native routines that follow the kernel ABI (see README.md beside this file for each signature).
//
// In:  static registrations by the files of this folder. Out: name -> address.
// Invariant: a routine reads and writes only through its pointers, keeps no state, and its result for a row does not
// depend on how [lo, hi) was split.
#pragma once
#include <cstddef>
#include <cstdint>

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <string>

#include "../abi.h"
#include "dtypes.h"

namespace jitney {

// Address of a routine or nullptr.
KernelFn find_routine(const char* name);

// Called once by each file of this folder, from register_routines. Names are static strings or built ones (copied).
void add_routine(const char* name, KernelFn fn);

// Widest vectors that this machine has: 0 = 16 bytes (any CPU), 1 = 32 (AVX2), 2 = 64 (AVX-512 F, BW, DQ, VL). The
// environment variable JITNEY_CPU_LEVEL lowers it.
int cpu_level();

// Adds `prefix_<type>` for each type of a list: Family<T>::run has the kernel signature.
template <template <class> class Family, class... Ts>
void add_family(const char* prefix, TypeList<Ts...>) {
  (add_routine((std::string(prefix) + "_" + type_name<Ts>()).c_str(), &Family<Ts>::run), ...);
}

// Adds routine_address(name) and routine_names() to the module.
int register_routines(PyObject* module);

}  // namespace jitney
