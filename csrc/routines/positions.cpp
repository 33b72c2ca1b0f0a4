// What masks and counts choose: positions, elements, repetitions, triangles (signatures in README.md).
//
// A mask is cut into blocks. `true_counts` says how many hold in each; `starts` are the sums of those before, so that
// every block knows where its results begin, and writes nothing outside of them.
#include <cstring>

#include "families.h"
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
#include "positions_kernels_avx2.h"
}  // namespace avx2
JITNEY_END_TARGET

JITNEY_BEGIN_TARGET_AVX512
namespace avx512 {
#include "positions_kernels.h"
}  // namespace avx512
JITNEY_END_TARGET
#endif

int vector_level() {
  static const int level = cpu_level();
  return level;
}

bool has_avx512() { return vector_level() == 2; }

int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

// ---- true_counts: ptrs [mask, counts (i64)], params [n, block]; extent: blocks

int64_t count_true(const uint8_t* mask, int64_t n) {
  int64_t total = 0, i = 0;
  while (i + 32 <= n) {  // columns of 32 bytes, each summed in a byte
    uint64_t sums[4] = {}, words[4];
    for (int turn = 0; turn < 255 && i + 32 <= n; ++turn, i += 32) {
      memcpy(words, mask + i, sizeof words);
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) sums[j] += words[j];
    }
    for (uint64_t s : sums)
      for (int byte = 0; byte < 8; ++byte) total += s >> (8 * byte) & 0xffu;
  }
  for (; i < n; ++i) total += mask[i];
  return total;
}

void true_counts(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
  const uint8_t* mask = static_cast<const uint8_t*>(ptrs[0]);
  int64_t n = params[0], block = params[1];
  for (int64_t b = lo; b < hi; ++b)
    static_cast<int64_t*>(ptrs[1])[b] = count_true(mask + b * block, least(block, n - b * block));
}

// ---- positions_<index type>: ptrs [mask, starts (i64, one more than blocks), an output an axis], params [n, block,
// rank, extents of the axes]; extent: blocks

template <class I>
int64_t positions_of(const uint8_t* mask, int64_t n, int64_t first, I* out, int64_t k, int64_t end) {
#if defined(__x86_64__)
  if (has_avx512()) return avx512::positions(mask, n, first, out, k, end);
  if (vector_level() == 1) return avx2::positions(mask, n, first, out, k, end);
#endif
  for (int64_t i = 0; i < n && k < end; ++i) {  // what is overwritten was no position
    out[k] = static_cast<I>(first + i);
    k += mask[i];
  }
  return k;
}

template <class I>
struct Positions {
  static constexpr int64_t kMostAxes = 64;

  static void block(void* const* ptrs, const int64_t* params, int64_t from, int64_t to, int64_t k, int64_t end) {
    const uint8_t* mask = static_cast<const uint8_t*>(ptrs[0]);
    int64_t rank = params[2];
    const int64_t* extents = params + 3;
    I* last = static_cast<I*>(ptrs[1 + rank]);
    if (rank == 1) {
      positions_of(mask + from, to - from, from, last, k, end);
      return;
    }
    int64_t inner = extents[rank - 1], row = from / inner, column = from % inner;
    int64_t place[kMostAxes];
    for (int64_t axis = rank - 2, rest = row; axis >= 0; rest /= extents[axis], --axis)
      place[axis] = rest % extents[axis];
    while (from < to && k < end) {
      int64_t n = least(inner - column, to - from);
      int64_t after = positions_of(mask + from, n, column, last, k, end);
      for (int64_t axis = 0; axis < rank - 1; ++axis) {
        I* out = static_cast<I*>(ptrs[2 + axis]);
        for (int64_t i = k; i < after; ++i) out[i] = static_cast<I>(place[axis]);
      }
      from += n;
      column = 0;
      k = after;
      for (int64_t axis = rank - 2; axis >= 0 && ++place[axis] == extents[axis]; --axis) place[axis] = 0;
    }
  }

  static void run(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    const int64_t* starts = static_cast<const int64_t*>(ptrs[1]);
    for (int64_t b = lo; b < hi; ++b)
      block(ptrs, params, b * params[1], least((b + 1) * params[1], params[0]), starts[b], starts[b + 1]);
  }
};

// ---- compress_b<size>: ptrs [mask, starts, source, out], params [n, block, row_bytes]; extent: blocks. Sizes 0: any.

template <class E>
void compress_of(const uint8_t* mask, const E* x, int64_t n, E* out, int64_t k, int64_t end) {
#if defined(__x86_64__)
  if constexpr (sizeof(E) == 4 || sizeof(E) == 8) {
    using I = std::conditional_t<sizeof(E) == 4, int32_t, int64_t>;
    if (has_avx512()) {
      avx512::compress(mask, reinterpret_cast<const I*>(x), n, reinterpret_cast<I*>(out), k, end);
      return;
    }
    if (vector_level() == 1) {
      avx2::compress(mask, reinterpret_cast<const I*>(x), n, reinterpret_cast<I*>(out), k, end);
      return;
    }
  }
#endif
  for (int64_t i = 0; i < n && k < end; ++i) {
    out[k] = x[i];
    k += mask[i];
  }
}

template <class E>
void compress(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
  int64_t n = params[0], size = params[1];
  const int64_t* starts = static_cast<const int64_t*>(ptrs[1]);
  for (int64_t b = lo; b < hi; ++b)
    compress_of(static_cast<const uint8_t*>(ptrs[0]) + b * size, static_cast<const E*>(ptrs[2]) + b * size,
                least(size, n - b * size), static_cast<E*>(ptrs[3]), starts[b], starts[b + 1]);
}

