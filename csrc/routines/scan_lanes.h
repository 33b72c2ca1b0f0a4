// The scan of neighbours: rows of 1, 2, 4 or 8 columns, many of which make up a vector. Included by scan_kernels.h.
//
// In: n elements (whole rows) in memory order, what comes before them, a total to add to. Out: the scan, the total.
// Invariant: the total is formed in the same order whether the scan is written or not.

enum Part { kScanOnly, kTotalOnly, kScanAndTotal };

template <class Code, class Op, bool kReverse, int kColumns, Part kPart>
static void scan_rest(const typename Code::Stored* in, typename Code::Stored* out, int64_t n,
                      typename Code::Computed* before, typename Code::Computed* total) {
  for (int64_t k = 0; k < n; k += kColumns) {
    int64_t i = kReverse ? n - kColumns - k : k;
    for (int j = 0; j < kColumns; ++j) {
      const auto x = Code::in(in[i + j]);
      if (kPart != kScanOnly) total[j] = Op::apply(total[j], x);
      if (kPart == kTotalOnly) continue;
      before[j] = Op::apply(before[j], x);
      out[i + j] = Code::out(before[j]);
    }
  }
}

// Columns repeated over a vector.
template <class A, int kColumns>
static JITNEY_INLINE inline V<A> repeat_columns(const A* columns) {
  if constexpr (kColumns == 1) return splat_exact<A>(*columns);
  A lanes[Vec<A>::kLanes];
  for (int i = 0; i < Vec<A>::kLanes; ++i) lanes[i] = columns[i % kColumns];
  return load<A>(lanes);
}

// The last vector of each step, for the lanes that the next one takes from it.
template <class A>
struct Behind {
  V<A> v[4];
};

// Lane i of the result: the operation on the last `lanes` elements of its column up to it, those of the vector before
// included, in log2(lanes / columns) steps. So what was written for the vector before is combined with it lane by lane,
// and nothing is broadcast (Zen 4, rows of 2048 f32 in the first cache: 36 GB/s read and written with a scan of each
// vector by itself, 60 so). Every other sum is one of products by `one`: shuffles take time of the units that add.
//
// With kReread the first step's lanes come from memory instead, as `shifted`: shuffles are what a scan has most of (Zen 4,
// 1024 x 1024 f32 in rows by one thread, written in C: 121 us by shuffles alone, 105 so).
template <class A, class Op, bool kReverse, int kColumns, bool kReread>
static JITNEY_INLINE inline V<A> window_of(V<A> v, V<A> shifted, V<A> one, Behind<A>& behind) {
  auto step = [&](int i, V<A> moved) JITNEY_INLINE {
    const V<A> sum = Op::kIsSum && i % 2 == 0 ? add_product<A>(moved, one, v) : Op::apply(moved, v);
    behind.v[i] = v;
    v = sum;
  };
  constexpr int kLanes = Vec<A>::kLanes;
  if constexpr (kReread) v = Op::kIsSum ? add_product<A>(shifted, one, v) : Op::apply(shifted, v);
  constexpr int kFrom = kReread ? 2 * kColumns : kColumns;
  if constexpr (kFrom <= 1 && kLanes > 1) step(0, shift_in<A, 1, kReverse>(behind.v[0], v));
  if constexpr (kFrom <= 2 && kLanes > 2) step(1, shift_in<A, 2, kReverse>(behind.v[1], v));
  if constexpr (kFrom <= 4 && kLanes > 4) step(2, shift_in<A, 4, kReverse>(behind.v[2], v));
  if constexpr (kFrom <= 8 && kLanes > 8) step(3, shift_in<A, 8, kReverse>(behind.v[3], v));
  return v;
}

