// Python operators on arrays: each slot calls the callable registered under its name, in the order
// Python gives the operands, so that reflected operations need no second table.
#include <cstring>

#include "array.h"

namespace jitney {

namespace {

enum Operator {
  kAdd,
  kSub,
  kMul,
  kTrueDiv,
  kFloorDiv,
  kMod,
  kPow,
  kMatMul,
  kAnd,
  kOr,
  kXor,
  kLShift,
  kRShift,
  kNeg,
  kPos,
  kAbs,
  kInvert,
  kLt,
  kLe,
  kEq,
  kNe,
  kGt,
  kGe,
  kDivMod,
  kGetItem,
  kSetItem,
  kIter,
  kOperatorCount
};

const char* const kNames[kOperatorCount] = {
    "add", "sub", "mul",    "truediv", "floordiv", "mod",    "pow",     "matmul",  "and",
    "or",  "xor", "lshift", "rshift",  "neg",      "pos",    "abs",     "invert",  "lt",
    "le",  "eq",  "ne",     "gt",      "ge",       "divmod", "getitem", "setitem", "iter"};

PyObject* callables[kOperatorCount];

template <int kind>
PyObject* binary(PyObject* a, PyObject* b) {
  PyObject* callable = callables[kind];
  if (JITNEY_UNLIKELY(!callable)) Py_RETURN_NOTIMPLEMENTED;
  PyObject* args[3] = {nullptr, a, b};
  Py_INCREF(callable);  // it may be replaced while it runs
  PyObject* result =
      PyObject_Vectorcall(callable, args + 1, 2 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
  Py_DECREF(callable);
  return result;
}

template <int kind>
PyObject* unary(PyObject* a) {
  PyObject* callable = callables[kind];
  if (JITNEY_UNLIKELY(!callable)) {
    PyErr_Format(PyExc_TypeError, "no operator '%s' is registered for Array", kNames[kind]);
    return nullptr;
  }
  PyObject* args[2] = {nullptr, a};
  Py_INCREF(callable);
  PyObject* result =
      PyObject_Vectorcall(callable, args + 1, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
  Py_DECREF(callable);
  return result;
}

PyObject* power(PyObject* a, PyObject* b, PyObject* modulus) {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return binary<kPow>(a, b);
}

PyObject* compare(PyObject* a, PyObject* b, int operation) {
  switch (operation) {
    case Py_LT: return binary<kLt>(a, b);
    case Py_LE: return binary<kLe>(a, b);
    case Py_EQ: return binary<kEq>(a, b);
    case Py_NE: return binary<kNe>(a, b);
    case Py_GT: return binary<kGt>(a, b);
    default: return binary<kGe>(a, b);
  }
}

PyObject* get_item(PyObject* self, PyObject* key) {
  PyObject* result = binary<kGetItem>(self, key);
  if (result != Py_NotImplemented) return result;
  Py_DECREF(result);
  PyErr_SetString(PyExc_TypeError, "this index is not supported for Array");
  return nullptr;
}

int set_item(PyObject* self, PyObject* key, PyObject* value) {
  PyObject* callable = callables[kSetItem];
  if (!callable || !value) {
    PyErr_SetString(PyExc_TypeError,
                    "arrays are immutable and do not support in-place item assignment or "
                    "deletion; use x = x.at[index].set(value)");
    return -1;
  }
  PyObject* result = PyObject_CallFunctionObjArgs(callable, self, key, value, nullptr);
  Py_XDECREF(result);
  return result ? 0 : -1;
}

Py_ssize_t length(PyObject* self) {
  const Aval* aval = reinterpret_cast<Array*>(self)->aval;
  if (aval->ndim > 0) return aval->dims[0];
  PyErr_SetString(PyExc_TypeError, "len() of unsized object");
  return -1;
}

PyObject* iterate(PyObject* self) {
  if (reinterpret_cast<Array*>(self)->aval->ndim == 0) {
    PyErr_SetString(PyExc_TypeError, "iteration over a 0-d array");
    return nullptr;
  }
  if (callables[kIter]) return unary<kIter>(self);
  return PySeqIter_New(self);
}

PyObject* set_operator(PyObject*, PyObject* args) {
  const char* name;
  PyObject* callable;
  if (!PyArg_ParseTuple(args, "sO:set_operator", &name, &callable)) return nullptr;
  for (int kind = 0; kind < kOperatorCount; kind++) {
    if (std::strcmp(name, kNames[kind]) != 0) continue;
    PyObject* previous = callables[kind];
    if (callable == Py_None) {
      callables[kind] = nullptr;
    } else if (PyCallable_Check(callable)) {
      Py_INCREF(callable);
      callables[kind] = callable;
    } else {
      PyErr_Format(PyExc_TypeError, "operator '%s' needs a callable, got %R", name, callable);
      return nullptr;
    }
    Py_XDECREF(previous);
    Py_RETURN_NONE;
  }
  PyErr_Format(PyExc_ValueError, "unknown operator '%s'", name);
  return nullptr;
}

PyObject* get_operator(PyObject*, PyObject* name) {
  for (int kind = 0; kind < kOperatorCount; kind++) {
    if (!PyUnicode_Check(name) || PyUnicode_CompareWithASCIIString(name, kNames[kind])) continue;
    PyObject* callable = callables[kind] ? callables[kind] : Py_None;
    Py_INCREF(callable);
    return callable;
  }
  PyErr_Format(PyExc_ValueError, "unknown operator %R", name);
  return nullptr;
}

PyMethodDef kFunctions[] = {
    {"get_operator", get_operator, METH_O, "The callable registered under that name, or None."},
    {"set_operator", set_operator, METH_VARARGS,
     "set_operator(name, callable): what an operator of Array calls; None removes it."},
    {nullptr, nullptr, 0, nullptr},
};

template <typename F>
void* slot(F function) {
  return reinterpret_cast<void*>(function);
}

}  // namespace

PyType_Slot array_operator_slots[] = {
    {Py_nb_add, slot(binary<kAdd>)},
    {Py_nb_subtract, slot(binary<kSub>)},
    {Py_nb_multiply, slot(binary<kMul>)},
    {Py_nb_true_divide, slot(binary<kTrueDiv>)},
    {Py_nb_floor_divide, slot(binary<kFloorDiv>)},
    {Py_nb_remainder, slot(binary<kMod>)},
    {Py_nb_divmod, slot(binary<kDivMod>)},
    {Py_nb_power, slot(power)},
    {Py_nb_matrix_multiply, slot(binary<kMatMul>)},
    {Py_nb_and, slot(binary<kAnd>)},
    {Py_nb_or, slot(binary<kOr>)},
    {Py_nb_xor, slot(binary<kXor>)},
    {Py_nb_lshift, slot(binary<kLShift>)},
    {Py_nb_rshift, slot(binary<kRShift>)},
    {Py_nb_negative, slot(unary<kNeg>)},
    {Py_nb_positive, slot(unary<kPos>)},
    {Py_nb_absolute, slot(unary<kAbs>)},
    {Py_nb_invert, slot(unary<kInvert>)},
    {Py_tp_richcompare, slot(compare)},
    {Py_tp_iter, slot(iterate)},
    {Py_mp_length, slot(length)},
    {Py_mp_subscript, slot(get_item)},
    {Py_mp_ass_subscript, slot(set_item)},
};
const int array_operator_slot_count =
    sizeof(array_operator_slots) / sizeof(array_operator_slots[0]);

int register_array_operators(PyObject* module) { return PyModule_AddFunctions(module, kFunctions); }

}  // namespace jitney
