// Running a program: memory for its outputs, donation, the table of addresses, and its steps.
#include <time.h>

#include <cstring>

#include "copy.h"
#include "denormals.h"
#include "place_outputs.h"
#include "pool.h"
#include "program.h"

namespace jitney {

namespace {

constexpr int kStackPointers = 192;

// A table of pointers, on the stack while it is small.
struct PointerTable {
  void* small[kStackPointers];
  void** data = small;
  bool reserve(size_t n) {
    if (JITNEY_LIKELY(n <= kStackPointers)) return true;
    data = static_cast<void**>(PyMem_Malloc(n * sizeof(void*)));
    return data != nullptr;
  }
  ~PointerTable() {
    if (JITNEY_UNLIKELY(data != small)) PyMem_Free(data);
  }
};

// ---- steps ----------------------------------------------------------------

struct RunState {
  void** args;
  StepTimes* times = nullptr;
  PyThreadState* released = nullptr;  // set while the GIL is not held
  // Ctrl-C: the clock is read every `stride` iterations of any loop, signals every 50 ms.
  int64_t stride = 1, countdown = 1;
  int64_t last_clock = 0, last_signals = 0;
};

int64_t now_ns() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * int64_t{1000000000} + time.tv_nsec;
}

// What long loops on this thread ask now and then whether to stop: it raises to stop them.
thread_local PyObject* interrupt_check = nullptr;

bool check_signals(RunState& state) {
  const FlushingMode as_usual(0);  // what Python computes is its own affair
  bool without_gil = state.released != nullptr;
  if (without_gil) PyEval_RestoreThread(state.released);
  int status = PyErr_CheckSignals();
  if (status == 0 && interrupt_check) {
    PyObject* result = PyObject_CallNoArgs(interrupt_check);
    status = result ? 0 : -1;
    Py_XDECREF(result);
  }
  if (without_gil) state.released = PyEval_SaveThread();
  return status == 0;
}

bool tick_slow(RunState& state) {
  int64_t now = now_ns();
  if (state.last_clock == 0) {
    state.last_signals = now;
  } else {
    int64_t elapsed = now - state.last_clock;
    if (elapsed < 2000000 && state.stride < (1 << 20))
      state.stride *= 2;
    else if (elapsed > 20000000 && state.stride > 1)
      state.stride /= 2;
  }
  state.last_clock = now;
  state.countdown = state.stride;
  if (now - state.last_signals < 50000000) return true;
  state.last_signals = now;
  return check_signals(state);
}

// Once an iteration; false: an exception is set.
inline bool tick(RunState& state) {
  return JITNEY_LIKELY(--state.countdown > 0) || tick_slow(state);
}

struct KernelCall {
  KernelFn fn;
  void* const* ptrs;
  const int64_t* params;
};

void run_piece(void* context, int64_t lo, int64_t hi) {
  const KernelCall* call = static_cast<const KernelCall*>(context);
  call->fn(call->ptrs, call->params, lo, hi);
}

inline void run_kernel(const Step& step, void** args) {
  if (JITNEY_LIKELY(step.grain <= 0 || step.extent <= step.grain)) {
    step.fn(args, step.params.get(), 0, step.extent);
    return;
  }
  __atomic_fetch_add(&counters.parallel_regions, 1, __ATOMIC_RELAXED);  // the GIL may be released
  KernelCall call = {step.fn, args, step.params.get()};
  pool_parallel_for(step.extent, step.grain, run_piece, &call, step.joined);
}

bool run_python(const Step& step, RunState& state, void** args) {
  const FlushingMode as_usual(0);
  bool without_gil = state.released != nullptr;
  if (without_gil) PyEval_RestoreThread(state.released);
  PyObject* tuple = PyTuple_New(step.arg_count);
  for (int i = 0; tuple && i < step.arg_count; i++) {
    PyObject* address = PyLong_FromVoidPtr(args[i]);
    if (address)
      PyTuple_SET_ITEM(tuple, i, address);
    else
      Py_CLEAR(tuple);
  }
  PyObject* result = tuple ? PyObject_CallObject(step.payload, tuple) : nullptr;
  Py_XDECREF(tuple);
  Py_XDECREF(result);
  if (without_gil) state.released = PyEval_SaveThread();
  return result != nullptr;
}

int64_t read_integer(const void* address, int64_t bytes) {
  if (bytes == 1) return *static_cast<const uint8_t*>(address);
  return bytes == 8 ? *static_cast<const int64_t*>(address) : *static_cast<const int32_t*>(address);
}

void write_integer(void* address, int64_t bytes, int64_t value) {
  if (bytes == 8)
    *static_cast<int64_t*>(address) = value;
  else
    *static_cast<int32_t*>(address) = static_cast<int32_t>(value);
}

bool run_steps(const std::vector<Step>& steps, RunState& state);

bool run_while(const Step& step, RunState& state, void** args) {
  const uint8_t* predicate = static_cast<const uint8_t*>(args[0]);
  for (;;) {
    if (!run_steps(step.bodies[0], state)) return false;
    if (*predicate == 0) return true;
    if (!run_steps(step.bodies[1], state) || !tick(state)) return false;
  }
}

bool run_cond(const Step& step, RunState& state, void** args) {
  int64_t last = static_cast<int64_t>(step.bodies.size()) - 1;
  int64_t index = read_integer(args[0], step.params[0]);
  if (index < 0) index = 0;
  if (index > last) index = last;
  return run_steps(step.bodies[index], state);
}

// params = [count, counter bytes (0: none), count bytes (0: params[0] counts), start, increment]
bool run_for(const Step& step, RunState& state, void** args) {
  const int64_t* params = step.params.get();
  int64_t count = params[2] ? read_integer(args[0], params[2]) : params[0];
  int64_t value = params[3];
  for (int64_t i = 0; i < count; i++, value += params[4]) {
    if (params[1]) write_integer(args[1], params[1], value);
    if (!run_steps(step.bodies[0], state) || !tick(state)) return false;
  }
  return true;
}

// A for step of more than one block: its steps have rows that have nothing to do with one another, and their grain is
// what they do of one block. A block does some turns, then the next one does. Threads are at different turns: each has
// its own counter and numbers computed from it, and a table of addresses in which these take the places of the
// program's (the step's operands from the second one on).
struct BlockedTurns {
  const Step& loop;
  void** args;
  int64_t first, count;  // turns
};

inline void run_in_block(const Step& step, void** args, int64_t block) {
  const int64_t first = block * step.grain, left = step.extent - first;
  const int64_t count = left < step.grain ? left : step.grain;
  if (step.kind == kStepKernel) return step.fn(args, step.params.get(), first, first + count);
  std::memcpy(static_cast<char*>(args[1]) + first, static_cast<const char*>(args[0]) + first, count);
}

void run_blocks(void* context, int64_t lo, int64_t hi) {
  const BlockedTurns& all = *static_cast<const BlockedTurns*>(context);
  const std::vector<Step>& steps = all.loop.bodies[0];
  const int64_t* params = all.loop.params.get();
  int64_t own[kMostPrivate + 1] = {}, &counter = own[0];
  void* table[kMostInBlocks];
  const int32_t begin = steps.front().arg_begin, end = steps.back().arg_begin + steps.back().arg_count;
  for (int32_t i = begin; i < end; i++) {
    table[i - begin] = all.args[i];
    for (int32_t k = params[1] ? 1 : 2; k < all.loop.arg_count; k++)
      if (all.args[i] == all.args[all.loop.arg_begin + k]) table[i - begin] = &own[k - 1];
  }
  for (int64_t block = lo; block < hi; block++) {
    for (int64_t turn = all.first; turn < all.first + all.count; turn++) {
      if (params[1]) write_integer(&counter, params[1], params[3] + turn * params[4]);
      for (const Step& step : steps) run_in_block(step, table + (step.arg_begin - begin), block);
    }
  }
}

bool run_blocked_for(const Step& step, RunState& state) {
  const int64_t count = step.params[0];
  for (int64_t done = 0; done < count; done += step.grain) {
    BlockedTurns all = {step, state.args, done, count - done < step.grain ? count - done : step.grain};
    __atomic_fetch_add(&counters.parallel_regions, 1, __ATOMIC_RELAXED);
    pool_parallel_for(step.extent, 1, run_blocks, &all);
    if (!tick(state)) return false;
  }
  return true;
}

inline bool run_other(const Step& step, RunState& state, void** args) {
  switch (step.kind) {
    case kStepCopy: copy_bytes(args[1], args[0], step.params[0]); return true;
    case kStepPython: return run_python(step, state, args);
    case kStepWhile: return run_while(step, state, args);
    case kStepCond: return run_cond(step, state, args);
    case kStepFor: return step.extent > 1 ? run_blocked_for(step, state) : run_for(step, state, args);
    default: return true;
  }
}

bool run_timed(const std::vector<Step>& steps, RunState& state) {
  for (const Step& step : steps) {
    void** args = state.args + step.arg_begin;
    const int64_t begin = now_ns();
    bool ok = true;
    if (step.kind == kStepKernel)
      run_kernel(step, args);
    else
      ok = run_other(step, state, args);
    StepTime& time = (*state.times)[&step];
    time.runs++;
    time.ns += now_ns() - begin;
    if (!ok) return false;
  }
  return true;
}

bool run_steps(const std::vector<Step>& steps, RunState& state) {
  if (JITNEY_UNLIKELY(state.times != nullptr)) return run_timed(steps, state);
  for (const Step& step : steps) {
    void** args = state.args + step.arg_begin;
    if (JITNEY_LIKELY(step.kind == kStepKernel)) {
      run_kernel(step, args);
      continue;
    }
    if (JITNEY_UNLIKELY(!run_other(step, state, args))) return false;
  }
  return true;
}

// ---- inputs that must outlive the call's borrowed references --------------

// Array inputs are held by their buffers, other objects by themselves.
struct HeldInputs {
  const ProgramInputs& inputs;
  int32_t n;
  PointerTable buffers;
  bool held = false;

