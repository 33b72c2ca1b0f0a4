// Searches in a sorted row, a value in each lane, for one vector width. Included by count.cpp, once a width of 32 or 64
// bytes, inside a namespace that defines kVectorBytes.
//
// In: a SearchPlan, values of 4 or 8 bytes. Out: their ranks. All lanes halve alike. The first steps pick what they
// compare with out of one or two registers, the others gather it.

template <class T>
struct Search {
  using U = UInt<T>;
  using W = V<U>;
  static constexpr int kLanes = Vec<U>::kLanes;
  static constexpr int kBeside = 4;  // vectors whose loads wait side by side
  // Steps whose nodes are in registers: eight at most of 64 bytes, where a pick out of two is one instruction, two of 32.
  // Four lanes of 64 bits pick nothing so.
  static constexpr int kPicked = kVectorBytes == 64 ? (kLanes == 16 ? 8 : 7) : kLanes == 8 ? 5 : 0;

  static JITNEY_INLINE W picked(const U* nodes, int step, W path) {
    const bool one = 1 << step <= kLanes;
    if constexpr (kVectorBytes == 64) {
      if (one) return of_two(nodes, nodes, path);
      W found = of_two(nodes, nodes + kLanes, path);
      for (U k = 2 * kLanes; k < U{1} << step; k += 2 * kLanes) {  // the last pair that begins before it
        const W from_here = (W)(path >= k);
        found = (found & ~from_here) | (of_two(nodes + k, nodes + k + kLanes, path) & from_here);
      }
      return found;
    } else if constexpr (sizeof(U) == 4) {
      const W low = (W)_mm256_permutevar8x32_epi32((__m256i)load<U>(nodes), (__m256i)path);
      if (one) return low;
      const W high = (W)_mm256_permutevar8x32_epi32((__m256i)load<U>(nodes + kLanes), (__m256i)path);
      const W above = (W)(path >= U(kLanes));
      return (low & ~above) | (high & above);
    } else {
      return path;  // never: kPicked is 0
    }
  }

  // Element path of two vectors' (its higher bits are not looked at).
  static JITNEY_INLINE W of_two(const U* low, const U* high, W path) {
    const __m512i a = (__m512i)load<U>(low), b = (__m512i)load<U>(high);
    if constexpr (sizeof(U) == 4) return (W)_mm512_permutex2var_epi32(a, (__m512i)path, b);
    else return (W)_mm512_permutex2var_epi64(a, (__m512i)path, b);
  }

  static JITNEY_INLINE W gathered(const U* row, W at) {
    if constexpr (kVectorBytes == 64) {
      if constexpr (sizeof(U) == 4) return (W)_mm512_i32gather_epi32((__m512i)at, row, 4);
      else return (W)_mm512_i64gather_epi64((__m512i)at, row, 8);
    } else {
      if constexpr (sizeof(U) == 4)
        return (W)_mm256_i32gather_epi32(reinterpret_cast<const int*>(row), (__m256i)at, 4);
      else return (W)_mm256_i64gather_epi64(reinterpret_cast<const long long*>(row), (__m256i)at, 8);
    }
  }

  // Order<T>::loose_key of each lane.
  static JITNEY_INLINE W keys(W bits) {
    constexpr U kSign = Order<T>::kSign;
    if constexpr (IsFloat<T>::value) {
      const W size = bits & U(~kSign), negative = W{} - (bits >> (8 * sizeof(U) - 1));
      const W key = bits ^ (negative | kSign);
      const W nan = (W)(size > static_cast<U>(infinity_bits<T>())), zero = (W)(size == U(0));
      return (key | nan | (zero & kSign)) & (~zero | kSign);
    } else {
      return std::is_signed<T>::value ? bits ^ kSign : bits;
    }
  }

  template <bool kRight>
  static JITNEY_INLINE W goes_right(W node, W want) {  // all ones where it does
    return kRight ? (W)(node <= want) : (W)(node < want);
  }

  // Ranks of kBeside vectors of values.
  template <bool kRight>
  static JITNEY_INLINE void ranks(const SearchPlan<T>& plan, const U* values, W* first) {
    W want[kBeside], path[kBeside];
    for (int j = 0; j < kBeside; ++j) {
      want[j] = keys(load<U>(values + j * kLanes));
      path[j] = first[j] = W{};
    }
    int step = 0;
    for (; step < plan.steps && step < kPicked; ++step) {
      const U* nodes = plan.nodes + (1 << step) - 1;
      const U far = static_cast<U>(plan.lengths[step] - plan.lengths[step + 1]);
      for (int j = 0; j < kBeside; ++j) {
        const W right = goes_right<kRight>(picked(nodes, step, path[j]), want[j]);
        path[j] = path[j] + path[j] - right;
        first[j] += right & far;
      }
    }
    for (int64_t length = plan.lengths[step], half; length > 0; length = half) {
      half = length / 2;
      for (int j = 0; j < kBeside; ++j) {
        const W right = goes_right<kRight>(keys(gathered(plan.row + half, first[j])), want[j]);
        first[j] += right & static_cast<U>(length - half);
      }
    }
  }
};

template <class T, bool kRight, class I>
static void search(const SearchPlan<T>& plan, const UInt<T>* values, int64_t count, I* out) {
  using One = Search<T>;
  typedef I Ranks __attribute__((vector_size(sizeof(I) * One::kLanes), aligned(sizeof(I))));
  constexpr int64_t kAtOnce = One::kLanes * One::kBeside;
  typename One::W first[One::kBeside];
  UInt<T> rest[kAtOnce] = {};
  I found[kAtOnce];
  for (int64_t i = 0; i < count; i += kAtOnce) {
    const bool whole = count - i >= kAtOnce;
    const size_t left = static_cast<size_t>(whole ? kAtOnce : count - i);
    if (!whole) memcpy(rest, values + i, left * sizeof *rest);
    One::template ranks<kRight>(plan, whole ? values + i : rest, first);
    I* to = whole ? out + i : found;
    for (int j = 0; j < One::kBeside; ++j) {
      const Ranks ranks = __builtin_convertvector(first[j], Ranks);
      memcpy(to + j * One::kLanes, &ranks, sizeof ranks);
    }
    if (!whole) memcpy(out + i, found, left * sizeof *found);
  }
}
