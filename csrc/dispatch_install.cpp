// Making entries: `_install` flattens one call's arguments once and notes what to check later.
#include <algorithm>
#include <cstring>

#include "context.h"
#include "dispatch.h"
#include "leaf.h"

namespace jitney {

void entry_free(Entry* entry) {
  for (ArgumentSpec& spec : entry->arguments) Py_XDECREF(spec.object);
  for (Aval* aval : entry->avals) Py_DECREF(aval);
  for (PyObject* hidden : entry->hidden) Py_DECREF(hidden);
  Py_XDECREF(entry->kwnames);
  Py_XDECREF(entry->program);
  Py_XDECREF(entry->out_tree);
  delete entry;
}

namespace {

bool read_indices(PyObject* object, const char* what, std::vector<int32_t>* out) {
  PyObject* sequence = PySequence_Fast(object, what);
  if (!sequence) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(sequence); i++) {
    long value = PyLong_AsLong(PySequence_Fast_GET_ITEM(sequence, i));
    if (value == -1 && PyErr_Occurred()) break;
    out->push_back(static_cast<int32_t>(value));
  }
  Py_DECREF(sequence);
  return !PyErr_Occurred();
}

bool contains(const std::vector<int32_t>& values, int64_t value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

enum class Added { kYes, kUnsupported, kError };

// Builds one entry from the arguments of one call.
struct EntryBuilder {
  Entry* entry = new Entry();

  ~EntryBuilder() {
    if (entry) entry_decref(entry);
  }

  Entry* release() {
    Entry* done = entry;
    entry = nullptr;
    return done;
  }

  void add_static(PyObject* value, int32_t argument) {
    Py_INCREF(value);
    entry->arguments.push_back({ArgumentSpec::kStatic, argument, value});
    entry->has_statics = true;
  }

  Added add_leaf(PyObject* leaf) {
    Aval* aval = leaf_aval(leaf);
    if (!aval) return PyErr_Occurred() ? Added::kError : Added::kUnsupported;
    entry->avals.push_back(aval);
    entry->num_leaves++;
    return Added::kYes;
  }

  Added add_dynamic(PyObject* value, int32_t argument) {
    std::vector<PyObject*> leaves;
    TreeDef* tree = reinterpret_cast<TreeDef*>(tree_flatten_object(value, leaves));
    if (!tree) return Added::kError;
    bool leaf = tree_is_leaf(tree);
    entry->runs_python |= tree->runs_python;
    entry->arguments.push_back({leaf ? ArgumentSpec::kLeaf : ArgumentSpec::kTree, argument,
                                leaf ? nullptr : reinterpret_cast<PyObject*>(tree)});
    if (leaf) Py_DECREF(tree);
    Added added = Added::kYes;
    for (PyObject* object : leaves) {
      if (added == Added::kYes) added = add_leaf(object);
      Py_DECREF(object);
    }
    return added;
  }

  Added add_positional(PyObject* args, const std::vector<int32_t>& static_positions) {
    Py_ssize_t n = PyTuple_GET_SIZE(args);
    entry->num_positional = static_cast<int32_t>(n);
    for (int32_t i = 0; i < n; i++) {
      PyObject* value = PyTuple_GET_ITEM(args, i);
      if (contains(static_positions, i)) {
        add_static(value, i);
        continue;
      }
      Added added = add_dynamic(value, i);
      if (added != Added::kYes) return added;
    }
    return Added::kYes;
  }

  // Keywords are numbered as they came, but their leaves follow the names' sorted order, as in the
  // flattened dict of keyword arguments.
  Added add_keywords(PyObject* kwargs, PyObject* static_names) {
    if (!kwargs || PyDict_GET_SIZE(kwargs) == 0) return Added::kYes;
    PyObject* names = PyDict_Keys(kwargs);
    if (!names) return Added::kError;
    entry->kwnames = PyList_AsTuple(names);
    Added added = entry->kwnames && PyList_Sort(names) == 0 ? Added::kYes : Added::kError;
    for (Py_ssize_t k = 0; added == Added::kYes && k < PyList_GET_SIZE(names); k++) {
      PyObject* name = PyList_GET_ITEM(names, k);
      Py_ssize_t place = PySequence_Index(entry->kwnames, name);
      int is_static = PySequence_Contains(static_names, name);
      PyObject* value = PyDict_GetItemWithError(kwargs, name);
      if (place < 0 || is_static < 0 || !value) {
        added = Added::kError;
        break;
      }
      int32_t argument = entry->num_positional + static_cast<int32_t>(place);
      if (is_static)
        add_static(value, argument);
      else
        added = add_dynamic(value, argument);
    }
    Py_DECREF(names);
    return added;
  }

  bool add_program(PyObject* program, PyObject* kept, PyObject* hidden, PyObject* out_tree,
                   PyObject* donated) {
    Py_INCREF(program);
    entry->program = reinterpret_cast<Program*>(program);
    Py_INCREF(out_tree);
    entry->out_tree = reinterpret_cast<TreeDef*>(out_tree);
    if (!read_indices(kept, "kept must be a sequence of leaf indices", &entry->kept)) return false;
    for (int32_t leaf : entry->kept) {
      if (leaf < 0 || leaf >= entry->num_leaves) {
        PyErr_Format(PyExc_IndexError, "_install: kept leaf %d of %d", leaf, entry->num_leaves);
        return false;
      }
    }
    if (!add_hidden(hidden)) return false;
    const ProgramBody& body = *entry->program->body;
    size_t given = entry->kept.size() + entry->hidden.size();
    if (given != static_cast<size_t>(body.num_inputs)) {
      PyErr_Format(PyExc_ValueError, "_install: the program takes %d inputs, got %zu",
                   body.num_inputs, given);
      return false;
    }
    if (static_cast<size_t>(tree_num_leaves(entry->out_tree)) != body.outputs.size()) {
      PyErr_Format(PyExc_ValueError, "_install: %zu outputs for a tree of %d leaves",
                   body.outputs.size(), static_cast<int>(tree_num_leaves(entry->out_tree)));
      return false;
    }
    return add_donated(donated);
  }

  bool add_hidden(PyObject* hidden) {
    PyObject* sequence = PySequence_Fast(hidden, "hidden must be a sequence of Arrays");
    if (!sequence) return false;
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(sequence); k++) {
      PyObject* item = PySequence_Fast_GET_ITEM(sequence, k);
      if (!array_check(item)) {
        PyErr_SetString(PyExc_TypeError, "_install: hidden inputs must be Arrays");
        break;
      }
      Array* array = reinterpret_cast<Array*>(item);
      if (!array->buffer) {
        array_deleted_error(array);
        break;
      }
      buffer_incref(array->buffer);  // our own Array: the user may delete theirs
      PyObject* own = array_new(array->aval, array->buffer);
      if (!own) break;
      entry->hidden.push_back(own);
    }
    Py_DECREF(sequence);
    return !PyErr_Occurred();
  }

  bool add_donated(PyObject* donated) {
    std::vector<int32_t> leaves;
    if (!read_indices(donated, "donated must be a sequence of leaf indices", &leaves)) return false;
    if (leaves.empty()) return true;
    entry->donated_inputs.assign(entry->kept.size() + entry->hidden.size() + 1, 0);
    for (int32_t leaf : leaves) {
      if (leaf < 0 || leaf >= entry->num_leaves) {
        PyErr_Format(PyExc_IndexError, "_install: donated leaf %d of %d", leaf, entry->num_leaves);
        return false;
      }
      bool used = false;
      for (size_t i = 0; i < entry->kept.size(); i++) {
        if (entry->kept[i] != leaf) continue;
        entry->donated_inputs[i] = 1;
        used = true;
      }
      if (!used) entry->donated_unused.push_back(leaf);
    }
    return true;
  }

  void finish() {
    entry->plain = !entry->kwnames;
    for (const ArgumentSpec& spec : entry->arguments) {
      if (spec.kind != ArgumentSpec::kLeaf) entry->plain = false;
    }
    entry->inputs_are_leaves =
        entry->hidden.empty() && entry->kept.size() == static_cast<size_t>(entry->num_leaves);
    for (size_t i = 0; i < entry->kept.size(); i++) {
      if (entry->kept[i] != static_cast<int32_t>(i)) entry->inputs_are_leaves = false;
    }
    entry->single_output = tree_is_leaf(entry->out_tree);
  }
};

bool same_names(const std::vector<PyObject*>& names, PyObject* tuple) {
  if (static_cast<Py_ssize_t>(names.size()) != PyTuple_GET_SIZE(tuple)) return false;
  for (size_t i = 0; i < names.size(); i++) {
    if (PyUnicode_Compare(names[i], PyTuple_GET_ITEM(tuple, i)) != 0) return false;
  }
  return true;
}

// Notes which arguments are static, for hashing calls; entries that differ in it end the hashing.
bool note_statics(Jitted* jitted, const std::vector<int32_t>& positions, PyObject* names) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++) {
    if (PyUnicode_Check(PyTuple_GET_ITEM(names, i))) continue;
    PyErr_SetString(PyExc_TypeError, "_install: static_argnames must be strings");
    return false;
  }
  if (jitted->entries->empty()) {
    *jitted->static_positions = positions;
    for (PyObject* name : *jitted->static_names) Py_DECREF(name);
    jitted->static_names->clear();
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++) {
      PyObject* name = PyTuple_GET_ITEM(names, i);
      Py_INCREF(name);
      jitted->static_names->push_back(name);
    }
    jitted->uniform_statics = true;
  } else if (*jitted->static_positions != positions || !same_names(*jitted->static_names, names)) {
    jitted->uniform_statics = false;
  }
  return true;
}

