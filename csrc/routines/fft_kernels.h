// Fourier transforms along one axis (signatures in README.md). The mathematics is pocketfft's (csrc/external).
//
// Included by one file a width of vectors (fft.cpp, fft_avx2.cpp, fft_avx512.cpp), which defines JITNEY_FFT_ADD, the
// function that adds the routines, and renames pocketfft's namespace, so that the linker keeps the copies apart.
// Invariant: every transform is computed by the same sequence of operations, alone or beside others in the lanes of
// vectors (contraction to multiply-adds is off for these files), so a result depends neither on its batch or piece nor
// on the width. These files alone are compiled with exceptions: pocketfft throws when memory is short. They end in
// `or_nan`.
#define POCKETFFT_NO_MULTITHREADING  // threads are ours, and so is the cache of plans
#define POCKETFFT_CACHE_SIZE 0
#include "../external/pocketfft/pocketfft_hdronly.h"

#include <utility>

#include "families.h"
#include "fft_plans.h"
#include "routines.h"

namespace jitney {

namespace {

namespace pocket = pocketfft::detail;
using pocket::cmplx;

constexpr size_t kLaneBytes = size_t{2} << 20;   // beyond, lanes side by side leave the second cache
constexpr size_t kBlockBytes = size_t{1} << 19;  // groups of columns that are read together
constexpr int64_t kGroups = 4;                   // at most so many

// Where transforms are: `step` between the elements of one, `apart` between neighbours.
struct Places {
  int64_t step, apart;
};

template <class T>
constexpr int64_t kLanes = static_cast<int64_t>(pocket::VLEN<T>::val);

#if defined(POCKETFFT_NO_VECTORS)
template <class T> using Lanes = T;
template <class T> inline T lane(const T& v, int64_t) { return v; }
template <class T> inline Lanes<T> gathered(const T* from, const int64_t*, ...) { return *from; }
#else
template <class T> using Lanes = pocket::vtype_t<T>;
template <class V> inline auto lane(const V& v, int64_t i) { return v[i]; }
template <class T, int... kAt>
inline Lanes<T> gathered(const T* from, const int64_t* offsets, std::integer_sequence<int, kAt...>) {
  return Lanes<T>{from[offsets[kAt]]...};
}
#endif

// The offsets of the lanes of a group; the lanes beyond `count` repeat the last.
template <class T>
struct Offsets {
  int64_t at[kLanes<T>];
  Offsets(int64_t apart, int64_t count) {
    for (int64_t i = 0; i < kLanes<T>; ++i) at[i] = (i < count ? i : count - 1) * apart;
  }
  Lanes<T> operator()(const T* from) const {
    return gathered(from, at, std::make_integer_sequence<int, static_cast<int>(kLanes<T>)>{});
  }
};
template <class T>
inline void scattered(const Lanes<T>& v, T* to, int64_t apart, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i * apart] = lane(v, i);
}

// Complex numbers side by side, as many as there are lanes: their real and imaginary parts, and back.
#if defined(POCKETFFT_NO_VECTORS)
template <class T>
inline cmplx<T> separated(const T* from) { return {from[0], from[1]}; }
template <class T>
inline void joined(const cmplx<T>& value, T* to) { to[0] = value.r, to[1] = value.i; }
#else
template <class T, int... kAt>
inline Lanes<T> shuffled(const Lanes<T>& a, const Lanes<T>& b, std::integer_sequence<int, kAt...>) {
#if defined(__clang__)
  return __builtin_shufflevector(a, b, kAt...);
#else
  using Index = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;
  typedef Index Indices __attribute__((vector_size(sizeof(Lanes<T>))));
  return __builtin_shuffle(a, b, Indices{kAt...});
#endif
}
template <class T, int... k>
inline cmplx<Lanes<T>> separated_by(const T* from, std::integer_sequence<int, k...>) {
  Lanes<T> a, b;
  memcpy(&a, from, sizeof a);
  memcpy(&b, from + kLanes<T>, sizeof b);
  return {shuffled<T>(a, b, std::integer_sequence<int, 2 * k...>{}),
          shuffled<T>(a, b, std::integer_sequence<int, 2 * k + 1 ...>{})};
}
template <class T, int... k>
inline void joined_by(const cmplx<Lanes<T>>& value, T* to, std::integer_sequence<int, k...>) {
  constexpr int n = static_cast<int>(kLanes<T>);
  Lanes<T> a = shuffled<T>(value.r, value.i, std::integer_sequence<int, (k % 2 * n + k / 2)...>{});
  Lanes<T> b = shuffled<T>(value.r, value.i, std::integer_sequence<int, (k % 2 * n + k / 2 + n / 2)...>{});
  memcpy(to, &a, sizeof a);
  memcpy(to + n, &b, sizeof b);
}
template <class T>
inline cmplx<Lanes<T>> separated(const T* from) {
  return separated_by(from, std::make_integer_sequence<int, static_cast<int>(kLanes<T>)>{});
}
template <class T>
inline void joined(const cmplx<Lanes<T>>& value, T* to) {
  joined_by(value, to, std::make_integer_sequence<int, static_cast<int>(kLanes<T>)>{});
}
#endif

}  // namespace

}  // namespace jitney

