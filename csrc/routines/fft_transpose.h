// Squares of numbers turned in registers: as many vectors as each has lanes.
//
// In: rows of memory, or vectors. Out: the same numbers with rows and lanes exchanged. Included by fft_kernels.h, whose
// `Lanes`, `kLanes` and `shuffled` it uses. Reading rows of many transforms element by element instead meets the same
// set of the first cache over and over where they lie a power of two apart.
#pragma once

#if defined(__AVX__) && !defined(__AVX512F__)
#define JITNEY_FFT_BY_HALVES
#include <immintrin.h>
#endif

namespace jitney {

namespace {

// A square of vectors, after a step that exchanges the two halves of blocks of 2 kStep that lie off the diagonal; all
// steps together transpose (Eklundh 1972).
#if defined(POCKETFFT_NO_VECTORS)
template <class T>
inline void transpose_square(Lanes<T>*) {}
#else
template <class T, int kStep, int... k>
inline void exchange(Lanes<T>* a, std::integer_sequence<int, k...> lanes) {
  constexpr int n = static_cast<int>(kLanes<T>);
  for (int i = 0; i < n; ++i) {
    if (i & kStep) continue;
    Lanes<T> low = a[i], high = a[i + kStep];
    a[i] = shuffled<T>(low, high, std::integer_sequence<int, (k & kStep ? n + k - kStep : k)...>{});
    a[i + kStep] = shuffled<T>(low, high, std::integer_sequence<int, (k & kStep ? n + k : k + kStep)...>{});
  }
  if constexpr (kStep > 1) exchange<T, kStep / 2>(a, lanes);
}
template <class T>
inline void transpose_square(Lanes<T>* a) {
  constexpr int n = static_cast<int>(kLanes<T>);
  exchange<T, n / 2>(a, std::make_integer_sequence<int, n>{});
}
#endif

// Vectors of 32 bytes by their halves, which memory exchanges: within registers that takes a Zen 1 eight operations.
#if defined(JITNEY_FFT_BY_HALVES)
inline Lanes<float> halves(const float* low, const float* high) {
  return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(low)), _mm_loadu_ps(high), 1);
}
inline Lanes<double> halves(const double* low, const double* high) {
  return _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(low)), _mm_loadu_pd(high), 1);
}
inline void write_low(const Lanes<float>& v, float* to) { _mm_storeu_ps(to, _mm256_castps256_ps128(v)); }
inline void write_high(const Lanes<float>& v, float* to) { _mm_storeu_ps(to, _mm256_extractf128_ps(v, 1)); }
inline void write_low(const Lanes<double>& v, double* to) { _mm_storeu_pd(to, _mm256_castpd256_pd128(v)); }
inline void write_high(const Lanes<double>& v, double* to) { _mm_storeu_pd(to, _mm256_extractf128_pd(v, 1)); }

// Squares of half a vector's numbers turned in both halves.
inline void turn_halves(Lanes<double>* a) {
  Lanes<double> low = a[0], high = a[1];
  a[0] = _mm256_unpacklo_pd(low, high);
  a[1] = _mm256_unpackhi_pd(low, high);
}
inline void turn_halves(Lanes<float>* a) {
  __m256d even_low = _mm256_castps_pd(_mm256_unpacklo_ps(a[0], a[1]));
  __m256d even_high = _mm256_castps_pd(_mm256_unpackhi_ps(a[0], a[1]));
  __m256d odd_low = _mm256_castps_pd(_mm256_unpacklo_ps(a[2], a[3]));
  __m256d odd_high = _mm256_castps_pd(_mm256_unpackhi_ps(a[2], a[3]));
  a[0] = _mm256_castpd_ps(_mm256_unpacklo_pd(even_low, odd_low));
  a[1] = _mm256_castpd_ps(_mm256_unpackhi_pd(even_low, odd_low));
  a[2] = _mm256_castpd_ps(_mm256_unpacklo_pd(even_high, odd_high));
  a[3] = _mm256_castpd_ps(_mm256_unpackhi_pd(even_high, odd_high));
}
#endif