void remove_oldest(Jitted* jitted) {
  Entry* oldest = jitted->entries->front();
  jitted->entries->erase(jitted->entries->begin());
  if (jitted->by_hash) {
    auto range = jitted->by_hash->equal_range(oldest->hash);
    for (auto it = range.first; it != range.second; ++it) {
      if (it->second != oldest) continue;
      jitted->by_hash->erase(it);
      break;
    }
  }
  entry_decref(oldest);
}

void add_entry(Jitted* jitted, Entry* entry) {
  Py_ssize_t bound = std::max<Py_ssize_t>(jitted->max_entries, 1);
  while (static_cast<Py_ssize_t>(jitted->entries->size()) >= bound) remove_oldest(jitted);
  jitted->entries->push_back(entry);
  if (!jitted->uniform_statics) {
    delete jitted->by_hash;
    jitted->by_hash = nullptr;
    return;
  }
  if (jitted->by_hash) {
    jitted->by_hash->emplace(entry->hash, entry);
  } else if (jitted->entries->size() > kLinearEntries) {
    jitted->by_hash = new std::unordered_multimap<uint64_t, Entry*>();
    for (Entry* each : *jitted->entries) jitted->by_hash->emplace(each->hash, each);
  }
}

// The hash a call with these arguments has; kwargs in their own order, as in the entry's kwnames.
uint64_t hash_arguments(const Jitted* jitted, const Entry* entry, PyObject* args,
                        PyObject* kwargs) {
  std::vector<PyObject*> flat;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); i++) flat.push_back(PyTuple_GET_ITEM(args, i));
  for (Py_ssize_t i = 0; entry->kwnames && i < PyTuple_GET_SIZE(entry->kwnames); i++) {
    flat.push_back(PyDict_GetItem(kwargs, PyTuple_GET_ITEM(entry->kwnames, i)));
  }
  flat.push_back(nullptr);
  return call_hash(jitted, flat.data(), PyTuple_GET_SIZE(args), entry->kwnames, entry->config);
}

}  // namespace

