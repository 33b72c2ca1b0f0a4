// The tree_* functions that Python sees (see pytree.h).
#include "pytree.h"
#include "pytree_nodes.h"

namespace jitney {

namespace {

// Reads (positional..., is_leaf=None); names[i] is the keyword of position i. Missing values are nullptr.
bool read_args(const char* function, const char* const* names, int count, int required, PyObject* const* args,
               Py_ssize_t nargs, PyObject* kwnames, PyObject** out) {
  if (nargs > count) {
    PyErr_Format(PyExc_TypeError, "%s() takes at most %d arguments (%zd given)", function, count, nargs);
    return false;
  }
  for (int i = 0; i < count; ++i) out[i] = i < nargs ? args[i] : nullptr;
  for (Py_ssize_t k = 0; kwnames && k < PyTuple_GET_SIZE(kwnames); ++k) {
    PyObject* name = PyTuple_GET_ITEM(kwnames, k);
    int i = 0;
    while (i < count && PyUnicode_CompareWithASCIIString(name, names[i]) != 0) ++i;
    if (i == count || out[i]) {
      PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument %R", function, name);
      return false;
    }
    out[i] = args[nargs + k];
  }
  for (int i = 0; i < required; ++i)
    if (!out[i]) {
      PyErr_Format(PyExc_TypeError, "%s() missing required argument '%s'", function, names[i]);
      return false;
    }
  return true;
}

PyObject* given(PyObject* o) { return o == Py_None ? nullptr : o; }

PyObject* list_of(std::vector<PyObject*>& items) {  // steals the items
  PyObject* list = PyList_New(static_cast<Py_ssize_t>(items.size()));
  for (size_t i = 0; i < items.size(); ++i) {
    if (list) PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), items[i]);
    else Py_DECREF(items[i]);
  }
  return list;
}

const char* const flatten_names[] = {"tree", "is_leaf"};

PyObject* tree_flatten(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  PyObject* a[2];
  if (!read_args("tree_flatten", flatten_names, 2, 1, args, nargs, kwnames, a)) return nullptr;
  std::vector<PyObject*> leaves;
  PyRef def(tree_flatten_object(a[0], leaves, given(a[1])));
  if (!def) return nullptr;
  PyRef list(list_of(leaves));
  return list ? PyTuple_Pack(2, list.get(), def.get()) : nullptr;
}

PyObject* tree_leaves(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  PyObject* a[2];
  if (!read_args("tree_leaves", flatten_names, 2, 1, args, nargs, kwnames, a)) return nullptr;
  std::vector<PyObject*> leaves;
  PyRef def(tree_flatten_object(a[0], leaves, given(a[1])));
  return def ? list_of(leaves) : nullptr;
}

PyObject* tree_structure(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  PyObject* a[2];
  if (!read_args("tree_structure", flatten_names, 2, 1, args, nargs, kwnames, a)) return nullptr;
  std::vector<PyObject*> leaves;
  PyObject* def = tree_flatten_object(a[0], leaves, given(a[1]));
  if (def)
    for (PyObject* l : leaves) Py_DECREF(l);
  return def;
}

PyObject* tree_unflatten(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const char* const names[] = {"treedef", "leaves"};
  PyObject* a[2];
  if (!read_args("tree_unflatten", names, 2, 2, args, nargs, kwnames, a)) return nullptr;
  if (!is_treedef(a[0])) return PyErr_Format(PyExc_TypeError, "expected a PyTreeDef, got %R", a[0]);
  static PyObject* method = PyUnicode_InternFromString("unflatten");
  return PyObject_CallMethodOneArg(a[0], method, a[1]);
}

PyObject* all_leaves(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const char* const names[] = {"iterable", "is_leaf"};
  PyObject* a[2];
  if (!read_args("all_leaves", names, 2, 1, args, nargs, kwnames, a)) return nullptr;
  PyRef it(PyObject_GetIter(a[0]));
  if (!it) return nullptr;
  PyObject* is_leaf = given(a[1]);
  while (PyRef item{PyIter_Next(it.get())}) {
    const NodeType* type = nullptr;
    int leaf = 0;
    if (is_leaf) {
      PyRef answer(PyObject_CallOneArg(is_leaf, item.get()));
      leaf = answer ? PyObject_IsTrue(answer.get()) : -1;
      if (leaf < 0) return nullptr;
    }
    if (!leaf && classify_node(item.get(), &type) != NodeKind::kLeaf) Py_RETURN_FALSE;
  }
  if (PyErr_Occurred()) return nullptr;
  Py_RETURN_TRUE;
}

// The leaves of one call of tree_map: column 0 of the first tree, one more column a further tree.
class Columns {
 public:
  ~Columns() {
    for (auto& c : columns)
      for (PyObject* o : c) Py_DECREF(o);
  }
  std::vector<std::vector<PyObject*>> columns;
};

PyObject* tree_map(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  PyObject* is_leaf = nullptr;
  for (Py_ssize_t k = 0; kwnames && k < PyTuple_GET_SIZE(kwnames); ++k) {
    if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, k), "is_leaf") != 0)
      return PyErr_Format(PyExc_TypeError, "tree_map() got an unexpected keyword argument %R",
                          PyTuple_GET_ITEM(kwnames, k));
    is_leaf = given(args[nargs + k]);
  }
  if (nargs < 2) return PyErr_Format(PyExc_TypeError, "tree_map() needs a function and a tree");
  size_t trees = static_cast<size_t>(nargs) - 1;
  Columns c;
  c.columns.resize(trees);
  PyRef def(tree_flatten_object(args[1], c.columns[0], is_leaf));
  if (!def) return nullptr;
  auto* treedef = reinterpret_cast<TreeDef*>(def.get());
  for (size_t t = 1; t < trees; ++t)
    if (!tree_flatten_up_to(treedef, args[1 + t], c.columns[t])) return nullptr;
  std::vector<PyObject*> results, row(trees + 1);
  for (int i = 0; i < tree_num_leaves(treedef); ++i) {
    for (size_t t = 0; t < trees; ++t) row[t + 1] = c.columns[t][i];
    PyObject* r = PyObject_Vectorcall(args[0], row.data() + 1, trees | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
    if (!r) {
      for (PyObject* o : results) Py_DECREF(o);
      return nullptr;
    }
    results.push_back(r);
  }
  return tree_build(treedef, results.data());
}

