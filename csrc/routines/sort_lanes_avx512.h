// Vectors of 64 bytes for vector_sort_kernels.h. Included inside namespace avx512 (see vector_target.h).
//
// Lanes32, Lanes64: signed integers, masks of one bit a lane.

struct Lanes32 {
  using V = __m512i;
  using S = int32_t;
  using Mask = __mmask16;
  static constexpr int kLanes = 16;
  static constexpr int kRegisters = 16;  // sorted at once
  static constexpr int kRoom = 16;       // places that a division must have free to store whole vectors
  static inline V splat(S x) { return _mm512_set1_epi32(x); }
  static inline V load(const S* p) { return _mm512_loadu_si512(p); }
  static inline void store(S* p, V v) { _mm512_storeu_si512(p, v); }
  static inline V load(V rest, Mask m, const S* p) { return _mm512_mask_loadu_epi32(rest, m, p); }
  static inline void store(S* p, Mask m, V v) { _mm512_mask_storeu_epi32(p, m, v); }
  static inline V compress(Mask m, V v) { return _mm512_maskz_compress_epi32(m, v); }
  static inline Mask below(V a, V b) { return _mm512_cmplt_epi32_mask(a, b); }
  static inline Mask up_to(V a, V b) { return _mm512_cmple_epi32_mask(a, b); }
  static inline Mask equal(V a, V b) { return _mm512_cmpeq_epi32_mask(a, b); }
  static inline V least(V a, V b) { return _mm512_min_epi32(a, b); }
  static inline V most(V a, V b) { return _mm512_max_epi32(a, b); }
  static JITNEY_INLINE inline void order(V& a, V& b) {
    V low = least(a, b);
    b = most(a, b);
    a = low;
  }
  template <unsigned kUpper>
  static JITNEY_INLINE inline V exchange(V a, V b) {  // the greater ones in the lanes of kUpper
    return _mm512_mask_max_epi32(least(a, b), static_cast<Mask>(kUpper), a, b);
  }
  static inline V pad(V rest, Mask m, V x) { return _mm512_mask_mov_epi32(rest, m, x); }
  template <int kFlip>
  static inline V flip(V v) {  // lane i gets lane i ^ kFlip
    if constexpr (kFlip == 1) return _mm512_shuffle_epi32(v, _MM_PERM_CDAB);
    if constexpr (kFlip == 2) return _mm512_shuffle_epi32(v, _MM_PERM_BADC);
    if constexpr (kFlip == 3) return _mm512_shuffle_epi32(v, _MM_PERM_ABCD);
    if constexpr (kFlip == 4) return _mm512_shuffle_i64x2(v, v, 0xB1);
    if constexpr (kFlip == 8) return _mm512_shuffle_i64x2(v, v, 0x4E);
    const V at = _mm512_xor_si512(
        _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0), _mm512_set1_epi32(kFlip));
    return _mm512_permutexvar_epi32(at, v);
  }
  template <class T>
  static inline V key(V x) {
    if constexpr (IsFloat<T>::value)
      return _mm512_xor_si512(x, _mm512_srli_epi32(_mm512_srai_epi32(x, 31), 1));
    else if constexpr (std::is_signed<T>::value) return x;
    else return _mm512_xor_si512(x, splat(INT32_MIN));
  }
};

