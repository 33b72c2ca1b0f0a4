// Scattering of windows into an array, in the order of the updates (signatures in README.md).
//
// Invariant: updates to one element are applied first to last, so the result does not depend on threads. The extent of
// a scatter is ranges of its result, never the list of updates: each range picks the updates that it gets.
#include <algorithm>
#include <cstring>
#include <limits>

#include "families.h"
#include "places_in_range.h"
#include "routines.h"
#include "scatter_operations.h"
#include "vector_target.h"

namespace jitney {

namespace {

using namespace scatters;

// Whether windows of halves are combined by the instructions that convert eight of them (100 rows of 600: 190 us, 11).
bool converts_halves = false;
int wide_bytes = 16;  // of the widest vectors there are
constexpr int64_t kHalves = 8;
#if defined(__x86_64__)
JITNEY_BEGIN_TARGET_AVX2
// Adds eights of halves, or multiplies by them.
template <bool kAdd>
void combine_halves(F16* to, const F16* from, int64_t count) {
  for (int64_t j = 0; j + kHalves <= count; j += kHalves) {
    const __m256 x = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(to + j)));
    const __m256 y = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + j)));
    const __m128i halves = _mm256_cvtps_ph(kAdd ? x + y : x * y, _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + j), halves);
  }
}
JITNEY_END_TARGET
#else
template <bool kAdd>
void combine_halves(F16*, const F16*, int64_t) {}
#endif

enum IndexKind : int64_t { kElementOffsets = 0, kElementOffsets32 = 4 };
constexpr int64_t kOneUpdate = 8;  // added to the kind: every place gets the same window

constexpr int64_t kAhead = 16;         // updates between a prefetch and its use
constexpr int64_t kCached = 512 << 10;  // bytes that need no prefetch
constexpr int64_t kCachedStores = 4 << 20;  // nor if nothing of them is read
// The same for single elements, which many loads ask for at once without being told, but stores one after the other.
constexpr int64_t kCachedElements = 1 << 20;
// Updates of each element from which on they are looked at for runs (of ten on average 10^6 took a third longer so).
constexpr int64_t kLongRuns = 32;
constexpr int64_t kListed = 1024;  // updates that are looked through at a time for those of a range

// limit: offsets below it are inside; step: elements from one update to the next; [lo, hi): elements of the result that
// this call writes; together: whether updates of one element that follow one another may be combined first
struct Target {
  int64_t updates, window, limit, step, lo, hi;
  bool together;
};

// Some updates that follow one another, and the numbers of those that matter; all of them do if `list` is null.
template <class T, class I>
struct Updates {
  const I* index;
  const T* update;
  const int32_t* list;
  int64_t count;

  JITNEY_INLINE int64_t number(int64_t q) const { return list ? list[q] : q; }
};

template <class T, class Op, class I>
JITNEY_INLINE inline void scatter_element(T* out, I index, T update, int64_t limit) {
  int64_t at = static_cast<int64_t>(index);  // negative ones are huge
  if (static_cast<uint64_t>(at) < static_cast<uint64_t>(limit)) out[at] = Op::apply(out[at], update);
}

// Asks for the window of an index that is met some turns later, whatever the index is.
template <class T, class I>
JITNEY_INLINE inline void ask_for(const T* out, I index, int64_t width) {
  const uintptr_t first = reinterpret_cast<uintptr_t>(out) + static_cast<uintptr_t>(index) * sizeof(T);
  __builtin_prefetch(reinterpret_cast<const void*>(first), 1);
  if (width > 1) __builtin_prefetch(reinterpret_cast<const void*>(first + width * sizeof(T) - 1), 1);
}

