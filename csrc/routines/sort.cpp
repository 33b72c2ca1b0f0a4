// Sorting of rows: sort, argsort, argsort_by, permute (signatures in README.md).
//
// The radix sort works on the total order of bit patterns. Where that differs from the order that is promised (all
// NaNs equal and last, -0 == +0), the few elements concerned are put right afterwards.
#include <algorithm>

#include "families.h"
#include "packed_sort.h"
#include "radix.h"
#include "routines.h"
#include "vector_target.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace jitney {

namespace {

#if defined(__x86_64__)
JITNEY_BEGIN_TARGET_AVX2
namespace avx2 {
#include "sort_lanes_avx2.h"
#include "vector_sort_kernels.h"
}  // namespace avx2
JITNEY_END_TARGET
JITNEY_BEGIN_TARGET_AVX512
namespace avx512 {
#include "sort_lanes_avx512.h"
#include "vector_sort_kernels.h"
namespace narrow {
constexpr int kVectorBytes = 64;
#include "narrow_sort_kernels.h"
}  // namespace narrow
}  // namespace avx512
JITNEY_END_TARGET
#endif
namespace narrow {
constexpr int kVectorBytes = 16;
#include "narrow_sort_kernels.h"
}  // namespace narrow

int64_t round_up_64(int64_t bytes) { return (bytes + 63) / 64 * 64; }

// Scratch of the piece that starts at row lo: one part of `bytes` for each piece of rows_per_piece rows.
char* scratch_of_piece(void* work, int64_t lo, int64_t rows_per_piece, int64_t bytes) {
  int64_t piece = rows_per_piece > 0 ? lo / rows_per_piece : 0;
  return static_cast<char*>(work) + piece * round_up_64(bytes);
}

// Puts the zeros, then the NaNs, of a row that was sorted by total order (reversed if descending) into the order of
// their appearance. bits(i): pattern of the i-th element before sorting; get(rank): pattern after; put(rank, i):
// the element of that rank is the i-th; move(to, from, count): moves ranks.
template <class T, class Bits, class Get, class Put, class Move>
void settle_ties(int64_t n, bool descending, Bits bits, Get get, Put put, Move move) {
  using O = Order<T>;
  using U = typename O::U;
  U flip = descending ? static_cast<U>(~U{0}) : U{0};
  auto rank_of = [&](U pattern, bool after) {  // first rank whose key is >= (after: >) that of the pattern
    U want = O::key(pattern) ^ flip;
    int64_t lo = 0, hi = n;
    while (lo < hi) {
      int64_t mid = (lo + hi) / 2;
      U k = O::key(get(mid)) ^ flip;
      if (after ? k <= want : k < want) lo = mid + 1;
      else hi = mid;
    }
    return lo;
  };
  U plus = 0, minus = O::kSign;
  int64_t zeros = rank_of(descending ? plus : minus, false), middle = rank_of(descending ? plus : minus, true);
  int64_t zeros_end = rank_of(descending ? minus : plus, true);
  if (zeros < middle && middle < zeros_end) {
    int64_t r = zeros;
    for (int64_t i = 0; i < n && r < zeros_end; ++i)
      if (O::is_zero(bits(i))) put(r++, i);
  }
  U inf = static_cast<U>(infinity_bits<T>()), negative_inf = static_cast<U>(inf | O::kSign);
  int64_t first = rank_of(descending ? inf : negative_inf, false);       // NaNs before the numbers
  int64_t last = n - rank_of(descending ? negative_inf : inf, true);     // and behind them
  if (first + last == 0) return;
  int64_t numbers = n - first - last, r = descending ? 0 : numbers;
  move(descending ? first + last : 0, first, numbers);
  int64_t end = r + first + last;
  for (int64_t i = 0; i < n && r < end; ++i)
    if (O::is_nan(bits(i))) put(r++, i);
}

// sort: ptrs [in, out, work], params [n, descending, rows_per_piece]
template <class T>
struct Sort {
  using O = Order<T>;
  using U = typename O::U;

