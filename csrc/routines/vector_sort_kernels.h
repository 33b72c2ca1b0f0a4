// Sorting and selection in AVX-512 registers. Included inside namespace avx512 (see vector_target.h).
//
// In:  elements as signed integers of 32 or 64 bits that order like the values (keys). Out: the same, sorted, or
// divided at a rank. Ranges are divided by a sampled pivot from one buffer into another, compressed vector by vector;
// what fits in sixteen registers is sorted by a bitonic network (Batcher 1968) and merges of its halves.
// Invariant: the result is the sorted sequence, however the pivots were drawn.

struct Lanes32 {
  using S = int32_t;
  using Mask = __mmask16;
  static constexpr int kLanes = 16;
  static inline __m512i splat(S x) { return _mm512_set1_epi32(x); }
  static inline __m512i load(const S* p) { return _mm512_loadu_si512(p); }
  static inline void store(S* p, __m512i v) { _mm512_storeu_si512(p, v); }
  static inline __m512i load(__m512i rest, Mask m, const S* p) { return _mm512_mask_loadu_epi32(rest, m, p); }
  static inline void store(S* p, Mask m, __m512i v) { _mm512_mask_storeu_epi32(p, m, v); }
  static inline __m512i compress(Mask m, __m512i v) { return _mm512_maskz_compress_epi32(m, v); }
  static inline Mask below(__m512i a, __m512i b) { return _mm512_cmplt_epi32_mask(a, b); }
  static inline Mask up_to(__m512i a, __m512i b) { return _mm512_cmple_epi32_mask(a, b); }
  static inline __m512i least(__m512i a, __m512i b) { return _mm512_min_epi32(a, b); }
  static inline __m512i most(__m512i a, __m512i b) { return _mm512_max_epi32(a, b); }
  static inline __m512i most(__m512i rest, Mask m, __m512i a, __m512i b) { return _mm512_mask_max_epi32(rest, m, a, b); }
  template <int kFlip>
  static inline __m512i flip(__m512i v) {  // lane i gets lane i ^ kFlip
    if constexpr (kFlip == 1) return _mm512_shuffle_epi32(v, _MM_PERM_CDAB);
    if constexpr (kFlip == 2) return _mm512_shuffle_epi32(v, _MM_PERM_BADC);
    if constexpr (kFlip == 3) return _mm512_shuffle_epi32(v, _MM_PERM_ABCD);
    if constexpr (kFlip == 4) return _mm512_shuffle_i64x2(v, v, 0xB1);
    if constexpr (kFlip == 8) return _mm512_shuffle_i64x2(v, v, 0x4E);
    const __m512i at = _mm512_xor_si512(
        _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0), _mm512_set1_epi32(kFlip));
    return _mm512_permutexvar_epi32(at, v);
  }
  template <class T>
  static inline __m512i key(__m512i x) {
    if constexpr (IsFloat<T>::value)
      return _mm512_xor_si512(x, _mm512_srli_epi32(_mm512_srai_epi32(x, 31), 1));
    else if constexpr (std::is_signed<T>::value) return x;
    else return _mm512_xor_si512(x, splat(INT32_MIN));
  }
};