// kLanes numbers of each of `count` rows, `apart` numbers from one another: a[j] has number j of all rows, the last one
// again in the lanes beyond.
template <class T>
inline void read_square(const T* from, int64_t apart, int64_t count, Lanes<T>* a) {
  auto row = [&](int64_t i) { return from + (i < count ? i : count - 1) * apart; };
#if defined(JITNEY_FFT_BY_HALVES)
  constexpr int64_t half = kLanes<T> / 2;
  for (int64_t i = 0; i < half; ++i) {
    a[i] = halves(row(i), row(i + half));
    a[i + half] = halves(row(i) + half, row(i + half) + half);
  }
  turn_halves(a);
  turn_halves(a + half);
#else
  for (int64_t i = 0; i < kLanes<T>; ++i) memcpy(&a[i], row(i), sizeof a[i]);
  transpose_square<T>(a);
#endif
}
template <class T>
inline void write_square(Lanes<T>* a, T* to, int64_t apart, int64_t count) {
#if defined(JITNEY_FFT_BY_HALVES)
  constexpr int64_t half = kLanes<T> / 2;
  turn_halves(a);
  turn_halves(a + half);
  for (int64_t i = 0; i < half; ++i) {
    T *low = to + i * apart, *high = low + half * apart;
    if (i < count) write_low(a[i], low), write_low(a[i + half], low + half);
    if (i + half < count) write_high(a[i], high), write_high(a[i + half], high + half);
  }
#else
  transpose_square<T>(a);
  for (int64_t i = 0; i < count; ++i) memcpy(to + i * apart, &a[i], sizeof a[i]);
#endif
}

// `n` complex numbers of each of `count` rows into lanes, and back.
template <class T>
void read_rows(const cmplx<T>* in, int64_t apart, int64_t count, int64_t n, cmplx<Lanes<T>>* work) {
  constexpr int64_t kBlock = kLanes<T> / 2;
  int64_t j = 0;
  if constexpr (kBlock > 0) {
    for (; j + kBlock <= n; j += kBlock) {
      Lanes<T> a[kLanes<T>];
      read_square<T>(&in[j].r, 2 * apart, count, a);
      for (int64_t i = 0; i < kBlock; ++i) work[j + i].Set(a[2 * i], a[2 * i + 1]);
    }
  }
  Offsets<T> offsets(2 * apart, count);
  for (; j < n; ++j) work[j].Set(offsets(&in[j].r), offsets(&in[j].i));
}
// `next` answers the n complex numbers in the order in which the rows have them, by j.
template <class T, class F>
void write_rows_of(F next, cmplx<T>* out, int64_t apart, int64_t count, int64_t n) {
  constexpr int64_t kBlock = kLanes<T> / 2;
  int64_t j = 0;
  if constexpr (kBlock > 0) {
    for (; j + kBlock <= n; j += kBlock) {
      Lanes<T> a[kLanes<T>];
      for (int64_t i = 0; i < kBlock; ++i) {
        const auto& value = next(j + i);
        a[2 * i] = value.r, a[2 * i + 1] = value.i;
      }
      write_square<T>(a, &out[j].r, 2 * apart, count);
    }
  }
  for (; j < n; ++j) {
    const auto& value = next(j);
    scattered<T>(value.r, &out[j].r, 2 * apart, count);
    scattered<T>(value.i, &out[j].i, 2 * apart, count);
  }
}
template <class T>
void write_rows(const cmplx<Lanes<T>>* work, cmplx<T>* out, int64_t apart, int64_t count, int64_t n) {
  write_rows_of<T>([=](int64_t j) -> const cmplx<Lanes<T>>& { return work[j]; }, out, apart, count, n);
}

}  // namespace

}  // namespace jitney
