// Bytes: bits packed and unpacked, and the first extreme of one-byte elements (signatures in README.md).
#include <cstring>

#include "families.h"
#include "routines.h"
#include "vector_target.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace jitney {

namespace {

// ---- words of 64 bits to and from 64 booleans

inline uint64_t reverse_bits_of_bytes(uint64_t x) {
  x = (x >> 1 & 0x5555555555555555u) | (x & 0x5555555555555555u) << 1;
  x = (x >> 2 & 0x3333333333333333u) | (x & 0x3333333333333333u) << 2;
  return (x >> 4 & 0x0f0f0f0f0f0f0f0fu) | (x & 0x0f0f0f0f0f0f0f0fu) << 4;
}

// Bit i is byte i of eight booleans (0 or 1).
inline uint64_t pack_eight(const uint8_t* x) {
  uint64_t bytes;
  memcpy(&bytes, x, sizeof bytes);
  return bytes * 0x0102040810204080u >> 56;
}

// Byte i is bit i of a byte.
inline uint64_t unpack_eight(uint64_t byte) {
  uint64_t alone = byte * 0x0101010101010101u & 0x8040201008040201u;
  return (alone + 0x7f7f7f7f7f7f7f7fu) >> 7 & 0x0101010101010101u;
}

void pack_words(const uint8_t* in, uint8_t* out, int64_t words, bool big) {
  for (int64_t w = 0; w < words; ++w) {
    uint64_t bits = 0;
#if defined(__SSE2__)
    for (int part = 0; part < 4; ++part) {
      __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + 64 * w + 16 * part));
      uint32_t zeros = static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(x, _mm_setzero_si128())));
      bits |= static_cast<uint64_t>(~zeros & 0xffffu) << (16 * part);
    }
#else
    for (int i = 0; i < 64; ++i) bits |= static_cast<uint64_t>(in[64 * w + i] != 0) << i;
#endif
    if (big) bits = reverse_bits_of_bytes(bits);
    memcpy(out + 8 * w, &bits, sizeof bits);
  }
}

void unpack_words(const uint8_t* in, uint8_t* out, int64_t words, bool big) {
  for (int64_t w = 0; w < words; ++w) {
    uint64_t bits;
    memcpy(&bits, in + 8 * w, sizeof bits);
    if (big) bits = reverse_bits_of_bytes(bits);
    for (int part = 0; part < 8; ++part) {
      uint64_t bytes = unpack_eight(bits >> (8 * part) & 0xffu);
      memcpy(out + 64 * w + 8 * part, &bytes, sizeof bytes);
    }
  }
}

template <class T>
T extreme_of(const T* x, int64_t n, bool greatest) {
  T best = x[0];
  if (greatest) {
    for (int64_t i = 1; i < n; ++i) best = x[i] > best ? x[i] : best;
  } else {
    for (int64_t i = 1; i < n; ++i) best = x[i] < best ? x[i] : best;
  }
  return best;
}

#if defined(__x86_64__)
JITNEY_BEGIN_TARGET_AVX512
namespace avx512 {
// The places of bytes in the other order in each group of eight, or as they are.
inline __m512i places(bool big) {
  return big ? _mm512_set4_epi32(0x08090a0b, 0x0c0d0e0f, 0x00010203, 0x04050607)
             : _mm512_set4_epi32(0x0f0e0d0c, 0x0b0a0908, 0x07060504, 0x03020100);
}

void pack_words(const uint8_t* in, uint8_t* out, int64_t words, bool big) {
  const __m512i order = places(big);
  for (int64_t w = 0; w < words; ++w) {
    __m512i x = _mm512_shuffle_epi8(_mm512_loadu_si512(in + 64 * w), order);
    uint64_t bits = _mm512_test_epi8_mask(x, x);
    memcpy(out + 8 * w, &bits, sizeof bits);
  }
}

void unpack_words(const uint8_t* in, uint8_t* out, int64_t words, bool big) {
  const __m512i order = places(big);
  for (int64_t w = 0; w < words; ++w) {
    uint64_t bits;
    memcpy(&bits, in + 8 * w, sizeof bits);
    _mm512_storeu_si512(out + 64 * w, _mm512_shuffle_epi8(_mm512_maskz_set1_epi8(bits, 1), order));
  }
}

template <class T>
T extreme_of(const T* x, int64_t n, bool greatest) {
  T best = x[0];
  if (greatest) {
    for (int64_t i = 1; i < n; ++i) best = x[i] > best ? x[i] : best;
  } else {
    for (int64_t i = 1; i < n; ++i) best = x[i] < best ? x[i] : best;
  }
  return best;
}
}  // namespace avx512
JITNEY_END_TARGET
#endif

bool has_avx512() {
  static const bool wide = cpu_level() == 2;
  return wide;
}

