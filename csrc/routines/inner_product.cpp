// Inner products of complex vectors (signatures in README.md).
//
// Both vectors are read as they lie in memory. A vector is cut into pieces whose size does not depend on the number of
// threads; each gives four sums, which are added in order.
#include <cstring>

#include "families.h"
#include "routines.h"
#include "vector_target.h"

namespace jitney {

namespace {

#if defined(__x86_64__)
JITNEY_BEGIN_TARGET_AVX2
namespace avx2 {
constexpr int kVectorBytes = 32;
#include "inner_product_kernels.h"
}  // namespace avx2
JITNEY_END_TARGET
JITNEY_BEGIN_TARGET_AVX512
namespace avx512 {
constexpr int kVectorBytes = 64;
#include "inner_product_kernels.h"
}  // namespace avx512
JITNEY_END_TARGET
#endif
namespace base {
constexpr int kVectorBytes = 16;
#include "inner_product_kernels.h"
}  // namespace base

template <class C>
struct Part;
template <>
struct Part<C64> { using type = float; };
template <>
struct Part<C128> { using type = double; };

// inner_sums: ptrs [a, b, work], params [n, piece]; extent: pieces. Four sums a piece are written to work.
template <class C>
struct InnerSums {
  using T = typename Part<C>::type;
  static void run(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    int64_t n = params[0], piece = params[1];
    for (int64_t p = lo; p < hi; ++p) {
      int64_t first = p * piece, count = n - first < piece ? n - first : piece;
      const T *a = static_cast<const T*>(ptrs[0]) + 2 * first, *b = static_cast<const T*>(ptrs[1]) + 2 * first;
      sums(a, b, count, static_cast<T*>(ptrs[2]) + 4 * p);
    }
  }
  static void sums(const T* a, const T* b, int64_t n, T* out) {
#if defined(__x86_64__)
    static const int level = cpu_level();
    if (level == 2) return avx512::PairSums<T>::run(a, b, n, out);
    if (level == 1) return avx2::PairSums<T>::run(a, b, n, out);
#endif
    base::PairSums<T>::run(a, b, n, out);
  }
};

// inner_join: ptrs [work, out], params [pieces, conjugate a, conjugate b]; extent: 1
template <class C>
struct InnerJoin {
  using T = typename Part<C>::type;
  static void run(void* const* ptrs, const int64_t* params, int64_t, int64_t) {
    const T* work = static_cast<const T*>(ptrs[0]);
    T* out = static_cast<T*>(ptrs[1]);
    T total[4] = {};
    for (int64_t p = 0; p < params[0]; ++p)
      for (int i = 0; i < 4; ++i) total[i] += work[4 * p + i];
    bool first = params[1] != 0, second = params[2] != 0;
    out[0] = first == second ? total[0] - total[1] : total[0] + total[1];
    out[1] = (second ? -total[2] : total[2]) + (first ? -total[3] : total[3]);
  }
};

}  // namespace

void add_inner_routines() {
  add_family<InnerSums>("inner_sums", TypeList<C64, C128>{});
  add_family<InnerJoin>("inner_join", TypeList<C64, C128>{});
}

}  // namespace jitney
