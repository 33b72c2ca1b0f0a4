// ELF linker and code loader (see loader.h).
#include "loader.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#if defined(__linux__) || defined(__APPLE__)
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace jitney {

PyTypeObject* CodeRegionType = nullptr;

namespace {

// ---- the parts of ELF64 that are needed (so that other systems need no elf.h)

struct FileHeader {
  uint8_t ident[16];
  uint16_t type, machine;
  uint32_t version;
  uint64_t entry, phoff, shoff;
  uint32_t flags;
  uint16_t ehsize, phentsize, phnum, shentsize, shnum, shstrndx;
};
struct Section {
  uint32_t name, type;
  uint64_t flags, addr, offset, size;
  uint32_t link, info;
  uint64_t addralign, entsize;
};
struct Symbol {
  uint32_t name;
  uint8_t info, other;
  uint16_t section;
  uint64_t value, size;
};
struct Relocation {
  uint64_t offset, info;
  int64_t addend;
};
static_assert(sizeof(FileHeader) == 64 && sizeof(Section) == 64, "layout of the file format");
static_assert(sizeof(Symbol) == 24 && sizeof(Relocation) == 24, "layout of the file format");

enum : uint32_t { kSymbolTable = 2, kRela = 4, kNoBits = 8, kRel = 9, kUnwind = 0x70000001 };
enum : uint64_t { kWrite = 1, kAlloc = 2, kExec = 4, kTls = 0x400 };
enum : uint32_t { kPc32 = 2, kPlt32 = 4 };
constexpr uint16_t kRelocatable = 1, kX86_64 = 62, kAarch64 = 183;
constexpr uint64_t kMaxBlob = uint64_t{1} << 28;

class Linker {
 public:
  Linker(const uint8_t* data, size_t size, LinkedObject* out, std::string* error)
      : data_(data), size_(size), out_(out), error_(error) {}

  bool link() { return read_header() && read_sections() && place() && copy() && read_symbols() && relocate(); }

 private:
  bool fail(const std::string& why) {
    *error_ = "cannot link object: " + why;
    return false;
  }

  bool inside(uint64_t offset, uint64_t bytes) const { return offset <= size_ && bytes <= size_ - offset; }

  template <class T>
  T read(uint64_t offset) const {  // the caller has checked the bounds; the file need not be aligned
    T t;
    memcpy(&t, data_ + offset, sizeof t);
    return t;
  }

  bool read_header() {
    if (size_ < sizeof header_ || memcmp(data_, "\x7f" "ELF", 4) != 0) return fail("not an ELF file");
    header_ = read<FileHeader>(0);
    if (header_.ident[4] != 2 || header_.ident[5] != 1) return fail("not a little-endian 64-bit ELF file");
    if (header_.machine == kAarch64) return fail("code for aarch64 is not supported yet, only x86-64");
    if (header_.machine != kX86_64)
      return fail("code for ELF machine " + std::to_string(header_.machine) + ", not for x86-64");
    if (header_.type != kRelocatable) return fail("not a relocatable object");
    return true;
  }

  bool read_sections() {
    uint64_t n = header_.shnum;
    if (n == 0 || header_.shentsize != sizeof(Section)) return fail("damaged section table");
    if (!inside(header_.shoff, n * sizeof(Section))) return fail("the section table lies outside the file");
    for (uint64_t i = 0; i < n; ++i) {
      Section s = read<Section>(header_.shoff + i * sizeof(Section));
      if (s.type != 0 && s.type != kNoBits && !inside(s.offset, s.size))
        return fail("section " + std::to_string(i) + " lies outside the file");
      sections_.push_back(s);
    }
    return true;
  }

  // Name at `offset` of string section `table`, or false if it is not inside.
  bool read_name(uint64_t table, uint64_t offset, std::string* name) const {
    if (table >= sections_.size() || sections_[table].type == kNoBits || sections_[table].type == 0) return false;
    const Section& s = sections_[table];
    if (offset >= s.size) return false;
    const char* start = reinterpret_cast<const char*>(data_ + s.offset + offset);
    size_t length = strnlen(start, s.size - offset);
    if (length == s.size - offset) return false;
    name->assign(start, length);
    return true;
  }

  bool is_unwind(const Section& s) const {
    std::string name;
    return s.type == kUnwind || (read_name(header_.shstrndx, s.name, &name) && name == ".eh_frame");
  }

  // Code first, then constants; unwind tables are left out.
  bool place() {
    at_.assign(sections_.size(), -1);
    uint64_t end = 0;
    for (int pass = 0; pass < 2; ++pass)
      for (size_t i = 0; i < sections_.size(); ++i) {
        const Section& s = sections_[i];
        bool code = s.flags & kExec;
        if (!(s.flags & kAlloc) || s.type == 0 || code != (pass == 0) || is_unwind(s)) continue;
        if (s.flags & (kWrite | kTls)) {
          if (s.size == 0) continue;
          return fail("it has writable data; kernels keep no state");
        }
        uint64_t align = s.addralign > 64 ? s.addralign : 64;
        if ((align & (align - 1)) || align > 4096) return fail("damaged alignment");
        end = (end + align - 1) & ~(align - 1);
        if (s.size > kMaxBlob || end + s.size > kMaxBlob) return fail("section too large");
        at_[i] = static_cast<int64_t>(end);
        end += s.size;
      }
    if (end == 0) return fail("no code in it");
    out_->blob.assign(end, 0xcc);  // int3 between the sections
    return true;
  }

  bool copy() {
    for (size_t i = 0; i < sections_.size(); ++i) {
      const Section& s = sections_[i];
      if (at_[i] < 0 || s.size == 0) continue;
      if (s.type == kNoBits) memset(out_->blob.data() + at_[i], 0, s.size);
      else memcpy(out_->blob.data() + at_[i], data_ + s.offset, s.size);
    }
    return true;
  }

  // Where a symbol lies in the blob, -1 if it has no place there.
  int64_t address(const Symbol& s) const {
    if (s.section == 0 || s.section >= sections_.size() || at_[s.section] < 0) return -1;
    if (s.value > sections_[s.section].size) return -1;
    return at_[s.section] + static_cast<int64_t>(s.value);
  }

  std::string name_of(const Symbol& s) const {
    std::string name;
    if (!read_name(strings_, s.name, &name) || name.empty()) name = "section " + std::to_string(s.section);
    return name;
  }

  bool read_symbols() {
    bool found = false;
    for (const Section& s : sections_) {
      if (s.type != kSymbolTable) continue;
      if (found || s.size % sizeof(Symbol)) return fail("damaged symbol table");
      found = true;
      strings_ = s.link;
      for (uint64_t o = 0; o < s.size; o += sizeof(Symbol)) symbols_.push_back(read<Symbol>(s.offset + o));
    }
    for (const Symbol& s : symbols_) {
      uint8_t bind = s.info >> 4;
      std::string name;
      if ((bind != 1 && bind != 2) || address(s) < 0) continue;
      if (!read_name(strings_, s.name, &name)) return fail("damaged symbol name");
      out_->symbols.emplace_back(name, static_cast<uint64_t>(address(s)));
    }
    return true;
  }

  bool relocate() {
    for (const Section& s : sections_) {
      bool rela = s.type == kRela;
      if ((!rela && s.type != kRel) || s.info >= sections_.size() || at_[s.info] < 0) continue;
      if (!rela) return fail("REL relocations, RELA expected");
      if (s.size % sizeof(Relocation)) return fail("damaged relocation table");
      for (uint64_t o = 0; o < s.size; o += sizeof(Relocation))
        if (!fix_up(s.info, read<Relocation>(s.offset + o))) return false;
    }
    return true;
  }

  bool fix_up(uint32_t section, const Relocation& r) {
    uint64_t index = r.info >> 32;
    uint32_t type = static_cast<uint32_t>(r.info);
    if (index >= symbols_.size()) return fail("damaged relocation: no such symbol");
    const Symbol& s = symbols_[index];
    if (type != kPc32 && type != kPlt32)
      return fail("relocation type " + std::to_string(type) + " to '" + name_of(s) +
                  "'; only PC-relative ones are supported (relocation model pic, code model small)");
    if (s.section == 0) return fail("it needs the external symbol '" + name_of(s) + "'");
    int64_t target = address(s);
    if (target < 0) return fail("it refers to '" + name_of(s) + "', which has no place in a blob");
    const Section& home = sections_[section];
    if (home.size < 4 || r.offset > home.size - 4) return fail("a relocation lies outside its section");
    int64_t place = at_[section] + static_cast<int64_t>(r.offset), value;
    if (__builtin_add_overflow(target - place, r.addend, &value) || value != static_cast<int32_t>(value))
      return fail("a relocation is out of range");
    int32_t field = static_cast<int32_t>(value);
    memcpy(out_->blob.data() + place, &field, sizeof field);
    return true;
  }

  const uint8_t* data_;
  size_t size_;
  LinkedObject* out_;
  std::string* error_;
  FileHeader header_{};
  std::vector<Section> sections_;
  std::vector<int64_t> at_;  // section -> offset in the blob, -1 = not in it
  std::vector<Symbol> symbols_;
  uint64_t strings_ = 0;  // section of the symbols' names
};

// ---- perf map: lines "start size name" (hex) that `perf report` reads for code without a file

bool perf_map_wanted() {
  const char* text = getenv("JITNEY_PERF_MAP");
  return text && *text && strcmp(text, "0") != 0;
}

void write_perf_map(const void* address, size_t size, const std::string& name) {
#if defined(__linux__)
  std::string path = "/tmp/perf-" + std::to_string(getpid()) + ".map";
  int fd = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return;
  struct stat st;
  if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid()) {
    char head[64];
    snprintf(head, sizeof head, "%llx %zx ", static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(address)),
             size);
    std::string line = head + name + "\n";
    if (write(fd, line.data(), line.size()) < 0) errno = 0;  // only a profiler's labels are lost
  }
  close(fd);
#else
  (void)address, (void)size, (void)name;
#endif
}

