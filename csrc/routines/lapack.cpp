// The table of LAPACK and BLAS pointers, filled from SciPy's capsules, and the sizes of workspaces.
#include "lapack.h"

#ifndef _WIN32
#include <pthread.h>
#endif

#include <cstring>
#include <map>
#include <mutex>

#include "families.h"

namespace jitney {

void* lapack_pointers[4][kLapackCount];

namespace {

// From half a microsecond of one thread, for which the library takes no other anyway, to half a millisecond.
constexpr double kLeastOperations = 200, kFewOperations = 2e7;

void (*set_library_threads)(int) = nullptr;
int (*get_library_threads)() = nullptr;
std::mutex* threads_mutex = new std::mutex;  // never destroyed: threads may outlive static objects
int few_now = 0, threads_before = 0;

#ifndef _WIN32
void begin_child() {  // the threads that held it, or were counted, are not in the child
  threads_mutex = new std::mutex;
  few_now = 0;
}
#endif

const char kLetters[] = "sdcz";
// Names without the letter of the type; where complex matrices have another name, that follows.
const char* const kNames[kLapackCount][2] = {
    {"trsm", "trsm"},   {"potrf", "potrf"}, {"getrf", "getrf"}, {"geqrf", "geqrf"}, {"geqp3", "geqp3"},
    {"orgqr", "ungqr"}, {"syevd", "heevd"}, {"geev", "geev"},   {"gesdd", "gesdd"}, {"gesvd", "gesvd"}};

std::map<std::string, NeedsFn>& needs_table() {
  static auto* t = new std::map<std::string, NeedsFn>;
  return *t;
}

// The pointer of a capsule whose name is a C signature with 32-bit integers.
void* pointer_in(PyObject* functions, const char* name) {
  PyObject* capsule = PyDict_Check(functions) ? PyDict_GetItemString(functions, name) : nullptr;
  if (!capsule || !PyCapsule_CheckExact(capsule)) {
    PyErr_Format(PyExc_KeyError, "lapack_bind: no function '%s' among the capsules", name);
    return nullptr;
  }
  const char* signature = PyCapsule_GetName(capsule);
  if (!signature || !strstr(signature, "int *") || strstr(signature, "int64")) {
    PyErr_Format(PyExc_TypeError, "lapack_bind: '%s' has the signature '%s', expected 32-bit integers", name,
                 signature ? signature : "");
    return nullptr;
  }
  return PyCapsule_GetPointer(capsule, signature);
}

PyObject* lapack_bind(PyObject*, PyObject* args) {
  PyObject *lapack, *blas;
  unsigned long long set_threads = 0, get_threads = 0;
  if (!PyArg_ParseTuple(args, "OO|KK:lapack_bind", &lapack, &blas, &set_threads, &get_threads)) return nullptr;
  void* found[4][kLapackCount];
  for (int type = 0; type < 4; ++type) {
    for (int k = 0; k < kLapackCount; ++k) {
      char name[16] = {kLetters[type], 0};
      strcat(name, kNames[k][type >= 2]);
      found[type][k] = pointer_in(k == kTrsm ? blas : lapack, name);
      if (!found[type][k]) return nullptr;
    }
  }
  memcpy(lapack_pointers, found, sizeof found);
  if (set_threads && get_threads) {
#ifndef _WIN32
    static const int watched = pthread_atfork(nullptr, nullptr, begin_child);
    (void)watched;
#endif
    set_library_threads = reinterpret_cast<void (*)(int)>(set_threads);
    get_library_threads = reinterpret_cast<int (*)()>(get_threads);
  }
  Py_RETURN_NONE;
}

PyObject* lapack_needs(PyObject*, PyObject* args) {
  const char *name, *params;
  Py_ssize_t length;
  if (!PyArg_ParseTuple(args, "sy#:lapack_needs", &name, &params, &length)) return nullptr;
  auto entry = needs_table().find(name);
  if (entry == needs_table().end()) return PyErr_Format(PyExc_KeyError, "no routine '%s' has a workspace", name);
  int64_t values[8] = {0};
  memcpy(values, params, static_cast<size_t>(length) < sizeof values ? static_cast<size_t>(length) : sizeof values);
  LapackNeeds needs = entry->second(values);
  return Py_BuildValue("LL", static_cast<long long>(needs.lwork), static_cast<long long>(needs.bytes));
}

PyMethodDef functions[] = {
    {"lapack_bind", lapack_bind, METH_VARARGS,
     "lapack_bind(lapack, blas, set_threads=0, get_threads=0): take the functions in two dictionaries of capsules "
     "(`__pyx_capi__` of SciPy), and the addresses of those that say how many threads the library takes."},
    {"lapack_needs", lapack_needs, METH_VARARGS,
     "lapack_needs(routine, parameters as bytes) -> (optimal lwork, bytes of workspace a piece)."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

LibraryThreads::LibraryThreads(double operations)
    : few_(set_library_threads && operations >= kLeastOperations && operations < kFewOperations) {
  if (!few_) return;
  std::lock_guard<std::mutex> lock(*threads_mutex);
  if (few_now++ > 0) return;
  threads_before = get_library_threads();
  if (threads_before != 1) set_library_threads(1);
}

LibraryThreads::~LibraryThreads() {
  if (!few_) return;
  std::lock_guard<std::mutex> lock(*threads_mutex);
  if (--few_now == 0 && threads_before != 1) set_library_threads(threads_before);
}

void add_lapack_needs(const std::string& name, NeedsFn fn) { needs_table()[name] = fn; }

PyMethodDef* lapack_functions() { return functions; }

void add_lapack_routines() {
  add_lapack_solvers();
  add_lapack_factorings();
}

}  // namespace jitney
