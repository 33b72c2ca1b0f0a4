// Repetition of every row, each as often (signature in README.md).
//
// Rows are a few elements, so that neither copies of rows nor loops along one axis fill vectors. The result repeats a
// pattern: whole vectors of it are picked from the vectors of the source that hold their elements.
#include <cstring>

#include "families.h"
#include "routines.h"
#include "vector_target.h"

namespace jitney {

namespace {

struct Repeated {
  const char* source;
  char* out;
  int64_t rows, row_bytes, times;  // rows: of the whole source
  bool far;                        // the result is better written past the caches

  const char* from(int64_t row) const { return source + row * row_bytes; }
  char* to(int64_t row) const { return out + row * row_bytes * times; }
};

constexpr int64_t kMostVectors = 256;  // of a pattern: at most 16 KiB

int64_t common_divisor(int64_t a, int64_t b) {
  while (b != 0) {
    const int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

#if defined(__x86_64__)
JITNEY_BEGIN_TARGET_AVX2
namespace avx2 {
constexpr int kVectorBytes = 32;
#include "repeat_rows_kernels.h"
}  // namespace avx2
JITNEY_END_TARGET
JITNEY_BEGIN_TARGET_AVX512
namespace avx512 {
constexpr int kVectorBytes = 64;
#include "repeat_rows_kernels.h"
}  // namespace avx512
JITNEY_END_TARGET
#endif

// How many rows from `lo` on were written by vectors.
int64_t repeat_by_vectors(const Repeated& r, int64_t lo, int64_t hi) {
#if defined(__x86_64__)
  static const int level = cpu_level();
  const bool words = r.row_bytes % 4 == 0;
  if (level == 2) return words ? avx512::repeat<avx512::Words>(r, lo, hi) : avx512::repeat<avx512::Bytes>(r, lo, hi);
  if (level == 1) return words ? avx2::repeat<avx2::Words>(r, lo, hi) : avx2::repeat<avx2::Bytes>(r, lo, hi);
#endif
  return lo;
}

// repeat_rows: ptrs [source, out], params [rows, row_bytes, times, far]; extent: rows
void repeat_rows(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
  const Repeated r{static_cast<const char*>(ptrs[0]), static_cast<char*>(ptrs[1]), params[0], params[1], params[2],
                   params[3] != 0};
  if (r.row_bytes == 0 || r.times == 0) return;
  const size_t bytes = static_cast<size_t>(r.row_bytes);
  for (int64_t row = repeat_by_vectors(r, lo, hi); row < hi; ++row)
    for (int64_t k = 0; k < r.times; ++k) memcpy(r.to(row) + k * r.row_bytes, r.from(row), bytes);
}

}  // namespace

void add_repeat_routines() { add_routine("repeat_rows", repeat_rows); }

}  // namespace jitney
