// Scatters of windows of whole wide vectors of floats. Included by scatter.cpp, once a vector width, inside a namespace
// that defines kVectorBytes and kHasRange (vrangeps and what else AVX-512 has for vectors of any width).
//
// In: as for scatter_windows, windows of whole vectors and of fours. Out, invariant: the same bits. (A Zen 5, two
// threads and one, 100,000 windows of 16 f32 to 1000 places: sums .75 and .72 of the time, extremes .46 and .41.)
// The walk is that of scatter_windows once more: of one function for both, which is given what to do with a window, GCC
// makes code that reads what it has just stored in other pieces (sums of windows of two 1.6 of the time, three 1.08).

#include "vectors.h"

template <class T>
using Mask = V<std::conditional_t<sizeof(T) == 8, int64_t, int32_t>>;

// See Extreme: NaN beats everything, the first NaN stays, and -0 < +0 (as for vrangeps, which knows no NaN).
template <class T, bool kMax>
static JITNEY_INLINE inline V<T> extreme_of_wide(V<T> x, V<T> y) {
  if constexpr (kHasRange && kVectorBytes == 64 && sizeof(T) == 4) {
    __m512 found = _mm512_range_ps((__m512)x, (__m512)y, kMax ? 5 : 4);
    found = _mm512_mask_mov_ps(found, _mm512_cmp_ps_mask((__m512)y, (__m512)y, _CMP_UNORD_Q), (__m512)y);
    return (V<T>)_mm512_mask_mov_ps(found, _mm512_cmp_ps_mask((__m512)x, (__m512)x, _CMP_UNORD_Q), (__m512)x);
  } else if constexpr (kHasRange && kVectorBytes == 64) {
    __m512d found = _mm512_range_pd((__m512d)x, (__m512d)y, kMax ? 5 : 4);
    found = _mm512_mask_mov_pd(found, _mm512_cmp_pd_mask((__m512d)y, (__m512d)y, _CMP_UNORD_Q), (__m512d)y);
    return (V<T>)_mm512_mask_mov_pd(found, _mm512_cmp_pd_mask((__m512d)x, (__m512d)x, _CMP_UNORD_Q), (__m512d)x);
  } else if constexpr (kHasRange && kVectorBytes == 16 && sizeof(T) == 4) {
    __m128 found = _mm_range_ps((__m128)x, (__m128)y, kMax ? 5 : 4);
    found = _mm_mask_mov_ps(found, _mm_cmp_ps_mask((__m128)y, (__m128)y, _CMP_UNORD_Q), (__m128)y);
    return (V<T>)_mm_mask_mov_ps(found, _mm_cmp_ps_mask((__m128)x, (__m128)x, _CMP_UNORD_Q), (__m128)x);
  } else {
    const Mask<T> keep = (kMax ? x >= y : x <= y) | (x != x), same = x == y;
    const Mask<T> bits = (keep & (Mask<T>)x) | (~keep & (Mask<T>)y);
    return (V<T>)(kMax ? bits & ((Mask<T>)y | ~same) : bits | ((Mask<T>)y & same));
  }
}

template <class T, class Op>
static JITNEY_INLINE inline V<T> combine_wide(V<T> x, V<T> y) {
  if constexpr (std::is_same<Op, Set>::value) return y;
  else if constexpr (std::is_same<Op, Add>::value) return x + y;
  else if constexpr (std::is_same<Op, Mul>::value) return x * y;
  else return extreme_of_wide<T, std::is_same<Op, Extreme<true>>::value>(x, y);
}

template <class T, class Op, class I>
static void wide_windows(T* out, const Updates<T, I>& all, const Target& t) {
  constexpr int64_t kLanes = Vec<T>::kLanes;
  const int64_t width = t.window;
  const int64_t highest = t.limit - 1 < t.hi - width ? t.limit - 1 : t.hi - width;
  constexpr int64_t cached = std::is_same<Op, Set>::value ? kCachedStores : kCached;
  const int64_t last = (t.hi - t.lo) * static_cast<int64_t>(sizeof(T)) > cached ? all.count - kAhead : 0;
  for (int64_t q = 0; q < all.count; ++q) {
    if (q < last) ask_for(out, all.index[all.number(q + kAhead)], width);
    const int64_t number = all.number(q), at = static_cast<int64_t>(all.index[number]);
    const T* update = all.update + number * t.step;
    if (at < t.lo || at > highest) {
      scatter_part<T, Op>(out, at, update, t);
      continue;
    }
    T* to = out + at;
    int64_t j = 0;
    for (; j + kLanes <= width; j += kLanes)
      store<T>(to + j, combine_wide<T, Op>(load<T>(to + j), load<T>(update + j)));
    if constexpr (kLanes > 4)
      for (; j < width; j += 4) combine<T, Op, 4>(to + j, update + j);
  }
}
