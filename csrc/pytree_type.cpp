// The Python type PyTreeDef: printing, comparison, children, pickling (see pytree.h).
#include <cstddef>
#include <string>

#include "pytree.h"
#include "structmember.h"

namespace jitney {

PyTypeObject* TreeDefType = nullptr;

namespace {

TreeDef* as_def(PyObject* o) { return reinterpret_cast<TreeDef*>(o); }

bool plain_key(PyObject* k) {
  return PyUnicode_CheckExact(k) || PyLong_CheckExact(k) || PyFloat_CheckExact(k) || PyBool_Check(k) ||
         PyBytes_CheckExact(k);
}

// Whether a walk of such an object may call Python code (which could change containers during the walk).
bool walk_runs_python(const TreeNode& n) {
  if (n.kind == NodeKind::kCustom || n.kind == NodeKind::kDataclass) return true;
  if (n.kind != NodeKind::kDict && n.kind != NodeKind::kDefaultDict && n.kind != NodeKind::kOrderedDict)
    return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(n.data.get()); ++i)
    if (!plain_key(PyTuple_GET_ITEM(n.data.get(), i))) return true;
  return false;
}

// Fills num_nodes and num_leaves of nodes whose kinds and arities are known. Returns the end of the subtree or -1.
Py_ssize_t count_subtree(std::vector<TreeNode>& nodes, size_t at) {
  if (at >= nodes.size()) return -1;
  TreeNode& n = nodes[at];
  n.num_leaves = n.kind == NodeKind::kLeaf;
  Py_ssize_t end = static_cast<Py_ssize_t>(at) + 1;
  for (int32_t i = 0; i < n.arity; ++i) {
    Py_ssize_t child = end;
    end = count_subtree(nodes, static_cast<size_t>(child));
    if (end < 0) return -1;
    nodes[at].num_leaves += nodes[child].num_leaves;
  }
  nodes[at].num_nodes = static_cast<int32_t>(end - static_cast<Py_ssize_t>(at));
  return end;
}

PyObject* subtree(const TreeDef* def, size_t at) {
  auto first = def->nodes->begin() + static_cast<std::ptrdiff_t>(at);
  return make_treedef(std::vector<TreeNode>(first, first + first->num_nodes));
}

// ---- printing

bool append_text(std::string& out, PyObject* text) {
  PyRef hold(text);
  const char* s = text ? PyUnicode_AsUTF8(text) : nullptr;
  if (s) out += s;
  return s != nullptr;
}

bool append_type_name(std::string& out, PyObject* type) {
  return append_text(out, PyObject_GetAttrString(type, "__name__"));
}

// "Name[data]" of a node that is neither tuple, list, dict nor None.
bool append_custom_head(std::string& out, const TreeNode& n) {
  if (n.kind == NodeKind::kNamedTuple) {
    out += "namedtuple[";
    return append_type_name(out, n.data.get()) && (out += "]", true);
  }
  PyRef data = n.data;
  if (n.kind == NodeKind::kOrderedDict) out += "OrderedDict";
  else if (n.kind == NodeKind::kDefaultDict) {
    out += "defaultdict";
    data = PyRef(PyTuple_Pack(2, n.factory.get(), n.data.get()));
  } else if (!append_type_name(out, n.type->type)) return false;
  out += "[";
  return data && append_text(out, PyObject_Str(data.get())) && (out += "]", true);
}

const TreeNode* append_node(std::string& out, const TreeNode* n) {
  const TreeNode* child = n + 1;
  const char *open = "", *close = "";
  switch (n->kind) {
    case NodeKind::kLeaf: out += "*"; return child;
    case NodeKind::kNone: out += "None"; return child;
    case NodeKind::kTuple: open = "(", close = n->arity == 1 ? ",)" : ")"; break;
    case NodeKind::kList: open = "[", close = "]"; break;
    case NodeKind::kDict: open = "{", close = "}"; break;
    default:
      out += "CustomNode(";
      if (!append_custom_head(out, *n)) return nullptr;
      open = ", [", close = "])";
  }
  out += open;
  for (int32_t i = 0; i < n->arity; ++i) {
    if (i) out += ", ";
    if (n->kind == NodeKind::kDict) {
      if (!append_text(out, PyObject_Repr(PyTuple_GET_ITEM(n->data.get(), i)))) return nullptr;
      out += ": ";
    }
    child = append_node(out, child);
    if (!child) return nullptr;
  }
  out += close;
  return child;
}

PyObject* def_repr(PyObject* self) {
  std::string text = "PyTreeDef(";
  if (!append_node(text, as_def(self)->nodes->data())) return nullptr;
  text += ")";
  return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
}

// ---- node data

PyObject* builtin_type_of(NodeKind kind) {
  static PyObject* collections = nullptr;
  switch (kind) {
    case NodeKind::kNone: return Py_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(Py_None)));
    case NodeKind::kTuple: return Py_NewRef(reinterpret_cast<PyObject*>(&PyTuple_Type));
    case NodeKind::kList: return Py_NewRef(reinterpret_cast<PyObject*>(&PyList_Type));
    case NodeKind::kDict: return Py_NewRef(reinterpret_cast<PyObject*>(&PyDict_Type));
    default: break;
  }
  if (!collections) collections = PyImport_ImportModule("collections");
  if (!collections) return nullptr;
  return PyObject_GetAttrString(collections, kind == NodeKind::kOrderedDict ? "OrderedDict" : "defaultdict");
}

