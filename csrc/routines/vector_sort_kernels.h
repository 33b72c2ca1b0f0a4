// Sorting and selection in wide registers. Included inside namespaces avx2 and avx512 (see vector_target.h), after
// sort_lanes_avx2.h or sort_lanes_avx512.h.
//
// In:  elements as signed integers of 32 or 64 bits that order like the values (keys). Out: the same, sorted, or
// divided at a rank. Ranges are divided by a sampled pivot from one buffer into another, vector by vector; what fits
// in the registers is sorted by a bitonic network (Batcher 1968) and merges of its halves.
// Invariant: the result is the sorted sequence, however the pivots were drawn.

template <class L>
struct VectorSort {
  using S = typename L::S;
  using Mask = typename L::Mask;
  using V = typename L::V;
  static constexpr int kLanes = L::kLanes;
  static constexpr int kRegisters = L::kRegisters;
  static constexpr int64_t kBlock = kRegisters * kLanes;  // sorted in registers
  static constexpr int kSample = 4 * kLanes;
  static constexpr int64_t kWideSampleFrom = 4096;  // below, drawing a long sample costs more than it saves
  static constexpr S kMost = sizeof(S) == 8 ? static_cast<S>(INT64_MAX) : static_cast<S>(INT32_MAX);
  static constexpr S kSign = -kMost - 1;

  // ---- in registers

  // Lanes i and i ^ kFlip in order: the lesser goes to the lower lane.
  template <int kFlip>
  static JITNEY_INLINE inline V exchange(V v) {
    constexpr unsigned kUpper = [] {
      unsigned m = 0;
      for (int i = 0; i < kLanes; ++i) m |= (i > (i ^ kFlip) ? 1u : 0u) << i;
      return m;
    }();
    return L::template exchange<kUpper>(v, L::template flip<kFlip>(v));
  }
  template <int kFrom>
  static JITNEY_INLINE inline V merge_lanes(V v) {  // a bitonic sequence of 2 kFrom lanes, sorted
    if constexpr (kFrom > 0) return merge_lanes<kFrom / 2>(exchange<kFrom>(v));
    else return v;
  }
  template <int kSorted>
  static JITNEY_INLINE inline V sort_lanes(V v) {  // from runs of kSorted lanes
    if constexpr (kSorted < kLanes)
      return sort_lanes<2 * kSorted>(merge_lanes<kSorted / 2>(exchange<2 * kSorted - 1>(v)));
    else return v;
  }
  template <int kCount>
  static JITNEY_INLINE inline void merge_registers(V* v) {  // a bitonic sequence
    if constexpr (kCount == 1) {
      v[0] = merge_lanes<kLanes / 2>(v[0]);
    } else {
#pragma GCC unroll 16
      for (int i = 0; i < kCount / 2; ++i) L::order(v[i], v[i + kCount / 2]);
      merge_registers<kCount / 2>(v);
      merge_registers<kCount / 2>(v + kCount / 2);
    }
  }
  template <int kCount>
  static JITNEY_INLINE inline void sort_registers(V* v) {
    if constexpr (kCount == 1) {
      v[0] = sort_lanes<1>(v[0]);
    } else {
      constexpr int kHalf = kCount / 2;
      sort_registers<kHalf>(v);
      sort_registers<kHalf>(v + kHalf);
      // one half backwards makes both together bitonic
      V back[kHalf];
#pragma GCC unroll 16
      for (int i = 0; i < kHalf; ++i) back[i] = L::template flip<kLanes - 1>(v[kCount - 1 - i]);
#pragma GCC unroll 16
      for (int i = 0; i < kHalf; ++i) {
        L::order(v[i], back[i]);
        v[kHalf + i] = back[i];
      }
      merge_registers<kHalf>(v);
      merge_registers<kHalf>(v + kHalf);
    }
  }

