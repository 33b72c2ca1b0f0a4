// Matching and rebuilding of pytrees: the two walks of every jitted call (see pytree.h).
#include "pytree.h"
#include "pytree_nodes.h"

namespace jitney {

struct DictPlan {
  std::vector<PyObject*> seen;       // keys in insertion order; borrowed from the node's data
  std::vector<int32_t> position;     // insertion order -> index in sorted order
  std::vector<int32_t> node_offset;  // sorted index -> offset of the child from the dict's node
  std::vector<int32_t> leaf_offset;  // sorted index -> offset of the child's first leaf
  std::vector<Py_hash_t> hashes;     // of the sorted keys
  PyRef filled;                      // a dict with these keys, to be copied
};

namespace {

// Offsets of the children of the dict at nodes[0], and its walking order.
DictPlan* dict_plan(const TreeNode* n) {
  if (n->plan) return n->plan.get();
  auto plan = std::make_shared<DictPlan>();
  int32_t node_at = 1, leaf_at = 0;
  for (int32_t i = 0; i < n->arity; ++i) {
    plan->node_offset.push_back(node_at);
    plan->leaf_offset.push_back(leaf_at);
    leaf_at += n[node_at].num_leaves;
    node_at += n[node_at].num_nodes;
    PyObject* key = PyTuple_GET_ITEM(n->data.get(), i);
    Py_hash_t h = PyObject_Hash(key);
    if (h == -1) PyErr_Clear();
    plan->hashes.push_back(h);
  }
  PyObject* seen = n->seen_keys ? n->seen_keys.get() : n->data.get();
  std::vector<std::pair<PyObject*, int32_t>> rank;
  for (int32_t i = 0; i < n->arity; ++i) rank.emplace_back(PyTuple_GET_ITEM(n->data.get(), i), i);
  for (int32_t i = 0; i < n->arity; ++i) {
    PyObject* key = PyTuple_GET_ITEM(seen, i);
    int32_t p = i;
    while (rank[p].first != key) p = p + 1 < n->arity ? p + 1 : 0;
    plan->seen.push_back(key);
    plan->position.push_back(p);
  }
  n->plan = std::move(plan);
  return n->plan.get();
}

// ---- matching

struct Matcher {
  PyObject* keep;  // list that owns leaves and temporaries, or nullptr when no Python code can run

  bool held(PyObject* o) { return !keep || PyList_Append(keep, o) == 0; }

  bool child(const TreeNode* n, PyObject* o, PyObject** out) {
    if (n->kind == NodeKind::kLeaf) {
      *out = o;
      return held(o);
    }
    return held(o) && match(n, o, out);
  }

  bool match(const TreeNode* n, PyObject* o, PyObject** out) {
    switch (n->kind) {
      case NodeKind::kLeaf: *out = o; return held(o);
      case NodeKind::kNone: return o == Py_None;
      case NodeKind::kTuple:
        if (!PyTuple_CheckExact(o) || PyTuple_GET_SIZE(o) != n->arity) return false;
        return match_tuple(n, o, out);
      case NodeKind::kNamedTuple:
        if (reinterpret_cast<PyObject*>(Py_TYPE(o)) != n->data.get() || PyTuple_GET_SIZE(o) != n->arity)
          return false;
        return match_tuple(n, o, out);
      case NodeKind::kList: {
        if (!PyList_CheckExact(o) || PyList_GET_SIZE(o) != n->arity) return false;
        const TreeNode* c = n + 1;
        for (int32_t i = 0; i < n->arity; ++i) {
          if (i >= PyList_GET_SIZE(o) || !child(c, PyList_GET_ITEM(o, i), out)) return false;
          out += c->num_leaves;
          c += c->num_nodes;
        }
        return true;
      }
      case NodeKind::kDict: return PyDict_CheckExact(o) && match_dict(n, o, out);
      case NodeKind::kDefaultDict: return match_default_dict(n, o, out);
      case NodeKind::kOrderedDict: return match_ordered_dict(n, o, out);
      case NodeKind::kCustom: return match_custom(n, o, out);
      case NodeKind::kDataclass: return match_dataclass(n, o, out);
    }
    return false;
  }

