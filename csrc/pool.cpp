// Thread pool (see pool.h). A region is one pool_parallel_for.
//
// `active` counts the threads inside the region: 0 = closed. The caller opens it with 1, a helper joins by raising a
// non-zero count and leaves by lowering it, and the caller closes it by swapping 1 for 0. So a helper that comes late
// finds the region closed (or the next one open, which it may join as well) and nobody waits for it; and the fields
// of a region are only written while it is closed.
//
// Each thread has a share of the pieces that lie side by side, the same one in every region of the same extent: what it
// wrote in one region is in its own cache when the next one reads it. It takes its share from the front, then those of
// others from the back.
#include "pool.h"

#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#if defined(_WIN32)
#define JITNEY_POOL_SERIAL 1
#else
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>
#endif
#if defined(__linux__)
#include <linux/futex.h>
#include <sys/syscall.h>

#include <cstdio>
#include <cstring>
#include <string>
#endif
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "denormals.h"

namespace jitney {

namespace {

constexpr int kMaxThreads = 256;
// A helper without work spins, then lets others have its CPU between looks, then parks. To wake it takes the caller
// some 7 us (measured: regions of 46 us with 20 to 150 us between them took 53); a spin that never yields can stall a
// caller on the same CPU.
constexpr int64_t kHelperSpinNs = 15000;
constexpr int64_t kHelperYieldNs = 200000;
constexpr int64_t kCloseSpinNs = 20000;
constexpr size_t kHelperStack = 8 << 20;  // kernels keep some MiB there; some systems give threads less

thread_local bool inside_region = false;
std::atomic<int> awake{0};        // helpers that do not sleep
std::atomic<int64_t> asked{0};    // when somebody last asked for one in vain
std::atomic<uint64_t> regions{0};

inline void cpu_relax() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

void run_serially(int64_t extent, int64_t grain, PoolFn fn, void* ctx) {
  for (int64_t lo = 0; lo < extent; lo = extent - lo > grain ? lo + grain : extent)
    fn(ctx, lo, extent - lo > grain ? lo + grain : extent);
}

#if !defined(JITNEY_POOL_SERIAL)

int64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

// ---- blocking on a word: futex on Linux, one condition variable elsewhere

#if defined(__linux__)
void wait_while_equal(std::atomic<uint32_t>* word, uint32_t value) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(word), FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}
void wake(std::atomic<uint32_t>* word, int count) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(word), FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}
#else
pthread_mutex_t wait_mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t wait_condition = PTHREAD_COND_INITIALIZER;
void wait_while_equal(std::atomic<uint32_t>* word, uint32_t value) {
  pthread_mutex_lock(&wait_mutex);
  while (word->load() == value) pthread_cond_wait(&wait_condition, &wait_mutex);
  pthread_mutex_unlock(&wait_mutex);
}
void wake(std::atomic<uint32_t>*, int) {
  pthread_mutex_lock(&wait_mutex);
  pthread_cond_broadcast(&wait_condition);
  pthread_mutex_unlock(&wait_mutex);
}
#endif

// ---- how many CPUs this process may use

#if defined(__linux__)
bool read_line(const std::string& path, char* line, size_t size) {
  FILE* f = fopen(path.c_str(), "re");
  if (!f) return false;
  bool ok = fgets(line, static_cast<int>(size), f) != nullptr;
  fclose(f);
  return ok;
}

int cpus_of_quota(double quota, double period, int cpus) {
  if (quota <= 0 || period <= 0) return cpus;
  double whole = quota / period;
  int n = static_cast<int>(whole);
  if (whole > n) ++n;  // a part of a CPU counts as one
  return n < 1 ? 1 : (n < cpus ? n : cpus);
}

