// Classification, flattening and comparison of pytrees (see pytree.h).
#include "pytree.h"

#include "pytree_nodes.h"

namespace jitney {

PyObject* ordered_dict_type = nullptr;
PyObject* default_dict_type = nullptr;
PyObject* name_default_factory = nullptr;

namespace {

struct Registry {
  std::vector<const NodeType*> slots = std::vector<const NodeType*>(64, nullptr);
  size_t count = 0;

  static size_t hash(const void* p) {
    return static_cast<size_t>((reinterpret_cast<uintptr_t>(p) >> 4) * 0x9E3779B97F4A7C15ull >> 20);
  }
  const NodeType* find(const void* type) const {
    size_t mask = slots.size() - 1;
    for (size_t i = hash(type) & mask; slots[i]; i = (i + 1) & mask)
      if (slots[i]->type == type) return slots[i];
    return nullptr;
  }
  void insert(const NodeType* t) {
    if (2 * ++count > slots.size()) {
      std::vector<const NodeType*> old(slots.size() * 2, nullptr);
      old.swap(slots);
      for (const NodeType* o : old)
        if (o) place(o);
    }
    place(t);
  }
  void place(const NodeType* t) {
    size_t mask = slots.size() - 1, i = hash(t->type) & mask;
    while (slots[i]) i = (i + 1) & mask;
    slots[i] = t;
  }
};

Registry registry;
PyObject* name_fields = nullptr;   // "_fields"
PyObject* leaf_treedef = nullptr;          // the TreeDef of a leaf, shared

bool is_dict_kind(NodeKind k) {
  return k == NodeKind::kDict || k == NodeKind::kOrderedDict || k == NodeKind::kDefaultDict;
}

class RecursionGuard {
 public:
  RecursionGuard() : ok_(Py_EnterRecursiveCall(" in a pytree") == 0) {}
  ~RecursionGuard() {
    if (ok_) Py_LeaveRecursiveCall();
  }
  bool ok() const { return ok_; }

 private:
  bool ok_;
};

// ---- keys of dicts

bool strings_ascend(PyObject* keys) {
  Py_ssize_t n = PyTuple_GET_SIZE(keys);
  for (Py_ssize_t i = 0; i < n; ++i)
    if (!PyUnicode_CheckExact(PyTuple_GET_ITEM(keys, i))) return false;
  for (Py_ssize_t i = 1; i < n; ++i)
    if (PyUnicode_Compare(PyTuple_GET_ITEM(keys, i - 1), PyTuple_GET_ITEM(keys, i)) >= 0) return false;
  return true;
}

void raise_unsortable(PyObject* keys) {
  PyObject *type, *cause, *tb;
  PyErr_Fetch(&type, &cause, &tb);
  PyErr_NormalizeException(&type, &cause, &tb);
  PyErr_Format(PyExc_ValueError,
               "Comparator raised exception while sorting pytree dictionary keys. "
               "The keys of one dict must be comparable with one another: %R.", keys);
  PyObject *type2, *error, *tb2;
  PyErr_Fetch(&type2, &error, &tb2);
  PyErr_NormalizeException(&type2, &error, &tb2);
  PyException_SetCause(error, cause);  // steals cause
  PyErr_Restore(type2, error, tb2);
  Py_XDECREF(type);
  Py_XDECREF(tb);
}

// Fills data (sorted keys) and seen_keys.
bool read_dict_keys(PyObject* dict, TreeNode* node) {
  Py_ssize_t n = PyDict_GET_SIZE(dict);
  PyRef seen(PyTuple_New(n));
  if (!seen) return false;
  Py_ssize_t pos = 0;
  PyObject *key, *value;
  for (Py_ssize_t i = 0; i < n && PyDict_Next(dict, &pos, &key, &value); ++i) {
    Py_INCREF(key);
    PyTuple_SET_ITEM(seen.get(), i, key);
  }
  if (n < 2 || strings_ascend(seen.get())) {
    node->data = std::move(seen);
    return true;
  }
  PyRef list(PySequence_List(seen.get()));
  if (!list) return false;
  if (PyList_Sort(list.get()) < 0) {
    raise_unsortable(seen.get());
    return false;
  }
  PyRef sorted(PyList_AsTuple(list.get()));
  if (!sorted) return false;
  bool same = true;
  for (Py_ssize_t i = 0; i < n && same; ++i)
    same = PyTuple_GET_ITEM(seen.get(), i) == PyTuple_GET_ITEM(sorted.get(), i);
  if (!same) node->seen_keys = std::move(seen);
  node->data = std::move(sorted);
  return true;
}

// A key that was there is gone.
bool dict_changed() {
  if (!PyErr_Occurred()) PyErr_SetString(PyExc_RuntimeError, "a dict changed while it was flattened");
  return false;
}

// ---- flattening

class Flattener {
 public:
  Flattener(std::vector<PyObject*>& leaves, std::vector<TreeNode>& nodes, PyObject* is_leaf)
      : leaves_(leaves), nodes_(nodes), is_leaf_(is_leaf) {}

