// Fourier transforms of medium length, each in the lanes of vectors: rows and columns of a matrix (Bailey's four steps,
// 1990, without leaving the second cache).
//
// In: rows of n = n1 n2 complex numbers, both factors at least kLeastFactor, or of 2 n real ones. Out: their transforms.
// Included by fft_kernels.h. Element k n2 + c of a row is element (k, c) of the matrix: columns are transformed along k,
// turned by exp(-+2 pi i k c / n), and rows along c; element j of row k is number j n1 + k of the result. The first half
// has neighbouring columns in its lanes, the second neighbouring rows; squares of lanes are turned between them. Where
// the last group of lanes would reach beyond the matrix it lies over the one before: both find the same numbers.
#pragma once

namespace jitney {

namespace {

constexpr int64_t kLeastFactor = 16;  // no fewer than there are lanes
static_assert(kLanes<float> <= kLeastFactor);

template <class T>
class Medium {
  using C = cmplx<T>;
  using V = Lanes<T>;
  static constexpr int64_t kWide = kLanes<T>;

 public:
  explicit Medium(size_t n)
      : n_(static_cast<int64_t>(n)), n1_(first_factor(n_)), n2_(n_ / n1_), columns_(static_cast<size_t>(n1_)),
        rows_(static_cast<size_t>(n2_)), turns_(static_cast<size_t>(groups(n2_) * n1_)) {
    pocket::sincos_2pibyn<T> table(n);
    for (int64_t g = 0; g < groups(n2_); ++g)
      for (int64_t k = 0; k < n1_; ++k) turns_[static_cast<size_t>(g * n1_ + k)] = turns(table, k, place(g, n2_));
  }

  // Numbers of vectors that `run` needs to work with.
  size_t size() const { return static_cast<size_t>(n1_ + groups(n1_) * n2_); }

  // One row; `out` may be `in`.
  template <bool kForward>
  void run(const C* in, C* out, T scale, cmplx<V>* work) const {
    cmplx<V>* middle = work + n1_;
    for (int64_t g = 0; g < groups(n2_); ++g) {
      int64_t c = place(g, n2_);
      for (int64_t k = 0; k < n1_; ++k) work[k] = separated<T>(&in[k * n2_ + c].r);
      columns_.exec(work, T(1), kForward);
      const cmplx<V>* turns = &turns_[static_cast<size_t>(g * n1_)];
      for (int64_t k = 0; k < n1_; ++k) work[k] = turned<kForward>(work[k], turns[k]);
      for (int64_t h = 0; h < groups(n1_); ++h) turn_square(work + place(h, n1_), middle + h * n2_ + c);
    }
    for (int64_t h = 0; h < groups(n1_); ++h) {
      cmplx<V>* row = middle + h * n2_;
      rows_.exec(row, scale, kForward);
      for (int64_t j = 0; j < n2_; ++j) joined<T>(row[j], &out[j * n1_ + place(h, n1_)].r);
    }
  }

 private:
  // That of the factors that fill the widest vectors best, nearest the root (as in fuse/fft.py, which sees to it that
  // there is one): it is the same for all widths, and so are the results.
  static int64_t first_factor(int64_t n) {
    int64_t found = 1, least = INT64_MAX;
    for (int64_t d = kLeastFactor; d * d <= n; ++d) {
      if (n % d != 0) continue;
      int64_t lanes = filled(d) * (n / d) + filled(n / d) * d;
      if (lanes <= least) found = d, least = lanes;
    }
    return found;
  }
  static int64_t filled(int64_t n) { return (n + kLeastFactor - 1) / kLeastFactor * kLeastFactor; }
  static int64_t groups(int64_t n) { return (n + kWide - 1) / kWide; }
  static int64_t place(int64_t group, int64_t n) { return group * kWide < n - kWide ? group * kWide : n - kWide; }