// (class, data) of the root, None for a leaf.
PyObject* root_data(const TreeNode& n) {
  PyRef type, data = PyRef::borrow(Py_None);
  switch (n.kind) {
    case NodeKind::kLeaf: Py_RETURN_NONE;
    case NodeKind::kNamedTuple: type = n.data; break;
    case NodeKind::kCustom:
    case NodeKind::kDataclass: type = PyRef::borrow(n.type->type), data = n.data; break;
    default: type = PyRef(builtin_type_of(n.kind));
  }
  if (n.kind == NodeKind::kDict) data = PyRef(PySequence_List(n.data.get()));
  if (n.kind == NodeKind::kOrderedDict) data = n.data;
  if (n.kind == NodeKind::kDefaultDict) data = PyRef(PyTuple_Pack(2, n.factory.get(), n.data.get()));
  return type && data ? PyTuple_Pack(2, type.get(), data.get()) : nullptr;
}

bool set_keys(TreeNode* n, PyObject* keys) {
  n->data = PyRef(PySequence_Tuple(keys));
  if (!n->data) return false;
  if (PyTuple_GET_SIZE(n->data.get()) == n->arity) return true;
  PyErr_SetString(PyExc_ValueError, "Number of keys and entries does not match.");
  return false;
}

// The inverse of root_data, for a node with n->arity children.
bool set_root_data(TreeNode* n, PyObject* type, PyObject* data) {
  if (!PyType_Check(type)) {
    PyErr_Format(PyExc_TypeError, "node_data must start with a class, got %R", type);
    return false;
  }
  auto* cls = reinterpret_cast<PyTypeObject*>(type);
  if (cls == Py_TYPE(Py_None)) n->kind = NodeKind::kNone;
  else if (cls == &PyTuple_Type) n->kind = NodeKind::kTuple;
  else if (cls == &PyList_Type) n->kind = NodeKind::kList;
  else if (cls == &PyDict_Type) return n->kind = NodeKind::kDict, set_keys(n, data);
  else if (const NodeType* found = find_node_type(cls)) {
    n->kind = found->kind;
    if (n->kind == NodeKind::kOrderedDict) return set_keys(n, data);
    if (n->kind == NodeKind::kDefaultDict) {
      if (!PyTuple_Check(data) || PyTuple_GET_SIZE(data) != 2) {
        PyErr_SetString(PyExc_ValueError, "the data of a defaultdict node is (factory, keys)");
        return false;
      }
      n->factory = PyRef::borrow(PyTuple_GET_ITEM(data, 0));
      return set_keys(n, PyTuple_GET_ITEM(data, 1));
    }
    n->type = found;
    n->data = PyRef::borrow(data);
    if (n->kind == NodeKind::kDataclass) {
      n->data = PyRef(PySequence_Tuple(data));
      if (!n->data) return false;
      if (PyTuple_GET_SIZE(n->data.get()) != PyTuple_GET_SIZE(found->meta_fields) ||
          n->arity != PyTuple_GET_SIZE(found->data_fields)) {
        PyErr_Format(PyExc_ValueError, "wrong number of fields for a node of type %R", type);
        return false;
      }
    }
  } else if (PyType_IsSubtype(cls, &PyTuple_Type) && PyObject_HasAttrString(type, "_fields")) {
    n->kind = NodeKind::kNamedTuple;
    n->data = PyRef::borrow(type);
  } else {
    PyErr_Format(PyExc_ValueError, "Unrecognized type %R: it is not registered as a pytree node.", type);
    return false;
  }
  if (n->kind == NodeKind::kNone && n->arity) {
    PyErr_SetString(PyExc_ValueError, "a None node has no children");
    return false;
  }
  return true;
}

