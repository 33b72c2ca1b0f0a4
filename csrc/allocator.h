// Memory of arrays: reference-counted, 64-byte-aligned buffers that are recycled, not returned.
//
// Sizes are rounded up to classes (64-byte steps to 1 KiB, then four per power of two). Small
// classes live in per-thread lists, larger ones in one locked cache bounded in bytes. Contents of
// a fresh buffer are arbitrary. The last reference must be dropped with the GIL held only for
// buffers that wrap foreign memory (`owner` set).
#pragma once

#include <atomic>

#include "counters.h"
#include "numpy_api.h"

namespace jitney {

enum BufferFlags : uint32_t { kBufferHuge = 1, kBufferExternal = 2 };

struct Buffer {
  std::atomic<int64_t> refs;
  uint32_t size_class;
  uint32_t flags;
  void* data;
  PyObject* owner;        // foreign memory: kept alive by this object
  Buffer *next, *prev;    // same class, while cached
  Buffer *older, *newer;  // all classes by age, while in the shared cache
};
static_assert(sizeof(Buffer) <= 80, "a small header, in front of small buffers");

constexpr size_t kBufferHeaderBytes = 128;       // keeps the data behind it on a 64-byte line
constexpr uint32_t kThreadClasses = 16 + 5 * 4;  // up to 32 KiB

struct ThreadCache {
  Buffer* head[kThreadClasses];
  uint32_t count[kThreadClasses];
};
extern JITNEY_THREAD_LOCAL ThreadCache* thread_cache;

inline uint32_t buffer_size_class(size_t bytes) {
  if (bytes <= 1024) return bytes ? static_cast<uint32_t>((bytes - 1) >> 6) : 0;
  int log2 = 63 - __builtin_clzl(bytes - 1);
  uint32_t quarter = static_cast<uint32_t>((bytes - 1) >> (log2 - 2)) & 3;
  return 16 + static_cast<uint32_t>(log2 - 10) * 4 + quarter;
}

inline size_t buffer_class_bytes(uint32_t size_class) {
  if (size_class < 16) return (size_class + 1) * size_t{64};
  uint32_t step = size_class - 16;
  int log2 = static_cast<int>(10 + step / 4);
  return (size_t{1} << log2) + (static_cast<size_t>(step % 4 + 1) << (log2 - 2));
}

Buffer* buffer_new_slow(uint32_t size_class);
void buffer_release_slow(Buffer* buffer);

// A buffer of at least `bytes` bytes with one reference; nullptr (no Python error) if none.
inline Buffer* buffer_new(size_t bytes) {
  uint32_t size_class = buffer_size_class(bytes);
  counters.allocations++;
  ThreadCache* cache = thread_cache;
  if (JITNEY_LIKELY(size_class < kThreadClasses && cache && cache->head[size_class])) {
    Buffer* buffer = cache->head[size_class];
    cache->head[size_class] = buffer->next;
    cache->count[size_class]--;
    buffer->refs.store(1, std::memory_order_relaxed);
    return buffer;
  }
  return buffer_new_slow(size_class);
}

// Moves the beginning of a huge buffer that nobody else has seen to such a place in its page (a multiple of 64, below
// 4096).
void buffer_begin_at(Buffer* buffer, size_t place);

// Wraps foreign memory; takes a new reference to `owner` and drops it with the buffer.
Buffer* buffer_wrap(void* data, PyObject* owner);

inline void buffer_incref(Buffer* buffer) { buffer->refs.fetch_add(1, std::memory_order_relaxed); }

inline void buffer_decref(Buffer* buffer) {
  // A sole owner needs no locked instruction: nobody else can add a reference.
  if (buffer->refs.load(std::memory_order_acquire) != 1 &&
      buffer->refs.fetch_sub(1, std::memory_order_acq_rel) != 1) {
    return;
  }
  ThreadCache* cache = thread_cache;
  uint32_t size_class = buffer->size_class;
  if (JITNEY_LIKELY(size_class < kThreadClasses && cache && cache->count[size_class] < 64 &&
                    !buffer->flags)) {
    buffer->next = cache->head[size_class];
    cache->head[size_class] = buffer;
    cache->count[size_class]++;
    return;
  }
  buffer_release_slow(buffer);
}

// True if the memory may be overwritten: one reference, ours, and the memory is our own.
inline bool buffer_is_exclusive(const Buffer* buffer) {
  return buffer->refs.load(std::memory_order_acquire) == 1 && !(buffer->flags & kBufferExternal);
}

int register_allocator(PyObject* module);

}  // namespace jitney
