// Binary search in sorted rows, and counting (signatures in README.md).
#include <cstring>

#include "edges.h"
#include "families.h"
#include "routines.h"
#include "search_plan.h"
#include "tally.h"
#include "vector_target.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace jitney {

namespace {

// Numbers of elements of the sorted row that are below each value (kRight: below or equal). All searches halve alike,
// and their loads wait for memory side by side.
constexpr int64_t kTogether = 32;
constexpr int64_t kLeastPlanned = 64;  // values for which it is worth to lay out the first steps

template <class T, bool kRight, class I>
void ranks_of(const UInt<T>* row, int64_t n, const UInt<T>* values, int64_t count, I* out) {
  UInt<T> want[kTogether];
  int64_t first[kTogether] = {};
  for (int64_t j = 0; j < count; ++j) want[j] = Order<T>::loose_key(values[j]);
  for (int64_t length = n, half; length > 0; length = half) {
    half = length / 2;
    for (int64_t j = 0; j < count; ++j) {
      UInt<T> k = Order<T>::loose_key(row[first[j] + half]);
      int64_t go_right = kRight ? k <= want[j] : k < want[j];
      first[j] += -go_right & (length - half);
    }
  }
  for (int64_t j = 0; j < count; ++j) out[j] = static_cast<I>(first[j]);
}

template <class T, bool kRight, class I>
void search_plainly(const UInt<T>* row, int64_t n, const UInt<T>* values, int64_t count, I* out) {
  const int64_t whole = count - count % kTogether;
  for (int64_t i = 0; i < whole; i += kTogether) ranks_of<T, kRight>(row, n, values + i, kTogether, out + i);
  if (whole < count) ranks_of<T, kRight>(row, n, values + whole, count - whole, out + whole);
}

namespace any_cpu {
constexpr int kVectorBytes = 16;
#include "count_kernels.h"
}  // namespace any_cpu

#if defined(__x86_64__)
JITNEY_BEGIN_TARGET_AVX2
namespace avx2 {
constexpr int kVectorBytes = 32;
#include "count_kernels.h"
#include "search_kernels.h"
}  // namespace avx2
JITNEY_END_TARGET

JITNEY_BEGIN_TARGET_AVX512
namespace avx512 {
constexpr int kVectorBytes = 64;
#include "count_kernels.h"
#include "search_kernels.h"
}  // namespace avx512
JITNEY_END_TARGET
#endif

// Ranks of many values: in the lanes of vectors, where these gather.
template <class T, bool kRight, class I>
void search_planned(const SearchPlan<T>& plan, const UInt<T>* values, int64_t count, I* out) {
#if defined(__x86_64__)
  if constexpr (sizeof(T) >= 4) {
    static const int level = cpu_level();
    if (level > 0 && plan.n < INT32_MAX) {
      return level == 2 ? avx512::search<T, kRight>(plan, values, count, out)
                        : avx2::search<T, kRight>(plan, values, count, out);
    }
  }
#endif
  search_plainly<T, kRight>(plan.row, plan.n, values, count, out);
}

template <class T, bool kRight, class I>
void search_all(const UInt<T>* row, int64_t n, const UInt<T>* values, int64_t count, I* out) {
  if (count < kLeastPlanned) return search_plainly<T, kRight>(row, n, values, count, out);
  search_planned<T, kRight>(SearchPlan<T>(row, n, count), values, count, out);
}

template <class T>
bool even_ranks(const EvenEdges<T>& edges, const T* values, int64_t n, int32_t* out) {
#if defined(__x86_64__)
  static const int level = cpu_level();
  if (level == 2) return avx512::even_ranks(edges, values, n, out);
  if (level == 1) return avx2::even_ranks(edges, values, n, out);
#endif
  return any_cpu::even_ranks(edges, values, n, out);
}

template <bool kDrop, class T>
void bins_of(const T* values, int64_t n, int64_t length, int32_t* out) {
#if defined(__x86_64__)
  static const int level = cpu_level();
  if (level == 2) return avx512::bins_of<kDrop>(values, n, length, out);
  if (level == 1) return avx2::bins_of<kDrop>(values, n, length, out);
#endif
  any_cpu::bins_of<kDrop>(values, n, length, out);
}

constexpr int64_t kBlock = Tally::kBlock;
constexpr int64_t kSure = 64;  // values that are done again, with comparisons, if one of them is in doubt

template <bool kRight, class T>
void ranks_among_even(const EvenEdges<T>& edges, const T* values, int64_t count, int32_t* out) {
  for (int64_t i = 0, some; i < count; i += some) {
    some = count - i < kSure ? count - i : kSure;
    if (some == kSure && even_ranks(edges, values + i, kSure, out + i)) continue;
    for (int64_t j = i; j < i + some; ++j) out[j] = static_cast<int32_t>(edges.template rank<kRight>(values[j]));
  }
}

// searchsorted: ptrs [sorted, values, out], params [n, right, index_bytes, values_per_row]; [lo, hi) = values
template <class T>
struct SearchSorted {
  template <bool kRight, class I>
  static bool by_spacing(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    if constexpr (std::is_floating_point<T>::value) {
      int64_t n = params[0];
      if (params[3] > 0 || hi - lo < n) return false;
      const EvenEdges<T> edges(static_cast<const T*>(ptrs[0]), n);
      if (!edges.even) return false;
      const T* values = static_cast<const T*>(ptrs[1]);
      I* out = static_cast<I*>(ptrs[2]);
      int32_t ranks[kBlock];
      for (int64_t i = lo, count; i < hi; i += count) {
        count = hi - i < kBlock ? hi - i : kBlock;
        ranks_among_even<kRight>(edges, values + i, count, ranks);
        for (int64_t j = 0; j < count; ++j) out[i + j] = static_cast<I>(ranks[j]);
      }
      return true;
    }
    return false;
  }