void pack_any_words(const uint8_t* in, uint8_t* out, int64_t words, bool big) {
#if defined(__x86_64__)
  if (has_avx512()) return avx512::pack_words(in, out, words, big);
#endif
  pack_words(in, out, words, big);
}

void unpack_any_words(const uint8_t* in, uint8_t* out, int64_t words, bool big) {
#if defined(__x86_64__)
  if (has_avx512()) return avx512::unpack_words(in, out, words, big);
#endif
  unpack_words(in, out, words, big);
}

// ---- packbits: ptrs [in (one byte an element, true unless 0), out], params [n, inner, big]; extent: outer * ceil(n / 8)

// `count` bytes from `left` elements side by side; those that are missing are zeros.
void pack_run(const uint8_t* in, int64_t left, uint8_t* out, int64_t count, bool big) {
  int64_t words = (count < left / 8 ? count : left / 8) / 8;
  pack_any_words(in, out, words, big);
  for (int64_t k = 8 * words; k < count; ++k) {
    uint8_t bits[8] = {};
    int64_t n = left - 8 * k < 8 ? left - 8 * k : 8;
    for (int64_t i = 0; i < n; ++i) bits[i] = in[8 * k + i] != 0;
    uint64_t byte = pack_eight(bits);
    out[k] = static_cast<uint8_t>(big ? reverse_bits_of_bytes(byte) : byte);
  }
}

// One row of `inner` bytes from up to eight rows of booleans.
void pack_rows(const uint8_t* in, int64_t rows, int64_t inner, uint8_t* out, bool big) {
  memset(out, 0, static_cast<size_t>(inner));
  for (int64_t r = 0; r < rows && r < 8; ++r) {
    int shift = static_cast<int>(big ? 7 - r : r);
    for (int64_t j = 0; j < inner; ++j) out[j] = static_cast<uint8_t>(out[j] | (in[r * inner + j] != 0) << shift);
  }
}

void packbits(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
  int64_t n = params[0], inner = params[1], groups = (n + 7) / 8;
  const uint8_t* in = static_cast<const uint8_t*>(ptrs[0]);
  uint8_t* out = static_cast<uint8_t*>(ptrs[1]);
  while (lo < hi) {
    int64_t row = lo / groups, group = lo % groups;
    if (inner != 1) {
      pack_rows(in + (row * n + 8 * group) * inner, n - 8 * group, inner, out + lo * inner, params[2] != 0);
      ++lo;
      continue;
    }
    int64_t count = groups - group < hi - lo ? groups - group : hi - lo;
    pack_run(in + row * n + 8 * group, n - 8 * group, out + lo, count, params[2] != 0);
    lo += count;
  }
}

// ---- unpackbits: ptrs [in, out], params [n, inner, big, bits]; extent: outer * (inner == 1 ? ceil(bits / 8) : bits)

// Bits [8 * group, end) of a row of n bytes; those that are missing are zeros.
void unpack_run(const uint8_t* row, int64_t n, int64_t group, int64_t end, uint8_t* out, bool big) {
  int64_t whole = end / 8 < n ? end / 8 : n;
  int64_t words = whole > group ? (whole - group) / 8 : 0;
  unpack_any_words(row + group, out + 8 * group, words, big);
  for (int64_t g = group + 8 * words; 8 * g < end; ++g) {
    uint64_t byte = g < n ? row[g] : 0;
    uint64_t bytes = unpack_eight(big ? reverse_bits_of_bytes(byte) : byte);
    memcpy(out + 8 * g, &bytes, static_cast<size_t>(end - 8 * g < 8 ? end - 8 * g : 8));
  }
}

void unpack_row_of_bits(const uint8_t* in, int64_t inner, int shift, uint8_t* out) {
  for (int64_t j = 0; j < inner; ++j) out[j] = static_cast<uint8_t>(in[j] >> shift & 1);
}

void unpackbits(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
  int64_t n = params[0], inner = params[1], bits = params[3];
  bool big = params[2] != 0;
  const uint8_t* in = static_cast<const uint8_t*>(ptrs[0]);
  uint8_t* out = static_cast<uint8_t*>(ptrs[1]);
  if (inner != 1) {
    for (int64_t e = lo; e < hi; ++e) {
      int64_t row = e / bits, bit = e % bits;
      int shift = static_cast<int>(big ? 7 - bit % 8 : bit % 8);
      if (bit / 8 < n) unpack_row_of_bits(in + (row * n + bit / 8) * inner, inner, shift, out + e * inner);
      else memset(out + e * inner, 0, static_cast<size_t>(inner));
    }
    return;
  }
  int64_t groups = (bits + 7) / 8;
  while (lo < hi) {
    int64_t row = lo / groups, group = lo % groups;
    int64_t count = groups - group < hi - lo ? groups - group : hi - lo;
    int64_t end = 8 * (group + count) < bits ? 8 * (group + count) : bits;
    unpack_run(in + row * n, n, group, end, out + row * bits, big);
    lo += count;
  }
}

