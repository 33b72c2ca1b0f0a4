// Copies of memory: small ones at once, larger ones in pieces that threads share, those that leave no room in the caches
// past them.
#include "copy.h"

#include <atomic>
#include <cstring>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include "pool.h"

namespace jitney {

namespace {

constexpr int64_t kPiece = int64_t{1} << 18;
constexpr int64_t kShared = int64_t{1} << 19;  // from here on by all threads, if one is awake
constexpr int64_t kWaking = int64_t{1} << 21;  // or at any rate: less is copied before another has woken
std::atomic<int64_t> streamed{int64_t{11} << 20};  // from here on past the caches; as much is read
constexpr int64_t kLine = 64;

struct Copy {
  char* to;
  const char* from;
  int64_t bytes;
};

#if defined(__x86_64__)
void copy_past_caches(char* to, const char* from, int64_t bytes) {
  int64_t head = -static_cast<int64_t>(reinterpret_cast<uintptr_t>(to)) & (kLine - 1);
  if (head > bytes) head = bytes;
  std::memcpy(to, from, static_cast<size_t>(head));
  int64_t i = head;
  for (; i + kLine <= bytes; i += kLine) {
    __m128i line[4];
    std::memcpy(line, from + i, sizeof line);
    __m128i* target = reinterpret_cast<__m128i*>(to + i);
    for (int k = 0; k < 4; ++k) _mm_stream_si128(target + k, line[k]);
  }
  std::memcpy(to + i, from + i, static_cast<size_t>(bytes - i));
  _mm_sfence();  // before another thread is told that the piece is there
}
#else
void copy_past_caches(char* to, const char* from, int64_t bytes) { std::memcpy(to, from, static_cast<size_t>(bytes)); }
#endif

void copy_pieces(void* context, int64_t lo, int64_t hi) {
  const Copy& copy = *static_cast<const Copy*>(context);
  int64_t first = lo * kPiece, end = hi * kPiece < copy.bytes ? hi * kPiece : copy.bytes;
  const bool far = copy.bytes >= streamed.load(std::memory_order_relaxed);
  if (far) copy_past_caches(copy.to + first, copy.from + first, end - first);
  else std::memcpy(copy.to + first, copy.from + first, static_cast<size_t>(end - first));
}

bool overlap(const Copy& copy) {
  uintptr_t to = reinterpret_cast<uintptr_t>(copy.to), from = reinterpret_cast<uintptr_t>(copy.from);
  return (to > from ? to - from : from - to) < static_cast<uintptr_t>(copy.bytes);
}

}  // namespace

void copy_bytes(void* to, const void* from, int64_t bytes) {
  if (bytes <= 0) return;  // the places of nothing may be null
  Copy copy{static_cast<char*>(to), static_cast<const char*>(from), bytes};
  if (bytes < kShared || overlap(copy) || (bytes < kWaking && !pool_is_awake())) {
    std::memmove(to, from, static_cast<size_t>(bytes));
    return;
  }
  pool_parallel_for((bytes + kPiece - 1) / kPiece, 1, copy_pieces, &copy);
}

namespace {

// For one argument: bytes read and written from which on copies go past the caches.
PyObject* set_far_bytes(PyObject*, PyObject* arg) {
  const long long bytes = PyLong_AsLongLong(arg);
  if (bytes == -1 && PyErr_Occurred()) return nullptr;
  if (bytes < 0) return PyErr_Format(PyExc_ValueError, "set_far_bytes: %lld is negative", bytes);
  streamed.store(bytes / 2, std::memory_order_relaxed);
  Py_RETURN_NONE;
}

PyMethodDef kMethods[] = {
    {"set_far_bytes", set_far_bytes, METH_O, "From so many bytes, read and written, copies go past the caches."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

int register_copy(PyObject* module) { return PyModule_AddFunctions(module, kMethods); }

}  // namespace jitney
