// What the linear algebra routines share: LAPACK and BLAS through pointers, arithmetic of real and complex numbers,
// copies between row-major and column-major order, and the parts of a workspace.
//
// In:  pointers handed over once by `lapack_bind` (lapack.cpp). Out: Lapack<T>::name(), callable like the Fortran
// routine. Invariant: a routine that calls one of them is planned only after `lapack_bind`.
#pragma once
#include <cmath>
#include <limits>

#include "routines.h"

namespace jitney {

using LapackTypes = TypeList<float, double, C64, C128>;

// ---- numbers

template <class T> struct RealOf { using type = T; };
template <> struct RealOf<C64> { using type = float; };
template <> struct RealOf<C128> { using type = double; };
template <class T> using Real = typename RealOf<T>::type;
template <class T> struct ComplexOf { using type = T; };
template <> struct ComplexOf<float> { using type = C64; };
template <> struct ComplexOf<double> { using type = C128; };
template <class T> using Complex = typename ComplexOf<T>::type;
template <class T> constexpr bool kIsComplex = !std::is_same<T, Real<T>>::value;

template <class T>
inline T number(Real<T> re) {
  if constexpr (kIsComplex<T>) return T{re, 0};
  else return re;
}
template <class T>
inline Real<T> real_part(T a) {
  if constexpr (kIsComplex<T>) return a.re;
  else return a;
}
template <class T>
inline T conjugate(T a) {
  if constexpr (kIsComplex<T>) return T{a.re, -a.im};
  else return a;
}
template <class T>
inline T times(T a, T b) {
  if constexpr (kIsComplex<T>) return T{a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  else return a * b;
}
template <class T>
inline T minus(T a, T b) {
  if constexpr (kIsComplex<T>) return T{a.re - b.re, a.im - b.im};
  else return a - b;
}
template <class T>
inline T scaled(T a, Real<T> r) {
  if constexpr (kIsComplex<T>) return T{a.re * r, a.im * r};
  else return a * r;
}
// Smith (1962): no overflow in between.
template <class T>
inline T quotient(T a, T b) {
  if constexpr (kIsComplex<T>) {
    if (std::fabs(b.re) >= std::fabs(b.im)) {
      Real<T> r = b.re == 0 && b.im == 0 ? 0 : b.im / b.re, d = b.re + b.im * r;
      return T{(a.re + a.im * r) / d, (a.im - a.re * r) / d};
    }
    Real<T> r = b.re / b.im, d = b.re * r + b.im;
    return T{(a.re * r + a.im) / d, (a.im * r - a.re) / d};
  } else {
    return a / b;
  }
}
// |re| + |im|, by which LAPACK chooses pivots.
template <class T>
inline Real<T> size_of(T a) {
  if constexpr (kIsComplex<T>) return std::fabs(a.re) + std::fabs(a.im);
  else return std::fabs(a);
}
template <class T>
inline T nan_of() {
  constexpr Real<T> nan = std::numeric_limits<Real<T>>::quiet_NaN();
  if constexpr (kIsComplex<T>) return T{nan, nan};
  else return nan;
}
template <class T>
inline void fill(T* out, int64_t count, T value) {
  for (int64_t i = 0; i < count; ++i) out[i] = value;
}
template <class T>
inline bool all_finite(const T* a, int64_t count) {
  const Real<T>* x = reinterpret_cast<const Real<T>*>(a);
  Real<T> zero = 0;  // stays 0 unless one of them is infinite or NaN
  for (int64_t i = 0, n = count * (kIsComplex<T> ? 2 : 1); i < n; ++i) zero += x[i] * 0;
  return zero == 0;
}

// out[j * rows + i] = in[i * columns + j], in blocks that stay in the first cache.
template <class T>
void transpose_copy(const T* in, T* out, int64_t rows, int64_t columns) {
  constexpr int64_t kBlock = 16;
  for (int64_t i0 = 0; i0 < rows; i0 += kBlock) {
    int64_t i1 = i0 + kBlock < rows ? i0 + kBlock : rows;
    for (int64_t j0 = 0; j0 < columns; j0 += kBlock) {
      int64_t j1 = j0 + kBlock < columns ? j0 + kBlock : columns;
      for (int64_t i = i0; i < i1; ++i)
        for (int64_t j = j0; j < j1; ++j) out[j * rows + i] = in[i * columns + j];
    }
  }
}

// ---- workspace: parts of 64 bytes' alignment, one after another; from nullptr on, `used` is the size needed

struct Carve {
  char* base;
  int64_t used = 0;
  template <class U>
  U* take(int64_t count) {
    U* part = reinterpret_cast<U*>(base + used);
    used += (count * static_cast<int64_t>(sizeof(U)) + 63) / 64 * 64;
    return part;
  }
};

// ---- Fortran routines, s d c z

enum LapackName { kTrsm, kPotrf, kGetrf, kGeqrf, kGeqp3, kOrgqr, kSyevd, kGeev, kGesdd, kGesvd, kLapackCount };

extern void* lapack_pointers[4][kLapackCount];

template <class T> constexpr int kLapackType = 0;
template <> constexpr int kLapackType<double> = 1;
template <> constexpr int kLapackType<C64> = 2;
template <> constexpr int kLapackType<C128> = 3;

// Calls the Fortran routine with these arguments (all pointers).
template <class T, class... Args>
inline void fortran(LapackName name, Args*... args) {
  reinterpret_cast<void (*)(Args*...)>(lapack_pointers[kLapackType<T>][name])(args...);
}

// While it lives, the library takes no threads of its own, if matrices need few operations (so many) each: its threads
// spin for some 25 ms after a call, on the CPUs that other kernels' threads would take, and beside other programs they
// wait for one another (a regression by Gaussian processes beside two of them: every tenth call 8 to 24 ms, so 0.6 to
// 4.5). What is few depends on the matrix alone, not on the number of threads.
class LibraryThreads {
 public:
  explicit LibraryThreads(double operations);
  ~LibraryThreads();
  LibraryThreads(const LibraryThreads&) = delete;
  LibraryThreads& operator=(const LibraryThreads&) = delete;

 private:
  bool few_;
};

// ---- sizes known to the compiler

constexpr int64_t kSmallMatrix = 8;  // up to this size LAPACK's own cost per call is the greater part

// f(integral_constant<int, n>) for n up to 4, else with 0: sizes are then read at run time.
template <class F>
inline void with_size(int64_t n, F f) {
  switch (n) {
    case 1: return f(std::integral_constant<int, 1>{});
    case 2: return f(std::integral_constant<int, 2>{});
    case 3: return f(std::integral_constant<int, 3>{});
    case 4: return f(std::integral_constant<int, 4>{});
    default: return f(std::integral_constant<int, 0>{});
  }
}

// What a planner must know before it makes a step: the optimal lwork and bytes of workspace a piece.
struct LapackNeeds {
  int64_t lwork, bytes;
};
using NeedsFn = LapackNeeds (*)(const int64_t* params);
void add_lapack_needs(const std::string& name, NeedsFn fn);

template <template <class> class Family, class... Ts>
void add_lapack_family(const char* prefix, TypeList<Ts...> types) {
  add_family<Family>(prefix, types);
  (add_lapack_needs(std::string(prefix) + "_" + type_name<Ts>(), &Family<Ts>::needs), ...);
}

void add_lapack_solvers();     // lapack_solve.cpp
void add_lapack_factorings();  // lapack_factor.cpp
PyMethodDef* lapack_functions();

}  // namespace jitney
