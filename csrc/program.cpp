// The Program type: life, inspection, and running it on a list of arguments.
#include "program.h"

#include "leaf.h"

namespace jitney {

PyTypeObject* program_type = nullptr;

namespace {

PyObject* program_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static const char* kNames[] = {"outputs", "num_inputs", "slots",   "workspace_bytes",
                                 "steps",   "constants",  "cost_ns", "name",
                                 "keep",    nullptr};
  PyObject *outputs, *slots, *steps, *constants, *name, *keep = Py_None;
  int num_inputs;
  long long workspace_bytes;
  double cost_ns;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OiOLOOdO|O:Program", const_cast<char**>(kNames),
                                   &outputs, &num_inputs, &slots, &workspace_bytes, &steps,
                                   &constants, &cost_ns, &name, &keep)) {
    return nullptr;
  }
  if (num_inputs < 0 || workspace_bytes < 0) {
    PyErr_SetString(PyExc_ValueError, "Program: negative size");
    return nullptr;
  }
  ProgramBody* body =
      program_body_read({outputs, num_inputs, slots, workspace_bytes, steps, constants, cost_ns});
  if (!body) return nullptr;
  Program* program = reinterpret_cast<Program*>(type->tp_alloc(type, 0));
  if (!program) {
    program_body_free(body);
    return nullptr;
  }
  program->body = body;
  Py_INCREF(name);
  program->name = name;
  Py_INCREF(keep);
  program->keep = keep;
  return reinterpret_cast<PyObject*>(program);
}

int visit_steps(const std::vector<Step>& steps, visitproc visit, void* arg) {
  for (const Step& step : steps) {
    Py_VISIT(step.payload);
    for (const auto& body : step.bodies) {
      if (int status = visit_steps(body, visit, arg)) return status;
    }
  }
  return 0;
}

int program_traverse(PyObject* self, visitproc visit, void* arg) {
  Program* program = reinterpret_cast<Program*>(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(program->name);
  Py_VISIT(program->keep);
  return program->body ? visit_steps(program->body->steps, visit, arg) : 0;
}

// No tp_clear: a program must stay whole while somebody can run it. Cycles through a payload are
// broken by the Python objects in them.
void program_dealloc(PyObject* self) {
  Program* program = reinterpret_cast<Program*>(self);
  PyObject_GC_UnTrack(self);
  if (program->weakrefs) PyObject_ClearWeakRefs(self);
  program_body_free(program->body);
  Py_XDECREF(program->name);
  Py_XDECREF(program->keep);
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

// ---- execute --------------------------------------------------------------

// The inputs of one execute() call.
struct InputLists {
  std::vector<PyObject*> objects, avals;  // borrowed; owned
  std::vector<void*> data;
  std::vector<ScalarScratch> scratch;
  Temporaries temporaries;

  ~InputLists() {
    for (PyObject* aval : avals) Py_DECREF(aval);
  }

  bool read(PyObject** items, int32_t n) {
    objects.assign(items, items + n);
    data.resize(n + 1);
    scratch.resize(n + 1);
    for (int32_t i = 0; i < n; i++) {
      if (!read_one(i)) return false;
    }
    return !temporaries.pending ||
           convert_pending(objects.data(), reinterpret_cast<Aval**>(avals.data()), data.data(), n,
                           &temporaries);
  }

  bool read_one(int32_t i) {
    PyObject* object = objects[i];
    Aval* aval = leaf_aval(object);
    if (!aval) {
      PyErr_Format(PyExc_TypeError, "Program.execute: %.100s is not an Array or a scalar",
                   Py_TYPE(object)->tp_name);
      return false;
    }
    avals.push_back(reinterpret_cast<PyObject*>(aval));
    if (array_check(object) && reinterpret_cast<Array*>(object)->buffer) {
      data[i] = reinterpret_cast<Array*>(object)->buffer->data;
      return true;
    }
    if (leaf_match(object, aval, &data[i], &scratch[i], &temporaries)) return true;
    if (array_check(object))
      array_deleted_error(reinterpret_cast<Array*>(object));
    else
      PyErr_SetString(PyExc_OverflowError, "Program.execute: an integer is out of range");
    return false;
  }
};

bool read_donated(PyObject* indices, Py_ssize_t n, std::vector<uint8_t>* donated) {
  PyObject* sequence = PySequence_Fast(indices, "donated must be a sequence of input indices");
  if (!sequence) return false;
  for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(sequence); k++) {
    Py_ssize_t i = PyNumber_AsSsize_t(PySequence_Fast_GET_ITEM(sequence, k), PyExc_IndexError);
    if (i < 0 || i >= n) {
      if (!PyErr_Occurred()) PyErr_SetString(PyExc_IndexError, "donated: no such input");
      break;
    }
    (*donated)[i] = 1;
  }
  Py_DECREF(sequence);
  return !PyErr_Occurred();
}

PyObject* execute_on(Program* program, PyObject** items, PyObject* donated_indices,
                     StepTimes* times) {
  int32_t n = program->body->num_inputs;
  std::vector<uint8_t> donated(n + 1);
  bool any_donated = donated_indices && PyObject_IsTrue(donated_indices) > 0;
  if (any_donated && !read_donated(donated_indices, n, &donated)) return nullptr;
  InputLists lists;
  if (!lists.read(items, n)) return nullptr;
  Py_ssize_t count = static_cast<Py_ssize_t>(program->body->outputs.size());
  std::vector<PyObject*> results(count + 1);
  ProgramInputs inputs = {lists.data.data(), lists.objects.data(),
                          any_donated ? donated.data() : nullptr, n, times};
  if (!program_run(program, inputs, results.data())) return nullptr;
  PyObject* list = PyList_New(count);
  for (Py_ssize_t k = 0; k < count; k++) {
    if (list)
      PyList_SET_ITEM(list, k, results[k]);
    else
      Py_DECREF(results[k]);
  }
  return list;
}

PyObject* execute_with(PyObject* self, PyObject* inputs, PyObject* donated, StepTimes* times) {
  Program* program = reinterpret_cast<Program*>(self);
  PyObject* tuple = PySequence_Tuple(inputs);  // a private one: the caller's list may change
  if (!tuple) return nullptr;
  PyObject* result = nullptr;
  if (PyTuple_GET_SIZE(tuple) != program->body->num_inputs) {
    PyErr_Format(PyExc_TypeError, "program %S takes %d inputs, got %zd", program->name,
                 program->body->num_inputs, PyTuple_GET_SIZE(tuple));
  } else {
    result = execute_on(program, &PyTuple_GET_ITEM(tuple, 0), donated, times);
  }
  Py_DECREF(tuple);
  return result;
}

PyObject* program_execute(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* kNames[] = {"inputs", "donated", nullptr};
  PyObject *inputs, *donated = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:execute", const_cast<char**>(kNames), &inputs,
                                   &donated)) {
    return nullptr;
  }
  return execute_with(self, inputs, donated, nullptr);
}

