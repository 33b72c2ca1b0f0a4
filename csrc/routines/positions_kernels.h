// Inner loops of positions.cpp for AVX-512. Included inside a namespace and a target block (vector_target.h).
//
// `k` is the next place of `out`, `end` the end of what this piece may write: whole vectors are stored while they fit.

static JITNEY_INLINE inline uint64_t true_bits(const uint8_t* mask, int64_t n) {
  if (n >= 64) {
    __m512i x = _mm512_loadu_si512(mask);
    return _mm512_test_epi8_mask(x, x);
  }
  uint8_t part[64] = {};  // a masked load of a page that does not exist would take hundreds of cycles
  memcpy(part, mask, static_cast<size_t>(n));
  __m512i x = _mm512_loadu_si512(part);
  return _mm512_test_epi8_mask(x, x);
}

static JITNEY_INLINE inline int64_t put_lanes(int32_t* out, int64_t k, int64_t end, uint32_t bits, __m512i v) {
  __mmask16 lanes = static_cast<__mmask16>(bits);
  if (k + 16 <= end) _mm512_storeu_si512(out + k, _mm512_maskz_compress_epi32(lanes, v));
  else _mm512_mask_compressstoreu_epi32(out + k, lanes, v);
  return k + __builtin_popcount(lanes);
}

static JITNEY_INLINE inline int64_t put_lanes(int64_t* out, int64_t k, int64_t end, uint32_t bits, __m512i v) {
  __mmask8 lanes = static_cast<__mmask8>(bits);
  if (k + 8 <= end) _mm512_storeu_si512(out + k, _mm512_maskz_compress_epi64(lanes, v));
  else _mm512_mask_compressstoreu_epi64(out + k, lanes, v);
  return k + __builtin_popcount(lanes);
}

static JITNEY_INLINE inline __m512i count_up(int32_t from) {
  return _mm512_add_epi32(_mm512_set1_epi32(from),
                          _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
}
static JITNEY_INLINE inline __m512i count_up(int64_t from) {
  return _mm512_add_epi64(_mm512_set1_epi64(from), _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7));
}

// Positions first + i at which mask[i], i < n; the new k.
template <class I>
static int64_t positions(const uint8_t* mask, int64_t n, int64_t first, I* out, int64_t k, int64_t end) {
  constexpr int kLanes = 64 / static_cast<int>(sizeof(I));
  for (int64_t i = 0; i < n && k < end; i += 64) {
    uint64_t bits = true_bits(mask + i, n - i);
    for (int part = 0; bits != 0; part += kLanes, bits >>= kLanes)
      k = put_lanes(out, k, end, static_cast<uint32_t>(bits & ((uint64_t{1} << kLanes) - 1)),
                    count_up(static_cast<I>(first + i + part)));
  }
  return k;
}

// Elements of x (all n of them can be read) at which mask holds.
template <class I>
static int64_t compress(const uint8_t* mask, const I* x, int64_t n, I* out, int64_t k, int64_t end) {
  constexpr int kLanes = 64 / static_cast<int>(sizeof(I));
  for (int64_t i = 0; i < n && k < end; i += 64) {
    uint64_t bits = true_bits(mask + i, n - i);
    const I* from = x + i;
    I part[64];
    if (n - i < 64) {
      memcpy(part, from, static_cast<size_t>(n - i) * sizeof(I));
      from = part;
    }
    for (int at = 0; bits != 0; at += kLanes, bits >>= kLanes)
      k = put_lanes(out, k, end, static_cast<uint32_t>(bits & ((uint64_t{1} << kLanes) - 1)),
                    _mm512_loadu_si512(from + at));
  }
  return k;
}

// `count` copies of x from out[k] on.
static JITNEY_INLINE inline void fill(uint32_t x, uint32_t* out, int64_t k, int64_t count, int64_t end) {
  __m512i v = _mm512_set1_epi32(static_cast<int32_t>(x));
  for (int64_t i = 0; i < count; i += 16) {
    if (k + i + 16 <= end) _mm512_storeu_si512(out + k + i, v);
    else for (int64_t j = i; j < count; ++j) out[k + j] = x;
    if (k + i + 16 > end) return;
  }
}
static JITNEY_INLINE inline void fill(uint64_t x, uint64_t* out, int64_t k, int64_t count, int64_t end) {
  __m512i v = _mm512_set1_epi64(static_cast<int64_t>(x));
  for (int64_t i = 0; i < count; i += 8) {
    if (k + i + 8 <= end) _mm512_storeu_si512(out + k + i, v);
    else for (int64_t j = i; j < count; ++j) out[k + j] = x;
    if (k + i + 8 > end) return;
  }
}

// Row i of the source, lo <= i < hi, from out[ends[i - 1]] to out[ends[i]].
template <class E>
static void repeat(const E* source, const int64_t* ends, E* out, int64_t lo, int64_t hi) {
  int64_t k = lo > 0 ? ends[lo - 1] : 0, end = ends[hi - 1];
  for (int64_t i = lo; i < hi; ++i) {
    fill(source[i], out, k, ends[i] - k, end);
    k = ends[i];
  }
}
