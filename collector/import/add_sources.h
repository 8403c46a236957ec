// SPDX-License-Identifier: Apache-2.0
// Reads the loops and branches of the user's sources into a trace.
#ifndef ROLLCALL_COLLECTOR_IMPORT_ADD_SOURCES_H_
#define ROLLCALL_COLLECTOR_IMPORT_ADD_SOURCES_H_

#include "collector/model/trace.h"

namespace rollcall {

// Reads the user's own files among the files that the trace's frames name, if they exist on this
// machine. File I/O. Call it after the trace is symbolized.
void AddSources(Trace* trace);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_IMPORT_ADD_SOURCES_H_
