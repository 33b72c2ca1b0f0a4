// _test_kernels(): name -> address of kernels with the ABI of abi.h.
#include "test_kernels.h"

#include "abi.h"

namespace jitney {

namespace {

template <typename T>
const T* in(void* const* ptrs, int i) {
  return static_cast<const T*>(ptrs[i]);
}
template <typename T>
T* out(void* const* ptrs, int i) {
  return static_cast<T*>(ptrs[i]);
}

void add1_f32(void* const* p, const int64_t*, int64_t lo, int64_t hi) {
  for (int64_t i = lo; i < hi; i++) out<float>(p, 1)[i] = in<float>(p, 0)[i] + 1.0f;
}

void add_f32(void* const* p, const int64_t*, int64_t lo, int64_t hi) {
  for (int64_t i = lo; i < hi; i++) out<float>(p, 2)[i] = in<float>(p, 0)[i] + in<float>(p, 1)[i];
}

// Sums params[0] scalars.
void sum_scalars_f32(void* const* p, const int64_t* params, int64_t, int64_t) {
  float sum = 0;
  for (int64_t k = 0; k < params[0]; k++) sum += *in<float>(p, static_cast<int>(k));
  *out<float>(p, static_cast<int>(params[0])) = sum;
}

// x[i] += params[0] for every i, in place.
void increment_i32(void* const* p, const int64_t* params, int64_t lo, int64_t hi) {
  for (int64_t i = lo; i < hi; i++) out<int32_t>(p, 0)[i] += static_cast<int32_t>(params[0]);
}

// byte = a < b
void less_i32(void* const* p, const int64_t*, int64_t, int64_t) {
  *out<uint8_t>(p, 2) = *in<int32_t>(p, 0) < *in<int32_t>(p, 1);
}

// y += x, one int32
void accumulate_i32(void* const* p, const int64_t*, int64_t, int64_t) {
  *out<int32_t>(p, 1) += *in<int32_t>(p, 0);
}

void true_byte(void* const* p, const int64_t*, int64_t, int64_t) { *out<uint8_t>(p, 0) = 1; }

void nop(void* const*, const int64_t*, int64_t, int64_t) {}

const struct {
  const char* name;
  KernelFn fn;
} kKernels[] = {
    {"add1_f32", add1_f32},           {"add_f32", add_f32},   {"sum_scalars_f32", sum_scalars_f32},
    {"increment_i32", increment_i32}, {"less_i32", less_i32}, {"accumulate_i32", accumulate_i32},
    {"true_byte", true_byte},         {"nop", nop},
};

PyObject* test_kernels(PyObject*, PyObject*) {
  PyObject* dict = PyDict_New();
  for (const auto& kernel : kKernels) {
    PyObject* address = PyLong_FromVoidPtr(reinterpret_cast<void*>(kernel.fn));
    if (!dict || !address || PyDict_SetItemString(dict, kernel.name, address) < 0) {
      Py_XDECREF(address);
      Py_XDECREF(dict);
      return nullptr;
    }
    Py_DECREF(address);
  }
  return dict;
}

PyMethodDef kFunctions[] = {
    {"_test_kernels", test_kernels, METH_NOARGS, "Addresses of tiny kernels, for tests."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

int register_test_kernels(PyObject* module) { return PyModule_AddFunctions(module, kFunctions); }

}  // namespace jitney
