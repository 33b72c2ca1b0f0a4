// Where in their pages the large outputs of a program begin.
#pragma once

#include "allocator.h"
#include "program.h"

namespace jitney {

// Moves the fresh buffer of a program's output number so and so, a huge one, to where its stores do not lie just ahead
// of what is loaded from the inputs.
void place_output(Buffer* buffer, size_t number, const ProgramInputs& inputs, int32_t num_inputs);

}  // namespace jitney
