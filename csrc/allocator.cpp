// The slow paths of the allocator: system memory, the shared cache and its bound, fork, statistics.
#include "allocator.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <new>

namespace jitney {

JITNEY_THREAD_LOCAL ThreadCache* thread_cache = nullptr;

namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kHugeThreshold = kHugePage;
constexpr size_t kColours = 6, kColourStep = 640;  // see map_huge
constexpr uint32_t kClasses = 16 + 37 * 4;         // up to 128 TiB

struct SharedCache {
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  Buffer* head[kClasses] = {};
  Buffer* oldest = nullptr;
  Buffer* newest = nullptr;
  size_t cached_bytes = 0;
  size_t limit_bytes = 0;
  size_t live_bytes = 0;  // taken from the system and not given back, cached ones included
  size_t peak_live_bytes = 0;
  size_t next_colour = 0;
};

SharedCache shared;
pthread_key_t thread_cache_key;

size_t default_limit() {
  size_t ram =
      static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGE_SIZE));
  size_t limit = size_t{1} << 30;
  return ram / 4 < limit ? ram / 4 : limit;
}

static_assert(kColours * kColourStep <= 4096, "one page of slack holds the largest shift");
size_t huge_map_bytes(size_t bytes) { return bytes + 4096; }

void* huge_base(void* data) {
  return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(data) & ~(kHugePage - 1));
}

// 2 MiB-aligned pages, so that the kernel can back them with huge ones. Arrays all starting on the same offset would
// fall on the same cache sets, hence a small, cyclic shift ("colour"). Results of programs are shifted by where their
// operands lie (place_outputs.cpp). What else is made after an array mostly reads it: so shifts fall, for stores that lie
// a little behind loads make these wait.
void* map_huge(size_t bytes, size_t colour) {
  size_t length = huge_map_bytes(bytes);
  void* raw = mmap(nullptr, length + kHugePage, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  uintptr_t start = reinterpret_cast<uintptr_t>(raw);
  uintptr_t base = (start + kHugePage - 1) & ~(kHugePage - 1);
  if (base > start) munmap(raw, base - start);
  uintptr_t end = start + length + kHugePage;
  if (end > base + length) munmap(reinterpret_cast<void*>(base + length), end - base - length);
  madvise(reinterpret_cast<void*>(base), length, MADV_HUGEPAGE);
  return reinterpret_cast<void*>(base + colour * kColourStep);
}

Buffer* system_new(uint32_t size_class, size_t colour) {
  size_t bytes = buffer_class_bytes(size_class);
  Buffer* buffer = nullptr;
  if (bytes < kHugeThreshold) {
    void* raw = nullptr;
    if (posix_memalign(&raw, 64, kBufferHeaderBytes + bytes)) return nullptr;
    buffer = new (raw) Buffer();
    buffer->data = static_cast<char*>(raw) + kBufferHeaderBytes;
  } else {
    void* data = map_huge(bytes, colour);
    if (!data) return nullptr;
    buffer = new (std::malloc(sizeof(Buffer))) Buffer();
    buffer->data = data;
    buffer->flags = kBufferHuge;
  }
  buffer->size_class = size_class;
  return buffer;
}

void system_free(Buffer* buffer) {
  if (buffer->flags & kBufferHuge) {
    munmap(huge_base(buffer->data), huge_map_bytes(buffer_class_bytes(buffer->size_class)));
  }
  std::free(buffer);
}

void unlink_cached(Buffer* buffer) {
  if (buffer->prev)
    buffer->prev->next = buffer->next;
  else
    shared.head[buffer->size_class] = buffer->next;
  if (buffer->next) buffer->next->prev = buffer->prev;
  if (buffer->older)
    buffer->older->newer = buffer->newer;
  else
    shared.oldest = buffer->newer;
  if (buffer->newer)
    buffer->newer->older = buffer->older;
  else
    shared.newest = buffer->older;
  shared.cached_bytes -= buffer_class_bytes(buffer->size_class);
}

void link_cached(Buffer* buffer) {
  uint32_t c = buffer->size_class;
  buffer->prev = nullptr;
  buffer->next = shared.head[c];
  if (buffer->next) buffer->next->prev = buffer;
  shared.head[c] = buffer;
  buffer->newer = nullptr;
  buffer->older = shared.newest;
  if (shared.newest)
    shared.newest->newer = buffer;
  else
    shared.oldest = buffer;
  shared.newest = buffer;
  shared.cached_bytes += buffer_class_bytes(c);
}

// Takes cached buffers out, oldest first, until `room` more bytes fit; returns them as a chain.
Buffer* take_evicted(size_t room) {
  Buffer* chain = nullptr;
  while (shared.oldest && shared.cached_bytes + room > shared.limit_bytes) {
    Buffer* victim = shared.oldest;
    unlink_cached(victim);
    shared.live_bytes -= buffer_class_bytes(victim->size_class);
    victim->next = chain;
    chain = victim;
  }
  return chain;
}

void free_chain(Buffer* chain) {
  while (chain) {
    Buffer* next = chain->next;
    system_free(chain);
    chain = next;
  }
}

void put_shared(Buffer* buffer) {
  size_t bytes = buffer_class_bytes(buffer->size_class);
  pthread_mutex_lock(&shared.lock);
  Buffer* evicted = nullptr;
  if (bytes > shared.limit_bytes) {
    shared.live_bytes -= bytes;
    buffer->next = nullptr;
    evicted = buffer;
  } else {
    evicted = take_evicted(bytes);
    link_cached(buffer);
  }
  pthread_mutex_unlock(&shared.lock);
  free_chain(evicted);
}

void drop_shared_cache() {
  pthread_mutex_lock(&shared.lock);
  size_t limit = shared.limit_bytes;
  shared.limit_bytes = 0;
  Buffer* evicted = take_evicted(0);
  shared.limit_bytes = limit;
  pthread_mutex_unlock(&shared.lock);
  free_chain(evicted);
}

void empty_thread_cache(ThreadCache* cache) {
  for (uint32_t c = 0; c < kThreadClasses; c++) {
    while (Buffer* buffer = cache->head[c]) {
      cache->head[c] = buffer->next;
      put_shared(buffer);
    }
    cache->count[c] = 0;
  }
}

void at_thread_exit(void* pointer) {
  thread_cache = nullptr;
  empty_thread_cache(static_cast<ThreadCache*>(pointer));
  std::free(pointer);
}

void make_thread_cache() {
  ThreadCache* cache = static_cast<ThreadCache*>(std::calloc(1, sizeof(ThreadCache)));
  if (!cache) return;
  pthread_setspecific(thread_cache_key, cache);
  thread_cache = cache;
}

void lock_before_fork() { pthread_mutex_lock(&shared.lock); }
void unlock_after_fork() { pthread_mutex_unlock(&shared.lock); }

}  // namespace

