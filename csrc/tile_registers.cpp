// Linux gives a process the state of these registers, 8 KiB a thread, when it asks for it: once, for all its threads
// and for children that it forks (arch_prctl(2), ARCH_REQ_XCOMP_PERM; Linux 5.16). It says no where a thread has a
// stack for signals that is too small for them.
#include "tile_registers.h"

#if defined(__linux__) && defined(__x86_64__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace jitney {
namespace {

PyObject* request_tile_registers(PyObject*, PyObject*) {
#if defined(__linux__) && defined(__x86_64__)
  constexpr int kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILE_DATA
  return PyBool_FromLong(syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0);
#else
  Py_RETURN_FALSE;
#endif
}

PyMethodDef kMethods[] = {
    {"request_tile_registers", request_tile_registers, METH_NOARGS,
     "Whether this process may use registers that hold tiles of matrices (AMX)."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

int register_tile_registers(PyObject* module) { return PyModule_AddFunctions(module, kMethods); }

}  // namespace jitney
