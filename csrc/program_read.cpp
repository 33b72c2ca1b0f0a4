// Reading the Python description of a program.
//
// A step is (kind, address, slot_ids, params, extent, grain, payload). Control flow nests lists of
// steps in the payload and reads slots of the same table:
//   while: payload = (cond_steps, body_steps, pred_slot); the byte at pred_slot decides.
//   cond:  payload = (index_slot, (steps, ...)); params[0] = bytes of the index, 1, 4 (default) or 8;
//          the index is clamped.
//   for:   payload = (body_steps, count_slot or -1, counter_slot or -1);
//          params = [count, counter bytes, count bytes, start = 0, increment = 1], where the bytes
//          are 4 (default) or 8 and count is used without a count_slot.
// A kernel's grain is the length of a piece; if it is negative, pieces may be joined (pool.h).
// The payload of a kernel step is kept alive and otherwise unused (say, the owner of its code).
#include <cstring>

#include "program.h"

namespace jitney {

namespace {

constexpr int64_t kReleaseGilNs = 3000;

void free_steps(std::vector<Step>& steps) {
  for (Step& step : steps) {
    Py_CLEAR(step.payload);
    for (auto& body : step.bodies) free_steps(body);
  }
}

// Reads a program's description. Every method returns false with an error set.
struct Reader {
  ProgramBody* body;
  std::vector<SlotRef> slots;

  static bool tuple_of(PyObject* object, Py_ssize_t n, const char* what) {
    if (PyTuple_Check(object) && (n < 0 || PyTuple_GET_SIZE(object) == n)) return true;
    PyErr_Format(PyExc_TypeError, "Program: %s must be a tuple%s", what,
                 n < 0 ? "" : " of the documented length");
    return false;
  }

  static bool integer(PyObject* object, int64_t* out) {
    *out = PyLong_AsLongLong(object);
    return !(*out == -1 && PyErr_Occurred());
  }

  bool outputs(PyObject* tuple) {
    if (!tuple_of(tuple, -1, "outputs")) return false;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(tuple); k++) {
      PyObject* item = PyTuple_GET_ITEM(tuple, k);
      PyObject* aval;
      const char* kind;
      int index;
      if (!tuple_of(item, 3, "an output")) return false;
      if (!PyArg_ParseTuple(item, "O!si:output", aval_type, &aval, &kind, &index)) return false;
      Output output = {reinterpret_cast<Aval*>(aval), OutputKind::kNew, index};
      if (!std::strcmp(kind, "input"))
        output.kind = OutputKind::kInput;
      else if (!std::strcmp(kind, "donate"))
        output.kind = OutputKind::kDonate;
      else if (std::strcmp(kind, "new")) {
        PyErr_Format(PyExc_ValueError, "Program: unknown kind of output '%s'", kind);
        return false;
      }
      if (output.kind != OutputKind::kNew) {
        body->only_new_outputs = false;
        if (index < 0 || index >= body->num_inputs) {
          PyErr_Format(PyExc_ValueError, "Program: output %zd refers to input %d of %d", k, index,
                       body->num_inputs);
          return false;
        }
      }
      Py_INCREF(aval);
      body->outputs.push_back(output);
    }
    return true;
  }

  bool constants(PyObject* tuple) {
    if (!tuple_of(tuple, -1, "constants")) return false;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(tuple); k++) {
      PyObject* item = PyTuple_GET_ITEM(tuple, k);
      if (!array_check(item)) {
        PyErr_SetString(PyExc_TypeError, "Program: constants must be Arrays");
        return false;
      }
      Array* array = reinterpret_cast<Array*>(item);
      if (!array->buffer) return array_deleted_error(array) != nullptr;
      buffer_incref(array->buffer);
      body->constants.push_back(array->buffer);
    }
    return true;
  }

  // One slot: (space, index, byte_offset) -> SlotRef.
  bool slot(PyObject* item, Py_ssize_t position) {
    const char* space;
    int index;
    long long offset;
    if (!tuple_of(item, 3, "a slot")) return false;
    if (!PyArg_ParseTuple(item, "siL:slot", &space, &index, &offset)) return false;
    int first, count;
    int outputs = static_cast<int>(body->outputs.size());
    int constants = static_cast<int>(body->constants.size());
    if (!std::strcmp(space, "in")) {
      first = 0, count = body->num_inputs;
    } else if (!std::strcmp(space, "out")) {
      first = body->num_inputs, count = outputs;
    } else if (!std::strcmp(space, "const")) {
      first = body->num_inputs + outputs, count = constants;
    } else if (!std::strcmp(space, "work")) {
      first = body->num_inputs + outputs + constants, count = 1;
      index = 0;
      if (offset < 0 || offset > body->workspace_bytes) count = 0;
    } else {
      PyErr_Format(PyExc_ValueError, "Program: unknown space '%s'", space);
      return false;
    }
    if (index < 0 || index >= count) {
      PyErr_Format(PyExc_ValueError, "Program: slot %zd %R is out of range", position, item);
      return false;
    }
    slots.push_back({first + index, offset});
    return true;
  }

