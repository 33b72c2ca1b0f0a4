// Copies of memory of any size, large ones by all threads.
#pragma once
#include <cstdint>

namespace jitney {

// Copies `bytes` bytes; the two places may overlap. Needs no GIL.
void copy_bytes(void* to, const void* from, int64_t bytes);

}  // namespace jitney
