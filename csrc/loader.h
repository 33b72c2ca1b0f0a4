// Linker and loader for the object files that the code generator emits.
//
// In:  one relocatable ELF64 x86-64 object. Out: a position-independent blob (code first, constants behind it), the
// offsets of its global symbols, and, once loaded, an executable region.
// Invariant: only PC-relative fix-ups inside the blob are accepted, so a blob needs no relocation when it is loaded;
// every header field and offset is checked against the file's bounds first, so a damaged object is an error text.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace jitney {

struct LinkedObject {
  std::vector<uint8_t> blob;
  std::vector<std::pair<std::string, uint64_t>> symbols;  // global, defined symbols and their offset in the blob
};

// False: *error says why. Never reads outside [data, data + size).
bool link_elf_object(const uint8_t* data, size_t size, LinkedObject* out, std::string* error);

// A mapped, executable, read-only copy of a blob. Unmapped when the last reference is dropped.
struct CodeRegion {
  PyObject_HEAD
  void* address;
  size_t size;         // bytes of the blob
  size_t mapped_size;  // whole pages
};
extern PyTypeObject* CodeRegionType;

// New reference, or nullptr with a Python error set. labels (for the perf map): null, a name or {symbol: offset}.
CodeRegion* load_code(const void* blob, size_t size, PyObject* labels);

// Adds link_object, load_blob and CodeRegion to the module.
int register_loader(PyObject* module);

}  // namespace jitney
