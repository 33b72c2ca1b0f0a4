// Gathering of rows and slices by index (signatures in README.md).
#include <cstring>

#include "families.h"
#include "routines.h"

namespace jitney {

namespace {

enum Mode : int64_t { kClip = 0, kFill = 1, kWrap = 2, kInBounds = 3 };
constexpr int64_t kAhead = 16;         // rows between a prefetch and its use
constexpr int64_t kCached = 512 << 10;  // bytes that need no prefetch

template <class I>
int64_t wrap_huge(I index, int64_t rows) {
  return static_cast<int64_t>(static_cast<uint64_t>(index) % static_cast<uint64_t>(rows));
}

// Row number to read, or -1 = fill.
template <int64_t kMode, class I>
JITNEY_INLINE inline int64_t resolve(I index, int64_t rows) {
  int64_t i = static_cast<int64_t>(index);
  if (!std::is_signed<I>::value && i < 0) i = kMode == kWrap ? wrap_huge(index, rows) : rows;  // above 2^63
  if constexpr (kMode == kClip) {
    i = i < 0 ? 0 : i;
    return i < rows ? i : rows - 1;
  } else if constexpr (kMode == kWrap) {
    if (static_cast<uint64_t>(i) < static_cast<uint64_t>(rows)) return i;
    i %= rows;
    return i < 0 ? i + rows : i;
  } else if constexpr (kMode == kFill) {
    return static_cast<uint64_t>(i) < static_cast<uint64_t>(rows) ? i : -1;
  }
  return i;
}

struct Rows {
  const char* source;
  char* out;
  int64_t row_bytes, scale;  // scale: bytes from one index to the next (row_bytes, or the size of an element)
  const char* fill;
  int64_t fill_bytes;
};

void fill_row(char* out, const Rows& r) {
  for (int64_t b = 0; b < r.row_bytes; b += r.fill_bytes)
    memcpy(out + b, r.fill, static_cast<size_t>(r.row_bytes - b < r.fill_bytes ? r.row_bytes - b : r.fill_bytes));
}

// kBytes: size of a row if it is a small power of two, else 0.
template <int kBytes, int64_t kMode, class I>
void take(const Rows& r, const I* index, int64_t rows, int64_t lo, int64_t hi) {
  const int64_t bytes = kBytes ? kBytes : r.row_bytes;
  const bool far = rows > kCached / r.scale;
  for (int64_t i = lo; i < hi; ++i) {
    if (far && i + kAhead < hi) {
      int64_t next = resolve<kMode>(index[i + kAhead], rows);
      if (next >= 0) __builtin_prefetch(r.source + next * r.scale);
    }
    int64_t at = resolve<kMode>(index[i], rows);
    char* to = r.out + i * bytes;
    if (kMode == kFill && at < 0) fill_row(to, r);
    else memcpy(to, r.source + at * r.scale, static_cast<size_t>(bytes));
  }
}

template <int64_t kMode, class I>
void take_any_size(const Rows& r, const I* index, int64_t rows, int64_t lo, int64_t hi) {
  switch (r.row_bytes) {
    case 1: return take<1, kMode>(r, index, rows, lo, hi);
    case 2: return take<2, kMode>(r, index, rows, lo, hi);
    case 4: return take<4, kMode>(r, index, rows, lo, hi);
    case 8: return take<8, kMode>(r, index, rows, lo, hi);
    case 16: return take<16, kMode>(r, index, rows, lo, hi);
    case 64: return take<64, kMode>(r, index, rows, lo, hi);
    default: return take<0, kMode>(r, index, rows, lo, hi);
  }
}

// take_rows_<index type>: ptrs [source, index, out, fill], params [rows, row_bytes, mode, fill_bytes, batch_index,
// batch_source_bytes]
template <class I>
struct TakeRows {
  static void run(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    int64_t rows = params[0], mode = params[2], batch = params[4];
    const I* index = static_cast<const I*>(ptrs[1]);
    Rows r{static_cast<const char*>(ptrs[0]), static_cast<char*>(ptrs[2]), params[1], params[1],
           mode == kFill ? static_cast<const char*>(ptrs[3]) : nullptr, params[3]};
    if (r.row_bytes == 0) return;
    if (rows <= 0 && mode != kFill) {  // nothing to take from
      memset(r.out + lo * r.row_bytes, 0, static_cast<size_t>((hi - lo) * r.row_bytes));
      return;
    }
    while (lo < hi) {  // one batch element after the other
      int64_t end = hi;
      if (batch > 0) {
        int64_t b = lo / batch;
        end = (b + 1) * batch < hi ? (b + 1) * batch : hi;
        r.source = static_cast<const char*>(ptrs[0]) + b * params[5];
      }
      if (mode == kClip) take_any_size<kClip>(r, index, rows, lo, end);
      else if (mode == kFill) take_any_size<kFill>(r, index, rows, lo, end);
      else if (mode == kWrap) take_any_size<kWrap>(r, index, rows, lo, end);
      else take_any_size<kInBounds>(r, index, rows, lo, end);
      lo = end;
    }
  }
};

// take_slices: ptrs [source, offsets (i64 elements, negative = fill), out, fill], params [slice_bytes, item_bytes]
void take_slices(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
  Rows r{static_cast<const char*>(ptrs[0]), static_cast<char*>(ptrs[2]), params[0], params[1],
         static_cast<const char*>(ptrs[3]), params[1]};
  if (r.row_bytes) take_any_size<kFill>(r, static_cast<const int64_t*>(ptrs[1]), INT64_MAX, lo, hi);
}

}  // namespace

void add_gather_routines() {
  add_family<TakeRows>("take_rows", Integers{});
  add_routine("take_slices", take_slices);
}

}  // namespace jitney