// ---- methods

PyObject* def_unflatten(PyObject* self, PyObject* arg) {
  PyRef seq(PySequence_Fast(arg, "unflatten: leaves must be iterable"));
  if (!seq) return nullptr;
  TreeDef* def = as_def(self);
  Py_ssize_t want = tree_num_leaves(def), got = PySequence_Fast_GET_SIZE(seq.get());
  if (got < want)
    return PyErr_Format(PyExc_ValueError, "Too few leaves for PyTreeDef; expected %zd, got %zd", want, got);
  if (got > want) return PyErr_Format(PyExc_ValueError, "Too many leaves for PyTreeDef; expected %zd.", want);
  PyObject** items = PySequence_Fast_ITEMS(seq.get());
  std::vector<PyObject*> leaves(items, items + want);
  for (PyObject* l : leaves) Py_INCREF(l);
  return tree_build(def, leaves.data());
}

PyObject* list_of(std::vector<PyObject*>& items) {  // steals the items
  PyObject* list = PyList_New(static_cast<Py_ssize_t>(items.size()));
  for (size_t i = 0; i < items.size(); ++i) {
    if (list) PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), items[i]);
    else Py_DECREF(items[i]);
  }
  return list;
}

PyObject* def_flatten_up_to(PyObject* self, PyObject* tree) {
  std::vector<PyObject*> out;
  return tree_flatten_up_to(as_def(self), tree, out) ? list_of(out) : nullptr;
}

PyObject* def_children(PyObject* self, PyObject*) {
  const TreeDef* def = as_def(self);
  const TreeNode& root = def->nodes->front();
  PyRef list(PyList_New(root.arity));
  size_t at = 1;
  for (int32_t i = 0; list && i < root.arity; ++i) {
    PyObject* child = subtree(def, at);
    if (!child) return nullptr;
    PyList_SET_ITEM(list.get(), i, child);
    at += static_cast<size_t>((*def->nodes)[at].num_nodes);
  }
  return list.release();
}

PyObject* def_node_data(PyObject* self, PyObject*) { return root_data(as_def(self)->nodes->front()); }

PyObject* def_compose(PyObject* self, PyObject* inner) {
  if (!is_treedef(inner)) return PyErr_Format(PyExc_TypeError, "compose: expected a PyTreeDef, got %R", inner);
  const std::vector<TreeNode>& in = *as_def(inner)->nodes;
  std::vector<TreeNode> out;
  for (const TreeNode& n : *as_def(self)->nodes) {
    if (n.kind == NodeKind::kLeaf) {
      out.insert(out.end(), in.begin(), in.end());
      continue;
    }
    out.push_back(n);
    out.back().num_nodes += n.num_leaves * (in.front().num_nodes - 1);
    out.back().num_leaves *= in.front().num_leaves;
    out.back().plan.reset();  // its offsets are those of the old children
  }
  return make_treedef(std::move(out));
}

