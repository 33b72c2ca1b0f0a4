// Scattering of windows into an array, in the order of the updates (signatures in README.md).
//
// Invariant: updates to one element are applied first to last, so the result does not depend on threads. The extent of
// a scatter is the width of its window, never the list of updates; it may be cut where windows are rows (equal or
// disjoint), not where they are element offsets (windows that overlap would be applied in another order).
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

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

template <class T>
struct Lanes;
template <>
struct Lanes<float> {
  typedef float Values __attribute__((vector_size(16)));
  typedef int32_t Masks __attribute__((vector_size(16)));
};
template <>
struct Lanes<double> {
  typedef double Values __attribute__((vector_size(16)));
  typedef int64_t Masks __attribute__((vector_size(16)));
};

// NaN beats everything, the first NaN stays, and -0 < +0. Without branches, for which of two scattered values is
// smaller cannot be predicted (measured: 2.7 -> 0.85 ns an element).
template <bool kMax>
struct Extreme {
  template <class T>
  static JITNEY_INLINE T apply(T a, T b) {
    if constexpr (std::is_floating_point<T>::value) {
      return of_floats(a, b);
    } else if constexpr (IsFloat<T>::value) {
      using O = Order<T>;
      auto x = bit_cast<UInt<T>>(a), y = bit_cast<UInt<T>>(b);
      if (O::is_nan(x)) return a;
      if (O::is_nan(y)) return b;
      return (O::key(x) < O::key(y)) == kMax ? b : a;
    } else {
      return (a < b) == kMax ? b : a;
    }
  }

  // In vector registers, where comparisons give masks.
  template <class T>
  static JITNEY_INLINE T of_floats(T a, T b) {
    using Values = typename Lanes<T>::Values;
    return of_lanes<T>(Values{a}, Values{b})[0];
  }

  template <class T, class Values = typename Lanes<T>::Values>
  static JITNEY_INLINE Values of_lanes(Values x, Values y) {
    using Masks = typename Lanes<T>::Masks;
    const Masks keep = (kMax ? x >= y : x <= y) | (x != x), same = x == y;
    const Masks bits = (keep & (Masks)x) | (~keep & (Masks)y);
    return (Values)(kMax ? bits & ((Masks)y | ~same) : bits | ((Masks)y & same));  // of zeros, the sign decides
  }
};

enum IndexKind : int64_t { kElementOffsets = 0, kRows32 = 1, kRows64 = 2, kRowsU32 = 3, kElementOffsets32 = 4 };

struct Target {
  int64_t updates, window, stride, limit;  // stride: elements from one index to the next; limit: indices below it
};

template <class T, class Op, class I>
JITNEY_INLINE inline void scatter_element(T* out, I index, T update, int64_t limit) {
  int64_t at = static_cast<int64_t>(index);  // negative ones are huge
  if (static_cast<uint64_t>(at) < static_cast<uint64_t>(limit)) out[at] = Op::apply(out[at], update);
}

// Four indices and updates are read before the first of them is stored: a load behind a store whose address has the
// same low 12 bits waits for it, and with scattered stores that is common (measured: 0.83 -> 0.66 ns an element).
template <class T, class Op, class I>
void scatter_elements(T* out, const I* index, const T* update, const Target& t) {
  int64_t u = 0;
  for (; u + 4 <= t.updates; u += 4) {  // names, not arrays: those would be loaded as vectors and pass through memory
    const I a = index[u], b = index[u + 1], c = index[u + 2], d = index[u + 3];
    const T x = update[u], y = update[u + 1], z = update[u + 2], w = update[u + 3];
    scatter_element<T, Op>(out, a, x, t.limit);
    scatter_element<T, Op>(out, b, y, t.limit);
    scatter_element<T, Op>(out, c, z, t.limit);
    scatter_element<T, Op>(out, d, w, t.limit);
  }
  for (; u < t.updates; ++u) scatter_element<T, Op>(out, index[u], update[u], t.limit);
}

template <class T, class Op, class I>
void scatter_updates(T* out, const I* index, const T* update, const Target& t, int64_t lo, int64_t hi) {
  const int64_t limit = t.limit, updates = t.updates;
  if (t.window == 1) return scatter_elements<T, Op>(out, index, update, t);
  for (int64_t u = 0; u < updates; ++u) {
    int64_t at = static_cast<int64_t>(index[u]);
    if (static_cast<uint64_t>(at) >= static_cast<uint64_t>(limit)) continue;
    T* to = out + at * t.stride;
    const T* from = update + u * t.window;
    for (int64_t j = lo; j < hi; ++j) to[j] = Op::apply(to[j], from[j]);
  }
}

// Updates [first, last) of the arguments of a scatter, into `out`.
struct Part {
  int64_t first, last;
};

template <class T, class Op, class I>
void scatter_part(T* out, void* const* ptrs, const Target& t, Part part, int64_t lo, int64_t hi) {
  const I* index = static_cast<const I*>(ptrs[1]) + part.first;
  const T* update = static_cast<const T*>(ptrs[2]) + part.first * t.window;
  scatter_updates<T, Op>(out, index, update, t, lo, hi);
}