PyObject* jitted_install(PyObject* self, PyObject* call_args, PyObject* call_kwargs) {
  static const char* kNames[] = {"args",    "kwargs",    "static_argnums", "static_argnames",
                                 "program", "kept",      "hidden",         "out_tree",
                                 "donated", "config_id", nullptr};
  PyObject *args, *kwargs, *static_argnums, *static_argnames, *program, *kept, *hidden, *out_tree;
  PyObject *donated, *config = Py_None;
  if (!PyArg_ParseTupleAndKeywords(
          call_args, call_kwargs, "O!OOO!O!OOO!O|O:_install", const_cast<char**>(kNames),
          &PyTuple_Type, &args, &kwargs, &static_argnums, &PyTuple_Type, &static_argnames,
          program_type, &program, &kept, &hidden, TreeDefType, &out_tree, &donated, &config)) {
    return nullptr;
  }
  if (kwargs != Py_None && !PyDict_Check(kwargs)) {
    PyErr_SetString(PyExc_TypeError, "_install: kwargs must be a dict");
    return nullptr;
  }
  std::vector<int32_t> positions;
  if (!read_indices(static_argnums, "static_argnums must be a sequence", &positions))
    return nullptr;
  EntryBuilder builder;
  Entry* entry = builder.entry;
  entry->config = config_id();
  if (config != Py_None) {
    entry->config = PyLong_AsUnsignedLongLong(config);
    if (PyErr_Occurred()) return nullptr;
  }
  PyObject* keywords = kwargs == Py_None ? nullptr : kwargs;
  Added added = builder.add_positional(args, positions);
  if (added == Added::kYes) added = builder.add_keywords(keywords, static_argnames);
  if (added == Added::kUnsupported) Py_RETURN_FALSE;
  if (added == Added::kError) return nullptr;
  if (!builder.add_program(program, kept, hidden, out_tree, donated)) return nullptr;
  builder.finish();
  Jitted* jitted = reinterpret_cast<Jitted*>(self);
  if (!note_statics(jitted, positions, static_argnames)) return nullptr;
  if (jitted->uniform_statics) entry->hash = hash_arguments(jitted, entry, args, keywords);
  add_entry(jitted, builder.release());
  Py_RETURN_TRUE;
}

}  // namespace jitney
