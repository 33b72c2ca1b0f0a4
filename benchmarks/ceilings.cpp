// What the machine can do: copies of memory, and arithmetic in registers, by several threads.
//
// `copy_speed(bytes, threads, repetitions, stream)`, `flops(threads, repetitions)`,
// `slots(threads, repetitions)`, `divisions(threads, repetitions)`, `look_ups(threads, repetitions)`,
// `comparisons(threads, repetitions)`, `additions(threads, repetitions)` and
// `scalings(threads, repetitions)` answer bytes, operations of multiply-adds, 32-bit lanes of vector
// instructions, and quotients a second. Slots are multiply-adds and additions by turns: some
// processors add beside. Look-ups and comparisons are counted together with as many multiply-adds,
// which some processors do in the same units. Additions and scalings, which take the place of
// several, are measured alone. Each thread repeats its share without waiting for the others.
#include <immintrin.h>
#if defined(__linux__)
#include <sched.h>
#endif

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

// The widest vectors there are: wider ones would be pieced together, and registers run out.
#if defined(__AVX512F__)
constexpr int kLanes = 16;
#elif defined(__AVX__)
constexpr int kLanes = 8;
#else
constexpr int kLanes = 4;
#endif
// Sums side by side of each kind, in mixtures of two: where four instructions begin in each cycle, and a multiply-add takes
// four, fewer would wait for one another (Zen 5: six of each 2.4 a cycle, ten 4). Sixteen registers hold six of each.
constexpr int kBeside = kLanes == 16 ? 10 : 6;
typedef float Vector __attribute__((vector_size(4 * kLanes), aligned(4 * kLanes)));

// Puts the calling thread on the CPU of this number of those it may run on, and back where it may run.
class Pinned {
 public:
#if defined(__linux__)
  explicit Pinned(int number) {
    if (sched_getaffinity(0, sizeof allowed_, &allowed_) != 0) return;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (!CPU_ISSET(cpu, &allowed_) || number-- > 0) continue;
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(cpu, &one);
      pinned_ = sched_setaffinity(0, sizeof one, &one) == 0;
      return;
    }
  }
  ~Pinned() {
    if (pinned_) sched_setaffinity(0, sizeof allowed_, &allowed_);
  }

 private:
  cpu_set_t allowed_;
  bool pinned_ = false;
#else
  explicit Pinned(int) {}
#endif
};

// Seconds from the moment all threads are ready until the last one is done. Each has a CPU of its own: some systems leave
// a new thread for milliseconds on that of the one that made it.
template <class Work>
double timed(int threads, Work work) {
  std::atomic<int> ready{0};
  std::atomic<bool> go{false};
  std::vector<std::thread> others;
  auto part = [&](int number) {
    Pinned here(number);
    ready.fetch_add(1);
    while (!go.load()) {
    }
    work(number);
  };
  for (int i = 1; i < threads; ++i) others.emplace_back(part, i);
  Pinned here(0);
  while (ready.load() < threads - 1) {
  }
  auto start = std::chrono::steady_clock::now();
  go.store(true);
  work(0);
  for (auto& other : others) other.join();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void copy(const Vector* from, Vector* to, int64_t count) {
  for (int64_t i = 0; i < count; i += 4) {
    Vector a = from[i], b = from[i + 1], c = from[i + 2], d = from[i + 3];
    to[i] = a;
    to[i + 1] = b;
    to[i + 2] = c;
    to[i + 3] = d;
  }
}

void copy_past_caches(const Vector* from, Vector* to, int64_t count) {
  const float* a = reinterpret_cast<const float*>(from);
  float* b = reinterpret_cast<float*>(to);
  for (int64_t i = 0; i < kLanes * count; i += 4) _mm_stream_ps(b + i, _mm_load_ps(a + i));
  _mm_sfence();
}

// Numbers without a pattern: lines of zeros go through memory nearly twice as fast as others on a
// Zen 4 (16 MiB past the caches: 0.32 ms for zeros, 0.63 ms for ones and for random bits).
void fill(void* memory, int64_t count, uint32_t seed) {
  auto numbers = static_cast<uint32_t*>(memory);
  for (int64_t i = 0; i < count; ++i) {
    seed ^= seed << 13;
    seed ^= seed >> 17;
    seed ^= seed << 5;
    numbers[i] = seed;
  }
}

// Lanes of one operation alone, of twelve numbers side by side.
template <class Operation>
double alone(int threads, int64_t repetitions, Operation operation) {
  double seconds = timed(threads, [&](int) {
    Vector numbers[12] = {}, y = {};
    for (int k = 0; k < kLanes; ++k) y[k] = 1.0f;
    asm volatile("" : "+m"(y), "+m"(numbers));
    const Vector b = y;
    for (int64_t r = 0; r < repetitions; ++r) {
      for (int k = 0; k < 12; ++k) numbers[k] = operation(numbers[k], b);
    }
    asm volatile("" : "+m"(numbers));
  });
  return 1.0 * kLanes * 12 * repetitions * threads / seconds;
}

}  // namespace

