// What a call depends on besides its arguments: the thread's current trace and configuration id.
#pragma once

#include "numpy_api.h"

namespace jitney {

extern JITNEY_THREAD_LOCAL PyObject* current_trace;    // owned; nullptr: none
extern JITNEY_THREAD_LOCAL uint64_t thread_config_id;  // 0: the process-wide one counts
extern uint64_t global_config_id;

inline uint64_t config_id() { return thread_config_id ? thread_config_id : global_config_id; }

int register_context(PyObject* module);

}  // namespace jitney
