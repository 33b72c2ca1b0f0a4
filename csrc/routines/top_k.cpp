// The k largest elements of rows, largest first, equal ones by index (signature in README.md).
//
// Order: the total order of bit patterns, so +NaN > +inf > ... > +0 > -0 > ... > -NaN.
// The few best are kept in order, what is not above the last of them is skipped by whole vectors. Of more, short rows
// and large k are divided at the k-th, or sorted; otherwise one pass keeps a pool of candidates, and all that is not
// above the k-th best so far is skipped by whole blocks of vectors. The pool is divided again when half as many
// newcomers are in it as k: so each of them costs the same, whatever k is.
#include <algorithm>

#include "families.h"
#include "packed_sort.h"
#include "radix.h"
#include "routines.h"
#include "vector_target.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace jitney {

namespace {

namespace any_cpu {
constexpr int kVectorBytes = 16;
#include "top_k_kernels.h"
}  // namespace any_cpu

#if defined(__x86_64__)
JITNEY_BEGIN_TARGET_AVX2
namespace avx2 {
constexpr int kVectorBytes = 32;
#include "top_k_kernels.h"
}  // namespace avx2
JITNEY_END_TARGET

JITNEY_BEGIN_TARGET_AVX512
namespace avx512 {
constexpr int kVectorBytes = 64;
#include "top_k_kernels.h"
}  // namespace avx512
JITNEY_END_TARGET
#endif

template <class U>
struct Candidate {
  U key;
  int64_t index;
};

// In order of rank: the k best are divided from the others, then sorted.
template <class T, class Emit>
void sort_packed_row(const UInt<T>* in, int64_t n, int64_t k, char* work, Emit emit) {
  auto *words = reinterpret_cast<int64_t*>(work), *scratch = words + n, *best = words;
  for (int64_t i = 0; i < n; ++i) words[i] = packed_word(~static_cast<uint32_t>(Order<T>::key(in[i])), i);
  if (k < n) {
    best = words + 2 * n;
    select_packed(words, scratch, best, n, k);
  }
  sort_packed(best, scratch, k);
  for (int64_t rank = 0; rank < k; ++rank) emit(rank, position_of(best[rank]));
}

// In order of rank.
template <class T, class Emit>
void sort_whole_row(const UInt<T>* in, int64_t n, int64_t k, char* work, Emit emit) {
  using U = UInt<T>;
  using C = Candidate<U>;
  C *a = reinterpret_cast<C*>(work), *b = a + n;
  constexpr int kBits = Order<T>::kBits == 1 ? 8 : Order<T>::kBits;
  stable_radix_sort<kBits, C>(
      n, [](const C& c) JITNEY_INLINE { return c.key; },
      [=](int64_t i) JITNEY_INLINE { return C{static_cast<U>(~Order<T>::key(in[i])), i}; },
      [=](int64_t rank, const C& c) JITNEY_INLINE {
        if (rank < k) emit(rank, c.index);
      },
      a, b);
}

// The best so far and those met since, as words that hold key and position: the least words are the best elements.
template <class T>
class PackedPool {
 public:
  using U = UInt<T>;
  PackedPool(char* work, int64_t room)
      : words_(reinterpret_cast<int64_t*>(work)), scratch_(words_ + room), other_(scratch_ + room) {}

  void put(int64_t at, U key, int64_t index) { words_[at] = packed_word(~static_cast<uint32_t>(key), index); }

  // The k best of so many first; the key of the last of them.
  U keep_best(int64_t size, int64_t k) {
    select_packed(words_, scratch_, other_, size, k - 1);
    std::swap(words_, other_);
    return static_cast<U>(~static_cast<uint32_t>(static_cast<uint64_t>(words_[k - 1] ^ INT64_MIN) >> 32));
  }

  template <class Emit>
  void emit_best(int64_t size, int64_t k, Emit emit) {
    if (size > k) keep_best(size, k);
    sort_packed(words_, scratch_, k);
    for (int64_t r = 0; r < k; ++r) emit(r, position_of(words_[r]));
  }

 private:
  int64_t *words_, *scratch_, *other_;
};

template <class T>
class CandidatePool {
 public:
  using U = UInt<T>;
  CandidatePool(char* work, int64_t) : pool_(reinterpret_cast<Candidate<U>*>(work)) {}

  void put(int64_t at, U key, int64_t index) { pool_[at] = {key, index}; }

  U keep_best(int64_t size, int64_t k) {
    std::nth_element(pool_, pool_ + k - 1, pool_ + size, better);
    return pool_[k - 1].key;
  }