  static void row(const U* in, U* out, U* work, int64_t n, bool descending) {
    if (!in_registers(in, out, work, n, descending)) return;
    settle(in, out, n, descending);
  }

  // By total order; whether there may be ties to settle.
  static bool in_registers(const U* in, U* out, U* work, int64_t n, bool descending) {
#if defined(__x86_64__)
    if constexpr (sizeof(U) >= 4) {
      static const int level = cpu_level();
      if (level == 2) return by_vectors<avx512::Sorts<U>>(in, out, work, n, descending);
      if (level == 1) return by_vectors<avx2::Sorts<U>>(in, out, work, n, descending);
    }
#endif
    by_radix(in, out, work, n, descending);
    return true;
  }

  template <class Vectors>
  static bool by_vectors(const U* in, U* out, U* work, int64_t n, bool descending) {
    using S = typename Vectors::S;
    bool divided = n >= kParallelFrom && pool_is_free() && pool_num_threads() > 1;
    return Vectors::template sort_row<T>(
        reinterpret_cast<const S*>(in), reinterpret_cast<S*>(out), reinterpret_cast<S*>(work), n,
        static_cast<S>(descending ? -1 : 0), divided,
        [](int64_t count, PoolFn one, void* context) { pool_parallel_for(count, 1, one, context); });
  }

  static void by_radix(const U* in, U* out, U* work, int64_t n, bool descending) {
    U flip = descending ? static_cast<U>(~U{0}) : U{0};
    stable_radix_sort<O::kBits == 1 ? 8 : O::kBits, U>(
        n, [](U e) JITNEY_INLINE { return e; },
        [=](int64_t i) JITNEY_INLINE { return static_cast<U>(O::key(in[i]) ^ flip); },
        [=](int64_t rank, U e) JITNEY_INLINE { out[rank] = O::bits(e ^ flip); }, work, out);
  }

  static void settle(const U* in, U* out, int64_t n, bool descending) {
    if constexpr (IsFloat<T>::value)
      settle_ties<T>(
          n, descending, [=](int64_t i) { return in[i]; }, [=](int64_t r) { return out[r]; },
          [=](int64_t r, int64_t i) { out[r] = in[i]; },
          [=](int64_t to, int64_t from, int64_t count) {
            if (to != from) memmove(out + to, out + from, static_cast<size_t>(count) * sizeof(U));
          });
  }

  // One byte: counting is enough.
  static void count_row(const uint8_t* in, uint8_t* out, int64_t n, bool descending) {
    int64_t counts[256] = {};
    for (int64_t i = 0; i < n; ++i) ++counts[in[i]];
    uint8_t* to = out;
    for (int k = 0; k < 256; ++k) {
      uint8_t b = static_cast<uint8_t>(O::bits(static_cast<U>(descending ? 255 - k : k)));
      memset(to, b, static_cast<size_t>(counts[b]));
      to += counts[b];
    }
  }