int limit_of_folder(const std::string& folder, bool v2, int cpus) {
  char line[128], other[128];
  double quota, period;
  if (v2) {
    if (read_line(folder + "/cpu.max", line, sizeof line) && sscanf(line, "%lf %lf", &quota, &period) == 2)
      return cpus_of_quota(quota, period, cpus);
  } else if (read_line(folder + "/cpu.cfs_quota_us", line, sizeof line) &&
             read_line(folder + "/cpu.cfs_period_us", other, sizeof other)) {
    return cpus_of_quota(atof(line), atof(other), cpus);
  }
  return cpus;
}

// The quota of this process's cgroup and of every one above it.
int limit_of_cgroups(int cpus) {
  FILE* f = fopen("/proc/self/cgroup", "re");
  if (!f) return cpus;
  char line[4096];
  while (fgets(line, sizeof line, f)) {
    line[strcspn(line, "\n")] = 0;
    char* controllers = strchr(line, ':');
    char* path = controllers ? strchr(controllers + 1, ':') : nullptr;
    if (!path) continue;
    *path++ = 0;
    ++controllers;
    bool v2 = *controllers == 0;
    std::string listed = std::string(",") + controllers + ",";
    if (!v2 && listed.find(",cpu,") == std::string::npos) continue;
    std::string root = v2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/cpu", below = path;
    for (;;) {
      cpus = limit_of_folder(root + below, v2, cpus);
      if (below.empty()) break;
      below.resize(below.rfind('/') == std::string::npos ? 0 : below.rfind('/'));
    }
  }
  fclose(f);
  return cpus;
}
#endif

int available_cpus() {
  int cpus = 0;
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) cpus = CPU_COUNT(&set);
#endif
  if (cpus < 1) cpus = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
#if defined(__linux__)
  cpus = limit_of_cgroups(cpus);
#endif
  return cpus < 1 ? 1 : (cpus > kMaxThreads ? kMaxThreads : cpus);
}

int default_threads() {
  int cpus = available_cpus();
  const char* text = getenv("JITNEY_NUM_THREADS");
  if (text && *text) {
    char* end;
    long n = strtol(text, &end, 10);
    if (*end == 0 && n >= 1 && n < cpus) cpus = static_cast<int>(n);
  }
  return cpus;
}

// Keeps helpers off the CPU of the thread that calls them. Some systems wake a thread on the CPU of the one that wakes
// it, and leave both there for milliseconds though another CPU is idle: they do a region's pieces by turns (a Zen 5, two
// CPUs: regions of 24 us by one thread, which two do in 11, took 24 for 15 ms after each pause).
class Places {
 public:
#if defined(__linux__)
  void begin(int helpers) {
    ids_.reset(new std::atomic<pid_t>[helpers]());
    const bool known = helpers <= kMostHelpers && sched_getaffinity(0, sizeof allowed_, &allowed_) == 0;
    count_ = known ? helpers : 0;
    given_ = allowed_;
  }
  void arrive(int helper) { ids_[helper].store(static_cast<pid_t>(syscall(SYS_gettid)), std::memory_order_relaxed); }

  // At the beginning of a region: a comparison where the caller has not moved.
  void keep_off_caller() {
    const int cpu = sched_getcpu();
    if (cpu == kept_off_ || cpu < 0 || cpu >= CPU_SETSIZE || count_ == 0) return;
    if (patience_ > 0) return void(--patience_);
    kept_off_ = cpu;
    patience_ = kPatience;
    cpu_set_t others = allowed_;
    CPU_CLR(cpu, &others);
    if (CPU_COUNT(&others) > 0) give(others);
  }

  // A helper is late: others use its CPU, and it may go to the caller's, which waits.
  void anywhere() {
    if (kept_off_ < 0) return;
    give(allowed_);
    kept_off_ = -1;
    patience_ = kPatience;
  }

 private:
  static constexpr int kPatience = 4;     // regions from one change to the next: each takes some microseconds
  static constexpr int kMostHelpers = 7;  // of more one matters little

