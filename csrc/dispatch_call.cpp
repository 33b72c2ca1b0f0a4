// The fast path of a jitted call: match an entry, gather addresses, run its program.
#include <alloca.h>

#include "dispatch.h"
#include "leaf.h"

namespace jitney {

namespace {

constexpr int32_t kStackLeaves = 256;

// Room for one attempt: per leaf the object, the address and scratch for a scalar.
struct Frame {
  PyObject** leaves;
  void** data;
  ScalarScratch* scratch;
};

inline size_t frame_bytes(int32_t n) {
  return static_cast<size_t>(n) * (sizeof(PyObject*) + sizeof(void*) + sizeof(ScalarScratch)) + 16;
}

inline Frame make_frame(void* memory, int32_t n) {
  uintptr_t base = (reinterpret_cast<uintptr_t>(memory) + 15) & ~uintptr_t{15};
  ScalarScratch* scratch = reinterpret_cast<ScalarScratch*>(base);
  void** data = reinterpret_cast<void**>(scratch + n);
  return {reinterpret_cast<PyObject**>(data + n), data, scratch};
}

bool same_kwnames(PyObject* a, PyObject* b) {
  if (a == b) return true;
  if (!a || !b || PyTuple_GET_SIZE(a) != PyTuple_GET_SIZE(b)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(a); i++) {
    PyObject *x = PyTuple_GET_ITEM(a, i), *y = PyTuple_GET_ITEM(b, i);
    if (x != y && PyUnicode_Compare(x, y) != 0) return false;
  }
  return true;
}

// 1: same type and equal, 0: not, -1: error.
int same_static(PyObject* a, PyObject* b) {
  if (a == b) return 1;
  if (Py_TYPE(a) != Py_TYPE(b)) return 0;
  return PyObject_RichCompareBool(a, b, Py_EQ);
}

int statics_match(const Entry* entry, PyObject* const* args) {
  for (const ArgumentSpec& spec : entry->arguments) {
    if (spec.kind != ArgumentSpec::kStatic) continue;
    int same = same_static(spec.object, args[spec.argument]);
    if (same != 1) return same;
  }
  return 1;
}

bool keep_leaves(PyObject** leaves, int32_t n, Temporaries* temporaries) {
  for (int32_t i = 0; i < n; i++) {
    Py_INCREF(leaves[i]);
    if (!temporaries->keep(leaves[i])) return false;
  }
  return true;
}

// Containers to leaves. kDone: they fit.
CallStatus trees_match(const Entry* entry, PyObject* const* args, PyObject** leaves,
                       Temporaries* temporaries) {
  for (const ArgumentSpec& spec : entry->arguments) {
    if (spec.kind == ArgumentSpec::kStatic) continue;
    PyObject* argument = args[spec.argument];
    if (spec.kind == ArgumentSpec::kLeaf) {
      *leaves++ = argument;
      continue;
    }
    TreeDef* tree = reinterpret_cast<TreeDef*>(spec.object);
    PyObject* made = nullptr;
    bool fits = tree_match(tree, argument, leaves, &made);
    if (made && !temporaries->keep(made)) return CallStatus::kError;
    if (!fits) return CallStatus::kNo;
    int32_t n = tree_num_leaves(tree);
    if (entry->runs_python && !keep_leaves(leaves, n, temporaries)) return CallStatus::kError;
    leaves += n;
  }
  return CallStatus::kDone;
}

inline bool leaves_match(const Entry* entry, PyObject* const* leaves, const Frame& frame,
                         Temporaries* temporaries) {
  Aval* const* avals = entry->avals.data();
  for (int32_t i = 0, n = entry->num_leaves; i < n; i++) {
    if (JITNEY_UNLIKELY(
            !leaf_match(leaves[i], avals[i], &frame.data[i], &frame.scratch[i], temporaries))) {
      return false;
    }
  }
  return true;
}

// Leaves to the program's inputs, where these are a selection of them or more.
void gather_inputs(const Entry* entry, PyObject* const* leaves, void* const* data,
                   PyObject** objects, void** addresses) {
  for (int32_t leaf : entry->kept) {
    *objects++ = leaves[leaf];
    *addresses++ = data[leaf];
  }
  for (PyObject* hidden : entry->hidden) {
    *objects++ = hidden;
    *addresses++ = reinterpret_cast<Array*>(hidden)->buffer->data;
  }
}

PyObject* run_entry(Entry* entry, PyObject* const* leaves, void* const* data) {
  Program* program = entry->program;
  const ProgramBody& body = *program->body;
  size_t num_outputs = body.outputs.size();
  ProgramInputs inputs = {data, leaves, nullptr, static_cast<int32_t>(entry->kept.size())};
  size_t words = num_outputs + 1;
  if (!entry->inputs_are_leaves) words += 2 * static_cast<size_t>(body.num_inputs);
  bool on_stack = JITNEY_LIKELY(words <= 1024);
  void** room = static_cast<void**>(on_stack ? alloca(words * sizeof(void*))
                                             : PyMem_Malloc(words * sizeof(void*)));
  if (!room) return PyErr_NoMemory();
  PyObject** results = reinterpret_cast<PyObject**>(room);
  if (!entry->inputs_are_leaves) {
    PyObject** objects = reinterpret_cast<PyObject**>(room + num_outputs + 1);
    void** addresses = room + num_outputs + 1 + body.num_inputs;
    gather_inputs(entry, leaves, data, objects, addresses);
    inputs.data = addresses;
    inputs.objects = objects;
  }
  if (JITNEY_UNLIKELY(!entry->donated_inputs.empty()))
    inputs.donated = entry->donated_inputs.data();
  PyObject* result = nullptr;
  if (JITNEY_LIKELY(program_run(program, inputs, results))) {
    result = entry->single_output ? results[0] : tree_build(entry->out_tree, results);
  }
  if (JITNEY_UNLIKELY(!on_stack)) PyMem_Free(room);
  return result;
}

CallStatus attempt(Entry* entry, PyObject* const* args, const Frame& frame, PyObject** result) {
  Temporaries temporaries;
  PyObject* const* leaves = args;
  if (JITNEY_UNLIKELY(!entry->plain)) {
    if (entry->has_statics) {
      int same = statics_match(entry, args);
      if (same != 1) return same < 0 ? CallStatus::kError : CallStatus::kNo;
    }
    CallStatus status = trees_match(entry, args, frame.leaves, &temporaries);
    if (status != CallStatus::kDone) return status;
    leaves = frame.leaves;
  }
  if (!leaves_match(entry, leaves, frame, &temporaries)) return CallStatus::kNo;
  if (JITNEY_UNLIKELY(temporaries.pending)) {
    for (int32_t i = 0; i < entry->num_leaves; i++) frame.leaves[i] = leaves[i];
    leaves = frame.leaves;
    if (!convert_pending(frame.leaves, entry->avals.data(), frame.data, entry->num_leaves,
                         &temporaries)) {
      return CallStatus::kError;
    }
  }
  if (JITNEY_UNLIKELY(!entry->donated_unused.empty())) {
    for (int32_t leaf : entry->donated_unused) {
      if (array_check(leaves[leaf])) array_delete(reinterpret_cast<Array*>(leaves[leaf]));
    }
  }
  *result = run_entry(entry, leaves, frame.data);
  return JITNEY_LIKELY(*result != nullptr) ? CallStatus::kDone : CallStatus::kError;
}

CallStatus attempt_on_heap(Entry* entry, PyObject* const* args, PyObject** result) {
  void* memory = PyMem_Malloc(frame_bytes(entry->num_leaves));
  if (!memory) {
    PyErr_NoMemory();
    return CallStatus::kError;
  }
  CallStatus status = attempt(entry, args, make_frame(memory, entry->num_leaves), result);
  PyMem_Free(memory);
  return status;
}

}  // namespace

CallStatus entry_call(Entry* entry, PyObject* const* args, Py_ssize_t num_positional,
                      PyObject* kwnames, PyObject** result) {
  if (entry->num_positional != num_positional) return CallStatus::kNo;
  if (JITNEY_UNLIKELY(entry->kwnames != kwnames) && !same_kwnames(entry->kwnames, kwnames)) {
    return CallStatus::kNo;
  }
  entry->references++;  // Python code or another thread may drop it from the list
  CallStatus status;
  if (JITNEY_LIKELY(entry->num_leaves <= kStackLeaves)) {
    void* memory = alloca(frame_bytes(entry->num_leaves));
    status = attempt(entry, args, make_frame(memory, entry->num_leaves), result);
  } else {
    status = attempt_on_heap(entry, args, result);
  }
  entry_decref(entry);
  return status;
}

}  // namespace jitney
