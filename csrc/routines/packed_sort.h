// Sorting and division of words that hold a key above a position: no two are equal, so what is in order is stable.
#pragma once

#include <cstdint>

namespace jitney {

// A key of at most 32 bits and a position below 2^32, as a signed word that orders like the pair.
inline int64_t packed_word(uint32_t key, int64_t position) {
  return static_cast<int64_t>((static_cast<uint64_t>(key) << 32 | static_cast<uint32_t>(position)) ^ UINT64_C(1) << 63);
}
inline int64_t position_of(int64_t word) { return static_cast<uint32_t>(word); }

// Whether the machine has vectors for what follows; without them sorting by digits is faster.
bool sorts_packed();
// words[0, n) in order; scratch has n places. (sort.cpp)
void sort_packed(int64_t* words, int64_t* scratch, int64_t n);
// words[0, n) into out[0, n) such that rank k is in its place; words and scratch are overwritten. (select.cpp)
void select_packed(int64_t* words, int64_t* scratch, int64_t* out, int64_t n, int64_t k);

}  // namespace jitney