  void give(const cpu_set_t& places) {
    for (int i = 0; i < count_; ++i) {
      const pid_t id = ids_[i].load(std::memory_order_relaxed);
      cpu_set_t present;
      if (id == 0 || sched_getaffinity(id, sizeof present, &present) != 0) {
        kept_off_ = -1;  // not there yet: the next time
      } else if (CPU_EQUAL(&present, &given_) || CPU_EQUAL(&present, &allowed_)) {
        sched_setaffinity(id, sizeof places, &places);
      } else {  // somebody has said where it may run
        count_ = 0;
      }
    }
    given_ = places;
  }

  std::unique_ptr<std::atomic<pid_t>[]> ids_;
  cpu_set_t allowed_, given_;  // to helpers: at first, and now
  int count_ = 0, kept_off_ = -1, patience_ = 0;
#else
  void begin(int) {}
  void arrive(int) {}
  void keep_off_caller() {}
  void anywhere() {}
#endif
};

// ---- the pool

// The pieces [first, last) that are left of one thread's share.
struct alignas(64) Share {
  std::atomic<uint64_t> left{0};  // first in the high half, last in the low one

  void set(uint32_t first, uint32_t last) {
    left.store(static_cast<uint64_t>(first) << 32 | last, std::memory_order_relaxed);
  }

  // Takes a piece, or from the front so many `parts` of four of those that are left, rounded up: the number of the
  // first one, or -1.
  int64_t take(bool front, uint32_t parts, int64_t* count) {
    uint64_t range = left.load(std::memory_order_relaxed);
    for (;;) {
      uint32_t first = static_cast<uint32_t>(range >> 32), last = static_cast<uint32_t>(range);
      if (first >= last) return -1;
      uint32_t taken = 1;
      if (front && parts > 0) taken = last - first - (last - first) / 4 * (4 - parts);
      uint64_t rest = front ? range + (static_cast<uint64_t>(taken) << 32) : range - 1;
      if (!left.compare_exchange_weak(range, rest, std::memory_order_relaxed)) continue;
      *count = taken;
      return front ? first : last - 1;
    }
  }
};

constexpr int64_t kMostPieces = 1LL << 31;  // of a region: those of more are several regions
constexpr int64_t kFewPieces = 4;  // of a share: where they may be joined, one call does them all
// Of four quarters of more, the next call does three: each call's ends cost some rows, and what is left to share is
// enough for one who comes late (a Zen 5, two threads, by turns: softmax of 1024 x 1024 .97 to .98 of the time, beside
// halves, log-sum-exp .98 to .99).
constexpr uint32_t kParts = 3;

