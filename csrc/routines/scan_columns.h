// The scan of columns side by side: rows are walked in memory order, sums of columns stay in the first cache. Included
// by scan_kernels.h.
//
// In: rows in scanning order, `step` elements apart; a row of what comes before. Out: the scan, and the total of the
// columns. Invariant: a column's result does not depend on the columns beside it.
//
// Blocks of columns of an array in a cache are walked from the first row to the last, each row added to the result of
// the one before it (see scan_block). Arrays in memory are better read in chunks of rows (4096 x 4096: 7.0 ms in blocks,
// 5.2 by rows).

// Of columns walked together; as much again for what comes before. Rows from memory should be walked whole (running sums
// of the columns of 4096 x 4096 f32: 3.6 ms in one strip, 4.5 in two).
constexpr int64_t kStripBytes = 16384;
template <class A>
constexpr int64_t kStrip = kStripBytes / static_cast<int64_t>(sizeof(A));

// One row. Four vectors are read before the first is written, and written before the totals are: what is read and
// written passes the caches as in a copy (1024 x 1024 f32 in the third cache, by one thread: 72 GB/s read and written,
// a copy 82; two rows together 60, for as many streams are prefetched worse; blocks of 256 columns 20).
template <class Code, class Op, bool kWrite>
static void scan_columns_of_row(const typename Code::Stored* in, typename Code::Stored* out, int64_t width,
                                const typename Code::Computed* before, typename Code::Computed* total, bool far) {
  using E = typename Code::Stored;
  using A = typename Code::Computed;
  int64_t j = 0;
  far = far && is_aligned(out);
  if constexpr (sizeof(E) == sizeof(A)) {
    constexpr int kLanes = Vec<A>::kLanes, kTogether = 4;
    for (; j + kTogether * kLanes <= width; j += kTogether * kLanes) {
      V<A> sum[kTogether];
#pragma GCC unroll 4
      for (int u = 0; u < kTogether; ++u)
        sum[u] = Op::apply(load<A>(total + j + u * kLanes), Code::in(load<E>(in + j + u * kLanes)));
#pragma GCC unroll 4
      for (int u = 0; kWrite && u < kTogether; ++u)
        store_far<E>(out + j + u * kLanes, Code::out(Op::apply(load<A>(before + j + u * kLanes), sum[u])), far);
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

// Parts of a vector.
template <class A, int kCount>
using Few __attribute__((vector_size(kCount * sizeof(A)))) = A;

// A few columns, from the first row to the last: `T` is a vector of them, or one.
template <class Code, class Op, bool kWrite, class T, int kCount>
static void scan_down(const typename Code::Stored* in, typename Code::Stored* out, int64_t rows, int64_t step,
                      const typename Code::Computed* before, typename Code::Computed* total, bool far) {
  using E = typename Code::Stored;
  constexpr int64_t kLanes = sizeof(T) / sizeof(typename Code::Computed);
  T prior[kCount], sum[kCount];
#pragma GCC unroll 4
  for (int u = 0; u < kCount; ++u) {
    memcpy(&prior[u], before + u * kLanes, sizeof(T));
    memcpy(&sum[u], total + u * kLanes, sizeof(T));
  }
  for (int64_t k = 0; k < rows; ++k, in += step, out += step) {
#pragma GCC unroll 4
    for (int u = 0; u < kCount; ++u) {
      T x;
      memcpy(&x, in + u * kLanes, sizeof x);
      sum[u] = Op::apply(sum[u], Code::in(x));
      if constexpr (!kWrite) continue;
      const T y = Code::out(Op::apply(prior[u], sum[u]));
      if constexpr (sizeof(T) == kVectorBytes) store_far<E>(out + u * kLanes, y, far);
      else memcpy(out + u * kLanes, &y, sizeof y);
    }
  }
#pragma GCC unroll 4
  for (int u = 0; u < kCount; ++u) memcpy(total + u * kLanes, &sum[u], sizeof(T));
}

// Rows of up to four vectors: a total that is written and read again is not there before the row's other columns are
// done (Zen 5, two threads: 100000 rows of 16 f32 307 us, 83 in registers; of 12 300 and 109, of 3 270 and 170).
template <class Code, class Op, bool kWrite>
static void scan_narrow(const typename Code::Stored* in, typename Code::Stored* out, int64_t rows, int64_t step,
                        int64_t width, const typename Code::Computed* before, typename Code::Computed* total,
                        bool far) {
  using A = typename Code::Computed;
  constexpr int64_t kLanes = Vec<A>::kLanes;
  far = far && is_aligned(out) && step * static_cast<int64_t>(sizeof(A)) % kVectorBytes == 0;
  int64_t j = 0;
  for (; j + 4 * kLanes <= width; j += 4 * kLanes)
    scan_down<Code, Op, kWrite, V<A>, 4>(in + j, out + j, rows, step, before + j, total + j, far);
  for (; j + kLanes <= width; j += kLanes)
    scan_down<Code, Op, kWrite, V<A>, 1>(in + j, out + j, rows, step, before + j, total + j, far);
  if constexpr (kLanes > 8)
    for (; j + 8 <= width; j += 8)
      scan_down<Code, Op, kWrite, Few<A, 8>, 1>(in + j, out + j, rows, step, before + j, total + j, false);
  if constexpr (kLanes > 4)
    for (; j + 4 <= width; j += 4)
      scan_down<Code, Op, kWrite, Few<A, 4>, 1>(in + j, out + j, rows, step, before + j, total + j, false);
  in += j, out += j, before += j, total += j;
  switch (width - j) {
    case 1: return scan_down<Code, Op, kWrite, A, 1>(in, out, rows, step, before, total, far);
    case 2: return scan_down<Code, Op, kWrite, A, 2>(in, out, rows, step, before, total, far);
    case 3: return scan_down<Code, Op, kWrite, A, 3>(in, out, rows, step, before, total, far);
  }
}

// Without kWrite the total alone is wanted.
template <class Code, class Op, bool kWrite>
static void scan_columns(const typename Code::Stored* in, typename Code::Stored* out, int64_t rows, int64_t step,
                         int64_t width, const typename Code::Computed* before, typename Code::Computed* total,
                         bool far = false) {
  if constexpr (sizeof(typename Code::Stored) == sizeof(typename Code::Computed))
    if (width <= 4 * Vec<typename Code::Computed>::kLanes)
      return scan_narrow<Code, Op, kWrite>(in, out, rows, step, width, before, total, far);
  for (int64_t k = 0; k < rows; ++k)
    scan_columns_of_row<Code, Op, kWrite>(in + k * step, out + k * step, width, before, total, far);
}

// kRows rows of a few vectors: what came before them is read where it was written, and carried through the rows in
// registers. Sixteen rows and four vectors are rarely walked in the other thread's way: where runs of 2 KiB or more are
// read and written whole, the caches fetch what follows them, which the other thread is about to write (Zen 4, 1024 x
// 1024 f32 in the third cache, medians: two threads, each a half of the columns row by row 94 us, four rows at a time 93,
// 256 columns from the first row to the last with sums in registers 60 to 69, so 56; a copy 43. One thread, four rows at
// a time: halves 99, 256 columns 106.) The lines that the next columns are written to are asked for: a store waits for
// its own, and those behind it wait, too (an Emerald Rapids, by turns, two threads, several runs: 1024 x 1024 .84
// to .98 of the time, 1000 x 1000 .79 to 1.04, 2048 x 2048 .85 to 1.01; asking for what is read gains nothing; measured
// with lines asked for as if they were read, so they are).
template <class Code, class Op, int kRows, int kVectors>
static void scan_rows_together(const typename Code::Stored* in, typename Code::Stored* out, int64_t step,
                               int64_t width) {
  using A = typename Code::Computed;
  constexpr int64_t kGroup = kVectors * Vec<A>::kLanes;
  for (int64_t j = 0; j + kGroup <= width; j += kGroup) {
    V<A> sum[kVectors];
#pragma GCC unroll 4
    for (int u = 0; u < kVectors; ++u) sum[u] = Code::in(load<A>(out + j - step + u * Vec<A>::kLanes));
    for (int k = 0; k < kRows; ++k) {
#pragma GCC unroll 4
      for (int u = 0; u < kVectors; ++u)
        sum[u] = Op::apply(sum[u], Code::in(load<A>(in + j + k * step + u * Vec<A>::kLanes)));
#pragma GCC unroll 4
      for (int u = 0; u < kVectors; ++u) store<A>(out + j + k * step + u * Vec<A>::kLanes, Code::out(sum[u]));
      if (kVectorBytes == 64 && j + 2 * kGroup <= width)
#pragma GCC unroll 4
        for (int u = 0; u < kVectors; ++u) {
          __builtin_prefetch(out + j + kGroup + k * step + u * Vec<A>::kLanes);
        }
    }
  }
}

// Of rows that lie multiples of 4 KiB apart eight together: what is read and written of sixteen is more than a set of the
// first cache keeps (Zen 5, 1024 x 1024 f32, two threads: 48 us by sixteen, 42 by eight; 1000 x 1000 is level).
template <class Code, class Op, int kVectors>
static void scan_rows(const typename Code::Stored* in, typename Code::Stored* out, int64_t rows, int64_t step,
                      int64_t width) {
  constexpr int kTogether = 16, kInASet = 8;
  const bool in_a_set = step * static_cast<int64_t>(sizeof(*in)) % 4096 == 0;
  int64_t k = 1;
  for (; !in_a_set && k + kTogether <= rows; k += kTogether)
    scan_rows_together<Code, Op, kTogether, kVectors>(in + k * step, out + k * step, step, width);
  for (; in_a_set && k + kInASet <= rows; k += kInASet)
    scan_rows_together<Code, Op, kInASet, kVectors>(in + k * step, out + k * step, step, width);
  for (; k < rows; ++k) scan_rows_together<Code, Op, 1, kVectors>(in + k * step, out + k * step, step, width);
}

// All rows of a few vectors (`down` in README.md): sums stay in registers, what is written goes down the array in runs
// of 1 KiB, and the lines of four rows ahead are asked for. (Zen 5, 1024 x 1024 f32, two threads: 40 to 43 us by rows
// together, 52 where the result lies like the operand in a page, since a set of the first cache holds 12 lines; 36 to
// 37 so. Where the two cores share no third cache, 94 to 107, 46 to 52 so, and 84 to 90 if lines of two or eight rows
// ahead are asked for: caches fetch what follows a run, which the other core asks back for, and that takes 400 ns.)
template <class Code, class Op, int kVectors>
static void scan_down_whole(const typename Code::Stored* in, typename Code::Stored* out, int64_t rows, int64_t step,
                            int64_t width) {
  using A = typename Code::Computed;
  constexpr int64_t kLanes = Vec<A>::kLanes, kGroup = kVectors * kLanes;
  for (int64_t j = 0; j + kGroup <= width; j += kGroup) {
    V<A> sum[kVectors];
#pragma GCC unroll 16
    for (int u = 0; u < kVectors; ++u) sum[u] = Code::in(load<A>(out + j + u * kLanes));
    const A* from = in + j + step;
    A *to = out + j + step, *ahead = to + 4 * step;
    for (int64_t k = 1; k < rows; ++k, from += step, to += step, ahead += step) {
#pragma GCC unroll 16
      for (int u = 0; u < kVectors; ++u) sum[u] = Op::apply(sum[u], Code::in(load<A>(from + u * kLanes)));
#pragma GCC unroll 16
      for (int u = 0; u < kVectors; ++u) store<A>(to + u * kLanes, Code::out(sum[u]));
#pragma GCC unroll 16
      for (int u = 0; u < kVectors; ++u) __builtin_prefetch(ahead + u * kLanes, 1);
    }
  }
}

// A block of `width` columns, all rows, at least one. `before` and `total` are rows of identities.
template <class Code, class Op>
static void scan_block(const typename Code::Stored* in, typename Code::Stored* out, int64_t rows, int64_t step,
                       int64_t width, bool down, const typename Code::Computed* before,
                       typename Code::Computed* total) {
  using A = typename Code::Computed;
  int64_t j = 0;
  if constexpr (sizeof(typename Code::Stored) == sizeof(A)) {
    constexpr int64_t kLanes = Vec<A>::kLanes;
    const int64_t whole = width / kLanes * kLanes;
    for (; j < whole; ++j) out[j] = Code::out(Code::in(in[j]));  // the first row
    int64_t i = 0;
    auto some = [&](auto scan, int64_t vectors) JITNEY_INLINE {
      const int64_t group = vectors * kLanes, columns = (whole - i) / group * group;
      if (columns > 0) scan(in + i, out + i, rows, step, columns);
      i += columns;
    };
    if (kVectorBytes == 64 && down) {
      some(scan_down_whole<Code, Op, 16>, 16);
      some(scan_down_whole<Code, Op, 8>, 8);
    }
    some(scan_rows<Code, Op, 4>, 4);
    some(scan_rows<Code, Op, 1>, 1);
  }
  if (j < width) scan_columns<Code, Op, true>(in + j, out + j, rows, step, width - j, before, total);
}
