// Compiles a block of functions for wider vectors than the rest of the extension.
//
//   JITNEY_BEGIN_TARGET_AVX512
//   namespace avx512 { constexpr int kVectorBytes = 64; #include "x_kernels.h" }
//   JITNEY_END_TARGET
//
// Invariant: what such a block calls is either inlined into it or compiled for every CPU; it uses no function
// templates of the standard library (the linker could keep the wide copy of one for everybody).
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(__x86_64__) && defined(__clang__)
#define JITNEY_BEGIN_TARGET_AVX2 \
  _Pragma("clang attribute push(__attribute__((target(\"avx2,popcnt,f16c\"))), apply_to = function)")
#define JITNEY_BEGIN_TARGET_AVX512                                                           \
  _Pragma("clang attribute push(__attribute__((target(\"avx512f,avx512bw,avx512dq,avx512vl,popcnt,f16c,prfchw\"))), " \
          "apply_to = function)")
#define JITNEY_END_TARGET _Pragma("clang attribute pop")
#elif defined(__x86_64__)
#define JITNEY_BEGIN_TARGET_AVX2 _Pragma("GCC push_options") _Pragma("GCC target(\"avx2,popcnt,f16c\")")
#define JITNEY_BEGIN_TARGET_AVX512 \
  _Pragma("GCC push_options") _Pragma("GCC target(\"avx512f,avx512bw,avx512dq,avx512vl,popcnt,f16c,prfchw\")")
#define JITNEY_END_TARGET _Pragma("GCC pop_options")
#endif
