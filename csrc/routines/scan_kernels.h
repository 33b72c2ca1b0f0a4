// Cumulative sum, product, maximum and minimum for one vector width. Included by scan.cpp, once a width, inside a
// namespace that defines kVectorBytes.

#include "vectors.h"

// ---- operations on the type they are computed in (scalars or vectors of it)

template <class A>
struct Sum {
  static constexpr A identity() { return static_cast<A>(std::is_floating_point<A>::value ? -0.0 : 0); }
  template <class X>
  static JITNEY_INLINE inline X apply(X a, X b) { return a + b; }
};
template <class A>
struct Product {
  static constexpr A identity() { return 1; }
  template <class X>
  static JITNEY_INLINE inline X apply(X a, X b) { return a * b; }
};
template <class A>
struct Maximum {  // of integers; floats come as keys
  static constexpr A identity() { return std::is_signed<A>::value ? static_cast<A>(A{1} << (8 * sizeof(A) - 1)) : A{0}; }
  template <class X>
  static JITNEY_INLINE inline X apply(X a, X b) { return a > b ? a : b; }
};
template <class A>
struct Minimum {
  static constexpr A identity() { return static_cast<A>(~Maximum<A>::identity()); }
  template <class X>
  static JITNEY_INLINE inline X apply(X a, X b) { return a < b ? a : b; }
};

// ---- how elements become what is computed with, and back

template <class E>
struct Plain {
  using Stored = E;
  using Computed = E;
  template <class X>
  static JITNEY_INLINE inline X in(X x) { return x; }
  template <class X>
  static JITNEY_INLINE inline X out(X x) { return x; }
};

// Floats as signed integers of the same order. NaN becomes the extreme that absorbs all others.
template <class T, bool kMax>
struct OrderedFloat {
  using Stored = std::make_signed_t<UInt<T>>;
  using Computed = Stored;
  static constexpr Stored kMagnitude = static_cast<Stored>(static_cast<UInt<T>>(~UInt<T>{0}) >> 1);
  static constexpr Stored kInfinity = static_cast<Stored>(infinity_bits<T>());
  static constexpr Stored kNan = kMax ? kMagnitude : static_cast<Stored>(~kMagnitude);
  template <class X>
  static JITNEY_INLINE inline X in(X x) {
    constexpr int kShift = 8 * sizeof(T) - 1;
    X key = static_cast<X>(x ^ ((x >> kShift) & kMagnitude));
    if constexpr (std::is_same<X, Stored>::value) return (x & kMagnitude) > kInfinity ? kNan : key;
    else return (x & kMagnitude) > kInfinity ? X{} + kNan : key;
  }
  template <class X>
  static JITNEY_INLINE inline X out(X k) {
    return static_cast<X>(k ^ ((k >> (8 * sizeof(T) - 1)) & kMagnitude));
  }
};

// ---- one row whose elements are neighbours; *carry is what comes from before and goes on

template <class Code, class Op, bool kReverse>
static void scan_row_scalar(const typename Code::Stored* in, typename Code::Stored* out, int64_t n,
                            typename Code::Computed* carry) {
  typename Code::Computed acc = *carry;
  for (int64_t k = 0; k < n; ++k) {
    int64_t i = kReverse ? n - 1 - k : k;
    acc = Op::apply(acc, Code::in(in[i]));
    out[i] = Code::out(acc);
  }
  *carry = acc;
}