struct Lanes64 {
  using S = int64_t;
  using Mask = __mmask8;
  static constexpr int kLanes = 8;
  static inline __m512i splat(S x) { return _mm512_set1_epi64(x); }
  static inline __m512i load(const S* p) { return _mm512_loadu_si512(p); }
  static inline void store(S* p, __m512i v) { _mm512_storeu_si512(p, v); }
  static inline __m512i load(__m512i rest, Mask m, const S* p) { return _mm512_mask_loadu_epi64(rest, m, p); }
  static inline void store(S* p, Mask m, __m512i v) { _mm512_mask_storeu_epi64(p, m, v); }
  static inline __m512i compress(Mask m, __m512i v) { return _mm512_maskz_compress_epi64(m, v); }
  static inline Mask below(__m512i a, __m512i b) { return _mm512_cmplt_epi64_mask(a, b); }
  static inline Mask up_to(__m512i a, __m512i b) { return _mm512_cmple_epi64_mask(a, b); }
  static inline __m512i least(__m512i a, __m512i b) { return _mm512_min_epi64(a, b); }
  static inline __m512i most(__m512i a, __m512i b) { return _mm512_max_epi64(a, b); }
  static inline __m512i most(__m512i rest, Mask m, __m512i a, __m512i b) { return _mm512_mask_max_epi64(rest, m, a, b); }
  template <int kFlip>
  static inline __m512i flip(__m512i v) {
    if constexpr (kFlip == 1) return _mm512_shuffle_epi32(v, _MM_PERM_BADC);
    if constexpr (kFlip == 2) return _mm512_shuffle_i64x2(v, v, 0xB1);
    if constexpr (kFlip == 3) return _mm512_permutex_epi64(v, 0x1B);
    if constexpr (kFlip == 4) return _mm512_shuffle_i64x2(v, v, 0x4E);
    const __m512i at = _mm512_xor_si512(_mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0), _mm512_set1_epi64(kFlip));
    return _mm512_permutexvar_epi64(at, v);
  }
  template <class T>
  static inline __m512i key(__m512i x) {
    if constexpr (IsFloat<T>::value)
      return _mm512_xor_si512(x, _mm512_srli_epi64(_mm512_srai_epi64(x, 63), 1));
    else if constexpr (std::is_signed<T>::value) return x;
    else return _mm512_xor_si512(x, splat(INT64_MIN));
  }
};

template <int kBytes>
struct LanesOf { using type = Lanes32; };
template <>
struct LanesOf<8> { using type = Lanes64; };

template <class L>
struct VectorSort {
  using S = typename L::S;
  using Mask = typename L::Mask;
  static constexpr int kLanes = L::kLanes;
  static constexpr int kRegisters = 16;
  static constexpr int64_t kBlock = kRegisters * kLanes;  // sorted in registers
  static constexpr int kSample = 4 * kLanes;
  static constexpr int64_t kWideSampleFrom = 4096;  // below, drawing a long sample costs more than it saves
  static constexpr S kMost = sizeof(S) == 8 ? static_cast<S>(INT64_MAX) : static_cast<S>(INT32_MAX);

  static inline Mask first_lanes(int64_t count) {
    int64_t lanes = count < 0 ? 0 : count > kLanes ? kLanes : count;  // without branches: counts are random
    return static_cast<Mask>((1u << lanes) - 1);
  }

  // ---- in registers

  // Lanes i and i ^ kFlip in order: the lesser goes to the lower lane.
  template <int kFlip>
  static JITNEY_INLINE inline __m512i exchange(__m512i v) {
    constexpr Mask kUpper = [] {
      unsigned m = 0;
      for (int i = 0; i < kLanes; ++i) m |= (i > (i ^ kFlip) ? 1u : 0u) << i;
      return static_cast<Mask>(m);
    }();
    __m512i other = L::template flip<kFlip>(v);
    return L::most(L::least(v, other), kUpper, v, other);
  }
  template <int kFrom>
  static JITNEY_INLINE inline __m512i merge_lanes(__m512i v) {  // a bitonic sequence of 2 kFrom lanes, sorted
    if constexpr (kFrom > 0) return merge_lanes<kFrom / 2>(exchange<kFrom>(v));
    else return v;
  }
  template <int kSorted>
  static JITNEY_INLINE inline __m512i sort_lanes(__m512i v) {  // from runs of kSorted lanes
    if constexpr (kSorted < kLanes)
      return sort_lanes<2 * kSorted>(merge_lanes<kSorted / 2>(exchange<2 * kSorted - 1>(v)));
    else return v;
  }
  template <int kCount>
  static JITNEY_INLINE inline void merge_registers(__m512i* v) {  // a bitonic sequence
    if constexpr (kCount == 1) {
      v[0] = merge_lanes<kLanes / 2>(v[0]);
    } else {
#pragma GCC unroll 16
      for (int i = 0; i < kCount / 2; ++i) order(v[i], v[i + kCount / 2]);
      merge_registers<kCount / 2>(v);
      merge_registers<kCount / 2>(v + kCount / 2);
    }
  }
  static JITNEY_INLINE inline void order(__m512i& a, __m512i& b) {
    __m512i low = L::least(a, b);
    b = L::most(a, b);
    a = low;
  }
  template <int kCount>
  static JITNEY_INLINE inline void sort_registers(__m512i* v) {
    if constexpr (kCount == 1) {
      v[0] = sort_lanes<1>(v[0]);
    } else {
      constexpr int kHalf = kCount / 2;
      sort_registers<kHalf>(v);
      sort_registers<kHalf>(v + kHalf);
      // one half backwards makes both together bitonic
      __m512i back[kHalf];
#pragma GCC unroll 16
      for (int i = 0; i < kHalf; ++i) back[i] = L::template flip<kLanes - 1>(v[kCount - 1 - i]);
#pragma GCC unroll 16
      for (int i = 0; i < kHalf; ++i) {
        order(v[i], back[i]);
        v[kHalf + i] = back[i];
      }
      merge_registers<kHalf>(v);
      merge_registers<kHalf>(v + kHalf);
    }
  }

