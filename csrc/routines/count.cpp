// Binary search in sorted rows, and counting (signatures in README.md).
#include <cstring>
#include <limits>

#include "families.h"
#include "routines.h"

namespace jitney {

namespace {

// Numbers of elements of the sorted row that are below each value (kRight: below or equal). All searches halve alike,
// and their loads wait for memory side by side.
constexpr int64_t kTogether = 32;

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

// Edges that are about equally spaced, f32 or f64: the place is computed instead of searched. t(v) = (v - first) * inverse
// never falls when v rises, and is within 0.4 of i at edge i, so floor(t(v)) is at most one off: two comparisons with
// edges settle it, and the result is that of the search.
template <class T>
struct EvenEdges {
  static constexpr int64_t kMost = 4095;
  T row[kMost + 1];  // a copy, with a NaN behind: no value reaches it
  int64_t n;
  T first, inverse;
  bool even = false;

  EvenEdges(const T* edges, int64_t count) : n(count) {
    first = edges[0];
    inverse = static_cast<T>(n - 1) / (edges[n - 1] - first);
    if (!(inverse > 0) || !(inverse < std::numeric_limits<T>::infinity())) return;
    for (int64_t i = 0; i < n; ++i) {
      T off = (edges[i] - first) * inverse - static_cast<T>(i);
      if (!(off < T(0.4) && off > T(-0.4))) return;
      row[i] = edges[i];
    }
    row[n] = std::numeric_limits<T>::quiet_NaN();
    even = true;
  }

  template <bool kRight>
  JITNEY_INLINE int64_t rank(T v) const {
    T t = (v - first) * inverse, top = static_cast<T>(n - 1);
    t = t > 0 ? t : T(0);  // also for NaN
    t = t < top ? t : top;
    int64_t i = static_cast<int32_t>(t);
    int64_t r = i + (kRight ? row[i] <= v : row[i] < v) + (kRight ? row[i + 1] <= v : row[i + 1] < v);
    return v == v ? r : n;
  }
};

// searchsorted: ptrs [sorted, values, out], params [n, right, index_bytes, values_per_row]; [lo, hi) = values
template <class T>
struct SearchSorted {
  template <bool kRight, class I>
  static bool by_spacing(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    if constexpr (std::is_floating_point<T>::value) {
      int64_t n = params[0];
      if (params[3] > 0 || n < 4 || n > EvenEdges<T>::kMost || hi - lo < n) return false;
      const EvenEdges<T> edges(static_cast<const T*>(ptrs[0]), n);
      if (!edges.even) return false;
      const T* values = static_cast<const T*>(ptrs[1]);
      I* out = static_cast<I*>(ptrs[2]);
      for (int64_t i = lo; i < hi; ++i) out[i] = static_cast<I>(edges.template rank<kRight>(values[i]));
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
    for (int64_t i = lo, count; i < hi; i += count) {
      const auto* row = per_row > 0 ? sorted + i / per_row * n : sorted;
      int64_t end = per_row > 0 && (i / per_row + 1) * per_row < hi ? (i / per_row + 1) * per_row : hi;
      count = end - i < kTogether ? end - i : kTogether;
      if (count == kTogether) ranks_of<T, kRight>(row, n, values + i, kTogether, out + i);
      else ranks_of<T, kRight>(row, n, values + i, count, out + i);
    }
  }

  static void run(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    bool right = params[1] != 0;
    if (params[2] == 8) (right ? search<true, int64_t> : search<false, int64_t>)(ptrs, params, lo, hi);
    else (right ? search<true, int32_t> : search<false, int32_t>)(ptrs, params, lo, hi);
  }
};

// Counts of one list. Negative values count as 0 (kDrop: not at all), those >= length not at all. Up to eight tables
// in turn, so that runs of one value do not wait for their own store.
constexpr int64_t kTables = 8, kTable = 1024;

template <bool kDrop, class T>
void count_values(const T* x, int64_t n, int32_t* out, int64_t length) {
  memset(out, 0, static_cast<size_t>(length) * sizeof *out);
  auto count = [=](int32_t* table, T v) JITNEY_INLINE {
    uint64_t bin = std::is_signed<T>::value && v < 0 ? (kDrop ? ~uint64_t{0} : 0) : static_cast<uint64_t>(v);
    if (bin < static_cast<uint64_t>(length)) ++table[bin];
  };
  int64_t i = 0;
  if (length <= kTable && n >= 4 * length) {
    int32_t tables[kTables * kTable];
    memset(tables, 0, static_cast<size_t>(kTables * length) * sizeof *tables);
    for (; i + kTables <= n; i += kTables) {
#pragma GCC unroll 8
      for (int64_t t = 0; t < kTables; ++t) count(tables + t * length, x[i + t]);
    }
    for (int64_t t = 0; t < kTables; ++t)
      for (int64_t b = 0; b < length; ++b) out[b] += tables[t * length + b];
  }
  for (; i < n; ++i) count(out, x[i]);
}

// bincount: ptrs [values, out (i32)], params [n, length]. Negative values count as 0; extent 1.
template <class T>
struct BinCount {
  static void run(void* const* ptrs, const int64_t* params, int64_t, int64_t) {
    count_values<false>(static_cast<const T*>(ptrs[0]), params[0], static_cast<int32_t*>(ptrs[1]), params[1]);
  }
};

// count_pieces: ptrs [values, out (i32), work (i32)], params [n, length, pieces]. Values are cut into equal parts; the
// counts of the first go to out, those of part p to [(p - 1) length, p length) of work. Negative values are dropped.
template <class T>
struct CountPieces {
  static void run(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    int64_t n = params[0], length = params[1], pieces = params[2];
    for (int64_t p = lo; p < hi; ++p) {
      int64_t first = n * p / pieces, end = n * (p + 1) / pieces;
      int32_t* out = static_cast<int32_t*>(ptrs[p > 0 ? 2 : 1]) + (p > 0 ? (p - 1) * length : 0);
      count_values<true>(static_cast<const T*>(ptrs[0]) + first, end - first, out, length);
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
  add_family<CountPieces>("count_pieces", TypeList<int32_t, int64_t>{});
  add_family<WeightedBinCount>("bincount_weights", TypeList<float, double>{});
}

}  // namespace jitney
