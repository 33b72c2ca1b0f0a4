// Squares of numbers turned in registers: as many vectors as each has lanes.
//
// In: rows of memory, or vectors. Out: the same numbers with rows and lanes exchanged. Included by fft_kernels.h, whose
// `Lanes`, `kLanes` and `shuffled` it uses. Reading rows of many transforms element by element instead meets the same
// set of the first cache over and over where they lie a power of two apart.
#pragma once

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

// kLanes numbers of each of `count` rows, `apart` numbers from one another: a[j] has number j of all rows, the last one
// again in the lanes beyond.
template <class T>
inline void read_square(const T* from, int64_t apart, int64_t count, Lanes<T>* a) {
  for (int64_t i = 0; i < kLanes<T>; ++i) memcpy(&a[i], from + (i < count ? i : count - 1) * apart, sizeof a[i]);
  transpose_square<T>(a);
}
template <class T>
inline void write_square(Lanes<T>* a, T* to, int64_t apart, int64_t count) {
  transpose_square<T>(a);
  for (int64_t i = 0; i < count; ++i) memcpy(to + i * apart, &a[i], sizeof a[i]);
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
template <class T>
void write_rows(const cmplx<Lanes<T>>* work, cmplx<T>* out, int64_t apart, int64_t count, int64_t n) {
  constexpr int64_t kBlock = kLanes<T> / 2;
  int64_t j = 0;
  if constexpr (kBlock > 0) {
    for (; j + kBlock <= n; j += kBlock) {
      Lanes<T> a[kLanes<T>];
      for (int64_t i = 0; i < kBlock; ++i) a[2 * i] = work[j + i].r, a[2 * i + 1] = work[j + i].i;
      write_square<T>(a, &out[j].r, 2 * apart, count);
    }
  }
  for (; j < n; ++j) {
    scattered<T>(work[j].r, &out[j].r, 2 * apart, count);
    scattered<T>(work[j].i, &out[j].i, 2 * apart, count);
  }
}

}  // namespace

}  // namespace jitney