extern "C" double copy_speed(int64_t bytes, int threads, int64_t repetitions, int stream) {
  const int64_t count = bytes / 2 / threads / 256 * (64 / kLanes);  // vectors of a thread's source
  std::vector<void*> memory;
  for (int i = 0; i < 2 * threads; ++i) {
    memory.push_back(std::aligned_alloc(1 << 21, ((count * 4 * kLanes >> 21) + 1) << 21));
    fill(memory.back(), count * kLanes, i + 1);
  }
  double seconds = timed(threads, [&](int number) {
    for (int64_t r = 0; r < repetitions; ++r) {
      auto from = static_cast<const Vector*>(memory[2 * number]);
      (stream ? copy_past_caches : copy)(from, static_cast<Vector*>(memory[2 * number + 1]), count);
      asm volatile("" ::: "memory");
    }
  });
  for (void* one : memory) std::free(one);
  return 8.0 * kLanes * count * threads * repetitions / seconds;
}

extern "C" double flops(int threads, int64_t repetitions) {
  double seconds = timed(threads, [&](int) {
    Vector sums[12] = {}, x = {}, y = {};
    for (int k = 0; k < kLanes; ++k) x[k] = 0.5f, y[k] = 1.0f;
    asm volatile("" : "+m"(x), "+m"(y));
    const Vector a = x, b = y;
    for (int64_t r = 0; r < repetitions; ++r) {
      for (int k = 0; k < 12; ++k) sums[k] = sums[k] * a + b;
    }
    asm volatile("" : "+m"(sums));
  });
  return 2.0 * kLanes * 12 * repetitions * threads / seconds;
}

extern "C" double slots(int threads, int64_t repetitions) {
  double seconds = timed(threads, [&](int) {
    Vector sums[kBeside] = {}, others[kBeside] = {}, x = {}, y = {};
    for (int k = 0; k < kLanes; ++k) x[k] = 0.5f, y[k] = 1.0f;
    asm volatile("" : "+m"(x), "+m"(y));
    const Vector a = x, b = y;
    for (int64_t r = 0; r < repetitions; ++r) {
#pragma GCC unroll 10
      for (int k = 0; k < kBeside; ++k) sums[k] = sums[k] * a + b, others[k] = others[k] + b;
    }
    asm volatile("" : "+m"(sums), "+m"(others));
  });
  return 2.0 * kLanes * kBeside * repetitions * threads / seconds;
}

extern "C" double divisions(int threads, int64_t repetitions) {
  return alone(threads, repetitions, [](Vector a, Vector b) { return a / b; });
}

extern "C" double additions(int threads, int64_t repetitions) {
  return alone(threads, repetitions, [](Vector a, Vector b) { return a + b; });
}

// Powers of two put into exponents (0 where there is no instruction for it).
extern "C" double scalings(int threads, int64_t repetitions) {
#ifdef __AVX512F__
  return alone(threads, repetitions, [](Vector a, Vector b) -> Vector { return _mm512_scalef_ps(a, b); });
#else
  return 0;
#endif
}

// Multiply-adds, and as many look-ups in a table of 32 numbers (0 where there is no such thing).
extern "C" double look_ups(int threads, int64_t repetitions) {
#ifdef __AVX512F__
  double seconds = timed(threads, [&](int) {
    Vector sums[kBeside] = {}, tables[kBeside] = {}, x = {}, y = {};
    for (int k = 0; k < kLanes; ++k) x[k] = 0.5f, y[k] = 1.0f;
    asm volatile("" : "+m"(x), "+m"(y));
    const Vector a = x, b = y;
    const __m512i index = _mm512_castps_si512(a);
    for (int64_t r = 0; r < repetitions; ++r) {
#pragma GCC unroll 10
      for (int k = 0; k < kBeside; ++k) {
        sums[k] = sums[k] * a + b;
        tables[k] = _mm512_permutex2var_ps(tables[k], index, b);
      }
    }
    asm volatile("" : "+m"(sums), "+m"(tables));
  });
  return 2.0 * kLanes * kBeside * repetitions * threads / seconds;
#else
  return 0;
#endif
}

// Multiply-adds, and as many comparisons (0 without AVX, whose instruction has three operands).
extern "C" double comparisons(int threads, int64_t repetitions) {
#ifdef __AVX__
#ifdef __AVX512F__
#define BELOW "=k"
  typedef __mmask16 Mask;
#else
#define BELOW "=x"
  typedef Vector Mask;
#endif
  double seconds = timed(threads, [&](int) {
    Vector sums[12] = {}, x = {}, y = {};
    for (int k = 0; k < kLanes; ++k) x[k] = 0.5f, y[k] = 1.0f;
    asm volatile("" : "+m"(x), "+m"(y));
    const Vector a = x, b = y;
    for (int64_t r = 0; r < repetitions / 2; ++r) {
      for (int k = 0; k < 12; ++k) {
        Mask below;
        asm volatile("vcmpltps %1, %2, %0" : BELOW(below) : "v"(a), "v"(b));
        sums[k] = sums[k] * a + b;
      }
    }
    asm volatile("" : "+m"(sums));
  });
  return 1.0 * kLanes * 12 * repetitions * threads / seconds;
#else
  return 0;
#endif
}
