// Cholesky and LU factors, triangular and tridiagonal systems (signatures in README.md). Matrices up to 8 x 8 are
// computed here, row-major as they are; greater ones by LAPACK, which sees every matrix transposed.
#include <cstring>
#include <utility>

#include "lapack.h"

namespace jitney {

namespace {

// ---- Cholesky

// The lower triangle of out becomes L, a = L L^H; false if a is not positive definite.
template <class T, int kN>
bool small_cholesky(const T* a, T* out, int64_t size) {
  const int64_t n = kN ? kN : size;
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = j; i < n; ++i) {
      T s = a[i * n + j];
      for (int64_t k = 0; k < j; ++k) s = minus(s, times(out[i * n + k], conjugate(out[j * n + k])));
      if (i == j) {
        Real<T> d = real_part(s);
        if (!(d > 0) || std::isinf(d)) return false;
        out[j * n + j] = number<T>(std::sqrt(d));
      } else {
        out[i * n + j] = scaled(s, 1 / real_part(out[j * n + j]));
      }
    }
    for (int64_t i = 0; i < j; ++i) out[i * n + j] = number<T>(0);
  }
  return true;
}

template <class T>
bool large_cholesky(const T* a, T* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    memcpy(out + i * n, a + i * n, static_cast<size_t>(i + 1) * sizeof(T));
    fill(out + i * n + i + 1, n - i - 1, number<T>(0));
  }
  // Column-major, this is the transpose: A^T = U^H U with U = L^T.
  char uplo = 'U';
  int size = static_cast<int>(n), info = 0;
  fortran<T>(kPotrf, &uplo, &size, out, &size, &info);
  return info == 0;
}

// cholesky: ptrs [a, out], params [n]. The upper triangle is 0; a matrix that is not positive definite gives NaN.
template <class T>
struct Cholesky {
  static void run(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    LibraryThreads threads(params[0] * params[0] * (params[0] / 3.0));
    int64_t n = params[0];
    with_size(n, [=](auto known) {
      for (int64_t row = lo; row < hi; ++row) {
        const T* a = static_cast<const T*>(ptrs[0]) + row * n * n;
        T* out = static_cast<T*>(ptrs[1]) + row * n * n;
        bool ok = n <= kSmallMatrix ? small_cholesky<T, decltype(known)::value>(a, out, n) : large_cholesky(a, out, n);
        if (ok) continue;
        for (int64_t i = 0; i < n; ++i) {
          fill(out + i * n, i + 1, nan_of<T>());
          fill(out + i * n + i + 1, n - i - 1, number<T>(0));
        }
      }
    });
  }
};

// ---- triangular systems

// op: 0 A, 1 A^T, 2 A^H
struct Triangle {
  bool lower, unit;
  int op;
};

// op(A) X = B in place of x [n, m], by rows of X; kForward: the first row first.
template <class T, int kN, int kM, bool kForward, int kOp>
void small_triangular(const T* a, int64_t size, T* x, int64_t columns, bool unit) {
  const int64_t n = kN ? kN : size, m = kM ? kM : columns;
  auto at = [=](int64_t i, int64_t j) JITNEY_INLINE {
    if constexpr (kOp == 0) return a[i * n + j];
    else if constexpr (kOp == 1) return a[j * n + i];
    else return conjugate(a[j * n + i]);
  };
  for (int64_t step = 0; step < n; ++step) {
    int64_t i = kForward ? step : n - 1 - step;
    T* row = x + i * m;
    for (int64_t k = 0; k < step; ++k) {
      int64_t j = kForward ? k : n - 1 - k;
      T factor = at(i, j);
      for (int64_t c = 0; c < m; ++c) row[c] = minus(row[c], times(factor, x[j * m + c]));
    }
    if (unit) continue;
    T diagonal = at(i, i);
    for (int64_t c = 0; c < m; ++c) row[c] = quotient(row[c], diagonal);
  }
}