  bool add(PyObject* o) {
    size_t at = nodes_.size();
    nodes_.emplace_back();
    if (is_leaf_) {
      int stop = ask_is_leaf(o);
      if (stop < 0) return false;
      if (stop) return add_leaf(o, at);
    }
    const NodeType* type = nullptr;
    NodeKind kind = classify_node(o, &type);
    if (kind == NodeKind::kLeaf) return add_leaf(o, at);
    if (kind == NodeKind::kNone) {
      nodes_[at].kind = kind;
      return true;
    }
    RecursionGuard guard;
    if (!guard.ok()) return false;
    if (kind == NodeKind::kTuple || kind == NodeKind::kList) return add_sequence(o, at, kind);
    return kind == NodeKind::kDict ? add_dict(o, at) : add_other(o, at);
  }

 private:
  bool add_leaf(PyObject* o, size_t at) {
    Py_INCREF(o);
    leaves_.push_back(o);
    nodes_[at].num_leaves = 1;
    return true;
  }
  bool close(size_t at, size_t leaves_before, int32_t arity) {
    TreeNode& n = nodes_[at];
    n.arity = arity;
    n.num_nodes = static_cast<int32_t>(nodes_.size() - at);
    n.num_leaves = static_cast<int32_t>(leaves_.size() - leaves_before);
    return true;
  }
  bool add_sequence(PyObject* o, size_t at, NodeKind kind) {
    size_t before = leaves_.size();
    nodes_[at].kind = kind;
    int32_t arity = 0;
    for (; arity < Py_SIZE(o); ++arity) {  // a list may change its size while Python code runs
      PyObject* item = kind == NodeKind::kTuple ? PyTuple_GET_ITEM(o, arity) : PyList_GET_ITEM(o, arity);
      PyRef hold = PyRef::borrow(item);
      if (!add(item)) return false;
    }
    return close(at, before, arity);
  }
  bool add_dict(PyObject* o, size_t at) {
    size_t before = leaves_.size();
    nodes_[at].kind = NodeKind::kDict;
    if (!read_dict_keys(o, &nodes_[at])) return false;
    PyObject* keys = nodes_[at].data.get();
    Py_ssize_t n = PyTuple_GET_SIZE(keys);
    for (Py_ssize_t i = 0; i < n; ++i) {
      PyObject* v = PyDict_GetItemWithError(o, PyTuple_GET_ITEM(keys, i));
      if (!v) return dict_changed();
      PyRef hold = PyRef::borrow(v);
      if (!add(v)) return false;
    }
    return close(at, before, static_cast<int32_t>(n));
  }
  bool add_other(PyObject* o, size_t at) {
    size_t before = leaves_.size();
    std::vector<PyObject*> children;
    bool ok = flatten_one_level(o, &nodes_[at], children);
    for (PyObject* c : children) {
      ok = ok && add(c);
      Py_DECREF(c);
    }
    return ok && close(at, before, static_cast<int32_t>(children.size()));
  }
  int ask_is_leaf(PyObject* o) {
    PyRef answer(PyObject_CallOneArg(is_leaf_, o));
    if (!answer) return -1;
    if (answer.get() == Py_True) return 1;
    if (answer.get() == Py_False || answer.get() == Py_None) return 0;
    PyErr_Format(PyExc_ValueError,
                 "is_leaf predicate returned a non-boolean value %R; expected a boolean", answer.get());
    return -1;
  }

  std::vector<PyObject*>& leaves_;
  std::vector<TreeNode>& nodes_;
  PyObject* is_leaf_;
};

// ---- children of one object

void append_tuple(PyObject* tuple, std::vector<PyObject*>& out) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    out.push_back(PyTuple_GET_ITEM(tuple, i));
    Py_INCREF(out.back());
  }
}

