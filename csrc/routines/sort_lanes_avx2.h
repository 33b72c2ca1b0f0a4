// Vectors of 32 bytes for vector_sort_kernels.h. Included inside namespace avx2 (see vector_target.h).
//
// Lanes32, Lanes64: signed integers, masks of all bits of a lane. Stores with masks are slow on many machines, so
// a division stores each vector twice, rearranged such that one part comes first: what is stored beyond
// that part is overwritten later.

// For each set of lanes, the places of those in it, then of the others: bytes of one word.
template <int kLanes, int kParts>
struct Places {
  uint64_t of[1 << kLanes];
  constexpr Places() : of{} {
    for (int set = 0; set < 1 << kLanes; ++set) {
      int at = 0;
      for (int in = 1; in >= 0; --in)
        for (int lane = 0; lane < kLanes; ++lane)
          if ((set >> lane & 1) == in)
            for (int part = 0; part < kParts; ++part)
              of[set] |= static_cast<uint64_t>(lane * kParts + part) << 8 * at++;
    }
  }
};

struct Lanes32 {
  using V = __m256i;
  using S = int32_t;
  using Mask = __m256i;
  static constexpr int kLanes = 8;
  static constexpr Places<8, 1> kPlaces{};
  static inline V splat(S x) { return _mm256_set1_epi32(x); }
  static inline V load(V rest, Mask m, const S* p) { return _mm256_blendv_epi8(rest, _mm256_maskload_epi32(p, m), m); }
  static inline void store(S* p, Mask m, V v) { _mm256_maskstore_epi32(p, m, v); }
  static inline int bits(Mask m) { return _mm256_movemask_ps(_mm256_castsi256_ps(m)); }
  static inline Mask numbers() { return _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7); }
  static inline Mask above(V a, V b) { return _mm256_cmpgt_epi32(a, b); }
  static inline Mask equal(V a, V b) { return _mm256_cmpeq_epi32(a, b); }
  static JITNEY_INLINE inline void order(V& a, V& b) {
    V low = _mm256_min_epi32(a, b);
    b = _mm256_max_epi32(a, b);
    a = low;
  }
  template <unsigned kUpper>
  static JITNEY_INLINE inline V exchange(V a, V b) {  // the greater ones in the lanes of kUpper
    order(a, b);
    return _mm256_blend_epi32(a, b, kUpper);
  }
  template <int kFlip>
  static inline V flip(V v) {  // lane i gets lane i ^ kFlip
    if constexpr (kFlip == 1) return _mm256_shuffle_epi32(v, 0xB1);
    else if constexpr (kFlip == 2) return _mm256_shuffle_epi32(v, 0x4E);
    else if constexpr (kFlip == 3) return _mm256_shuffle_epi32(v, 0x1B);
    else if constexpr (kFlip == 4) return _mm256_permute2x128_si256(v, v, 1);
    else return _mm256_permutevar8x32_epi32(v, _mm256_xor_si256(numbers(), splat(kFlip)));
  }
  template <class T>
  static inline V key(V x) {
    if constexpr (IsFloat<T>::value)
      return _mm256_xor_si256(x, _mm256_srli_epi32(_mm256_srai_epi32(x, 31), 1));
    else if constexpr (std::is_signed<T>::value) return x;
    else return _mm256_xor_si256(x, splat(INT32_MIN));
  }
};

struct Lanes64 {
  using V = __m256i;
  using S = int64_t;
  using Mask = __m256i;
  static constexpr int kLanes = 4;
  static constexpr Places<4, 2> kPlaces{};
  static inline V splat(S x) { return _mm256_set1_epi64x(x); }
  static inline V load(V rest, Mask m, const S* p) {
    return _mm256_blendv_epi8(rest, _mm256_maskload_epi64(reinterpret_cast<const long long*>(p), m), m);
  }
  static inline void store(S* p, Mask m, V v) { _mm256_maskstore_epi64(reinterpret_cast<long long*>(p), m, v); }
  static inline int bits(Mask m) { return _mm256_movemask_pd(_mm256_castsi256_pd(m)); }
  static inline Mask numbers() { return _mm256_setr_epi64x(0, 1, 2, 3); }
  static inline Mask above(V a, V b) { return _mm256_cmpgt_epi64(a, b); }
  static inline Mask equal(V a, V b) { return _mm256_cmpeq_epi64(a, b); }
  static JITNEY_INLINE inline void order(V& a, V& b) {
    Mask m = above(a, b);
    V low = _mm256_blendv_epi8(a, b, m);
    b = _mm256_blendv_epi8(b, a, m);
    a = low;
  }
  template <unsigned kUpper>
  static JITNEY_INLINE inline V exchange(V a, V b) {
    constexpr auto all = [](unsigned lane) { return kUpper >> lane & 1 ? -1LL : 0LL; };
    Mask upper = _mm256_setr_epi64x(all(0), all(1), all(2), all(3));
    return _mm256_blendv_epi8(a, b, _mm256_xor_si256(above(a, b), upper));
  }
  template <int kFlip>
  static inline V flip(V v) {
    if constexpr (kFlip == 1) return _mm256_shuffle_epi32(v, 0x4E);
    else if constexpr (kFlip == 2) return _mm256_permute4x64_epi64(v, 0x4E);
    else return _mm256_permute4x64_epi64(v, 0x1B);
  }
  template <class T>
  static inline V key(V x) {
    if constexpr (IsFloat<T>::value)
      return _mm256_xor_si256(x, _mm256_srli_epi64(_mm256_cmpgt_epi64(_mm256_setzero_si256(), x), 1));
    else if constexpr (std::is_signed<T>::value) return x;
    else return _mm256_xor_si256(x, splat(INT64_MIN));
  }
};

