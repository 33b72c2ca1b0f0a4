// Ranks among evenly spaced edges, and bins of numbers, for one vector width. Included by count.cpp, once a width,
// inside a namespace that defines kVectorBytes.
//
// In: values. Out: an int32 each.

#include "vectors.h"

// Ranks of n values, whole vectors of them; whether all are beyond doubt. (Zen 4, f32: 0.2 ns a value; with the two
// comparisons, whose edges must be fetched, 1.7.)
template <class T>
static bool even_ranks(const EvenEdges<T>& edges, const T* values, int64_t n, int32_t* out) {
  constexpr int kLanes = Vec<T>::kLanes;
  typedef int32_t Ranks __attribute__((vector_size(4 * kLanes)));
  using Masks = V<std::make_signed_t<UInt<T>>>;
  const V<T> first = splat_exact<T>(edges.first), inverse = splat_exact<T>(edges.inverse);
  const V<T> low = splat_exact<T>(T(0.5)), high = splat_exact<T>(static_cast<T>(edges.n) + T(0.5));
  const V<T> least = splat_exact<T>(edges.doubt), most = splat_exact<T>(1 - edges.doubt);
  Masks certain = ~Masks{};
  for (int64_t i = 0; i < n; i += kLanes) {
    V<T> t = (load<T>(values + i) - first) * inverse + 1;
    t = t < high ? t : high;  // also for NaN: above all edges
    t = t > low ? t : low;
    const Ranks rank = __builtin_convertvector(t, Ranks);
    const V<T> part = t - __builtin_convertvector(rank, V<T>);
    certain &= (part > least) & (part < most);
    memcpy(out + i, &rank, sizeof rank);
  }
  uint64_t all = ~uint64_t{0}, words[kVectorBytes / 8];
  memcpy(words, &certain, sizeof words);
  for (uint64_t word : words) all &= word;
  return all == ~uint64_t{0};
}

// min(number, length): what is outside of [0, length) gets the number that is not counted. Negative numbers count as 0,
// or (kDrop) are outside.
template <bool kDrop, class T>
static void bins_of(const T* values, int64_t n, int64_t length, int32_t* out) {
  using Wide = std::conditional_t<sizeof(T) < 4, int32_t, T>;
  using U = UInt<Wide>;
  const U most = static_cast<U>(length);
  for (int64_t i = 0; i < n; ++i) {
    const Wide v = values[i];
    const U bin = static_cast<U>(!kDrop && std::is_signed<T>::value && v < 0 ? Wide{0} : v);
    out[i] = static_cast<int32_t>(bin < most ? bin : most);
  }
}