// ([registry,] node_data, children): the registry of other libraries is accepted and ignored.
PyObject* def_make(PyObject*, PyObject* args) {
  Py_ssize_t n = PyTuple_GET_SIZE(args);
  if (n != 2 && n != 3)
    return PyErr_Format(PyExc_TypeError, "expected ([registry,] node_data, children), got %zd arguments", n);
  PyObject* data = PyTuple_GET_ITEM(args, n - 2);
  PyRef children(PySequence_Tuple(PyTuple_GET_ITEM(args, n - 1)));
  if (!children) return nullptr;
  std::vector<TreeNode> nodes(1);
  nodes[0].arity = static_cast<int32_t>(PyTuple_GET_SIZE(children.get()));
  if (data == Py_None) {
    if (nodes[0].arity) return PyErr_Format(PyExc_ValueError, "a leaf has no children");
  } else if (!PyTuple_Check(data) || PyTuple_GET_SIZE(data) != 2) {
    return PyErr_Format(PyExc_TypeError, "node_data must be None or (class, data), got %R", data);
  } else if (!set_root_data(&nodes[0], PyTuple_GET_ITEM(data, 0), PyTuple_GET_ITEM(data, 1))) {
    return nullptr;
  }
  for (int32_t i = 0; i < nodes[0].arity; ++i) {
    PyObject* child = PyTuple_GET_ITEM(children.get(), i);
    if (!is_treedef(child)) return PyErr_Format(PyExc_TypeError, "expected a PyTreeDef, got %R", child);
    const auto& more = *as_def(child)->nodes;
    nodes.insert(nodes.end(), more.begin(), more.end());
  }
  count_subtree(nodes, 0);
  return make_treedef(std::move(nodes));
}

// Pickled as PyTreeDef(((arity, node data or None), ...)) in pre-order.
PyObject* def_reduce(PyObject* self, PyObject*) {
  const auto& nodes = *as_def(self)->nodes;
  PyRef state(PyTuple_New(static_cast<Py_ssize_t>(nodes.size())));
  for (size_t i = 0; state && i < nodes.size(); ++i) {
    PyRef data(root_data(nodes[i]));
    PyObject* item = data ? Py_BuildValue("(iO)", nodes[i].arity, data.get()) : nullptr;
    if (!item) return nullptr;
    PyTuple_SET_ITEM(state.get(), static_cast<Py_ssize_t>(i), item);
  }
  if (!state) return nullptr;
  return Py_BuildValue("(O(O))", reinterpret_cast<PyObject*>(Py_TYPE(self)), state.get());
}

PyObject* def_new(PyTypeObject*, PyObject* args, PyObject* kwargs) {
  PyObject* state;
  if ((kwargs && PyDict_GET_SIZE(kwargs)) || !PyArg_ParseTuple(args, "O!", &PyTuple_Type, &state)) {
    PyErr_SetString(PyExc_TypeError, "PyTreeDef objects are made by tree_structure");
    return nullptr;
  }
  std::vector<TreeNode> nodes(static_cast<size_t>(PyTuple_GET_SIZE(state)));
  for (size_t i = 0; i < nodes.size(); ++i) {
    PyObject* data;
    PyObject* item = PyTuple_GET_ITEM(state, static_cast<Py_ssize_t>(i));
    if (!PyTuple_Check(item) || !PyArg_ParseTuple(item, "iO", &nodes[i].arity, &data)) {
      if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "damaged PyTreeDef state");
      return nullptr;
    }
    PyObject *cls, *aux;
    if (data == Py_None) {
      if (nodes[i].arity) return PyErr_Format(PyExc_ValueError, "damaged PyTreeDef state");
    } else if (!PyTuple_Check(data) || !PyArg_ParseTuple(data, "OO", &cls, &aux) ||
               !set_root_data(&nodes[i], cls, aux)) {
      if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "damaged PyTreeDef state");
      return nullptr;
    }
  }
  if (count_subtree(nodes, 0) != static_cast<Py_ssize_t>(nodes.size()))
    return PyErr_Format(PyExc_ValueError, "damaged PyTreeDef state");
  return make_treedef(std::move(nodes));
}