// (children, data) of one object, data as in node_data(); None for a leaf.
PyObject* one_level(PyObject*, PyObject* obj) {
  TreeNode node;
  std::vector<PyObject*> children;
  bool ok = flatten_one_level(obj, &node, children);
  PyRef list(list_of(children));
  if (!ok || !list) return nullptr;
  if (node.kind == NodeKind::kLeaf) Py_RETURN_NONE;
  PyRef data = node.data ? node.data : PyRef::borrow(Py_None);
  if (node.kind == NodeKind::kDefaultDict) data = PyRef(PyTuple_Pack(2, node.factory.get(), node.data.get()));
  return data ? PyTuple_Pack(2, list.get(), data.get()) : nullptr;
}

bool is_class(PyObject* o) {
  if (PyType_Check(o)) return true;
  PyErr_Format(PyExc_TypeError, "expected a class to register, got %R", o);
  return false;
}

PyObject* register_node(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const char* const names[] = {"cls", "flatten", "unflatten"};
  PyObject* a[3];
  if (!read_args("register_node", names, 3, 3, args, nargs, kwnames, a) || !is_class(a[0])) return nullptr;
  if (!PyCallable_Check(a[1]) || !PyCallable_Check(a[2]))
    return PyErr_Format(PyExc_TypeError, "register_node() needs two callables");
  if (!add_node_type(NodeKind::kCustom, a[0], a[1], a[2])) return nullptr;
  Py_RETURN_NONE;
}

PyObject* field_names(PyObject* o) {
  PyRef names(PySequence_Tuple(o));
  for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names.get()); ++i)
    if (!PyUnicode_Check(PyTuple_GET_ITEM(names.get(), i)))
      return PyErr_Format(PyExc_TypeError, "field names must be strings, got %R", o);
  return names.release();
}

PyObject* register_dataclass(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  static const char* const names[] = {"cls", "data_fields", "meta_fields"};
  PyObject* a[3];
  if (!read_args("register_dataclass", names, 3, 3, args, nargs, kwnames, a) || !is_class(a[0])) return nullptr;
  PyRef data(field_names(a[1]));
  PyRef meta(data ? field_names(a[2]) : nullptr);
  if (!meta || !add_node_type(NodeKind::kDataclass, a[0], data.get(), meta.get())) return nullptr;
  Py_RETURN_NONE;
}

PyObject* is_node_type(PyObject*, PyObject* o) {
  if (!is_class(o)) return nullptr;
  auto* t = reinterpret_cast<PyTypeObject*>(o);
  return PyBool_FromLong(t == &PyTuple_Type || t == &PyList_Type || t == &PyDict_Type ||
                         t == Py_TYPE(Py_None) || find_node_type(t) != nullptr ||
                         (PyType_IsSubtype(t, &PyTuple_Type) && PyObject_HasAttrString(o, "_fields")));
}

// For tests of the matcher that the dispatcher uses: leaves, or None if the structure differs.
PyObject* match_tree(PyObject*, PyObject* args) {
  PyObject *def, *obj;
  if (!PyArg_ParseTuple(args, "O!O", TreeDefType, &def, &obj)) return nullptr;
  auto* treedef = reinterpret_cast<TreeDef*>(def);
  std::vector<PyObject*> leaves(static_cast<size_t>(tree_num_leaves(treedef)));
  PyObject* keep = nullptr;
  if (!tree_match(treedef, obj, leaves.data(), &keep)) Py_RETURN_NONE;
  for (PyObject* l : leaves) Py_INCREF(l);
  Py_XDECREF(keep);
  return list_of(leaves);
}

#define FAST(f) reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f)), METH_FASTCALL | METH_KEYWORDS

PyMethodDef functions[] = {
    {"tree_flatten", FAST(tree_flatten), "(tree, is_leaf=None) -> (leaves, PyTreeDef)"},
    {"tree_leaves", FAST(tree_leaves), "(tree, is_leaf=None) -> list of leaves"},
    {"tree_structure", FAST(tree_structure), "(tree, is_leaf=None) -> PyTreeDef"},
    {"tree_unflatten", FAST(tree_unflatten), "(treedef, leaves) -> object"},
    {"tree_map", FAST(tree_map), "(f, tree, *rest, is_leaf=None) -> object"},
    {"all_leaves", FAST(all_leaves), "(iterable, is_leaf=None) -> whether no item is a node"},
    {"flatten_one_level", one_level, METH_O, "(children, data) of a node, None for a leaf"},
    {"match_tree", match_tree, METH_VARARGS, "(treedef, tree) -> leaves or None"},
    {"is_node_type", is_node_type, METH_O, "whether objects of exactly this class are nodes"},
    {"register_node", FAST(register_node), "(cls, flatten, unflatten)"},
    {"register_dataclass", FAST(register_dataclass), "(cls, data_fields, meta_fields)"},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

int register_pytree(PyObject* module) {
  if (register_treedef_type(module) < 0 || init_pytree_core() < 0) return -1;
  return PyModule_AddFunctions(module, functions);
}

}  // namespace jitney
