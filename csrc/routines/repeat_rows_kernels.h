// Vectors of repeated rows, for one vector width. Included by repeat_rows.cpp, once a width, inside a namespace that
// defines kVectorBytes.
//
// `units` neighbouring elements of the result come from at most as many neighbouring ones of the source, if a row is no
// longer: within a row they lie in it, and where one row ends and the next begins they lie side by side.

constexpr int kLeastVectors = 3;  // of a turn

// Lanes of four bytes: rows of 4- and 8-byte elements.
struct Words {
  static constexpr int kUnit = 4, kBytes = kVectorBytes, kUnits = kBytes / kUnit;
  typedef long long Picks __attribute__((vector_size(kVectorBytes)));
  static void put(uint8_t* lanes, int64_t place, int32_t lane) { memcpy(lanes + place * 4, &lane, sizeof lane); }
  static JITNEY_INLINE inline Picks picks(const uint8_t* lanes) { return vector_at(lanes); }

  template <bool kFar>
  static JITNEY_INLINE inline void write(char* to, const char* from, Picks picks) {
    write_vector<kFar>(to, picked(vector_at(from), picks));
  }

  static JITNEY_INLINE inline Picks vector_at(const void* from) {
    Picks v;
    memcpy(&v, from, sizeof v);
    return v;
  }
  template <class P>
  static JITNEY_INLINE inline P picked(P source, P picks) {
    if constexpr (sizeof(P) == 64) return (P)_mm512_maskz_permutexvar_epi32(0xffff, (__m512i)picks, (__m512i)source);
    else return (P)_mm256_permutevar8x32_epi32((__m256i)source, (__m256i)picks);
  }
  template <bool kFar, class P>
  static JITNEY_INLINE inline void write_vector(char* to, P v) {
    if constexpr (!kFar) memcpy(to, &v, sizeof v);
    else if constexpr (sizeof(P) == 64) _mm512_stream_si512(reinterpret_cast<__m512i*>(to), (__m512i)v);
    else _mm256_stream_si256(reinterpret_cast<__m256i*>(to), (__m256i)v);
  }
};

// Lanes of a byte, of which sixteen are picked at a time: other rows.
struct Bytes {
  static constexpr int kUnit = 1, kBytes = 16, kUnits = kBytes / kUnit;
  using Picks = __m128i;
  static void put(uint8_t* lanes, int64_t place, int32_t lane) { lanes[place] = static_cast<uint8_t>(lane); }
  static JITNEY_INLINE inline Picks picks(const uint8_t* lanes) {
    return _mm_load_si128(reinterpret_cast<const __m128i*>(lanes));
  }
  template <bool kFar>
  static JITNEY_INLINE inline void write(char* to, const char* from, Picks picks) {
    const __m128i v = _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)), picks);
    if constexpr (kFar) _mm_stream_si128(reinterpret_cast<__m128i*>(to), v);
    else _mm_storeu_si128(reinterpret_cast<__m128i*>(to), v);
  }
};

// From where in the source the vectors of one turn come, and which of its lanes each lane is.
template <class Lanes>
struct Pattern {
  alignas(64) uint8_t lanes[kMostVectors * Lanes::kBytes];
  int32_t offsets[kMostVectors];
  int64_t units, times, vectors, rows;  // vectors and rows: of one turn

  // Whether there is a pattern for such rows.
  bool find(int64_t units_, int64_t times_) {
    units = units_, times = times_;
    const int64_t wide = units * times, common = common_divisor(Lanes::kUnits, wide);
    if (units > Lanes::kUnits || wide / common > kMostVectors) return false;
    vectors = wide / common;
    rows = Lanes::kUnits / common;
    for (; vectors < kLeastVectors; vectors *= 2) rows *= 2;
    write_down();
    return true;
  }

