// How the processor treats denormal numbers while kernels run.
//
// They are kept, as NumPy keeps them. With JITNEY_FLUSH_DENORMALS=1 they are zero, as arguments and as results, in the
// steps of programs: some processors take 150 cycles for each operation with one (an Emerald Rapids, one thread: a wave
// in a sponge takes .11 of the time so). Helpers of the thread pool do as the thread that
// calls them, whoever has set its mode, so that results do not depend on which thread computes them.
#pragma once

#include <cstdint>
#include <cstdlib>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace jitney {

#if defined(__x86_64__)

constexpr uint32_t kFlushing = 0x8040;  // MXCSR: results to zero (bit 15), arguments as zero (bit 6)

inline uint32_t flushing_mode() { return _mm_getcsr() & kFlushing; }

inline void set_flushing_mode(uint32_t mode) {
  const uint32_t state = _mm_getcsr();
  if ((state & kFlushing) != mode) _mm_setcsr((state & ~kFlushing) | mode);
}

#else

constexpr uint32_t kFlushing = 0;
inline uint32_t flushing_mode() { return 0; }
inline void set_flushing_mode(uint32_t) {}

#endif

// Read once, when the first program runs.
inline bool flushes_denormals() {
  static const bool answer = [] {
    const char* text = getenv("JITNEY_FLUSH_DENORMALS");
    return text && *text && !(*text == '0' && text[1] == 0);
  }();
  return answer;
}

// A mode for as long as it lives, if denormals are to be flushed at all; then the mode before.
class FlushingMode {
 public:
  explicit FlushingMode(uint32_t mode) : is_set_(flushes_denormals()) {
    if (!is_set_) return;
    before_ = flushing_mode();
    set_flushing_mode(mode);
  }
  ~FlushingMode() {
    if (is_set_) set_flushing_mode(before_);
  }
  FlushingMode(const FlushingMode&) = delete;
  FlushingMode& operator=(const FlushingMode&) = delete;

 private:
  bool is_set_;
  uint32_t before_ = 0;
};

}  // namespace jitney
