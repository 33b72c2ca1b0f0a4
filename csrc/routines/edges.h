// Edges that are about equally spaced, f32 or f64: the place of a value is computed instead of searched.
//
// In: sorted edges. Out: `even`, and if so the rank of a value: how many edges are below it (kRight: or equal).
// Invariant: t(v) = (v - first) * inverse never falls when v rises, and is within 0.4 of i at edge i. So floor(t(v)) is
// at most one off, two comparisons with edges settle it, and the result is that of the search. Where t(v) is further
// than `doubt` from a whole number, no comparison is needed.
#pragma once
#include <limits>

#include "dtypes.h"

namespace jitney {

template <class T>
struct EvenEdges {
  static constexpr int64_t kMost = 4095;
  T row[kMost + 1];  // a copy, with a NaN behind: no value reaches it
  int64_t n;
  T first, inverse, doubt = 0;
  bool even = false;

  EvenEdges(const T* edges, int64_t count) : n(count) {
    if (n < 4 || n > kMost) return;
    first = edges[0];
    inverse = static_cast<T>(n - 1) / (edges[n - 1] - first);
    if (!(inverse > 0) || !(inverse < std::numeric_limits<T>::infinity())) return;
    for (int64_t i = 0; i < n; ++i) {
      T off = (edges[i] - first) * inverse - static_cast<T>(i);
      off = off < 0 ? -off : off;
      if (!(off < T(0.4))) return;
      doubt = doubt < off ? off : doubt;
      row[i] = edges[i];
    }
    row[n] = std::numeric_limits<T>::quiet_NaN();
    doubt += 2 * static_cast<T>(n + 1) * std::numeric_limits<T>::epsilon();  // t may be formed with other roundings
    even = true;
  }

  template <bool kRight>
  JITNEY_INLINE int64_t rank(T v) const {
    T t = (v - first) * inverse, top = static_cast<T>(n - 1);
    t = t > 0 ? t : T(0);  // also for NaN
    t = t < top ? t : top;
    int64_t i = static_cast<int32_t>(t);
    int64_t r = i + (kRight ? row[i] <= v : row[i] < v) + (kRight ? row[i + 1] <= v : row[i + 1] < v);
    return v == v ? r : n;
  }
};

}  // namespace jitney
