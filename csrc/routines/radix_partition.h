// Radix sort of a row that does not fit the near cache: partitioned once by its leading digit, then each part by itself.
//
// In:  as in radix.h. Out: true and emit(rank, element) for each element, or false and nothing done (no memory, or the
// leading digit does not divide the row).
// Invariant: stable; the result does not depend on the number of threads or parts.
//
// Least-significant-digit passes over the whole row store to 256 places all over memory, four times for 32-bit keys
// with digits of 8 bits (2048 places of 11 bits do not fit the near cache). Parts of about kPartBytes are sorted with
// 11-bit digits within the second-level cache, in three passes or (one leading digit) two.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "../pool.h"
#include "dtypes.h"

namespace jitney {

template <int kKeyBits, class E, class Key, class Load, class Emit>
class PartitionedSort {
 public:
  PartitionedSort(int64_t n, Key& key, Load& load, Emit& emit, E* a, E* b)
      : n_(n), key_(key), load_(load), emit_(emit), a_(a), b_(b) {}
  ~PartitionedSort() { free(memory_); }

  bool run() {
    if (!divides()) return false;
    int64_t chunks = std::min(2 * pool_num_threads(), kMostChunks);
    chunk_ = (n_ + chunks - 1) / chunks;
    chunks_ = (n_ + chunk_ - 1) / chunk_;
    memory_ = static_cast<uint32_t*>(calloc(static_cast<size_t>(chunks_) * (2 * kTop + kMostParts), sizeof(uint32_t)));
    if (!memory_) return false;
    pool_parallel_for(n_, chunk_, [](void* c, int64_t lo, int64_t hi) { self(c).count_top(lo, hi); }, this);
    if (!choose_parts()) return false;
    pool_parallel_for(n_, chunk_, [](void* c, int64_t lo, int64_t hi) { self(c).partition(lo, hi); }, this);
    std::sort(order_, order_ + parts_, [this](int x, int y) { return size(x) > size(y); });  // the longest first
    pool_parallel_for(parts_, 1, [](void* c, int64_t lo, int64_t) { self(c).sort_part(self(c).order_[lo]); }, this);
    return true;
  }

 private:
  static constexpr int kDigit = 11, kTop = 1 << kDigit, kShift = kKeyBits - kDigit;
  static constexpr int kPasses = (kKeyBits + kDigit - 1) / kDigit;
  static constexpr int kMostParts = 128, kMostChunks = 16;
  static constexpr int64_t kPartBytes = 192 << 10, kShortPart = 4096, kSample = 512;

  static PartitionedSort& self(void* context) { return *static_cast<PartitionedSort*>(context); }
  uint32_t* top_counts(int64_t chunk) { return memory_ + chunk * 2 * kTop; }
  uint32_t* part_places(int64_t chunk) { return memory_ + chunks_ * 2 * kTop + chunk * kMostParts; }
  int64_t size(int part) const { return starts_[part + 1] - starts_[part]; }
  static uint32_t digit(uint64_t key, int shift) { return static_cast<uint32_t>(key >> shift) & (kTop - 1); }

  // Whether a leading digit of many elements is unlikely, from a sample.
  bool divides() {
    uint16_t counts[kTop] = {};
    const int64_t step = n_ / kSample;
    int most = 0;
    for (int64_t k = 0; k < kSample; ++k) {
      int count = ++counts[digit(key_(load_(k * step)), kShift)];
      most = count > most ? count : most;
    }
    return most < kSample / 3;
  }

  // Two tables by turns: neighbours often have the same digit, and counting one place again waits for the store before.
  void count_top(int64_t lo, int64_t hi) {
    uint32_t* counts = top_counts(lo / chunk_);
    int64_t i = lo;
    for (; i + 2 <= hi; i += 2) {
      const uint32_t first = digit(key_(load_(i)), kShift), second = digit(key_(load_(i + 1)), kShift);
      ++counts[first];
      ++counts[kTop + second];
    }
    if (i < hi) ++counts[digit(key_(load_(i)), kShift)];
    for (int value = 0; value < kTop; ++value) counts[value] += counts[kTop + value];
  }