template <class T, class Op>
void scatter_any(T* out, void* const* ptrs, const int64_t* params, Part part, int64_t lo, int64_t hi) {
  Target t{part.last - part.first, params[1], params[1], params[2]};
  switch (params[3]) {
    case kRows32: return scatter_part<T, Op, int32_t>(out, ptrs, t, part, lo, hi);
    case kRows64: return scatter_part<T, Op, int64_t>(out, ptrs, t, part, lo, hi);
    case kRowsU32: return scatter_part<T, Op, uint32_t>(out, ptrs, t, part, lo, hi);
    default: break;
  }
  t.stride = 1;
  t.limit = params[2] - params[1] + 1;  // the whole window must fit
  if (t.limit <= 0) return;
  if (params[3] == kElementOffsets32) return scatter_part<T, Op, int32_t>(out, ptrs, t, part, lo, hi);
  scatter_part<T, Op, int64_t>(out, ptrs, t, part, lo, hi);
}

// ptrs [out, index, updates], params [updates, window, size of out in rows (of rows) or elements, index_kind];
// [lo, hi) = columns of the window
template <class T, class Op>
struct Scatter {
  static void run(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    scatter_any<T, Op>(static_cast<T*>(ptrs[0]), ptrs, params, {0, params[0]}, lo, hi);
  }
};

// What changes nothing when it is combined. For sums of floats -0 (0 + -0 is 0, but -0 + 0 is 0 as well).
template <class T, class Op>
T neutral_of() {
  using L = std::numeric_limits<T>;
  if constexpr (std::is_same<Op, Add>::value) {
    if constexpr (std::is_floating_point<T>::value) return static_cast<T>(-0.0);
    else return T{};
  } else {
    constexpr bool kMax = std::is_same<Op, Extreme<true>>::value;
    if constexpr (std::is_floating_point<T>::value) return kMax ? -L::infinity() : L::infinity();
    else return kMax ? L::min() : L::max();
  }
}

// The updates in equal pieces, each with results of its own (the first with `out`): ptrs [out, index, updates, work],
// params [updates, window, size of out in elements, index_kind of offsets, pieces]; [lo, hi) = pieces. What remains is
// `CombinePieces`. How many pieces there are is part of the program, so sums do not depend on threads. Extremes never
// do: the first NaN of the first piece that has one stays.
template <class T, class Op>
struct ScatterPieces {
  static void run(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    const int64_t updates = params[0], size = params[2], pieces = params[4];
    for (int64_t p = lo; p < hi; ++p) {
      T* out = p == 0 ? static_cast<T*>(ptrs[0]) : static_cast<T*>(ptrs[3]) + (p - 1) * size;
      if (p > 0) std::fill(out, out + size, neutral_of<T, Op>());
      scatter_any<T, Op>(out, ptrs, params, {updates * p / pieces, updates * (p + 1) / pieces}, 0, params[1]);
    }
  }
};

// ptrs [out, work], params [size, pieces]; [lo, hi) = elements
template <class T, class Op>
struct CombinePieces {
  static void run(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    T* out = static_cast<T*>(ptrs[0]);
    for (int64_t p = 0; p + 1 < params[1]; ++p) {
      const T* piece = static_cast<const T*>(ptrs[1]) + p * params[0];
      int64_t i = lo;
      if constexpr (std::is_floating_point<T>::value && !std::is_same<Op, Add>::value) {
        using Values = typename Lanes<T>::Values;
        constexpr int64_t kLanes = sizeof(Values) / sizeof(T);
        for (Values x, y; i + kLanes <= hi; i += kLanes) {
          std::memcpy(&x, out + i, sizeof x);
          std::memcpy(&y, piece + i, sizeof y);
          x = Op::template of_lanes<T>(x, y);
          std::memcpy(out + i, &x, sizeof x);
        }
      }
      for (; i < hi; ++i) out[i] = Op::apply(out[i], piece[i]);
    }
  }
};

template <class T> struct ScatterSet : Scatter<T, Set> {};
template <class T> struct ScatterAdd : Scatter<T, Add> {};
template <class T> struct ScatterMul : Scatter<T, Mul> {};
template <class T> struct ScatterMin : Scatter<T, Extreme<false>> {};
template <class T> struct ScatterMax : Scatter<T, Extreme<true>> {};
template <class T> struct ScatterAddPieces : ScatterPieces<T, Add> {};
template <class T> struct ScatterMinPieces : ScatterPieces<T, Extreme<false>> {};
template <class T> struct ScatterMaxPieces : ScatterPieces<T, Extreme<true>> {};
template <class T> struct AddPieces : CombinePieces<T, Add> {};
template <class T> struct MinPieces : CombinePieces<T, Extreme<false>> {};
template <class T> struct MaxPieces : CombinePieces<T, Extreme<true>> {};

template <class Types>
void add_routines_of_pieces(Types types) {
  add_family<ScatterAddPieces>("scatter_add_pieces", types);
  add_family<ScatterMinPieces>("scatter_min_pieces", types);
  add_family<ScatterMaxPieces>("scatter_max_pieces", types);
  add_family<AddPieces>("add_pieces", types);
  add_family<MinPieces>("min_pieces", types);
  add_family<MaxPieces>("max_pieces", types);
}

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
  add_routines_of_pieces(TypeList<float, double>{});
  add_routines_of_pieces(Integers{});
}

}  // namespace jitney