void compress_rows(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
  int64_t n = params[0], size = params[1], bytes = params[2];
  const uint8_t* mask = static_cast<const uint8_t*>(ptrs[0]);
  char* out = static_cast<char*>(ptrs[3]) + static_cast<const int64_t*>(ptrs[1])[lo] * bytes;
  for (int64_t i = lo * size; i < least(hi * size, n); ++i) {
    if (!mask[i]) continue;
    memcpy(out, static_cast<const char*>(ptrs[2]) + i * bytes, static_cast<size_t>(bytes));
    out += bytes;
  }
}

// ---- place_b<size>: ptrs [operand, mask, starts, values, out], params [n, block, count of values]; extent: blocks

template <class E>
void place(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
  int64_t n = params[0], size = params[1], count = params[2];
  const E* x = static_cast<const E*>(ptrs[0]);
  const uint8_t* mask = static_cast<const uint8_t*>(ptrs[1]);
  const E* values = static_cast<const E*>(ptrs[3]);
  E* out = static_cast<E*>(ptrs[4]);
  int64_t k = static_cast<const int64_t*>(ptrs[2])[lo] % count;
  for (int64_t i = lo * size; i < least(hi * size, n); ++i) {
    // chosen by arithmetic: compilers make a branch of ?:, and it would be a coin toss
    const uintptr_t take = 0 - static_cast<uintptr_t>(mask[i]);
    const uintptr_t from = (reinterpret_cast<uintptr_t>(values + k) & take) | (reinterpret_cast<uintptr_t>(x + i) & ~take);
    memcpy(out + i, reinterpret_cast<const void*>(from), sizeof(E));
    k += mask[i];
    k = k == count ? 0 : k;
  }
}

// ---- repeat_b<size>: ptrs [source, ends (i64), out], params [n, row_bytes]; extent: rows. Row i is written at places
// [ends[i - 1], ends[i]) of out. Size 0: rows of any number of bytes.

template <class E>
void repeat(void* const* ptrs, const int64_t*, int64_t lo, int64_t hi) {
  const E* source = static_cast<const E*>(ptrs[0]);
  const int64_t* ends = static_cast<const int64_t*>(ptrs[1]);
  E* out = static_cast<E*>(ptrs[2]);
  if (lo >= hi) return;
#if defined(__x86_64__)
  if constexpr (sizeof(E) == 4 || sizeof(E) == 8) {
    if (has_avx512()) return avx512::repeat(source, ends, out, lo, hi);
  }
#endif
  int64_t k = lo > 0 ? ends[lo - 1] : 0;
  for (int64_t i = lo; i < hi; ++i)
    for (E x = source[i]; k < ends[i]; ++k) out[k] = x;
}

void repeat_rows(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
  const int64_t* ends = static_cast<const int64_t*>(ptrs[1]);
  int64_t bytes = params[1], k = lo > 0 ? ends[lo - 1] : 0;
  for (int64_t i = lo; i < hi; ++i)
    for (; k < ends[i]; ++k)
      memcpy(static_cast<char*>(ptrs[2]) + k * bytes, static_cast<const char*>(ptrs[0]) + i * bytes,
             static_cast<size_t>(bytes));
}

// ---- triangle_<index type>: ptrs [rows, columns], params [n, m, k, upper]; extent: rows of the matrix [n, m]

template <class I>
struct Triangle {
  static void columns(const int64_t* params, int64_t row, int64_t* first, int64_t* end) {
    int64_t m = params[1], diagonal = row + params[2] + (params[3] ? 0 : 1);
    diagonal = diagonal < 0 ? 0 : least(diagonal, m);
    *first = params[3] ? diagonal : 0;
    *end = params[3] ? m : diagonal;
  }
  static void run(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    I *rows = static_cast<I*>(ptrs[0]), *out = static_cast<I*>(ptrs[1]);
    int64_t k = 0, first, end;
    for (int64_t r = 0; r < lo; ++r) {
      columns(params, r, &first, &end);
      k += end - first;
    }
    for (int64_t r = lo; r < hi; ++r) {
      columns(params, r, &first, &end);
      for (int64_t c = first; c < end; ++c) rows[k + c - first] = static_cast<I>(r);
      for (int64_t c = first; c < end; ++c) out[k + c - first] = static_cast<I>(c);
      k += end - first;
    }
  }
};

struct Sixteen {
  uint64_t lo, hi;
};

template <class E>
void add_moves(const std::string& size) {
  add_routine(("compress_b" + size).c_str(), compress<E>);
  add_routine(("place_b" + size).c_str(), place<E>);
  add_routine(("repeat_b" + size).c_str(), repeat<E>);
}

}  // namespace

void add_position_routines() {
  add_routine("true_counts", true_counts);
  add_family<Positions>("positions", TypeList<int32_t, int64_t>{});
  add_family<Triangle>("triangle", TypeList<int32_t, int64_t>{});
  add_moves<uint8_t>("1");
  add_moves<uint16_t>("2");
  add_moves<uint32_t>("4");
  add_moves<uint64_t>("8");
  add_moves<Sixteen>("16");
  add_routine("compress_b0", compress_rows);
  add_routine("repeat_b0", repeat_rows);
}

}  // namespace jitney
