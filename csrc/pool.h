// Thread pool: splits an index range into pieces and runs them on the calling thread and its helpers.
//
// In:  an extent, a grain and a function. Out: every index of [0, extent) has been passed to the function once.
// Invariant: the pieces are [k*grain, min((k+1)*grain, extent)), whatever the number of threads, so a function
// whose result depends only on its piece gives bitwise equal results for any pool size. In which order they come is not
// said: a piece must not wait for another one.
#pragma once
#include <cstdint>

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace jitney {

using PoolFn = void (*)(void* ctx, int64_t lo, int64_t hi);

// Runs fn over [0, extent). The caller takes pieces itself and never waits for a helper that has not joined.
// grain <= 0 or grain >= extent: one call on this thread. Nested calls, and calls while another thread is using
// the pool, run all their pieces (the same pieces) on the calling thread. Needs no GIL; fn must not throw.
// `joined`: pieces that follow one another may come in one call, [j*grain, min(k*grain, extent)), for an fn to which
// that makes no difference but in time: a thread takes half of what is left of its share at a time, or all of a few
// pieces.
void pool_parallel_for(int64_t extent, int64_t grain, PoolFn fn, void* ctx, bool joined = false);

// Threads that a call may use, the caller included. Default: the CPUs that the scheduling affinity and the cgroup
// quotas leave to this process, at most JITNEY_NUM_THREADS.
int pool_num_threads();

// Overrides the default (may exceed the CPUs); 0 = back to it. Joins the present helpers; new ones start lazily.
void pool_set_num_threads(int threads);

// Whether a region started now by this thread would be offered to helpers: not nested, nobody else inside.
bool pool_is_free();

// Whether a short region finds a helper that does not sleep, or follows so soon on another question that one should be
// woken: that takes longer than a short region.
bool pool_is_awake();

// Number of regions that were offered to helpers since the start (for the counters in tests).
uint64_t pool_regions();

// Adds set_num_threads, num_threads, pool_stats and _pool_test to the module.
int register_pool(PyObject* module);

}  // namespace jitney
