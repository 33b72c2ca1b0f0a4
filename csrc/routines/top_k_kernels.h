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

template <class T>
struct Filter {
  static constexpr int64_t kBlock = 4 * Vec<UInt<T>>::kLanes;
  static int64_t next(const void* row, int64_t i, int64_t n, std::make_signed_t<UInt<T>> limit) {
    return next_block_above<T>(row, i, n, limit);
  }
};