  // Up to kBlock elements from one place to another. T: type of the elements in memory (S with turn 0: they are keys already).
  // odd: whether a NaN or -0 was among them.
  template <class T, int kCount>
  static inline void small_of(const S* from, S* to, int64_t n, __m512i turn, bool* odd) {
    __m512i v[kCount];
    Mask any = 0;
#pragma GCC unroll 16
    for (int i = 0; i < kCount; ++i) {
      Mask m = first_lanes(n - i * kLanes);
      __m512i x = L::load(L::splat(0), m, from + i * kLanes);
      if constexpr (IsFloat<T>::value) any = static_cast<Mask>(any | (odd_lanes(x) & m));
      x = _mm512_xor_si512(L::template key<T>(x), turn);
      v[i] = pad_with_most(x, m);
    }
    sort_registers<kCount>(v);
#pragma GCC unroll 16
    for (int i = 0; i < kCount; ++i) {
      Mask m = first_lanes(n - i * kLanes);
      __m512i x = v[i];
      x = L::template key<T>(_mm512_xor_si512(x, turn));
      L::store(to + i * kLanes, m, x);
    }
    if (any) *odd = true;
  }
  static JITNEY_INLINE inline __m512i pad_with_most(__m512i x, Mask m) {  // lanes that are off: the greatest key
    if constexpr (kLanes == 16) return _mm512_mask_mov_epi32(L::splat(kMost), m, x);
    else return _mm512_mask_mov_epi64(L::splat(kMost), m, x);
  }
  // NaN, or -0, among bit patterns of floats.
  static JITNEY_INLINE inline Mask odd_lanes(__m512i x) {
    constexpr S kInfinity = sizeof(S) == 8 ? static_cast<S>(0x7ff0000000000000) : static_cast<S>(0x7f800000);
    constexpr S kSign = -kMost - 1;
    __m512i size = _mm512_andnot_si512(L::splat(kSign), x);
    return static_cast<Mask>(L::below(L::splat(kInfinity), size) |
                             (L::up_to(x, L::splat(kSign))));
  }
  template <class T>
  static void small(const S* from, S* to, int64_t n, __m512i turn, bool* odd) {
    if (n <= kLanes) small_of<T, 1>(from, to, n, turn, odd);
    else if (n <= 2 * kLanes) small_of<T, 2>(from, to, n, turn, odd);
    else if (n <= 4 * kLanes) small_of<T, 4>(from, to, n, turn, odd);
    else if (n <= 8 * kLanes) small_of<T, 8>(from, to, n, turn, odd);
    else small_of<T, 16>(from, to, n, turn, odd);
  }

  // ---- in memory