// Four indices and updates are read before the first of them is stored: a load behind a store whose address has the
// same low 12 bits waits for it, and with scattered stores that is common (measured: 0.83 -> 0.66 ns an element).
// Each update of an element waits for the store of the one before, some ten cycles: four of one element are one (sorted
// indices, a Zen 5, two threads: sums of 10^6 in 1000 1410 to 400 us).
template <class T, class Op, bool kIsListed, bool kTogether, class I>
void scatter_elements(T* out, const Updates<T, I>& all, const Target& t) {
  const I* index = all.index;
  const T* update = all.update;
  const auto number = [&](int64_t q) { return kIsListed ? static_cast<int64_t>(all.list[q]) : q; };
  const int64_t own = -t.step, limit = t.limit;  // what of an update's number counts: all, nothing if all get one
  const bool is_far = (t.hi - t.lo) * static_cast<int64_t>(sizeof(T)) > kCachedElements;
  const int64_t last = std::is_same<Op, Set>::value && is_far ? all.count - kAhead - 4 : 0;
  int64_t q = 0;
  for (; q + 4 <= all.count; q += 4) {  // names, not arrays: those would be loaded as vectors and pass through memory
    const int64_t i = number(q), j = number(q + 1), k = number(q + 2), l = number(q + 3);
    const I a = index[i], b = index[j], c = index[k], d = index[l];
    const T x = update[i & own], y = update[j & own], z = update[k & own], w = update[l & own];
    if (q < last) {
      for (int64_t ahead = q + kAhead; ahead < q + kAhead + 4; ++ahead) ask_for(out, index[number(ahead)], 1);
    }
    if (kTogether && a == d && a == b && a == c) {
      scatter_element<T, Op>(out, a, Op::apply(Op::apply(x, y), Op::apply(z, w)), limit);
      continue;
    }
    scatter_element<T, Op>(out, a, x, limit);
    scatter_element<T, Op>(out, b, y, limit);
    scatter_element<T, Op>(out, c, z, limit);
    scatter_element<T, Op>(out, d, w, limit);
  }
  for (; q < all.count; ++q) scatter_element<T, Op>(out, index[number(q)], update[number(q) & own], limit);
}

// What of a window is in the range, if it is one that counts.
template <class T, class Op>
void scatter_part(T* out, int64_t at, const T* update, const Target& t) {
  if (static_cast<uint64_t>(at) >= static_cast<uint64_t>(t.limit)) return;
  const int64_t first = std::max<int64_t>(t.lo - at, 0), last = std::min(t.window, t.hi - at);
  for (int64_t j = first; j < last; ++j) out[at + j] = Op::apply(out[at + j], update[j]);
}

// Windows of 4 kFours + kRest elements (kFours -1: of any number of fours).
template <class T, class Op, int kFours, int kRest, class I>
void scatter_windows(T* out, const Updates<T, I>& all, const Target& t) {
  const int64_t width = t.window, fours = kFours < 0 ? width / 4 : kFours;
  const int64_t highest = std::min(t.limit - 1, t.hi - width);
  constexpr int64_t cached = std::is_same<Op, Set>::value ? kCachedStores : kCached;
  const int64_t last = (t.hi - t.lo) * static_cast<int64_t>(sizeof(T)) > cached ? all.count - kAhead : 0;
  for (int64_t q = 0; q < all.count; ++q) {
    if (q < last) ask_for(out, all.index[all.number(q + kAhead)], width);
    const int64_t number = all.number(q), at = static_cast<int64_t>(all.index[number]);
    const T* update = all.update + number * t.step;
    if (at < t.lo || at > highest) {
      scatter_part<T, Op>(out, at, update, t);
      continue;
    }
    T* to = out + at;
    int64_t j = 0;
    if constexpr (std::is_same<T, F16>::value && (std::is_same<Op, Add>::value || std::is_same<Op, Mul>::value)) {
      if (converts_halves) {
        combine_halves<std::is_same<Op, Add>::value>(to, update, width);
        j = width / kHalves * (kHalves / 4);
      }
    }
    for (; j < fours; ++j) combine<T, Op, 4>(to + 4 * j, update + 4 * j);
    if constexpr (kRest > 0) combine<T, Op, kRest>(to + 4 * fours, update + 4 * fours);
  }
}

#if defined(__x86_64__)
JITNEY_BEGIN_TARGET_AVX2
namespace avx2 {
constexpr int kVectorBytes = 32;
constexpr bool kHasRange = false;
#include "scatter_wide.h"
}  // namespace avx2
JITNEY_END_TARGET
JITNEY_BEGIN_TARGET_AVX512
namespace avx512 {
constexpr int kVectorBytes = 64;
constexpr bool kHasRange = true;
#include "scatter_wide.h"
namespace fours {
constexpr int kVectorBytes = 16;
#include "scatter_wide.h"
}  // namespace fours
}  // namespace avx512
JITNEY_END_TARGET
#endif

// Whether windows have been combined by wide vectors.
template <class T, class Op, class I>
bool are_wide_windows(T* out, const Updates<T, I>& all, const Target& t) {
#if defined(__x86_64__)
  if constexpr (std::is_floating_point<T>::value) {
    const int64_t bytes = t.window * static_cast<int64_t>(sizeof(T));
    if (t.window % 4 != 0) return false;
    if (wide_bytes == 64 && bytes == 16) avx512::fours::wide_windows<T, Op>(out, all, t);
    else if (wide_bytes == 64 && (bytes % 64 == 0 || (bytes > 64 && bytes % 32 != 0)))
      avx512::wide_windows<T, Op>(out, all, t);
    else if (wide_bytes >= 32 && bytes >= 32) avx2::wide_windows<T, Op>(out, all, t);
    else return false;
    return true;
  }
#endif
  return false;
}

