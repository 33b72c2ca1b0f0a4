// Inner loops of positions.cpp for AVX2. Included inside a namespace and a target block (vector_target.h).
//
// AVX2 has no instruction that moves chosen lanes together: which those of eight are is looked up, by eight bits. `k` is
// the next place of `out`, `end` the end of what this piece may write: whole vectors are stored while they fit.

struct Chosen {
  uint8_t of[256][8];  // the set bits of a byte, least first
};

static constexpr Chosen chosen_lanes() {
  Chosen found{};
  for (int bits = 0; bits < 256; ++bits)
    for (int lane = 0, k = 0; lane < 8; ++lane)
      if (bits >> lane & 1) found.of[bits][k++] = static_cast<uint8_t>(lane);
  return found;
}

alignas(64) static constexpr Chosen kChosen = chosen_lanes();

static JITNEY_INLINE inline uint32_t true_bits(const uint8_t* mask) {
  __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(mask));
  return ~static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(x, _mm256_setzero_si256())));
}

static JITNEY_INLINE inline __m128i eight(uint32_t bits) {
  return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(kChosen.of[bits]));
}

static JITNEY_INLINE inline void put(void* out, __m256i v) {
  _mm256_storeu_si256(static_cast<__m256i*>(out), v);
}

// The positions from `first` on of the set ones of eight bits: eight elements of `out` are written.
static JITNEY_INLINE inline void put_positions(int32_t* out, uint32_t bits, int32_t first) {
  put(out, _mm256_add_epi32(_mm256_cvtepu8_epi32(eight(bits)), _mm256_set1_epi32(first)));
}
static JITNEY_INLINE inline void put_positions(int64_t* out, uint32_t bits, int64_t first) {
  __m128i lanes = eight(bits);
  put(out, _mm256_add_epi64(_mm256_cvtepu8_epi64(lanes), _mm256_set1_epi64x(first)));
  put(out + 4, _mm256_add_epi64(_mm256_cvtepu8_epi64(_mm_srli_si128(lanes, 4)), _mm256_set1_epi64x(first)));
}

// The chosen ones of eight elements: eight (of 64 bits: up to four twice) elements of `out` are written.
static JITNEY_INLINE inline void put_elements(int32_t* out, uint32_t bits, const int32_t* x) {
  __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x));
  put(out, _mm256_permutevar8x32_epi32(v, _mm256_cvtepu8_epi32(eight(bits))));
}
static JITNEY_INLINE inline void put_elements(int64_t* out, uint32_t bits, const int64_t* x) {
  for (int half = 0; half < 2; ++half, bits >>= 4, x += 4) {
    __m256i lanes = _mm256_cvtepu8_epi64(eight(bits & 15));  // of pairs of words: 2 i and 2 i + 1
    __m256i words = _mm256_or_si256(_mm256_slli_epi64(lanes, 1), _mm256_slli_epi64(lanes, 33));
    words = _mm256_add_epi32(words, _mm256_set1_epi64x(int64_t{1} << 32));
    put(out, _mm256_permutevar8x32_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(x)), words));
    out += __builtin_popcount(bits & 15);
  }
}

// For all set bits of 32: eight at a time while what is written fits, then one by one. `eight_at(out, bits, at)` and
// `one_at(at)` are told how far the bits lie from the first.
template <class I, class Eight, class One>
static JITNEY_INLINE inline int64_t put_all(uint32_t bits, I* out, int64_t k, int64_t end, Eight eight_at, One one_at) {
  if (k + 32 <= end) {
#pragma GCC unroll 4
    for (int at = 0; at < 32; at += 8) {
      uint32_t part = bits >> at & 255u;
      eight_at(out + k, part, at);
      k += __builtin_popcount(part);
    }
    return k;
  }
  for (; bits != 0 && k < end; bits &= bits - 1) out[k++] = one_at(__builtin_ctz(bits));
  return k;
}

// Positions first + i at which mask[i], i < n; the new k.
template <class I>
static int64_t positions(const uint8_t* mask, int64_t n, int64_t first, I* out, int64_t k, int64_t end) {
  int64_t i = 0;
  for (; i + 32 <= n && k < end; i += 32) {
    uint32_t bits = true_bits(mask + i);
    if (bits == 0) continue;
    auto eight_at = [&](I* to, uint32_t part, int at) { put_positions(to, part, static_cast<I>(first + i + at)); };
    k = put_all(bits, out, k, end, eight_at, [&](int at) { return static_cast<I>(first + i + at); });
  }
  for (; i < n && k < end; ++i) {
    out[k] = static_cast<I>(first + i);
    k += mask[i];
  }
  return k;
}

// Elements of x (all n of them can be read) at which mask holds.
template <class I>
static int64_t compress(const uint8_t* mask, const I* x, int64_t n, I* out, int64_t k, int64_t end) {
  int64_t i = 0;
  for (; i + 32 <= n && k < end; i += 32) {
    uint32_t bits = true_bits(mask + i);
    if (bits == 0) continue;
    auto eight_at = [&](I* to, uint32_t part, int at) { put_elements(to, part, x + i + at); };
    k = put_all(bits, out, k, end, eight_at, [&](int at) { return x[i + at]; });
  }
  for (; i < n && k < end; ++i) {
    out[k] = x[i];
    k += mask[i];
  }
  return k;
}