// labels: None, a name for the whole region, or {symbol: offset}.
bool write_labels(const CodeRegion* region, PyObject* labels) {
  const char* base = static_cast<const char*>(region->address);
  if (labels && PyDict_Check(labels)) {
    PyObject *key, *value;
    Py_ssize_t pos = 0;
    while (PyDict_Next(labels, &pos, &key, &value)) {
      const char* name = PyUnicode_AsUTF8(key);
      size_t offset = PyLong_AsSize_t(value);
      if (!name || PyErr_Occurred()) return false;
      size_t end = region->size;
      PyObject *k, *v;
      Py_ssize_t p = 0;
      while (PyDict_Next(labels, &p, &k, &v)) {
        size_t other = PyLong_AsSize_t(v);
        if (PyErr_Occurred()) return false;
        if (other > offset && other < end) end = other;
      }
      if (offset < end) write_perf_map(base + offset, end - offset, name);
    }
    return true;
  }
  const char* name = labels && labels != Py_None ? PyUnicode_AsUTF8(labels) : "jitney_kernel";
  if (!name) return false;
  write_perf_map(base, region->size, name);
  return true;
}

}  // namespace

bool link_elf_object(const uint8_t* data, size_t size, LinkedObject* out, std::string* error) {
  return Linker(data, size, out, error).link();
}