// Whole vectors. A total needs few lanes' sums, which two vectors keep.
template <class Code, class Op, bool kReverse, int kColumns, Part kPart>
static void scan_whole(const typename Code::Stored* in, typename Code::Stored* out, int64_t n,
                       typename Code::Computed* before, typename Code::Computed* total, bool far) {
  using E = typename Code::Stored;
  using A = typename Code::Computed;
  constexpr int kLanes = Vec<A>::kLanes;
  const V<A> id = splat_exact<A>(Op::identity());
  V<A> last = repeat_columns<A, kColumns>(before), even = id, odd = id;
  Behind<A> behind = {{id, id, id, id}};
  const V<A> one = hidden_one<A>();
  far = far && is_aligned(out);
  auto step = [&](auto reread, int64_t k, V<A>& sum) JITNEY_INLINE {
    const int64_t i = kReverse ? n - kLanes - k : k;
    const V<A> v = Code::in(load<E>(in + i));
    if (kPart != kScanOnly) sum = Op::apply(sum, v);
    if (kPart == kTotalOnly) return;
    V<A> shifted = v;
    if constexpr (reread) shifted = load<E>(in + i + (kReverse ? kColumns : -kColumns));
    last = Op::apply(last, window_of<A, Op, kReverse, kColumns, reread>(v, shifted, one, behind));
    store_far<E>(out + i, Code::out(last), far);
  };
  auto steps = [&](auto reread, int64_t k) JITNEY_INLINE {
    for (; k + 2 * kLanes <= n; k += 2 * kLanes) {
      step(reread, k, even);
      step(reread, k + kLanes, odd);
    }
    if (k < n) step(reread, k, even);
  };
  constexpr std::bool_constant<Code::kPlain && kColumns < kLanes> kYes{};
  constexpr std::false_type kNo{};
  if (kYes && kPart != kTotalOnly && in != out && n > kLanes) {  // the first vector has none before it
    step(kNo, 0, even);
    step(kYes, kLanes, odd);
    steps(kYes, 2 * kLanes);
  } else {
    steps(kNo, 0);
  }
  A lanes[kLanes];  // elements of vectors by number would keep those in memory, in the loop as well
  store<A>(lanes, last);
  for (int j = 0; j < kColumns; ++j) before[j] = lanes[kReverse ? j : kLanes - kColumns + j];
  if (kPart == kScanOnly) return;
  store<A>(lanes, Op::apply(even, odd));
  for (int i = 0; i < kLanes; ++i) total[i % kColumns] = Op::apply(total[i % kColumns], lanes[i]);
}

// Where only the total is wanted, nothing is written to `out`.
template <class Code, class Op, bool kReverse, int kColumns, Part kPart>
static void scan_lanes(const typename Code::Stored* in, typename Code::Stored* out, int64_t n,
                       typename Code::Computed* before, typename Code::Computed* total, bool far = false) {
  using A = typename Code::Computed;
  if constexpr (sizeof(A) < 4 || sizeof(typename Code::Stored) != sizeof(A)) {
    scan_rest<Code, Op, kReverse, kColumns, kPart>(in, out, n, before, total);
  } else {
    const int64_t whole = n / Vec<A>::kLanes * Vec<A>::kLanes;
    if (kReverse) scan_rest<Code, Op, kReverse, kColumns, kPart>(in + whole, out + whole, n - whole, before, total);
    scan_whole<Code, Op, kReverse, kColumns, kPart>(in, out, whole, before, total, far);
    if (!kReverse) scan_rest<Code, Op, kReverse, kColumns, kPart>(in + whole, out + whole, n - whole, before, total);
  }
}

// A null total: it is not wanted.
template <class Code, class Op, bool kReverse, int kColumns, bool kWrite>
static void scan_neighbours(const typename Code::Stored* in, typename Code::Stored* out, int64_t n,
                            const typename Code::Computed* before, typename Code::Computed* total, bool far) {
  typename Code::Computed carry[kColumns];
  for (int j = 0; j < kColumns; ++j) carry[j] = before[j];
  if (!kWrite) scan_lanes<Code, Op, kReverse, kColumns, kTotalOnly>(in, out, n, carry, total);
  else if (!total) scan_lanes<Code, Op, kReverse, kColumns, kScanOnly>(in, out, n, carry, total, far);
  else scan_lanes<Code, Op, kReverse, kColumns, kScanAndTotal>(in, out, n, carry, total, far);
}