// Lanes are combined in log2(lanes) steps; only one operation and one broadcast depend on the vector before.
template <class Code, class Op, bool kReverse>
static void scan_row(const typename Code::Stored* in, typename Code::Stored* out, int64_t n,
                     typename Code::Computed* carry) {
  using E = typename Code::Stored;
  using A = typename Code::Computed;
  if constexpr (sizeof(A) < 4 || sizeof(E) != sizeof(A)) {
    scan_row_scalar<Code, Op, kReverse>(in, out, n, carry);
  } else {
    constexpr int kLanes = Vec<A>::kLanes;
    using L = Lanes<A>;
    const V<A> id = splat_exact<A>(Op::identity());
    int64_t whole = n / kLanes * kLanes;
    if (kReverse && whole < n) scan_row_scalar<Code, Op, kReverse>(in + whole, out + whole, n - whole, carry);
    V<A> before = splat_exact<A>(*carry);
    for (int64_t k = 0; k < whole; k += kLanes) {
      int64_t i = kReverse ? whole - kLanes - k : k;
      V<A> v = Code::in(load<E>(in + i));
      v = Op::apply(shift_lanes<A, 1, kReverse>(id, v, L{}), v);
      if constexpr (kLanes > 2) v = Op::apply(shift_lanes<A, 2, kReverse>(id, v, L{}), v);
      if constexpr (kLanes > 4) v = Op::apply(shift_lanes<A, 4, kReverse>(id, v, L{}), v);
      if constexpr (kLanes > 8) v = Op::apply(shift_lanes<A, 8, kReverse>(id, v, L{}), v);
      v = Op::apply(before, v);
      store<E>(out + i, Code::out(v));
      before = broadcast_lane<A, kReverse ? 0 : kLanes - 1>(v, L{});
    }
    *carry = before[0];
    if (!kReverse && whole < n) scan_row_scalar<Code, Op, kReverse>(in + whole, out + whole, n - whole, carry);
  }
}

// ---- `width` neighbouring columns at once, rows `stride` elements apart

constexpr int64_t kMaxWidth = 512;

template <class Code, class Op, bool kReverse>
static void scan_columns(const typename Code::Stored* in, typename Code::Stored* out, int64_t n, int64_t stride,
                         int64_t width) {
  using A = typename Code::Computed;
  A acc[kMaxWidth];
  for (int64_t j = 0; j < width; ++j) acc[j] = Op::identity();
  for (int64_t k = 0; k < n; ++k) {
    int64_t at = (kReverse ? n - 1 - k : k) * stride;
    const typename Code::Stored* x = in + at;
    typename Code::Stored* y = out + at;
#pragma GCC ivdep
    for (int64_t j = 0; j < width; ++j) acc[j] = Op::apply(acc[j], Code::in(x[j]));
#pragma GCC ivdep
    for (int64_t j = 0; j < width; ++j) y[j] = Code::out(acc[j]);
  }
}

// Two neighbouring columns, kept in registers: complex rows.
template <class Code, class Op, bool kReverse>
static void scan_pair(const typename Code::Stored* in, typename Code::Stored* out, int64_t n) {
  typename Code::Computed first = Op::identity(), second = Op::identity();
  for (int64_t k = 0; k < n; ++k) {
    int64_t at = 2 * (kReverse ? n - 1 - k : k);
    first = Op::apply(first, Code::in(in[at]));
    second = Op::apply(second, Code::in(in[at + 1]));
    out[at] = Code::out(first);
    out[at + 1] = Code::out(second);
  }
}

// The pieces of [outer, n, inner]: extent = outer * blocks, where blocks of `block` columns make up inner.
template <class Code, class Op, bool kReverse>
static void scan_pieces(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
  using E = typename Code::Stored;
  int64_t n = params[0], inner = params[1], block = params[3];
  if (block <= 0 || block > inner) block = inner;
  int64_t blocks = inner > 0 ? (inner + block - 1) / block : 1;
  for (int64_t piece = lo; piece < hi; ++piece) {
    int64_t first = piece % blocks * block, last = first + block < inner ? first + block : inner;
    int64_t at = piece / blocks * n * inner + first;
    const E* in = static_cast<const E*>(ptrs[0]) + at;
    E* out = static_cast<E*>(ptrs[1]) + at;
    if (inner == 1) {
      typename Code::Computed carry = Op::identity();
      scan_row<Code, Op, kReverse>(in, out, n, &carry);
      continue;
    }
    if (inner == 2 && last - first == 2) {
      scan_pair<Code, Op, kReverse>(in, out, n);
      continue;
    }
    for (int64_t j = 0; j < last - first; j += kMaxWidth) {
      int64_t width = last - first - j < kMaxWidth ? last - first - j : kMaxWidth;
      scan_columns<Code, Op, kReverse>(in + j, out + j, n, inner, width);
    }
  }
}

