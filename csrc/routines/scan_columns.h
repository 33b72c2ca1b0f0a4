// The scan of columns side by side: rows are walked in memory order, sums of columns stay in the first cache. Included
// by scan_kernels.h.
//
// In: rows in scanning order, `step` elements apart; a row of what comes before. Out: the scan, and the total of the
// columns. Invariant: a column's result does not depend on the columns beside it.

constexpr int64_t kStripBytes = 8192;  // of columns walked together: as much again for what comes before
template <class A>
constexpr int64_t kStrip = kStripBytes / static_cast<int64_t>(sizeof(A));

// One row. Four vectors are read before the first is written, and written before the totals are: what is read and
// written passes the caches as in a copy (1024 x 1024 f32 in the third cache, by one thread: 72 GB/s read and written,
// a copy 82; two rows together 60, for as many streams are prefetched worse; blocks of 256 columns 20).
template <class Code, class Op, bool kWrite>
static void scan_columns_of_row(const typename Code::Stored* in, typename Code::Stored* out, int64_t width,
                                const typename Code::Computed* before, typename Code::Computed* total) {
  using E = typename Code::Stored;
  using A = typename Code::Computed;
  int64_t j = 0;
  if constexpr (sizeof(E) == sizeof(A)) {
    constexpr int kLanes = Vec<A>::kLanes, kTogether = 4;
    for (; j + kTogether * kLanes <= width; j += kTogether * kLanes) {
      V<A> sum[kTogether];
#pragma GCC unroll 4
      for (int u = 0; u < kTogether; ++u)
        sum[u] = Op::apply(load<A>(total + j + u * kLanes), Code::in(load<E>(in + j + u * kLanes)));
#pragma GCC unroll 4
      for (int u = 0; kWrite && u < kTogether; ++u)
        store<E>(out + j + u * kLanes, Code::out(Op::apply(load<A>(before + j + u * kLanes), sum[u])));
#pragma GCC unroll 4
      for (int u = 0; u < kTogether; ++u) store<A>(total + j + u * kLanes, sum[u]);
    }
  }
#pragma GCC ivdep
  for (int64_t i = j; i < width; ++i) {
    total[i] = Op::apply(total[i], Code::in(in[i]));
    if (kWrite) out[i] = Code::out(Op::apply(before[i], total[i]));
  }
}

// Without kWrite the total alone is wanted.
template <class Code, class Op, bool kWrite>
static void scan_columns(const typename Code::Stored* in, typename Code::Stored* out, int64_t rows, int64_t step,
                         int64_t width, const typename Code::Computed* before, typename Code::Computed* total) {
  for (int64_t k = 0; k < rows; ++k)
    scan_columns_of_row<Code, Op, kWrite>(in + k * step, out + k * step, width, before, total);
}