#include "fft_transpose.h"

namespace jitney {

namespace {

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

// exp(2 pi i k / n) for the twiddle factors between the parts of a long transform.
template <class T>
class Turns {
 public:
  explicit Turns(size_t n) : n_(static_cast<int64_t>(n)), table_(n) {}
  bool has(int64_t k) const { return k < n_; }
  cmplx<T> of(int64_t k, bool conjugated) const {  // 0 <= k < n
    cmplx<T> turn = table_[static_cast<size_t>(k)];
    if (conjugated) turn.i = -turn.i;
    return turn;
  }

 private:
  int64_t n_;
  pocket::sincos_2pibyn<T> table_;
};

// What one call does to each of its transforms.
template <class T>
struct Task {
  const pocket::pocketfft_c<T>* plan;
  int64_t n;
  bool forward;
  T scale;
  const Turns<T>* turns;  // nullptr, or: element k of the transform at place c is turned by k c
};

template <class T>
struct Complex {
  using C = cmplx<T>;
  using V = Lanes<T>;
  using Plan = pocket::pocketfft_c<T>;

  // Element k of lane c by exp(-+2 pi i k (first + c) / N), as a product of two factors out of short lists.
  static void turn(const Task<T>& task, cmplx<V>* work, int64_t first) {
    constexpr int64_t kFine = 16;
    cmplx<V> fine[kFine];
    for (int64_t k = 0; k < kFine; ++k) fine[k] = turns(task, k, first);
    for (int64_t k = 0; k < task.n; k += kFine) {
      cmplx<V> coarse = turns(task, k, first);
      for (int64_t i = 0; i < kFine && k + i < task.n; ++i) work[k + i] = work[k + i] * (coarse * fine[i]);
    }
  }
  static cmplx<V> turns(const Task<T>& task, int64_t k, int64_t first) {
    T re[kLanes<T>], im[kLanes<T>];
    for (int64_t c = 0; c < kLanes<T>; ++c) {
      int64_t at = k * (first + c);  // lanes beyond the last transform may lie outside the list
      C one = task.turns->of(task.turns->has(at) ? at : 0, task.forward);
      re[c] = one.r;
      im[c] = one.i;
    }
    cmplx<V> all;
    memcpy(&all.r, re, sizeof all.r);
    memcpy(&all.i, im, sizeof all.i);
    return all;
  }

  // Up to `groups` groups of lanes; elements that lie side by side in memory are read in one go.
  static void by_groups(const Task<T>& task, const C* in, Places from, C* out, Places to, int64_t count,
                        int64_t first, cmplx<V>* work) {
    int64_t n = task.n, groups = (count + kLanes<T> - 1) / kLanes<T>;
    bool full = count % kLanes<T> == 0;
    Offsets<T> whole(2 * from.apart, kLanes<T>), rest(2 * from.apart, count - (groups - 1) * kLanes<T>);
    bool from_rows = from.step == 1 && groups == 1, to_rows = to.step == 1 && groups == 1;
    if (from_rows) read_rows<T>(in, from.apart, count, n, work);
    for (int64_t j = 0; j < n && !from_rows; ++j) {
      for (int64_t g = 0; g < groups; ++g) {
        const T* element = &in[j * from.step + g * kLanes<T> * from.apart].r;
        bool last = g + 1 == groups;
        const Offsets<T>& offsets = last ? rest : whole;
        if (from.apart == 1 && (!last || full)) work[g * n + j] = separated(element);
        else work[g * n + j].Set(offsets(element), offsets(element + 1));
      }
    }
    for (int64_t g = 0; g < groups; ++g) {
      task.plan->exec(work + g * n, task.scale, task.forward);
      if (task.turns) turn(task, work + g * n, first + g * kLanes<T>);
    }
    if (to_rows) write_rows<T>(work, out, to.apart, count, n);
    for (int64_t j = 0; j < n && !to_rows; ++j) {
      for (int64_t g = 0; g < groups; ++g) {
        T* element = &out[j * to.step + g * kLanes<T> * to.apart].r;
        int64_t lanes = g + 1 < groups ? kLanes<T> : count - g * kLanes<T>;
        const cmplx<V>& value = work[g * n + j];
        if (to.apart == 1 && lanes == kLanes<T>) {
          joined(value, element);
          continue;
        }
        for (int64_t i = 0; i < lanes; ++i) {
          element[2 * i * to.apart] = lane(value.r, i);
          element[2 * i * to.apart + 1] = lane(value.i, i);
        }
      }
    }
  }

