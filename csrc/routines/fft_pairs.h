// Real transforms by complex ones: 2 h real numbers are h pairs, taken as complex numbers.
//
// In: the transform of the pairs (`join`), or that of the real numbers (`split`). Out: the other one. With E and O the
// transforms of the numbers at even and odd places, element k of the pairs' is E + i O, and element k of the real
// numbers' is E + exp(-pi i k / h) O; elements k and h - k give both (Press et al., Numerical Recipes, 12.3).
// Included by fft_kernels.h. Lanes and what is left over between the two ends are computed alike.
#pragma once

namespace jitney {

namespace {

#if defined(POCKETFFT_NO_VECTORS)
template <class T>
inline Lanes<T> reversed(const Lanes<T>& v) { return v; }
#else
template <class T, int... k>
inline Lanes<T> reversed_by(const Lanes<T>& v, std::integer_sequence<int, k...>) {
  return shuffled<T>(v, v, std::integer_sequence<int, (static_cast<int>(kLanes<T>) - 1 - k)...>{});
}
template <class T>
inline Lanes<T> reversed(const Lanes<T>& v) {
  return reversed_by<T>(v, std::make_integer_sequence<int, static_cast<int>(kLanes<T>)>{});
}
#endif

template <class T>
class Pairs {
  using C = cmplx<T>;
  using V = Lanes<T>;
  static constexpr int64_t kWide = kLanes<T>;

 public:
  explicit Pairs(size_t h) : h_(static_cast<int64_t>(h)), turns_(h / 2 + 1) {
    pocket::sincos_2pibyn<T> table(2 * h);
    for (size_t k = 0; k <= h / 2; ++k) turns_[k] = pocket::conj(C(table[k]));
  }

  // `row` has the transform of the pairs, and becomes the first h + 1 elements of the other.
  void join(C* row) const {
    C zero = row[0];
    row[0].Set(zero.r + zero.i, 0);
    row[h_].Set(zero.r - zero.i, 0);
    each(row, row, [](auto a, auto b, auto turn, auto half) {
      auto even = (a + b) * half, odd = times(decltype(a){a.i - b.i, b.r - a.r} * half, turn);
      return std::pair(even + odd, decltype(a){even.r - odd.r, odd.i - even.i});
    });
  }
  // The imaginary parts of the first and the last element are not read.
  void split(const C* row, C* pairs) const {
    pairs[0].Set(T(0.5) * (row[0].r + row[h_].r), T(0.5) * (row[0].r - row[h_].r));
    each(row, pairs, [](auto a, auto b, auto turn, auto half) {
      auto even = (a + b) * half, odd = times((a - b) * half, decltype(a){turn.r, -turn.i});
      return std::pair(decltype(a){even.r - odd.i, even.i + odd.r}, decltype(a){even.r + odd.i, odd.r - even.i});
    });
  }

 private:
  template <class N>
  static cmplx<N> times(const cmplx<N>& a, const cmplx<N>& b) {
    return {a.r * b.r - a.i * b.i, a.r * b.i + a.i * b.r};
  }

  // Elements k and h - k of the result out of element k and the conjugate of element h - k, for 0 < k <= h / 2.
  template <class F>
  void each(const C* in, C* out, F f) const {
    int64_t k = 1;
    for (; 2 * (k + kWide - 1) < h_; k += kWide) {
      const T* end = &in[h_ - k - kWide + 1].r;
      cmplx<V> a = separated<T>(&in[k].r), b = separated<T>(end);
      auto [low, high] = f(a, cmplx<V>{reversed<T>(b.r), -reversed<T>(b.i)}, separated<T>(&turns_[k].r), V{} + T(0.5));
      joined<T>(low, &out[k].r);
      joined<T>({reversed<T>(high.r), reversed<T>(high.i)}, &out[h_ - k - kWide + 1].r);
    }
    for (; 2 * k <= h_; ++k) {
      auto [low, high] = f(in[k], pocket::conj(in[h_ - k]), turns_[k], T(0.5));
      out[k] = low;
      out[h_ - k] = high;
    }
  }

