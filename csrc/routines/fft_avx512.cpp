// Fourier transforms by vectors of 64 bytes (compiled with the options of CMakeLists.txt; see fft_kernels.h).
#if defined(__x86_64__)
#define JITNEY_FFT_COMPLEX_ONLY
#define JITNEY_FFT_ADD add_fft_routines_avx512
#define pocketfft pocketfft_avx512
#include "fft_kernels.h"
#endif