template <class T, int kN, int kM>
void small_triangular(const T* a, int64_t n, T* x, int64_t m, Triangle t) {
  bool forward = t.lower == (t.op == 0);
  if (t.op == 0) {
    if (forward) small_triangular<T, kN, kM, true, 0>(a, n, x, m, t.unit);
    else small_triangular<T, kN, kM, false, 0>(a, n, x, m, t.unit);
  } else if (t.op == 1 || !kIsComplex<T>) {
    if (forward) small_triangular<T, kN, kM, true, 1>(a, n, x, m, t.unit);
    else small_triangular<T, kN, kM, false, 1>(a, n, x, m, t.unit);
  } else {
    if (forward) small_triangular<T, kN, kM, true, 2>(a, n, x, m, t.unit);
    else small_triangular<T, kN, kM, false, 2>(a, n, x, m, t.unit);
  }
}

// op(A) X = B in place of x [n, m].
template <class T>
void solve_left(const T* a, int64_t n, T* x, int64_t m, Triangle t) {
  if (n == 0 || m == 0) return;
  if (n <= kSmallMatrix) {
    with_size(n, [=](auto known) {
      constexpr int kN = decltype(known)::value;
      if (m == 1) small_triangular<T, kN, 1>(a, n, x, 1, t);
      else small_triangular<T, kN, 0>(a, n, x, m, t);
    });
    return;
  }
  char side = 'R', uplo = t.lower ? 'U' : 'L', trans = "NTC"[t.op], diag = t.unit ? 'U' : 'N';
  int rows = static_cast<int>(m), size = static_cast<int>(n);
  T one = number<T>(1);
  fortran<T>(kTrsm, &side, &uplo, &trans, &diag, &rows, &size, &one, const_cast<T*>(a), &size, x, &rows);
}

// X op(A) = B in place of x [m, n].
template <class T>
void solve_right(const T* a, int64_t n, T* x, int64_t m, Triangle t) {
  if (n == 0 || m == 0) return;
  if (n <= kSmallMatrix && t.op != 2) {  // op(A)^T y = b for each row
    Triangle flipped = {t.lower, t.unit, 1 - t.op};
    for (int64_t r = 0; r < m; ++r) solve_left(a, n, x + r * n, 1, flipped);
    return;
  }
  char side = 'L', uplo = t.lower ? 'U' : 'L', trans = "NTC"[t.op], diag = t.unit ? 'U' : 'N';
  int size = static_cast<int>(n), columns = static_cast<int>(m);
  T one = number<T>(1);
  fortran<T>(kTrsm, &side, &uplo, &trans, &diag, &size, &columns, &one, const_cast<T*>(a), &size, x, &size);
}

// triangular_solve: ptrs [a, b, out], params [n, m, left, lower, op, unit]
template <class T>
struct TriangularSolve {
  static void run(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    LibraryThreads threads(2.0 * params[0] * params[0] * params[1]);
    int64_t n = params[0], m = params[1];
    Triangle t = {params[3] != 0, params[5] != 0, static_cast<int>(params[4])};
    memcpy(static_cast<T*>(ptrs[2]) + lo * n * m, static_cast<const T*>(ptrs[1]) + lo * n * m,
           static_cast<size_t>((hi - lo) * n * m) * sizeof(T));
    for (int64_t row = lo; row < hi; ++row) {
      const T* a = static_cast<const T*>(ptrs[0]) + row * n * n;
      T* x = static_cast<T*>(ptrs[2]) + row * n * m;
      if (params[2]) solve_left(a, n, x, m, t);
      else solve_right(a, n, x, m, t);
    }
  }
};

// ---- LU

// In place; pivots count from 0. A column of zeros is left as it is, as getrf leaves it.
template <class T, int kN>
void small_lu(T* a, int64_t rows, int64_t columns, int32_t* pivots) {
  const int64_t m = kN ? kN : rows, n = kN ? kN : columns;
  for (int64_t k = 0; k < (m < n ? m : n); ++k) {
    int64_t p = k;
    Real<T> best = size_of(a[k * n + k]);
    for (int64_t i = k + 1; i < m; ++i) {
      Real<T> other = size_of(a[i * n + k]);
      if (other > best) best = other, p = i;
    }
    pivots[k] = static_cast<int32_t>(p);
    if (p != k)
      for (int64_t j = 0; j < n; ++j) std::swap(a[k * n + j], a[p * n + j]);
    if (best == 0) continue;
    T pivot = a[k * n + k];
    for (int64_t i = k + 1; i < m; ++i) {
      T factor = a[i * n + k] = quotient(a[i * n + k], pivot);
      for (int64_t j = k + 1; j < n; ++j) a[i * n + j] = minus(a[i * n + j], times(factor, a[k * n + j]));
    }
  }
}

