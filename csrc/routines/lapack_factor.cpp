// Eigenvalues, singular values and orthogonal factors by LAPACK (signatures in README.md). Matrices are copied to
// column-major order and back, so that signs and orders are LAPACK's for the matrix itself, not for its transpose.
#include <cstring>

#include "lapack.h"

namespace jitney {

namespace {

// Of the operations of these, as a part of m n min(m, n), so many are worth sharing: two threads gain nothing up to
// 512 x 512 (svd 29 ms, eigh 12, qr 6.4, so or so).
constexpr double kShared = 0.1;

int64_t lesser(int64_t a, int64_t b) { return a < b ? a : b; }

// The optimal lwork that a query left in its first element.
template <class T>
int64_t queried(T work, int64_t least) {
  int64_t found = static_cast<int64_t>(real_part(work));
  return found > least ? found : least;
}

// ---- eigenvalues of symmetric and Hermitian matrices

// eigh: ptrs [a, v, w, work], params [n, lower, vectors, lwork, bytes, rows_per_piece]. Columns of v are the vectors
// (v is not written without `vectors`); a matrix with an infinite or NaN element gives NaN.
template <class T>
struct Eigh {
  struct Parts {
    T *a, *work;
    Real<T>* rwork;
    int32_t* iwork;
    Parts(Carve& c, int64_t n, int64_t lwork)
        : a(c.take<T>(n * n)), work(c.take<T>(lwork)), rwork(c.take<Real<T>>(kIsComplex<T> ? 1 + 5 * n + 2 * n * n : 0)),
          iwork(c.take<int32_t>(3 + 5 * n)) {}
  };
  static int call(const int64_t* params, const Parts& p, Real<T>* w, int lwork) {
    char job = params[2] ? 'V' : 'N', uplo = params[1] ? 'L' : 'U';
    int n = static_cast<int>(params[0]), info = 0;
    int lrwork = 1 + 5 * n + 2 * n * n, liwork = 3 + 5 * n;
    if constexpr (kIsComplex<T>)
      fortran<T>(kSyevd, &job, &uplo, &n, p.a, &n, w, p.work, &lwork, p.rwork, &lrwork, p.iwork, &liwork, &info);
    else
      fortran<T>(kSyevd, &job, &uplo, &n, p.a, &n, w, p.work, &lwork, p.iwork, &liwork, &info);
    return info;
  }
  static LapackNeeds needs(const int64_t* params) {
    int64_t n = params[0];
    T work;
    Real<T> rwork[1], w[1];
    int32_t iwork[1];
    Carve none{nullptr};
    Parts p(none, 0, 0);
    p.work = &work, p.rwork = rwork, p.iwork = iwork;
    call(params, p, w, -1);
    int64_t lwork = queried(work, kIsComplex<T> ? 2 * n + n * n : 1 + 6 * n + 2 * n * n);
    Carve carve{nullptr};
    Parts parts(carve, n, lwork);
    return {lwork, carve.used};
  }
  static void run(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    LibraryThreads threads(kShared * params[0] * params[0] * params[0]);
    int64_t n = params[0];
    Carve carve{static_cast<char*>(ptrs[3]) + lo / params[5] * params[4]};
    Parts p(carve, n, params[3]);
    for (int64_t row = lo; row < hi; ++row) {
      const T* a = static_cast<const T*>(ptrs[0]) + row * n * n;
      T* v = static_cast<T*>(ptrs[1]) + row * n * n;
      Real<T>* w = static_cast<Real<T>*>(ptrs[2]) + row * n;
      transpose_copy(a, p.a, n, n);
      if (all_finite(a, n * n) && call(params, p, w, static_cast<int>(params[3])) == 0) {
        if (params[2]) transpose_copy(p.a, v, n, n);
        continue;
      }
      fill(w, n, nan_of<Real<T>>());
      if (params[2]) fill(v, n * n, nan_of<T>());
    }
  }
};

// ---- eigenvalues of any square matrices

// What geev says of real matrices, as complex numbers: a value with a positive imaginary part is followed by its
// conjugate, and their vectors are column j of `v` plus and minus i times column j + 1 (v column-major, out row-major).
template <class R, class T>
void join_pairs(const R* v, const R* imaginary, int64_t n, T* out) {
  for (int64_t j = 0; j < n; ++j) {
    const bool is_pair = imaginary[j] > 0 && j + 1 < n;
    for (int64_t i = 0; i < n; ++i) {
      const R re = v[j * n + i], im = is_pair ? v[(j + 1) * n + i] : 0;
      out[i * n + j] = T{re, im};
      if (is_pair) out[i * n + j + 1] = T{re, -im};
    }
    j += is_pair;
  }
}

// eig: ptrs [a, w, left, right, work], params [n, left, right, lwork, bytes, rows_per_piece]. All but a are complex;
// columns of `left` and `right` are the vectors, where they are asked for; a matrix with an infinite or NaN element
// gives NaN.
template <class T>
struct Eig {
  struct Parts {
    T *a, *left, *right, *work;
    Real<T>*rwork, *re, *im;
    Parts(Carve& c, const int64_t* params, int64_t lwork) {
      const int64_t n = params[0];
      a = c.take<T>(n * n), left = c.take<T>(params[1] ? n * n : 0), right = c.take<T>(params[2] ? n * n : 0);
      work = c.take<T>(lwork), rwork = c.take<Real<T>>(kIsComplex<T> ? 2 * n : 0);
      re = c.take<Real<T>>(kIsComplex<T> ? 0 : n), im = c.take<Real<T>>(kIsComplex<T> ? 0 : n);
    }
  };
  static int call(const int64_t* params, const Parts& p, Complex<T>* w, int lwork) {
    char left = params[1] ? 'V' : 'N', right = params[2] ? 'V' : 'N';
    int n = static_cast<int>(params[0]), info = 0;
    if constexpr (kIsComplex<T>)
      fortran<T>(kGeev, &left, &right, &n, p.a, &n, w, p.left, &n, p.right, &n, p.work, &lwork, p.rwork, &info);
    else
      fortran<T>(kGeev, &left, &right, &n, p.a, &n, p.re, p.im, p.left, &n, p.right, &n, p.work, &lwork, &info);
    return info;
  }
  static LapackNeeds needs(const int64_t* params) {
    int64_t n = params[0];
    T work, a;
    Real<T> rwork[1];
    Complex<T> w;
    Carve none{nullptr};
    Parts p(none, params, 0);
    p.work = &work, p.a = p.left = p.right = &a, p.rwork = p.re = p.im = rwork;
    call(params, p, &w, -1);
    int64_t lwork = queried(work, 4 * n);
    Carve carve{nullptr};
    Parts parts(carve, params, lwork);
    return {lwork, carve.used};
  }
  static void run(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    LibraryThreads threads(kShared * params[0] * params[0] * params[0]);
    int64_t n = params[0];
    Carve carve{static_cast<char*>(ptrs[4]) + lo / params[5] * params[4]};
    Parts p(carve, params, params[3]);
    for (int64_t row = lo; row < hi; ++row) {
      const T* a = static_cast<const T*>(ptrs[0]) + row * n * n;
      Complex<T>* w = static_cast<Complex<T>*>(ptrs[1]) + row * n;
      transpose_copy(a, p.a, n, n);
      const bool is_found = all_finite(a, n * n) && call(params, p, w, static_cast<int>(params[3])) == 0;
      if (!is_found) fill(w, n, nan_of<Complex<T>>());
      else if constexpr (!kIsComplex<T>)
        for (int64_t j = 0; j < n; ++j) w[j] = {p.re[j], p.im[j]};
      for (int side = 0; side < 2; ++side) {
        Complex<T>* v = static_cast<Complex<T>*>(ptrs[2 + side]) + row * n * n;
        const T* found = side == 0 ? p.left : p.right;
        if (!params[1 + side]) continue;
        if (!is_found) fill(v, n * n, nan_of<Complex<T>>());
        else if constexpr (kIsComplex<T>) transpose_copy(found, v, n, n);
        else join_pairs(found, p.im, n, v);
      }
    }
  }
};

// ---- orthogonal factors

// q (column-major m x columns, holding k reflectors) becomes the product of the reflectors.
template <class T>
void make_q(T* q, int64_t rows, int64_t columns, int64_t reflectors, T* tau, T* work, int lwork) {
  int m = static_cast<int>(rows), n = static_cast<int>(columns), k = static_cast<int>(reflectors), info = 0;
  if (n > 0) fortran<T>(kOrgqr, &m, &n, &k, q, &m, tau, work, &lwork, &info);
}

template <class T>
int64_t make_q_lwork(int64_t rows, int64_t columns, int64_t reflectors) {
  T work = number<T>(0), q, tau;
  make_q(&q, rows, columns, reflectors, &tau, &work, -1);
  return queried(work, columns > 1 ? columns : 1);
}

// QR factors of a column-major matrix: R above, reflectors below the diagonal. jpvt: nullptr or column numbers.
template <class T>
void factor(T* a, int64_t rows, int64_t columns, int32_t* jpvt, T* tau, T* work, Real<T>* rwork, int lwork) {
  int m = static_cast<int>(rows), n = static_cast<int>(columns), info = 0;
  if (!jpvt) {
    fortran<T>(kGeqrf, &m, &n, a, &m, tau, work, &lwork, &info);
  } else if constexpr (kIsComplex<T>) {
    fortran<T>(kGeqp3, &m, &n, a, &m, jpvt, tau, work, &lwork, rwork, &info);
  } else {
    fortran<T>(kGeqp3, &m, &n, a, &m, jpvt, tau, work, &lwork, &info);
  }
}

template <class T>
int64_t factor_lwork(int64_t rows, int64_t columns, bool pivoting) {
  T work = number<T>(0), a, tau;
  int32_t jpvt = 0;
  Real<T> rwork;
  factor(&a, rows, columns, pivoting ? &jpvt : nullptr, &tau, &work, &rwork, -1);
  return queried(work, pivoting ? 3 * columns + 1 : columns);
}

// qr: ptrs [a, q, r, pivots (i32), work], params [m, n, full, pivoting, lwork, bytes, rows_per_piece]; m, n > 0
// a = q r, or a[:, pivots] = q r with falling |r[i, i]|; q has m (full) or min(m, n) columns.
template <class T>
struct QR {
  struct Parts {
    T *a, *q, *tau, *work;
    Real<T>* rwork;
    int32_t* jpvt;
    Parts(Carve& c, int64_t m, int64_t n, int64_t width, int64_t lwork)
        : a(c.take<T>(m * n)), q(c.take<T>(m * width)), tau(c.take<T>(lesser(m, n))), work(c.take<T>(lwork)),
          rwork(c.take<Real<T>>(kIsComplex<T> ? 2 * n : 0)), jpvt(c.take<int32_t>(n)) {}
  };
  static int64_t width_of(const int64_t* params) { return params[2] ? params[0] : lesser(params[0], params[1]); }
  static LapackNeeds needs(const int64_t* params) {
    int64_t m = params[0], n = params[1], width = width_of(params);
    int64_t first = factor_lwork<T>(m, n, params[3] != 0), second = make_q_lwork<T>(m, width, lesser(m, n));
    Carve carve{nullptr};
    int64_t lwork = first > second ? first : second;
    Parts parts(carve, m, n, width, lwork);
    return {lwork, carve.used};
  }
  static void run(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    LibraryThreads threads(kShared * params[0] * params[1] * lesser(params[0], params[1]));
    int64_t m = params[0], n = params[1], width = width_of(params), k = lesser(m, n);
    int lwork = static_cast<int>(params[4]);
    Carve carve{static_cast<char*>(ptrs[4]) + lo / params[6] * params[5]};
    Parts p(carve, m, n, width, lwork);
    for (int64_t row = lo; row < hi; ++row) {
      T* r = static_cast<T*>(ptrs[2]) + row * width * n;
      transpose_copy(static_cast<const T*>(ptrs[0]) + row * m * n, p.a, m, n);
      memset(p.jpvt, 0, static_cast<size_t>(n) * sizeof(int32_t));
      factor(p.a, m, n, params[3] ? p.jpvt : nullptr, p.tau, p.work, p.rwork, lwork);
      for (int64_t i = 0; i < width; ++i)
        for (int64_t j = 0; j < n; ++j) r[i * n + j] = i <= j && i < k ? p.a[j * m + i] : number<T>(0);
      memcpy(p.q, p.a, static_cast<size_t>(m * k) * sizeof(T));
      make_q(p.q, m, width, k, p.tau, p.work, lwork);
      transpose_copy(p.q, static_cast<T*>(ptrs[1]) + row * m * width, width, m);
      if (!params[3]) continue;
      int32_t* pivots = static_cast<int32_t*>(ptrs[3]) + row * n;
      for (int64_t j = 0; j < n; ++j) pivots[j] = p.jpvt[j] - 1;
    }
  }
};

// geqrf: ptrs [a, out, taus, work], params [m, n, lwork, bytes, rows_per_piece]; m, n > 0
template <class T>
struct Geqrf {
  struct Parts {
    T *a, *work;
    Parts(Carve& c, int64_t m, int64_t n, int64_t lwork) : a(c.take<T>(m * n)), work(c.take<T>(lwork)) {}
  };
  static LapackNeeds needs(const int64_t* params) {
    int64_t lwork = factor_lwork<T>(params[0], params[1], false);
    Carve carve{nullptr};
    Parts parts(carve, params[0], params[1], lwork);
    return {lwork, carve.used};
  }
  static void run(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    LibraryThreads threads(kShared * params[0] * params[1] * lesser(params[0], params[1]));
    int64_t m = params[0], n = params[1];
    Carve carve{static_cast<char*>(ptrs[3]) + lo / params[4] * params[3]};
    Parts p(carve, m, n, params[2]);
    for (int64_t row = lo; row < hi; ++row) {
      transpose_copy(static_cast<const T*>(ptrs[0]) + row * m * n, p.a, m, n);
      T* taus = static_cast<T*>(ptrs[2]) + row * lesser(m, n);
      factor<T>(p.a, m, n, nullptr, taus, p.work, nullptr, static_cast<int>(params[2]));
      transpose_copy(p.a, static_cast<T*>(ptrs[1]) + row * m * n, n, m);
    }
  }
};

// householder_product: ptrs [a, taus, out, work], params [m, n, k, lwork, bytes, rows_per_piece]; m >= n >= k, m > 0
template <class T>
struct HouseholderProduct {
  struct Parts {
    T *q, *tau, *work;
    Parts(Carve& c, const int64_t* params, int64_t lwork)
        : q(c.take<T>(params[0] * params[1])), tau(c.take<T>(params[2])), work(c.take<T>(lwork)) {}
  };
  static LapackNeeds needs(const int64_t* params) {
    int64_t lwork = make_q_lwork<T>(params[0], params[1], params[2]);
    Carve carve{nullptr};
    Parts parts(carve, params, lwork);
    return {lwork, carve.used};
  }
  static void run(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    LibraryThreads threads(kShared * params[0] * params[1] * lesser(params[0], params[1]));
    int64_t m = params[0], n = params[1], k = params[2];
    Carve carve{static_cast<char*>(ptrs[3]) + lo / params[5] * params[4]};
    Parts p(carve, params, params[3]);
    for (int64_t row = lo; row < hi; ++row) {
      transpose_copy(static_cast<const T*>(ptrs[0]) + row * m * n, p.q, m, n);
      memcpy(p.tau, static_cast<const T*>(ptrs[1]) + row * k, static_cast<size_t>(k) * sizeof(T));
      make_q(p.q, m, n, k, p.tau, p.work, static_cast<int>(params[3]));
      transpose_copy(p.q, static_cast<T*>(ptrs[2]) + row * m * n, n, m);
    }
  }
};

// ---- singular values

// svd: ptrs [a, s, u, vt, work], params [m, n, job, qr, lwork, bytes, rows_per_piece]; m, n > 0
// job: 0 values only (u and vt are not written), 1 min(m, n) vectors, 2 all vectors; qr: gesvd instead of gesdd.
template <class T>
struct SVD {
  struct Parts {
    T *a, *u, *vt, *work;
    Real<T>* rwork;
    int32_t* iwork;
    Parts(Carve& c, const int64_t* params, int64_t lwork)
        : a(c.take<T>(params[0] * params[1])), u(c.take<T>(params[0] * wide(params, 0))),
          vt(c.take<T>(wide(params, 1) * params[1])), work(c.take<T>(lwork)), rwork(c.take<Real<T>>(reals(params))),
          iwork(c.take<int32_t>(8 * lesser(params[0], params[1]))) {}
  };
  // Columns of u (axis 0), rows of vt (axis 1).
  static int64_t wide(const int64_t* params, int axis) {
    return params[2] == 0 ? 0 : params[2] == 1 ? lesser(params[0], params[1]) : params[axis];
  }
  static int64_t reals(const int64_t* params) {
    if (!kIsComplex<T>) return 0;
    int64_t k = lesser(params[0], params[1]), most = params[0] + params[1] - k;
    if (params[3]) return 5 * k;
    if (params[2] == 0) return 7 * k;
    int64_t one = 5 * k * k + 5 * k, other = 2 * most * k + 2 * k * k + k;
    return one > other ? one : other;
  }
  static int call(const int64_t* params, const Parts& p, Real<T>* s, int lwork) {
    char job = "NSA"[params[2]], same = job;
    int m = static_cast<int>(params[0]), n = static_cast<int>(params[1]), info = 0;
    int ldvt = static_cast<int>(wide(params, 1));
    if (ldvt < 1) ldvt = 1;
    if (params[3]) {
      if constexpr (kIsComplex<T>)
        fortran<T>(kGesvd, &job, &same, &m, &n, p.a, &m, s, p.u, &m, p.vt, &ldvt, p.work, &lwork, p.rwork, &info);
      else
        fortran<T>(kGesvd, &job, &same, &m, &n, p.a, &m, s, p.u, &m, p.vt, &ldvt, p.work, &lwork, &info);
    } else if constexpr (kIsComplex<T>) {
      fortran<T>(kGesdd, &job, &m, &n, p.a, &m, s, p.u, &m, p.vt, &ldvt, p.work, &lwork, p.rwork, p.iwork, &info);
    } else {
      fortran<T>(kGesdd, &job, &m, &n, p.a, &m, s, p.u, &m, p.vt, &ldvt, p.work, &lwork, p.iwork, &info);
    }
    return info;
  }
  static LapackNeeds needs(const int64_t* params) {
    T work = number<T>(0), a, u, vt;
    Real<T> rwork, s;
    int32_t iwork;
    const int64_t nothing[4] = {0, 0, 0, 0};
    Carve none{nullptr};
    Parts p(none, nothing, 0);
    p.a = &a, p.u = &u, p.vt = &vt, p.work = &work, p.rwork = &rwork, p.iwork = &iwork;
    call(params, p, &s, -1);
    int64_t k = lesser(params[0], params[1]), most = params[0] + params[1] - k;
    int64_t lwork = queried(work, params[2] == 0 && params[3] ? 5 * k + most : 3 * k + most);
    Carve carve{nullptr};
    Parts parts(carve, params, lwork);
    return {lwork, carve.used};
  }
  static void run(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    LibraryThreads threads(kShared * params[0] * params[1] * lesser(params[0], params[1]));
    int64_t m = params[0], n = params[1], k = lesser(m, n), left = wide(params, 0), right = wide(params, 1);
    Carve carve{static_cast<char*>(ptrs[4]) + lo / params[6] * params[5]};
    Parts p(carve, params, params[4]);
    for (int64_t row = lo; row < hi; ++row) {
      const T* a = static_cast<const T*>(ptrs[0]) + row * m * n;
      Real<T>* s = static_cast<Real<T>*>(ptrs[1]) + row * k;
      T* u = static_cast<T*>(ptrs[2]) + row * m * left;
      T* vt = static_cast<T*>(ptrs[3]) + row * right * n;
      transpose_copy(a, p.a, m, n);
      if (all_finite(a, m * n) && call(params, p, s, static_cast<int>(params[4])) == 0) {
        transpose_copy(p.u, u, left, m);
        transpose_copy(p.vt, vt, n, right);
        continue;
      }
      fill(s, k, nan_of<Real<T>>());
      fill(u, m * left, nan_of<T>());
      fill(vt, right * n, nan_of<T>());
    }
  }
};

}  // namespace

void add_lapack_factorings() {
  add_lapack_family<Eigh>("eigh", LapackTypes{});
  add_lapack_family<Eig>("eig", LapackTypes{});
  add_lapack_family<QR>("qr", LapackTypes{});
  add_lapack_family<Geqrf>("geqrf", LapackTypes{});
  add_lapack_family<HouseholderProduct>("householder_product", LapackTypes{});
  add_lapack_family<SVD>("svd", LapackTypes{});
}

}  // namespace jitney
