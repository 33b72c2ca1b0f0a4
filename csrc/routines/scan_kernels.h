// Cumulative sum, product, maximum and minimum for one vector width. Included by scan.cpp, once a width, inside a
// namespace that defines kVectorBytes.
//
// In: [outer, n, inner]. Out: the scan along n. Invariant: a long axis is cut into chunks by sizes alone; each has a
// scan and a total of its own, and a result is what comes before the chunk combined with the scan inside it. So the
// bits do not depend on which thread does a chunk, nor on whether it was totalled beforehand.

#include "vectors.h"

#include "scan_codes.h"
#include "scan_lanes.h"
#include "scan_columns.h"

constexpr int64_t kChunkBytes = 128 << 10;     // a chunk stays in the second cache
constexpr int64_t kBlockBytes = 1024;          // of columns of a block; all their rows are one chunk
constexpr int64_t kLeastChunk = 16;            // rows: the total of a chunk is little beside it
constexpr int64_t kParallelBytes = 512 << 10;  // less is not worth a second thread

// `width` neighbouring columns of [n, inner].
template <class Code>
struct Slab {
  const typename Code::Stored* in;
  typename Code::Stored* out;
  int64_t n, inner, width, chunk;
  bool far;   // the result goes past the caches
  bool down;  // blocks are walked down
  int64_t chunks() const { return (n + chunk - 1) / chunk; }
};

// Chunk c, counted in scanning order; without kWrite its total alone.
template <class Code, class Op, bool kReverse, bool kWrite>
static void scan_chunk(const Slab<Code>& s, int64_t c, const typename Code::Computed* before,
                       typename Code::Computed* total) {
  constexpr int64_t kLanes = Vec<typename Code::Computed>::kLanes;
  const int64_t first = c * s.chunk, rows = s.n - first < s.chunk ? s.n - first : s.chunk;
  const int64_t low = (kReverse ? s.n - first - rows : first) * s.inner;
  const typename Code::Stored* in = s.in + low;
  typename Code::Stored* out = s.out + low;
  auto* wanted = s.n > s.chunk ? total : nullptr;  // `total` is the sum so far where columns are walked
  if (s.width == s.inner) {
    if (s.inner == 1) return scan_neighbours<Code, Op, kReverse, 1, kWrite>(in, out, rows, before, wanted, s.far);
    if constexpr (kLanes >= 2 && Op::kNarrow)
      if (s.inner == 2) return scan_neighbours<Code, Op, kReverse, 2, kWrite>(in, out, 2 * rows, before, wanted, s.far);
    if constexpr (kLanes >= 4 && Op::kNarrow)
      if (s.inner == 4) return scan_neighbours<Code, Op, kReverse, 4, kWrite>(in, out, 4 * rows, before, wanted, s.far);
    if constexpr (kLanes >= 8 && Op::kNarrow)
      if (s.inner == 8) return scan_neighbours<Code, Op, kReverse, 8, kWrite>(in, out, 8 * rows, before, wanted, s.far);
  }
  const int64_t start = kReverse ? (rows - 1) * s.inner : 0;
  scan_columns<Code, Op, kWrite>(in + start, out + start, rows, kReverse ? -s.inner : s.inner, s.width, before, total,
                                 s.far);
}

template <class Op, class A>
static void clear(A* columns, int64_t width) {
  for (int64_t j = 0; j < width; ++j) columns[j] = Op::identity();
}
template <class Op, class A>
static void combine(A* before, const A* total, int64_t width) {
#pragma GCC ivdep
  for (int64_t j = 0; j < width; ++j) before[j] = Op::apply(before[j], total[j]);
}

#include "scan_chain.h"

// ---- the pieces of [outer, n, inner]: extent = outer * blocks, where blocks of `block` columns make up inner

template <class Code, class Op, bool kReverse>
static void scan_slab(const Slab<Code>& s) {
  using A = typename Code::Computed;
  if (s.n > s.chunk) return scan_in_chunks<Code, Op, kReverse>(s);
  if (s.n <= 0) return;
  alignas(64) A before[kStrip<A>], total[kStrip<A>];
  clear<Op>(before, s.width);
  clear<Op>(total, s.width);
  const bool is_block = s.width < s.inner && s.width * static_cast<int64_t>(sizeof(*s.out)) <= kBlockBytes;
  if (!is_block) {
    scan_chunk<Code, Op, kReverse, true>(s, 0, before, total);
    return fence_far_stores(s.far);
  }
  const int64_t start = kReverse ? (s.n - 1) * s.inner : 0;
  scan_block<Code, Op>(s.in + start, s.out + start, s.n, kReverse ? -s.inner : s.inner, s.width, s.down,
                       before, total);
}