PyObject* times_as_list(const std::vector<Step>& steps, const StepTimes& times) {
  PyObject* list = PyList_New(0);
  for (const Step& step : steps) {
    PyObject* bodies = list ? PyList_New(0) : nullptr;
    for (const auto& body : step.bodies) {
      PyObject* nested = bodies ? times_as_list(body, times) : nullptr;
      if (!nested || PyList_Append(bodies, nested) < 0) Py_CLEAR(bodies);
      Py_XDECREF(nested);
    }
    const auto found = times.find(&step);
    const StepTime time = found == times.end() ? StepTime() : found->second;
    PyObject* item = !bodies ? nullptr
                             : Py_BuildValue("LLN", static_cast<long long>(time.runs),
                                             static_cast<long long>(time.ns), bodies);
    if (!item || PyList_Append(list, item) < 0) Py_CLEAR(list);
    Py_XDECREF(item);
    if (!list) return nullptr;
  }
  return list;
}

PyObject* program_step_times(PyObject* self, PyObject* inputs) {
  StepTimes times;
  PyObject* result = execute_with(self, inputs, nullptr, &times);
  if (!result) return nullptr;
  Py_DECREF(result);
  return times_as_list(reinterpret_cast<Program*>(self)->body->steps, times);
}

// ---- inspection -----------------------------------------------------------

PyObject* steps_as_list(const std::vector<Step>& steps) {
  PyObject* list = PyList_New(0);
  for (const Step& step : steps) {
    PyObject* bodies = list ? PyList_New(0) : nullptr;
    for (const auto& body : step.bodies) {
      PyObject* nested = bodies ? steps_as_list(body) : nullptr;
      if (!nested || PyList_Append(bodies, nested) < 0) Py_CLEAR(bodies);
      Py_XDECREF(nested);
    }
    PyObject* item =
        !bodies ? nullptr
                : Py_BuildValue("{s:i,s:K,s:i,s:L,s:L,s:y#,s:N}", "kind", step.kind, "address",
                                reinterpret_cast<unsigned long long>(step.fn), "operands",
                                step.arg_count, "extent", static_cast<long long>(step.extent),
                                "grain", static_cast<long long>(step.grain), "params",
                                reinterpret_cast<const char*>(step.params.get()),
                                static_cast<Py_ssize_t>(step.param_count) * 8, "bodies", bodies);
    if (!item || PyList_Append(list, item) < 0) {
      Py_XDECREF(item);
      Py_XDECREF(list);
      return nullptr;
    }
    Py_DECREF(item);
  }
  return list;
}