  void write_down() {
    int32_t row = 0, turn = 0, column = 0;
    const int32_t width = static_cast<int32_t>(units);
    for (int64_t v = 0; v < vectors; ++v) {
      int32_t places[Lanes::kUnits], first = row * width + column;
      for (int i = 0; i < Lanes::kUnits; ++i) {
        places[i] = row * width + column;
        first = places[i] < first ? places[i] : first;
        if (++column < width) continue;
        column = 0;
        if (++turn == times) turn = 0, ++row;
      }
      offsets[v] = first * Lanes::kUnit;
      for (int i = 0; i < Lanes::kUnits; ++i) Lanes::put(lanes, v * Lanes::kUnits + i, places[i] - first);
    }
  }
};

struct Turns {
  const char* from;
  char* to;
  int64_t count, read;  // read: bytes of the source that a turn goes forward
};

// Whole turns of a pattern of kVectors vectors, whose lanes stay in registers: loads are what there is most of
// (3 x 1 f32, Zen 4: 0.7 ns a vector, 1.1 where the lanes are loaded for each).
template <class Lanes, bool kFar, int kVectors>
static void write_held(const Pattern<Lanes>& pattern, Turns t) {
  typename Lanes::Picks picks[kVectors];
  int64_t offsets[kVectors];
#pragma GCC unroll 16
  for (int k = 0; k < kVectors; ++k) {
    picks[k] = Lanes::picks(pattern.lanes + k * Lanes::kBytes);
    offsets[k] = pattern.offsets[k];
  }
  for (int64_t turn = 0; turn < t.count; ++turn, t.from += t.read, t.to += kVectors * Lanes::kBytes) {
#pragma GCC unroll 16
    for (int k = 0; k < kVectors; ++k)
      Lanes::template write<kFar>(t.to + k * Lanes::kBytes, t.from + offsets[k], picks[k]);
  }
}

template <class Lanes, bool kFar>
static void write_turns(const Pattern<Lanes>& pattern, Turns t) {
  switch (pattern.vectors) {
    case 3: return write_held<Lanes, kFar, 3>(pattern, t);
    case 4: return write_held<Lanes, kFar, 4>(pattern, t);
    case 5: return write_held<Lanes, kFar, 5>(pattern, t);
    case 6: return write_held<Lanes, kFar, 6>(pattern, t);
    case 7: return write_held<Lanes, kFar, 7>(pattern, t);
    case 8: return write_held<Lanes, kFar, 8>(pattern, t);
    case 9: return write_held<Lanes, kFar, 9>(pattern, t);
    default: break;
  }
  const int64_t vectors = pattern.vectors;
  for (int64_t turn = 0; turn < t.count; ++turn, t.from += t.read) {
    for (int64_t v = 0; v < vectors; ++v, t.to += Lanes::kBytes)
      Lanes::template write<kFar>(t.to, t.from + pattern.offsets[v], Lanes::picks(pattern.lanes + v * Lanes::kBytes));
  }
}

// Rows [lo, the result) of the source are written: as many as whole turns of the pattern are, and nothing behind the
// source is read.
template <class Lanes>
static int64_t repeat(const Repeated& r, int64_t lo, int64_t hi) {
  Pattern<Lanes> pattern;
  if (!pattern.find(r.row_bytes / Lanes::kUnit, r.times)) return lo;
  const int64_t reach = pattern.offsets[pattern.vectors - 1] + Lanes::kBytes;  // of one turn
  const int64_t readable = (r.rows - lo) * r.row_bytes - reach, step = pattern.rows * r.row_bytes;
  int64_t turns = (hi - lo) / pattern.rows;
  if (readable < 0 || turns == 0) return lo;
  if (readable / step + 1 < turns) turns = readable / step + 1;
  const Turns todo{r.from(lo), r.to(lo), turns, step};
  if (r.far && reinterpret_cast<uintptr_t>(r.to(lo)) % Lanes::kBytes == 0) {
    write_turns<Lanes, true>(pattern, todo);
    _mm_sfence();
  } else {
    write_turns<Lanes, false>(pattern, todo);
  }
  return lo + turns * pattern.rows;
}