  template <bool kRight, class I>
  static void search(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    if (by_spacing<kRight, I>(ptrs, params, lo, hi)) return;
    int64_t n = params[0], per_row = params[3];
    const auto* sorted = static_cast<const UInt<T>*>(ptrs[0]);
    const auto* values = static_cast<const UInt<T>*>(ptrs[1]);
    I* out = static_cast<I*>(ptrs[2]);
    for (int64_t i = lo, end; i < hi; i = end) {
      const auto* row = per_row > 0 ? sorted + i / per_row * n : sorted;
      end = per_row > 0 && (i / per_row + 1) * per_row < hi ? (i / per_row + 1) * per_row : hi;
      search_all<T, kRight>(row, n, values + i, end - i, out + i);
    }
  }

  static void run(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    bool right = params[1] != 0;
    if (params[2] == 8) (right ? search<true, int64_t> : search<false, int64_t>)(ptrs, params, lo, hi);
    else (right ? search<true, int32_t> : search<false, int32_t>)(ptrs, params, lo, hi);
  }
};

// Counts of one list. Negative values count as 0 (kDrop: not at all), those >= length not at all.
template <bool kDrop, class T>
int64_t bin_of(T v, int64_t length) {
  if (std::is_signed<T>::value && v < 0) return kDrop ? length : 0;
  return static_cast<uint64_t>(v) < static_cast<uint64_t>(length) ? static_cast<int64_t>(v) : length;
}

template <bool kDrop, class T>
void count_in_blocks(const T* x, int64_t n, int32_t* out, int64_t length) {
  Tally tally(length);
  int32_t bins[kBlock];
  for (int64_t i = 0, count; i < n; i += count) {
    count = n - i < kBlock ? n - i : kBlock;
    bins_of<kDrop>(x + i, count, length, bins);
    tally.add(bins, count);
  }
  tally.finish(out);
}

template <bool kDrop, class T>
void count_values(const T* x, int64_t n, int32_t* out, int64_t length) {
  if (length <= Tally::kMost && n >= 16 * length) return count_in_blocks<kDrop>(x, n, out, length);
  memset(out, 0, static_cast<size_t>(length) * sizeof *out);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t bin = bin_of<kDrop>(x[i], length);
    if (bin < length) ++out[bin];
  }
}

// bincount: ptrs [values, out (i32)], params [n, length]. Negative values count as 0; extent 1.
template <class T>
struct BinCount {
  static void run(void* const* ptrs, const int64_t* params, int64_t, int64_t) {
    count_values<false>(static_cast<const T*>(ptrs[0]), params[0], static_cast<int32_t*>(ptrs[1]), params[1]);
  }
};

// One piece of a list that is cut into equal parts: the counts of the first go to out, those of part p to
// [(p - 1) length, p length) of work.
struct Piece {
  int64_t first, count;
  int32_t* out;
  Piece(int64_t p, int64_t pieces, int64_t n, int64_t length, void* out, void* work)
      : first(n * p / pieces), count(n * (p + 1) / pieces - first),
        out(p > 0 ? static_cast<int32_t*>(work) + (p - 1) * length : static_cast<int32_t*>(out)) {}
};

