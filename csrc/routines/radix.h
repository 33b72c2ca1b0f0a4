// Stable least-significant-digit radix sort of one row.
//
// In:  n elements from load(i), the part of them to sort by from key(element). Out: emit(rank, element) for each.
// Invariant: stable, so the result is unique and does not depend on the digit size, on the skipped digits or on the
// number of threads.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "../pool.h"
#include "dtypes.h"

namespace jitney {

constexpr int64_t kInsertionLimit = 48;
constexpr int64_t kWideDigitFrom = 12000;       // 2048 buckets instead of 256: fewer passes from this length,
constexpr int64_t kWideDigitBytes = 2500000;    // but their lines leave the near cache beyond this size
constexpr int64_t kParallelFrom = 200000;       // two threads pay from here
constexpr int64_t kRadixLimit = INT64_C(1) << 32;  // counters have 32 bits

template <class E, class Key, class Load, class Emit>
void insertion_sort(int64_t n, Key key, Load load, Emit emit) {
  E row[kInsertionLimit];
  for (int64_t i = 0; i < n; ++i) {
    E e = load(i);
    int64_t j = i;
    for (; j > 0 && key(row[j - 1]) > key(e); --j) row[j] = row[j - 1];
    row[j] = e;
  }
  for (int64_t i = 0; i < n; ++i) emit(i, row[i]);
}

// Counts of one digit -> first position of each value. False if all elements have the same digit.
template <int kBuckets>
bool to_starts(uint32_t* counts, int64_t n) {
  uint32_t sum = 0, largest = 0;
  for (int b = 0; b < kBuckets; ++b) {
    uint32_t c = counts[b];
    counts[b] = sum;
    sum += c;
    largest = c > largest ? c : largest;
  }
  return largest != static_cast<uint32_t>(n);
}

}  // namespace jitney

#include "radix_partition.h"

