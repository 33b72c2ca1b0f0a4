// Pytrees: nested Python containers seen as a list of leaves and a shape (TreeDef).
//
// In:  any Python object. Out: its leaves in canonical order and a TreeDef that matches or rebuilds such objects.
// Invariant: leaves come in depth-first order, dict entries by sorted key; a TreeDef is immutable, its nodes are
// stored parents first, and each node knows how many nodes and leaves its subtree has.
#pragma once
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace jitney {

enum class NodeKind : uint8_t {
  kLeaf, kNone, kTuple, kList, kDict, kOrderedDict, kDefaultDict, kNamedTuple, kCustom, kDataclass
};

// An owned reference (or none), so that nodes can be copied.
class PyRef {
 public:
  PyRef() = default;
  explicit PyRef(PyObject* stolen) : p_(stolen) {}
  PyRef(const PyRef& o) : p_(o.p_) { Py_XINCREF(p_); }
  PyRef(PyRef&& o) noexcept : p_(o.p_) { o.p_ = nullptr; }
  PyRef& operator=(PyRef o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~PyRef() { Py_XDECREF(p_); }
  static PyRef borrow(PyObject* p) {
    Py_XINCREF(p);
    return PyRef(p);
  }
  PyObject* get() const { return p_; }
  PyObject* release() {
    PyObject* p = p_;
    p_ = nullptr;
    return p;
  }
  explicit operator bool() const { return p_ != nullptr; }

 private:
  PyObject* p_ = nullptr;
};

// What was registered for a Python class; lives for ever.
struct NodeType {
  NodeKind kind;              // kCustom or kDataclass
  PyObject* type;             // the class
  PyObject* flatten;          // kCustom: obj -> (children, aux data)
  PyObject* unflatten;        // kCustom: (aux data, children) -> obj
  PyObject* data_fields;      // kDataclass: tuple of names
  PyObject* meta_fields;      // kDataclass: tuple of names
};

// How a dict node is walked without sorting and rebuilt without hashing. Made on first use.
struct DictPlan;

struct TreeNode {
  NodeKind kind = NodeKind::kLeaf;
  int32_t arity = 0;
  int32_t num_nodes = 1;             // of the subtree, itself included
  int32_t num_leaves = 0;            // of the subtree
  PyRef data;             // dict, defaultdict: tuple of sorted keys; OrderedDict: tuple of keys in order;
                          // namedtuple: class; custom: aux data; dataclass: tuple of meta values
  PyRef factory;          // defaultdict: its factory
  PyRef seen_keys;        // dict, defaultdict: keys in insertion order, if that is not the sorted one
  const NodeType* type = nullptr;          // kCustom, kDataclass
  mutable std::shared_ptr<DictPlan> plan;  // the three dict kinds
  mutable bool built = false;              // dict: rebuilt before, so that a plan pays
};

struct TreeDef {
  PyObject_HEAD
  std::vector<TreeNode>* nodes;  // pre-order; nodes->front() is the root
  Py_hash_t hash;                // -1 = not computed yet
  bool runs_python;              // has kCustom or kDataclass nodes, or dict keys with their own __eq__
  PyObject* weakrefs;
};
extern PyTypeObject* TreeDefType;
inline bool is_treedef(PyObject* o) { return Py_TYPE(o) == TreeDefType; }

// Leaves of an object that has this structure (where def has a leaf, any object fits), as borrowed references in
// canonical order; leaves_out has room for tree_num_leaves. False if it has another structure (no Python error is left
// set). Without custom nodes and odd dict keys (runs_python) nothing is allocated and no Python code runs.
// keep_alive: children that custom nodes made on the spot have no other owner, so a new list that owns them is stored
// here (*keep_alive must be nullptr before, may stay nullptr; the caller drops it after use of the leaves). Without
// keep_alive, such trees never match.
bool tree_match(TreeDef* def, PyObject* obj, PyObject** leaves_out, PyObject** keep_alive = nullptr);

// The object with these leaves (stolen, on error too). New reference or nullptr with an error set.
PyObject* tree_build(TreeDef* def, PyObject** leaves);

inline int tree_num_leaves(const TreeDef* def) { return def->nodes->front().num_leaves; }
inline bool tree_is_leaf(const TreeDef* def) { return def->nodes->front().kind == NodeKind::kLeaf; }

// Appends the leaves (new references) and returns the TreeDef (new reference), or nullptr with an error set; the
// leaves appended before an error are released. is_leaf: callable or nullptr.
PyObject* tree_flatten_object(PyObject* obj, std::vector<PyObject*>& leaves, PyObject* is_leaf = nullptr);

// Structural equality and hash, as == and hash() in Python. -1 = error (Python code of keys or aux data may run).
int tree_equal(const TreeDef* a, const TreeDef* b);
Py_hash_t tree_hash(TreeDef* def);

// Appends the subtrees of obj (new references) that stand where def has leaves. False with a ValueError that says
// where obj differs.
bool tree_flatten_up_to(const TreeDef* def, PyObject* obj, std::vector<PyObject*>& out);

// A TreeDef with these nodes (pre-order, counts filled in). New reference or nullptr.
PyObject* make_treedef(std::vector<TreeNode>&& nodes);

// What kind of node an object is, and its registration if it has one.
NodeKind classify_node(PyObject* obj, const NodeType** type);
const NodeType* find_node_type(PyTypeObject* type);
// False with a ValueError if the class is registered already. The references are borrowed.
bool add_node_type(NodeKind kind, PyObject* type, PyObject* flatten_or_data_fields,
                   PyObject* unflatten_or_meta_fields);

// The direct children (new references, appended) of one node, with data, factory, type and arity set in *node.
// A leaf gives no children and kind kLeaf. False = error.
bool flatten_one_level(PyObject* obj, TreeNode* node, std::vector<PyObject*>& children);

// One object from its children (stolen, on error too). New reference or nullptr.
PyObject* build_one_level(const TreeNode& node, PyObject** children);

// Adds PyTreeDef and the tree_* functions to the module.
int register_pytree(PyObject* module);
int register_treedef_type(PyObject* module);

}  // namespace jitney
