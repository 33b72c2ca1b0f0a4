// Cumulative operations along the middle axis of [outer, n, inner] (signatures in README.md).
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <new>

#include "../pool.h"
#include "families.h"
#include "routines.h"
#include "vector_target.h"
#if defined(_WIN32)
#include <windows.h>
#else
#include <sched.h>
#endif

namespace jitney {

namespace {

void give_way() {
#if defined(_WIN32)
  SwitchToThread();
#else
  sched_yield();
#endif
}

// Another thread is about to store something else: a chunk takes some microseconds, unless its thread is interrupted.
void wait_until_not(const std::atomic<int64_t>* stored, int64_t value) {
  for (int k = 0; stored->load(std::memory_order_acquire) == value; ++k) {
    if (k > 4096) give_way();
#if defined(__x86_64__)
    else _mm_pause();
#endif
  }
}

namespace any_cpu {
constexpr int kVectorBytes = 16;
#include "scan_kernels.h"
}  // namespace any_cpu

#if defined(__x86_64__)
JITNEY_BEGIN_TARGET_AVX2
namespace avx2 {
constexpr int kVectorBytes = 32;
#include "scan_kernels.h"
}  // namespace avx2
JITNEY_END_TARGET

JITNEY_BEGIN_TARGET_AVX512
namespace avx512 {
constexpr int kVectorBytes = 64;
#include "scan_kernels.h"
}  // namespace avx512
JITNEY_END_TARGET
#endif

// Calls row(in, out, stride) for each column of each piece; for operations that are not worth vectors.
template <class E, class Row>
void each_column(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi, Row row) {
  int64_t n = params[0], inner = params[1], block = params[3];
  if (block <= 0 || block > inner) block = inner;
  int64_t blocks = inner > 0 ? (inner + block - 1) / block : 1;
  for (int64_t piece = lo; piece < hi; ++piece) {
    int64_t first = piece % blocks * block, last = first + block < inner ? first + block : inner;
    int64_t base = piece / blocks * n * inner;
    for (int64_t j = first; j < last; ++j) {
      int64_t start = params[2] ? base + (n - 1) * inner + j : base + j;
      row(static_cast<const E*>(ptrs[0]) + start, static_cast<E*>(ptrs[1]) + start, params[2] ? -inner : inner);
    }
  }
}

template <class T, class Part>
struct ComplexProduct {
  static void run(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    int64_t n = params[0];
    each_column<T>(ptrs, params, lo, hi, [n](const T* in, T* out, int64_t stride) {
      T acc{1, 0};
      for (int64_t i = 0; i < n; ++i, in += stride, out += stride) {
        T x = *in, product;
        product.re = acc.re * x.re - acc.im * x.im;
        product.im = acc.re * x.im + acc.im * x.re;
        *out = acc = i == 0 ? x : product;
      }
    });
  }
};

// log(exp(x0) + ... + exp(xi)) as m + log(s), m the largest so far; formed in f64.
template <class T>
struct LogSumExp {
  static double widen(T v) {
    if constexpr (std::is_floating_point<T>::value) return v;
    else return to_float(v);
  }
  static T narrow(double v) {
    if constexpr (std::is_floating_point<T>::value) return static_cast<T>(v);
    else return Arithmetic<T>::store(static_cast<float>(v));
  }
  static void run(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    int64_t n = params[0];
    each_column<T>(ptrs, params, lo, hi, [n](const T* in, T* out, int64_t stride) {
      double m = -INFINITY, s = 0;
      for (int64_t i = 0; i < n; ++i, in += stride, out += stride) {
        double x = widen(*in);
        if (x > m) {
          s = s * std::exp(m - x) + 1;
          m = x;
        } else {
          s += x == m ? 1 : std::exp(x - m);
        }
        *out = narrow(m + std::log(s));
      }
    });
  }
};

}  // namespace

void add_scan_routines() {
#if defined(__x86_64__)
  if (cpu_level() == 2) avx512::add_scans();
  else if (cpu_level() == 1) avx2::add_scans();
  else any_cpu::add_scans();
#else
  any_cpu::add_scans();
#endif
  add_family<LogSumExp>("cumlogsumexp", Floats{});
  add_routine("cumprod_c64", &ComplexProduct<C64, float>::run);
  add_routine("cumprod_c128", &ComplexProduct<C128, double>::run);
}

}  // namespace jitney
