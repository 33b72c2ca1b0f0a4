// Scattering of windows into an array, in the order of the updates (signatures in README.md).
//
// Invariant: updates to one element are applied first to last, so the result does not depend on threads. The extent of
// a scatter is the width of its window, never the list of updates; it may be cut where windows are rows (equal or
// disjoint), not where they are element offsets (windows that overlap would be applied in another order).
#include <cmath>
#include <cstring>

#include "families.h"
#include "routines.h"

namespace jitney {

namespace {

struct Set {
  template <class T>
  static JITNEY_INLINE T apply(T, T update) { return update; }
};

struct Add {
  template <class T>
  static JITNEY_INLINE T apply(T a, T b) {
    using A = Arithmetic<T>;
    return A::store(static_cast<typename A::type>(A::load(a) + A::load(b)));
  }
  static JITNEY_INLINE C64 apply(C64 a, C64 b) { return {a.re + b.re, a.im + b.im}; }
  static JITNEY_INLINE C128 apply(C128 a, C128 b) { return {a.re + b.re, a.im + b.im}; }
};

struct Mul {
  template <class T>
  static JITNEY_INLINE T apply(T a, T b) {
    using A = Arithmetic<T>;
    if constexpr (IsFloat<T>::value) return A::store(A::load(a) * A::load(b));
    else return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));  // no overflow of promoted ints
  }
  static JITNEY_INLINE C64 apply(C64 a, C64 b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
  static JITNEY_INLINE C128 apply(C128 a, C128 b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
};

// Bit patterns ordered so that NaN beats everything and -0 < +0.
template <bool kMax>
struct Extreme {
  template <class T>
  static JITNEY_INLINE T apply(T a, T b) {
    if constexpr (IsFloat<T>::value) {
      using O = Order<T>;
      if constexpr (std::is_floating_point<T>::value) {
        if (kMax ? a > b : a < b) return a;  // the common cases
        if (kMax ? a < b : a > b) return b;
        if (a == b && a != 0) return a;
      }
      auto x = bit_cast<UInt<T>>(a), y = bit_cast<UInt<T>>(b);
      if (O::is_nan(x)) return a;
      if (O::is_nan(y)) return b;
      return (O::key(x) < O::key(y)) == kMax ? b : a;
    } else {
      return (a < b) == kMax ? b : a;
    }
  }
};

enum IndexKind : int64_t { kElementOffsets = 0, kRows32 = 1, kRows64 = 2, kRowsU32 = 3 };

struct Target {
  int64_t updates, window, stride, limit;  // stride: elements from one index to the next; limit: indices below it
};

template <class T, class Op, class I>
void scatter_updates(T* out, const I* index, const T* update, const Target& t, int64_t lo, int64_t hi) {
  const int64_t limit = t.limit, updates = t.updates;
  if (t.window == 1) {
    for (int64_t u = 0; u < updates; ++u) {
      int64_t at = static_cast<int64_t>(index[u]);
      if (static_cast<uint64_t>(at) < static_cast<uint64_t>(limit)) out[at] = Op::apply(out[at], update[u]);
    }
    return;
  }
  for (int64_t u = 0; u < updates; ++u) {
    int64_t at = static_cast<int64_t>(index[u]);
    if (static_cast<uint64_t>(at) >= static_cast<uint64_t>(limit)) continue;  // negative ones are huge
    T* to = out + at * t.stride;
    const T* from = update + u * t.window;
    for (int64_t j = lo; j < hi; ++j) to[j] = Op::apply(to[j], from[j]);
  }
}

// ptrs [out, index, updates], params [updates, window, size of out in rows (index_kind > 0) or elements, index_kind];
// [lo, hi) = columns of the window
template <class T, class Op>
struct Scatter {
  static void run(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    T* out = static_cast<T*>(ptrs[0]);
    const T* update = static_cast<const T*>(ptrs[2]);
    Target t{params[0], params[1], params[1], params[2]};
    switch (params[3]) {
      case kRows32: return scatter_updates<T, Op>(out, static_cast<const int32_t*>(ptrs[1]), update, t, lo, hi);
      case kRows64: return scatter_updates<T, Op>(out, static_cast<const int64_t*>(ptrs[1]), update, t, lo, hi);
      case kRowsU32: return scatter_updates<T, Op>(out, static_cast<const uint32_t*>(ptrs[1]), update, t, lo, hi);
      default:
        t.stride = 1;
        t.limit = params[2] - params[1] + 1;  // the whole window must fit
        if (t.limit > 0) scatter_updates<T, Op>(out, static_cast<const int64_t*>(ptrs[1]), update, t, lo, hi);
    }
  }
};

template <class T> struct ScatterSet : Scatter<T, Set> {};
template <class T> struct ScatterAdd : Scatter<T, Add> {};
template <class T> struct ScatterMul : Scatter<T, Mul> {};
template <class T> struct ScatterMin : Scatter<T, Extreme<false>> {};
template <class T> struct ScatterMax : Scatter<T, Extreme<true>> {};

}  // namespace

void add_scatter_routines() {
  using Complex = TypeList<C64, C128>;
  add_family<ScatterSet>("scatter_set", Floats{});
  add_family<ScatterSet>("scatter_set", Integers{});
  add_family<ScatterSet>("scatter_set", TypeList<bool>{});
  add_family<ScatterSet>("scatter_set", Complex{});
  add_family<ScatterAdd>("scatter_add", Floats{});
  add_family<ScatterAdd>("scatter_add", Integers{});
  add_family<ScatterAdd>("scatter_add", Complex{});
  add_family<ScatterMul>("scatter_mul", Floats{});
  add_family<ScatterMul>("scatter_mul", Integers{});
  add_family<ScatterMul>("scatter_mul", Complex{});
  add_family<ScatterMin>("scatter_min", Floats{});
  add_family<ScatterMin>("scatter_min", Integers{});
  add_family<ScatterMin>("scatter_min", TypeList<bool>{});
  add_family<ScatterMax>("scatter_max", Floats{});
  add_family<ScatterMax>("scatter_max", Integers{});
  add_family<ScatterMax>("scatter_max", TypeList<bool>{});
}

}  // namespace jitney
