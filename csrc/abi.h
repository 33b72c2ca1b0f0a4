// The calling convention between programs, generated kernels and native routines.
//
// A kernel is  void fn(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi):
//   ptrs    one address per operand, in the order the kernel was written for;
//   params  sizes, strides and other integers, 8-byte aligned, read-only;
//   lo, hi  the piece [lo, hi) of the parallel extent this call has to do.
// A kernel never keeps a pointer, never calls Python and never depends on where pieces are cut.
#pragma once

#include <cstdint>

namespace jitney {

using KernelFn = void (*)(void* const* ptrs, const int64_t* params, int64_t lo, int64_t hi);

enum StepKind : int32_t {
  kStepKernel = 0,  // address, slot_ids, params, extent, grain
  kStepPython = 1,  // payload(*addresses), GIL held
  kStepCopy = 2,    // memcpy of params[0] bytes: slot_ids[0] -> slot_ids[1]
  kStepWhile = 16,  // payload = (cond_steps, body_steps, pred_slot)
  kStepCond = 17,   // payload = (index_slot, (branch_steps, ...)); params[0] = index size, 4 or 8
  kStepFor = 18,    // payload = (body_steps, count_slot, counter_slot), or by blocks of rows, slot_ids what each thread
                    // has of its own; see program_run.cpp
};

}  // namespace jitney
