// Event counts that tests read to prove what did (or did not) happen: copies, reuses, allocations.
// Plain integers, changed while the GIL is held (parallel_regions: atomically, without it).
#pragma once

#include "numpy_api.h"

namespace jitney {

struct Counters {
  int64_t calls = 0;              // programs run
  int64_t allocations = 0;        // buffers handed out
  int64_t fresh_allocations = 0;  // of these, taken from the system and not from a free list
  int64_t buffer_reuses = 0;      // outputs written into a donated input's buffer
  int64_t copies = 0;             // whole-buffer copies made by the runtime
  int64_t conversions = 0;        // NumPy inputs converted or made contiguous
  int64_t parallel_regions = 0;   // kernels handed to the thread pool
  int64_t hits = 0;               // jitted calls served by an entry
  int64_t misses = 0;             // jitted calls that went to Python
};

extern Counters counters;

int register_counters(PyObject* module);

}  // namespace jitney
