// The Jitted type: the vectorcall that looks for an entry, hashing of calls, life, methods.
#include "dispatch.h"

#include <cstring>

#include "context.h"
#include "leaf.h"

namespace jitney {

PyTypeObject* jitted_type = nullptr;

namespace {

PyObject* miss_name = nullptr;  // "_miss"
// How far a call's hash looks into containers.
constexpr int kHashDepth = 5, kHashItems = 8, kHashValues = 32;

Jitted* as_jitted(PyObject* self) { return reinterpret_cast<Jitted*>(self); }

// ---- hashing --------------------------------------------------------------

// Containers are looked into only so far: what matters is to tell most calls apart cheaply.
uint64_t hash_object(PyObject* object, int depth) {
  if (array_check(object)) return reinterpret_cast<Array*>(object)->aval->hash;
  if (PyTuple_CheckExact(object) || PyList_CheckExact(object)) {
    bool tuple = PyTuple_CheckExact(object);
    Py_ssize_t n = tuple ? PyTuple_GET_SIZE(object) : PyList_GET_SIZE(object);
    uint64_t hash = hash_mix(tuple ? 1 : 2, static_cast<uint64_t>(n));
    for (Py_ssize_t i = 0; i < n && i < kHashItems && depth > 0; i++) {
      PyObject* item = tuple ? PyTuple_GET_ITEM(object, i) : PyList_GET_ITEM(object, i);
      hash = hash_mix(hash, hash_object(item, depth - 1));
    }
    return hash;
  }
  if (PyDict_CheckExact(object)) {
    Py_ssize_t n = PyDict_GET_SIZE(object);
    uint64_t hash = hash_mix(3, static_cast<uint64_t>(n));
    Py_ssize_t position = 0;
    PyObject *key, *value;
    while (n <= kHashValues && depth > 0 && PyDict_Next(object, &position, &key, &value)) {
      hash += hash_object(value, depth - 1);  // the order of the keys does not count
    }
    return hash;
  }
  return leaf_hash(object);
}

bool is_static_position(const Jitted* jitted, Py_ssize_t i) {
  for (int32_t position : *jitted->static_positions) {
    if (position == i) return true;
  }
  return false;
}

bool is_static_name(const Jitted* jitted, PyObject* name) {
  for (PyObject* each : *jitted->static_names) {
    if (each == name || PyUnicode_Compare(each, name) == 0) return true;
  }
  return false;
}

uint64_t hash_static(PyObject* value) {
  Py_hash_t hash = PyObject_Hash(value);
  if (hash == -1) PyErr_Clear();  // the comparison will tell
  return static_cast<uint64_t>(hash);
}

}  // namespace

uint64_t call_hash(const Jitted* jitted, PyObject* const* args, Py_ssize_t num_positional,
                   PyObject* kwnames, uint64_t config) {
  uint64_t hash = hash_mix(config, static_cast<uint64_t>(num_positional));
  bool statics = !jitted->static_positions->empty();
  for (Py_ssize_t i = 0; i < num_positional; i++) {
    bool is_static = statics && is_static_position(jitted, i);
    hash = hash_mix(hash, is_static ? hash_static(args[i]) : hash_object(args[i], kHashDepth));
  }
  Py_ssize_t keywords = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
  for (Py_ssize_t k = 0; k < keywords; k++) {
    PyObject* name = PyTuple_GET_ITEM(kwnames, k);
    PyObject* value = args[num_positional + k];
    hash = hash_mix(hash, static_cast<uint64_t>(PyObject_Hash(name)));
    hash = hash_mix(
        hash, is_static_name(jitted, name) ? hash_static(value) : hash_object(value, kHashDepth));
  }
  return hash;
}

namespace {

// ---- calling --------------------------------------------------------------

PyObject* call_miss(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  as_jitted(self)->misses++;
  counters.misses++;
  PyObject* tuple = PyTuple_New(nargs);
  PyObject* dict = PyDict_New();
  PyObject* result = nullptr;
  bool ok = tuple && dict;
  for (Py_ssize_t i = 0; ok && i < nargs; i++) {
    Py_INCREF(args[i]);
    PyTuple_SET_ITEM(tuple, i, args[i]);
  }
  Py_ssize_t keywords = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
  for (Py_ssize_t k = 0; ok && k < keywords; k++) {
    ok = PyDict_SetItem(dict, PyTuple_GET_ITEM(kwnames, k), args[nargs + k]) == 0;
  }
  if (ok) result = PyObject_CallMethodObjArgs(self, miss_name, tuple, dict, nullptr);
  Py_XDECREF(tuple);
  Py_XDECREF(dict);
  return result;
}

CallStatus try_linear(Jitted* jitted, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames,
                      uint64_t config, PyObject** result) {
  // By index, newest first: the list may change while an attempt runs Python code.
  for (size_t i = jitted->entries->size(); i-- > 0;) {
    if (i >= jitted->entries->size()) continue;
    Entry* entry = (*jitted->entries)[i];
    if (JITNEY_UNLIKELY(entry->config != config)) continue;
    CallStatus status = entry_call(entry, args, nargs, kwnames, result);
    if (status != CallStatus::kNo) return status;
  }
  return CallStatus::kNo;
}

CallStatus try_hashed(Jitted* jitted, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames,
                      uint64_t config, PyObject** result) {
  uint64_t hash = call_hash(jitted, args, nargs, kwnames, config);
  if (JITNEY_UNLIKELY(!jitted->by_hash)) return CallStatus::kNo;  // hashing a static may run code
  auto range = jitted->by_hash->equal_range(hash);
  if (range.first == range.second) return CallStatus::kNo;
  Entry* candidates[16];
  size_t n = 0;
  for (auto it = range.first; it != range.second && n < 16; ++it) {
    candidates[n++] = it->second;
    it->second->references++;
  }
  CallStatus status = CallStatus::kNo;
  for (size_t i = 0; i < n; i++) {
    Entry* entry = candidates[i];
    if (status == CallStatus::kNo && entry->config == config) {
      status = entry_call(entry, args, nargs, kwnames, result);
    }
    entry_decref(entry);
  }
  return status;
}

PyObject* jitted_vectorcall(PyObject* self, PyObject* const* args, size_t nargsf,
                            PyObject* kwnames) {
  Jitted* jitted = as_jitted(self);
  Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
  if (JITNEY_LIKELY(current_trace == nullptr)) {
    if (kwnames && PyTuple_GET_SIZE(kwnames) == 0) kwnames = nullptr;
    uint64_t config = config_id();
    PyObject* result = nullptr;
    CallStatus status = JITNEY_LIKELY(!jitted->by_hash)
                            ? try_linear(jitted, args, nargs, kwnames, config, &result)
                            : try_hashed(jitted, args, nargs, kwnames, config, &result);
    if (JITNEY_LIKELY(status == CallStatus::kDone)) {
      jitted->hits++;
      counters.hits++;
      return result;
    }
    if (status == CallStatus::kError) return nullptr;
  }
  return call_miss(self, args, nargs, kwnames);
}

// ---- life -----------------------------------------------------------------

void drop_entries(Jitted* jitted) {
  if (!jitted->entries) return;
  std::vector<Entry*> entries;
  entries.swap(*jitted->entries);  // dropping them may run Python code
  delete jitted->by_hash;
  jitted->by_hash = nullptr;
  for (Entry* entry : entries) entry_decref(entry);
}

PyObject* jitted_new(PyTypeObject* type, PyObject*, PyObject*) {
  Jitted* jitted = reinterpret_cast<Jitted*>(type->tp_alloc(type, 0));
  if (!jitted) return nullptr;
  jitted->vectorcall = jitted_vectorcall;
  jitted->entries = new std::vector<Entry*>();
  jitted->static_positions = new std::vector<int32_t>();
  jitted->static_names = new std::vector<PyObject*>();
  jitted->uniform_statics = true;
  jitted->max_entries = 4096;
  return reinterpret_cast<PyObject*>(jitted);
}

int jitted_traverse(PyObject* self, visitproc visit, void* arg) {
  Jitted* jitted = as_jitted(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(jitted->dict);
  if (!jitted->entries) return 0;
  for (Entry* entry : *jitted->entries) {
    if (entry->references != 1) continue;  // running: not only ours
    Py_VISIT(entry->program);
    Py_VISIT(entry->out_tree);
    for (const ArgumentSpec& spec : entry->arguments) Py_VISIT(spec.object);
  }
  return 0;
}

int jitted_clear(PyObject* self) {
  drop_entries(as_jitted(self));
  Py_CLEAR(as_jitted(self)->dict);
  return 0;
}

void jitted_dealloc(PyObject* self) {
  Jitted* jitted = as_jitted(self);
  PyObject_GC_UnTrack(self);
  if (jitted->weakrefs) PyObject_ClearWeakRefs(self);
  jitted_clear(self);
  if (jitted->static_names) {
    for (PyObject* name : *jitted->static_names) Py_DECREF(name);
  }
  delete jitted->static_names;
  delete jitted->static_positions;
  delete jitted->entries;
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* jitted_descr_get(PyObject* self, PyObject* object, PyObject*) {
  if (object && object != Py_None) return PyMethod_New(self, object);
  Py_INCREF(self);
  return self;
}

// Python's class statement drops the flags that make calls and methods fast; a subclass that does
// not define __call__ gets them back.
PyObject* init_subclass(PyObject* cls, PyObject* args, PyObject* kwargs) {
  if ((args && PyTuple_GET_SIZE(args)) || (kwargs && PyDict_GET_SIZE(kwargs))) {
    PyErr_SetString(PyExc_TypeError, "__init_subclass__() takes no arguments");
    return nullptr;
  }
  PyTypeObject* type = reinterpret_cast<PyTypeObject*>(cls);
  if (type->tp_call == PyVectorcall_Call) type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
  if (type->tp_descr_get == jitted_descr_get) type->tp_flags |= Py_TPFLAGS_METHOD_DESCRIPTOR;
  PyType_Modified(type);
  Py_RETURN_NONE;
}

PyObject* method_miss(PyObject* self, PyObject*) {
  PyErr_Format(PyExc_NotImplementedError, "%.100s does not define _miss(args, kwargs)",
               Py_TYPE(self)->tp_name);
  return nullptr;
}

PyObject* method_clear(PyObject* self, PyObject*) {
  drop_entries(as_jitted(self));
  Py_RETURN_NONE;
}

PyObject* method_entries(PyObject* self, PyObject*) {
  return PyLong_FromSize_t(as_jitted(self)->entries->size());
}

template <typename F>
PyCFunction as_c_function(F function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyMethodDef kMethods[] = {
    {"_install", as_c_function(jitted_install), METH_VARARGS | METH_KEYWORDS,
     "_install(args, kwargs, static_argnums, static_argnames, program, kept, hidden, out_tree, "
     "donated, config_id=None): serve calls like this one by the program. False if an argument is "
     "of a kind that only Python handles."},
    {"_miss", method_miss, METH_VARARGS, "_miss(args, kwargs): called when no entry fits."},
    {"_clear", method_clear, METH_NOARGS, "Drop all entries."},
    {"_entries", method_entries, METH_NOARGS, "Number of entries."},
    {"__init_subclass__", as_c_function(init_subclass), METH_VARARGS | METH_KEYWORDS | METH_CLASS,
     nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyMemberDef kMembers[] = {
    {"hits", T_LONGLONG, offsetof(Jitted, hits), 0, "Calls served by an entry."},
    {"misses", T_LONGLONG, offsetof(Jitted, misses), 0, "Calls that went to _miss."},
    {"max_entries", T_PYSSIZET, offsetof(Jitted, max_entries), 0,
     "Most entries kept; the oldest is dropped."},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Jitted, vectorcall), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(Jitted, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Jitted, weakrefs), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyGetSetDef kGetSet[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot kSlots[] = {
    {Py_tp_doc, const_cast<char*>("Base of jitted functions: calls that fit an entry never reach "
                                  "Python.")},
    {Py_tp_new, reinterpret_cast<void*>(jitted_new)},
    {Py_tp_dealloc, reinterpret_cast<void*>(jitted_dealloc)},
    {Py_tp_traverse, reinterpret_cast<void*>(jitted_traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(jitted_clear)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_descr_get, reinterpret_cast<void*>(jitted_descr_get)},
    {Py_tp_methods, kMethods},
    {Py_tp_members, kMembers},
    {Py_tp_getset, kGetSet},
    {0, nullptr},
};

PyType_Spec kSpec = {"jitney._native.Jitted", sizeof(Jitted), 0,
                     Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC |
                         Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
                     kSlots};

}  // namespace

int register_dispatch(PyObject* module) {
  miss_name = PyUnicode_InternFromString("_miss");
  PyObject* type = miss_name ? PyType_FromSpec(&kSpec) : nullptr;
  if (!type) return -1;
  jitted_type = reinterpret_cast<PyTypeObject*>(type);
  return PyModule_AddObjectRef(module, "Jitted", type);
}

}  // namespace jitney