namespace jitney {

template <int kDigit, int kKeyBits, class E, class Key, class Load, class Emit>
void radix_serial(int64_t n, Key key, Load load, Emit emit, E* a, E* b) {
  constexpr int kPasses = (kKeyBits + kDigit - 1) / kDigit, kBuckets = 1 << kDigit;
  alignas(64) uint32_t counts[kPasses][kBuckets];
  memset(counts, 0, sizeof counts);
  for (int64_t i = 0; i < n; ++i) {
    auto k = key(load(i));
#pragma GCC unroll 8
    for (int p = 0; p < kPasses; ++p) ++counts[p][static_cast<uint32_t>(k >> (p * kDigit)) & (kBuckets - 1)];
  }
  int passes[kPasses], used = 0;
  for (int p = 0; p < kPasses; ++p)
    if (to_starts<kBuckets>(counts[p], n)) passes[used++] = p;
  if (used == 0) {
    for (int64_t i = 0; i < n; ++i) emit(i, load(i));
    return;
  }
  const E* from = nullptr;
  for (int u = 0; u < used; ++u) {
    uint32_t* at = counts[passes[u]];
    int shift = passes[u] * kDigit;
    auto place = [&](const E& e) JITNEY_INLINE { return at[static_cast<uint32_t>(key(e) >> shift) & (kBuckets - 1)]++; };
    E* to = (used - 2 - u) % 2 == 0 ? a : b;
    if (u == used - 1) {
      if (u == 0) for (int64_t i = 0; i < n; ++i) { E e = load(i); emit(place(e), e); }
      else for (int64_t i = 0; i < n; ++i) { E e = from[i]; emit(place(e), e); }
    } else {
      if (u == 0) for (int64_t i = 0; i < n; ++i) { E e = load(i); to[place(e)] = e; }
      else for (int64_t i = 0; i < n; ++i) { E e = from[i]; to[place(e)] = e; }
      from = to;
    }
  }
}

// The same on several threads: each pass counts the digits of each chunk, then scatters the chunks side by side.
template <int kDigit, int kKeyBits, class E, class Key, class Load, class Emit>
bool radix_parallel(int64_t n, Key key, Load load, Emit emit, E* a, E* b) {
  constexpr int kPasses = (kKeyBits + kDigit - 1) / kDigit, kBuckets = 1 << kDigit;
  struct State {
    int64_t n, chunk;
    Key* key;
    Load* load;
    Emit* emit;
    uint32_t* counts;  // [chunk][bucket]
    uint32_t* all;     // [chunk][pass][bucket]
    const E* from;
    E* to;
    int shift;
  };
  int64_t chunks = std::min(2 * pool_num_threads(), 16);
  State s{n, (n + chunks - 1) / chunks, &key, &load, &emit, nullptr, nullptr, nullptr, nullptr, 0};
  chunks = (n + s.chunk - 1) / s.chunk;
  auto* memory = static_cast<uint32_t*>(calloc(static_cast<size_t>(chunks) * (kPasses + 1) * kBuckets, 4));
  if (!memory) return false;
  s.all = memory;
  s.counts = memory + chunks * kPasses * kBuckets;

  auto count_all = [](void* ctx, int64_t lo, int64_t hi) {
    auto* t = static_cast<State*>(ctx);
    uint32_t* mine = t->all + lo / t->chunk * kPasses * kBuckets;
    for (int64_t i = lo; i < hi; ++i) {
      auto k = (*t->key)((*t->load)(i));
#pragma GCC unroll 8
      for (int p = 0; p < kPasses; ++p)
        ++mine[p * kBuckets + (static_cast<uint32_t>(k >> (p * kDigit)) & (kBuckets - 1))];
    }
  };
  auto count_digit = [](void* ctx, int64_t lo, int64_t hi) {
    auto* t = static_cast<State*>(ctx);
    uint32_t* mine = t->counts + lo / t->chunk * kBuckets;
    memset(mine, 0, kBuckets * sizeof *mine);
    for (int64_t i = lo; i < hi; ++i)
      ++mine[static_cast<uint32_t>((*t->key)(t->from[i]) >> t->shift) & (kBuckets - 1)];
  };
  auto scatter = [](void* ctx, int64_t lo, int64_t hi) {
    auto* t = static_cast<State*>(ctx);
    uint32_t* at = t->counts + lo / t->chunk * kBuckets;
    int shift = t->shift;
    auto place = [&](const E& e) JITNEY_INLINE {
      return at[static_cast<uint32_t>((*t->key)(e) >> shift) & (kBuckets - 1)]++;
    };
    if (t->to && t->from) for (int64_t i = lo; i < hi; ++i) { E e = t->from[i]; t->to[place(e)] = e; }
    else if (t->to) for (int64_t i = lo; i < hi; ++i) { E e = (*t->load)(i); t->to[place(e)] = e; }
    else if (t->from) for (int64_t i = lo; i < hi; ++i) { E e = t->from[i]; (*t->emit)(place(e), e); }
    else for (int64_t i = lo; i < hi; ++i) { E e = (*t->load)(i); (*t->emit)(place(e), e); }
  };

  pool_parallel_for(n, s.chunk, count_all, &s);
  int passes[kPasses], used = 0;
  for (int p = 0; p < kPasses; ++p) {
    bool constant = false;
    for (int bucket = 0; bucket < kBuckets && !constant; ++bucket) {
      int64_t sum = 0;
      for (int64_t c = 0; c < chunks; ++c) sum += s.all[(c * kPasses + p) * kBuckets + bucket];
      constant = sum == n;
    }
    if (!constant) passes[used++] = p;
  }
  for (int u = 0; u < used; ++u) {
    s.shift = passes[u] * kDigit;
    if (u == 0) {
      for (int64_t c = 0; c < chunks; ++c)
        memcpy(s.counts + c * kBuckets, s.all + (c * kPasses + passes[0]) * kBuckets, kBuckets * 4);
    } else {
      pool_parallel_for(n, s.chunk, count_digit, &s);
    }
    uint32_t sum = 0;
    for (int bucket = 0; bucket < kBuckets; ++bucket)
      for (int64_t c = 0; c < chunks; ++c) {
        uint32_t& cell = s.counts[c * kBuckets + bucket];
        uint32_t here = cell;
        cell = sum;
        sum += here;
      }
    s.to = u == used - 1 ? nullptr : (used - 2 - u) % 2 == 0 ? a : b;
    pool_parallel_for(n, s.chunk, scatter, &s);
    s.from = s.to;
  }
  if (used == 0)
    for (int64_t i = 0; i < n; ++i) emit(i, load(i));
  free(memory);
  return true;
}

// a, b: n elements of scratch each; emit may write to memory that overlaps b, not a.
template <int kKeyBits, class E, class Key, class Load, class Emit>
void stable_radix_sort(int64_t n, Key key, Load load, Emit emit, E* a, E* b) {
  if (n <= kInsertionLimit) return insertion_sort<E>(n, key, load, emit);
  if (n >= kRadixLimit) {
    for (int64_t i = 0; i < n; ++i) a[i] = load(i);
    std::stable_sort(a, a + n, [&](const E& x, const E& y) { return key(x) < key(y); });
    for (int64_t i = 0; i < n; ++i) emit(i, a[i]);
    return;
  }
  if constexpr (kKeyBits > 16)
    if (n * static_cast<int64_t>(sizeof(E)) > kWideDigitBytes &&
        partitioned_sort<kKeyBits, E>(n, key, load, emit, a, b))
      return;
  if (n < kWideDigitFrom || kKeyBits <= 16 || n * static_cast<int64_t>(sizeof(E)) > kWideDigitBytes) {
    if (n >= kParallelFrom && pool_is_free() && radix_parallel<8, kKeyBits>(n, key, load, emit, a, b)) return;
    return radix_serial<8, kKeyBits>(n, key, load, emit, a, b);
  }
  if (n >= kParallelFrom && pool_is_free() && radix_parallel<11, kKeyBits>(n, key, load, emit, a, b)) return;
  radix_serial<11, kKeyBits>(n, key, load, emit, a, b);
}

}  // namespace jitney
