// Which of some indices are in a range: [first, first + span).
//
// In: indices. Out: their numbers, in order, and how many there are. By AVX-512 where the machine has it: 16 or 8 at a
// time are compared and moved together in a register (into memory that is slow on a Zen 4).
#pragma once
#include <cstdint>

#include "routines.h"
#include "vector_target.h"

namespace jitney {

constexpr int64_t kListedSpare = 16;  // places behind the list that may be written

// Without branches: whether an index is in the range cannot be predicted.
template <class I>
inline int64_t list_from(int64_t i, int64_t listed, const I* index, int64_t count, int64_t first, int64_t span,
                         int32_t* list) {
  for (; i < count; ++i) {
    list[listed] = static_cast<int32_t>(i);
    const uint64_t place = static_cast<uint64_t>(static_cast<int64_t>(index[i])) - static_cast<uint64_t>(first);
    listed += place < static_cast<uint64_t>(span);
  }
  return listed;
}

#if defined(__x86_64__)
JITNEY_BEGIN_TARGET_AVX512
namespace avx512 {

static inline int64_t list_in_range(const int32_t* index, int64_t count, int64_t first, int64_t span, int32_t* list) {
  int64_t i = 0, listed = 0;
  const __m512i base = _mm512_set1_epi32(static_cast<int32_t>(first));
  const __m512i length = _mm512_set1_epi32(static_cast<int32_t>(span));
  __m512i numbers = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  for (; i + 16 <= count; i += 16) {
    const __m512i places = _mm512_sub_epi32(_mm512_loadu_si512(index + i), base);
    const __mmask16 inside = _mm512_cmplt_epu32_mask(places, length);
    _mm512_storeu_si512(list + listed, _mm512_maskz_compress_epi32(inside, numbers));
    listed += __builtin_popcount(inside);
    numbers = _mm512_add_epi32(numbers, _mm512_set1_epi32(16));
  }
  return list_from(i, listed, index, count, first, span, list);
}

static inline int64_t list_in_range(const int64_t* index, int64_t count, int64_t first, int64_t span, int32_t* list) {
  int64_t i = 0, listed = 0;
  const __m512i base = _mm512_set1_epi64(first), length = _mm512_set1_epi64(span);
  __m256i numbers = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  for (; i + 8 <= count; i += 8) {
    const __m512i places = _mm512_sub_epi64(_mm512_loadu_si512(index + i), base);
    const __mmask8 inside = _mm512_cmplt_epu64_mask(places, length);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(list + listed), _mm256_maskz_compress_epi32(inside, numbers));
    listed += __builtin_popcount(inside);
    numbers = _mm256_add_epi32(numbers, _mm256_set1_epi32(8));
  }
  return list_from(i, listed, index, count, first, span, list);
}

}  // namespace avx512
JITNEY_END_TARGET
#endif

// `list` has room for `count` numbers and kListedSpare more.
template <class I>
inline int64_t list_in_range(const I* index, int64_t count, int64_t first, int64_t span, int32_t* list) {
#if defined(__x86_64__)
  static const bool wide = cpu_level() == 2;
  if (wide) return avx512::list_in_range(index, count, first, span, list);
#endif
  return list_from(0, 0, index, count, first, span, list);
}

}  // namespace jitney
