// What the pytree files share: the built-in classes and the children of registered ones (see pytree.h).
#pragma once
#include "pytree.h"

namespace jitney {

extern PyObject* ordered_dict_type;     // collections.OrderedDict
extern PyObject* default_dict_type;     // collections.defaultdict
extern PyObject* name_default_factory;  // "default_factory"

// flatten(obj) of a registered class, checked. *children is a tuple.
bool call_flatten(const NodeType* type, PyObject* obj, PyRef* children, PyRef* aux);

// The attributes of obj as a new tuple.
PyObject* read_fields(PyObject* obj, PyObject* fields);

// Fills the tables above and the registry; called once.
int init_pytree_core();

}  // namespace jitney