template <class Code, class Op>
static void scan(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
  if (params[2]) scan_pieces<Code, Op, true>(ptrs, params, lo, hi);
  else scan_pieces<Code, Op, false>(ptrs, params, lo, hi);
}

// ---- 16-bit floats are summed in f32, each result rounded once

template <class T>
struct Half {
  using Stored = T;
  using Computed = float;
  static JITNEY_INLINE inline float in(T v) { return to_float(v); }
  static JITNEY_INLINE inline T out(float f) { return Arithmetic<T>::store(f); }
};

template <class T, class Op, bool kReverse>
static void scan_half_row(const T* in, T* out, int64_t n) {
  constexpr int64_t kChunk = 512;
  float chunk[kChunk], carry = Op::identity();
  int64_t chunks = (n + kChunk - 1) / kChunk;
  for (int64_t c = 0; c < chunks; ++c) {
    int64_t lo = (kReverse ? chunks - 1 - c : c) * kChunk, count = n - lo < kChunk ? n - lo : kChunk;
    for (int64_t j = 0; j < count; ++j) chunk[j] = to_float(in[lo + j]);
    scan_row<Plain<float>, Op, kReverse>(chunk, chunk, count, &carry);
    for (int64_t j = 0; j < count; ++j) out[lo + j] = Arithmetic<T>::store(chunk[j]);
  }
}

template <class T, class Op>
static void scan_half(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
  if (params[1] != 1) return scan<Half<T>, Op>(ptrs, params, lo, hi);
  int64_t n = params[0];
  for (int64_t row = lo; row < hi; ++row) {
    const T* in = static_cast<const T*>(ptrs[0]) + row * n;
    T* out = static_cast<T*>(ptrs[1]) + row * n;
    if (params[2]) scan_half_row<T, Op, true>(in, out, n);
    else scan_half_row<T, Op, false>(in, out, n);
  }
}

// ---- one structure per operation, `run` chosen by type

template <class T, template <class> class Op>
struct Arith {
  static void run(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    if constexpr (std::is_same<T, F16>::value || std::is_same<T, BF16>::value)
      scan_half<T, Op<float>>(ptrs, params, lo, hi);
    else if constexpr (std::is_floating_point<T>::value) scan<Plain<T>, Op<T>>(ptrs, params, lo, hi);
    else scan<Plain<UInt<T>>, Op<UInt<T>>>(ptrs, params, lo, hi);
  }
};
template <class T>
struct CumSum : Arith<T, Sum> {};
template <class T>
struct CumProd : Arith<T, Product> {};

template <class T, bool kMax>
struct Extreme {
  static void run(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    using Code = std::conditional_t<IsFloat<T>::value, OrderedFloat<T, kMax>, Plain<T>>;
    using A = typename Code::Computed;
    using Op = std::conditional_t<kMax, Maximum<A>, Minimum<A>>;
    scan<Code, Op>(ptrs, params, lo, hi);
  }
};
template <class T>
struct CumMax : Extreme<T, true> {};
template <class T>
struct CumMin : Extreme<T, false> {};

// Complex sums are sums of twice as many columns.
template <class T, class Part>
struct ComplexSum {
  static void run(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    const int64_t doubled[4] = {params[0], 2 * params[1], params[2], 2 * params[3]};
    scan<Plain<Part>, Sum<Part>>(ptrs, doubled, lo, hi);
  }
};

static void add_scans() {
  add_family<CumSum>("cumsum", Floats{});
  add_family<CumSum>("cumsum", Integers{});
  add_family<CumProd>("cumprod", Floats{});
  add_family<CumProd>("cumprod", Integers{});
  add_family<CumMax>("cummax", Floats{});
  add_family<CumMax>("cummax", Integers{});
  add_family<CumMin>("cummin", Floats{});
  add_family<CumMin>("cummin", Integers{});
  add_routine("cumsum_c64", &ComplexSum<C64, float>::run);
  add_routine("cumsum_c128", &ComplexSum<C128, double>::run);
}