// What does not depend on how wide a lane is.
template <class L>
struct Masks : L {
  using typename L::Mask;
  using typename L::S;
  using typename L::V;
  using L::kLanes;
  static constexpr int kRegisters = 16;     // sorted at once
  static constexpr int kRoom = 2 * kLanes;  // places that a division must have free to store whole vectors

  using L::load;
  using L::store;
  static inline V load(const S* p) { return _mm256_loadu_si256(reinterpret_cast<const V*>(p)); }
  static inline void store(S* p, V v) { _mm256_storeu_si256(reinterpret_cast<V*>(p), v); }
  static inline Mask first(int64_t count) {
    int64_t lanes = count < 0 ? 0 : count > kLanes ? kLanes : count;
    return L::above(L::splat(static_cast<S>(lanes)), L::numbers());
  }
  static inline Mask none() { return _mm256_setzero_si256(); }
  static inline Mask both(Mask a, Mask b) { return _mm256_and_si256(a, b); }
  static inline Mask either(Mask a, Mask b) { return _mm256_or_si256(a, b); }
  static inline bool any(Mask m) { return !_mm256_testz_si256(m, m); }
  static inline Mask below(V a, V b) { return L::above(b, a); }
  static inline V flip_bits(V a, V b) { return _mm256_xor_si256(a, b); }
  static inline V without(V bits, V x) { return _mm256_andnot_si256(bits, x); }
  static inline V pad(V rest, Mask m, V x) { return _mm256_blendv_epi8(rest, x, m); }

  // Those below the pivot (kEqual: or equal to it) to low, the others up to high; how many went low.
  template <bool kEqual>
  static JITNEY_INLINE inline int split(V v, V pivot, S* low, S* high) {
    constexpr int kAll = (1 << kLanes) - 1;
    int m = kEqual ? L::bits(L::above(v, pivot)) ^ kAll : L::bits(L::above(pivot, v));
    __m128i places = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(L::kPlaces.of + m));
    V parts = _mm256_permutevar8x32_epi32(v, _mm256_cvtepu8_epi32(places));
    store(low, parts);
    store(high - kLanes, parts);
    return __builtin_popcount(static_cast<unsigned>(m));
  }
  // The same of fewer than kRoom elements.
  template <bool kEqual>
  static inline int split_rest(const S* from, int64_t n, S pivot, S* low, S* high) {
    int count = 0;
    for (int64_t i = 0; i < n; ++i) {
      S x = from[i];
      bool is_low = kEqual ? x <= pivot : x < pivot;
      *(is_low ? low + count : high - 1 - (i - count)) = x;
      count += is_low;
    }
    return count;
  }
  // The first n elements of registers, which are as many vectors.
  template <int kCount>
  static JITNEY_INLINE inline void store_first(S* to, int64_t n, const V* v) {
    if (n == kCount * kLanes) {
#pragma GCC unroll 8
      for (int i = 0; i < kCount; ++i) store(to + i * kLanes, v[i]);
      return;
    }
    S room[kCount * kLanes];
#pragma GCC unroll 8
    for (int i = 0; i < kCount; ++i) store(room + i * kLanes, v[i]);
    memcpy(to, room, static_cast<size_t>(n) * sizeof(S));
  }
};

template <int kBytes>
struct LanesOf { using type = Masks<Lanes32>; };
template <>
struct LanesOf<8> { using type = Masks<Lanes64>; };
