// Plans (twiddle factors) of Fourier transforms, kept between calls.
//
// In:  a length. Out: PlanLease<Plan>, through which the plan can be read until the lease ends.
// Invariant: nobody waits. A slot is in use by `users` threads, empty or filled with 0 of them, and closed (-1) while
// its plan is exchanged; a thread that finds no slot keeps a plan of its own. So a fork between two instructions of
// another thread costs the child a slot at most. There are kSlots plans of a kind, kLargeSlots of them for lengths
// from kLarge on, which bounds the memory.
#pragma once
#include <atomic>
#include <cstdint>

namespace jitney {

template <class Plan>
class PlanLease {
 public:
  explicit PlanLease(int64_t n) {
    if (find(n)) return;
    plan_ = new Plan(static_cast<size_t>(n));
    keep(n);
  }
  ~PlanLease() {
    if (slot_) slot_->users.fetch_sub(1, std::memory_order_release);
    else delete plan_;
  }
  PlanLease(const PlanLease&) = delete;
  PlanLease& operator=(const PlanLease&) = delete;
  const Plan& operator*() const { return *plan_; }

 private:
  struct Slot {
    std::atomic<int32_t> users{0};
    std::atomic<int64_t> n{0};
    std::atomic<uint64_t> used{0};
    Plan* plan = nullptr;
  };
  static constexpr int kSlots = 18, kLargeSlots = 2;
  static constexpr int64_t kLarge = int64_t{1} << 19;

  static Slot* slots() {
    static Slot table[kSlots];
    return table;
  }
  static uint64_t now() {
    static std::atomic<uint64_t> clock{0};
    return clock.fetch_add(1, std::memory_order_relaxed) + 1;
  }
  static int first(int64_t n) { return n < kLarge ? kLargeSlots : 0; }
  static int last(int64_t n) { return n < kLarge ? kSlots : kLargeSlots; }

  bool find(int64_t n) {
    for (int i = first(n); i < last(n); ++i) {
      Slot& slot = slots()[i];
      if (slot.n.load(std::memory_order_relaxed) != n) continue;
      int32_t users = slot.users.load(std::memory_order_relaxed);
      while (users >= 0 && !slot.users.compare_exchange_weak(users, users + 1, std::memory_order_acquire)) {
      }
      if (users < 0) continue;
      if (slot.n.load(std::memory_order_relaxed) == n) {
        slot.used.store(now(), std::memory_order_relaxed);
        slot_ = &slot;
        plan_ = slot.plan;
        return true;
      }
      slot.users.fetch_sub(1, std::memory_order_release);
    }
    return false;
  }

  // Puts the new plan in the place of the one that has not been used for longest.
  void keep(int64_t n) {
    Slot* oldest = nullptr;
    for (int i = first(n); i < last(n); ++i) {
      Slot& slot = slots()[i];
      if (slot.users.load(std::memory_order_relaxed) == 0 && (!oldest || slot.used.load() < oldest->used.load()))
        oldest = &slot;
    }
    int32_t nobody = 0;
    if (!oldest || !oldest->users.compare_exchange_strong(nobody, -1, std::memory_order_acquire)) return;
    delete oldest->plan;
    oldest->plan = plan_;
    oldest->n.store(n, std::memory_order_relaxed);
    oldest->used.store(now(), std::memory_order_relaxed);
    oldest->users.store(1, std::memory_order_release);
    slot_ = oldest;
  }

  Slot* slot_ = nullptr;
  Plan* plan_ = nullptr;
};

}  // namespace jitney