  // Neighbouring leading digits join a part until it is long enough. Finds where each chunk's elements go.
  bool choose_parts() {
    int64_t enough = std::max<int64_t>(kPartBytes / static_cast<int64_t>(sizeof(E)), n_ / (kMostParts - 1) + 1);
    int64_t position = 0, longest = 0;
    starts_[0] = 0;
    parts_ = 0;
    for (int value = 0; value < kTop; ++value) {
      part_of_[value] = static_cast<uint8_t>(parts_);
      for (int64_t c = 0; c < chunks_; ++c) {
        position += top_counts(c)[value];
        part_places(c)[parts_] += top_counts(c)[value];
      }
      if (position - starts_[parts_] < enough && value + 1 < kTop) continue;
      longest = std::max(longest, position - starts_[parts_]);
      order_[parts_] = parts_;
      starts_[++parts_] = position;
    }
    if (longest > n_ / 3) return false;
    for (int part = 0; part < parts_; ++part) {
      uint32_t place = static_cast<uint32_t>(starts_[part]);
      for (int64_t c = 0; c < chunks_; ++c) {
        uint32_t here = part_places(c)[part];
        part_places(c)[part] = place;
        place += here;
      }
    }
    return true;
  }

  void partition(int64_t lo, int64_t hi) {
    uint32_t* places = part_places(lo / chunk_);
    for (int64_t i = lo; i < hi; ++i) {
      E e = load_(i);
      a_[places[part_of_[digit(key_(e), kShift)]]++] = e;
    }
  }

  void sort_part(int part) {
    const int64_t start = starts_[part], count = size(part);
    if (count < kShortPart) return sort_short(start, count);
    uint32_t counts[kPasses][kTop] = {};
    const E* row = a_ + start;
    for (int64_t i = 0; i < count; ++i) {
      const uint64_t k = key_(row[i]);
#pragma GCC unroll 8
      for (int p = 0; p < kPasses; ++p) ++counts[p][digit(k, p * kDigit)];
    }
    int passes[kPasses], used = 0;
    for (int p = 0; p < kPasses; ++p)
      if (to_starts<kTop>(counts[p], count)) passes[used++] = p;
    const bool even = used > 0 && used % 2 == 0;  // the last pass must read a: what is emitted may lie where b is
    if (even) std::copy(row, row + count, b_ + start);
    const E* from = even ? b_ + start : row;
    for (int u = 0; u + 1 < used; ++u) {
      E* to = (from == row ? b_ : a_) + start;
      scatter(from, to, count, counts[passes[u]], passes[u] * kDigit);
      from = to;
    }
    emit_last(from, start, count, used ? counts[passes[used - 1]] : nullptr, used ? passes[used - 1] * kDigit : 0);
  }

  void sort_short(int64_t start, int64_t count) {
    E* row = a_ + start;
    std::stable_sort(row, row + count, [this](const E& x, const E& y) { return key_(x) < key_(y); });
    emit_last(row, start, count, nullptr, 0);
  }

  void scatter(const E* from, E* to, int64_t count, uint32_t* places, int shift) {
    for (int64_t i = 0; i < count; ++i) {
      E e = from[i];
      to[places[digit(key_(e), shift)]++] = e;
    }
  }

  void emit_last(const E* from, int64_t start, int64_t count, uint32_t* places, int shift) {
    if (!places)
      for (int64_t i = 0; i < count; ++i) emit_(start + i, from[i]);
    else
      for (int64_t i = 0; i < count; ++i) {
        E e = from[i];
        emit_(start + places[digit(key_(e), shift)]++, e);
      }
  }

  int64_t n_, chunk_ = 0, chunks_ = 0;
  Key& key_;
  Load& load_;
  Emit& emit_;
  E *a_, *b_;
  uint32_t* memory_ = nullptr;  // [chunk][leading digit] counts, then [chunk][part] places
  int parts_ = 0;
  int order_[kMostParts];
  int64_t starts_[kMostParts + 1];
  uint8_t part_of_[kTop];
};

template <int kKeyBits, class E, class Key, class Load, class Emit>
bool partitioned_sort(int64_t n, Key& key, Load& load, Emit& emit, E* a, E* b) {
  return PartitionedSort<kKeyBits, E, Key, Load, Emit>(n, key, load, emit, a, b).run();
}

}  // namespace jitney
