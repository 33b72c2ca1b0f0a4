// Fourier transforms for every CPU, and the choice between the widths.
#define JITNEY_FFT_ADD add_fft_routines_base
#define pocketfft pocketfft_base
#include "fft_kernels.h"

namespace jitney {

void add_fft_routines() {
#if defined(__x86_64__)
  if (cpu_level() > 0) add_fft_routines_avx2();
  else add_fft_routines_base();
  // Complex ones only: compiled for AVX-512 without vectorization by the compiler, which would make multiply-adds, a
  // single long inverse of real numbers took 45 ms instead of 18 (10^6 f32).
  if (cpu_level() == 2) add_fft_routines_avx512();
#else
  add_fft_routines_base();
#endif
}

}  // namespace jitney
