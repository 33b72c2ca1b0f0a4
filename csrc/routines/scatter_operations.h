// What scatters do to an element, and to some that lie side by side.
//
// Invariant: the first argument of an operation is what was there, the second the update.
#pragma once
#include <cmath>
#include <cstring>
#include <type_traits>

#include "dtypes.h"

namespace jitney {

namespace scatters {

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

// A number in the first lane, whatever is in the others: to clear those GCC takes the way through a general register.
template <class T>
JITNEY_INLINE inline typename Lanes<T>::Values first_lane(T x) {
  typename Lanes<T>::Values v;
#if defined(__SSE2__)
  asm("" : "=x"(v) : "0"(x));
#else
  v = typename Lanes<T>::Values{x};
#endif
  return v;
}

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

  // One comparison that selects (maxss, minss), which gives `a` for what is not ordered; the sign of zeros in vector
  // registers, where comparisons give masks; NaN is rare.
  template <class T>
  static JITNEY_INLINE T of_floats(T a, T b) {
    using Values = typename Lanes<T>::Values;
    using Masks = typename Lanes<T>::Masks;
    if (__builtin_expect(b != b, 0)) return a != a ? a : b;
    const T chosen = kMax ? (b > a ? b : a) : (b < a ? b : a);
    const Masks same = first_lane(a) == first_lane(b), x = (Masks)first_lane(chosen), y = (Masks)first_lane(b);
    return ((Values)(kMax ? x & (y | ~same) : x | (y & same)))[0];
  }

  template <class T, class Values = typename Lanes<T>::Values>
  static JITNEY_INLINE Values of_lanes(Values x, Values y) {
    using Masks = typename Lanes<T>::Masks;
    const Masks keep = (kMax ? x >= y : x <= y) | (x != x), same = x == y;
    const Masks bits = (keep & (Masks)x) | (~keep & (Masks)y);
    return (Values)(kMax ? bits & ((Masks)y | ~same) : bits | ((Masks)y & same));  // of zeros, the sign decides
  }
};

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

}  // namespace scatters

}  // namespace jitney
