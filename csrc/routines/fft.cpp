// Fourier transforms along one axis (signatures in README.md). The mathematics is pocketfft's (csrc/external).
//
// Invariant: every transform is computed by the same sequence of operations, alone or beside others in the lanes of
// vectors (contraction to multiply-adds is off for this file), so a result does not depend on its batch or piece.
// This file alone is compiled with exceptions: pocketfft throws when memory is short. They end in `or_nan`.
#define POCKETFFT_NO_MULTITHREADING  // threads are ours, and so is the cache of plans
#define POCKETFFT_CACHE_SIZE 0
#include "../external/pocketfft/pocketfft_hdronly.h"

#include "families.h"
#include "fft_plans.h"
#include "routines.h"

namespace jitney {

namespace {

namespace pocket = pocketfft::detail;
using pocket::cmplx;

constexpr size_t kLaneBytes = size_t{2} << 20;  // beyond, lanes side by side leave the second cache

// Where the lanes of a group are: `step` between the elements of a transform, `apart` between transforms.
struct Places {
  int64_t step, apart;
};

template <class T>
constexpr int64_t kLanes = static_cast<int64_t>(pocket::VLEN<T>::val);

#if defined(POCKETFFT_NO_VECTORS)
template <class T> using Lanes = T;
template <class T> inline T& lane(T& v, int64_t) { return v; }
template <class T> inline T lane(const T& v, int64_t) { return v; }
#else
template <class T> using Lanes = pocket::vtype_t<T>;
template <class V> inline auto lane(const V& v, int64_t i) { return v[i]; }
#endif

// All lanes of one value, from `count` places; the lanes that are left repeat the last.
template <class T>
inline Lanes<T> gathered(const T* from, int64_t apart, int64_t count) {
  T values[kLanes<T>];
  for (int64_t i = 0; i < kLanes<T>; ++i) values[i] = from[(i < count ? i : count - 1) * apart];
  Lanes<T> v;
  memcpy(&v, values, sizeof v);
  return v;
}
template <class T>
inline void scattered(const Lanes<T>& v, T* to, int64_t apart, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i * apart] = lane(v, i);
}

// Whether `count` transforms of `bytes` each go through lanes.
template <class T>
bool by_lanes(int64_t count, size_t bytes) {
  return kLanes<T> > 1 && 2 * count > kLanes<T> && bytes * static_cast<size_t>(kLanes<T>) <= kLaneBytes;
}

// Runs f; when memory is short, the piece becomes NaN.
template <class T, class F>
void or_nan(T* out, int64_t count, F f) {
  try {
    f();
  } catch (...) {
    for (int64_t i = 0; i < count; ++i) out[i] = static_cast<T>(NAN);
  }
}

// fft: ptrs [in, out], params [n, inner, forward, block]; complex [outer, n, inner], parts of type T
template <class T>
struct Complex {
  using C = cmplx<T>;
  using Plan = pocket::pocketfft_c<T>;

  static void group(const Plan& plan, const C* in, C* out, int64_t n, Places at, int64_t count, bool forward,
                    cmplx<Lanes<T>>* work) {
    for (int64_t j = 0; j < n; ++j) {
      const T* from = &in[j * at.step].r;
      work[j].Set(gathered(from, 2 * at.apart, count), gathered(from + 1, 2 * at.apart, count));
    }
    plan.exec(work, forward ? T(1) : T(1) / static_cast<T>(n), forward);
    for (int64_t j = 0; j < n; ++j) {
      T* to = &out[j * at.step].r;
      scattered<T>(work[j].r, to, 2 * at.apart, count);
      scattered<T>(work[j].i, to + 1, 2 * at.apart, count);
    }
  }

  static void one(const Plan& plan, const C* in, C* out, int64_t n, int64_t step, bool forward, C* work) {
    C* row = step == 1 ? out : work;
    for (int64_t j = 0; j < n; ++j) row[j] = in[j * step];
    plan.exec(row, forward ? T(1) : T(1) / static_cast<T>(n), forward);
    if (step != 1)
      for (int64_t j = 0; j < n; ++j) out[j * step] = row[j];
  }

  // `count` transforms, at.apart from one another
  static void several(const Plan& plan, const C* in, C* out, int64_t n, Places at, int64_t count, bool forward) {
    size_t bytes = static_cast<size_t>(n) * sizeof(C);
    pocket::arr<cmplx<Lanes<T>>> lanes(by_lanes<T>(count, bytes) ? static_cast<size_t>(n) : 0);
    pocket::arr<C> work(at.step == 1 ? 0 : static_cast<size_t>(n));
    for (int64_t k = 0; k < count;) {
      int64_t left = count - k, now = left < kLanes<T> ? left : kLanes<T>;
      if (by_lanes<T>(now, bytes)) {
        group(plan, in + k * at.apart, out + k * at.apart, n, at, now, forward, lanes.data());
      } else {
        now = 1;
        one(plan, in + k * at.apart, out + k * at.apart, n, at.step, forward, work.data());
      }
      k += now;
    }
  }