// count_pieces: ptrs [values, out (i32), work (i32)], params [n, length, pieces, negative]. Negative values are
// dropped, or (negative == 1) count as 0.
template <class T>
struct CountPieces {
  static void run(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    const int64_t length = params[1];
    for (int64_t p = lo; p < hi; ++p) {
      const Piece piece(p, params[2], params[0], length, ptrs[1], ptrs[2]);
      const T* values = static_cast<const T*>(ptrs[0]) + piece.first;
      if (params[3]) count_values<false>(values, piece.count, piece.out, length);
      else count_values<true>(values, piece.count, piece.out, length);
    }
  }
};

// histogram_pieces: ptrs [edges, values, out (i32), work (i32)], params [n, length, pieces]: out[r] is how many values
// have r of the `length` edges at or below them, r < length; the last edge counts as just below itself.
template <class T>
struct HistogramPieces {
  static void find_ranks(const EvenEdges<T>& edges, const SearchPlan<T>& plan, const T* values, int64_t count,
                         int32_t* out) {
    if (edges.even) return find_even_ranks(edges, values, count, out);
    const auto* keys = reinterpret_cast<const UInt<T>*>(values);
    const T last = reinterpret_cast<const T*>(plan.row)[edges.n - 1];
    search_planned<T, true>(plan, keys, count, out);
    put_last_below(values, count, last, edges.n, out);
  }

  // The last edge itself is always in doubt.
  static void find_even_ranks(const EvenEdges<T>& edges, const T* values, int64_t count, int32_t* out) {
    for (int64_t i = 0, some; i < count; i += some) {
      some = count - i < kSure ? count - i : kSure;
      if (some == kSure && even_ranks(edges, values + i, kSure, out + i)) continue;
      for (int64_t j = i; j < i + some; ++j) out[j] = static_cast<int32_t>(edges.template rank<true>(values[j]));
      put_last_below(values + i, some, edges.row[edges.n - 1], edges.n, out + i);
    }
  }

  static void put_last_below(const T* values, int64_t count, T last, int64_t n, int32_t* out) {
    for (int64_t i = 0; i < count; ++i) out[i] = values[i] == last ? static_cast<int32_t>(n - 1) : out[i];
  }

  static void run(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    const int64_t length = params[1];
    const T* row = static_cast<const T*>(ptrs[0]);
    const EvenEdges<T> edges(row, length);
    const SearchPlan<T> plan(reinterpret_cast<const UInt<T>*>(row), length, edges.even ? 0 : params[0]);
    for (int64_t p = lo; p < hi; ++p) {
      const Piece piece(p, params[2], params[0], length, ptrs[2], ptrs[3]);
      const T* values = static_cast<const T*>(ptrs[1]) + piece.first;
      Tally tally(length);
      int32_t ranks[kBlock];
      for (int64_t i = 0, count; i < piece.count; i += count) {
        count = piece.count - i < kBlock ? piece.count - i : kBlock;
        find_ranks(edges, plan, values + i, count, ranks);
        tally.add(ranks, count);
      }
      tally.finish(piece.out);
    }
  }
};

// bincount_weights_<weight type>: ptrs [values (i32), weights, out], params [n, length, value_bytes]; extent 1
template <class W>
struct WeightedBinCount {
  template <class I>
  static void add(const I* x, const W* weight, W* out, int64_t n, int64_t length) {
    for (int64_t i = 0; i < n; ++i) {
      int64_t bin = x[i] < 0 ? 0 : static_cast<int64_t>(x[i]);
      if (bin < length) out[bin] = static_cast<W>(out[bin] + weight[i]);
    }
  }
  static void run(void* const* ptrs, const int64_t* params, int64_t, int64_t) {
    const W* weight = static_cast<const W*>(ptrs[1]);
    W* out = static_cast<W*>(ptrs[2]);
    memset(out, 0, static_cast<size_t>(params[1]) * sizeof *out);
    if (params[2] == 8) add(static_cast<const int64_t*>(ptrs[0]), weight, out, params[0], params[1]);
    else add(static_cast<const int32_t*>(ptrs[0]), weight, out, params[0], params[1]);
  }
};

}  // namespace

void add_count_routines() {
  add_family<SearchSorted>("searchsorted", Floats{});
  add_family<SearchSorted>("searchsorted", Integers{});
  add_family<SearchSorted>("searchsorted", TypeList<bool>{});
  add_family<BinCount>("bincount", Integers{});
  add_family<CountPieces>("count_pieces", Integers{});
  add_family<HistogramPieces>("histogram_pieces", TypeList<float, double>{});
  add_family<WeightedBinCount>("bincount_weights", TypeList<float, double>{});
}

}  // namespace jitney