  bool match_tuple(const TreeNode* n, PyObject* o, PyObject** out) {
    const TreeNode* c = n + 1;
    for (int32_t i = 0; i < n->arity; ++i) {
      if (!child(c, PyTuple_GET_ITEM(o, i), out)) return false;
      out += c->num_leaves;
      c += c->num_nodes;
    }
    return true;
  }

  // The order in which the keys were inserted when the TreeDef was made is tried first: equal key pointers in equal
  // order need no look-up.
  bool match_dict(const TreeNode* n, PyObject* o, PyObject** out) {
    if (PyDict_GET_SIZE(o) != n->arity) return false;
    const DictPlan* plan = dict_plan(n);
    Py_ssize_t pos = 0;
    PyObject *key, *value;
    for (int32_t i = 0; i < n->arity; ++i) {
      if (!PyDict_Next(o, &pos, &key, &value)) return false;
      if (key != plan->seen[i]) return match_dict_by_lookup(n, o, out, plan);
      int32_t p = plan->position[i];
      if (!child(n + plan->node_offset[p], value, out + plan->leaf_offset[p])) return false;
    }
    return true;
  }

  bool match_dict_by_lookup(const TreeNode* n, PyObject* o, PyObject** out, const DictPlan* plan) {
    for (int32_t p = 0; p < n->arity; ++p) {
      PyObject* value = PyDict_GetItemWithError(o, PyTuple_GET_ITEM(n->data.get(), p));
      if (!value || !child(n + plan->node_offset[p], value, out + plan->leaf_offset[p])) return false;
    }
    return true;
  }

  bool match_default_dict(const TreeNode* n, PyObject* o, PyObject** out) {
    if (reinterpret_cast<PyObject*>(Py_TYPE(o)) != default_dict_type) return false;
    PyRef factory(PyObject_GetAttr(o, name_default_factory));
    if (!factory || PyObject_RichCompareBool(factory.get(), n->factory.get(), Py_EQ) != 1) return false;
    return match_dict(n, o, out);
  }

  bool match_ordered_dict(const TreeNode* n, PyObject* o, PyObject** out) {
    if (reinterpret_cast<PyObject*>(Py_TYPE(o)) != ordered_dict_type) return false;
    if (PyDict_GET_SIZE(o) != n->arity) return false;
    PyRef keys(PyObject_GetIter(o));
    const TreeNode* c = n + 1;
    for (int32_t i = 0; keys && i < n->arity; ++i) {
      PyRef key(PyIter_Next(keys.get()));
      PyObject* mine = PyTuple_GET_ITEM(n->data.get(), i);
      if (!key || (key.get() != mine && PyObject_RichCompareBool(key.get(), mine, Py_EQ) != 1)) return false;
      PyObject* value = PyDict_GetItemWithError(o, key.get());
      if (!value || !child(c, value, out)) return false;
      out += c->num_leaves;
      c += c->num_nodes;
    }
    return static_cast<bool>(keys);
  }

  bool match_custom(const TreeNode* n, PyObject* o, PyObject** out) {
    if (reinterpret_cast<PyObject*>(Py_TYPE(o)) != n->type->type) return false;
    PyRef children, aux;
    if (!call_flatten(n->type, o, &children, &aux)) return false;
    if (PyTuple_GET_SIZE(children.get()) != n->arity || !held(children.get())) return false;
    if (PyObject_RichCompareBool(aux.get(), n->data.get(), Py_EQ) != 1) return false;
    return match_tuple(n, children.get(), out);
  }