// Values of a dict (or subclass) in the order of keys.
bool append_values(PyObject* dict, PyObject* keys, std::vector<PyObject*>& out) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keys); ++i) {
    PyObject* v = PyDict_GetItemWithError(dict, PyTuple_GET_ITEM(keys, i));
    if (!v) return dict_changed();
    Py_INCREF(v);
    out.push_back(v);
  }
  return true;
}

PyObject* tuple_of(PyObject** children, int32_t n) {
  PyObject* tuple = PyTuple_New(n);
  for (int32_t i = 0; i < n; ++i) {
    if (tuple) PyTuple_SET_ITEM(tuple, i, children[i]);
    else Py_DECREF(children[i]);
  }
  return tuple;
}

PyObject* build_mapping(const TreeNode& n, PyObject* children) {
  PyRef dict;
  if (n.kind == NodeKind::kDict) dict = PyRef(PyDict_New());
  else if (n.kind == NodeKind::kOrderedDict) dict = PyRef(PyObject_CallNoArgs(ordered_dict_type));
  else dict = PyRef(PyObject_CallOneArg(default_dict_type, n.factory.get()));
  for (int32_t i = 0; dict && i < n.arity; ++i)
    if (PyObject_SetItem(dict.get(), PyTuple_GET_ITEM(n.data.get(), i), PyTuple_GET_ITEM(children, i)) < 0)
      return nullptr;
  return dict.release();
}

PyObject* build_dataclass(const TreeNode& n, PyObject* children) {
  PyRef kwargs(PyDict_New()), none(PyTuple_New(0));
  if (!kwargs || !none) return nullptr;
  PyObject *data = n.type->data_fields, *meta = n.type->meta_fields;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(meta); ++i)
    if (PyDict_SetItem(kwargs.get(), PyTuple_GET_ITEM(meta, i), PyTuple_GET_ITEM(n.data.get(), i)) < 0)
      return nullptr;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(data); ++i)
    if (PyDict_SetItem(kwargs.get(), PyTuple_GET_ITEM(data, i), PyTuple_GET_ITEM(children, i)) < 0)
      return nullptr;
  return PyObject_Call(n.type->type, none.get(), kwargs.get());
}

// ---- flattening up to another structure

bool mismatch(const TreeNode& n, PyObject* o) {
  switch (n.kind) {
    case NodeKind::kNone:
      PyErr_Format(PyExc_ValueError,
                   "Expected None, got %R.\n\nNone is a node without leaves, not a leaf: it is a prefix of None only. "
                   "To treat None as a leaf, pass is_leaf:\n"
                   "  jax.tree.map(lambda x, y: None if x is None else f(x, y), a, b, is_leaf=lambda x: x is None)",
                   o);
      break;
    case NodeKind::kTuple: PyErr_Format(PyExc_ValueError, "Expected tuple, got %R.", o); break;
    case NodeKind::kList: PyErr_Format(PyExc_ValueError, "Expected list, got %R.", o); break;
    case NodeKind::kDict: PyErr_Format(PyExc_ValueError, "Expected dict, got %R.", o); break;
    case NodeKind::kNamedTuple:
      if (PyTuple_Check(o) && PyObject_HasAttr(o, name_fields))
        PyErr_Format(PyExc_ValueError, "Named tuple type mismatch: expected type: %R, tuple: %S.", n.data.get(), o);
      else PyErr_Format(PyExc_ValueError, "Expected named tuple, got %R.", o);
      break;
    case NodeKind::kDataclass:
      PyErr_Format(PyExc_ValueError, "Custom dataclass node type mismatch: expected type: %R, value: %R.",
                   n.type->type, o);
      break;
    default: {
      PyObject* type = n.kind == NodeKind::kOrderedDict   ? ordered_dict_type
                       : n.kind == NodeKind::kDefaultDict ? default_dict_type
                                                          : n.type->type;
      PyErr_Format(PyExc_ValueError, "Custom node type mismatch: expected type: %R, value: %R.", type, o);
    }
  }
  return false;
}

// The data as a user sees it: what repr and error texts print for a custom node.
PyRef shown_data(const TreeNode& n) {
  if (n.kind == NodeKind::kDefaultDict) return PyRef(PyTuple_Pack(2, n.factory.get(), n.data.get()));
  return n.data;
}