template <class T, class Op, class I>
void scatter_updates(T* out, const Updates<T, I>& all, const Target& t) {
  const int64_t width = t.window;
  if (width == 1) {
    if (all.list) return scatter_elements<T, Op, true, false>(out, all, t);
    if constexpr (std::is_floating_point<T>::value && !std::is_same<Op, Set>::value && !std::is_same<Op, Mul>::value) {
      if (t.together) return scatter_elements<T, Op, false, true>(out, all, t);
    }
    return scatter_elements<T, Op, false, false>(out, all, t);
  }
  if (are_wide_windows<T, Op>(out, all, t)) return;
  switch (width < 4 ? width : width % 4 + (width < 8 ? 4 : 8)) {
    case 2: return scatter_windows<T, Op, 0, 2>(out, all, t);
    case 3: return scatter_windows<T, Op, 0, 3>(out, all, t);
    case 4: return scatter_windows<T, Op, 1, 0>(out, all, t);
    case 5: case 9: return scatter_windows<T, Op, -1, 1>(out, all, t);
    case 6: case 10: return scatter_windows<T, Op, -1, 2>(out, all, t);
    case 7: case 11: return scatter_windows<T, Op, -1, 3>(out, all, t);
    default: return scatter_windows<T, Op, -1, 0>(out, all, t);
  }
}

// The updates of one range.
template <class T, class Op, class I>
void scatter_range(T* out, const I* index, const T* update, const Target& t) {
  const int64_t first = std::max<int64_t>(t.lo - t.window + 1, 0), last = std::min(t.limit, t.hi);
  if (last <= first) return;
  if (first == 0 && last == t.limit)
    return scatter_updates<T, Op>(out, Updates<T, I>{index, update, nullptr, t.updates}, t);
  int32_t list[kListed + kListedSpare];
  for (int64_t u = 0; u < t.updates; u += kListed) {
    const int64_t count = list_in_range(index + u, std::min(kListed, t.updates - u), first, last - first, list);
    scatter_updates<T, Op>(out, Updates<T, I>{index + u, update + u * t.step, list, count}, t);
  }
}

// Updates [first, last) of the arguments of a scatter.
struct Part {
  int64_t first, last;
};

// What elements [lo, hi) of `out` get of a part of the updates.
template <class T, class Op>
void scatter_any(T* out, void* const* ptrs, const int64_t* params, Part part, int64_t lo, int64_t hi,
                 bool together = false) {
  const int64_t kind = params[3] & (kOneUpdate - 1), step = params[3] & kOneUpdate ? 0 : params[1];
  const int64_t limit = params[2] - params[1] + 1;  // the whole window must fit
  if (limit <= 0) return;
  const Target t{part.last - part.first, params[1], limit, step, lo, hi, together};
  const T* update = static_cast<const T*>(ptrs[2]) + part.first * step;
  if (kind == kElementOffsets32)
    return scatter_range<T, Op>(out, static_cast<const int32_t*>(ptrs[1]) + part.first, update, t);
  scatter_range<T, Op>(out, static_cast<const int64_t*>(ptrs[1]) + part.first, update, t);
}

// ptrs [out, index, updates], params [updates, window, elements of out, index_kind, ranges]; [lo, hi) = ranges of out,
// of equal length. Those of one call are one: to look for the updates of each would only cost time.
template <class T, class Op>
struct Scatter {
  static void run(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    const int64_t size = params[2], ranges = params[4];
    T* out = static_cast<T*>(ptrs[0]);
    scatter_any<T, Op>(out, ptrs, params, {0, params[0]}, size * lo / ranges, size * hi / ranges);
  }
};

// What changes nothing when it is combined. For sums of floats -0 (0 + -0 is 0, but -0 + 0 is 0 as well).
template <class T, class Op>
T neutral_of() {
  using L = std::numeric_limits<T>;
  if constexpr (std::is_same<Op, Add>::value) {
    if constexpr (std::is_floating_point<T>::value) return static_cast<T>(-0.0);
    else return T{};
  } else {
    constexpr bool kMax = std::is_same<Op, Extreme<true>>::value;
    if constexpr (std::is_floating_point<T>::value) return kMax ? -L::infinity() : L::infinity();
    else return kMax ? L::min() : L::max();
  }
}