CodeRegion* load_code(const void* blob, size_t size, PyObject* labels) {
  if (size == 0 || size > kMaxBlob) {
    PyErr_SetString(PyExc_ValueError, "load_blob: empty or too large blob");
    return nullptr;
  }
  size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  size_t mapped = (size + page - 1) / page * page;
  void* address = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) return reinterpret_cast<CodeRegion*>(PyErr_SetFromErrno(PyExc_OSError));
  memcpy(address, blob, size);
  memset(static_cast<char*>(address) + size, 0xcc, mapped - size);
  if (mprotect(address, mapped, PROT_READ | PROT_EXEC) != 0) {
    PyErr_SetFromErrno(PyExc_OSError);
    munmap(address, mapped);
    return nullptr;
  }
  __builtin___clear_cache(static_cast<char*>(address), static_cast<char*>(address) + size);
  CodeRegion* region = PyObject_New(CodeRegion, CodeRegionType);
  if (!region) {
    munmap(address, mapped);
    return nullptr;
  }
  region->address = address;
  region->size = size;
  region->mapped_size = mapped;
  if (perf_map_wanted() && !write_labels(region, labels)) Py_CLEAR(region);
  return region;
}

// ---- Python

namespace {

PyObject* link_object(PyObject*, PyObject* arg) {
  Py_buffer view;
  if (PyObject_GetBuffer(arg, &view, PyBUF_SIMPLE) < 0) return nullptr;
  LinkedObject object;
  std::string error;
  bool ok = link_elf_object(static_cast<const uint8_t*>(view.buf), static_cast<size_t>(view.len), &object, &error);
  PyBuffer_Release(&view);
  if (!ok) {
    PyObject* text = PyUnicode_DecodeUTF8(error.data(), static_cast<Py_ssize_t>(error.size()), "backslashreplace");
    if (text) PyErr_SetObject(PyExc_ValueError, text);
    Py_XDECREF(text);
    return nullptr;
  }
  PyObject* symbols = PyDict_New();
  for (const auto& s : object.symbols) {
    PyObject* name = PyUnicode_DecodeUTF8(s.first.data(), static_cast<Py_ssize_t>(s.first.size()), "backslashreplace");
    PyObject* offset = PyLong_FromUnsignedLongLong(s.second);
    if (!symbols || !name || !offset || PyDict_SetItem(symbols, name, offset) < 0) Py_CLEAR(symbols);
    Py_XDECREF(name);
    Py_XDECREF(offset);
    if (!symbols) return nullptr;
  }
  return Py_BuildValue("y#N", reinterpret_cast<const char*>(object.blob.data()),
                       static_cast<Py_ssize_t>(object.blob.size()), symbols);
}

PyObject* load_blob(PyObject*, PyObject* args) {
  Py_buffer view;
  PyObject* labels = nullptr;
  if (!PyArg_ParseTuple(args, "y*|O", &view, &labels)) return nullptr;
  CodeRegion* region = load_code(view.buf, static_cast<size_t>(view.len), labels);
  PyBuffer_Release(&view);
  return reinterpret_cast<PyObject*>(region);
}

CodeRegion* as_region(PyObject* o) { return reinterpret_cast<CodeRegion*>(o); }

void region_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  munmap(as_region(self)->address, as_region(self)->mapped_size);
  PyObject_Free(self);
  Py_DECREF(type);
}