bool check_data(const TreeNode& want, const TreeNode& have, PyObject* o) {
  PyRef a = shown_data(want), b = shown_data(have);
  if (!a || !b) return false;
  int equal = a.get() == b.get() ? 1 : PyObject_RichCompareBool(a.get(), b.get(), Py_EQ);
  if (equal == 1) return true;
  if (equal < 0) return false;
  if (want.kind == NodeKind::kDict) {
    PyRef x(PySequence_List(a.get())), y(PySequence_List(b.get()));
    if (x && y)
      PyErr_Format(PyExc_ValueError, "Dict key mismatch; expected keys: %R; present keys: %R.", x.get(), y.get());
  } else {
    PyErr_Format(PyExc_ValueError, "Mismatch custom %snode data: %R != %R; value: %R.",
                 want.kind == NodeKind::kDataclass ? "dataclass " : "", a.get(), b.get(), o);
  }
  return false;
}

bool flatten_up_to(const TreeNode*& node, PyObject* o, std::vector<PyObject*>& out) {
  const TreeNode& n = *node++;
  if (n.kind == NodeKind::kLeaf) {
    Py_INCREF(o);
    out.push_back(o);
    return true;
  }
  RecursionGuard guard;
  if (!guard.ok()) return false;
  const NodeType* type = nullptr;
  NodeKind kind = classify_node(o, &type);
  if (kind != n.kind || type != n.type) return mismatch(n, o);
  if (kind == NodeKind::kNone) return true;
  if (kind == NodeKind::kNamedTuple && n.data.get() != reinterpret_cast<PyObject*>(Py_TYPE(o)))
    return mismatch(n, o);
  TreeNode have;
  std::vector<PyObject*> children;
  bool ok = flatten_one_level(o, &have, children);
  if (ok && kind != NodeKind::kTuple && kind != NodeKind::kList && kind != NodeKind::kNamedTuple)
    ok = check_data(n, have, o);
  if (ok && static_cast<int32_t>(children.size()) != n.arity) {
    const char* name = kind == NodeKind::kTuple        ? "Tuple"
                       : kind == NodeKind::kList       ? "List"
                       : kind == NodeKind::kNamedTuple ? "Named tuple"
                                                       : "Custom node";
    PyErr_Format(PyExc_ValueError, "%s arity mismatch: %zd != %d; %s: %S.", name,
                 static_cast<Py_ssize_t>(children.size()), n.arity,
                 kind == NodeKind::kList ? "list" : kind == NodeKind::kCustom ? "value" : "tuple", o);
    ok = false;
  }
  for (PyObject* c : children) {
    ok = ok && flatten_up_to(node, c, out);
    Py_DECREF(c);
  }
  return ok;
}

}  // namespace

// ---- public functions

// flatten(obj) of a registered class, checked. *children is a tuple.
bool call_flatten(const NodeType* type, PyObject* obj, PyRef* children, PyRef* aux) {
  PyRef pair(PyObject_CallOneArg(type->flatten, obj));
  if (!pair) return false;
  if (!PyTuple_Check(pair.get()) || PyTuple_GET_SIZE(pair.get()) != 2) {
    PyErr_Format(PyExc_ValueError,
                 "The to_iterable function for a custom PyTree node should return a "
                 "(children, aux_data) tuple, got %R", pair.get());
    return false;
  }
  *aux = PyRef::borrow(PyTuple_GET_ITEM(pair.get(), 1));
  *children = PyRef(PySequence_Tuple(PyTuple_GET_ITEM(pair.get(), 0)));
  if (*children) return true;
  if (PyErr_ExceptionMatches(PyExc_TypeError) && !Py_TYPE(PyTuple_GET_ITEM(pair.get(), 0))->tp_iter) {
    PyErr_Format(PyExc_ValueError,
                 "The to_iterable function for a custom PyTree node should return a "
                 "(children, aux_data) tuple where 'children' is iterable, got %R", pair.get());
  }
  return false;
}

// The attributes of obj as a tuple.
PyObject* read_fields(PyObject* obj, PyObject* fields) {
  Py_ssize_t n = PyTuple_GET_SIZE(fields);
  PyRef values(PyTuple_New(n));
  for (Py_ssize_t i = 0; values && i < n; ++i) {
    PyObject* v = PyObject_GetAttr(obj, PyTuple_GET_ITEM(fields, i));
    if (!v) return nullptr;
    PyTuple_SET_ITEM(values.get(), i, v);
  }
  return values.release();
}