// The updates in equal pieces, each with results of its own (the first with `out`): ptrs [out, index, updates, work],
// params [updates, window, size of out in elements, index_kind of offsets, pieces, elements from one piece's results to
// the next one's]; [lo, hi) = pieces. What remains is `CombinePieces`. How many pieces there are is part of the
// program, so sums do not depend on threads. Extremes never do: the first NaN of the first piece that has one stays.
template <class T, class Op>
struct ScatterPieces {
  static void run(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    const int64_t updates = params[0], size = params[2], pieces = params[4], apart = params[5];
    for (int64_t p = lo; p < hi; ++p) {
      T* out = p == 0 ? static_cast<T*>(ptrs[0]) : static_cast<T*>(ptrs[3]) + (p - 1) * apart;
      if (p > 0) std::fill(out, out + size, neutral_of<T, Op>());
      scatter_any<T, Op>(out, ptrs, params, {updates * p / pieces, updates * (p + 1) / pieces}, 0, size,
                         updates >= kLongRuns * size);
    }
  }
};

// ptrs [out, work], params [size, pieces, elements from one piece's to the next one's]; [lo, hi) = elements
template <class T, class Op>
struct CombinePieces {
  static void run(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    T* out = static_cast<T*>(ptrs[0]);
    for (int64_t p = 0; p + 1 < params[1]; ++p) {
      const T* piece = static_cast<const T*>(ptrs[1]) + p * params[2];
      int64_t i = lo;
      if constexpr (std::is_floating_point<T>::value && !std::is_same<Op, Add>::value) {
        using Values = typename Lanes<T>::Values;
        constexpr int64_t kLanes = sizeof(Values) / sizeof(T);
        for (Values x, y; i + kLanes <= hi; i += kLanes) {
          std::memcpy(&x, out + i, sizeof x);
          std::memcpy(&y, piece + i, sizeof y);
          x = Op::template of_lanes<T>(x, y);
          std::memcpy(out + i, &x, sizeof x);
        }
      }
      for (; i < hi; ++i) out[i] = Op::apply(out[i], piece[i]);
    }
  }
};

template <class T> struct ScatterSet : Scatter<T, Set> {};
template <class T> struct ScatterAdd : Scatter<T, Add> {};
template <class T> struct ScatterMul : Scatter<T, Mul> {};
template <class T> struct ScatterMin : Scatter<T, Extreme<false>> {};
template <class T> struct ScatterMax : Scatter<T, Extreme<true>> {};
template <class T> struct ScatterAddPieces : ScatterPieces<T, Add> {};
template <class T> struct ScatterMinPieces : ScatterPieces<T, Extreme<false>> {};
template <class T> struct ScatterMaxPieces : ScatterPieces<T, Extreme<true>> {};
template <class T> struct AddPieces : CombinePieces<T, Add> {};
template <class T> struct MinPieces : CombinePieces<T, Extreme<false>> {};
template <class T> struct MaxPieces : CombinePieces<T, Extreme<true>> {};

template <class Types>
void add_routines_of_pieces(Types types) {
  add_family<ScatterAddPieces>("scatter_add_pieces", types);
  add_family<ScatterMinPieces>("scatter_min_pieces", types);
  add_family<ScatterMaxPieces>("scatter_max_pieces", types);
  add_family<AddPieces>("add_pieces", types);
  add_family<MinPieces>("min_pieces", types);
  add_family<MaxPieces>("max_pieces", types);
}

}  // namespace

void add_scatter_routines() {
  converts_halves = cpu_level() >= 1;
  wide_bytes = 16 << cpu_level();
  using Complex = TypeList<C64, C128>;
  add_family<ScatterSet>("scatter_set", Floats{});
  add_family<ScatterSet>("scatter_set", Integers{});
  add_family<ScatterSet>("scatter_set", TypeList<bool>{});
  add_family<ScatterSet>("scatter_set", Complex{});
  add_family<ScatterAdd>("scatter_add", Floats{});
  add_family<ScatterAdd>("scatter_add", Integers{});
  add_family<ScatterAdd>("scatter_add", Complex{});
  add_family<ScatterMul>("scatter_mul", Floats{});
  add_family<ScatterMul>("scatter_mul", Integers{});
  add_family<ScatterMul>("scatter_mul", Complex{});
  add_family<ScatterMin>("scatter_min", Floats{});
  add_family<ScatterMin>("scatter_min", Integers{});
  add_family<ScatterMin>("scatter_min", TypeList<bool>{});
  add_family<ScatterMax>("scatter_max", Floats{});
  add_family<ScatterMax>("scatter_max", Integers{});
  add_family<ScatterMax>("scatter_max", TypeList<bool>{});
  add_routines_of_pieces(TypeList<float, double>{});
  add_routines_of_pieces(Integers{});
}

}  // namespace jitney