  static void one(const Task<T>& task, const C* in, Places from, C* out, Places to, int64_t place, C* work) {
    C* row = to.step == 1 && !task.turns ? out : work;
    for (int64_t j = 0; j < task.n; ++j) row[j] = in[j * from.step];
    task.plan->exec(row, task.scale, task.forward);
    if (row == out) return;
    for (int64_t j = 0; j < task.n; ++j)
      out[j * to.step] = task.turns ? row[j] * task.turns->of(j * place, task.forward) : row[j];
  }

  // `count` transforms, the first of them at place `first`
  static void several(const Task<T>& task, const C* in, Places from, C* out, Places to, int64_t count,
                      int64_t first) {
    size_t n = static_cast<size_t>(task.n), bytes = n * sizeof(C);
    bool lanes = task.turns || by_lanes<T>(count, bytes);
    bool together = lanes && from.step != 1 && bytes * static_cast<size_t>(kLanes<T> * kGroups) <= kBlockBytes;
    int64_t most = kLanes<T> * (together ? kGroups : 1);
    pocket::arr<cmplx<V>> groups(lanes ? n * static_cast<size_t>(together ? kGroups : 1) : 0);
    pocket::arr<C> work(to.step == 1 ? 0 : n);
    for (int64_t k = 0; k < count;) {
      int64_t left = count - k, now = left < most ? left : most;
      if (lanes && (task.turns || by_lanes<T>(now, bytes))) {
        by_groups(task, in + k * from.apart, from, out + k * to.apart, to, now, first + k, groups.data());
      } else {
        now = 1;
        one(task, in + k * from.apart, from, out + k * to.apart, to, first + k, work.data());
      }
      k += now;
    }
  }

  // fft: ptrs [in, out], params [n, inner, forward, block]; complex [outer, n, inner], parts of type T
  static void run(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    int64_t n = params[0], inner = params[1], block = params[3];
    const C* in = static_cast<const C*>(ptrs[0]);
    C* out = static_cast<C*>(ptrs[1]);
    T scale = params[2] ? T(1) : T(1) / static_cast<T>(n);
    if (inner == 1) {
      or_nan(&out[lo * n].r, 2 * (hi - lo) * n, [&] {
        PlanLease<Plan> plan(n);
        Task<T> task{&*plan, n, params[2] != 0, scale, nullptr};
        several(task, in + lo * n, Places{1, n}, out + lo * n, Places{1, n}, hi - lo, 0);
      });
      return;
    }
    Places at{inner, 1};
    int64_t blocks = (inner + block - 1) / block;
    for (int64_t piece = lo; piece < hi; ++piece) {
      int64_t first = piece % blocks * block, left = inner - first, base = piece / blocks * n * inner + first;
      int64_t count = left < block ? left : block;
      or_nan_at(out + base, at, n, count, [&] {
        PlanLease<Plan> plan(n);
        Task<T> task{&*plan, n, params[2] != 0, scale, nullptr};
        several(task, in + base, at, out + base, at, count, 0);
      });
    }
  }

  template <class F>
  static void or_nan_at(C* out, Places at, int64_t n, int64_t count, F f) {
    try {
      f();
    } catch (...) {
      for (int64_t j = 0; j < n; ++j)
        for (int64_t c = 0; c < count; ++c) out[j * at.step + c * at.apart].Set(T(NAN), T(NAN));
    }
  }

