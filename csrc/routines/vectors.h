// Vectors of kVectorBytes bytes by the compilers' vector extension. Included inside a namespace of vector_target.h.

template <class T>
struct Vec {
  typedef T type __attribute__((vector_size(kVectorBytes), aligned(kVectorBytes)));
  static constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));
};
template <class T>
using V = typename Vec<T>::type;

template <class T>
static inline V<T> load(const T* p) {
  V<T> v;
  memcpy(&v, p, sizeof v);
  return v;
}
template <class T>
static inline void store(T* p, V<T> v) {
  memcpy(p, &v, sizeof v);
}
// Past the caches, where that is worth it (`far`) and p is aligned; the caller fences (fence_far_stores).
template <class T>
static JITNEY_INLINE inline void store_far(T* p, V<T> v, bool far) {
#if defined(__x86_64__)
  if (far) {
    if constexpr (kVectorBytes == 64) _mm512_stream_si512(reinterpret_cast<__m512i*>(p), (__m512i)v);
    else if constexpr (kVectorBytes == 32) _mm256_stream_si256(reinterpret_cast<__m256i*>(p), (__m256i)v);
    else _mm_stream_si128(reinterpret_cast<__m128i*>(p), (__m128i)v);
    return;
  }
#endif
  store<T>(p, v);
}
static inline bool is_aligned(const void* p) { return reinterpret_cast<uintptr_t>(p) % kVectorBytes == 0; }
static inline void fence_far_stores(bool far) {
#if defined(__x86_64__)
  if (far) _mm_sfence();
#endif
}
template <class T>
static inline V<T> splat(T x) {
  return V<T>{} + x;  // x is never -0.0 where the sign of zero counts: see splat_exact
}
template <class T>
static inline V<T> splat_exact(T x) {
  V<T> v;
  for (int i = 0; i < Vec<T>::kLanes; ++i) v[i] = x;
  return v;
}

// Ones that the compiler does not know to be ones: a product with them stays one.
template <class T>
static JITNEY_INLINE inline V<T> hidden_one() {
  V<T> one = splat<T>(1);
#if defined(__x86_64__)
  if constexpr (kVectorBytes == 64) asm("" : "+v"(one));
#endif
  return one;
}
// a * one + b where multiply-adds are sure to be there, else a + b: the same, in other units.
template <class T>
static JITNEY_INLINE inline V<T> add_product(V<T> a, V<T> one, V<T> b) {
#if defined(__x86_64__)
  if constexpr (kVectorBytes == 64 && std::is_same<T, float>::value)
    return (V<T>)_mm512_fmadd_ps((__m512)a, (__m512)one, (__m512)b);
  if constexpr (kVectorBytes == 64 && std::is_same<T, double>::value)
    return (V<T>)_mm512_fmadd_pd((__m512d)a, (__m512d)one, (__m512d)b);
#endif
  (void)one;
  return a + b;
}

template <int... kIndex>
struct Indices {};
template <int kCount, int... kIndex>
struct MakeIndices : MakeIndices<kCount - 1, kCount - 1, kIndex...> {};
template <int... kIndex>
struct MakeIndices<0, kIndex...> {
  using type = Indices<kIndex...>;
};

// Lane i of the result is lane at[i] of (a, b).
template <class T, int... kAt>
static inline V<T> shuffle(V<T> a, V<T> b, Indices<kAt...>) {
#if defined(__clang__)
  return __builtin_shufflevector(a, b, kAt...);
#else
  using I = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;
  return __builtin_shuffle(a, b, V<I>{kAt...});
#endif
}

template <class T>
using Lanes = typename MakeIndices<Vec<T>::kLanes>::type;

template <class T, int kBy, bool kToFront, int... kLane>
static inline V<T> shift_lanes(V<T> from, V<T> v, Indices<kLane...>) {
  if constexpr (kToFront) return shuffle<T>(v, from, Indices<(kLane + kBy)...>{});
  else return shuffle<T>(from, v, Indices<(Vec<T>::kLanes + kLane - kBy)...>{});
}

// Moves lanes by kBy places towards the end (or the front); what leaves `from` on that side comes in.
template <class T, int kBy, bool kToFront>
static inline V<T> shift_in(V<T> from, V<T> v) {
#if defined(__x86_64__) && !defined(__clang__)  // GCC makes vpermt2 of it, which Zen 4 does at half the rate
  if constexpr (kVectorBytes == 64 && sizeof(T) >= 4) {
    constexpr int kWords = kBy * static_cast<int>(sizeof(T)) / 4;
    const auto high = (__m512i)(kToFront ? from : v), low = (__m512i)(kToFront ? v : from);
    return (V<T>)_mm512_maskz_alignr_epi32(0xffff, high, low, kToFront ? kWords : 16 - kWords);
  }
#endif
  return shift_lanes<T, kBy, kToFront>(from, v, Lanes<T>{});
}
