// Program: a compiled function. Steps over addresses, and how its outputs get their memory.
//
// In:  addresses of the inputs. Out: new Arrays. A program is immutable; all it needs a call is one
// table of addresses, resolved from (space, index, offset) triples before the first step.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "abi.h"
#include "array.h"

namespace jitney {

struct SlotRef {
  int32_t base;    // index in the table of base addresses: inputs, outputs, constants, workspace
  int64_t offset;  // bytes
};

constexpr int kMostInBlocks = 128, kMostPrivate = 8;  // operands of a for step in blocks

struct Step {
  StepKind kind;
  int32_t arg_begin;  // first of its operands in Program::args
  int32_t arg_count;
  KernelFn fn = nullptr;
  std::unique_ptr<int64_t[]> params;
  int32_t param_count = 0;
  int64_t extent = 0, grain = 0;
  bool joined = false;  // pieces of a kernel may come in one call
  PyObject* payload = nullptr;  // owned: the callable of a Python step, or what must stay alive
  std::vector<std::vector<Step>> bodies;  // while: cond, body; cond: branches; for: body
};

enum class OutputKind : uint8_t { kNew, kInput, kDonate };

struct Output {
  Aval* aval;  // owned
  OutputKind kind;
  int32_t input;
};

struct ProgramBody {  // the C++ part of a Program
  std::vector<Output> outputs;
  std::vector<SlotRef> args;
  std::vector<Step> steps;
  std::vector<Buffer*> constants;  // one reference each: a constant is never written to
  int32_t num_inputs = 0;
  int64_t workspace_bytes = 0;
  int64_t cost_ns = 0;
  bool release_gil = false;
  bool only_new_outputs = true;

  int32_t num_bases() const {
    return num_inputs + static_cast<int32_t>(outputs.size() + constants.size()) + 1;
  }
};

struct Program {
  PyObject_HEAD ProgramBody* body;
  PyObject* name;
  PyObject* keep;  // whatever owns the machine code
  PyObject* weakrefs;
};

struct ProgramDescription {  // the arguments of Program(); borrowed
  PyObject* outputs;
  int num_inputs;
  PyObject* slots;
  int64_t workspace_bytes;
  PyObject *steps, *constants;
  double cost_ns;
};

// nullptr with an error if the description is not sound.
ProgramBody* program_body_read(const ProgramDescription& description);
void program_body_free(ProgramBody* body);

extern PyTypeObject* program_type;
inline bool program_check(PyObject* object) { return Py_TYPE(object) == program_type; }

struct StepTime {
  int64_t runs = 0, ns = 0;
};
using StepTimes = std::unordered_map<const Step*, StepTime>;

struct ProgramInputs {
  void* const* data;         // address of each input
  PyObject* const* objects;  // borrowed; Arrays are held by their buffers while steps run
  const uint8_t* donated;    // per input, or nullptr
  int32_t first_private;     // inputs from here on are the caller's own Arrays: never handed out
  StepTimes* times = nullptr;  // where to add what each step took, if somebody asks
};

// Runs the program; results has room for every output and receives new references. False with an
// error set and nothing to release otherwise. Donated Arrays are deleted before the first step.
bool program_run(Program* program, const ProgramInputs& inputs, PyObject** results);

// swap_interrupt_check(callable or None): what loops of programs on this thread call now and then; it
// raises to stop them. Returns what was there before.
PyObject* swap_interrupt_check(PyObject* module, PyObject* callable);

int register_program(PyObject* module);

}  // namespace jitney
