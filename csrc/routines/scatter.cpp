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
#include "vector_target.h"

namespace jitney {

namespace {

// Whether windows of halves are combined by the instructions that convert eight of them (100 rows of 600: 190 us, 11).
bool converts_halves = false;
constexpr int64_t kHalves = 8;
#if defined(__x86_64__)
JITNEY_BEGIN_TARGET_AVX2
// Adds eights of halves, or multiplies by them.
template <bool kAdd>
void combine_halves(F16* to, const F16* from, int64_t count) {
  for (int64_t j = 0; j + kHalves <= count; j += kHalves) {
    const __m256 x = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(to + j)));
    const __m256 y = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + j)));
    const __m128i halves = _mm256_cvtps_ph(kAdd ? x + y : x * y, _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + j), halves);
  }
}
JITNEY_END_TARGET
#else
template <bool kAdd>
void combine_halves(F16*, const F16*, int64_t) {}
#endif

// Vectors of elements: `Values` (of integers without signs, which may overflow) and the `Masks` of their comparisons.
template <class T>
struct Lanes {
  typedef std::make_unsigned_t<T> Values __attribute__((vector_size(16)));
};
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

template <class T>
constexpr bool kIsNumber = std::is_arithmetic<T>::value && !std::is_same<T, bool>::value;

// `of_lanes`: the same of vectors, for types for which `has_lanes` holds.
struct Set {
  template <class T>
  static constexpr bool has_lanes() { return kIsNumber<T>; }
  template <class T, class Values = typename Lanes<T>::Values>
  static JITNEY_INLINE Values of_lanes(Values, Values y) { return y; }
  template <class T>
  static JITNEY_INLINE T apply(T, T update) { return update; }
};

