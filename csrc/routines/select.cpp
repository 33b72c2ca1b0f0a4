// Division of rows at a rank: partition, argpartition (signatures in README.md).
//
// Order: numbers, then NaNs, as in sorting. Where machines have AVX2 or AVX-512 the row is divided by sampled pivots
// (vector_sort_kernels.h); elsewhere std::nth_element does it. The order within the two parts is unspecified, but the
// same for any number of threads.
#include <algorithm>

#include "families.h"
#include "packed_sort.h"
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
}  // namespace avx512
JITNEY_END_TARGET
#endif

// keys[0, n) into out[0, n), rank k in its place; keys and scratch are overwritten.
template <class S>
void select_keys(S* keys, S* scratch, S* out, int64_t n, int64_t k) {
#if defined(__x86_64__)
  static const int level = cpu_level();
  if (level == 2) return avx512::Sorts<S>::select(keys, scratch, out, n, k);
  if (level == 1) return avx2::Sorts<S>::select(keys, scratch, out, n, k);
#endif
  memcpy(out, keys, static_cast<size_t>(n) * sizeof(S));
  std::nth_element(out, out + k, out + n);
}

// Signed key of a bit pattern: NaNs are greatest, whatever their sign.
template <class T>
std::make_signed_t<UInt<T>> signed_key(UInt<T> bits) {
  using O = Order<T>;
  using S = std::make_signed_t<UInt<T>>;
  UInt<T> key = static_cast<UInt<T>>(O::key(bits) ^ O::kSign);
  if constexpr (IsFloat<T>::value) key = O::is_nan(bits) ? static_cast<UInt<T>>(~O::kSign) : key;
  return static_cast<S>(key);
}

// partition: ptrs [in, out, work], params [n, k, rows_per_piece]
template <class T>
struct Partition {
  using U = UInt<T>;
  using S = std::make_signed_t<U>;

  // Keys of 32 or 64 bits: narrow ones would not fill the lanes that there are.
  using Wide = std::conditional_t<sizeof(U) == 8, int64_t, int32_t>;

  static void row(const U* in, U* out, Wide* work, int64_t n, int64_t k) {
    if (by_vectors(in, out, work, n, k)) return;
    Wide *keys = work, *scratch = work + n, *found = work + 2 * n;
    for (int64_t i = 0; i < n; ++i) keys[i] = signed_key<T>(in[i]);
    select_keys(keys, scratch, found, n, k);
    for (int64_t i = 0; i < n; ++i)
      out[i] = Order<T>::bits(static_cast<U>(static_cast<U>(static_cast<S>(found[i])) ^ Order<T>::kSign));
  }

  // Where elements are as wide as keys, these are made in registers, too.
  static bool by_vectors(const U* in, U* out, Wide* work, int64_t n, int64_t k) {
#if defined(__x86_64__)
    if constexpr (sizeof(U) == sizeof(Wide)) {
      static const int level = cpu_level();
      const auto* from = reinterpret_cast<const Wide*>(in);
      auto* to = reinterpret_cast<Wide*>(out);
      if (level == 2) avx512::Sorts<Wide>::template select_row<T>(from, to, work, n, k);
      if (level == 1) avx2::Sorts<Wide>::template select_row<T>(from, to, work, n, k);
      return level > 0;
    }
#endif
    return false;
  }

  static void run(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    int64_t n = params[0], piece = params[2] > 0 ? lo / params[2] : 0;
    int64_t bytes = (3 * n * 8 + 63) / 64 * 64;
    auto* work = reinterpret_cast<Wide*>(static_cast<char*>(ptrs[2]) + piece * bytes);
    for (int64_t r = lo; r < hi && n > 0; ++r)
      row(static_cast<const U*>(ptrs[0]) + r * n, static_cast<U*>(ptrs[1]) + r * n, work, n, params[1]);
  }
};

// argpartition: ptrs [in, out, work], params [n, k, rows_per_piece, index_bytes]. Equal elements are in the order of
// their positions as far as the two parts are concerned.
template <class T>
struct Argpartition {
  using U = UInt<T>;
  static constexpr bool kPacked = sizeof(U) <= 4;  // key and position share a word

  template <class I>
  static void row(const U* in, I* out, int64_t* work, int64_t n, int64_t k) {
    if (kPacked && n <= INT64_C(0xffffffff)) return packed_row(in, out, work, n, k);
    for (int64_t i = 0; i < n; ++i) work[i] = signed_key<T>(in[i]);
    select_keys(work, work + n, work + 2 * n, n, k);
    spread(in, out, n, work[2 * n + k]);
  }

  // Positions of keys below the pivot, then of those that equal it, then of the others.
  template <class I>
  static void spread(const U* in, I* out, int64_t n, int64_t pivot) {
    int64_t low = 0, equal = 0;
    for (int64_t i = 0; i < n; ++i) {
      int64_t key = signed_key<T>(in[i]);
      low += key < pivot;
      equal += key == pivot;
    }
    int64_t first = 0, middle = low, last = low + equal;
    for (int64_t i = 0; i < n; ++i) {
      int64_t key = signed_key<T>(in[i]);
      bool below = key < pivot, same = key == pivot;
      int64_t at = same ? middle : last;
      out[below ? first : at] = static_cast<I>(i);
      first += below;
      middle += same;
      last += !below && !same;
    }
  }

  template <class I>
  static void packed_row(const U* in, I* out, int64_t* work, int64_t n, int64_t k) {
    int64_t *keys = work, *scratch = work + n, *found = work + 2 * n;
    for (int64_t i = 0; i < n; ++i)
      keys[i] = static_cast<int64_t>(signed_key<T>(in[i])) * (INT64_C(1) << 32) + i;
    select_keys(keys, scratch, found, n, k);
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<I>(static_cast<uint32_t>(found[i]));
  }

  static void run(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    int64_t n = params[0], piece = params[2] > 0 ? lo / params[2] : 0;
    int64_t bytes = (3 * n * 8 + 63) / 64 * 64;
    auto* work = reinterpret_cast<int64_t*>(static_cast<char*>(ptrs[2]) + piece * bytes);
    const U* in = static_cast<const U*>(ptrs[0]);
    for (int64_t r = lo; r < hi && n > 0; ++r) {
      if (params[3] == 8) row(in + r * n, static_cast<int64_t*>(ptrs[1]) + r * n, work, n, params[1]);
      else row(in + r * n, static_cast<int32_t*>(ptrs[1]) + r * n, work, n, params[1]);
    }
  }
};

}  // namespace

void select_packed(int64_t* words, int64_t* scratch, int64_t* out, int64_t n, int64_t k) {
  select_keys(words, scratch, out, n, k);
}

void add_select_routines() {
  add_family<Partition>("partition", Floats{});
  add_family<Partition>("partition", Integers{});
  add_family<Argpartition>("argpartition", Floats{});
  add_family<Argpartition>("argpartition", Integers{});
}

}  // namespace jitney