class Pool {
 public:
  explicit Pool(int helpers) : shares_(new Share[helpers + 1]) {
    places_.begin(helpers);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);  // signals stay with the threads of the program
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, kHelperStack);
    for (int i = 0; i < helpers; ++i) {
      pthread_t t;
      if (pthread_create(&t, &attributes, &Pool::thread_main, this) != 0) break;  // fewer helpers then
      threads_.push_back(t);
    }
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  void stop_and_join() {
    stop_.store(true);
    epoch_.fetch_add(1);
    wake(&epoch_, kMaxThreads);
    for (pthread_t t : threads_) pthread_join(t, nullptr);
  }

  void run(int64_t extent, int64_t grain, PoolFn fn, void* ctx, bool joined) {
    const int64_t pieces = (extent - 1) / grain + 1;
    joined_ = joined;
    for (int64_t first = 0; first < pieces; first += kMostPieces)
      run_region(extent, grain, first, pieces - first < kMostPieces ? pieces - first : kMostPieces, fn, ctx);
  }

 private:
  void run_region(int64_t extent, int64_t grain, int64_t first, int64_t pieces, PoolFn fn, void* ctx) {
    fn_ = fn, ctx_ = ctx, extent_ = extent, grain_ = grain, first_ = first;
    mode_ = flushing_mode();
    const int64_t threads = static_cast<int64_t>(threads_.size()) + 1;
    shares_in_use_ = static_cast<int>(pieces < threads ? pieces : threads);
    parts_ = !joined_ ? 0 : pieces <= kFewPieces * shares_in_use_ ? 4 : kParts;
    for (int64_t t = 0; t < shares_in_use_; ++t)
      shares_[t].set(static_cast<uint32_t>(pieces * t / shares_in_use_),
                     static_cast<uint32_t>(pieces * (t + 1) / shares_in_use_));
    places_.keep_off_caller();
    active_.store(1, std::memory_order_release);
    epoch_.fetch_add(1, std::memory_order_seq_cst);
    if (parked_.load(std::memory_order_seq_cst) > 0)
      wake(&epoch_, pieces - 1 < kMaxThreads ? static_cast<int>(pieces - 1) : kMaxThreads);
    take_pieces(0);
    close();
  }

  static void* thread_main(void* self) {
#if defined(__linux__)
    pthread_setname_np(pthread_self(), "jitney");
#endif
    inside_region = true;  // whatever a helper runs is nested
    Pool* pool = static_cast<Pool*>(self);
    const int number = pool->arrived_.fetch_add(1);
    pool->places_.arrive(number);
    awake.fetch_add(1, std::memory_order_relaxed);
    pool->help(1 + number);
    awake.fetch_sub(1, std::memory_order_relaxed);
    return nullptr;
  }

  void take_pieces(int own) {
    const int shares = shares_in_use_;
    if (own >= shares) own %= shares;
    for (int k = 0, share = own; k < shares; ++k, share = share + 1 == shares ? 0 : share + 1) {
      for (int64_t piece, count; (piece = shares_[share].take(k == 0, parts_, &count)) >= 0;) {
        const int64_t lo = (first_ + piece) * grain_, length = count * grain_;
        fn_(ctx_, lo, extent_ - lo > length ? lo + length : extent_);
      }
    }
  }

  bool join() {
    uint32_t a = active_.load(std::memory_order_relaxed);
    while (a > 0)
      if (active_.compare_exchange_weak(a, a + 1, std::memory_order_acq_rel)) return true;
    return false;
  }

  void leave() {
    if (active_.fetch_sub(1, std::memory_order_seq_cst) == 2 && closing_.load(std::memory_order_seq_cst))
      wake(&active_, 1);
  }

  void close() {
    int64_t start = 0;
    for (int k = 0;; ++k) {
      uint32_t one = 1;
      if (active_.compare_exchange_strong(one, 0, std::memory_order_acq_rel)) return;
      cpu_relax();
      if (k % 32 != 31) continue;
      if (start == 0) start = now_ns();
      if (now_ns() - start < kCloseSpinNs) continue;
      places_.anywhere();
      closing_.store(true, std::memory_order_seq_cst);
      uint32_t a = active_.load(std::memory_order_seq_cst);
      if (a > 1) wait_while_equal(&active_, a);
      closing_.store(false, std::memory_order_relaxed);
    }
  }

  void help(int own) {
    uint32_t seen = 0;
    for (;;) {
      seen = wait_for_region(seen);
      if (stop_.load()) return;
      if (!join()) continue;
      set_flushing_mode(mode_);
      take_pieces(own);
      leave();
    }
  }

  uint32_t wait_for_region(uint32_t seen) {
    int64_t start = 0;
    for (int k = 0;; ++k) {
      uint32_t e = epoch_.load(std::memory_order_acquire);
      if (e != seen) return e;
      cpu_relax();
      if (k % 32 != 31) continue;
      if (start == 0) start = now_ns();
      const int64_t waited = now_ns() - start;
      if (waited < kHelperSpinNs) continue;
      if (waited < kHelperYieldNs) {
        sched_yield();
        continue;
      }
      awake.fetch_sub(1, std::memory_order_relaxed);
      parked_.fetch_add(1, std::memory_order_seq_cst);
      if (epoch_.load(std::memory_order_seq_cst) == seen) wait_while_equal(&epoch_, seen);
      parked_.fetch_sub(1, std::memory_order_seq_cst);
      awake.fetch_add(1, std::memory_order_relaxed);
    }
  }

  alignas(64) std::atomic<uint32_t> epoch_{0};
  std::atomic<int> parked_{0};
  alignas(64) std::atomic<uint32_t> active_{0};
  std::atomic<bool> closing_{false};
  alignas(64) PoolFn fn_ = nullptr;
  void* ctx_ = nullptr;
  int64_t extent_ = 0, grain_ = 0, first_ = 0;
  bool joined_ = false;
  uint32_t parts_ = 0;  // see Share::take
  uint32_t mode_ = 0;  // see denormals.h
  int shares_in_use_ = 1;
  Places places_;
  std::unique_ptr<Share[]> shares_;
  std::atomic<int> arrived_{0};  // helpers that have a number
  std::atomic<bool> stop_{false};
  std::vector<pthread_t> threads_;
};