  template <class Emit>
  void emit_best(int64_t size, int64_t k, Emit emit) {
    if (size > k) keep_best(size, k);
    std::sort(pool_, pool_ + k, better);
    for (int64_t r = 0; r < k; ++r) emit(r, pool_[r].index);
  }

 private:
  static bool better(const Candidate<U>& a, const Candidate<U>& b) {
    return a.key != b.key ? a.key > b.key : a.index < b.index;
  }

  Candidate<U>* pool_;
};

// So many newcomers, at least, are worth another division: it takes the time of k and of them.
constexpr int64_t kLeastNew = 32;

template <class T, template <class> class Filter, template <class> class Pool, class Emit>
void select_from_row(const UInt<T>* in, int64_t n, int64_t k, char* work, Emit emit) {
  using U = UInt<T>;
  using S = std::make_signed_t<U>;
  constexpr int64_t kBlock = Filter<T>::kBlock;
  const int64_t enough = k + std::max(kLeastNew, k / 2), room = enough + kBlock;
  Pool<T> pool(work, room);
  int64_t size = 0, i = 0;
  U limit = 0;  // key of the k-th best so far; later elements must be above it
  for (int64_t first = std::min(n, room); i < first; ++i) pool.put(size++, Order<T>::key(in[i]), i);
  while (i < n) {
    if (size >= enough) {  // a tighter limit skips more
      limit = pool.keep_best(size, k);
      size = k;
    }
    i = Filter<T>::next(in, i, n, static_cast<S>(limit ^ Order<T>::kSign));
    for (int64_t end = std::min(n, i + kBlock); i < end; ++i) {
      const U key = Order<T>::key(in[i]);
      pool.put(size, key, i);  // counts if it is above
      size += key > limit;
    }
  }
  pool.emit_best(size, k, emit);
}

// The few best are kept in order where they are so few of n; more are sorted sooner (a Zen 3: 24 of 50 in .55 of the
// time).
constexpr int64_t kFewOfShort = 4, kFewOfLong = 100;
// A pool is kept of one in so many at most; of more the row is divided whole, or sorted. (An Emerald Rapids, one thread:
// 125 of 1000 take half of the time by division, 60,000 of 10^6 as long; of 64-bit numbers 60 of 1000 .6 by a pool, 200
// as long.)
constexpr int64_t kPoolOfPacked = 32, kPoolOfWide = 8;

// ptrs [in, values, indices, work], params [n, k, rows_per_piece, index_bytes]
template <class T, template <class> class Filter>
struct TopKOf {
  using U = UInt<T>;
  static void run(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    int64_t n = params[0], k = params[1];
    int64_t bytes = (2 * n * 16 + 63) / 64 * 64;
    char* work = static_cast<char*>(ptrs[3]) + (params[2] > 0 ? lo / params[2] : 0) * bytes;
    for (int64_t row = lo; row < hi && k > 0; ++row) {
      const U* in = static_cast<const U*>(ptrs[0]) + row * n;
      U* values = static_cast<U*>(ptrs[1]) + row * k;
      auto emit = [&](int64_t rank, int64_t index) {
        values[rank] = in[index];
        if (params[3] == 8) static_cast<int64_t*>(ptrs[2])[row * k + rank] = index;
        else static_cast<int32_t*>(ptrs[2])[row * k + rank] = static_cast<int32_t>(index);
      };
      const bool packed = sizeof(U) <= 4 && n <= UINT32_MAX && sorts_packed();
      const int64_t few = packed ? std::min<int64_t>(Filter<T>::kMost, kFewOfShort + n / kFewOfLong) : Filter<T>::kMost;
      if (k <= few && Filter<T>::few(in, n, k, emit)) continue;
      const bool pools = n >= 512 && k <= n / (packed ? kPoolOfPacked : kPoolOfWide);
      if (pools && packed) select_from_row<T, Filter, PackedPool>(in, n, k, work, emit);
      else if (pools) select_from_row<T, Filter, CandidatePool>(in, n, k, work, emit);
      else if (packed) sort_packed_row<T>(in, n, k, work, emit);
      else sort_whole_row<T>(in, n, k, work, emit);
    }
  }
};

template <template <class> class Filter>
struct Width {
  template <class T>
  struct TopK : TopKOf<T, Filter> {};
  static void add() {
    add_family<TopK>("top_k", Floats{});
    add_family<TopK>("top_k", Integers{});
    add_family<TopK>("top_k", TypeList<bool>{});
  }
};

}  // namespace

void add_top_k_routines() {
#if defined(__x86_64__)
  if (cpu_level() == 2) return Width<avx512::Filter>::add();
  if (cpu_level() == 1) return Width<avx2::Filter>::add();
#endif
  Width<any_cpu::Filter>::add();
}

}  // namespace jitney