  static cmplx<V> turns(const pocket::sincos_2pibyn<T>& table, int64_t k, int64_t column) {
    T parts[2 * kWide];
    for (int64_t c = 0; c < kWide; ++c) {
      C one = table[static_cast<size_t>(k * (column + c))];
      parts[2 * c] = one.r;
      parts[2 * c + 1] = one.i;
    }
    return separated<T>(parts);
  }
  template <bool kForward>
  static cmplx<V> turned(const cmplx<V>& a, const cmplx<V>& b) {  // by the conjugate on the way forward
    if (kForward) return {a.r * b.r + a.i * b.i, a.i * b.r - a.r * b.i};
    return {a.r * b.r - a.i * b.i, a.i * b.r + a.r * b.i};
  }
  static void turn_square(const cmplx<V>* from, cmplx<V>* to) {
    V re[kWide], im[kWide];
    for (int64_t i = 0; i < kWide; ++i) re[i] = from[i].r, im[i] = from[i].i;
    transpose_square<T>(re);
    transpose_square<T>(im);
    for (int64_t i = 0; i < kWide; ++i) to[i].Set(re[i], im[i]);
  }

  int64_t n_, n1_, n2_;
  pocket::pocketfft_c<T> columns_, rows_;
  pocket::arr<cmplx<V>> turns_;  // of the groups of columns, along k
};

template <class T>
struct MediumRows {
  using C = cmplx<T>;
  using Work = pocket::arr<cmplx<Lanes<T>>>;

  // fft_medium: ptrs [in, out], params [n, forward]; rows of n complex numbers
  static void complex(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    int64_t n = params[0];
    const C* in = static_cast<const C*>(ptrs[0]);
    C* out = static_cast<C*>(ptrs[1]);
    or_nan(&out[lo * n].r, 2 * (hi - lo) * n, [&] {
      PlanLease<Medium<T>> plan(n);
      Work work((*plan).size());
      for (int64_t row = lo; row < hi; ++row) {
        if (params[1]) (*plan).template run<true>(in + row * n, out + row * n, T(1), work.data());
        else (*plan).template run<false>(in + row * n, out + row * n, T(1) / static_cast<T>(n), work.data());
      }
    });
  }

  // rfft_medium: ptrs [in, out], params [h, row]; rows of 2 h real numbers, rows of `row` complex ones, of which there
  // are h + 1, or all 2 h
  static void real(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    int64_t h = params[0], width = params[1];
    const C* in = static_cast<const C*>(ptrs[0]);
    C* out = static_cast<C*>(ptrs[1]);
    or_nan(&out[lo * width].r, 2 * (hi - lo) * width, [&] {
      PlanLease<Medium<T>> plan(h);
      PlanLease<Pairs<T>> pairs(h);
      Work work((*plan).size());
      for (int64_t row = lo; row < hi; ++row) {
        (*plan).template run<true>(in + row * h, out + row * width, T(1), work.data());
        (*pairs).join(out + row * width);
        if (width > h + 1) LongPairs<T>::mirror(out + row * width, h, 0, h / 2 + 1);
      }
    });
  }

  // irfft_medium: ptrs [in, out], params [h]; rows of h + 1 complex numbers, rows of 2 h real ones
  static void inverse(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    int64_t h = params[0];
    const C* in = static_cast<const C*>(ptrs[0]);
    C* out = static_cast<C*>(ptrs[1]);
    or_nan(&out[lo * h].r, 2 * (hi - lo) * h, [&] {
      PlanLease<Medium<T>> plan(h);
      PlanLease<Pairs<T>> pairs(h);
      Work work((*plan).size());
      pocket::arr<C> waves(static_cast<size_t>(h));
      for (int64_t row = lo; row < hi; ++row) {
        (*pairs).split(in + row * (h + 1), waves.data());
        (*plan).template run<false>(waves.data(), out + row * h, T(1) / static_cast<T>(h), work.data());
      }
    });
  }
};

}  // namespace

}  // namespace jitney