  bool read_slots(PyObject* tuple) {
    if (!tuple_of(tuple, -1, "slots")) return false;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(tuple); k++) {
      if (!slot(PyTuple_GET_ITEM(tuple, k), k)) return false;
    }
    return true;
  }

  bool add_arg(PyObject* id_object) {
    int64_t id;
    if (!integer(id_object, &id)) return false;
    if (id < 0 || id >= static_cast<int64_t>(slots.size())) {
      PyErr_Format(PyExc_ValueError, "Program: there is no slot %lld", static_cast<long long>(id));
      return false;
    }
    body->args.push_back(slots[id]);
    return true;
  }

  // An operand that may be missing (-1 or None); a missing one gets any valid address.
  bool add_optional_arg(PyObject* id_object, bool* present) {
    int64_t id = -1;
    if (id_object != Py_None && !integer(id_object, &id)) return false;
    *present = id >= 0;
    if (*present) return add_arg(id_object);
    body->args.push_back({body->num_bases() - 1, 0});
    return true;
  }

  bool params(PyObject* object, Step* step, int32_t at_least) {
    char* data = nullptr;
    Py_ssize_t bytes = 0;
    if (object != Py_None && PyBytes_AsStringAndSize(object, &data, &bytes) < 0) return false;
    if (bytes % 8) {
      PyErr_SetString(PyExc_ValueError, "Program: params must be whole 64-bit integers");
      return false;
    }
    step->param_count = static_cast<int32_t>(bytes / 8);
    int32_t room = step->param_count > at_least ? step->param_count : at_least;
    step->params.reset(new int64_t[room > 0 ? room : 1]());
    if (bytes) std::memcpy(step->params.get(), data, bytes);
    return true;
  }

  bool nested(PyObject* tuple, Step* step) {
    step->bodies.emplace_back();
    return steps(tuple, &step->bodies.back());
  }

  // Control-flow operands come first in the table, then those of the nested steps.
  bool control(Step* step, PyObject* own) {
    PyObject* payload = step->payload;
    if (!tuple_of(payload, step->kind == kStepCond ? 2 : 3, "the payload of control flow")) {
      return false;
    }
    PyObject* const* part = &PyTuple_GET_ITEM(payload, 0);
    step->arg_count = 1;
    switch (step->kind) {
      case kStepWhile:
        body->release_gil = true;  // nobody knows how long it takes
        return add_arg(part[2]) && nested(part[0], step) && nested(part[1], step);
      case kStepCond: {
        if (!add_arg(part[0]) || !tuple_of(part[1], -1, "the branches")) return false;
        if (PyTuple_GET_SIZE(part[1]) == 0) {
          PyErr_SetString(PyExc_ValueError, "Program: a cond step needs a branch");
          return false;
        }
        if (step->param_count < 1) step->params[0] = 4;
        step->bodies.reserve(PyTuple_GET_SIZE(part[1]));
        for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(part[1]); k++) {
          if (!nested(PyTuple_GET_ITEM(part[1], k), step)) return false;
        }
        return step->params[0] == 1 || valid_bytes(step->params[0]);
      }
      default: return control_for(step, part, own);
    }
  }

  // `own`: what each thread has of its own, in blocks, besides the counter.
  bool control_for(Step* step, PyObject* const* part, PyObject* own) {
    bool has_count, has_counter;
    step->arg_count = 2;
    if (!add_optional_arg(part[1], &has_count) || !add_optional_arg(part[2], &has_counter)) {
      return false;
    }
    if (!tuple_of(own, -1, "slot_ids")) return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(own); i++, step->arg_count++) {
      if (!add_arg(PyTuple_GET_ITEM(own, i))) return false;
    }
    int64_t* params = step->params.get();
    if (step->param_count < 5) params[4] = 1;
    params[1] = has_counter ? (params[1] ? params[1] : 4) : 0;
    params[2] = has_count ? (params[2] ? params[2] : 4) : 0;
    return (!has_counter || valid_bytes(params[1])) && (!has_count || valid_bytes(params[2])) &&
           nested(part[0], step) && (step->extent <= 1 || (!has_count && valid_blocks(step)));
  }

  // extent = blocks of rows; grain = turns of one block before the next.
  static bool valid_blocks(Step* step) {
    const std::vector<Step>& steps = step->bodies[0];
    bool ok = step->grain >= 1 && !steps.empty() && step->arg_count <= kMostPrivate + 2 &&
              steps.back().arg_begin + steps.back().arg_count - steps.front().arg_begin <= kMostInBlocks;
    for (const Step& inner : steps) {
      ok = ok && (inner.kind == kStepKernel || inner.kind == kStepCopy) && inner.grain >= 1 && inner.extent >= 1;
      ok = ok && (inner.extent - 1) / inner.grain + 1 == step->extent;
    }
    if (!ok) {
      PyErr_SetString(PyExc_ValueError,
                      "Program: all steps of a for step in blocks have as many blocks as it, and few operands");
    }
    return ok;
  }

  static bool valid_bytes(int64_t bytes) {
    if (bytes == 4 || bytes == 8) return true;
    PyErr_SetString(PyExc_ValueError,
                    "Program: counters and indices have 4 or 8 bytes, indices of branches also 1");
    return false;
  }

  bool step(PyObject* item, Step* out) {
    if (!tuple_of(item, 7, "a step")) return false;
    int64_t kind;
    if (!integer(PyTuple_GET_ITEM(item, 0), &kind)) return false;
    out->kind = static_cast<StepKind>(kind);
    out->arg_begin = static_cast<int32_t>(body->args.size());
    out->arg_count = 0;
    out->payload = PyTuple_GET_ITEM(item, 6);
    Py_INCREF(out->payload);
    if (!integer(PyTuple_GET_ITEM(item, 4), &out->extent)) return false;
    if (!integer(PyTuple_GET_ITEM(item, 5), &out->grain)) return false;
    if (!params(PyTuple_GET_ITEM(item, 3), out, 5)) return false;
    if (kind == kStepWhile || kind == kStepCond || kind == kStepFor) return control(out, PyTuple_GET_ITEM(item, 2));
    PyObject* ids = PyTuple_GET_ITEM(item, 2);
    if (!tuple_of(ids, -1, "slot_ids")) return false;
    out->arg_count = static_cast<int32_t>(PyTuple_GET_SIZE(ids));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(ids); i++) {
      if (!add_arg(PyTuple_GET_ITEM(ids, i))) return false;
    }
    return plain(item, out);
  }

  bool plain(PyObject* item, Step* step) {
    switch (step->kind) {
      case kStepKernel: {
        void* address = PyLong_AsVoidPtr(PyTuple_GET_ITEM(item, 1));
        if (PyErr_Occurred()) return false;
        step->fn = reinterpret_cast<KernelFn>(address);
        step->joined = step->grain < 0;
        if (step->joined) step->grain = -step->grain;
        if (step->fn) return true;
        PyErr_SetString(PyExc_ValueError, "Program: a kernel step needs an address");
        return false;
      }
      case kStepPython:
        if (PyCallable_Check(step->payload)) return true;
        PyErr_SetString(PyExc_TypeError, "Program: the payload of a Python step must be callable");
        return false;
      case kStepCopy:
        if (step->arg_count == 2 && step->param_count >= 1 && step->params[0] >= 0) return true;
        PyErr_SetString(PyExc_ValueError, "Program: a copy step needs two slots and a byte count");
        return false;
      default:
        PyErr_Format(PyExc_ValueError, "Program: unknown kind of step %d", step->kind);
        return false;
    }
  }

  bool steps(PyObject* tuple, std::vector<Step>* out) {
    if (!tuple_of(tuple, -1, "steps")) return false;
    Py_ssize_t n = PyTuple_GET_SIZE(tuple);
    out->reserve(n);
    for (Py_ssize_t k = 0; k < n; k++) {
      out->emplace_back();
      if (!step(PyTuple_GET_ITEM(tuple, k), &out->back())) return false;
    }
    return true;
  }
};

}  // namespace

void program_body_free(ProgramBody* body) {
  if (!body) return;
  for (Output& output : body->outputs) Py_XDECREF(output.aval);
  for (Buffer* constant : body->constants) buffer_decref(constant);
  free_steps(body->steps);
  delete body;
}

ProgramBody* program_body_read(const ProgramDescription& description) {
  Reader reader;
  reader.body = new ProgramBody();
  reader.body->num_inputs = description.num_inputs;
  reader.body->workspace_bytes = description.workspace_bytes;
  double cost_ns = description.cost_ns;
  reader.body->cost_ns = cost_ns < 9e18 ? static_cast<int64_t>(cost_ns) : INT64_MAX;
  reader.body->release_gil = reader.body->cost_ns > kReleaseGilNs;
  if (reader.outputs(description.outputs) && reader.constants(description.constants) &&
      reader.read_slots(description.slots) &&
      reader.steps(description.steps, &reader.body->steps)) {
    return reader.body;
  }
  program_body_free(reader.body);
  return nullptr;
}

}  // namespace jitney