  int64_t h_;
  pocket::arr<C> turns_;  // exp(-pi i k / h) for k <= h / 2
};

// The same for long rows, in pieces of kJoin elements of the first half with their mirror images. The factors of a row
// would not fit into the caches, and are products of two out of short lists.
template <class T>
struct LongPairs {
  using C = cmplx<T>;
  static constexpr int64_t kJoin = 4096, kFine = 64;

  // rfft_join: ptrs [out] (in place), params [h, row]; rows of `row` complex numbers, of which the first h are the
  // transform of h pairs of real numbers taken as complex ones, become the transform of the 2 h real numbers: its first
  // h + 1 elements, or all if row is 2 h.
  static void join(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    int64_t h = params[0], width = params[1];
    each_piece(h, lo, hi, [&](int64_t number, int64_t first, int64_t end) {
      C* row = static_cast<C*>(ptrs[0]) + number * width;
      or_nan(&row[first].r, 2 * (end - first), [&] {
        if (first == 0) {
          C zero = row[0];
          row[0].Set(zero.r + zero.i, 0);
          row[h].Set(zero.r - zero.i, 0);
        }
        each(h, first, end, true, [&](int64_t k, C turn) {
          C a = row[k], b = pocket::conj(row[h - k]), even = (a + b) * T(0.5), odd = (a - b) * T(0.5);
          odd = C(odd.i, -odd.r) * turn;
          row[k] = even + odd;
          row[h - k].Set(even.r - odd.r, odd.i - even.i);
        });
        if (width > h + 1) mirror(row, h, first, end);
      });
    });
  }

  // irfft_split: ptrs [in, out], params [h]; rows of h + 1 complex numbers, the transform of 2 h real ones, become rows
  // of h, that of the pairs. The imaginary parts of the first and the last are not read.
  static void split(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    int64_t h = params[0];
    each_piece(h, lo, hi, [&](int64_t number, int64_t first, int64_t end) {
      const C* row = static_cast<const C*>(ptrs[0]) + number * (h + 1);
      C* out = static_cast<C*>(ptrs[1]) + number * h;
      or_nan(&out[first].r, 2 * (end - first), [&] {
        if (first == 0) out[0].Set(T(0.5) * (row[0].r + row[h].r), T(0.5) * (row[0].r - row[h].r));
        each(h, first, end, false, [&](int64_t k, C turn) {
          C a = row[k], b = pocket::conj(row[h - k]), even = (a + b) * T(0.5), odd = (a - b) * T(0.5) * turn;
          out[k].Set(even.r - odd.i, even.i + odd.r);
          out[h - k].Set(even.r + odd.i, odd.r - even.i);
        });
      });
    });
  }

  // The other half of the transform of 2 h real numbers: conjugates.
  static void mirror(C* row, int64_t h, int64_t first, int64_t end) {
    for (int64_t k = first > 0 ? first : 1; k < end; ++k) {
      row[2 * h - k] = pocket::conj(row[k]);
      row[h + k] = pocket::conj(row[h - k]);
    }
  }

 private:
  template <class F>
  static void each_piece(int64_t h, int64_t lo, int64_t hi, F f) {
    int64_t blocks = (h / 2 + kJoin) / kJoin;
    for (int64_t piece = lo; piece < hi; ++piece) {
      int64_t first = piece % blocks * kJoin, end = first + kJoin < h / 2 + 1 ? first + kJoin : h / 2 + 1;
      f(piece / blocks, first, end);
    }
  }

  // f(k, exp(-+pi i k / h)) for the places of a piece but the first of all
  template <class F>
  static void each(int64_t h, int64_t first, int64_t end, bool forward, F f) {
    PlanLease<Turns<T>> turns(2 * h);
    C fine[kFine], coarse{};
    for (int64_t i = 0; i < kFine && (*turns).has(i); ++i) fine[i] = (*turns).of(i, forward);
    for (int64_t k = first; k < end; ++k) {
      int64_t i = (k - first) % kFine;
      if (i == 0) coarse = (*turns).of(k, forward);
      if (k > 0) f(k, coarse * fine[i]);
    }
  }
};

}  // namespace

}  // namespace jitney