// ---- first_extreme: ptrs [in, out], params [n, inner, greatest, index_bytes, block]; extent: outer * ceil(inner /
// block). Of booleans the first True (or False) ends the search.

constexpr int64_t kColumns = 256;  // at most so many columns a block
constexpr int64_t kChunk = 8192;   // elements of a row that are looked through before the place is sought

template <class T>
struct FirstExtreme {
  static constexpr bool kBool = std::is_same<T, bool>::value;
  using E = std::conditional_t<kBool, uint8_t, T>;

  static E extreme(const E* x, int64_t n, bool greatest) {
#if defined(__x86_64__)
    if (has_avx512()) return avx512::extreme_of(x, n, greatest);
#endif
    return extreme_of(x, n, greatest);
  }

  static int64_t place(const E* x, int64_t n, E value) {
    const void* found = memchr(x, static_cast<uint8_t>(value), static_cast<size_t>(n));
    return found ? static_cast<const E*>(found) - x : -1;
  }

  static int64_t in_row(const E* x, int64_t n, bool greatest) {
    if constexpr (kBool) {
      int64_t at = place(x, n, greatest);
      return at < 0 ? 0 : at;
    }
    int64_t where = 0;
    E best = extreme(x, n < kChunk ? n : kChunk, greatest);
    for (int64_t c = kChunk; c < n; c += kChunk) {
      E found = extreme(x + c, n - c < kChunk ? n - c : kChunk, greatest);
      if (greatest ? found > best : found < best) best = found, where = c;
    }
    return where + place(x + where, n - where, best);
  }

  // Extremes of `width` columns of a matrix whose rows are `inner` apart.
  static void extremes_of_columns(const E* x, int64_t n, int64_t inner, int64_t width, bool greatest, E* best) {
    memcpy(best, x, static_cast<size_t>(width));
    for (int64_t r = 1; r < n; ++r) {
      const E* row = x + r * inner;
      if (greatest) {
        for (int64_t j = 0; j < width; ++j) best[j] = row[j] > best[j] ? row[j] : best[j];
      } else {
        for (int64_t j = 0; j < width; ++j) best[j] = row[j] < best[j] ? row[j] : best[j];
      }
    }
  }

  static bool any_hit(const E* row, const E* best, const uint8_t* open, int64_t width) {
    uint8_t hit = 0;
    for (int64_t j = 0; j < width; ++j) hit = static_cast<uint8_t>(hit | ((row[j] == best[j] ? 1 : 0) & open[j]));
    return hit != 0;
  }

  static void in_columns(const E* x, int64_t n, int64_t inner, int64_t width, bool greatest, int64_t* at) {
    E best[kColumns];
    uint8_t open[kColumns];
    memset(open, 1, sizeof open);
    memset(at, 0, static_cast<size_t>(width) * sizeof *at);
    if (kBool) memset(best, greatest, sizeof best);
    else extremes_of_columns(x, n, inner, width, greatest, best);
    int64_t left = width;
    for (int64_t r = 0; r < n && left > 0; ++r) {
      const E* row = x + r * inner;
      if (!any_hit(row, best, open, width)) continue;
      for (int64_t j = 0; j < width; ++j)
        if (open[j] && row[j] == best[j]) at[j] = r, open[j] = 0, --left;
    }
  }

  static void put(void* out, int64_t index_bytes, int64_t i, int64_t value) {
    if (index_bytes == 8) static_cast<int64_t*>(out)[i] = value;
    else static_cast<int32_t*>(out)[i] = static_cast<int32_t>(value);
  }

  static void run(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi) {
    int64_t n = params[0], inner = params[1], block = params[4], blocks = (inner + block - 1) / block;
    bool greatest = params[2] != 0;
    const E* in = static_cast<const E*>(ptrs[0]);
    int64_t at[kColumns];
    for (int64_t e = lo; e < hi; ++e) {
      int64_t row = e / blocks, first = e % blocks * block;
      const E* x = in + row * n * inner + first;
      int64_t width = inner - first < block ? inner - first : block;
      if (inner == 1) at[0] = in_row(x, n, greatest);
      else in_columns(x, n, inner, width, greatest, at);
      for (int64_t j = 0; j < width; ++j) put(ptrs[1], params[3], row * inner + first + j, at[j]);
    }
  }
};

}  // namespace

void add_bit_routines() {
  add_routine("packbits", packbits);
  add_routine("unpackbits", unpackbits);
  add_family<FirstExtreme>("first_extreme", TypeList<bool, int8_t, uint8_t>{});
}

}  // namespace jitney