  // Up to kBlock elements from one place to another. T: type of the elements in memory (S with turn 0: they are keys
  // already). odd: whether a NaN or -0 was among them.
  template <class T, int kCount>
  static inline void small_of(const S* from, S* to, int64_t n, V turn, bool* odd) {
    V v[kCount];
    Mask any = L::none();
#pragma GCC unroll 16
    for (int i = 0; i < kCount; ++i) {
      Mask m = L::first(n - i * kLanes);
      V x = L::load(L::splat(0), m, from + i * kLanes);
      if constexpr (IsFloat<T>::value) any = L::either(any, L::both(odd_lanes(x), m));
      x = L::flip_bits(L::template key<T>(x), turn);
      v[i] = L::pad(L::splat(kMost), m, x);
    }
    sort_registers<kCount>(v);
#pragma GCC unroll 16
    for (int i = 0; i < kCount; ++i) v[i] = L::template key<T>(L::flip_bits(v[i], turn));
    L::template store_first<kCount>(to, n, v);
    if (L::any(any)) *odd = true;
  }
  // NaN, or -0, among bit patterns of floats.
  static JITNEY_INLINE inline Mask odd_lanes(V x) { return L::either(is_nan(x), L::equal(x, L::splat(kSign))); }
  static JITNEY_INLINE inline Mask is_nan(V x) {
    constexpr S kInfinity = sizeof(S) == 8 ? static_cast<S>(0x7ff0000000000000) : static_cast<S>(0x7f800000);
    return L::below(L::splat(kInfinity), L::without(L::splat(kSign), x));
  }
  template <class T>
  static void small(const S* from, S* to, int64_t n, V turn, bool* odd) {
    if (n <= kLanes) small_of<T, 1>(from, to, n, turn, odd);
    else if (n <= 2 * kLanes) small_of<T, 2>(from, to, n, turn, odd);
    else if (n <= 4 * kLanes) small_of<T, 4>(from, to, n, turn, odd);
    else if (kRegisters == 8 || n <= 8 * kLanes) small_of<T, 8>(from, to, n, turn, odd);
    else small_of<T, kRegisters>(from, to, n, turn, odd);
  }

  // ---- in memory

  // Elements below the pivot (kEqual: or equal to it) to the front of `to`, the others to its end; their number.
  template <bool kEqual>
  static int64_t divide(const S* from, S* to, int64_t n, S pivot) {
    V p = L::splat(pivot);
    int64_t low = 0, i = 0;  // the others begin at n - (i - low): as many places are free as elements are left
#pragma GCC unroll 4
    for (; i + L::kRoom <= n; i += kLanes)
      low += L::template split<kEqual>(L::load(from + i), p, to + low, to + (n - i + low));
    if (i < n) low += L::template split_rest<kEqual>(from + i, n - i, pivot, to + low, to + (n - i + low));
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

  static int most_depth(int64_t n) { return 2 * (64 - __builtin_clzll(static_cast<uint64_t>(n) | 1)); }
  static void sort_keys(S* keys, S* scratch, int64_t n) { sort(keys, scratch, n, false, most_depth(n)); }

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

  // Keys of a row; whether a NaN or -0 is among its floats. kRanks: NaNs have the greatest key, whatever their sign.
  template <class T, bool kRanks = false>
  static bool to_keys(const S* in, S* keys, int64_t n, S turn) {
    V t = L::splat(turn);
    Mask any = L::none();
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      V x = L::load(in + i);
      if constexpr (IsFloat<T>::value && !kRanks) any = L::either(any, odd_lanes(x));
      L::store(keys + i, L::flip_bits(key_of<T, kRanks>(x), t));
    }
    if (i < n) {
      Mask m = L::first(n - i);
      V x = L::load(L::splat(0), m, in + i);
      if constexpr (IsFloat<T>::value && !kRanks) any = L::either(any, L::both(odd_lanes(x), m));
      L::store(keys + i, m, L::flip_bits(key_of<T, kRanks>(x), t));
    }
    return L::any(any);
  }
  template <class T, bool kRanks>
  static JITNEY_INLINE inline V key_of(V x) {
    V key = L::template key<T>(x);
    if constexpr (kRanks && IsFloat<T>::value) key = L::pad(key, is_nan(x), L::splat(kMost));
    return key;
  }
  template <class T>
  static void from_keys(S* keys, int64_t n, S turn) {
    V t = L::splat(turn);
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) L::store(keys + i, L::template key<T>(L::flip_bits(L::load(keys + i), t)));
    if (i < n) {
      Mask m = L::first(n - i);
      V x = L::load(L::splat(0), m, keys + i);
      L::store(keys + i, m, L::template key<T>(L::flip_bits(x, t)));
    }
  }

  // A row divided at rank k: numbers, then NaNs. work has 2 n places.
  template <class T>
  static void select_row(const S* in, S* out, S* work, int64_t n, int64_t k) {
    to_keys<T, true>(in, work, n, 0);
    select(work, work + n, out, n, k);
    from_keys<T>(out, n, 0);
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
    else sort_keys(out, work, n);
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
        if (count > 0) sort(p->a + begin, p->b + begin, count, true, most_depth(count));
      }
    };
    each(kParts, one, &parts);
  }
};

template <class Key>
using Sorts = VectorSort<typename LanesOf<sizeof(Key)>::type>;
