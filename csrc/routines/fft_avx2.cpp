// Fourier transforms by vectors of 32 bytes (compiled with the options of CMakeLists.txt; see fft_kernels.h).
#if defined(__x86_64__)
#define JITNEY_FFT_ADD add_fft_routines_avx2
#define pocketfft pocketfft_avx2
#include "fft_kernels.h"
#endif