PyObject* region_repr(PyObject* self) {
  return PyUnicode_FromFormat("CodeRegion(%p, %zu bytes)", as_region(self)->address, as_region(self)->size);
}

PyObject* get_address(PyObject* self, void*) { return PyLong_FromVoidPtr(as_region(self)->address); }
PyObject* get_size(PyObject* self, void*) { return PyLong_FromSize_t(as_region(self)->size); }

PyGetSetDef getset[] = {{"address", get_address, nullptr, "Where the blob starts.", nullptr},
                        {"size", get_size, nullptr, "Bytes of the blob.", nullptr},
                        {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot slots[] = {{Py_tp_doc, const_cast<char*>("Executable memory; unmapped when dropped.")},
                       {Py_tp_dealloc, reinterpret_cast<void*>(region_dealloc)},
                       {Py_tp_repr, reinterpret_cast<void*>(region_repr)},
                       {Py_tp_getset, getset},
                       {0, nullptr}};
PyType_Spec spec = {"jitney._native.CodeRegion", sizeof(CodeRegion), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

PyMethodDef functions[] = {
    {"link_object", link_object, METH_O, "(ELF object) -> (blob, {symbol: offset}); ValueError says why not."},
    {"load_blob", load_blob, METH_VARARGS, "(blob, labels=None) -> CodeRegion; labels: name or {symbol: offset}."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

int register_loader(PyObject* module) {
  if (!CodeRegionType) CodeRegionType = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (!CodeRegionType) return -1;
  if (PyModule_AddObjectRef(module, "CodeRegion", reinterpret_cast<PyObject*>(CodeRegionType)) < 0) return -1;
  return PyModule_AddFunctions(module, functions);
}

}  // namespace jitney