  // fft_columns, fft_rows: the two parts of a transform of length N = n m (the four-step algorithm; Bailey 1990).
  // ptrs [in, out], params [n, m, N, forward, out_row, block]
  // columns: in [outer, n, m] along n, turned by k c, to out [outer, n, m]
  // rows: in [outer, n, m] along m, scaled, transposed to out [outer, out_row], of which [m, n] are written
  template <bool kColumns>
  static void part(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    int64_t n = params[0], m = params[1], total = params[2], out_row = params[4], block = params[5];
    int64_t length = kColumns ? n : m, width = kColumns ? m : n, blocks = (width + block - 1) / block;
    Places from = kColumns ? Places{m, 1} : Places{1, m}, to = kColumns ? Places{m, 1} : Places{n, 1};
    T scale = params[3] || kColumns ? T(1) : T(1) / static_cast<T>(total);
    for (int64_t piece = lo; piece < hi; ++piece) {
      int64_t first = piece % blocks * block, left = width - first, count = left < block ? left : block;
      const C* in = static_cast<const C*>(ptrs[0]) + piece / blocks * total + first * from.apart;
      C* out = static_cast<C*>(ptrs[1]) + piece / blocks * out_row + first * to.apart;
      or_nan_at(out, to, length, count, [&] {
        PlanLease<Plan> plan(length);
        PlanLease<Turns<T>> turns(kColumns ? total : 1);
        Task<T> task{&*plan, length, params[3] != 0, scale, kColumns ? &*turns : nullptr};
        several(task, in, from, out, to, count, first);
      });
    }
  }
};

}  // namespace

}  // namespace jitney

#include "fft_pairs.h"
//
#include "fft_medium.h"

namespace jitney {

namespace {

#if !defined(JITNEY_FFT_COMPLEX_ONLY)
// Real rows of n elements, complex rows of n / 2 + 1. pocketfft keeps r0 r1 i1 r2 i2 …; that is the complex row
// without its second element, and without its last one if n is even.
template <class T>
struct Real {
  using Plan = pocket::pocketfft_r<T>;
  using V = Lanes<T>;

  // rfft: ptrs [in, out], params [n]
  static void forward_group(const Plan& plan, const T* in, T* out, int64_t n, int64_t width, int64_t count, V* work) {
    Offsets<T> offsets(n, count);
    int64_t whole = n - n % kLanes<T>;
    for (int64_t j = 0; j < whole; j += kLanes<T>) read_square<T>(in + j, n, count, work + j);
    for (int64_t j = whole; j < n; ++j) work[j] = offsets(in + j);
    plan.exec(work, T(1), true);
    scattered<T>(work[0], out, width, count);
    whole = (n - 1) - (n - 1) % kLanes<T>;
    for (int64_t j = 0; j < whole; j += kLanes<T>) write_square<T>(work + j + 1, out + j + 2, width, count);
    for (int64_t j = whole + 1; j < n; ++j) scattered<T>(work[j], out + j + 1, width, count);
    for (int64_t i = 0; i < count; ++i) end_row(out + i * width, n);
  }
  static void end_row(T* out, int64_t n) {
    out[1] = 0;
    if (n % 2 == 0) out[n + 1] = 0;
  }
  // fft_real: as rfft, but rows of n complex numbers: the rest are the conjugates
  static void mirror(T* out, int64_t n) {
    for (int64_t k = 1; k < (n + 1) / 2; ++k) {
      out[2 * (n - k)] = out[2 * k];
      out[2 * (n - k) + 1] = -out[2 * k + 1];
    }
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
    Offsets<T> offsets(width, count);
    work[0] = offsets(in);
    int64_t whole = (n - 1) - (n - 1) % kLanes<T>;
    for (int64_t j = 0; j < whole; j += kLanes<T>) read_square<T>(in + j + 2, width, count, work + j + 1);
    for (int64_t j = whole + 1; j < n; ++j) work[j] = offsets(in + j + 1);
    plan.exec(work, T(1) / static_cast<T>(n), false);
    whole = n - n % kLanes<T>;
    for (int64_t j = 0; j < whole; j += kLanes<T>) write_square<T>(work + j, out + j, n, count);
    for (int64_t j = whole; j < n; ++j) scattered<T>(work[j], out + j, n, count);
  }
  static void inverse_one(const Plan& plan, const T* in, T* out, int64_t n) {
    out[0] = in[0];
    memcpy(out + 1, in + 2, static_cast<size_t>(n - 1) * sizeof(T));
    plan.exec(out, T(1) / static_cast<T>(n), false);
  }

