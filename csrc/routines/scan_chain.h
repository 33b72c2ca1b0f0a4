// The chunks of a long axis, one after another by one thread or together by several. Included by scan_kernels.h.
//
// In: a slab. Out: its scan. Invariant: what comes before chunk c is ((t0 + t1) + t2) ... of the totals before it, in
// that order, whoever adds them: bits do not depend on the threads.
//
// Chunks are taken in order, whichever piece the pool hands out, so a thread waits for threads that are at work. Each
// chunk has a link of its own, where its total appears as soon as somebody knows it, and then the sum up to its end
// (decoupled look-back: Merrill and Garland 2016). Who comes to a chunk before whose all totals are known scans it at
// once; who does not forms its total first (the scan then reads it from the second cache). So of two threads one does
// the first and one the second, and what either asks for was stored long before. One sum that is handed on from chunk
// to chunk is not yet there when the next chunk is begun, least of all where a line takes 400 ns from one core to the
// other: both threads then form totals of all (10^6 f32: 78 us instead of 50).

enum Known : int64_t { kNothing, kTotal, kSum };  // of a chunk: its total; the sum up to its end too

// In memory followed by the total and the sum, `width` elements each, up to the end of a line.
struct Link {
  std::atomic<int64_t> known{kNothing};
  template <class A>
  A* total() { return reinterpret_cast<A*>(this + 1); }
  template <class A>
  A* sum(int64_t width) { return total<A>() + width; }
};

template <class Code>
struct Chain {
  using A = typename Code::Computed;
  Slab<Code> slab;
  int64_t link_bytes;
  void* memory;
  alignas(64) std::atomic<int64_t> taken{0};  // chunks that somebody has begun

  explicit Chain(const Slab<Code>& s) : slab(s) {
    const int64_t bytes = static_cast<int64_t>(sizeof(Link)) + 2 * s.width * static_cast<int64_t>(sizeof(A));
    link_bytes = (bytes + kLine - 1) / kLine * kLine;
    memory = std::malloc(static_cast<size_t>(s.chunks() * link_bytes + kLine));
    for (int64_t c = 0; memory && c < s.chunks(); ++c) new (link(c)) Link;
  }
  ~Chain() { std::free(memory); }
  Link* link(int64_t c) const {
    const auto start = (reinterpret_cast<uintptr_t>(memory) + kLine - 1) / kLine * kLine;
    return reinterpret_cast<Link*>(start + static_cast<uintptr_t>(c * link_bytes));
  }
  static constexpr int64_t kLine = 64;
};

// Whether what comes before chunk c can be told, waiting for it or not. `first`: the first chunk whose total that needs.
template <bool kWait, class Code>
static bool is_told(const Chain<Code>& chain, int64_t c, int64_t* first) {
  for (*first = c; *first > 0; --*first) {
    const std::atomic<int64_t>* known = &chain.link(*first - 1)->known;
    if (kWait) wait_until_not(known, kNothing);
    const int64_t state = known->load(std::memory_order_acquire);
    if (state != kTotal) return state == kSum;
  }
  return true;
}

template <class Code, class Op>
static void tell_before(const Chain<Code>& chain, int64_t c, int64_t first, typename Code::Computed* before) {
  using A = typename Code::Computed;
  const int64_t width = chain.slab.width;
  if (first > 0) memcpy(before, chain.link(first - 1)->template sum<A>(width), static_cast<size_t>(width) * sizeof(A));
  else clear<Op>(before, width);
  for (int64_t k = first; k < c; ++k) combine<Op>(before, chain.link(k)->template total<A>(), width);
}

// The sum up to the end of chunk c, for those who come after it.
template <class Code, class Op>
static void tell_sum(const Chain<Code>& chain, int64_t c, const typename Code::Computed* before,
                     const typename Code::Computed* total) {
  using A = typename Code::Computed;
  const int64_t width = chain.slab.width;
  A* sum = chain.link(c)->template sum<A>(width);
  memcpy(sum, before, static_cast<size_t>(width) * sizeof(A));
  combine<Op>(sum, total, width);
  chain.link(c)->known.store(kSum, std::memory_order_release);
}

template <class Code, class Op, bool kReverse>
static void scan_link(const Chain<Code>& chain, int64_t c) {
  using A = typename Code::Computed;
  const Slab<Code>& s = chain.slab;
  alignas(64) A before[kStrip<A>], total[kStrip<A>];
  int64_t first;
  clear<Op>(total, s.width);
  if (is_told<false>(chain, c, &first)) {
    tell_before<Code, Op>(chain, c, first, before);
    scan_chunk<Code, Op, kReverse, true>(s, c, before, total);
    tell_sum<Code, Op>(chain, c, before, total);
  } else {
    scan_chunk<Code, Op, kReverse, false>(s, c, total, total);
    memcpy(chain.link(c)->template total<A>(), total, static_cast<size_t>(s.width) * sizeof(A));
    chain.link(c)->known.store(kTotal, std::memory_order_release);
    is_told<true>(chain, c, &first);
    tell_before<Code, Op>(chain, c, first, before);
    tell_sum<Code, Op>(chain, c, before, total);
    clear<Op>(total, s.width);
    scan_chunk<Code, Op, kReverse, true>(s, c, before, total);
  }
  fence_far_stores(s.far);
}

template <class Code, class Op, bool kReverse>
static void scan_links(void* context, int64_t lo, int64_t hi) {
  auto* chain = static_cast<Chain<Code>*>(context);
  for (int64_t k = lo; k < hi; ++k)
    scan_link<Code, Op, kReverse>(*chain, chain->taken.fetch_add(1, std::memory_order_relaxed));
}

template <class Code, class Op, bool kReverse>
static void scan_by_one_thread(const Slab<Code>& s) {
  using A = typename Code::Computed;
  alignas(64) A before[kStrip<A>], total[kStrip<A>];
  clear<Op>(before, s.width);
  for (int64_t c = 0; c < s.chunks(); ++c) {
    clear<Op>(total, s.width);
    scan_chunk<Code, Op, kReverse, true>(s, c, before, total);
    combine<Op>(before, total, s.width);
  }
  fence_far_stores(s.far);
}

template <class Code, class Op, bool kReverse>
static void scan_in_chunks(const Slab<Code>& s) {
  const int64_t bytes = s.n * s.width * static_cast<int64_t>(sizeof(typename Code::Stored));
  if (bytes < kParallelBytes || !pool_is_free()) return scan_by_one_thread<Code, Op, kReverse>(s);
  Chain<Code> chain(s);
  if (!chain.memory) return scan_by_one_thread<Code, Op, kReverse>(s);
  pool_parallel_for(s.chunks(), 1, scan_links<Code, Op, kReverse>, &chain);
}