// lu: ptrs [a, lu, pivots (i32), permutation (i32), work], params [m, n, lwork, bytes, rows_per_piece]
template <class T>
struct LU {
  static bool is_small(const int64_t* params) {
    return (params[0] < params[1] ? params[0] : params[1]) <= kSmallMatrix;
  }
  static LapackNeeds needs(const int64_t* params) {
    Carve carve{nullptr};
    if (!is_small(params)) carve.take<T>(params[0] * params[1]);
    return {0, carve.used};
  }
  static void large(const T* a, T* out, int32_t* pivots, T* work, int64_t rows, int64_t columns) {
    int m = static_cast<int>(rows), n = static_cast<int>(columns), info = 0;
    transpose_copy(a, work, rows, columns);
    fortran<T>(kGetrf, &m, &n, work, &m, pivots, &info);
    for (int64_t k = 0; k < (rows < columns ? rows : columns); ++k) --pivots[k];
    transpose_copy(work, out, columns, rows);
  }
  static void run(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    LibraryThreads threads(0.7 * params[0] * params[1] * (params[0] < params[1] ? params[0] : params[1]));
    int64_t m = params[0], n = params[1], k = m < n ? m : n;
    T* work = reinterpret_cast<T*>(static_cast<char*>(ptrs[4]) + lo / params[4] * params[3]);
    for (int64_t row = lo; row < hi; ++row) {
      const T* a = static_cast<const T*>(ptrs[0]) + row * m * n;
      T* out = static_cast<T*>(ptrs[1]) + row * m * n;
      int32_t* pivots = static_cast<int32_t*>(ptrs[2]) + row * k;
      int32_t* permutation = static_cast<int32_t*>(ptrs[3]) + row * m;
      if (is_small(params)) {
        memcpy(out, a, static_cast<size_t>(m * n) * sizeof(T));
        with_size(m == n ? n : 0, [=](auto known) { small_lu<T, decltype(known)::value>(out, m, n, pivots); });
      } else {
        large(a, out, pivots, work, m, n);
      }
      for (int64_t i = 0; i < m; ++i) permutation[i] = static_cast<int32_t>(i);
      for (int64_t i = 0; i < k; ++i) std::swap(permutation[i], permutation[pivots[i]]);
    }
  }
};

// lu_solve: ptrs [lu, permutation (i32), b, out, work], params [n, m, op, lwork, bytes, rows_per_piece]
// op(A) X = B where rows `permutation` of A are L U.
template <class T>
struct LUSolve {
  static LapackNeeds needs(const int64_t* params) {
    Carve carve{nullptr};
    if (params[2]) carve.take<T>(params[0] * params[1]);
    return {0, carve.used};
  }
  static void run(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    LibraryThreads threads(2.0 * params[0] * params[0] * params[1]);
    int64_t n = params[0], m = params[1];
    int op = static_cast<int>(params[2]);
    size_t row_bytes = static_cast<size_t>(m) * sizeof(T);
    T* work = reinterpret_cast<T*>(static_cast<char*>(ptrs[4]) + lo / params[5] * params[4]);
    for (int64_t row = lo; row < hi; ++row) {
      const T* lu = static_cast<const T*>(ptrs[0]) + row * n * n;
      const int32_t* permutation = static_cast<const int32_t*>(ptrs[1]) + row * n;
      const T* b = static_cast<const T*>(ptrs[2]) + row * n * m;
      T* out = static_cast<T*>(ptrs[3]) + row * n * m;
      if (op == 0) {
        for (int64_t i = 0; i < n; ++i) {
          const T* from = b + permutation[i] * m;
          if (m > 16) memcpy(out + i * m, from, row_bytes);
          else
            for (int64_t c = 0; c < m; ++c) out[i * m + c] = from[c];
        }
        solve_left(lu, n, out, m, Triangle{true, true, 0});
        solve_left(lu, n, out, m, Triangle{false, false, 0});
      } else {  // A^T = U^T L^T P
        memcpy(work, b, row_bytes * static_cast<size_t>(n));
        solve_left(lu, n, work, m, Triangle{false, false, op});
        solve_left(lu, n, work, m, Triangle{true, true, op});
        for (int64_t i = 0; i < n; ++i) memcpy(out + permutation[i] * m, work + i * m, row_bytes);
      }
    }
  }
};