template <class Code, class Op, bool kReverse>
static void scan_pieces(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
  using E = typename Code::Stored;
  constexpr int64_t kMost = kStrip<typename Code::Computed>;
  int64_t n = params[0], inner = params[1], block = params[3];
  if (block <= 0 || block > inner) block = inner;
  const int64_t blocks = inner > 0 ? (inner + block - 1) / block : 1;
  const int64_t rows = inner > 0 ? kChunkBytes / (inner * static_cast<int64_t>(sizeof(E))) : 1;
  const bool far = params[4] && ptrs[0] != ptrs[1];
  const bool is_block = block < inner && block * static_cast<int64_t>(sizeof(E)) <= kBlockBytes;
  const int64_t chunk = !Op::kRegroups || is_block ? n + 1 : rows < kLeastChunk ? kLeastChunk : rows;
  if (inner == 1 && n <= chunk) {  // whole rows: what surrounds one takes 5 % of the time of 1024 f32
    for (int64_t row = lo; row < hi; ++row) {
      typename Code::Computed before = Op::identity();
      scan_lanes<Code, Op, kReverse, 1, kScanOnly>(static_cast<const E*>(ptrs[0]) + row * n,
                                                   static_cast<E*>(ptrs[1]) + row * n, n, &before, nullptr, far);
    }
    return fence_far_stores(far);
  }
  for (int64_t piece = lo; piece < hi; ++piece) {
    const int64_t first = piece % blocks * block, last = first + block < inner ? first + block : inner;
    const int64_t at = piece / blocks * n * inner;
    for (int64_t j = first; j < last; j += kMost) {
      const int64_t width = last - j < kMost ? last - j : kMost;
      const E* in = static_cast<const E*>(ptrs[0]) + at + j;
      scan_slab<Code, Op, kReverse>({in, static_cast<E*>(ptrs[1]) + at + j, n, inner, width, chunk, far,
                                      params[5] != 0});
    }
  }
}

template <class Code, class Op>
static void scan(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
  if (params[2]) scan_pieces<Code, Op, true>(ptrs, params, lo, hi);
  else scan_pieces<Code, Op, false>(ptrs, params, lo, hi);
}

// ---- 16-bit floats are summed in f32, each result rounded once

template <class T>
struct Half {
  static constexpr bool kPlain = false;
  using Stored = T;
  using Computed = float;
  static JITNEY_INLINE inline float in(T v) { return to_float(v); }
  static JITNEY_INLINE inline T out(float f) { return Arithmetic<T>::store(f); }
};

template <class T, class Op, bool kReverse>
static void scan_half_row(const T* in, T* out, int64_t n) {
  constexpr int64_t kChunk = 512;
  float chunk[kChunk], carry = Op::identity();
  int64_t chunks = (n + kChunk - 1) / kChunk;
  for (int64_t c = 0; c < chunks; ++c) {
    int64_t lo = (kReverse ? chunks - 1 - c : c) * kChunk, count = n - lo < kChunk ? n - lo : kChunk;
    for (int64_t j = 0; j < count; ++j) chunk[j] = to_float(in[lo + j]);
    scan_lanes<Plain<float>, Op, kReverse, 1, kScanOnly>(chunk, chunk, count, &carry, nullptr);
    for (int64_t j = 0; j < count; ++j) out[lo + j] = Arithmetic<T>::store(chunk[j]);
  }
}

template <class T, class Op>
static void scan_half(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
  if (params[1] != 1) return scan<Half<T>, Op>(ptrs, params, lo, hi);
  int64_t n = params[0];
  for (int64_t row = lo; row < hi; ++row) {
    const T* in = static_cast<const T*>(ptrs[0]) + row * n;
    T* out = static_cast<T*>(ptrs[1]) + row * n;
    if (params[2]) scan_half_row<T, Op, true>(in, out, n);
    else scan_half_row<T, Op, false>(in, out, n);
  }
}

// ---- one structure per operation, `run` chosen by type

template <class T, template <class> class Op>
struct Arith {
  static void run(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    if constexpr (std::is_same<T, F16>::value || std::is_same<T, BF16>::value)
      scan_half<T, Op<float>>(ptrs, params, lo, hi);
    else if constexpr (std::is_floating_point<T>::value) scan<Plain<T>, Op<T>>(ptrs, params, lo, hi);
    else scan<Plain<UInt<T>>, Op<UInt<T>>>(ptrs, params, lo, hi);
  }
};
template <class T>
struct CumSum : Arith<T, Sum> {};
template <class T>
struct CumProd : Arith<T, Product> {};

template <class T, bool kMax>
struct Extreme {
  static void run(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    using Code = std::conditional_t<IsFloat<T>::value, OrderedFloat<T, kMax>, Plain<T>>;
    using A = typename Code::Computed;
    using Op = std::conditional_t<kMax, Maximum<A>, Minimum<A>>;
    scan<Code, Op>(ptrs, params, lo, hi);
  }
};
template <class T>
struct CumMax : Extreme<T, true> {};
template <class T>
struct CumMin : Extreme<T, false> {};

// Complex sums are sums of twice as many columns.
template <class T, class Part>
struct ComplexSum {
  static void run(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    const int64_t doubled[6] = {params[0], 2 * params[1], params[2], 2 * params[3], params[4], params[5]};
    scan<Plain<Part>, Sum<Part>>(ptrs, doubled, lo, hi);
  }
};

static void add_scans() {
  add_family<CumSum>("cumsum", Floats{});
  add_family<CumSum>("cumsum", Integers{});
  add_family<CumProd>("cumprod", Floats{});
  add_family<CumProd>("cumprod", Integers{});
  add_family<CumMax>("cummax", Floats{});
  add_family<CumMax>("cummax", Integers{});
  add_family<CumMin>("cummin", Floats{});
  add_family<CumMin>("cummin", Integers{});
  add_routine("cumsum_c64", &ComplexSum<C64, float>::run);
  add_routine("cumsum_c128", &ComplexSum<C128, double>::run);
}
