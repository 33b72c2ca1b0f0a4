// The sums of one piece of an inner product, by vectors. Included inside a namespace that defines kVectorBytes.

#include "vectors.h"

#if defined(__x86_64__) && !defined(JITNEY_IN_REGISTERS)
#define JITNEY_IN_REGISTERS(a, b) asm("" : "+x"(a), "+x"(b))
#elif !defined(JITNEY_IN_REGISTERS)
#define JITNEY_IN_REGISTERS(a, b)
#endif

template <class T, int... kLane>
static JITNEY_INLINE inline V<T> exchange_pairs(V<T> v, Indices<kLane...>) {
  return shuffle<T>(v, v, Indices<(kLane ^ 1)...>{});
}

// sums: of re re', im im', re im', im re' over n pairs. Four accumulators each hide the latency of the addition.
template <class T>
struct PairSums {
  static constexpr int kLanes = Vec<T>::kLanes, kAhead = 4;
  static void run(const T* a, const T* b, int64_t n, T* sums) {
    V<T> straight[kAhead] = {}, crossed[kAhead] = {};
    int64_t i = 0, count = 2 * n;
    for (; i + kAhead * kLanes <= count; i += kAhead * kLanes) {
#pragma GCC unroll 4
      for (int u = 0; u < kAhead; ++u) {
        V<T> x = load<T>(a + i + u * kLanes), y = load<T>(b + i + u * kLanes);
        JITNEY_IN_REGISTERS(x, y);  // stay in registers: compilers would load each of them twice
        straight[u] += x * y;
        crossed[u] += x * exchange_pairs<T>(y, Lanes<T>{});
      }
    }
    V<T> s = (straight[0] + straight[1]) + (straight[2] + straight[3]);
    V<T> c = (crossed[0] + crossed[1]) + (crossed[2] + crossed[3]);
    T total[4] = {};
    for (int lane = 0; lane < kLanes; lane += 2) {
      total[0] += s[lane];
      total[1] += s[lane + 1];
      total[2] += c[lane];
      total[3] += c[lane + 1];
    }
    for (; i < count; i += 2) {
      total[0] += a[i] * b[i];
      total[1] += a[i + 1] * b[i + 1];
      total[2] += a[i] * b[i + 1];
      total[3] += a[i + 1] * b[i];
    }
    memcpy(sums, total, sizeof total);
  }
};
