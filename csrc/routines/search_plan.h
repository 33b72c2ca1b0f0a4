// A sorted row whose numbers in the midst are at hand: the first steps of every search compare with the same few.
//
// In: n numbers, sorted by Order::loose_key, of 4 or 8 bytes. Out: `nodes`: step s compares with node 2^s - 1 + p, where
// bit by bit p says which steps before went right, the first one's the highest.
#pragma once
#include "dtypes.h"

namespace jitney {

template <class T>
struct SearchPlan {
  static constexpr int kSteps = 8;
  using U = UInt<T>;

  const U* row;
  int64_t n;
  int steps = 0;                   // of those, as many as a search has
  int64_t lengths[kSteps + 1];     // of what is left to search before step s: lengths[s] / 2 elements, then the rest
  alignas(64) U nodes[1 << kSteps];

  // For `values` searches: of few the first steps alone.
  SearchPlan(const U* sorted, int64_t count, int64_t values) : row(sorted), n(count) {
    int64_t firsts[1 << kSteps] = {};
    lengths[0] = n;
    for (; steps < kSteps && lengths[steps] > 0 && int64_t{2} << steps <= values; ++steps) {
      const int64_t half = lengths[steps] / 2, far = lengths[steps] - half;
      lengths[steps + 1] = half;
      for (int64_t p = (int64_t{1} << steps) - 1; p >= 0; --p) {
        nodes[(int64_t{1} << steps) - 1 + p] = Order<T>::loose_key(row[firsts[p] + half]);
        firsts[2 * p + 1] = firsts[p] + far;
        firsts[2 * p] = firsts[p];
      }
    }
  }
};

}  // namespace jitney
