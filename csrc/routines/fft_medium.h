// Fourier transforms of medium length, each in the lanes of vectors: rows and columns of a matrix (Bailey's four steps,
// 1990, without leaving the second cache).
//
// In: rows of n = n1 n2 complex numbers, both factors at least kLeastFactor, or of 2 n real ones. Out: their transforms.
// Included by fft_kernels.h. Element k n2 + c of a row is element (k, c) of the matrix: columns are transformed along k,
// turned by exp(-+2 pi i k c / n), and rows along c; element j of row k is number j n1 + k of the result. The first half
// has neighbouring columns in its lanes, the second neighbouring rows; squares of lanes are turned between them. Where
// the last group of lanes would reach beyond the matrix it lies over the one before: both find the same numbers.
// Many rows are done side by side, one in each lane, where vectors have 32 bytes: the same operations on the same
// numbers, and no squares but those of memory (of 2048 complex64 .88 of the time, of 2048 complex128 .75).
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

  // Numbers of vectors that `run` and `run_beside` need to work with.
  size_t size() const { return static_cast<size_t>(n1_ + groups(n1_) * n2_); }
  size_t size_beside() const { return static_cast<size_t>(n1_ + n_); }

  // As many rows as there are lanes, `from` and `to` numbers from one another.
  template <bool kForward>
  void run_beside(const C* in, int64_t from, C* out, int64_t to, T scale, cmplx<V>* work) const {
    cmplx<V>* all = work + n1_;
    read_rows<T>(in, from, kWide, n_, all);
    for (int64_t c = 0; c < n2_; ++c) {
      for (int64_t k = 0; k < n1_; ++k) work[k] = all[k * n2_ + c];
      columns_.exec(work, T(1), kForward);
      for (int64_t k = 0; k < n1_; ++k) all[k * n2_ + c] = turned<kForward>(work[k], turn_in_all(k, c));
    }
    for (int64_t k = 0; k < n1_; ++k) rows_.exec(all + k * n2_, scale, kForward);
    int64_t k = -1, j = 0;
    write_rows_of<T>(
        [&](int64_t) -> const cmplx<V>& {
          if (++k == n1_) k = 0, ++j;
          return all[k * n2_ + j];
        },
        out, to, kWide, n_);
  }

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
  // The factor of element k of a column, in all lanes; a sum with 0 would change the sign of zeros.
  cmplx<V> turn_in_all(int64_t k, int64_t column) const {
    int64_t g = column / kWide, lane_of = column - place(g, n2_);
    const cmplx<V>& turns = turns_[static_cast<size_t>(g * n1_ + k)];
    return {lane(turns.r, lane_of) - V{}, lane(turns.i, lane_of) - V{}};
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
  static constexpr int64_t kWide = kLanes<T>;
  static constexpr int64_t kMostBeside = 4096;  // numbers of rows that are side by side in the second cache

  // What the rows of a piece are worked with.
  struct Work {
    PlanLease<Medium<T>> plan;
    bool beside;
    pocket::arr<cmplx<Lanes<T>>> vectors;

    Work(int64_t n, int64_t rows)
        : plan(n), beside(kWide * static_cast<int64_t>(sizeof(T)) == 32 && n <= kMostBeside && rows >= kWide),
          vectors(beside && (*plan).size_beside() > (*plan).size() ? (*plan).size_beside() : (*plan).size()) {}

    // Up to `left` rows, `from` and `to` numbers from one another; how many.
    template <bool kForward>
    int64_t some(const C* in, int64_t from, C* out, int64_t to, int64_t left, T scale) {
      if (beside && left >= kWide) {
        (*plan).template run_beside<kForward>(in, from, out, to, scale, vectors.data());
        return kWide;
      }
      (*plan).template run<kForward>(in, out, scale, vectors.data());
      return 1;
    }
  };

  // fft_medium: ptrs [in, out], params [n, forward]; rows of n complex numbers
  static void complex(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    int64_t n = params[0];
    const C* in = static_cast<const C*>(ptrs[0]);
    C* out = static_cast<C*>(ptrs[1]);
    or_nan(&out[lo * n].r, 2 * (hi - lo) * n, [&] {
      Work work(n, hi - lo);
      for (int64_t row = lo; row < hi;) {
        const C* from = in + row * n;
        C* to = out + row * n;
        if (params[1]) row += work.template some<true>(from, n, to, n, hi - row, T(1));
        else row += work.template some<false>(from, n, to, n, hi - row, T(1) / static_cast<T>(n));
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
      Work work(h, hi - lo);
      PlanLease<Pairs<T>> pairs(h);
      for (int64_t row = lo, end = lo; row < hi; ++row) {
        C* result = out + row * width;
        if (row == end) end += work.template some<true>(in + row * h, h, result, width, hi - row, T(1));
        (*pairs).join(result);
        if (width > h + 1) LongPairs<T>::mirror(result, h, 0, h / 2 + 1);
      }
    });
  }

  // irfft_medium: ptrs [in, out], params [h]; rows of h + 1 complex numbers, rows of 2 h real ones
  static void inverse(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    int64_t h = params[0];
    const C* in = static_cast<const C*>(ptrs[0]);
    C* out = static_cast<C*>(ptrs[1]);
    or_nan(&out[lo * h].r, 2 * (hi - lo) * h, [&] {
      Work work(h, hi - lo);
      PlanLease<Pairs<T>> pairs(h);
      pocket::arr<C> waves(static_cast<size_t>(h * (work.beside ? kWide : 1)));
      for (int64_t row = lo; row < hi;) {
        int64_t left = hi - row, count = work.beside && left >= kWide ? kWide : 1;
        for (int64_t i = 0; i < count; ++i) (*pairs).split(in + (row + i) * (h + 1), waves.data() + i * h);
        row += work.template some<false>(waves.data(), h, out + row * h, h, left, T(1) / static_cast<T>(h));
      }
    });
  }
};

}  // namespace

}  // namespace jitney
