// Jitted: a Python callable that runs a compiled program when one of its entries fits the call.
//
// In:  a vectorcall. Out: the result tree, or whatever the subclass's `_miss(args, kwargs)` gives.
// An entry fits if positions, keywords, static values, containers, leaf types and the configuration
// are those it was installed for. Entries are immutable and held by reference while they run.
#pragma once

#include <unordered_map>
#include <vector>

#include "program.h"
#include "pytree.h"

namespace jitney {

struct ArgumentSpec {
  enum Kind : uint8_t { kLeaf, kTree, kStatic } kind;
  int32_t argument;  // index in the vectorcall's argument array
  PyObject* object;  // kTree: TreeDef; kStatic: the value. Owned.
};

struct Entry {
  int64_t references = 1;  // counted under the GIL
  uint64_t config = 0;
  uint64_t hash = 0;
  int32_t num_positional = 0;
  int32_t num_leaves = 0;
  PyObject* kwnames = nullptr;  // owned tuple, or nullptr without keywords
  bool plain = false;           // every argument is a leaf, in order
  bool has_statics = false;
  bool runs_python = false;        // matching may call Python code (custom pytree nodes)
  bool inputs_are_leaves = false;  // the program takes exactly the leaves, in order
  bool single_output = false;
  std::vector<ArgumentSpec> arguments;
  std::vector<Aval*> avals;       // of the leaves; owned
  std::vector<int32_t> kept;      // program input -> leaf
  std::vector<PyObject*> hidden;  // further program inputs: Arrays of our own over shared buffers
  std::vector<uint8_t> donated_inputs;  // per program input; empty if nothing is donated
  std::vector<int32_t> donated_unused;  // donated leaves that the program does not take
  Program* program = nullptr;           // owned
  TreeDef* out_tree = nullptr;          // owned
};

void entry_free(Entry* entry);
inline void entry_decref(Entry* entry) {
  if (--entry->references == 0) entry_free(entry);
}

struct Jitted {
  PyObject_HEAD vectorcallfunc vectorcall;
  std::vector<Entry*>* entries;                        // newest last
  std::unordered_multimap<uint64_t, Entry*>* by_hash;  // nullptr: few entries, or not hashable
  std::vector<int32_t>* static_positions;
  std::vector<PyObject*>* static_names;  // owned, interned
  bool uniform_statics;                  // all entries have the same static arguments
  PyObject* dict;
  PyObject* weakrefs;
  Py_ssize_t max_entries;
  long long hits, misses;
};

extern PyTypeObject* jitted_type;

constexpr size_t kLinearEntries = 8;

// Tries one entry. kMatchNo: it does not fit. kMatchError: an exception is set.
enum class CallStatus { kNo, kDone, kError };
CallStatus entry_call(Entry* entry, PyObject* const* args, Py_ssize_t num_positional,
                      PyObject* kwnames, PyObject** result);

// The hash of a call; entries that fit it have the same one.
uint64_t call_hash(const Jitted* jitted, PyObject* const* args, Py_ssize_t num_positional,
                   PyObject* kwnames, uint64_t config);

// `_install` of the Python class.
PyObject* jitted_install(PyObject* self, PyObject* args, PyObject* kwargs);

int register_dispatch(PyObject* module);

}  // namespace jitney
