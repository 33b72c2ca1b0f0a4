// What the cumulative routines compute: operations, and how elements become what is computed with. Included by
// scan_kernels.h, once a vector width.
//
// In: elements, one or a vector of them. Out: the same of results. Invariant: `identity` changes no element (the sum's
// is -0); an operation that `kRegroups` may be applied to parts of a row first, and to their results then; `kNarrow`:
// there is code of its own for 2, 4 and 8 columns.

// ---- operations on the type they are computed in (scalars or vectors of it)

template <class A>
struct Sum {
  static constexpr bool kIsSum = true;
  static constexpr bool kNarrow = true;
  static constexpr bool kRegroups = true;
  static constexpr A identity() { return static_cast<A>(std::is_floating_point<A>::value ? -0.0 : 0); }
  template <class X>
  static JITNEY_INLINE inline X apply(X a, X b) { return a + b; }
};
template <class A>
struct Product {
  static constexpr bool kIsSum = false;
  static constexpr bool kNarrow = false;
  static constexpr bool kRegroups = !std::is_floating_point<A>::value;  // a part's product may overflow by itself
  static constexpr A identity() { return 1; }
  template <class X>
  static JITNEY_INLINE inline X apply(X a, X b) { return a * b; }
};
template <class A>
struct Maximum {  // of integers; floats come as keys
  static constexpr bool kIsSum = false;
  static constexpr bool kNarrow = false;
  static constexpr bool kRegroups = true;
  static constexpr A identity() { return std::is_signed<A>::value ? static_cast<A>(A{1} << (8 * sizeof(A) - 1)) : A{0}; }
  template <class X>
  static JITNEY_INLINE inline X apply(X a, X b) { return a > b ? a : b; }
};
template <class A>
struct Minimum {
  static constexpr bool kIsSum = false;
  static constexpr bool kNarrow = false;
  static constexpr bool kRegroups = true;
  static constexpr A identity() { return static_cast<A>(~Maximum<A>::identity()); }
  template <class X>
  static JITNEY_INLINE inline X apply(X a, X b) { return a < b ? a : b; }
};

// ---- how elements become what is computed with, and back

template <class E>
struct Plain {
  static constexpr bool kPlain = true;  // results and elements are the same thing
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
  static constexpr bool kPlain = false;
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