// pivots_to_permutation: ptrs [pivots (i32), out (i32)], params [k, size]
void pivots_to_permutation(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
  for (int64_t row = lo; row < hi; ++row) {
    const int32_t* pivots = static_cast<const int32_t*>(ptrs[0]) + row * params[0];
    int32_t* out = static_cast<int32_t*>(ptrs[1]) + row * params[1];
    for (int64_t i = 0; i < params[1]; ++i) out[i] = static_cast<int32_t>(i);
    for (int64_t i = 0; i < params[0]; ++i)
      if (pivots[i] >= 0 && pivots[i] < params[1]) std::swap(out[i], out[pivots[i]]);
  }
}

// ---- tridiagonal systems

// tridiagonal_solve: ptrs [dl, d, du, b, out, work], params [n, m, perturb, lwork, bytes, rows_per_piece]
// Gaussian elimination with exchanges of neighbouring rows (LAPACK's gtsv); dl[0] and du[n-1] are not read.
template <class T>
struct TridiagonalSolve {
  struct Parts {
    T *dl, *d, *du, *above;
    Parts(Carve& c, int64_t n) : dl(c.take<T>(n)), d(c.take<T>(n)), du(c.take<T>(n)), above(c.take<T>(n)) {}
  };
  static LapackNeeds needs(const int64_t* params) {
    Carve carve{nullptr};
    Parts parts(carve, params[0]);
    return {0, carve.used};
  }
  // A step waits for the quotient of the step before, and for nothing in memory: what is left of the present row and of
  // its right side, if that is one number, stay in registers.
  template <bool kOne>
  static void eliminate(const Parts& p, T* x, int64_t n, int64_t m) {
    T d = p.d[0], u = p.du[0], right = kOne ? x[0] : T{};
    for (int64_t i = 0; i + 1 < n; ++i) {
      T *row = x + i * m, *next = row + m;
      T l = p.dl[i + 1], below = p.d[i + 1], beside = i + 2 < n ? p.du[i + 1] : number<T>(0);
      T above = number<T>(0), other = kOne ? next[0] : T{};
      if (size_of(d) < size_of(l)) {  // rows i and i + 1 change places
        std::swap(d, l);
        std::swap(u, below);
        std::swap(above, beside);
        if (kOne) std::swap(right, other);
        else for (int64_t c = 0; c < m; ++c) std::swap(row[c], next[c]);
      }
      // a pivot of 0 stands above a 0 here
      T factor = size_of(l) == 0 ? number<T>(0) : quotient(l, d);
      p.d[i] = d, p.du[i] = u, p.above[i] = above;
      d = minus(below, times(factor, u)), u = minus(beside, times(factor, above));
      if (kOne) row[0] = right, right = minus(other, times(factor, right));
      else for (int64_t c = 0; c < m; ++c) next[c] = minus(next[c], times(factor, row[c]));
    }
    p.d[n - 1] = d, p.du[n - 1] = u, p.above[n - 1] = number<T>(0);
    if (kOne) x[n - 1] = right;
  }
  // A pivot's inverse is known before what is multiplied by it; one that is no ordinary number divides.
  static void back(const Parts& p, T* x, int64_t n, int64_t m) {
    constexpr Real<T> kLarge = std::is_same_v<Real<T>, float> ? Real<T>(1e30) : Real<T>(1e300);
    for (int64_t i = n - 1; i >= 0; --i) {
      const T d = p.d[i], u = p.du[i], above = p.above[i];
      const Real<T> size = size_of(d);
      const bool is_ordinary = size < kLarge && size > 1 / kLarge;
      const T inverse = quotient(number<T>(1), is_ordinary ? d : number<T>(1));
      for (int64_t c = 0; c < m; ++c) {
        T value = x[i * m + c];
        if (i + 2 < n) value = minus(value, times(above, x[(i + 2) * m + c]));
        if (i + 1 < n) value = minus(value, times(u, x[(i + 1) * m + c]));
        x[i * m + c] = is_ordinary ? times(value, inverse) : quotient(value, d);
      }
    }
  }
  static void run(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    int64_t n = params[0], m = params[1];
    for (int64_t row = lo; row < hi; ++row) {
      Carve carve{static_cast<char*>(ptrs[5]) + lo / params[5] * params[4]};
      Parts p(carve, n);
      T* parts[3] = {p.dl, p.d, p.du};
      for (int k = 0; k < 3; ++k)
        memcpy(parts[k], static_cast<const T*>(ptrs[k]) + row * n, static_cast<size_t>(n) * sizeof(T));
      T* x = static_cast<T*>(ptrs[4]) + row * n * m;
      memcpy(x, static_cast<const T*>(ptrs[3]) + row * n * m, static_cast<size_t>(n * m) * sizeof(T));
      if (m == 1) eliminate<true>(p, x, n, m);
      else eliminate<false>(p, x, n, m);
      if (params[2]) perturb(p, n);
      back(p, x, n, m);
    }
  }
  // A pivot of 0 becomes the smallest one that does not change the matrix beyond rounding.
  static void perturb(const Parts& p, int64_t n) {
    Real<T> largest = 0;
    for (int64_t i = 0; i < n; ++i) largest = std::fmax(largest, size_of(p.d[i]));
    Real<T> least = std::numeric_limits<Real<T>>::epsilon() * (largest > 0 ? largest : 1);
    for (int64_t i = 0; i < n; ++i)
      if (size_of(p.d[i]) < least) p.d[i] = number<T>(least);
  }
};