  static void run(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    int64_t n = params[0];
    const U* in = static_cast<const U*>(ptrs[0]);
    U* out = static_cast<U*>(ptrs[1]);
    char* work = scratch_of_piece(ptrs[2], lo, params[2], n * static_cast<int64_t>(sizeof(U)));
    for (int64_t r = lo; r < hi; ++r) {
      if constexpr (sizeof(U) == 1) count_row(in + r * n, out + r * n, n, params[1] != 0);
      else row(in + r * n, out + r * n, reinterpret_cast<U*>(work), n, params[1] != 0);
    }
  }
};

// An element and where it came from. Keys up to 32 bits share a word with the index.
struct KeyedIndex {
  uint64_t key, index;
};

template <class U>
struct Packed {
  using E = uint64_t;
  static E pack(U key, int64_t i) { return static_cast<uint64_t>(key) << 32 | static_cast<uint32_t>(i); }
  static U key(E e) { return static_cast<U>(e >> 32); }
  static int64_t index(E e) { return static_cast<uint32_t>(e); }
};
template <>
struct Packed<uint64_t> {
  using E = KeyedIndex;
  static E pack(uint64_t key, int64_t i) { return {key, static_cast<uint64_t>(i)}; }
  static uint64_t key(const E& e) { return e.key; }
  static int64_t index(const E& e) { return static_cast<int64_t>(e.index); }
};

template <class P>
constexpr bool is_packed = std::is_same_v<typename P::E, uint64_t>;
// Rows up to here are sorted in registers, longer ones digit by digit (a Zen 3: rows of 50 numbers .27 of the time, of
// 1000 .87, of 2500 .90, of 4096 .79).
constexpr int64_t kMostPacked = 4096;

// Index type I; perm (may be null) gives the order in which equal keys stay.
template <class T, class P, class I>
void argsort_row(const UInt<T>* in, const I* perm, I* out, char* work, int64_t n, bool descending) {
  using O = Order<T>;
  using U = typename O::U;
  using E = typename P::E;
  U flip = descending ? static_cast<U>(~U{0}) : U{0};
  E *a = reinterpret_cast<E*>(work), *b = a + n;
  auto key = [](const E& e) JITNEY_INLINE { return static_cast<U>(P::key(e)); };
  auto emit = [=](int64_t rank, const E& e) JITNEY_INLINE { out[rank] = static_cast<I>(P::index(e)); };
  constexpr int kBits = O::kBits == 1 ? 8 : O::kBits;
  auto source = [=](int64_t i) { return perm ? static_cast<int64_t>(perm[i]) : i; };
  if (is_packed<P> && !perm && n <= kMostPacked && sorts_packed()) {
    auto *words = reinterpret_cast<int64_t*>(a), *scratch = reinterpret_cast<int64_t*>(b);
    for (int64_t i = 0; i < n; ++i) words[i] = packed_word(static_cast<uint32_t>(O::key(in[i]) ^ flip), i);
    sort_packed(words, scratch, n);
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<I>(position_of(words[i]));
  } else if (perm)
    stable_radix_sort<kBits, E>(
        n, key, [=](int64_t i) JITNEY_INLINE { return P::pack(O::key(in[perm[i]]) ^ flip, perm[i]); }, emit, a, b);
  else
    stable_radix_sort<kBits, E>(
        n, key, [=](int64_t i) JITNEY_INLINE { return P::pack(O::key(in[i]) ^ flip, i); }, emit, a, b);
  if constexpr (IsFloat<T>::value)
    settle_ties<T>(
        n, descending, [=](int64_t i) { return in[source(i)]; }, [=](int64_t r) { return in[out[r]]; },
        [=](int64_t r, int64_t i) { out[r] = static_cast<I>(source(i)); },
        [=](int64_t to, int64_t from, int64_t count) {
          if (to != from) memmove(out + to, out + from, static_cast<size_t>(count) * sizeof(I));
        });
}

// Rows of two to eight elements: one a lane.
template <class T, class I>
void argsort_narrow(const UInt<T>* in, I* out, int64_t n, int64_t rows, bool descending) {
  using Key = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
#if defined(__x86_64__)
  static const bool wide = cpu_level() == 2;
  if (wide)
    return avx512::narrow::NarrowRows<Key, UInt<T>, I>::run(in, out, n, rows, avx512::narrow::loose_keys<T, Key>,
                                                            descending);
#endif
  narrow::NarrowRows<Key, UInt<T>, I>::run(in, out, n, rows, narrow::loose_keys<T, Key>, descending);
}

// argsort: ptrs [in, out, work]; argsort_by: ptrs [in, perm, out, work]; params [n, descending, rows_per_piece,
// index_bytes]
template <class T, bool kBy>
struct ArgsortOf {
  static void run(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    if (params[3] != 8) rows<Packed<UInt<T>>, int32_t>(ptrs, params, lo, hi);
    else if (params[0] < kRadixLimit) rows<Packed<UInt<T>>, int64_t>(ptrs, params, lo, hi);
    else rows<Packed<uint64_t>, int64_t>(ptrs, params, lo, hi);
  }
  template <class P, class I>
  static void rows(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    int64_t n = params[0];
    constexpr int64_t kElement = sizeof(typename P::E);
    const auto* in = static_cast<const UInt<T>*>(ptrs[0]);
    const I* perm = kBy ? static_cast<const I*>(ptrs[1]) : nullptr;
    I* out = static_cast<I*>(ptrs[kBy ? 2 : 1]);
    if (!kBy && n > 1 && n <= narrow::kMostNarrow)
      return argsort_narrow<T, I>(in + lo * n, out + lo * n, n, hi - lo, params[1] != 0);
    char* work = scratch_of_piece(ptrs[kBy ? 3 : 2], lo, params[2], 2 * n * kElement);
    for (int64_t r = lo; r < hi; ++r)
      argsort_row<T, P, I>(in + r * n, perm ? perm + r * n : nullptr, out + r * n, work, n, params[1] != 0);
  }
};
template <class T>
struct Argsort : ArgsortOf<T, false> {};
template <class T>
struct ArgsortBy : ArgsortOf<T, true> {};

// permute_b<size>: ptrs [in, perm, out], params [n, index_bytes]; rows of n elements of one size
template <class E, class I>
void permute_rows(const E* in, const I* perm, E* out, int64_t n, int64_t rows) {
  constexpr int64_t kAhead = 24;
  for (int64_t r = 0; r < rows; ++r, in += n, perm += n, out += n) {
    int64_t i = 0;
    for (; i + kAhead < n; ++i) {
      __builtin_prefetch(in + perm[i + kAhead]);
      out[i] = in[perm[i]];
    }
    for (; i < n; ++i) out[i] = in[perm[i]];
  }
}

template <class E>
void permute(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
  int64_t n = params[0];
  const E* in = static_cast<const E*>(ptrs[0]) + lo * n;
  E* out = static_cast<E*>(ptrs[2]) + lo * n;
  if (params[1] == 8) permute_rows(in, static_cast<const int64_t*>(ptrs[1]) + lo * n, out, n, hi - lo);
  else permute_rows(in, static_cast<const int32_t*>(ptrs[1]) + lo * n, out, n, hi - lo);
}

struct Sixteen {
  uint64_t lo, hi;
};

}  // namespace

