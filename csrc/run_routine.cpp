// run_routine: one native routine on Arrays, from Python.
//
// In:  its name, Arrays, types of the results, integer parameters, the extent and the grain. Out: new Arrays.
// For results whose size is known only after looking at values: a program's sizes are fixed when it is compiled.
#include "run_routine.h"

#include <vector>

#include "array.h"
#include "pool.h"
#include "routines/routines.h"

namespace jitney {

namespace {

struct Call {
  KernelFn fn;
  std::vector<void*> ptrs;
  std::vector<int64_t> params;
};

void run_piece(void* context, int64_t lo, int64_t hi) {
  const Call* call = static_cast<const Call*>(context);
  call->fn(call->ptrs.data(), call->params.data(), lo, hi);
}

bool read_params(PyObject* given, std::vector<int64_t>* params) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(given); i++) {
    int64_t value = PyLong_AsLongLong(PyTuple_GET_ITEM(given, i));
    if (value == -1 && PyErr_Occurred()) return false;
    params->push_back(value);
  }
  return true;
}

// The buffers of the inputs are held while the routine runs: another thread may delete an Array.
bool read_inputs(PyObject* given, Call* call, std::vector<Buffer*>* held) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(given); i++) {
    PyObject* item = PyTuple_GET_ITEM(given, i);
    if (!array_check(item)) {
      PyErr_SetString(PyExc_TypeError, "run_routine takes Arrays");
      return false;
    }
    Array* array = reinterpret_cast<Array*>(item);
    if (!array->buffer) {
      array_deleted_error(array);
      return false;
    }
    buffer_incref(array->buffer);
    held->push_back(array->buffer);
    call->ptrs.push_back(array->buffer->data);
  }
  return true;
}

PyObject* make_results(PyObject* avals, Call* call) {
  PyObject* results = PyList_New(PyTuple_GET_SIZE(avals));
  for (Py_ssize_t i = 0; results && i < PyTuple_GET_SIZE(avals); i++) {
    PyObject* aval = PyTuple_GET_ITEM(avals, i);
    PyObject* array = nullptr;
    if (aval_check(aval)) array = array_new_empty(reinterpret_cast<Aval*>(aval));
    else PyErr_SetString(PyExc_TypeError, "run_routine makes Arrays of avals");
    if (!array) Py_CLEAR(results);
    else {
      PyList_SET_ITEM(results, i, array);
      call->ptrs.push_back(reinterpret_cast<Array*>(array)->buffer->data);
    }
  }
  return results;
}

PyObject* run_routine(PyObject*, PyObject* args) {
  const char* name;
  PyObject *inputs, *avals, *params;
  long long extent, grain;
  if (!PyArg_ParseTuple(args, "sO!O!O!LL", &name, &PyTuple_Type, &inputs, &PyTuple_Type, &avals,
                        &PyTuple_Type, &params, &extent, &grain))
    return nullptr;
  Call call;
  call.fn = find_routine(name);
  if (!call.fn) return PyErr_Format(PyExc_KeyError, "no native routine is called '%s'", name);
  std::vector<Buffer*> held;
  PyObject* results = nullptr;
  if (read_params(params, &call.params) && read_inputs(inputs, &call, &held)) {
    results = make_results(avals, &call);
    if (results && extent > 0) {
      PyThreadState* state = PyEval_SaveThread();
      pool_parallel_for(extent, grain, run_piece, &call);
      PyEval_RestoreThread(state);
    }
  }
  for (Buffer* buffer : held) buffer_decref(buffer);
  return results;
}

PyMethodDef functions[] = {
    {"run_routine", run_routine, METH_VARARGS,
     "run_routine(name, arrays, avals, params, extent, grain): new Arrays, filled by a native routine."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

int register_run_routine(PyObject* module) { return PyModule_AddFunctions(module, functions); }

}  // namespace jitney
