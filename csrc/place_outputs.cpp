// Where outputs begin (see place_outputs.h).
//
// A load whose address ends like that of a store under way (its last 12 bits, or 17 on a Zen 4) waits for it, though
// they are of different pages. A loop loads some elements ahead of what it stores; so what it stores should not begin,
// within its page, a little behind the place where an operand does. A Zen 5, by two threads, and by one: five points of
// 1024 x 1024 take 42 to 43 us (81 to 82) where the result begins 1280 bytes to 4095 after the operand, 44 to 46 (84 to
// 90) where less; a sum of an array and 1 takes the same anywhere. Buffers come and go, so that a shift chosen when one
// is made (allocator.cpp) says little about the arrays it will meet; but memory for large arrays has a page to spare,
// and a buffer may begin anywhere in it.
#include "place_outputs.h"

#include "array.h"

namespace jitney {

namespace {

constexpr size_t kPage = 4096;
constexpr size_t kAhead = 1280;  // bytes: loads do not run further ahead of stores
constexpr size_t kStep = 640, kSteps = 4;  // bytes before the first operand, which is 1536 or more after it
constexpr int64_t kLarge = 1 << 20;  // bytes: of less a loop makes little

int64_t input_bytes(PyObject* object) {
  if (array_check(object)) return reinterpret_cast<Array*>(object)->aval->nbytes;
  return PyArray_Check(object) ? PyArray_NBYTES(reinterpret_cast<PyArrayObject*>(object)) : 0;
}

}  // namespace

void place_output(Buffer* buffer, size_t number, const ProgramInputs& inputs, int32_t num_inputs) {
  size_t begins[kSteps] = {}, met[kSteps] = {};
  bool any = false;
  for (int32_t i = 0; i < num_inputs; ++i) {
    if (input_bytes(inputs.objects[i]) < kLarge) continue;
    const size_t operand = reinterpret_cast<uintptr_t>(inputs.data[i]) % kPage / 64 * 64;
    for (size_t k = 0; k < kSteps; ++k) {
      if (!any) begins[k] = (operand + kPage - kStep * (1 + (number + k) % kSteps)) % kPage;
      met[k] += (begins[k] + kPage - operand) % kPage < kAhead;
    }
    any = true;
  }
  if (!any) return;
  size_t best = 0;
  for (size_t k = 1; k < kSteps; ++k)
    if (met[k] < met[best]) best = k;
  buffer_begin_at(buffer, begins[best]);
}

}  // namespace jitney