const NodeType* find_node_type(PyTypeObject* type) { return registry.find(type); }

NodeKind classify_node(PyObject* o, const NodeType** type) {
  if (o == Py_None) return NodeKind::kNone;
  PyTypeObject* t = Py_TYPE(o);
  if (t == &PyTuple_Type) return NodeKind::kTuple;
  if (t == &PyList_Type) return NodeKind::kList;
  if (t == &PyDict_Type) return NodeKind::kDict;
  if (const NodeType* found = registry.find(t)) {
    if (found->kind == NodeKind::kCustom || found->kind == NodeKind::kDataclass) *type = found;
    return found->kind;
  }
  if (PyTuple_Check(o) && PyObject_HasAttr(reinterpret_cast<PyObject*>(t), name_fields))
    return NodeKind::kNamedTuple;
  return NodeKind::kLeaf;
}

bool add_node_type(NodeKind kind, PyObject* type, PyObject* first, PyObject* second) {
  bool builtin = type == reinterpret_cast<PyObject*>(&PyTuple_Type) ||
                 type == reinterpret_cast<PyObject*>(&PyList_Type) ||
                 type == reinterpret_cast<PyObject*>(&PyDict_Type) ||
                 type == reinterpret_cast<PyObject*>(Py_TYPE(Py_None));
  if (builtin || registry.find(type)) {
    PyErr_Format(PyExc_ValueError, "Duplicate custom %sPyTreeDef type registration for %R.",
                 kind == NodeKind::kDataclass ? "dataclass " : "", type);
    return false;
  }
  bool fields = kind == NodeKind::kDataclass;
  auto* t = new NodeType{kind, Py_NewRef(type), nullptr, nullptr, nullptr, nullptr};
  (fields ? t->data_fields : t->flatten) = Py_XNewRef(first);
  (fields ? t->meta_fields : t->unflatten) = Py_XNewRef(second);
  registry.insert(t);
  return true;
}

bool flatten_one_level(PyObject* o, TreeNode* node, std::vector<PyObject*>& children) {
  const NodeType* type = nullptr;
  node->kind = classify_node(o, &type);
  node->type = type;
  switch (node->kind) {
    case NodeKind::kLeaf:
    case NodeKind::kNone: return true;
    case NodeKind::kNamedTuple:
      node->data = PyRef::borrow(reinterpret_cast<PyObject*>(Py_TYPE(o)));
      [[fallthrough]];
    case NodeKind::kTuple: append_tuple(o, children); break;
    case NodeKind::kList: {
      PyRef copy(PyList_AsTuple(o));
      if (!copy) return false;
      append_tuple(copy.get(), children);
      break;
    }
    case NodeKind::kDefaultDict:
      node->factory = PyRef(PyObject_GetAttr(o, name_default_factory));
      if (!node->factory) return false;
      [[fallthrough]];
    case NodeKind::kDict:
      if (!read_dict_keys(o, node)) return false;
      if (!append_values(o, node->data.get(), children)) return false;
      break;
    case NodeKind::kOrderedDict:
      node->data = PyRef(PySequence_Tuple(o));
      if (!node->data || !append_values(o, node->data.get(), children)) return false;
      break;
    case NodeKind::kCustom: {
      PyRef items;
      if (!call_flatten(type, o, &items, &node->data)) return false;
      append_tuple(items.get(), children);
      break;
    }
    case NodeKind::kDataclass: {
      PyRef items(read_fields(o, type->data_fields));
      if (!items) return false;
      node->data = PyRef(read_fields(o, type->meta_fields));
      if (!node->data) return false;
      append_tuple(items.get(), children);
      break;
    }
  }
  node->arity = static_cast<int32_t>(children.size());
  return true;
}

PyObject* build_one_level(const TreeNode& n, PyObject** children) {
  if (n.kind == NodeKind::kNone) return Py_NewRef(Py_None);
  PyRef items(tuple_of(children, n.arity));
  if (!items) return nullptr;
  switch (n.kind) {
    case NodeKind::kTuple: return items.release();
    case NodeKind::kList: return PySequence_List(items.get());
    case NodeKind::kNamedTuple: return PyObject_Call(n.data.get(), items.get(), nullptr);
    case NodeKind::kCustom: {
      PyObject* args[2] = {n.data.get(), items.get()};
      return PyObject_Vectorcall(n.type->unflatten, args, 2, nullptr);
    }
    case NodeKind::kDataclass: return build_dataclass(n, items.get());
    default: return build_mapping(n, items.get());
  }
}