bool sorts_packed() {
  static const bool found = cpu_level() > 0;
  return found;
}

void sort_packed(int64_t* words, int64_t* scratch, int64_t n) {
#if defined(__x86_64__)
  static const int level = cpu_level();
  if (level == 2) return avx512::Sorts<int64_t>::sort_keys(words, scratch, n);
  if (level == 1) return avx2::Sorts<int64_t>::sort_keys(words, scratch, n);
#endif
  std::sort(words, words + n);
}

void add_sort_routines() {
  add_family<Sort>("sort", Floats{});
  add_family<Sort>("sort", Integers{});
  add_family<Sort>("sort", TypeList<bool>{});
  add_family<Argsort>("argsort", Floats{});
  add_family<Argsort>("argsort", Integers{});
  add_family<Argsort>("argsort", TypeList<bool>{});
  add_family<ArgsortBy>("argsort_by", Floats{});
  add_family<ArgsortBy>("argsort_by", Integers{});
  add_family<ArgsortBy>("argsort_by", TypeList<bool>{});
  add_routine("permute_b1", permute<uint8_t>);
  add_routine("permute_b2", permute<uint16_t>);
  add_routine("permute_b4", permute<uint32_t>);
  add_routine("permute_b8", permute<uint64_t>);
  add_routine("permute_b16", permute<Sixteen>);
}

}  // namespace jitney