struct Lanes64 {
  using V = __m512i;
  using S = int64_t;
  using Mask = __mmask8;
  static constexpr int kLanes = 8;
  static constexpr int kRegisters = 16;  // sorted at once
  static constexpr int kRoom = 8;        // places that a division must have free to store whole vectors
  static inline V splat(S x) { return _mm512_set1_epi64(x); }
  static inline V load(const S* p) { return _mm512_loadu_si512(p); }
  static inline void store(S* p, V v) { _mm512_storeu_si512(p, v); }
  static inline V load(V rest, Mask m, const S* p) { return _mm512_mask_loadu_epi64(rest, m, p); }
  static inline void store(S* p, Mask m, V v) { _mm512_mask_storeu_epi64(p, m, v); }
  static inline V compress(Mask m, V v) { return _mm512_maskz_compress_epi64(m, v); }
  static inline Mask below(V a, V b) { return _mm512_cmplt_epi64_mask(a, b); }
  static inline Mask up_to(V a, V b) { return _mm512_cmple_epi64_mask(a, b); }
  static inline Mask equal(V a, V b) { return _mm512_cmpeq_epi64_mask(a, b); }
  static inline V least(V a, V b) { return _mm512_min_epi64(a, b); }
  static inline V most(V a, V b) { return _mm512_max_epi64(a, b); }
  static JITNEY_INLINE inline void order(V& a, V& b) {
    V low = least(a, b);
    b = most(a, b);
    a = low;
  }
  template <unsigned kUpper>
  static JITNEY_INLINE inline V exchange(V a, V b) {  // the greater ones in the lanes of kUpper
    return _mm512_mask_max_epi64(least(a, b), static_cast<Mask>(kUpper), a, b);
  }
  static inline V pad(V rest, Mask m, V x) { return _mm512_mask_mov_epi64(rest, m, x); }
  template <int kFlip>
  static inline V flip(V v) {
    if constexpr (kFlip == 1) return _mm512_shuffle_epi32(v, _MM_PERM_BADC);
    if constexpr (kFlip == 2) return _mm512_shuffle_i64x2(v, v, 0xB1);
    if constexpr (kFlip == 3) return _mm512_permutex_epi64(v, 0x1B);
    if constexpr (kFlip == 4) return _mm512_shuffle_i64x2(v, v, 0x4E);
    const V at = _mm512_xor_si512(_mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0), _mm512_set1_epi64(kFlip));
    return _mm512_permutexvar_epi64(at, v);
  }
  template <class T>
  static inline V key(V x) {
    if constexpr (IsFloat<T>::value)
      return _mm512_xor_si512(x, _mm512_srli_epi64(_mm512_srai_epi64(x, 63), 1));
    else if constexpr (std::is_signed<T>::value) return x;
    else return _mm512_xor_si512(x, splat(INT64_MIN));
  }
};

// What does not depend on how wide a lane is.
template <class L>
struct Masks : L {
  using typename L::Mask;
  using typename L::S;
  using typename L::V;
  using L::kLanes;

  static inline Mask first(int64_t count) {
    int64_t lanes = count < 0 ? 0 : count > kLanes ? kLanes : count;  // without branches: counts are random
    return static_cast<Mask>((1u << lanes) - 1);
  }
  static inline Mask none() { return 0; }
  static inline Mask both(Mask a, Mask b) { return static_cast<Mask>(a & b); }
  static inline Mask either(Mask a, Mask b) { return static_cast<Mask>(a | b); }
  static inline bool any(Mask m) { return m != 0; }
  static inline V flip_bits(V a, V b) { return _mm512_xor_si512(a, b); }
  static inline V without(V bits, V x) { return _mm512_andnot_si512(bits, x); }

  // Those below the pivot (kEqual: or equal to it) to low, the others up to high; how many went low.
  template <bool kEqual>
  static JITNEY_INLINE inline int split(V v, V pivot, S* low, S* high) {
    Mask m = kEqual ? L::up_to(v, pivot) : L::below(v, pivot);
    int count = __builtin_popcount(m);
    L::store(low, L::compress(m, v));
    L::store(high - (kLanes - count), static_cast<Mask>((1u << (kLanes - count)) - 1),
             L::compress(static_cast<Mask>(~m), v));
    return count;
  }
  // The same of fewer than kRoom elements.
  template <bool kEqual>
  static inline int split_rest(const S* from, int64_t n, S pivot, S* low, S* high) {
    Mask here = first(n);
    V p = L::splat(pivot), v = L::load(p, here, from);
    Mask m = static_cast<Mask>(here & (kEqual ? L::up_to(v, p) : L::below(v, p)));
    int count = __builtin_popcount(m), rest = static_cast<int>(n) - count;
    L::store(low, first(count), L::compress(m, v));
    L::store(high - rest, first(rest), L::compress(static_cast<Mask>(here & ~m), v));
    return count;
  }
  // The first n elements of registers, which are as many vectors.
  template <int kCount>
  static JITNEY_INLINE inline void store_first(S* to, int64_t n, const V* v) {
#pragma GCC unroll 16
    for (int i = 0; i < kCount; ++i) L::store(to + i * kLanes, first(n - i * kLanes), v[i]);
  }
};

template <int kBytes>
struct LanesOf { using type = Masks<Lanes32>; };
template <>
struct LanesOf<8> { using type = Masks<Lanes64>; };