PyObject* def_compare(PyObject* a, PyObject* b, int op) {
  if (!is_treedef(a) || !is_treedef(b) || (op != Py_EQ && op != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
  int equal = tree_equal(as_def(a), as_def(b));
  if (equal < 0) return nullptr;
  return PyBool_FromLong(equal == (op == Py_EQ));
}

Py_hash_t def_hash(PyObject* self) { return tree_hash(as_def(self)); }

int def_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  for (const TreeNode& n : *as_def(self)->nodes) {
    Py_VISIT(n.data.get());
    Py_VISIT(n.factory.get());
    Py_VISIT(n.seen_keys.get());
  }
  return 0;
}

void def_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (as_def(self)->weakrefs) PyObject_ClearWeakRefs(self);
  delete as_def(self)->nodes;
  PyObject_GC_Del(self);
  Py_DECREF(type);
}

PyObject* get_num_leaves(PyObject* self, void*) { return PyLong_FromLong(tree_num_leaves(as_def(self))); }
PyObject* get_num_nodes(PyObject* self, void*) {
  return PyLong_FromLong(as_def(self)->nodes->front().num_nodes);
}

PyMethodDef methods[] = {
    {"unflatten", def_unflatten, METH_O, "The object with these leaves."},
    {"flatten_up_to", def_flatten_up_to, METH_O, "The subtrees of an object that stand where this has leaves."},
    {"children", def_children, METH_NOARGS, "List of the TreeDefs of the root's children."},
    {"node_data", def_node_data, METH_NOARGS, "(class, data) of the root; None for a leaf."},
    {"compose", def_compose, METH_O, "This structure with another one in place of each leaf."},
    {"make_from_node_data_and_children", def_make, METH_VARARGS | METH_STATIC,
     "The TreeDef with this node_data() and these children()."},
    {"from_node_data_and_children", def_make, METH_VARARGS | METH_STATIC,
     "The TreeDef with this node_data() and these children()."},
    {"__reduce__", def_reduce, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef getset[] = {{"num_leaves", get_num_leaves, nullptr, "Number of leaves.", nullptr},
                        {"num_nodes", get_num_nodes, nullptr, "Number of nodes, leaves included.", nullptr},
                        {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMemberDef members[] = {{"__weaklistoffset__", T_PYSSIZET, offsetof(TreeDef, weakrefs), READONLY, nullptr},
                         {nullptr, 0, 0, 0, nullptr}};

PyType_Slot slots[] = {{Py_tp_doc, const_cast<char*>("The structure of a pytree: what is left without the leaves.")},
                       {Py_tp_new, reinterpret_cast<void*>(def_new)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(def_dealloc)},
                       {Py_tp_traverse, reinterpret_cast<void*>(def_traverse)},
                       {Py_tp_repr, reinterpret_cast<void*>(def_repr)},
                       {Py_tp_hash, reinterpret_cast<void*>(def_hash)},
                       {Py_tp_richcompare, reinterpret_cast<void*>(def_compare)},
                       {Py_tp_methods, methods},
                       {Py_tp_getset, getset},
                       {Py_tp_members, members},
                       {0, nullptr}};

PyType_Spec spec = {"jitney._native.PyTreeDef", sizeof(TreeDef), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
                    slots};

}  // namespace

PyObject* make_treedef(std::vector<TreeNode>&& nodes) {
  TreeDef* def = PyObject_GC_New(TreeDef, TreeDefType);
  if (!def) return nullptr;
  def->runs_python = false;
  for (const TreeNode& n : nodes) def->runs_python = def->runs_python || walk_runs_python(n);
  def->nodes = new std::vector<TreeNode>(std::move(nodes));
  def->hash = -1;
  def->weakrefs = nullptr;
  PyObject_GC_Track(reinterpret_cast<PyObject*>(def));
  return reinterpret_cast<PyObject*>(def);
}

int register_treedef_type(PyObject* module) {
  if (!TreeDefType) TreeDefType = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (!TreeDefType) return -1;
  return PyModule_AddObjectRef(module, "PyTreeDef", reinterpret_cast<PyObject*>(TreeDefType));
}

}  // namespace jitney