PyObject* program_steps_info(PyObject* self, PyObject*) {
  return steps_as_list(reinterpret_cast<Program*>(self)->body->steps);
}

PyObject* get_name(PyObject* self, void*) {
  PyObject* name = reinterpret_cast<Program*>(self)->name;
  Py_INCREF(name);
  return name;
}
PyObject* get_num_inputs(PyObject* self, void*) {
  return PyLong_FromLong(reinterpret_cast<Program*>(self)->body->num_inputs);
}
PyObject* get_cost_ns(PyObject* self, void*) {
  return PyLong_FromLongLong(reinterpret_cast<Program*>(self)->body->cost_ns);
}
PyObject* get_workspace_bytes(PyObject* self, void*) {
  return PyLong_FromLongLong(reinterpret_cast<Program*>(self)->body->workspace_bytes);
}
PyObject* get_out_avals(PyObject* self, void*) {
  const auto& outputs = reinterpret_cast<Program*>(self)->body->outputs;
  PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(outputs.size()));
  if (!tuple) return nullptr;
  for (size_t k = 0; k < outputs.size(); k++) {
    Py_INCREF(outputs[k].aval);
    PyTuple_SET_ITEM(tuple, k, reinterpret_cast<PyObject*>(outputs[k].aval));
  }
  return tuple;
}

PyObject* program_repr(PyObject* self) {
  Program* program = reinterpret_cast<Program*>(self);
  return PyUnicode_FromFormat("<Program %S: %d inputs, %zu outputs, %zu steps>", program->name,
                              program->body->num_inputs, program->body->outputs.size(),
                              program->body->steps.size());
}

PyGetSetDef kGetSet[] = {
    {"name", get_name, nullptr, "Name for messages.", nullptr},
    {"num_inputs", get_num_inputs, nullptr, "Number of inputs.", nullptr},
    {"cost_ns", get_cost_ns, nullptr, "Estimated time; above 3000 the GIL is released.", nullptr},
    {"workspace_bytes", get_workspace_bytes, nullptr, "Scratch memory of a call.", nullptr},
    {"out_avals", get_out_avals, nullptr, "Types of the outputs.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyMethodDef kMethods[] = {
    {"execute", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(program_execute)),
     METH_VARARGS | METH_KEYWORDS,
     "execute(inputs, donated=()): run on Arrays or scalars; returns a list of Arrays."},
    {"step_times", program_step_times, METH_O,
     "step_times(inputs) -> [(runs, nanoseconds, [of the steps of each body, ...]), ...] of one "
     "call."},
    {"steps_info", program_steps_info, METH_NOARGS, "The steps as dicts, for tests and tools."},
    {nullptr, nullptr, 0, nullptr},
};

PyMemberDef kMembers[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Program, weakrefs), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot kSlots[] = {
    {Py_tp_doc,
     const_cast<char*>(
         "Program(outputs, num_inputs, slots, workspace_bytes, steps, constants, cost_ns, name, "
         "keep=None)\n--\n\nA compiled function: steps over addresses.")},
    {Py_tp_new, reinterpret_cast<void*>(program_new)},
    {Py_tp_dealloc, reinterpret_cast<void*>(program_dealloc)},
    {Py_tp_traverse, reinterpret_cast<void*>(program_traverse)},
    {Py_tp_repr, reinterpret_cast<void*>(program_repr)},
    {Py_tp_methods, kMethods},
    {Py_tp_getset, kGetSet},
    {Py_tp_members, kMembers},
    {0, nullptr},
};

PyType_Spec kSpec = {"jitney._native.Program", sizeof(Program), 0,
                     Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, kSlots};

}  // namespace

int register_program(PyObject* module) {
  static PyMethodDef functions[] = {
      {"swap_interrupt_check", swap_interrupt_check, METH_O,
       "swap_interrupt_check(callable or None): what loops on this thread call now and then."},
      {nullptr, nullptr, 0, nullptr},
  };
  if (PyModule_AddFunctions(module, functions) < 0) return -1;
  PyObject* type = PyType_FromSpec(&kSpec);
  if (!type) return -1;
  program_type = reinterpret_cast<PyTypeObject*>(type);
  return PyModule_AddObjectRef(module, "Program", type);
}

}  // namespace jitney