  template <bool kForward>
  static void rows(const T* in, T* out, int64_t n, int64_t width, int64_t count) {
    int64_t in_row = kForward ? n : width, out_row = kForward ? width : n;
    size_t bytes = static_cast<size_t>(n) * sizeof(T);
    or_nan(out, count * out_row, [&] {
      PlanLease<Plan> plan(n);
      pocket::arr<V> work(by_lanes<T>(count, bytes) ? static_cast<size_t>(n) : 0);
      for (int64_t k = 0; k < count;) {
        int64_t left = count - k, now = left < kLanes<T> ? left : kLanes<T>;
        const T* from = in + k * in_row;
        T* to = out + k * out_row;
        if (by_lanes<T>(now, bytes)) {
          if (kForward) forward_group(*plan, from, to, n, width, now, work.data());
          else inverse_group(*plan, from, to, n, now, work.data());
        } else {
          now = 1;
          if (kForward) forward_one(*plan, from, to, n);
          else inverse_one(*plan, from, to, n);
        }
        if (kForward && width > n / 2 * 2 + 2)
          for (int64_t i = 0; i < now; ++i) mirror(to + i * width, n);
        k += now;
      }
    });
  }
};

template <class T>
struct RealForward {
  static void run(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    int64_t n = params[0], width = n / 2 * 2 + 2;
    Real<T>::template rows<true>(static_cast<const T*>(ptrs[0]) + lo * n, static_cast<T*>(ptrs[1]) + lo * width, n,
                                 width, hi - lo);
  }
};
template <class T>
struct RealWhole {
  static void run(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    int64_t n = params[0];
    Real<T>::template rows<true>(static_cast<const T*>(ptrs[0]) + lo * n, static_cast<T*>(ptrs[1]) + lo * 2 * n, n,
                                 2 * n, hi - lo);
  }
};
template <class T>
struct RealInverse {
  static void run(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    int64_t n = params[0], width = n / 2 * 2 + 2;
    Real<T>::template rows<false>(static_cast<const T*>(ptrs[0]) + lo * width, static_cast<T*>(ptrs[1]) + lo * n, n,
                                  width, hi - lo);
  }
};
#endif

}  // namespace

void JITNEY_FFT_ADD() {
  add_routine("fft_c64", &Complex<float>::run);
  add_routine("fft_c128", &Complex<double>::run);
  add_routine("fft_columns_c64", &Complex<float>::part<true>);
  add_routine("fft_columns_c128", &Complex<double>::part<true>);
  add_routine("fft_rows_c64", &Complex<float>::part<false>);
  add_routine("fft_rows_c128", &Complex<double>::part<false>);
  add_routine("rfft_join_c64", &LongPairs<float>::join);
  add_routine("rfft_join_c128", &LongPairs<double>::join);
  add_routine("irfft_split_c64", &LongPairs<float>::split);
  add_routine("irfft_split_c128", &LongPairs<double>::split);
  add_routine("rfft_pairs_f32", &PairRows<float>::forward);
  add_routine("rfft_pairs_f64", &PairRows<double>::forward);
  add_routine("irfft_pairs_f32", &PairRows<float>::inverse);
  add_routine("irfft_pairs_f64", &PairRows<double>::inverse);
  add_routine("fft_medium_c64", &MediumRows<float>::complex);
  add_routine("fft_medium_c128", &MediumRows<double>::complex);
  add_routine("rfft_medium_f32", &MediumRows<float>::real);
  add_routine("rfft_medium_f64", &MediumRows<double>::real);
  add_routine("irfft_medium_f32", &MediumRows<float>::inverse);
  add_routine("irfft_medium_f64", &MediumRows<double>::inverse);
#if !defined(JITNEY_FFT_COMPLEX_ONLY)
  add_routine("rfft_f32", &RealForward<float>::run);
  add_routine("rfft_f64", &RealForward<double>::run);
  add_routine("fft_real_f32", &RealWhole<float>::run);
  add_routine("fft_real_f64", &RealWhole<double>::run);
  add_routine("irfft_f32", &RealInverse<float>::run);
  add_routine("irfft_f64", &RealInverse<double>::run);
#endif
}

}  // namespace jitney