  // Elements below the pivot (kEqual: or equal to it) to the front of `to`, the others to its end; their number.
  template <bool kEqual>
  static int64_t divide(const S* from, S* to, int64_t n, S pivot) {
    __m512i p = L::splat(pivot);
    int64_t low = 0, high = n, i = 0;
#pragma GCC unroll 4
    for (; i + kLanes <= n; i += kLanes) {
      __m512i v = L::load(from + i);
      Mask m = kEqual ? L::up_to(v, p) : L::below(v, p);
      int count = __builtin_popcount(m);
      L::store(to + low, L::compress(m, v));  // as many places are free as elements are left
      low += count;
      high -= kLanes - count;
      L::store(to + high, static_cast<Mask>((1u << (kLanes - count)) - 1), L::compress(static_cast<Mask>(~m), v));
    }
    if (i < n) {
      Mask here = first_lanes(n - i);
      __m512i v = L::load(p, here, from + i);
      Mask m = static_cast<Mask>(here & (kEqual ? L::up_to(v, p) : L::below(v, p)));
      int count = __builtin_popcount(m), rest = static_cast<int>(n - i) - count;
      L::store(to + low, first_lanes(count), L::compress(m, v));
      low += count;
      L::store(to + high - rest, first_lanes(rest), L::compress(static_cast<Mask>(here & ~m), v));
    }
    return low;
  }

  // A sample in order.
  static void draw(const S* from, int64_t n, S* sample) {
    int64_t step = n / kSample;
    for (int i = 0; i < kSample; ++i) sample[i] = from[i * step + step / 2];
    small<S>(sample, sample, kSample, L::splat(0), nullptr);
  }
  static S pivot_of(const S* from, int64_t n) {
    S sample[kSample];
    if (n >= kWideSampleFrom) {
      draw(from, n, sample);
      return sample[kSample / 2];
    }
    int64_t step = n / kLanes;
    for (int i = 0; i < kLanes; ++i) sample[i] = from[i * step + step / 2];
    L::store(sample, sort_lanes<1>(L::load(sample)));
    return sample[kLanes / 2];
  }

  static void heap_sort(S* x, int64_t n) {
    auto sink = [x](int64_t i, int64_t end) {
      for (;;) {
        int64_t child = 2 * i + 1;
        if (child >= end) return;
        if (child + 1 < end && x[child] < x[child + 1]) ++child;
        if (x[i] >= x[child]) return;
        S t = x[i];
        x[i] = x[child];
        x[child] = t;
        i = child;
      }
    };
    for (int64_t i = n / 2; i-- > 0;) sink(i, n);
    for (int64_t end = n; end-- > 1;) {
      S t = x[0];
      x[0] = x[end];
      x[end] = t;
      sink(0, end);
    }
  }

  // a[0, n) sorted, into b or left in a; both are overwritten. depth: divisions that are left before a heap sort.
  static void sort(S* a, S* b, int64_t n, bool into_b, int depth) {
    if (n <= kBlock) return small<S>(a, into_b ? b : a, n, L::splat(0), nullptr);
    if (depth == 0) {
      heap_sort(a, n);
      if (into_b) memcpy(b, a, static_cast<size_t>(n) * sizeof(S));
      return;
    }
    S pivot = pivot_of(a, n);
    int64_t low = divide<false>(a, b, n, pivot);
    if (low == 0) {  // nothing is below it: all that equal it are in their place
      low = divide<true>(a, b, n, pivot);
      for (int64_t i = 0; !into_b && i < low; ++i) a[i] = pivot;
    } else {
      sort(b, a, low, !into_b, depth - 1);
    }
    sort(b + low, a + low, n - low, !into_b, depth - 1);
  }

  // a[0, n) into out[0, n) such that rank k is in its place, lesser ones before it. a is overwritten; scratch has
  // n places.
  static void select(S* a, S* scratch, S* out, int64_t n, int64_t k) {
    int64_t begin = 0;  // ranks before it, and from `begin + n` on, are in `out`
    for (int depth = 64; n > kBlock && depth > 0; --depth) {
      S sample[kSample];
      draw(a, n, sample);
      // a pivot a little beyond k leaves k in the smaller part
      int64_t at = (k - begin) * kSample / n;
      at = 2 * (k - begin) < n ? at + 3 : at - 3;
      S pivot = sample[at < 0 ? 0 : at >= kSample ? kSample - 1 : at];
      int64_t low = divide<false>(a, scratch, n, pivot);
      bool equal = low == 0;
      if (equal) low = divide<true>(a, scratch, n, pivot);
      bool lower = k < begin + low;
      const S* done = lower ? scratch + low : scratch;
      int64_t start = lower ? low : 0, count = lower ? n - low : low;
      memcpy(out + begin + start, done, static_cast<size_t>(count) * sizeof(S));
      if (lower && equal) {
        memcpy(out + begin, scratch, static_cast<size_t>(low) * sizeof(S));
        return;
      }
      S* rest = lower ? scratch : scratch + low;
      S* other = lower ? a : a + low;
      if (!lower) begin += low;
      n = lower ? low : n - low;
      a = rest;
      scratch = other;
    }
    if (n <= kBlock) small<S>(a, out + begin, n, L::splat(0), nullptr);
    else sort(a, scratch, n, false, 0), memcpy(out + begin, a, static_cast<size_t>(n) * sizeof(S));
  }