// Held by the thread that uses or changes the pool.
std::atomic<bool> busy{false};
Pool* pool = nullptr;
std::atomic<int> wanted{0};  // 0 = not decided yet
bool fork_handler_set = false;

bool try_lock() {
  bool free = false;
  return busy.compare_exchange_strong(free, true, std::memory_order_acquire);
}
void unlock() { busy.store(false, std::memory_order_release); }

// The helpers do not exist in the child: forget the pool and make another one when it is needed.
void after_fork_in_child() {
  pool = nullptr;
  inside_region = false;
  awake.store(0);
  busy.store(false);
}

void drop_pool() {
  if (!pool) return;
  pool->stop_and_join();
  pool->~Pool();
  ::operator delete(static_cast<void*>(pool), std::align_val_t(64));
  pool = nullptr;
}

Pool* ready_pool(int threads) {
  if (pool) return pool;
  if (!fork_handler_set) {
    pthread_atfork(nullptr, nullptr, after_fork_in_child);
    fork_handler_set = true;
  }
  void* memory = ::operator new(sizeof(Pool), std::align_val_t(64));
  return pool = new (memory) Pool(threads - 1);
}

#endif  // !JITNEY_POOL_SERIAL

}  // namespace

#if defined(JITNEY_POOL_SERIAL)

void pool_parallel_for(int64_t extent, int64_t grain, PoolFn fn, void* ctx, bool joined) {
  if (extent > 0) run_serially(extent, grain <= 0 || joined ? extent : grain, fn, ctx);
}
int pool_num_threads() { return 1; }
void pool_set_num_threads(int) {}
bool pool_is_free() { return false; }
bool pool_is_awake() { return false; }

#else

void pool_parallel_for(int64_t extent, int64_t grain, PoolFn fn, void* ctx, bool joined) {
  if (extent <= 0) return;
  if (grain <= 0 || grain >= extent) return fn(ctx, 0, extent);
  int threads = pool_num_threads();
  if (threads == 1 || inside_region || !try_lock()) return run_serially(extent, joined ? extent : grain, fn, ctx);
  inside_region = true;
  regions.fetch_add(1, std::memory_order_relaxed);
  ready_pool(threads)->run(extent, grain, fn, ctx, joined);
  inside_region = false;
  unlock();
}

bool pool_is_free() {
  return !inside_region && !busy.load(std::memory_order_relaxed) && pool_num_threads() > 1;
}

bool pool_is_awake() {
  if (inside_region || pool_num_threads() == 1) return false;
  if (awake.load(std::memory_order_relaxed) > 0) return true;
  const int64_t now = now_ns();
  return now - asked.exchange(now, std::memory_order_relaxed) < kHelperYieldNs;
}

int pool_num_threads() {
  int n = wanted.load(std::memory_order_relaxed);
  if (n == 0) {
    n = default_threads();
    wanted.store(n, std::memory_order_relaxed);
  }
  return n;
}

void pool_set_num_threads(int threads) {
  while (!try_lock()) sched_yield();
  drop_pool();
  wanted.store(threads <= 0 ? default_threads() : (threads < kMaxThreads ? threads : kMaxThreads));
  unlock();
}