PyObject* tree_flatten_object(PyObject* obj, std::vector<PyObject*>& leaves, PyObject* is_leaf) {
  size_t before = leaves.size();
  const NodeType* type = nullptr;
  if (!is_leaf && leaf_treedef && classify_node(obj, &type) == NodeKind::kLeaf) {
    leaves.push_back(Py_NewRef(obj));
    return Py_NewRef(leaf_treedef);
  }
  std::vector<TreeNode> nodes;
  PyObject* def = nullptr;
  if (Flattener(leaves, nodes, is_leaf).add(obj)) def = make_treedef(std::move(nodes));
  if (!def) {
    for (size_t i = before; i < leaves.size(); ++i) Py_DECREF(leaves[i]);
    leaves.resize(before);
  }
  return def;
}

bool tree_flatten_up_to(const TreeDef* def, PyObject* obj, std::vector<PyObject*>& out) {
  size_t before = out.size();
  const TreeNode* node = def->nodes->data();
  if (flatten_up_to(node, obj, out)) return true;
  for (size_t i = before; i < out.size(); ++i) Py_DECREF(out[i]);
  out.resize(before);
  return false;
}

int tree_equal(const TreeDef* a, const TreeDef* b) {
  if (a == b || a->nodes == b->nodes) return 1;
  if (a->nodes->size() != b->nodes->size()) return 0;
  for (size_t i = 0; i < a->nodes->size(); ++i) {
    const TreeNode &x = (*a->nodes)[i], &y = (*b->nodes)[i];
    if (x.kind != y.kind || x.arity != y.arity || x.type != y.type) return 0;
    for (auto field : {&TreeNode::data, &TreeNode::factory}) {
      PyObject *p = (x.*field).get(), *q = (y.*field).get();
      if (p == q) continue;
      int equal = PyObject_RichCompareBool(p, q, Py_EQ);
      if (equal != 1) return equal;
    }
  }
  return 1;
}

Py_hash_t tree_hash(TreeDef* def) {
  if (def->hash != -1) return def->hash;
  uint64_t h = 0x243F6A8885A308D3ull;
  auto mix = [&h](uint64_t v) { h = (h ^ v) * 0x9E3779B97F4A7C15ull, h ^= h >> 29; };
  for (const TreeNode& n : *def->nodes) {
    mix(static_cast<uint64_t>(n.kind) << 32 | static_cast<uint32_t>(n.arity));
    mix(reinterpret_cast<uintptr_t>(n.type));
    if (n.kind == NodeKind::kNamedTuple) mix(reinterpret_cast<uintptr_t>(n.data.get()));
    if (is_dict_kind(n.kind)) {  // aux data of custom nodes need not be hashable
      Py_hash_t k = PyObject_Hash(n.data.get());
      if (k == -1) return -1;
      mix(static_cast<uint64_t>(k));
    }
  }
  def->hash = static_cast<Py_hash_t>(h >> 1);
  return def->hash;
}

int init_pytree_core() {
  PyRef collections(PyImport_ImportModule("collections"));
  name_fields = PyUnicode_InternFromString("_fields");
  name_default_factory = PyUnicode_InternFromString("default_factory");
  if (!collections || !name_fields || !name_default_factory) return -1;
  ordered_dict_type = PyObject_GetAttrString(collections.get(), "OrderedDict");
  default_dict_type = PyObject_GetAttrString(collections.get(), "defaultdict");
  if (!ordered_dict_type || !default_dict_type) return -1;
  if (!registry.find(ordered_dict_type)) {
    if (!add_node_type(NodeKind::kOrderedDict, ordered_dict_type, nullptr, nullptr)) return -1;
    if (!add_node_type(NodeKind::kDefaultDict, default_dict_type, nullptr, nullptr)) return -1;
  }
  std::vector<TreeNode> leaf(1);
  leaf[0].num_leaves = 1;
  leaf_treedef = make_treedef(std::move(leaf));
  return leaf_treedef ? 0 : -1;
}

}  // namespace jitney
