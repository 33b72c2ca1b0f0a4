// Binary search in sorted rows, and counting (signatures in README.md).
#include <cstring>

#include "families.h"
#include "routines.h"

namespace jitney {

namespace {

// Number of elements of the sorted row that are below the value (kRight: below or equal).
template <class T, bool kRight>
int64_t rank_of(const UInt<T>* row, int64_t n, UInt<T> value) {
  UInt<T> want = Order<T>::loose_key(value);
  int64_t first = 0, length = n;
  while (length > 0) {  // branch-free inside: `first` is moved by a conditional move
    int64_t half = length / 2;
    UInt<T> k = Order<T>::loose_key(row[first + half]);
    bool go_right = kRight ? k <= want : k < want;
    first += go_right ? length - half : 0;
    length = half;
  }
  return first;
}

// searchsorted: ptrs [sorted, values, out], params [n, right, index_bytes, values_per_row]; [lo, hi) = values
template <class T>
struct SearchSorted {
  static void run(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    int64_t n = params[0], per_row = params[3];
    const auto* sorted = static_cast<const UInt<T>*>(ptrs[0]);
    const auto* values = static_cast<const UInt<T>*>(ptrs[1]);
    for (int64_t i = lo; i < hi; ++i) {
      const auto* row = per_row > 0 ? sorted + i / per_row * n : sorted;
      int64_t r = params[1] ? rank_of<T, true>(row, n, values[i]) : rank_of<T, false>(row, n, values[i]);
      if (params[2] == 8) static_cast<int64_t*>(ptrs[2])[i] = r;
      else static_cast<int32_t*>(ptrs[2])[i] = static_cast<int32_t>(r);
    }
  }
};

// bincount: ptrs [values, out (i32)], params [n, length]. Negative values count as 0, those >= length not at all.
// Two tables, so that runs of one value do not wait for their own store; extent 1.
template <class T>
struct BinCount {
  static void run(void* const* ptrs, const int64_t* params, int64_t, int64_t) {
    int64_t n = params[0], length = params[1];
    const T* x = static_cast<const T*>(ptrs[0]);
    int32_t* out = static_cast<int32_t*>(ptrs[1]);
    memset(out, 0, static_cast<size_t>(length) * sizeof *out);
    constexpr int64_t kTable = 2048;
    int32_t other[kTable];
    bool two = length <= kTable;
    if (two) memset(other, 0, static_cast<size_t>(length) * sizeof *other);
    auto count = [=](int32_t* table, T v) JITNEY_INLINE {
      uint64_t bin = std::is_signed<T>::value && v < 0 ? 0 : static_cast<uint64_t>(v);
      if (bin < static_cast<uint64_t>(length)) ++table[bin];
    };
    int64_t i = 0;
    for (; two && i + 2 <= n; i += 2) {
      count(out, x[i]);
      count(other, x[i + 1]);
    }
    for (; i < n; ++i) count(out, x[i]);
    for (int64_t b = 0; two && b < length; ++b) out[b] += other[b];
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
  add_family<WeightedBinCount>("bincount_weights", TypeList<float, double>{});
}

}  // namespace jitney