#endif

uint64_t pool_regions() { return regions.load(std::memory_order_relaxed); }

// ---- Python

namespace {

PyObject* set_num_threads(PyObject*, PyObject* arg) {
  long n = PyLong_AsLong(arg);
  if (n == -1 && PyErr_Occurred()) return nullptr;
  if (n < 0) return PyErr_Format(PyExc_ValueError, "set_num_threads: %ld is negative (0 = default)", n);
  Py_BEGIN_ALLOW_THREADS;
  pool_set_num_threads(n > kMaxThreads ? kMaxThreads : static_cast<int>(n));
  Py_END_ALLOW_THREADS;
  Py_RETURN_NONE;
}

PyObject* num_threads(PyObject*, PyObject*) { return PyLong_FromLong(pool_num_threads()); }

struct TestRun {
  int64_t extent, grain, work;
  bool nested, joined;
  std::atomic<uint8_t>* counts;
  std::atomic<int64_t> wrong_pieces{0}, sum{0};
};

void test_inner(void* ctx, int64_t lo, int64_t hi) {
  static_cast<TestRun*>(ctx)->sum.fetch_add(hi - lo, std::memory_order_relaxed);
}

void test_piece(void* ctx, int64_t lo, int64_t hi) {
  auto* t = static_cast<TestRun*>(ctx);
  int64_t end = t->grain <= 0 ? t->extent : lo + t->grain;
  bool right = (t->grain <= 0 ? lo == 0 : lo % t->grain == 0) && hi == (end < t->extent ? end : t->extent);
  if (t->joined && t->grain > 0) right = lo % t->grain == 0 && hi > lo && (hi % t->grain == 0 || hi == t->extent);
  if (!right) t->wrong_pieces.fetch_add(1);
  volatile int64_t spin = 0;
  for (int64_t i = 0; i < t->work; ++i) spin = spin + 1;
  for (int64_t i = lo; i < hi; ++i) t->counts[i].fetch_add(1, std::memory_order_relaxed);
  if (t->nested) pool_parallel_for(hi - lo, 2, test_inner, t);
  else test_inner(t, lo, hi);
}

// (extent, grain, work, nested, joined = false) -> (bytes: how often each index came, number of wrong pieces, number of
// indices)
PyObject* pool_test(PyObject*, PyObject* args) {
  TestRun t;
  int nested, joined = 0;
  long long extent, grain, work;
  if (!PyArg_ParseTuple(args, "LLLp|p", &extent, &grain, &work, &nested, &joined)) return nullptr;
  t.extent = extent, t.grain = grain, t.work = work, t.nested = nested, t.joined = joined;
  std::vector<std::atomic<uint8_t>> counts(static_cast<size_t>(extent > 0 ? extent : 0) + 1);
  t.counts = counts.data();
  Py_BEGIN_ALLOW_THREADS;
  pool_parallel_for(extent, grain, test_piece, &t, joined);
  Py_END_ALLOW_THREADS;
  return Py_BuildValue("y#LL", reinterpret_cast<char*>(counts.data()), static_cast<Py_ssize_t>(counts.size() - 1),
                       static_cast<long long>(t.wrong_pieces.load()), static_cast<long long>(t.sum.load()));
}

PyObject* pool_stats(PyObject*, PyObject*) {
  return Py_BuildValue("{sKsi}", "regions", static_cast<unsigned long long>(pool_regions()), "threads",
                       pool_num_threads());
}

PyMethodDef functions[] = {
    {"set_num_threads", set_num_threads, METH_O, "Threads a call may use, itself included; 0 = default."},
    {"num_threads", num_threads, METH_NOARGS, "Threads a call may use, itself included."},
    {"pool_stats", pool_stats, METH_NOARGS, "Numbers for tests."},
    {"_pool_test", pool_test, METH_VARARGS, "Runs a counting function through the pool."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

int register_pool(PyObject* module) { return PyModule_AddFunctions(module, functions); }

}  // namespace jitney