Buffer* buffer_new_slow(uint32_t size_class) {
  if (!thread_cache) make_thread_cache();
  if (size_class >= kClasses) return nullptr;
  size_t bytes = buffer_class_bytes(size_class);
  pthread_mutex_lock(&shared.lock);
  Buffer* buffer = shared.head[size_class];
  if (buffer) unlink_cached(buffer);
  size_t colour = kColours - 1 - shared.next_colour++ % kColours;  // see map_huge
  pthread_mutex_unlock(&shared.lock);
  if (!buffer) {
    buffer = system_new(size_class, colour);
    if (!buffer) {
      drop_shared_cache();
      buffer = system_new(size_class, colour);
      if (!buffer) return nullptr;
    }
    counters.fresh_allocations++;
    pthread_mutex_lock(&shared.lock);
    shared.live_bytes += bytes;
    if (shared.live_bytes > shared.peak_live_bytes) shared.peak_live_bytes = shared.live_bytes;
    pthread_mutex_unlock(&shared.lock);
  }
  buffer->refs.store(1, std::memory_order_relaxed);
  return buffer;
}

void buffer_begin_at(Buffer* buffer, size_t place) {
  buffer->data = static_cast<char*>(huge_base(buffer->data)) + place;
}

void buffer_release_slow(Buffer* buffer) {
  if (buffer->flags & kBufferExternal) {
    Py_XDECREF(buffer->owner);
    std::free(buffer);
    return;
  }
  if (!thread_cache) make_thread_cache();
  put_shared(buffer);
}

Buffer* buffer_wrap(void* data, PyObject* owner) {
  void* raw = std::malloc(sizeof(Buffer));
  if (!raw) return nullptr;
  Buffer* buffer = new (raw) Buffer();
  buffer->refs.store(1, std::memory_order_relaxed);
  buffer->flags = kBufferExternal;
  buffer->data = data;
  buffer->owner = owner;
  Py_XINCREF(owner);
  return buffer;
}

namespace {

PyObject* allocator_stats(PyObject*, PyObject*) {
  size_t thread_bytes = 0;
  if (thread_cache) {
    for (uint32_t c = 0; c < kThreadClasses; c++) {
      thread_bytes += thread_cache->count[c] * buffer_class_bytes(c);
    }
  }
  pthread_mutex_lock(&shared.lock);
  size_t live = shared.live_bytes, peak = shared.peak_live_bytes;
  size_t cached = shared.cached_bytes, limit = shared.limit_bytes;
  pthread_mutex_unlock(&shared.lock);
  cached += thread_bytes;
  return Py_BuildValue("{s:K,s:K,s:K,s:K}", "bytes_in_use",
                       static_cast<unsigned long long>(live > cached ? live - cached : 0),
                       "bytes_cached", static_cast<unsigned long long>(cached), "bytes_limit",
                       static_cast<unsigned long long>(limit), "peak_bytes_reserved",
                       static_cast<unsigned long long>(peak));
}

PyObject* set_allocator_limit(PyObject*, PyObject* arg) {
  Py_ssize_t bytes = PyNumber_AsSsize_t(arg, PyExc_OverflowError);
  if (bytes == -1 && PyErr_Occurred()) return nullptr;
  if (bytes < 0) {
    PyErr_SetString(PyExc_ValueError, "the allocator limit must not be negative");
    return nullptr;
  }
  if (thread_cache && bytes == 0) empty_thread_cache(thread_cache);
  pthread_mutex_lock(&shared.lock);
  shared.limit_bytes = static_cast<size_t>(bytes);
  Buffer* evicted = take_evicted(0);
  pthread_mutex_unlock(&shared.lock);
  free_chain(evicted);
  Py_RETURN_NONE;
}

PyMethodDef kMethods[] = {
    {"allocator_stats", allocator_stats, METH_NOARGS,
     "Bytes in use, cached for reuse, the cache's limit, and the peak taken from the system."},
    {"set_allocator_limit", set_allocator_limit, METH_O,
     "Bound the bytes kept for reuse; memory above it goes back to the system at once."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

int register_allocator(PyObject* module) {
  static bool initialised = false;
  if (!initialised) {
    initialised = true;
    shared.limit_bytes = default_limit();
    pthread_key_create(&thread_cache_key, at_thread_exit);
    pthread_atfork(lock_before_fork, unlock_after_fork, unlock_after_fork);
  }
  return PyModule_AddFunctions(module, kMethods);
}

}  // namespace jitney