  static void run(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    int64_t n = params[0], inner = params[1], block = params[3];
    const C* in = static_cast<const C*>(ptrs[0]);
    C* out = static_cast<C*>(ptrs[1]);
    if (inner == 1) {
      or_nan(&out[lo * n].r, 2 * (hi - lo) * n, [&] {
        PlanLease<Plan> plan(n);
        several(*plan, in + lo * n, out + lo * n, n, Places{1, n}, hi - lo, params[2] != 0);
      });
      return;
    }
    int64_t blocks = (inner + block - 1) / block;
    for (int64_t piece = lo; piece < hi; ++piece) {
      int64_t first = piece % blocks * block, left = inner - first, base = piece / blocks * n * inner + first;
      try {
        PlanLease<Plan> plan(n);
        several(*plan, in + base, out + base, n, Places{inner, 1}, left < block ? left : block, params[2] != 0);
      } catch (...) {
        for (int64_t j = 0; j < n; ++j)
          for (int64_t c = 0; c < left && c < block; ++c) out[base + j * inner + c].Set(T(NAN), T(NAN));
      }
    }
  }
};

// Real rows of n elements, complex rows of n / 2 + 1. pocketfft keeps r0 r1 i1 r2 i2 …; that is the complex row
// without its second element, and without its last one if n is even.
template <class T>
struct Real {
  using Plan = pocket::pocketfft_r<T>;
  using V = Lanes<T>;

  // rfft: ptrs [in, out], params [n]
  static void forward_group(const Plan& plan, const T* in, T* out, int64_t n, int64_t count, V* work) {
    int64_t width = n / 2 * 2 + 2;
    for (int64_t j = 0; j < n; ++j) work[j] = gathered(in + j, n, count);
    plan.exec(work, T(1), true);
    scattered<T>(work[0], out, width, count);
    for (int64_t j = 1; j < n; ++j) scattered<T>(work[j], out + j + 1, width, count);
    for (int64_t i = 0; i < count; ++i) end_row(out + i * width, n);
  }
  static void end_row(T* out, int64_t n) {
    out[1] = 0;
    if (n % 2 == 0) out[n + 1] = 0;
  }
  static void forward_one(const Plan& plan, const T* in, T* out, int64_t n) {
    memcpy(out + 1, in, static_cast<size_t>(n) * sizeof(T));
    plan.exec(out + 1, T(1), true);
    out[0] = out[1];
    end_row(out, n);
  }

  // irfft: ptrs [in, out], params [n]; the imaginary parts of the first and (n even) last element are not read
  static void inverse_group(const Plan& plan, const T* in, T* out, int64_t n, int64_t count, V* work) {
    int64_t width = n / 2 * 2 + 2;
    work[0] = gathered(in, width, count);
    for (int64_t j = 1; j < n; ++j) work[j] = gathered(in + j + 1, width, count);
    plan.exec(work, T(1) / static_cast<T>(n), false);
    for (int64_t j = 0; j < n; ++j) scattered<T>(work[j], out + j, n, count);
  }
  static void inverse_one(const Plan& plan, const T* in, T* out, int64_t n) {
    out[0] = in[0];
    memcpy(out + 1, in + 2, static_cast<size_t>(n - 1) * sizeof(T));
    plan.exec(out, T(1) / static_cast<T>(n), false);
  }

  template <bool kForward>
  static void rows(const T* in, T* out, int64_t n, int64_t count) {
    int64_t width = n / 2 * 2 + 2, in_row = kForward ? n : width, out_row = kForward ? width : n;
    size_t bytes = static_cast<size_t>(n) * sizeof(T);
    or_nan(out, count * out_row, [&] {
      PlanLease<Plan> plan(n);
      pocket::arr<V> work(by_lanes<T>(count, bytes) ? static_cast<size_t>(n) : 0);
      for (int64_t k = 0; k < count;) {
        int64_t left = count - k, now = left < kLanes<T> ? left : kLanes<T>;
        const T* from = in + k * in_row;
        T* to = out + k * out_row;
        if (by_lanes<T>(now, bytes)) {
          if (kForward) forward_group(*plan, from, to, n, now, work.data());
          else inverse_group(*plan, from, to, n, now, work.data());
        } else {
          now = 1;
          if (kForward) forward_one(*plan, from, to, n);
          else inverse_one(*plan, from, to, n);
        }
        k += now;
      }
    });
  }
};

template <class T>
struct RealForward {
  static void run(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    int64_t n = params[0];
    Real<T>::template rows<true>(static_cast<const T*>(ptrs[0]) + lo * n,
                                 static_cast<T*>(ptrs[1]) + lo * (n / 2 * 2 + 2), n, hi - lo);
  }
};
template <class T>
struct RealInverse {
  static void run(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    int64_t n = params[0];
    Real<T>::template rows<false>(static_cast<const T*>(ptrs[0]) + lo * (n / 2 * 2 + 2),
                                  static_cast<T*>(ptrs[1]) + lo * n, n, hi - lo);
  }
};

}  // namespace

void add_fft_routines() {
  add_routine("fft_c64", &Complex<float>::run);
  add_routine("fft_c128", &Complex<double>::run);
  add_family<RealForward>("rfft", TypeList<float, double>{});
  add_family<RealInverse>("irfft", TypeList<float, double>{});
}

}  // namespace jitney
