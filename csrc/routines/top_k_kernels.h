// The filter of top_k for one vector width. Included by top_k.cpp inside a namespace that defines kVectorBytes.

#include "vectors.h"

// Bit patterns of T as signed integers of the same total order (unsigned types: shifted by half their range).
template <class T, class X>
static JITNEY_INLINE inline X signed_key(X x) {
  using S = std::make_signed_t<UInt<T>>;
  constexpr S kTop = static_cast<S>(UInt<T>{1} << (8 * sizeof(T) - 1));
  if constexpr (IsFloat<T>::value) return static_cast<X>(x ^ ((x >> (8 * sizeof(T) - 1)) & static_cast<S>(~kTop)));
  else if constexpr (std::is_signed<T>::value) return x;
  else return static_cast<X>(x ^ kTop);
}

// First index in [i, n) of a block of vectors with an element above the limit; n if there is none, or the start of
// the part at the end that is shorter than a block.
template <class T>
static int64_t next_block_above(const void* row, int64_t i, int64_t n, std::make_signed_t<UInt<T>> limit) {
  using S = std::make_signed_t<UInt<T>>;
  constexpr int64_t kBlock = 4 * Vec<S>::kLanes;
  const S* x = static_cast<const S*>(row);
  V<S> bound = V<S>{} + limit;
  for (; i + kBlock <= n; i += kBlock) {
    auto hit = (signed_key<T>(load<S>(x + i)) > bound);
    hit |= (signed_key<T>(load<S>(x + i + Vec<S>::kLanes)) > bound);
    hit |= (signed_key<T>(load<S>(x + i + 2 * Vec<S>::kLanes)) > bound);
    hit |= (signed_key<T>(load<S>(x + i + 3 * Vec<S>::kLanes)) > bound);
    uint64_t words[kVectorBytes / 8], any = 0;
    memcpy(words, &hit, sizeof words);
    for (uint64_t w : words) any |= w;
    if (any) return i;
  }
  return i;
}

// Which lanes of the vector at p are above the bound, one bit a lane.
template <class T>
static JITNEY_INLINE inline uint64_t lanes_above(const std::make_signed_t<UInt<T>>* p, std::make_signed_t<UInt<T>> limit) {
  using S = std::make_signed_t<UInt<T>>;
  const V<S> key = signed_key<T>(load<S>(p));
#if defined(__x86_64__)
  if constexpr (kVectorBytes == 64) {
    const auto x = (__m512i)key;
    if constexpr (sizeof(S) == 1) return _mm512_cmpgt_epi8_mask(x, _mm512_set1_epi8(limit));
    else if constexpr (sizeof(S) == 2) return _mm512_cmpgt_epi16_mask(x, _mm512_set1_epi16(limit));
    else if constexpr (sizeof(S) == 4) return _mm512_cmpgt_epi32_mask(x, _mm512_set1_epi32(limit));
    else return _mm512_cmpgt_epi64_mask(x, _mm512_set1_epi64(limit));
  }
  if constexpr (kVectorBytes == 32 && sizeof(S) >= 4) {
    const auto x = (__m256i)key;
    if constexpr (sizeof(S) == 4)
      return static_cast<uint32_t>(_mm256_movemask_ps((__m256)_mm256_cmpgt_epi32(x, _mm256_set1_epi32(limit))));
    else return static_cast<uint32_t>(_mm256_movemask_pd((__m256d)_mm256_cmpgt_epi64(x, _mm256_set1_epi64x(limit))));
  }
#endif
  const auto hit = key > (V<S>{} + limit);
  uint64_t words[kVectorBytes / 8], found = 0;
  memcpy(words, &hit, sizeof words);
  for (uint64_t w : words) found |= w;
  if (found == 0) return 0;  // nearly always, so one by one is seldom
  found = 0;
  for (int i = 0; i < Vec<S>::kLanes; ++i) found |= static_cast<uint64_t>(key[i] > limit) << i;
  return found;
}

// The k best of a row, k <= kFew, in order: what is above the last of them is put where it belongs. False if that
// happens too often (of k log(n / k) elements about, unless they come in ascending order).
constexpr int64_t kFew = 32;
template <class T, class Emit>
static bool select_few(const UInt<T>* row, int64_t n, int64_t k, Emit emit) {
  using S = std::make_signed_t<UInt<T>>;
  constexpr int kLanes = Vec<S>::kLanes;
  const S* x = reinterpret_cast<const S*>(row);
  S keys[kFew];
  int64_t places[kFew];
  auto put = [&](S key, int64_t at, int64_t last) JITNEY_INLINE {
    int64_t j = last;
    for (; j > 0 && keys[j - 1] < key; --j) {
      keys[j] = keys[j - 1];
      places[j] = places[j - 1];
    }
    keys[j] = key;
    places[j] = at;
  };
  for (int64_t i = 0; i < k; ++i) put(signed_key<T>(x[i]), i, i);
  int64_t i = k, left = 64 + 16 * k;
  constexpr bool kHasMasks = kVectorBytes == 64 || (kVectorBytes == 32 && sizeof(S) >= 4);
  for (; i + kLanes <= n; i += kLanes) {
    if constexpr (!kHasMasks) {
      i = next_block_above<T>(row, i, n, keys[k - 1]);
      if (i + kLanes > n) break;
    }
    uint64_t above = lanes_above<T>(x + i, keys[k - 1]);
    if (above == 0) continue;
    left -= __builtin_popcountll(above);
    if (left < 0) return false;
    for (; above != 0; above &= above - 1) {
      const int64_t at = i + __builtin_ctzll(above);
      const S key = signed_key<T>(x[at]);
      if (key > keys[k - 1]) put(key, at, k - 1);
    }
  }
  for (; i < n; ++i) {
    const S key = signed_key<T>(x[i]);
    if (key > keys[k - 1]) put(key, i, k - 1);
  }
  for (int64_t r = 0; r < k; ++r) emit(r, places[r]);
  return true;
}

template <class T>
struct Filter {
  static constexpr int64_t kMost = kFew;
  template <class Emit>
  static bool few(const UInt<T>* row, int64_t n, int64_t k, Emit emit) {
    return select_few<T>(row, n, k, emit);
  }
  static constexpr int64_t kBlock = 4 * Vec<UInt<T>>::kLanes;
  static int64_t next(const void* row, int64_t i, int64_t n, std::make_signed_t<UInt<T>> limit) {
    return next_block_above<T>(row, i, n, limit);
  }
};