// ---- updates

// cholesky_update: ptrs [r, w, out, work], params [n, lwork, bytes, rows_per_piece]
// out^T out = r^T r + w w^T with r, out upper triangular, by Givens rotations (Gill, Golub, Murray, Saunders 1974).
template <class T>
struct CholeskyUpdate {
  static LapackNeeds needs(const int64_t* params) {
    Carve carve{nullptr};
    carve.take<T>(params[0]);
    return {0, carve.used};
  }
  static void run(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    int64_t n = params[0];
    T* w = reinterpret_cast<T*>(static_cast<char*>(ptrs[3]) + lo / params[3] * params[2]);
    for (int64_t row = lo; row < hi; ++row) {
      const T* r = static_cast<const T*>(ptrs[0]) + row * n * n;
      T* out = static_cast<T*>(ptrs[2]) + row * n * n;
      memcpy(w, static_cast<const T*>(ptrs[1]) + row * n, static_cast<size_t>(n) * sizeof(T));
      for (int64_t k = 0; k < n; ++k) {
        T d = r[k * n + k], length = std::hypot(d, w[k]);
        T c = length == 0 ? 1 : d / length, s = length == 0 ? 0 : w[k] / length;
        fill(out + k * n, k, T(0));
        for (int64_t j = k; j < n; ++j) {
          T x = r[k * n + j], y = w[j];
          out[k * n + j] = c * x + s * y;
          w[j] = c * y - s * x;
        }
      }
    }
  }
};

}  // namespace

void add_lapack_solvers() {
  add_family<Cholesky>("cholesky", LapackTypes{});
  add_family<TriangularSolve>("triangular_solve", LapackTypes{});
  add_lapack_family<LU>("lu", LapackTypes{});
  add_lapack_family<LUSolve>("lu_solve", LapackTypes{});
  add_routine("pivots_to_permutation_i32", &pivots_to_permutation);
  add_lapack_family<TridiagonalSolve>("tridiagonal_solve", LapackTypes{});
  add_lapack_family<CholeskyUpdate>("cholesky_update", TypeList<float, double>{});
}

}  // namespace jitney