  HeldInputs(const ProgramInputs& in, int32_t count) : inputs(in), n(count) {}

  bool hold() {
    if (!buffers.reserve(n)) return false;
    for (int32_t i = 0; i < n; i++) {
      PyObject* object = inputs.objects[i];
      if (array_check(object)) {
        Buffer* buffer = reinterpret_cast<Array*>(object)->buffer;
        buffer_incref(buffer);
        buffers.data[i] = buffer;
      } else {
        buffers.data[i] = nullptr;
      }
      Py_INCREF(object);
    }
    held = true;
    return true;
  }

  Buffer* buffer(int32_t i) const { return static_cast<Buffer*>(buffers.data[i]); }

  ~HeldInputs() {
    if (!held) return;
    for (int32_t i = 0; i < n; i++) {
      if (Buffer* b = buffer(i)) buffer_decref(b);
      Py_DECREF(inputs.objects[i]);
    }
  }
};

void delete_donated(const ProgramInputs& inputs, int32_t n) {
  for (int32_t i = 0; i < n; i++) {
    if (inputs.donated[i] && array_check(inputs.objects[i])) {
      array_delete(reinterpret_cast<Array*>(inputs.objects[i]));
    }
  }
}

// ---- outputs --------------------------------------------------------------

inline PyObject* make_new(const ProgramBody& body, size_t k, const ProgramInputs& inputs) {
  Aval* aval = body.outputs[k].aval;
  Buffer* buffer = buffer_new(static_cast<size_t>(aval->nbytes));
  if (JITNEY_UNLIKELY(!buffer)) return PyErr_NoMemory();
  if (JITNEY_UNLIKELY(buffer->flags & kBufferHuge)) place_output(buffer, k, inputs, body.num_inputs);
  return array_new(aval, buffer);
}

PyObject* make_copy(Aval* aval, const void* data) {
  PyObject* array = array_new_empty(aval);
  if (!array) return nullptr;
  counters.copies++;
  copy_bytes(reinterpret_cast<Array*>(array)->buffer->data, data, aval->nbytes);
  return array;
}

PyObject* share(Aval* aval, Buffer* buffer) {
  buffer_incref(buffer);
  return array_new(aval, buffer);
}

PyObject* make_from_input(const Output& output, const ProgramInputs& inputs,
                          const HeldInputs& held) {
  int32_t i = output.input;
  PyObject* object = inputs.objects[i];
  if (!array_check(object)) return make_copy(output.aval, inputs.data[i]);
  Array* array = reinterpret_cast<Array*>(object);
  Buffer* buffer = held.held ? held.buffer(i) : array->buffer;
  if (array->aval == output.aval && array->buffer && i < inputs.first_private) {
    Py_INCREF(object);
    return object;
  }
  return share(output.aval, buffer);
}

PyObject* make_donated(const Output& output, const ProgramInputs& inputs, const HeldInputs& held) {
  int32_t i = output.input;
  if (held.held && inputs.donated && inputs.donated[i]) {
    Buffer* buffer = held.buffer(i);
    if (buffer && buffer_is_exclusive(buffer)) {
      counters.buffer_reuses++;
      return share(output.aval, buffer);
    }
  }
  return make_copy(output.aval, inputs.data[i]);
}

// Outputs that are inputs come first, so that a buffer handed out is seen to be shared.
bool make_outputs(const ProgramBody& body, const ProgramInputs& inputs, const HeldInputs& held,
                  PyObject** results) {
  size_t n = body.outputs.size();
  std::memset(results, 0, n * sizeof(PyObject*));
  bool ok = true;
  for (size_t k = 0; k < n && ok; k++) {
    if (body.outputs[k].kind != OutputKind::kInput) continue;
    results[k] = make_from_input(body.outputs[k], inputs, held);
    ok = results[k] != nullptr;
  }
  for (size_t k = 0; k < n && ok; k++) {
    if (results[k]) continue;
    const Output& output = body.outputs[k];
    results[k] = output.kind == OutputKind::kNew ? make_new(body, k, inputs)
                                                 : make_donated(output, inputs, held);
    ok = results[k] != nullptr;
  }
  if (ok) return true;
  for (size_t k = 0; k < n; k++) Py_XDECREF(results[k]);
  return false;
}

bool make_new_outputs(const ProgramBody& body, const ProgramInputs& inputs, PyObject** results) {
  size_t n = body.outputs.size();
  for (size_t k = 0; k < n; k++) {
    results[k] = make_new(body, k, inputs);
    if (JITNEY_LIKELY(results[k] != nullptr)) continue;
    while (k-- > 0) Py_DECREF(results[k]);
    return false;
  }
  return true;
}

void resolve_args(const ProgramBody& body, const ProgramInputs& inputs, PyObject** results,
                  Buffer* workspace, void** bases, void** args) {
  void** out = bases;
  for (int32_t i = 0; i < body.num_inputs; i++) *out++ = inputs.data[i];
  for (size_t k = 0; k < body.outputs.size(); k++) {
    *out++ = reinterpret_cast<Array*>(results[k])->buffer->data;
  }
  for (Buffer* constant : body.constants) *out++ = constant->data;
  *out = workspace ? workspace->data : nullptr;
  for (const SlotRef& slot : body.args) {
    *args++ = static_cast<char*>(bases[slot.base]) + slot.offset;
  }
}

}  // namespace