  // ---- between elements and keys

  // Keys of a row; whether a NaN or -0 is among its floats.
  template <class T>
  static bool to_keys(const S* in, S* keys, int64_t n, S turn) {
    __m512i t = L::splat(turn);
    Mask any = 0;
    for (int64_t i = 0; i < n; i += kLanes) {
      Mask m = first_lanes(n - i);
      __m512i x = L::load(L::splat(0), m, in + i);
      if constexpr (IsFloat<T>::value) any = static_cast<Mask>(any | (odd_lanes(x) & m));
      L::store(keys + i, m, _mm512_xor_si512(L::template key<T>(x), t));
    }
    return any != 0;
  }
  template <class T>
  static void from_keys(S* keys, int64_t n, S turn) {
    __m512i t = L::splat(turn);
    for (int64_t i = 0; i < n; i += kLanes) {
      Mask m = first_lanes(n - i);
      __m512i x = L::load(L::splat(0), m, keys + i);
      L::store(keys + i, m, L::template key<T>(_mm512_xor_si512(x, t)));
    }
  }

  // A row of elements sorted by total order; whether a NaN or -0 is among its floats. turn: 0, or -1 for descending.
  // Long rows are divided first, and the parts are sorted side by side by `each(count, function, context)`.
  template <class T, class Each>
  static bool sort_row(const S* in, S* out, S* work, int64_t n, S turn, bool divided, Each each) {
    bool odd = false;
    if (n <= kBlock) {
      small<T>(in, out, n, L::splat(turn), &odd);
      return odd;
    }
    odd = to_keys<T>(in, out, n, turn);
    if (divided) sort_parts(out, work, n, each);
    else sort(out, work, n, false, 2 * (64 - __builtin_clzll(static_cast<uint64_t>(n))));
    from_keys<T>(out, n, turn);
    return odd;
  }

  static constexpr int kParts = 8;
  struct Parts {
    S *a, *b;
    int64_t start[kParts + 1];
  };
  template <class Each>
  static void sort_parts(S* a, S* b, int64_t n, Each each) {
    S sample[kSample];
    Parts parts{b, a, {}};  // three divisions: everything has moved to b
    parts.start[0] = 0;
    parts.start[kParts] = n;
    for (int step = kParts; step > 1; step /= 2) {
      S *from = step == kParts || step == kParts / 4 ? a : b, *to = from == a ? b : a;
      for (int i = 0; i < kParts; i += step) {
        int64_t begin = parts.start[i], count = parts.start[i + step] - begin;
        int64_t low = 0;
        if (count > kBlock) {
          draw(from + begin, count, sample);
          low = divide<false>(from + begin, to + begin, count, sample[kSample / 2]);
        } else {
          memcpy(to + begin, from + begin, static_cast<size_t>(count) * sizeof(S));
        }
        parts.start[i + step / 2] = begin + low;
      }
    }
    auto one = [](void* context, int64_t lo, int64_t hi) {
      auto* p = static_cast<Parts*>(context);
      for (int64_t i = lo; i < hi; ++i) {
        int64_t begin = p->start[i], count = p->start[i + 1] - begin;
        if (count > 0)
          sort(p->a + begin, p->b + begin, count, true, 2 * (64 - __builtin_clzll(static_cast<uint64_t>(count))));
      }
    };
    each(kParts, one, &parts);
  }
};
