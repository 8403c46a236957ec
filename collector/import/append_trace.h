// Two traces of different jobs as one.
#ifndef ROLLCALL_COLLECTOR_IMPORT_APPEND_TRACE_H_
#define ROLLCALL_COLLECTOR_IMPORT_APPEND_TRACE_H_

#include "collector/model/trace.h"

namespace rollcall {

// Adds everything of `from` to `to`, with its indices moved; nothing is joined.
void AppendTrace(Trace from, Trace* to);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_IMPORT_APPEND_TRACE_H_