PyObject* swap_interrupt_check(PyObject*, PyObject* callable) {
  PyObject* before = interrupt_check;
  interrupt_check = nullptr;
  if (callable != Py_None) {
    Py_INCREF(callable);
    interrupt_check = callable;
  }
  if (before) return before;
  Py_RETURN_NONE;
}

bool program_run(Program* program, const ProgramInputs& inputs, PyObject** results) {
  const ProgramBody& body = *program->body;
  counters.calls++;
  HeldInputs held(inputs, body.num_inputs);
  if (JITNEY_UNLIKELY(body.release_gil || inputs.donated != nullptr)) {
    if (!held.hold()) {
      PyErr_NoMemory();
      return false;
    }
    if (inputs.donated) delete_donated(inputs, body.num_inputs);
  }
  if (JITNEY_LIKELY(body.only_new_outputs) ? !make_new_outputs(body, inputs, results)
                                           : !make_outputs(body, inputs, held, results)) {
    return false;
  }
  PointerTable bases, args;
  Buffer* workspace = nullptr;
  bool ok = bases.reserve(body.num_bases()) && args.reserve(body.args.size());
  if (ok && body.workspace_bytes) {
    workspace = buffer_new(static_cast<size_t>(body.workspace_bytes));
    ok = workspace != nullptr;
  }
  if (JITNEY_UNLIKELY(!ok)) {
    PyErr_NoMemory();
  } else {
    resolve_args(body, inputs, results, workspace, bases.data, args.data);
    RunState state;
    state.args = args.data;
    state.times = inputs.times;
    if (body.release_gil) state.released = PyEval_SaveThread();
    {
      const FlushingMode mode(kFlushing);
      ok = run_steps(body.steps, state);
    }
    if (state.released) PyEval_RestoreThread(state.released);
  }
  if (workspace) buffer_decref(workspace);
  if (JITNEY_UNLIKELY(!ok)) {
    for (size_t k = 0; k < body.outputs.size(); k++) Py_DECREF(results[k]);
  }
  return ok;
}

}  // namespace jitney
