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
    join_ends(row);
    each(row, row, kJoined);
  }
  // The imaginary parts of the first and the last element are not read.
  void split(const C* row, C* pairs) const {
    split_ends(row, pairs);
    each(row, pairs, kSplit);
  }
  // The same for many transforms, one in each lane; of `split_rows` in place.
  void join_rows(cmplx<V>* rows) const {
    join_ends(rows);
    each_one(rows, rows, 1, kJoined);
  }
  void split_rows(cmplx<V>* rows) const {
    split_ends(rows, rows);
    each_one(rows, rows, 1, kSplit);
  }

 private:
  template <class N>
  static cmplx<N> times(const cmplx<N>& a, const cmplx<N>& b) {
    return {a.r * b.r - a.i * b.i, a.r * b.i + a.i * b.r};
  }

  template <class N>
  void join_ends(cmplx<N>* row) const {
    cmplx<N> zero = row[0];
    row[0].Set(zero.r + zero.i, N{});
    row[h_].Set(zero.r - zero.i, N{});
  }
  template <class N>
  void split_ends(const cmplx<N>* row, cmplx<N>* pairs) const {
    N first = row[0].r, last = row[h_].r;
    pairs[0].Set(T(0.5) * (first + last), T(0.5) * (first - last));
  }

  // Elements k and h - k of the one transform, out of element k and the conjugate of element h - k of the other.
  static constexpr auto kJoined = [](auto a, auto b, auto turn, auto half) {
    auto even = (a + b) * half, odd = times(decltype(a){a.i - b.i, b.r - a.r} * half, turn);
    return std::pair(even + odd, decltype(a){even.r - odd.r, odd.i - even.i});
  };
  static constexpr auto kSplit = [](auto a, auto b, auto turn, auto half) {
    auto even = (a + b) * half, odd = times((a - b) * half, decltype(a){turn.r, -turn.i});
    return std::pair(decltype(a){even.r - odd.i, even.i + odd.r}, decltype(a){even.r + odd.i, odd.r - even.i});
  };

  // For 0 < k <= h / 2.
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
    each_one(in, out, k, f);
  }
  // For first <= k <= h / 2, by one number of type N (or vector of many rows') after the other.
  template <class N, class F>
  void each_one(const cmplx<N>* in, cmplx<N>* out, int64_t first, F f) const {
    for (int64_t k = first; 2 * k <= h_; ++k) {
      const cmplx<N>&low = in[k], &high = in[h_ - k];
      C turn = turns_[k];  // in all lanes; a sum with 0 would change the sign of zeros
      auto [a, b] = f(low, cmplx<N>{high.r, -high.i}, cmplx<N>{turn.r - N{}, turn.i - N{}}, T(0.5) - N{});
      out[k] = a;
      out[h_ - k] = b;
    }
  }

  int64_t h_;
  pocket::arr<C> turns_;  // exp(-pi i k / h) for k <= h / 2
};

// Rows of 2 h real numbers by the transforms of their pairs, many of them side by side, one in each lane.
template <class T>
class PairRows {
  using C = cmplx<T>;
  using V = Lanes<T>;
  using Plan = pocket::pocketfft_c<T>;

 public:
  // rfft_pairs: ptrs [in, out], params [h, row]; rows of `row` complex numbers, of which there are h + 1, or all 2 h
  static void forward(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    int64_t h = params[0], width = params[1];
    const C* in = static_cast<const C*>(ptrs[0]);
    C* out = static_cast<C*>(ptrs[1]);
    or_nan(&out[lo * width].r, 2 * (hi - lo) * width, [&] {
      PlanLease<Plan> plan(h);
      PlanLease<Pairs<T>> pairs(h);
      pocket::arr<cmplx<V>> work(static_cast<size_t>(h + 1));
      each_group(h, lo, hi, [&](int64_t row, int64_t count) {
        const C* from = in + row * h;
        C* to = out + row * width;
        if (count > 1) {
          read_rows<T>(from, h, count, h, work.data());
          (*plan).exec(work.data(), T(1), true);
          (*pairs).join_rows(work.data());
          write_rows<T>(work.data(), to, width, count, h + 1);
        } else {
          for (int64_t k = 0; k < h; ++k) to[k] = from[k];
          (*plan).exec(to, T(1), true);
          (*pairs).join(to);
        }
        for (int64_t i = 0; i < count && width > h + 1; ++i) mirror(to + i * width, h);
      });
    });
  }

  // irfft_pairs: ptrs [in, out], params [h]; rows of h + 1 complex numbers, rows of 2 h real ones
  static void inverse(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    int64_t h = params[0];
    const C* in = static_cast<const C*>(ptrs[0]);
    C* out = static_cast<C*>(ptrs[1]);
    T scale = T(1) / static_cast<T>(h);
    or_nan(&out[lo * h].r, 2 * (hi - lo) * h, [&] {
      PlanLease<Plan> plan(h);
      PlanLease<Pairs<T>> pairs(h);
      pocket::arr<cmplx<V>> work(static_cast<size_t>(h + 1));
      each_group(h, lo, hi, [&](int64_t row, int64_t count) {
        const C* from = in + row * (h + 1);
        C* to = out + row * h;
        if (count > 1) {
          read_rows<T>(from, h + 1, count, h + 1, work.data());
          (*pairs).split_rows(work.data());
          (*plan).exec(work.data(), scale, false);
          write_rows<T>(work.data(), to, h, count, h);
        } else {
          (*pairs).split(from, to);
          (*plan).exec(to, scale, false);
        }
      });
    });
  }

 private:
  // The other half of the transform of 2 h real numbers: conjugates.
  static void mirror(C* row, int64_t h) {
    for (int64_t k = 1; k < h; ++k) row[2 * h - k] = pocket::conj(row[k]);
  }
  // f(first, count) for groups of rows that go through lanes together, or for single rows
  template <class F>
  static void each_group(int64_t h, int64_t lo, int64_t hi, F f) {
    for (int64_t row = lo; row < hi;) {
      int64_t left = hi - row, count = left < kLanes<T> ? left : kLanes<T>;
      if (!by_lanes<T>(count, static_cast<size_t>(h) * sizeof(C))) count = 1;
      f(row, count);
      row += count;
    }
  }
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