  bool match_dataclass(const TreeNode* n, PyObject* o, PyObject** out) {
    if (reinterpret_cast<PyObject*>(Py_TYPE(o)) != n->type->type) return false;
    PyRef meta(read_fields(o, n->type->meta_fields));
    if (!meta || PyObject_RichCompareBool(meta.get(), n->data.get(), Py_EQ) != 1) return false;
    PyRef children(read_fields(o, n->type->data_fields));
    return children && held(children.get()) && match_tuple(n, children.get(), out);
  }
};

// ---- building

PyObject* build(const TreeNode*& node, PyObject**& leaves);

bool set_dict_item(PyObject* dict, PyObject* key, PyObject* value, Py_hash_t hash) {
#if PY_VERSION_HEX < 0x030d0000
  return (hash == -1 ? PyDict_SetItem(dict, key, value)
                     : _PyDict_SetItem_KnownHash(dict, key, value, hash)) == 0;
#else
  (void)hash;
  return PyDict_SetItem(dict, key, value) == 0;
#endif
}

PyObject* build_dict(const TreeNode*& node, PyObject**& leaves) {
  const TreeNode& n = *node;
  DictPlan* plan = n.built ? dict_plan(node) : nullptr;
  n.built = true;
  ++node;
  if (plan && !plan->filled) {
    plan->filled = PyRef(PyDict_New());
    if (!plan->filled) return nullptr;
    for (int32_t i = 0; i < n.arity; ++i)
      if (PyDict_SetItem(plan->filled.get(), PyTuple_GET_ITEM(n.data.get(), i), Py_None) < 0) return nullptr;
  }
  PyRef dict(plan ? PyDict_Copy(plan->filled.get()) : PyDict_New());
  for (int32_t i = 0; dict && i < n.arity; ++i) {
    PyRef value(build(node, leaves));
    if (!value) return nullptr;
    if (!set_dict_item(dict.get(), PyTuple_GET_ITEM(n.data.get(), i), value.get(), plan ? plan->hashes[i] : -1))
      return nullptr;
  }
  return dict.release();
}

PyObject* build(const TreeNode*& node, PyObject**& leaves) {
  const TreeNode& n = *node;
  switch (n.kind) {
    case NodeKind::kLeaf: ++node; return *leaves++;
    case NodeKind::kNone: ++node; return Py_NewRef(Py_None);
    case NodeKind::kTuple: {
      ++node;
      PyRef tuple(PyTuple_New(n.arity));
      for (int32_t i = 0; tuple && i < n.arity; ++i) {
        PyObject* v = build(node, leaves);
        if (!v) return nullptr;
        PyTuple_SET_ITEM(tuple.get(), i, v);
      }
      return tuple.release();
    }
    case NodeKind::kList: {
      ++node;
      PyRef list(PyList_New(n.arity));
      for (int32_t i = 0; list && i < n.arity; ++i) {
        PyObject* v = build(node, leaves);
        if (!v) return nullptr;
        PyList_SET_ITEM(list.get(), i, v);
      }
      return list.release();
    }
    case NodeKind::kDict: return build_dict(node, leaves);
    default: break;
  }
  ++node;
  std::vector<PyObject*> children;
  children.reserve(n.arity);
  for (int32_t i = 0; i < n.arity; ++i) {
    PyObject* v = build(node, leaves);
    if (!v) {
      for (PyObject* c : children) Py_DECREF(c);
      return nullptr;
    }
    children.push_back(v);
  }
  return build_one_level(n, children.data());
}

}  // namespace

bool tree_match(TreeDef* def, PyObject* obj, PyObject** leaves_out, PyObject** keep_alive) {
  Matcher m{nullptr};
  if (def->runs_python) {
    if (!keep_alive) return false;
    m.keep = *keep_alive = PyList_New(0);
    if (!m.keep) {
      PyErr_Clear();
      return false;
    }
  }
  if (m.match(def->nodes->data(), obj, leaves_out)) return true;
  PyErr_Clear();
  if (m.keep) Py_CLEAR(*keep_alive);
  return false;
}

PyObject* tree_build(TreeDef* def, PyObject** leaves) {
  const TreeNode* node = def->nodes->data();
  PyObject** end = leaves + node->num_leaves;
  PyObject* result = build(node, leaves);
  if (!result)
    for (; leaves < end; ++leaves) Py_DECREF(*leaves);
  return result;
}

}  // namespace jitney
