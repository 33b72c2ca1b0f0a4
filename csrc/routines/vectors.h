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

// Moves lanes by kBy places towards the end (or the front); lanes of fill come in.
template <class T, int kBy, bool kToFront, int... kLane>
static inline V<T> shift_lanes(V<T> fill, V<T> v, Indices<kLane...>) {
  constexpr int n = Vec<T>::kLanes;
  if constexpr (kToFront) return shuffle<T>(fill, v, Indices<(kLane + kBy < n ? n + kLane + kBy : kLane)...>{});
  else return shuffle<T>(fill, v, Indices<(kLane >= kBy ? n + kLane - kBy : kLane)...>{});
}

template <class T, int kFrom, int... kLane>
static inline V<T> broadcast_lane(V<T> v, Indices<kLane...>) {
  return shuffle<T>(v, v, Indices<(kLane * 0 + kFrom)...>{});
}

template <class T>
using Lanes = typename MakeIndices<Vec<T>::kLanes>::type;