struct Add {
  template <class T>
  static constexpr bool has_lanes() { return kIsNumber<T>; }
  template <class T, class Values = typename Lanes<T>::Values>
  static JITNEY_INLINE Values of_lanes(Values x, Values y) { return x + y; }
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
  static constexpr bool has_lanes() { return kIsNumber<T>; }
  template <class T, class Values = typename Lanes<T>::Values>
  static JITNEY_INLINE Values of_lanes(Values x, Values y) { return x * y; }
  template <class T>
  static JITNEY_INLINE T apply(T a, T b) {
    using A = Arithmetic<T>;
    if constexpr (IsFloat<T>::value) return A::store(A::load(a) * A::load(b));
    else return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));  // no overflow of promoted ints
  }
  static JITNEY_INLINE C64 apply(C64 a, C64 b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
  static JITNEY_INLINE C128 apply(C128 a, C128 b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
};

// NaN beats everything, the first NaN stays, and -0 < +0. Without branches, for which of two scattered values is
// smaller cannot be predicted (measured: 2.7 -> 0.85 ns an element).
template <bool kMax>
struct Extreme {
  template <class T>
  static constexpr bool has_lanes() { return std::is_floating_point<T>::value; }
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
constexpr int64_t kOneUpdate = 8;  // added to the kind: every place gets the same window

constexpr int64_t kAhead = 16;         // updates between a prefetch and its use
constexpr int64_t kCached = 512 << 10;  // bytes that need no prefetch
constexpr int64_t kCachedStores = 4 << 20;  // nor if nothing of them is read

// stride: elements from one index to the next; limit: indices below it; step: elements from one update to the next
struct Target {
  int64_t updates, window, stride, limit, step;
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
  const int64_t step = t.step;  // 1, or 0
  for (; u + 4 <= t.updates; u += 4) {  // names, not arrays: those would be loaded as vectors and pass through memory
    const I a = index[u], b = index[u + 1], c = index[u + 2], d = index[u + 3];
    const T x = update[0], y = update[step], z = update[2 * step], w = update[3 * step];
    update += 4 * step;
    scatter_element<T, Op>(out, a, x, t.limit);
    scatter_element<T, Op>(out, b, y, t.limit);
    scatter_element<T, Op>(out, c, z, t.limit);
    scatter_element<T, Op>(out, d, w, t.limit);
  }
  for (; u < t.updates; ++u, update += step) scatter_element<T, Op>(out, index[u], *update, t.limit);
}

// kCount (2 or 3) floats as a vector, and back: in words of 8 and 4 bytes, as they may have just been stored.
template <int kCount>
JITNEY_INLINE inline Lanes<float>::Values load_few(const float* p) {
  typedef double Pairs __attribute__((vector_size(16)));
  double first;
  memcpy(&first, p, sizeof first);
  auto v = (Lanes<float>::Values)Pairs{first};
  if constexpr (kCount == 3) v[2] = p[2];
  return v;
}
template <int kCount>
JITNEY_INLINE inline void store_few(float* p, Lanes<float>::Values v) {
  typedef double Pairs __attribute__((vector_size(16)));
  const double first = ((Pairs)v)[0];
  memcpy(p, &first, sizeof first);
  if constexpr (kCount == 3) p[2] = v[2];
}

template <class T, class Op, int kCount>
JITNEY_INLINE inline void combine(T* to, const T* from) {
  constexpr bool kExtremes = std::is_same<Op, Extreme<true>>::value || std::is_same<Op, Extreme<false>>::value;
  if constexpr (Op::template has_lanes<T>() && kCount * sizeof(T) % 16 == 0) {
    using Values = typename Lanes<T>::Values;
    constexpr int kVectors = kCount * static_cast<int>(sizeof(T)) / 16, kLanes = 16 / static_cast<int>(sizeof(T));
#pragma GCC unroll 4
    for (int k = 0; k < kVectors; ++k) {
      Values x, y;
      memcpy(&x, to + k * kLanes, sizeof x);
      memcpy(&y, from + k * kLanes, sizeof y);
      x = Op::template of_lanes<T>(x, y);
      memcpy(to + k * kLanes, &x, sizeof x);
    }
  } else if constexpr (kExtremes && std::is_same<T, float>::value && kCount > 1) {
    store_few<kCount>(to, Op::template of_lanes<T>(load_few<kCount>(to), load_few<kCount>(from)));
  } else if constexpr (kCount == 4 && kIsNumber<T>) {  // all are read before one is written: part of a vector
    T a[4], b[4];
    memcpy(a, to, sizeof a);
    memcpy(b, from, sizeof b);
    for (int j = 0; j < 4; ++j) a[j] = Op::apply(a[j], b[j]);
    memcpy(to, a, sizeof a);
  } else if constexpr (kCount < 4 && kIsNumber<T>) {  // names, not arrays: those pass through memory
    const T a = Op::apply(to[0], from[0]), b = kCount > 1 ? Op::apply(to[kCount > 1], from[kCount > 1]) : T{};
    if constexpr (kCount > 2) to[2] = Op::apply(to[2], from[2]);
    if constexpr (kCount > 1) to[1] = b;
    to[0] = a;
  } else {
    for (int j = 0; j < kCount; ++j) to[j] = Op::apply(to[j], from[j]);
  }
}

// Asks for the window of an index that is met some turns later, whatever the index is.
template <class T, class I>
JITNEY_INLINE inline void ask_for(const T* out, I index, int64_t stride, int64_t width) {
  const uintptr_t first = reinterpret_cast<uintptr_t>(out) + static_cast<uintptr_t>(index) * stride * sizeof(T);
  __builtin_prefetch(reinterpret_cast<const void*>(first), 1);
  __builtin_prefetch(reinterpret_cast<const void*>(first + width * sizeof(T) - 1), 1);
}

// Windows of 4 kFours + kRest elements (kFours -1: of any number of fours).
template <class T, class Op, int kFours, int kRest, class I>
void scatter_windows(T* out, const I* index, const T* update, const Target& t, int64_t width) {
  const int64_t limit = t.limit, fours = kFours < 0 ? width / 4 : kFours;
  constexpr int64_t cached = std::is_same<Op, Set>::value ? kCachedStores : kCached;
  const int64_t last = limit * t.stride * static_cast<int64_t>(sizeof(T)) > cached ? t.updates - kAhead : 0;
  for (int64_t u = 0; u < t.updates; ++u, update += t.step) {
    if (u < last) ask_for(out, index[u + kAhead], t.stride, width);
    const int64_t at = static_cast<int64_t>(index[u]);
    if (static_cast<uint64_t>(at) >= static_cast<uint64_t>(limit)) continue;
    T* to = out + at * t.stride;
    int64_t j = 0;
    if constexpr (std::is_same<T, F16>::value && (std::is_same<Op, Add>::value || std::is_same<Op, Mul>::value)) {
      if (converts_halves) {
        combine_halves<std::is_same<Op, Add>::value>(to, update, width);
        j = width / kHalves * (kHalves / 4);
      }
    }
    for (; j < fours; ++j) combine<T, Op, 4>(to + 4 * j, update + 4 * j);
    if constexpr (kRest > 0) combine<T, Op, kRest>(to + 4 * fours, update + 4 * fours);
  }
}

// Columns [lo, hi) of the windows.
template <class T, class Op, class I>
void scatter_updates(T* out, const I* index, const T* update, const Target& t, int64_t lo, int64_t hi) {
  const int64_t width = hi - lo;
  if (t.window == 1) return scatter_elements<T, Op>(out, index, update, t);
  out += lo;
  update += lo;
  switch (width < 4 ? width : width % 4 + (width < 8 ? 4 : 8)) {
    case 1: return scatter_windows<T, Op, 0, 1>(out, index, update, t, width);
    case 2: return scatter_windows<T, Op, 0, 2>(out, index, update, t, width);
    case 3: return scatter_windows<T, Op, 0, 3>(out, index, update, t, width);
    case 4: return scatter_windows<T, Op, 1, 0>(out, index, update, t, width);
    case 5: case 9: return scatter_windows<T, Op, -1, 1>(out, index, update, t, width);
    case 6: case 10: return scatter_windows<T, Op, -1, 2>(out, index, update, t, width);
    case 7: case 11: return scatter_windows<T, Op, -1, 3>(out, index, update, t, width);
    default: return scatter_windows<T, Op, -1, 0>(out, index, update, t, width);
  }
}

// Updates [first, last) of the arguments of a scatter, into `out`.
struct Part {
  int64_t first, last;
};

template <class T, class Op, class I>
void scatter_part(T* out, void* const* ptrs, const Target& t, Part part, int64_t lo, int64_t hi) {
  const I* index = static_cast<const I*>(ptrs[1]) + part.first;
  const T* update = static_cast<const T*>(ptrs[2]) + part.first * t.step;
  scatter_updates<T, Op>(out, index, update, t, lo, hi);
}

template <class T, class Op>
void scatter_any(T* out, void* const* ptrs, const int64_t* params, Part part, int64_t lo, int64_t hi) {
  const int64_t kind = params[3] & (kOneUpdate - 1), step = params[3] & kOneUpdate ? 0 : params[1];
  Target t{part.last - part.first, params[1], params[1], params[2], step};
  switch (kind) {
    case kRows32: return scatter_part<T, Op, int32_t>(out, ptrs, t, part, lo, hi);
    case kRows64: return scatter_part<T, Op, int64_t>(out, ptrs, t, part, lo, hi);
    case kRowsU32: return scatter_part<T, Op, uint32_t>(out, ptrs, t, part, lo, hi);
    default: break;
  }
  t.stride = 1;
  t.limit = params[2] - params[1] + 1;  // the whole window must fit
  if (t.limit <= 0) return;
  if (kind == kElementOffsets32) return scatter_part<T, Op, int32_t>(out, ptrs, t, part, lo, hi);
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
  converts_halves = cpu_level() >= 1;
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
